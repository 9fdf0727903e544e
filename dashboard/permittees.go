package dashboard

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/web"
	"github.com/colaregistry/colaregistry/registry"
)

// permitteePage is a permittee with its latest labels.
type permitteePage struct {
	Name       string
	Number     string
	Active     bool
	Facts      []fact
	Recent     []labelRow
	Labels     int    // total
	SearchURL  string // search for all the permittee's labels
	BrandsURL  string // ranking of its brands
	HistoryURL string // chart of its labels by year
	WatchURL   string // form for a saved search for the permit
	Cost       pageCost
}

// permitteeList lists permittees.
func permitteeList() list[cola.PermitteeParams] {
	return list[cola.PermitteeParams]{
		path: permitteeListPath, title: "Permittees", one: "permittee", many: "permittees", call: "/permittees", tool: "search_permittees",
		price: &price{cola.MeterListRecords, "one list record per permittee shown, up to 20; free if nothing matches", "Search"},
		fields: []listField{
			{Name: "q", Label: "Company or trade name"},
			{Name: "state", Label: "State", Words: func(w registry.Vocabulary) []string { return w.States }},
			{Name: "permittee_type", Label: "Permit type"},
			flagField("is_active", "Active", "Active only", "Inactive only"),
		},
		columns: []listColumn{
			{Title: "Company"}, {Title: "Permit"}, {Title: "Type"}, {Title: "State"}, {Title: "Active"},
			{Title: "Labels", Number: true}, {Title: "Latest application"},
		},
		find: func(req *request, p cola.PermitteeParams) (listRows, cola.QuotaState, error) {
			found, state, err := req.svc.SearchPermittees(req.ctx(), req.caller, p)
			at := found.Pagination
			return listRows{
				rows: rowsOf(found.Permittees, permitteeCells), notes: found.Notes, cut: at.TruncatedByQuota,
				pager: newPager(req.http.URL, cola.PageMeta{Page: at.Page, PerPage: max(1, at.PerPage), Total: at.Total}, len(found.Permittees)),
			}, state, err
		},
	}
}

func permitteeCells(p *cola.PermitteeSummary) []listCell {
	active := "No"
	if p.IsActive {
		active = "Yes"
	}
	labels := numberCell(p.Colas)
	if p.Colas > 0 {
		labels = labels.to(allHistory("permit_number", p.PermitNumber))
	}
	return []listCell{
		textCell(permitteeName(p)).to(permitHref(p.PermitNumber)), textCell(p.PermitNumber), textCell(p.PermitteeType),
		textCell(p.CompanyState), textCell(active), labels, dayCell(p.LastColaApplicationDate),
	}
}

func (req *request) permittee() error {
	if answered, err := req.guardCharge(recordPrice()); answered || err != nil {
		return err
	}
	number := req.path("*")
	found, state, err := req.svc.PermitteeProfile(req.ctx(), req.caller, number)
	req.recordQuota(state)
	if cola.CodeOf(err) == cola.CodeNotFound {
		return req.showNotFound(err, "Permittee not found", number)
	}
	if err != nil {
		return err
	}
	req.allowBackCache()
	call := req.call("GET", "/permittees/"+url.PathEscape(found.PermitNumber),
		"Costs one detail view, latest labels included; free if the permittee doesn’t exist.").
		forTool("get_permittee", map[string]any{"permit_number": found.PermitNumber})
	p := req.permitteePage(&found)
	return req.show(http.StatusOK, "permittee", page{Title: p.Name, Data: p, Call: call})
}

// permitteePage prepares a permittee for the page.
func (req *request) permitteePage(found *registry.PermitteeProfile) permitteePage {
	d, name := &found.PermitteeDetail, permitteeName(&found.PermitteeSummary)
	countURL := func(by string) string {
		return trendsURL(url.Values{"group_by": {by}, "permit_number": {d.PermitNumber}, "date_range": {cola.AllDates}})
	}
	p := permitteePage{
		Name: name, Number: singleLine(d.PermitNumber), Active: d.IsActive, Facts: permitteeFacts(&d.PermitteeSummary), Labels: d.Colas,
		SearchURL: allHistory("permit_number", d.PermitNumber),
		BrandsURL: countURL(cola.ByBrand), HistoryURL: countURL(cola.ByYear),
		WatchURL: newSearchURL(url.Values{"filters.permit_number_text": {d.PermitNumber}, "name": {name + " labels"}}),
		Cost:     detailCost(req.quota),
	}
	for i := range d.RecentColas {
		label := &d.RecentColas[i]
		p.Recent = append(p.Recent, req.newLabelRow(label, found.Images[label.TTBID]))
	}
	return p
}

// permitteeName returns the name of a permittee, or its number.
func permitteeName(p *cola.PermitteeSummary) string {
	for _, name := range []string{string(p.CompanyName), string(p.OperatingName), p.PermitNumber} {
		if name = truncate(singleLine(name), maxShownName); strings.TrimSpace(name) != "" {
			return name
		}
	}
	return "Permittee"
}

func permitteeFacts(p *cola.PermitteeSummary) []fact {
	active := "No"
	if p.IsActive {
		active = strings.TrimSuffix("Yes: "+singleLine(string(p.ActiveReason)), ": ")
	}
	return facts(
		textFact("Company", p.CompanyName),
		textFact("Trade name", p.OperatingName), textFact("Type", p.PermitteeType),
		textFact("State", p.CompanyState), textFact("ZIP code", p.CompanyZipCode), wordsFact("Active", active),
		wordsFact("Labels", fmt.Sprintf("%s (%s approved)", web.Thousands(p.Colas), web.Thousands(p.ColasApproved))),
		dateFact("Latest application", p.LastColaApplicationDate),
	)
}

// permitHref returns the URL of a permittee's page.
func permitHref(number string) string { return permitteesPath + url.PathEscape(number) }
