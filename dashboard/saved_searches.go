package dashboard

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/params"
	"github.com/colaregistry/colaregistry/registry"
)

// searchService is what the pages of saved searches ask.
type searchService interface {
	CreateSavedSearch(context.Context, cola.Caller, cola.SavedSearchParams) (registry.SavedSearchMade, cola.QuotaState, error)
	SavedSearches(context.Context, cola.Caller, cola.SavedSearchListParams) (registry.PageList[cola.SavedSearch], cola.QuotaState, error)
	SearchRoll(context.Context, cola.Caller) (registry.SearchRoll, cola.QuotaState, error)
	SavedSearch(ctx context.Context, c cola.Caller, id, ifNoneMatch string) (registry.Tagged[cola.SavedSearch], cola.QuotaState, error)
	ChangeSavedSearch(ctx context.Context, c cola.Caller, id string, p cola.SavedSearchChangeParams) (cola.SavedSearch, cola.QuotaState, error)
	DeleteSavedSearch(ctx context.Context, c cola.Caller, id string) (cola.QuotaState, error)
	PreviewLabels(ctx context.Context, c cola.Caller, p cola.PreviewParams, most int) (registry.PreviewPage, cola.QuotaState, error)
	Words(context.Context) (registry.Words, error)
	SavedSearchRuns(ctx context.Context, c cola.Caller, id string, p cola.SavedSearchListParams) (registry.PageList[cola.SavedSearchRun], cola.QuotaState, error)
	SavedSearchRun(ctx context.Context, c cola.Caller, id, run string) (cola.SavedSearchRun, cola.QuotaState, error)
	RunLabels(ctx context.Context, c cola.Caller, id, run string, p cola.SavedSearchListParams) (registry.PageList[registry.RunLabel], cola.QuotaState, error)
	ExplainSavedSearch(ctx context.Context, c cola.Caller, id, label string) (cola.Explanation, cola.QuotaState, error)
	RunSavedSearch(ctx context.Context, c cola.Caller, id string) (cola.SavedSearch, cola.QuotaState, error)
	MakeFeed(ctx context.Context, c cola.Caller, id string) (cola.SavedSearchFeed, cola.QuotaState, error)
	HasFeed(ctx context.Context, c cola.Caller, id string) (bool, cola.QuotaState, error)
	EndFeed(ctx context.Context, c cola.Caller, id string) (cola.QuotaState, error)
}

const (
	newSearchPath     = searchesPath + "/new"
	previewSearchPath = searchesPath + "/preview"
	oneSearchPath     = searchesPath + "/{uuid}"
)

func searchRoutes() []route {
	return []route{
		get(searchesPath, (*visit).searches),
		get(newSearchPath, (*visit).newSearch),
		post(newSearchPath, (*visit).saveSearch),
		post(previewSearchPath, (*visit).previewSearch),
		get(oneSearchPath, (*visit).oneSearch),
		get(oneSearchPath+"/edit", (*visit).editSearch),
		post(oneSearchPath+"/edit", (*visit).changeSearch),
		post(oneSearchPath+"/pause", (*visit).pauseSearch),
		post(oneSearchPath+"/resume", (*visit).resumeSearch),
		post(oneSearchPath+"/run", (*visit).runSearch),
		get(oneSearchPath+"/delete", (*visit).askDeleteSearch),
		post(oneSearchPath+"/delete", (*visit).deleteSearch),
		get(oneSearchPath+"/feed", (*visit).askMakeFeed),
		post(oneSearchPath+"/feed", (*visit).makeFeed),
		get(oneSearchPath+"/feed/end", (*visit).askEndFeed),
		post(oneSearchPath+"/feed/end", (*visit).endFeed),
		get(oneSearchPath+"/runs/{run}", (*visit).searchRun),
		get(oneSearchPath+"/runs/{run}/labels", (*visit).runLabels),
		get(oneSearchPath+"/explain", (*visit).explainSearch),
	}
}

// searchPath is where the page of a saved search is.
func searchPath(uuid string) string { return searchesPath + "/" + url.PathEscape(uuid) }

// freeAlways is what a call costs that costs nothing.
const freeAlways = "It is free."

// listReader reads which page of a list is asked for.
var listReader = params.New[cola.SavedSearchListParams]("this page")

// listed reads the page of a list from the address. Other parameters of the address are not the list's.
func (v *visit) listed() cola.SavedSearchListParams {
	return listReader.Read(listReader.Fields(url.Values{"page": v.query()["page"]}), nil)
}

