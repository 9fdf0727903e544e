package dashboard

import (
	"cmp"
	"net/url"
	"slices"
	"strings"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/cola/vocabulary"
	"github.com/colaregistry/colaregistry/internal/params"
	"github.com/colaregistry/colaregistry/internal/web"
	"github.com/colaregistry/colaregistry/registry"
)

// exploreResults are the results of a search, with links to related searches.
type exploreResults struct {
	Total     int
	Rows      []labelRow
	Gallery   bool // show large images
	Chips     []filterChip
	Facets    []facetGroup
	Controls  []linkGroup
	Notes     []noteLink // why few or no labels match, and what to search for instead
	Pager     pager
	FirstURL  string // first page, if this one is past the last
	Cut       bool   // shortened because the month's list records are used up
	SaveURL   string // form to save this search
	TrendsURL string // chart of this search
	CheckURL  string // page that checks the brand name; empty if the search has none
	Export    *exportLink
	Cost      pageCost
}

// pageCost is the cost of a page and the remaining quota.
type pageCost struct {
	Charged   int
	One, Many string
	Left      int
	Limit     int
	NoLarger  bool // the account has the largest plan
}

func listCost(q cola.QuotaState) pageCost {
	return pageCost{q.Charged, "list record", "list records", q.ListRecordsRemaining(), q.Limits.ListRecords, q.Tier.Largest()}
}

func detailCost(q cola.QuotaState) pageCost {
	return pageCost{q.Charged, "detail view", "detail views", q.DetailViewsRemaining(), q.Limits.DetailViews, q.Tier.Largest()}
}

// filterChip is a filter of a search, with a link that removes it.
type filterChip struct{ Param, Words, Href string }

// labelRow is a label as shown in lists.
type labelRow struct {
	ID             string
	Brand, Product string
	Kind           string
	Class, Origin  string
	Status         string
	Approved       cola.Date // zero if unknown
	Estimate       cola.Date // estimate of an unknown approval date
	Permit         string
	PermitHref     string
	Company        string // permit holder; set only for search results
	Picture        picture
}

// maxShownName is the maximum length of a name in lists, in characters; the label's page shows the
// whole name.
const maxShownName = 120

func shownName(s string) string { return truncate(singleLine(s), maxShownName) }

// searchResults prepares the results for the page. Its links keep the view and, except for the date
// range links, the dates, even if changing a filter would change the default dates. Removing the
// only filter leads to the empty form, which is free.
func (req *request) searchResults(
	reader *params.Reader[cola.SearchParams], p cola.SearchParams, r registry.ExploreResult, view string,
) *exploreResults {
	bare := p
	bare.Page, bare.Cursor = cola.Opt[int]{}, ""
	now, at, address := req.now(), r.Pagination, searchAddress(view)
	keepDates := func(p cola.SearchParams) string {
		values := params.Query(p.FreeDates(now))
		if len(values) == 0 {
			return explorePath
		}
		return address(values)
	}
	fixed := bare.FixDates(now)
	dates := dateRangeOf(fixed, now)
	f := &exploreResults{
		Total: at.Total, Gallery: view == galleryView, Facets: facetGroups(fixed, r.Facets, keepDates),
		Controls: searchControls(bare, now, view), Cut: at.TruncatedByQuota, Cost: listCost(req.quota),
		SaveURL:   strings.TrimSuffix(searchesPath+"/new?"+params.Query(bare).Encode(), "?"),
		TrendsURL: trendsOf(bare, dates == lastYear), CheckURL: checkURL(bare.BrandName),
		Pager: searchPager(p, at, len(r.Colas), address),
	}
	f.Chips = filterChips(fixed, func(values url.Values) string {
		return keepDates(reader.Read(reader.Fields(values), nil))
	})
	if dates != customDates { // the date range has its own control
		f.Chips = slices.DeleteFunc(f.Chips, func(c filterChip) bool { return isDateParam(c.Param) })
	}
	if dates == lastYear { // it spans parts of two years
		f.Facets = slices.DeleteFunc(f.Facets, func(g facetGroup) bool { return g.Name == cola.FacetYear })
	}
	if f.Total == 0 {
		f.Controls = f.Controls[:1] // only the dates matter
	}
	f.Notes = noteLinks(withRemovableFilters(r), address)
	f.Export = newExportLink(bare, at.Total, req.quota)
	if len(r.Colas) == 0 && at.Total > 0 {
		f.FirstURL = address(params.Query(bare))
	}
	for _, c := range req.svc.Rows(r.Colas) {
		row := req.newLabelRow(&c.ColaSummary, r.Images[c.TTBID])
		row.Company = shownName(string(c.CompanyName))
		if f.Gallery {
			row.Picture = req.labelPicture(&row, r.Images[c.TTBID], galleryPicture)
		}
		f.Rows = append(f.Rows, row)
	}
	return f
}

