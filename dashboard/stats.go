package dashboard

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/params"
	"github.com/colaregistry/colaregistry/internal/web"
	"github.com/colaregistry/colaregistry/registry"
)

// countService contains the operations that the Trends page uses.
type countService interface {
	CountColas(context.Context, cola.Caller, cola.CountParams) (registry.ColaCounts, cola.QuotaState, error)
}

func countRoutes() []route {
	reader := params.New[cola.CountParams]("a count")
	return []route{get(trendsPath, func(req *request) error { return req.trends(reader) })}
}

// trendsPage is the form and, if dimensions were chosen, the counts.
type trendsPage struct {
	Form     countForm
	Hints    []string // notes on ignored URL parameters
	Notes    []noteLink
	Result   *trendResult
	Examples []exampleSearch
	Quota    cola.QuotaState
}

func exampleTrends() []exampleSearch {
	return []exampleSearch{
		{"Labels per year by product type", trendsPath + "?date_range=all&group_by=year&group_by=product_type"},
		{"Wine labels by month", trendsPath + "?group_by=month&product_type=wine"},
		{"Permittees with the most gin labels", trendsPath + "?group_by=permit&q=gin"},
		{"Beer by container", trendsPath + "?group_by=container&product_type=malt+beverage"},
		{"Wine by ABV", trendsPath + "?group_by=abv&product_type=wine"},
	}
}

// trends counts labels if the URL has a dimension to count by. Otherwise it shows the form with the
// other parameters, which is free.
func (req *request) trends(reader *params.Reader[cola.CountParams]) error {
	counted := readQuery(reader, req.http.URL.RawQuery)
	p := trendsPage{Form: newCountForm(counted.values, nil), Hints: counted.hints, Quota: req.quota}
	if !counted.values.Has("group_by") && len(counted.params.Problems) == 0 {
		p.Examples = exampleTrends()
		return req.show(http.StatusOK, "trends", page{Title: "Trends", Data: p})
	}
	if to := counted.canonicalURL(counted.params.Problems, trendsURL); to != "" {
		return req.redirect(to, "")
	}
	if answered, err := req.guardCharge(countPrice()); answered || err != nil {
		return err
	}
	for i, dimension := range counted.params.GroupBy {
		counted.params.GroupBy[i] = strings.ToLower(dimension)
	}
	rows := limitGroups(&counted.params)
	counts, state, err := req.svc.CountColas(req.ctx(), req.caller, counted.params)
	req.recordQuota(state)
	p.Quota = req.quota
	if problems := fieldProblems(err); problems != nil {
		web.EventOf(req.ctx()).Code = cola.CodeValidation
		p.Form = newCountForm(counted.values, problems)
		return req.show(http.StatusBadRequest, "trends", page{Title: "Invalid filters · Trends", Data: p})
	}
	if err != nil {
		return err
	}
	req.allowBackCache()
	p.Notes = noteLinks(counts.Advice, func(search url.Values) string {
		return trendsURL(withDimensions(search, counted.values))
	})
	p.Result = req.trendResult(counted, rows, counts)
	return req.show(http.StatusOK, "trends", page{
		Title: p.Result.Title + " · Trends", Data: p,
		Call: req.call(http.MethodGet, "/colas/stats?"+params.Query(counted.params).Encode(),
			"Costs one list record per 50 groups returned; free if nothing matches.").
			forTool("count_labels", argumentsOf(counted.params)),
	})
}

// trendsURL returns the URL of a count.
func trendsURL(values url.Values) string {
	return strings.TrimSuffix(trendsPath+"?"+values.Encode(), "?")
}

// withDimensions copies group_by and top from counted to search.
func withDimensions(search, counted url.Values) url.Values {
	for _, name := range []string{"group_by", "top"} {
		if values := withoutBlanks(counted)[name]; values != nil {
			search[name] = values
		}
	}
	return search
}

func countPrice() price {
	return price{cola.MeterListRecords, "one list record per 50 groups counted, up to 20 list records; free if nothing matches", "Show chart"}
}

// Limits on the number of rows on a page.
const (
	defaultRanking = 30
	maxRanking     = 100
)

// limitGroups adapts the parameters of a count to the page, where top limits the rows of a ranking.
// It returns that limit. All counts except rankings by a single dimension request as many groups as
// the API allows.
func limitGroups(p *cola.CountParams) (rows int) {
	rows = defaultRanking
	if p.Top.OK {
		rows = p.Top.V
	}
	if rows > maxRanking {
		p.Problems.Add("top", "The maximum here is %d. The API returns up to %s groups.", maxRanking, web.Thousands(cola.MaxGroups))
	}
	if ranking := len(p.GroupBy) == 1 && !cola.HasOwnOrder(p.GroupBy[0]); !ranking && rows > 0 {
		p.Top = cola.Some(cola.MaxGroups)
	}
	return rows
}

