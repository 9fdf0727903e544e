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

// searchService contains the operations for saved searches.
type searchService interface {
	CreateAlert(
		context.Context, cola.Caller, cola.SavedSearchParams, registry.AlertDestinations,
	) (registry.CreatedAlert, cola.QuotaState, error)
	SavedSearches(
		context.Context, cola.Caller, cola.SavedSearchListParams,
	) (registry.PageList[cola.SavedSearch], cola.QuotaState, error)
	SavedSearchNames(context.Context, cola.Caller) (registry.SavedSearchNames, cola.QuotaState, error)
	SavedSearch(
		ctx context.Context, c cola.Caller, id, ifNoneMatch string,
	) (registry.Tagged[cola.SavedSearch], cola.QuotaState, error)
	ChangeSavedSearch(
		ctx context.Context, c cola.Caller, id string, p cola.SavedSearchChangeParams,
	) (cola.SavedSearch, cola.QuotaState, error)
	DeleteSavedSearch(ctx context.Context, c cola.Caller, id string) (cola.QuotaState, error)
	PreviewLabels(
		ctx context.Context, c cola.Caller, p cola.PreviewParams, maxLabels int,
	) (registry.PreviewPage, cola.QuotaState, error)
	Vocabulary(context.Context) (registry.Vocabulary, error)
	SavedSearchRuns(
		ctx context.Context, c cola.Caller, id string, p cola.SavedSearchListParams,
	) (registry.PageList[cola.SavedSearchRun], cola.QuotaState, error)
	SavedSearchRun(ctx context.Context, c cola.Caller, id, run string) (cola.SavedSearchRun, cola.QuotaState, error)
	RunLabels(
		ctx context.Context, c cola.Caller, id, run string, p cola.SavedSearchListParams,
	) (registry.PageList[registry.RunLabel], cola.QuotaState, error)
	ExplainSavedSearch(ctx context.Context, c cola.Caller, id, label string) (cola.Explanation, cola.QuotaState, error)
	RunSavedSearch(ctx context.Context, c cola.Caller, id string) (cola.SavedSearch, cola.QuotaState, error)
	CreateFeed(ctx context.Context, c cola.Caller, id string) (cola.SavedSearchFeed, cola.QuotaState, error)
	HasFeed(ctx context.Context, c cola.Caller, id string) (bool, cola.QuotaState, error)
	DeleteFeed(ctx context.Context, c cola.Caller, id string) (cola.QuotaState, error)
}

const (
	newSearchPath     = searchesPath + "/new"
	previewSearchPath = searchesPath + "/preview"
	searchPattern     = searchesPath + "/{uuid}"
)

func searchRoutes() []route {
	return []route{
		get(searchesPath, (*request).searches),
		get(newSearchPath, (*request).newSearch),
		post(newSearchPath, (*request).saveSearch),
		post(previewSearchPath, (*request).previewSearch),
		get(searchPattern, (*request).searchDetail),
		get(searchPattern+"/edit", (*request).editSearch),
		post(searchPattern+"/edit", (*request).changeSearch),
		post(searchPattern+"/pause", (*request).pauseSearch),
		post(searchPattern+"/resume", (*request).resumeSearch),
		post(searchPattern+"/run", (*request).runSearch),
		get(searchPattern+"/delete", (*request).confirmDeleteSearch),
		post(searchPattern+"/delete", (*request).deleteSearch),
		get(searchPattern+"/feed", (*request).confirmMakeFeed),
		post(searchPattern+"/feed", (*request).createFeed),
		get(searchPattern+"/feed/end", (*request).confirmEndFeed),
		post(searchPattern+"/feed/end", (*request).deleteFeed),
		get(searchPattern+"/runs/{run}", (*request).searchRun),
		get(searchPattern+"/runs/{run}/labels", (*request).runLabels),
		get(searchPattern+"/explain", (*request).explainSearch),
	}
}

// searchPath returns the path of a saved search's page.
func searchPath(uuid string) string { return searchesPath + "/" + url.PathEscape(uuid) }

// savedSearch returns the saved search in the path.
func (req *request) savedSearch() (cola.SavedSearch, error) {
	found, state, err := req.svc.SavedSearch(req.ctx(), req.caller, req.path("uuid"), "")
	if err != nil {
		return cola.SavedSearch{}, err
	}
	req.recordQuota(state)
	return found.Value, nil
}

