package mail

import (
	"fmt"
	"net/url"
	"strings"

	"github.com/colaregistry/colaregistry/alerts"
	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

const (
	maxName  = 80  // characters of a search's name in the subject
	maxField = 120 // characters of a label's field
	maxLead  = 140
)

// findings is the result of a run, for the templates.
type findings struct {
	Window string // approval dates that the run covered
	Labels []found
	More   string // text of the link to the other labels; empty if there are none
	Run    string // page with all labels of the run
	Manage string // page of the search
}

// found is a label, for the templates.
type found struct {
	Name  string // brand and product
	Facts string // class, origin, approval
	TTBID string
	Late  bool
	Met   string // filters that it met; empty if unknown
	Link  string
}

// findings fills a page with the result of a run.
func (s *Sender) findings(m alerts.Message, p *page, token string) {
	c := m.Content
	name := oneLine(c.Search.Name, maxName)
	p.Heading = fmt.Sprintf("%s for “%s”", newLabels(c.Run.MatchCount), name)
	f := findings{Window: window(c.Run), Manage: s.public + "/saved-searches/" + c.Search.UUID}
	f.Run = fmt.Sprintf("%s/runs/%d", f.Manage, c.Run.ID)
	var brands []string
	for _, l := range c.Labels {
		f.Labels = append(f.Labels, labelOf(l))
		brands = append(brands, oneLine(l.Label.BrandName, maxField))
	}
	switch more := c.Run.MatchCount - len(c.Labels); {
	case more > 0 && len(c.Labels) > 0:
		f.More = "See " + count(more, "more label", "more labels")
	case more > 0:
		f.More = "See " + count(more, "label", "labels")
	}
	p.Subject, p.Body = p.Heading, f
	if p.Lead = oneLine(strings.Join(brands, " · "), maxLead); p.Lead == "" {
		p.Lead = f.Window
	}
	p.Why = fmt.Sprintf("You get this because the saved search “%s” of an account at %s is to tell %s what it finds.", name, p.Site, recipient(m))
	p.Stop = s.address("unsubscribe", token)
}

// newLabels returns a number of new labels in words.
func newLabels(n int) string {
	if n == 0 {
		return "No new labels"
	}
	return count(n, "new label", "new labels")
}

// window describes the approval dates that a run covered, and its late labels.
func window(r cola.SavedSearchRun) string {
	said := fmt.Sprintf("Looked at labels approved %s.", days(r.DateFrom, r.DateTo))
	switch {
	case r.LateCount == 1 && r.MatchCount == 1:
		said += " This one is late: it was approved before that, and came to the registry since the run before."
	case r.LateCount == 1:
		said += " One is late: it was approved before that, and came to the registry since the run before."
	case r.LateCount > 1:
		said += fmt.Sprintf(" %s are late: they were approved before that, and came to the registry since the run before.", withCommas(r.LateCount))
	}
	return said
}

// labelOf describes a label.
func labelOf(l store.MatchedLabel) found {
	c := l.Label
	f := found{TTBID: c.TTBID.String(), Late: l.Match.Late, Met: strings.Join(l.Match.Met.Words(), ", ")}
	f.Name = oneLine(c.BrandName, maxField)
	if product := oneLine(string(c.ProductName), maxField); product != "" {
		f.Name = strings.TrimPrefix(f.Name+" – "+product, " – ")
	}
	class := oneLine(string(c.ClassName), maxField)
	if class == "" {
		class = string(c.ProductType)
	}
	facts := []string{class, oneLine(string(c.OriginName), maxField)}
	if c.ApprovalDate != 0 {
		facts = append(facts, "approved "+day(c.ApprovalDate))
	}
	for _, fact := range facts {
		if fact != "" {
			f.Facts += " · " + fact
		}
	}
	f.Facts = strings.TrimPrefix(f.Facts, " · ")
	f.Link = "https://ttbonline.gov/colasonline/viewColaDetails.do?action=publicDisplaySearchBasic&ttbid=" + f.TTBID
	return f
}

// notice is an email of a few sentences.
type notice struct {
	Paragraphs []string
	Button     string // label of Link; empty: none
	Link       string
	Code       []string // lines for developers, after the paragraphs
	After      string   // last sentence; empty: none
}

// test fills a page with a test message.
func (s *Sender) test(m alerts.Message, p *page, token string) {
	p.Subject = "Test of label alerts"
	p.Heading = "This is a test"
	p.Lead = "Messages of saved searches arrive at this address."
	p.Body = notice{Paragraphs: []string{
		"Somebody with an account at " + p.Site + " tried whether messages of saved searches arrive at this address. They do.",
		"There is nothing to be done.",
	}}
	p.Why = fmt.Sprintf("You get this because %s is to be told what saved searches of the account find.", recipient(m))
	p.Stop = s.address("unsubscribe", token)
}

// confirm asks the owner of an address to agree. It contains no text by the account holder but the
// account's address.
func (s *Sender) confirm(m alerts.Message, p *page, token string) {
	who := "Somebody"
	if isAddress(m.AccountEmail) {
		who = m.AccountEmail
	}
	p.Subject = "Confirm that label alerts may be sent to you"
	p.Heading = "May label alerts be sent to you?"
	p.Lead = "Nothing is sent until you agree."
	p.Body = notice{
		Paragraphs: []string{
			fmt.Sprintf("%s, who has an account at %s, wants what saved searches find in the registry of US alcohol label approvals to be sent to this address.", who, p.Site),
			"If that is what you want, agree:",
		},
		Button: "Yes, send me alerts", Link: s.address("confirm", token),
		After: "If not, do nothing. No alert is sent to you unless you agree, and every one has a link that ends them.",
	}
	p.Why = fmt.Sprintf("You get this because somebody gave %s as an address for alerts. Until you agree, nothing else is sent there.", recipient(m))
}

// paused tells an account that one of its destinations was paused.
func (s *Sender) paused(m alerts.Message, p *page) {
	d := m.Destination
	where, host := destinationName(m)
	p.Subject = "Label alerts have stopped for " + oneLine(host, maxName)
	p.Heading = "Alerts have stopped for " + oneLine(host, maxName)
	why := "It was paused."
	switch d.Reason.V {
	case cola.ReasonGone:
		why = "The receiver answered that it is gone and wants no more messages (410), so it was disabled at once."
	case cola.ReasonFailing:
		why = "Messages to it have failed, and nothing got through meanwhile, so it was paused."
	case cola.ReasonUnsubscribed:
		why = "Whoever gets the mail there has ended it."
	}
	if d.FailingSince.OK {
		why += fmt.Sprintf(" It has failed since %s.", instant(d.FailingSince.V.Time()))
	}
	p.Lead = why
	here := fmt.Sprintf("%s/api/v1/destinations/%s", s.public, d.UUID)
	p.Body = notice{
		Paragraphs: []string{
			fmt.Sprintf("Messages of your saved searches to %s are not sent any more. %s", where, why),
			"Your searches go on running. What they find is kept, and so is what would have been sent.",
			"When the receiver is well again, make the destination active, and then have sent what was left out, with your API key:",
		},
		Code: []string{fmt.Sprintf(`PATCH %s {"active": true}`, here), fmt.Sprintf("POST %s/replay", here)},
	}
	p.Why = fmt.Sprintf("You get this because %s is the address of the account at %s that the destination belongs to.", recipient(m), p.Site)
}

// destinationName names a message's destination: in full, without a password in its URL, and in
// short.
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