// trendResult is a count with its chart and table.
type trendResult struct {
	trend
	Total     int
	Chips     []filterChip
	Since     cola.Date // first day of the default window; zero if it doesn't apply
	AllURL    string    // the same count across all dates
	DataAsOf  cola.Date
	Cut       bool   // groups are missing because the month's list records are used up
	LabelsURL string // search for the counted labels
	Cost      pageCost
}

// trendResult prepares the result of a count.
func (req *request) trendResult(
	counted queryParams[cola.CountParams], rows int, counts registry.ColaCounts,
) *trendResult {
	p := counted.params.SearchParams
	address := func(search url.Values) string { return trendsURL(withDimensions(search, counted.values)) }
	r := &trendResult{
		trend: newTrend(counts.Groups, counted.params.GroupBy, rows, counts.Others), Total: counts.Total,
		DataAsOf: counts.DataAsOf, Cut: counts.Truncated, Chips: filterChips(p, address),
		LabelsURL: exploreURL(params.Query(p)), Cost: listCost(req.quota),
	}
	if counts.Defaults != nil {
		r.Since = counts.Defaults.DateFrom
		p.DateRange = cola.AllDates
		r.AllURL = address(params.Query(p))
		p.ApprovalDateFrom, p.ApprovalDateTo, p.DateRange = r.Since, r.Since.AddDays(cola.DefaultWindowDays), ""
	}
	r.linkRows(p)
	return r
}

// linkRows links each row to the search for its labels, unless there is no such search. The search
// specifies p's dates explicitly, because a status filter can change the default dates. Long tables
// have no links, to keep the page small.
func (r *trendResult) linkRows(p cola.SearchParams) {
	if len(r.Rows) > maxRanking {
		return
	}
	for i := range r.Rows {
		row, search, ok := &r.Rows[i], p, true
		for _, dimension := range r.by {
			if ok {
				search, ok = search.Within(dimension, row.group.Get(dimension))
			}
		}
		if ok && row.Total > 0 {
			row.LabelsURL = exploreURL(params.Query(search))
		}
	}
}

// LeftOut returns the number of labels that the table doesn't include.
func (r *trendResult) LeftOut() int { return r.Total - r.Shown }

// countForm is the form of the Trends page.
type countForm struct {
	exploreForm
}

func newCountForm(values url.Values, problems map[string][]string) countForm {
	f := countForm{newExploreForm(values, problems)}
	f.Open = f.Open || len(problems["top"]) > 0
	return f
}

// Filters returns the form without the fields that only counts have.
func (f countForm) Filters() exploreForm { return f.exploreForm }

// ProblemList lists the problems with the form.
func (f countForm) ProblemList() []formProblem {
	return listProblems(f.Problems, func(name string) (string, bool) {
		switch name {
		case "group_by":
			return "Count labels by", true
		case "top":
			return f.Top().Label, true
		}
		_, field := cola.FilterOf(name)
		return exploreLabel(name), field
	})
}

// First returns the choices for the first dimension.
func (f countForm) First() []option { return f.dimensions(0, cola.ByYear) }

// Second returns the choices for the second dimension.
func (f countForm) Second() []option { return f.dimensions(1, "") }

// dimensions returns the dimensions as choices.
func (f countForm) dimensions(i int, preset string) (options []option) {
	given := withoutBlanks(f.values)["group_by"]
	given = strings.Split(strings.Join(given, ","), ",")
	if given[0] == "" {
		given = nil
	}
	chosen := preset
	if i < len(given) {
		chosen = strings.ToLower(strings.TrimSpace(given[i]))
	}
	known := false
	for _, d := range cola.Dimensions() {
		options = append(options, option{Value: d, Label: capitalize(dimensionName(d)), Chosen: d == chosen})
		known = known || d == chosen
	}
	if !known && chosen != "" {
		options = append(options, option{Value: chosen, Label: chosen, Chosen: true})
	}
	return options
}

// Top returns the field for the number of groups.
func (f countForm) Top() exploreField {
	return exploreField{
		Name: "top", Label: "Number of groups", Kind: "number", Problems: f.Problems["top"],
		Hint:  fmt.Sprintf("How many permittees, brands or other groups to list. Default: %d. Maximum: %d.", defaultRanking, maxRanking),
		Value: strings.ToValidUTF8(f.values.Get("top"), "\uFFFD"),
	}
}

// dimensionName returns the display name of a dimension, for use in a sentence.
func dimensionName(dimension string) string {
	return cmp.Or(map[string]string{
		cola.ByClass: "class/type", cola.ByPermit: "permittee", cola.ByState: "applicant’s state",
		cola.ByBrandFirstSeen: "brand’s first year", cola.ByPermitteeFirstSeen: "permittee’s first year",
		cola.ByABV: "ABV (%)", cola.ByVolume: "net contents (ml)",
	}[dimension], strings.ReplaceAll(dimension, "_", " "))
}
