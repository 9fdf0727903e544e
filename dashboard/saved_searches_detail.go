package dashboard

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/cola/vocabulary"
	"github.com/colaregistry/colaregistry/internal/web"
	"github.com/colaregistry/colaregistry/registry"
)

// latestDeliveries is the number of deliveries on a search's or destination's page.
const latestDeliveries = 5

// searchPage is a saved search with its runs, destinations and deliveries.
type searchPage struct {
	Search       cola.SavedSearch
	Filters      []filterText
	UnknownWords []string // notes on a search without matches, with suggestions
	Reading      string   // how an ambiguous country was interpreted; may be empty
	State        scheduleState
	ScheduleText string
	Due          bool                 // a run is requested or due
	Finished     *cola.SavedSearchRun // a manual run that has just finished
	UpdatesLeft  int                  // automatic updates left while a run or delivery is in progress
	ActionError  string               // why an action failed; may be empty
	Runs         registry.PageList[cola.SavedSearchRun]
	Pager        pager
	Destinations []destinationRow // its own and account-wide ones
	Deliveries   []deliveryRow
	SendsMail    bool
	HasFeed      bool
}

func (req *request) searchDetail() error { return req.showSearch(http.StatusOK, "") }

// showSearch shows a search's page. actionError says why an action failed; it may be empty.
func (req *request) showSearch(status int, actionError string) error {
	id := req.path("uuid")
	s, err := req.savedSearch()
	if err != nil {
		return err
	}
	p := searchPage{
		Search:       s,
		Filters:      filterTexts(s.Filters),
		State:        scheduleStateOf(s.Schedule),
		ScheduleText: scheduleText(s.Schedule),
		Due:          s.RunRequested || isDue(s.Schedule, req.now()),
		ActionError:  actionError,
		SendsMail:    req.svc.DestinationRules().SendsMail,
	}
	if words, err := req.svc.Vocabulary(req.ctx()); err == nil { // skip the notes until the index is built
		p.UnknownWords = words.UnknownWords(s.Filters)
		p.Reading = vocabulary.OriginNote(s.Filters.Country, s.Filters.AsQuery().Domestic)
	}
	if p.Runs, _, err = req.svc.SavedSearchRuns(req.ctx(), req.caller, id, req.listParams()); err != nil {
		return err
	}
	if p.HasFeed, _, err = req.svc.HasFeed(req.ctx(), req.caller, id); err != nil {
		return err
	}
	p.Pager = newPager(req.pageURL(searchPath(id)), p.Runs.Meta, len(p.Runs.Rows))
	names, err := req.loadDestinationNames()
	if err != nil {
		return err
	}
	p.Destinations = req.searchDestinations(names, s.UUID)
	names.searches = map[string]string{s.UUID: s.Name}
	deliveries, _, err := req.svc.Deliveries(req.ctx(), req.caller,
		cola.DeliveryListParams{SavedSearch: s.UUID, PerPage: cola.Some(latestDeliveries)})
	if err != nil {
		return err
	}
	p.Deliveries = names.rows(deliveries.Rows)
	if req.showProgress(&p); req.isUpdate() {
		return req.showPart("saved_search", "progress", p)
	}
	return req.show(status, "saved_search", page{
		Title: s.Name,
		Data:  p,
		Call:  req.call(http.MethodGet, searchPath(s.UUID), freeCost),
	})
}

// announceRunFor is how long a finished manual run is announced on its search's page.
const announceRunFor = 5 * time.Minute

// showProgress sets what the page says about a run in progress or just finished.
func (req *request) showProgress(p *searchPage) {
	firstPage := p.Runs.Meta.Page == 1
	if rows := p.Runs.Rows; firstPage && !p.Due && len(rows) > 0 && rows[0].Manual &&
		req.now().Sub(rows[0].RanAt.Time()) < announceRunFor {
		p.Finished = &rows[0]
	}
	if firstPage && (p.Due || slices.ContainsFunc(p.Deliveries, deliveryRow.isStarting)) {
		p.UpdatesLeft = req.updatesLeft(maxProgressUpdates)
	}
}

// isDue reports whether a scheduled search is due to run, on schedule or on request. It returns
// false for a search without a schedule.
func isDue(s *cola.Schedule, now time.Time) bool {
	return s != nil && !s.PausedBecause.OK && s.NextRunAt.OK && !s.NextRunAt.V.Time().After(now)
}

// pageURL returns the URL of a list: the request's own URL, or path if this is the response to a
// form.
func (req *request) pageURL(path string) *url.URL {
	if req.http.Method == http.MethodPost {
		return &url.URL{Path: path}
	}
	return req.http.URL
}

// showSearchError shows a search's page with the reason an action failed. It returns errors that
// the user can't correct.
func (req *request) showSearchError(err error) error {
	_, sentence, ok := formErrors(err)
	if !ok {
		return err
	}
	return req.showSearch(web.StatusOf(cola.CodeOf(err)), sentence)
}

func (req *request) pauseSearch() error {
	return req.setActive(false, "Paused. The first run after you resume covers everything since the previous run.")
}

func (req *request) resumeSearch() error {
	return req.setActive(true, "Resumed. The next run covers the time since the last one.")
}

