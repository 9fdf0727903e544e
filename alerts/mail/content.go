package mail

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/colaregistry/colaregistry/alerts"
	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

const (
	// Limits in characters.
	maxName    = 80  // name of a search in the subject
	maxField   = 120 // field of a label
	maxPreview = 140 // preview text
)

// alertContent is the result of a run, for the templates.
type alertContent struct {
	Window    string // approval dates that the run covered
	Labels    []alertLabel
	More      string // text of the link to the remaining labels; may be empty
	Run       string // URL of the page with all labels from the run
	ManageURL string // page of the search
}

// alertLabel is a label, for the templates.
type alertLabel struct {
	Name           string // brand and product
	Details        string // class, origin, approval
	TTBID          string
	Late           bool
	MatchedFilters string // empty if unknown
	Link           string
}

// alert fills a page with the result of a run.
func (s *Sender) alert(m alerts.Message, p *page, token string) {
	c := m.Content
	name := oneLine(c.Search.Name, maxName)
	p.Heading = fmt.Sprintf("%s for “%s”", newLabels(c.Run.MatchCount), name)
	f := alertContent{Window: window(c.Run), ManageURL: s.public + "/saved-searches/" + c.Search.UUID}
	f.Run = fmt.Sprintf("%s/runs/%d", f.ManageURL, c.Run.ID)
	var brands []string
	for _, l := range c.Labels {
		f.Labels = append(f.Labels, labelOf(l))
		brands = append(brands, oneLine(l.Label.BrandName, maxField))
	}
	switch more := c.Run.MatchCount - len(c.Labels); {
	case more > 0 && len(c.Labels) > 0:
		f.More = "View " + count(more, "more label", "more labels")
	case more > 0:
		f.More = "View " + count(more, "label", "labels")
	}
	p.Subject, p.Body = p.Heading, f
	p.Preview = cmp.Or(oneLine(strings.Join(brands, " · "), maxPreview), f.Window)
	p.Reason = fmt.Sprintf("Sent to %s because the saved search “%s” on %s sends alerts to this address.", recipient(m), name, p.Site)
	p.UnsubscribeURL = s.tokenURL("unsubscribe", token)
}

// newLabels formats a count of new labels.
func newLabels(n int) string {
	if n == 0 {
		return "No new labels"
	}
	return count(n, "new label", "new labels")
}

// window describes the approval dates that a run covered, and its late labels.
func window(r cola.SavedSearchRun) string {
	text := fmt.Sprintf("Approval dates covered: %s.", days(r.DateFrom, r.DateTo))
	if r.LateCount > 0 {
		text += " " + late(r.LateCount)
	}
	return text
}

// late describes a run's late labels.
func late(n int) string {
	if n == 1 {
		return "1 label is late: it was approved earlier but not added until after the previous run."
	}
	return withCommas(n) + " labels are late: they were approved earlier but not added until after the previous run."
}

// labelOf formats a label for the templates.
func labelOf(l store.MatchedLabel) alertLabel {
	c := l.Label
	f := alertLabel{TTBID: c.TTBID.String(), Late: l.Match.Late, MatchedFilters: strings.Join(l.Match.Met.Words(), ", ")}
	f.Name = oneLine(c.BrandName, maxField)
	if product := oneLine(string(c.ProductName), maxField); product != "" {
		f.Name = strings.TrimPrefix(f.Name+" – "+product, " – ")
	}
	class := cmp.Or(oneLine(string(c.ClassName), maxField), string(c.ProductType))
	details := []string{class, oneLine(string(c.OriginName), maxField)}
	if c.ApprovalDate != 0 {
		details = append(details, "approved "+day(c.ApprovalDate))
	} else if c.DateIsEstimated {
		details = append(details, "approved ≈ "+day(c.ApprovalDateEstimate)+" (estimated)")
	}
	details = slices.DeleteFunc(details, func(detail string) bool { return detail == "" })
	f.Details = strings.Join(details, " · ")
	f.Link = c.TTBID.PageURL()
	return f
}

// notice is an email with a few sentences.
type notice struct {
	Paragraphs []string
	Button     string // label of Link, if any
	Link       string
	After      string // last sentence, if any
}

// test fills a page with a test message.
func (s *Sender) test(m alerts.Message, p *page, token string) {
	p.Subject = "Test alert"
	p.Heading = "Test alert"
	p.Preview = "Label alerts will reach this address."
	p.Body = notice{Paragraphs: []string{
		"An account on " + p.Site + " sent this test message. If you can read this, label alerts will reach this address. You don’t need to do anything.",
	}}
	p.Reason = fmt.Sprintf("Sent to %s, which receives label alerts from an account on %s.", recipient(m), p.Site)
	p.UnsubscribeURL = s.tokenURL("unsubscribe", token)
}

// confirm fills a page with a request to confirm an email address. The only text from the account
// holder is the account's email address.
func (s *Sender) confirm(m alerts.Message, p *page, token string) {
	sender := "Someone"
	if isAddress(m.AccountEmail) {
		sender = m.AccountEmail
	}
	p.Subject = "Confirm your label alerts"
	p.Heading = "Receive label alerts?"
	p.Preview = "You won’t get any alerts unless you confirm."
	p.Body = notice{
		Paragraphs: []string{
			fmt.Sprintf("%s wants to send you alerts about new US alcohol label approvals through %s.", sender, p.Site),
		},
		Button: "Get alerts", Link: s.tokenURL("confirm", token),
		After: "If you don’t want these alerts, ignore this email. Every alert includes an unsubscribe link.",
	}
	p.Reason = fmt.Sprintf("Sent because someone entered %s as an address for alerts.", recipient(m))
}

// paused fills a page with a notice that one of the account's destinations was paused.
func (s *Sender) paused(m alerts.Message, p *page) {
	d := m.Destination
	where, host := destinationName(m)
	p.Subject = "Label alerts paused for " + oneLine(host, maxName)
	p.Heading = p.Subject
	why, fix := "The destination was paused.", "Fix the problem, then resume the destination."
	switch d.Reason.V {
	case cola.ReasonGone:
		why = "The endpoint returned 410 Gone, so we disabled the destination."
		fix = "If the 410 was a mistake, resume the destination."
	case cola.ReasonFailing:
		why = "Deliveries kept failing, so we paused the destination."
	case cola.ReasonUnsubscribed:
		why = "The recipient unsubscribed."
		fix = "To restart alerts, resend the confirmation email from the destination’s page. The recipient must confirm again."
	}
	if d.FailingSince.OK {
		why += fmt.Sprintf(" Deliveries had been failing since %s.", timestamp(d.FailingSince.V.Time()))
	}
	p.Preview = why
	p.Body = notice{
		Paragraphs: []string{
			fmt.Sprintf("We stopped sending alerts to %s. %s", where, why),
			"Your searches keep running. Once the destination is active again, you can resend the messages it missed.",
			fix,
		},
		Button: "View destination", Link: s.public + "/destinations/" + d.UUID,
	}
	p.Reason = fmt.Sprintf("Sent to %s, the email address of your %s account.", recipient(m), p.Site)
}

// destinationName returns the redacted address of a message's destination, and a short form of it.
func destinationName(m alerts.Message) (full, short string) {
	address := oneLine(m.Destination.Address.V, 1000)
	if address == "" {
		return "your email address", "your email address"
	}
	if u, err := url.Parse(address); err == nil && m.Destination.Kind == cola.KindWebhook && u.Host != "" {
		return u.Redacted(), u.Hostname()
	}
	return address, address
}