// trendsOf returns the URL of a search's chart: by month in the default window, otherwise by year.
func trendsOf(p cola.SearchParams, window bool) string {
	p.Sort = ""
	values := params.Query(p)
	values.Set("group_by", cola.ByYear)
	if window {
		values.Set("group_by", cola.ByMonth)
	}
	return trendsURL(values)
}

// Title returns the page title, which lists the first filters.
func (f *exploreResults) Title() string {
	const maxChips = 3
	var all []string
	for _, c := range f.Chips[:min(len(f.Chips), maxChips)] {
		all = append(all, c.Words)
	}
	if len(all) == 0 {
		return "All labels · Explore"
	}
	return strings.Join(all, ", ") + " · Explore"
}

// newLabelRow prepares a label for a list. image is the URL of its image, if known.
func (req *request) newLabelRow(c *cola.ColaSummary, image string) labelRow {
	r := labelRow{
		ID: c.TTBID.String(), Brand: shownName(c.BrandName), Product: shownName(string(c.ProductName)),
		Kind: string(c.ProductType), Class: shownName(string(c.ClassName)),
		Origin: shownName(string(c.OriginName)), Status: string(c.ApplicationStatus), Approved: c.ApprovalDate, Estimate: c.ApprovalDateEstimate,
		Permit:     shownName(c.PermitNumber),
		PermitHref: permitHref(c.PermitNumber),
	}
	r.Picture = req.labelPicture(&r, image, rowPicture)
	return r
}

// labelPicture returns the image of a label at a display width.
func (req *request) labelPicture(r *labelRow, image string, width int) picture {
	p := req.recordLinks().picture(image, width)
	p.Alt = "Label for " + strings.TrimSpace(r.Brand+" "+r.Product)
	return p
}

// withRemovableFilters returns the notes on a search and, if no labels match, a note on each filter
// that can be removed to get results.
func withRemovableFilters(r registry.ExploreResult) []registry.Note {
	notes := r.Advice
	for _, n := range r.RemovableFilters {
		if !slices.ContainsFunc(notes, func(have registry.Note) bool { return have.Text == n.Text }) {
			notes = append(slices.Clip(notes), n)
		}
	}
	return notes
}

// checkURL returns the URL that checks a brand name, or "" if there is no name.
func checkURL(name string) string {
	if brand, ok := cola.WholeBrand(name); ok {
		name = brand
	}
	if name == "" {
		return ""
	}
	return brandsURL(url.Values{"q": {name}})
}

// searchPager links pages by number up to cola.MaxPage, then by cursor. If the quota truncated the
// page, the next one is also linked by cursor, to continue with the omitted labels.
func searchPager(p cola.SearchParams, at cola.Pagination, rows int, address func(url.Values) string) pager {
	next := pager{Page: at.Page, Pages: at.Pages, Total: at.Total}
	to := func(page int, cursor string) string {
		p.Page, p.Cursor = cola.Opt[int]{}, cursor
		if page > 1 {
			p.Page = cola.Some(page)
		}
		return address(params.Query(p))
	}
	numbered := at.Mode != "cursor"
	if numbered && rows > 0 {
		next.First, next.Last = (at.Page-1)*at.PerPage+1, (at.Page-1)*at.PerPage+rows
	}
	if numbered && at.Page > 1 && rows > 0 {
		next.Previous = to(at.Page-1, "")
	}
	switch {
	case !at.HasMore:
	case numbered && at.Page < cola.MaxPage && !at.TruncatedByQuota:
		next.Next = to(at.Page+1, "")
	case at.NextCursor != "":
		next.Next = to(0, at.NextCursor)
	}
	return next
}