// setActive pauses or resumes the search.
func (req *request) setActive(active bool, notice string) error {
	p := cola.SavedSearchChangeParams{Schedule: &cola.ScheduleChangeParams{Active: cola.Some(active)}}
	changed, state, err := req.svc.ChangeSavedSearch(req.ctx(), req.caller, req.path("uuid"), p)
	req.recordQuota(state)
	if err != nil {
		return req.showSearchError(err)
	}
	return req.redirect(searchPath(changed.UUID), notice)
}

func (req *request) runSearch() error {
	run, state, err := req.svc.RunSavedSearch(req.ctx(), req.caller, req.path("uuid"))
	req.recordQuota(state)
	if err != nil {
		return req.showSearchError(err)
	}
	return req.redirect(searchPath(run.UUID), "")
}

// UpdateSeconds is the interval between automatic updates.
func (searchPage) UpdateSeconds() int { return progressSeconds }

// searchConfirmation asks the user to confirm an action.
type searchConfirmation struct {
	Search  cola.SavedSearch
	Form    string // single-use form token, unless submitting twice is harmless
	HasFeed bool   // the action replaces a feed
}

// searchAction is an action on a saved search that needs confirmation.
type searchAction struct {
	template, title string
	method, path    string // API method and path; path is relative to the search
	hasFeed         bool   // the action replaces a feed
}

func (req *request) confirmDeleteSearch() error {
	return req.confirmSearchAction(searchAction{
		template: "saved_search_delete",
		title:    "Delete",
		method:   http.MethodDelete,
	})
}

// confirmSearchAction shows a confirmation page.
func (req *request) confirmSearchAction(a searchAction) error {
	s, err := req.savedSearch()
	if err != nil {
		return err
	}
	p := searchConfirmation{Search: s, HasFeed: a.hasFeed}
	if a.method == http.MethodPost {
		if p.Form, err = req.newFormToken(); err != nil {
			return err
		}
	}
	return req.show(http.StatusOK, a.template, page{
		Title: a.title + " “" + s.Name + "”", Data: p, Call: req.call(a.method, searchPath(s.UUID)+a.path, freeCost),
	})
}

func (req *request) deleteSearch() error {
	state, err := req.svc.DeleteSavedSearch(req.ctx(), req.caller, req.path("uuid"))
	req.recordQuota(state)
	if err != nil {
		return err
	}
	return req.redirect(searchesPath, "Saved search deleted.")
}

// explainPage explains why a search does or doesn't find a label.
type explainPage struct {
	Search cola.SavedSearch
	cola.Explanation
	Name        string // brand and product
	VerdictText string // result in a sentence
	Filters     []explainedFilter
}

// explainedFilter is a filter and whether the label matches it.
type explainedFilter struct {
	Label, Value string
	Met          bool
}

func (req *request) explainSearch() error {
	id, label := req.path("uuid"), strings.TrimSpace(req.query().Get("ttb_id"))
	if label != "" {
		if answered, err := req.guardCharge(explanationPrice()); answered {
			return err
		}
	}
	search, err := req.savedSearch()
	if err != nil {
		return err
	}
	if label == "" {
		return req.redirect(searchPath(id), "Enter a TTB ID.")
	}
	e, state, err := req.svc.ExplainSavedSearch(req.ctx(), req.caller, id, label)
	req.recordQuota(state)
	if err != nil {
		return err
	}
	req.allowBackCache()
	p := explainPage{
		Search:      search,
		Explanation: e,
		Name:        labelName(&e.Label),
		VerdictText: verdictText(e),
	}
	for _, f := range e.Filters {
		p.Filters = append(p.Filters, explainedFilter{filterWords(cola.FilterSetOf(f.Filter)), filterValue(f), f.Met})
	}
	return req.show(http.StatusOK, "saved_search_explain", page{
		Title: "Test a label", Data: p,
		Call: req.call(http.MethodGet, searchPath(search.UUID)+"/explain/"+url.PathEscape(e.TTBID.String()),
			"Costs one list record."),
	})
}

// verdictText returns the verdict as a sentence. The page lists the filters below it.
func verdictText(e cola.Explanation) string {
	if e.Verdict == cola.VerdictFilters {
		return "Runs skip this label because it doesn’t match all filters."
	}
	return withFieldLabels(e.Message)
}

// filterValue describes the value of a filter.
func filterValue(f cola.FilterFinding) string {
	if f.Value == true {
		return "Selected"
	}
	text := stripHidden(formatValue(f.Value))
	filter, _, ok := cola.SavedFilter(f.Filter)
	switch {
	case ok && filter.Kind == cola.MinFilter:
		return "At least " + text
	case ok && filter.Kind == cola.MaxFilter:
		return "At most " + text
	}
	return text
}

// withFieldLabels replaces the API names in the list of filters at the end of a verdict with their
// display names.
func withFieldLabels(verdict string) string {
	const list = " these filters: "
	sentence, names, ok := strings.Cut(verdict, list)
	if !ok {
		return verdict
	}
	words := strings.Fields(names)
	for i, word := range words {
		bare := strings.TrimRight(word, ";.")
		if set := cola.FilterSetOf(bare); set != 0 {
			words[i] = filterWords(set) + word[len(bare):]
		}
	}
	return sentence + list + strings.Join(words, " ")
}
