package dashboard

import (
	"strconv"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/params"
)

// linkGroup is a control on a page: a row of links, one of which may be chosen.
type linkGroup struct {
	Label string
	Links []facetLink
}

// dateRange is an option of the date range control.
type dateRange int

const (
	customDates dateRange = iota
	lastYear
	allDates
)

// dateRangeOf returns the range of a search with fixed dates (see cola.SearchParams.FixDates).
func dateRangeOf(p cola.SearchParams, now time.Time) dateRange {
	from, to := cola.LastYear(now)
	switch {
	case p.DateRange != "":
		return allDates
	case p.ApprovalDateFrom == from && p.ApprovalDateTo == to:
		return lastYear
	}
	return customDates
}

// withDateRange returns the search with its dates replaced by r, which must not be customDates.
func withDateRange(p cola.SearchParams, r dateRange, now time.Time) cola.SearchParams {
	p.ApprovalDateFrom, p.ApprovalDateTo, p.DateRange = 0, 0, ""
	if r == allDates {
		p.DateRange = cola.AllDates
	} else {
		p.ApprovalDateFrom, p.ApprovalDateTo = cola.LastYear(now)
	}
	return p
}

// isDateParam reports whether a parameter limits approval dates.
func isDateParam(name string) bool {
	return name == "approval_date_from" || name == "approval_date_to" || name == "date_range"
}

// searchControls returns the controls for the results. p must select the first page.
func searchControls(p cola.SearchParams, now time.Time, view string) []linkGroup {
	address := searchAddress(view)
	link := func(label string, chosen bool, change func(*cola.SearchParams)) facetLink {
		to := p
		change(&to)
		return facetLink{Label: label, Chosen: chosen, Href: address(params.Query(to.FreeDates(now)))}
	}
	dates := linkGroup{Label: "Dates"}
	for _, r := range []struct {
		label string
		dates dateRange
	}{{"Last 12 months", lastYear}, {"All dates", allDates}} {
		dates.Links = append(dates.Links, link(r.label, dateRangeOf(p.FixDates(now), now) == r.dates,
			func(to *cola.SearchParams) { *to = withDateRange(*to, r.dates, now) }))
	}
	order := linkGroup{Label: "Sort"}
	for _, o := range []struct{ label, sort string }{
		{"Newest", string(cola.SortNewest)}, {"Oldest", string(cola.SortOldest)}, {"Brand A–Z", string(cola.SortBrand)},
	} {
		order.Links = append(order.Links, link(o.label, cola.SameSort(p.Sort, o.sort),
			func(to *cola.SearchParams) { to.Sort = o.sort }))
	}
	rows := linkGroup{Label: "Per page"}
	for _, n := range []int{cola.DefaultPerPage, 50, cola.MaxPerPage} {
		chosen := n == cola.DefaultPerPage && !p.PerPage.OK || p.PerPage == cola.Some(n)
		rows.Links = append(rows.Links, link(strconv.Itoa(n), chosen, func(to *cola.SearchParams) {
			if to.PerPage = cola.Some(n); n == cola.DefaultPerPage {
				to.PerPage = cola.Opt[int]{}
			}
		}))
	}
	views := linkGroup{Label: "View", Links: []facetLink{
		{Label: "List", Chosen: view != galleryView, Href: exploreURL(params.Query(p))},
		{Label: "Gallery", Chosen: view == galleryView, Href: searchAddress(galleryView)(params.Query(p))},
	}}
	return []linkGroup{dates, order, rows, views}
}