// filterChips returns the filters of a search.
func filterChips(p cola.SearchParams, address func(url.Values) string) []filterChip {
	var chips []filterChip
	values := params.Query(p)
	for _, f := range cola.FieldsOf[cola.SearchParams]() {
		for _, value := range values[f.Name] {
			condition, ok := p.Condition(f.Name, singleLine(value))
			if !ok || condition.Kind == cola.UnitFilter { // the volume bounds show the unit
				continue
			}
			chips = append(chips, filterChip{
				f.Name, truncate(condition.String(), maxShownName), address(withoutValue(values, f.Name, value)),
			})
		}
	}
	return chips
}

// withoutValue returns the parameters without one value. The volume unit is removed with the last
// volume.
func withoutValue(values url.Values, name, value string) url.Values {
	rest := url.Values{}
	for n, all := range values {
		if n == name {
			all = slices.DeleteFunc(slices.Clone(all), func(v string) bool { return v == value })
		}
		if len(all) > 0 {
			rest[n] = all
		}
	}
	if !rest.Has("volume_min") && !rest.Has("volume_max") {
		rest.Del("volume_unit")
	}
	return rest
}

// facetGroup is a facet with a link for each of its values.
type facetGroup struct {
	Name    string // one of cola.Facets
	Title   string
	Parents []facetLink // enclosing values, outermost first
	Values  []facetLink
	More    int
	Narrow  bool // values are short, so the list has columns
}

// facetLink is a link that adds a facet value to the search or, if it is chosen, removes it.
type facetLink struct {
	Label  string
	Count  int
	Chosen bool
	Href   string
}

func facetTitle(name string) string {
	if name == cola.FacetYear {
		return "Approval year"
	}
	f, ok := cola.FilterOf(name)
	if !ok {
		return name
	}
	return strings.ToUpper(f.Noun[:1]) + f.Noun[1:]
}

// facetGroups prepares the facets that have values. address returns the URL of a search.
func facetGroups(p cola.SearchParams, facets []cola.Facet, address func(cola.SearchParams) string) []facetGroup {
	var groups []facetGroup
	for _, f := range facets {
		g := facetGroup{Name: f.Name, Title: facetTitle(f.Name), More: f.More, Narrow: f.Name == cola.FacetYear}
		if f.Name == cola.FacetCategory {
			g.Parents = categoryParents(p, address)
		}
		for _, value := range f.Values {
			label := value.Value
			if f.Name == cola.FacetCategory && value.Value != p.DerivedSubcategory {
				label = cmp.Or(vocabulary.CategoryLeaf(label), label)
			}
			if f.Name == cola.FacetOrigin && vocabulary.CoversSeveralOrigins(label) {
				label += " (total)"
			}
			g.Values = append(g.Values, facetLink{
				truncate(singleLine(label), maxShownName), value.Count, value.Chosen,
				facetAddress(p, f.Name, value.Value, address),
			})
		}
		if len(g.Values)+len(g.Parents) > 0 {
			groups = append(groups, g)
		}
	}
	return groups
}

// facetAddress returns the URL of the search with a facet value added or, if it is already chosen,
// removed. Removing the year selects all dates.
func facetAddress(p cola.SearchParams, facet, value string, address func(cola.SearchParams) string) string {
	to := p.Toggle(facet, value)
	if facet == cola.FacetYear && to.ApprovalDateFrom == 0 && to.ApprovalDateTo == 0 {
		to.DateRange = cola.AllDates
	}
	return address(to)
}

// categoryParents returns a link for each level of a search's category path. Each link searches
// within that level.
func categoryParents(p cola.SearchParams, address func(cola.SearchParams) string) []facetLink {
	path := vocabulary.NormalizePath(p.DerivedSubcategory)
	if path == "" {
		return nil
	}
	links := []facetLink{{Label: "All categories", Href: address(p.Without(cola.FacetCategory))}}
	const separator = " > "
	levels := strings.Split(path, separator)
	for i, level := range levels {
		prefix := strings.Join(levels[:i+1], separator)
		links = append(links, facetLink{
			Label:  truncate(singleLine(level), maxShownName),
			Chosen: i == len(levels)-1,
			Href:   address(p.Choose(cola.FacetCategory, prefix)),
		})
	}
	return links
}

// Text describes the cost of the page.
func (c pageCost) Text() string {
	cost := "Free"
	if c.Charged > 0 {
		cost = plural(c.Charged, c.One, c.Many)
	}
	return cost + " · " + web.Thousands(c.Left) + " left"
}
