package mail

import (
	"fmt"
	"strings"

	"github.com/colaregistry/colaregistry/alerts"
	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

const (
	mostOfName  = 80  // characters of a search's name in the subject
	mostOfField = 120 // characters of a label's field
	mostOfLead  = 140
)

// findings is what a run found, as the templates show it.
type findings struct {
	Window string // what the run looked at
	Labels []found
	More   string // text of the link to the other labels; empty if there are none
	Run    string // page with all labels of the run
	Manage string // where the search is changed
}

// found is a label in words.
type found struct {
	Name  string // brand and product
	Facts string // class, origin, approval
	TTBID string
	Late  bool
	Met   string // filters that it met; empty when that was not noted
	Link  string
}

// findings says what a run found.
func (s *Sender) findings(m alerts.Message, p *page, token string) {
	c := m.Content
	name := plain(c.Search.Name, mostOfName)
	p.Heading = fmt.Sprintf("%s for “%s”", newLabels(c.Run.MatchCount), name)
	f := findings{Window: window(c.Run), Manage: s.public + "/saved-searches/" + c.Search.UUID}
	f.Run = fmt.Sprintf("%s/runs/%d", f.Manage, c.Run.ID)
	var brands []string
	for _, l := range c.Labels {
		f.Labels = append(f.Labels, labelOf(l))
		brands = append(brands, plain(l.Label.BrandName, mostOfField))
	}
	switch more := c.Run.MatchCount - len(c.Labels); {
	case more > 0 && len(c.Labels) > 0:
		f.More = "See " + amount(more, "more label", "more labels")
	case more > 0:
		f.More = "See " + amount(more, "label", "labels")
	}
	p.Subject, p.Body = p.Heading, f
	if p.Lead = plain(strings.Join(brands, " · "), mostOfLead); p.Lead == "" {
		p.Lead = f.Window
	}
	p.Why = fmt.Sprintf("You get this because the saved search “%s” of an account at %s is to tell %s what it finds.", name, p.Site, recipient(m))
	p.Stop = s.address("unsubscribe", token)
}

// newLabels is a number of labels as news.
func newLabels(n int) string {
	if n == 0 {
		return "No new labels"
	}
	return amount(n, "new label", "new labels")
}

// window says what a run looked at, and what is late.
func window(r cola.SavedSearchRun) string {
	said := fmt.Sprintf("Looked at labels approved %s.", days(r.DateFrom, r.DateTo))
	switch {
	case r.LateCount == 1 && r.MatchCount == 1:
		said += " This one is late: it was approved before that, and came to the registry since the run before."
	case r.LateCount == 1:
		said += " One is late: it was approved before that, and came to the registry since the run before."
	case r.LateCount > 1:
		said += fmt.Sprintf(" %s are late: they were approved before that, and came to the registry since the run before.", grouped(r.LateCount))
	}
	return said
}

// labelOf says a label in words.
func labelOf(l store.MatchedLabel) found {
	c := l.Label
	f := found{TTBID: c.TTBID.String(), Late: l.Match.Late, Met: strings.Join(l.Match.Met.Words(), ", ")}
	f.Name = plain(c.BrandName, mostOfField)
	if product := plain(string(c.ProductName), mostOfField); product != "" {
		f.Name = strings.TrimPrefix(f.Name+" – "+product, " – ")
	}
	class := plain(string(c.ClassName), mostOfField)
	if class == "" {
		class = string(c.ProductType)
	}
	facts := []string{class, plain(string(c.OriginName), mostOfField)}
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