// freeCost is the cost of a free API call.
const freeCost = "Free."

// listReader reads the page parameter of lists.
var listReader = params.New[cola.SavedSearchListParams]("this page")

// listParams reads the page parameter of the URL.
func (req *request) listParams() cola.SavedSearchListParams {
	return listReader.Read(listReader.Fields(url.Values{"page": req.query()["page"]}), nil)
}

// listCall returns the API call for a page of a list.
func (req *request) listCall(path string) *apiCall {
	if page := req.query().Get("page"); page != "" {
		path += "?page=" + url.QueryEscape(page)
	}
	return req.call(http.MethodGet, path, freeCost)
}

// searchRow is a saved search in the list.
type searchRow struct {
	cola.SavedSearch
	FilterSummary string
	ScheduleText  string
	State         scheduleState
}

// searchesPage lists the account's saved searches.
type searchesPage struct {
	Rows   []searchRow
	Pager  pager
	Active meter // active schedules
}

func (req *request) searches() error {
	list, state, err := req.svc.SavedSearches(req.ctx(), req.caller, req.listParams())
	if err != nil {
		return err
	}
	req.recordQuota(state)
	searches, _, err := req.svc.SavedSearchNames(req.ctx(), req.caller)
	if err != nil {
		return err
	}
	p := searchesPage{
		Pager:  newPager(req.http.URL, list.Meta, len(list.Rows)),
		Active: meter{"Active alerts", searches.Active, req.account.ActiveLimit},
	}
	for _, s := range list.Rows {
		p.Rows = append(p.Rows, searchRow{s, filterSummary(s.Filters), scheduleText(s.Schedule),
			scheduleStateOf(s.Schedule)})
	}
	return req.show(http.StatusOK, "saved_searches",
		page{Title: "Saved searches", Data: p, Call: req.listCall(searchesPath)})
}

// filterText is a filter of a saved search.
type filterText struct{ Label, Text string }

// filterTexts returns the filters of a saved search.
func filterTexts(f cola.SavedSearchFilters) (all []filterText) {
	for _, a := range f.Conditions() {
		all = append(all, filterText{a.Label, stripHidden(a.Value)})
	}
	return all
}

// filterSummary describes filters in one line.
func filterSummary(f cola.SavedSearchFilters) string {
	var phrases []string
	for _, a := range f.Conditions() {
		phrases = append(phrases, stripHidden(a.String()))
	}
	if len(phrases) == 0 {
		return "All labels"
	}
	return strings.Join(phrases, " · ")
}

// scheduleText describes a schedule; it is empty for nil.
func scheduleText(s *cola.Schedule) string {
	if s == nil {
		return ""
	}
	switch s.Cadence {
	case cola.CadenceDaily:
		return "Daily"
	case cola.CadenceWeekly:
		return "Every " + time.Weekday(s.Day).String()
	}
	return "Monthly on the " + ordinal(s.Day)
}

// ordinal formats a day of the month: 1st, 2nd, 3rd, 4th.
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

// scheduleState says whether a saved search runs on a schedule.
type scheduleState struct {
	Word, Class string
	Why         string // explanation; may be empty
}

// scheduleStateOf returns the state of a search's schedule.
func scheduleStateOf(s *cola.Schedule) scheduleState {
	switch {
	case s == nil:
		return scheduleState{Word: "manual", Class: "soft"}
	case s.PausedBecause.V == cola.PausedDowngraded:
		return scheduleState{Word: "on hold", Class: "bad",
			Why: "You’re over your alert limit, so only your oldest alerts run. To restart this one, pause or delete " +
				"another. This alert’s next run will cover the time it missed."}
	case s.PausedBecause.OK:
		return scheduleState{Word: "on hold", Class: "bad",
			Why: "Your account is suspended. Contact the operator. Once your account is restored, the next run covers the time this alert missed."}
	case !s.Active:
		return scheduleState{Word: "paused", Class: "soft", Why: "The first run after you resume covers everything since the previous run."}
	}
	return scheduleState{Word: "active", Class: "good"}
}

// filterWords lists the names of filters.
func filterWords(s cola.FilterSet) string { return strings.Join(s.Words(), ", ") }

// labelName returns the brand and product of a label.
func labelName(c *cola.ColaSummary) string {
	brand, product := stripHidden(c.BrandName), stripHidden(string(c.ProductName))
	if product == "" || product == brand {
		return brand
	}
	return brand + " – " + product
}