// listCall is the call of the API that gives the page of a list.
func (v *visit) listCall(path string) *apiCall {
	if page := v.query().Get("page"); page != "" {
		path += "?page=" + url.QueryEscape(page)
	}
	return v.call(http.MethodGet, path, freeAlways)
}

// searchRow is a saved search in the list.
type searchRow struct {
	cola.SavedSearch
	LooksFor string
	Rhythm   string
	State    searchState
}

// searchesPage lists the saved searches of the account.
type searchesPage struct {
	Rows   []searchRow
	Pager  pager
	Active meter // schedules
}

func (v *visit) searches() error {
	list, state, err := v.svc.SavedSearches(v.ctx(), v.caller, v.listed())
	if err != nil {
		return err
	}
	v.asked(state)
	roll, _, err := v.svc.SearchRoll(v.ctx(), v.caller)
	if err != nil {
		return err
	}
	p := searchesPage{
		Pager:  pageAt(v.r.URL, list.Meta.Page, list.Meta.PerPage, list.Meta.Total, len(list.Rows)),
		Active: meter{"Searches that run by themselves", roll.Active, v.account.ActiveLimit},
	}
	for _, s := range list.Rows {
		p.Rows = append(p.Rows, searchRow{s, looksForLine(s.Filters), rhythm(s.Schedule), stateOf(s.Schedule)})
	}
	return v.show(http.StatusOK, "savedsearches", page{Title: "Saved searches", Data: p, Call: v.listCall(searchesPath)})
}

// sought is a filter of a saved search.
type sought struct{ Label, Text string }

// looksFor returns the filters of a saved search.
func looksFor(f cola.SavedSearchFilters) (all []sought) {
	for _, a := range f.Conditions() {
		all = append(all, sought{a.Label, legible(a.Value)})
	}
	return all
}

// looksForLine says in one line what filters look for.
func looksForLine(f cola.SavedSearchFilters) string {
	var phrases []string
	for _, a := range f.Conditions() {
		phrases = append(phrases, legible(a.String()))
	}
	if len(phrases) == 0 {
		return "all labels"
	}
	return strings.Join(phrases, " · ")
}

// rhythm says when a schedule runs; it is empty for none.
func rhythm(s *cola.Schedule) string {
	if s == nil {
		return ""
	}
	switch s.Cadence {
	case cola.CadenceDaily:
		return "every day"
	case cola.CadenceWeekly:
		return "every " + time.Weekday(s.Day).String()
	}
	return "on the " + ordinal(s.Day) + " of every month"
}

// ordinal writes a day of a month: 1st, 2nd, 3rd, 4th.
func ordinal(n int) string {
	suffix := "th"
	if n/10 != 1 {
		switch n % 10 {
		case 1:
			suffix = "st"
		case 2:
			suffix = "nd"
		case 3:
			suffix = "rd"
		}
	}
	return strconv.Itoa(n) + suffix
}

// searchState tells whether a saved search runs by itself.
type searchState struct {
	Word, Class string
	Why         string // a sentence or two; empty where there is nothing to say
}

// stateOf tells how the schedule of a search stands.
func stateOf(s *cola.Schedule) searchState {
	switch {
	case s == nil:
		return searchState{Word: "no schedule", Class: "soft", Why: "It has no schedule, so it does not run by itself. You can have it run now."}
	case s.PausedBecause.V == cola.PausedDowngraded:
		return searchState{Word: "held back", Class: "bad", Why: "It does not run: your account has more active searches than it may, and the oldest of them run. " +
			"Pause or delete another one, and it goes on. What it misses meanwhile its next run finds."}
	case s.PausedBecause.OK:
		return searchState{Word: "held back", Class: "bad", Why: "It does not run: the account is suspended. Ask the operator of this service. What it misses meanwhile its next run finds."}
	case !s.Active:
		return searchState{Word: "paused", Class: "soft", Why: "It is paused. Once you resume it, one run looks at all the time since."}
	}
	return searchState{Word: "active", Class: "good"}
}

// met names the filters that a label matched.
func met(s cola.FilterSet) string { return strings.Join(s.Words(), ", ") }

// labelName names a label by its brand and product.
func labelName(c *cola.ColaSummary) string {
	brand, product := legible(c.BrandName), legible(string(c.ProductName))
	if product == "" || product == brand {
		return brand
	}
	return brand + " – " + product
}
