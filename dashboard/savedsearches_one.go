package dashboard

import (
	"net/http"
	"net/url"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/cola/vocabulary"
	"github.com/colaregistry/colaregistry/internal/web"
	"github.com/colaregistry/colaregistry/registry"
)

// latestDeliveries is how many deliveries the page of a search names.
const latestDeliveries = 5

// searchPage is a saved search with its runs and where its messages go.
type searchPage struct {
	Search       cola.SavedSearch
	LooksFor     []sought
	Strange      []string // of this, what no label has
	Reading      string   // how an ambiguous country was read
	State        searchState
	Rhythm       string
	Due          bool   // a run is asked for, or its time has come
	Refusal      string // why what was asked for was not done
	Runs         registry.PageList[cola.SavedSearchRun]
	Pager        pager
	Destinations []destinationRow // of the search and of the account
	Deliveries   []deliveryRow
	SendsMail    bool
	HasFeed      bool
}

func (v *visit) oneSearch() error { return v.showSearch(http.StatusOK, "") }

// showSearch shows the page of a search. refusal says why what was asked for was not done, if so.
func (v *visit) showSearch(status int, refusal string) error {
	id := v.path("uuid")
	found, state, err := v.svc.SavedSearch(v.ctx(), v.caller, id, "")
	if err != nil {
		return err
	}
	v.asked(state)
	s := found.Value
	p := searchPage{Search: s, LooksFor: looksFor(s.Filters), State: stateOf(s.Schedule), Rhythm: rhythm(s.Schedule), Due: isDue(s.Schedule, v.now()), Refusal: refusal, SendsMail: v.svc.SendsMail()}
	if words, err := v.svc.Words(v.ctx()); err == nil { // without the words of the records nothing is said
		p.Strange = words.UnknownWords(s.Filters)
		p.Reading = vocabulary.OriginNote(s.Filters.Country, s.Filters.AsQuery().Domestic)
	}
	if p.Runs, _, err = v.svc.SavedSearchRuns(v.ctx(), v.caller, id, v.listed()); err != nil {
		return err
	}
	if p.HasFeed, _, err = v.svc.HasFeed(v.ctx(), v.caller, id); err != nil {
		return err
	}
	p.Pager = pageAt(v.pageURL(searchPath(id)), p.Runs.Meta.Page, p.Runs.Meta.PerPage, p.Runs.Meta.Total, len(p.Runs.Rows))
	names, err := v.destinationNames()
	if err != nil {
		return err
	}
	for _, d := range names.of(s.UUID) {
		p.Destinations = append(p.Destinations, v.destinationRow(d, map[string]string{s.UUID: s.Name}))
	}
	names.searches = map[string]string{s.UUID: s.Name}
	sent, _, err := v.svc.Deliveries(v.ctx(), v.caller, cola.DeliveryListParams{SavedSearch: s.UUID, PerPage: cola.Some(latestDeliveries)})
	if err != nil {
		return err
	}
	p.Deliveries = names.rows(sent.Rows)
	return v.show(status, "savedsearch", page{Title: s.Name, Data: p, Call: v.call(http.MethodGet, searchPath(s.UUID), freeAlways)})
}

// isDue reports whether a search with a schedule runs as soon as it can be: one that is asked for is due, too. Of a search without a schedule nothing tells.
func isDue(s *cola.Schedule, now time.Time) bool {
	return s != nil && !s.PausedBecause.OK && s.NextRunAt.OK && !s.NextRunAt.V.Time().After(now)
}

// pageURL is the address of a page of a list: that of this page, unless it is the answer to a form.
func (v *visit) pageURL(path string) *url.URL {
	if v.r.Method == http.MethodPost {
		return &url.URL{Path: path}
	}
	return v.r.URL
}

// refuseSearch shows the page of a search with why what was asked for was not done, or returns the error that is no such refusal.
func (v *visit) refuseSearch(err error) error {
	_, sentence, ok := refused(err)
	if !ok {
		return err
	}
	return v.showSearch(web.StatusOf(cola.CodeOf(err)), sentence)
}

func (v *visit) pauseSearch() error {
	return v.setActive(false, "Paused. Nothing is lost: once you resume it, one run looks at all the time since.")
}

func (v *visit) resumeSearch() error {
	return v.setActive(true, "Resumed. Its next run looks at all the time since the last one.")
}

// setActive pauses the search, or resumes it.
func (v *visit) setActive(active bool, notice string) error {
	p := cola.SavedSearchChangeParams{Schedule: &cola.ScheduleChangeParams{Active: cola.Some(active)}}
	changed, state, err := v.svc.ChangeSavedSearch(v.ctx(), v.caller, v.path("uuid"), p)
	v.asked(state)
	if err != nil {
		return v.refuseSearch(err)
	}
	return v.leadTo(searchPath(changed.UUID), notice)
}

func (v *visit) runSearch() error {
	asked, state, err := v.svc.RunSavedSearch(v.ctx(), v.caller, v.path("uuid"))
	v.asked(state)
	if err != nil {
		return v.refuseSearch(err)
	}
	return v.leadTo(searchPath(asked.UUID), "The search runs within about a minute. Reload this page to see how many labels it found.")
}

// searchDanger asks whether to do what cannot be undone to a search.
type searchDanger struct {
	Search cola.SavedSearch
	Form   string // token of a form that is good for one sending; empty where sending it twice does no harm
}

func (v *visit) askDeleteSearch() error {
	return v.askDanger("savedsearchdelete", "Delete", http.MethodDelete, "")
}

func (v *visit) askMakeFeed() error {
	return v.askDanger("savedsearchfeedmake", "Make a feed of", http.MethodPost, "/feed")
}

func (v *visit) askEndFeed() error {
	return v.askDanger("savedsearchfeedend", "End the feed of", http.MethodDelete, "/feed")
}

// askDanger shows the page that says what stops. below is where the API has it, below the search.
func (v *visit) askDanger(template, title, method, below string) error {
	found, state, err := v.svc.SavedSearch(v.ctx(), v.caller, v.path("uuid"), "")
	if err != nil {
		return err
	}
	v.asked(state)
	s := found.Value
	p := searchDanger{Search: s}
	if method == http.MethodPost {
		if p.Form, err = v.openForm(); err != nil {
			return err
		}
	}
	return v.show(http.StatusOK, template, page{
		Title: title + " “" + s.Name + "”", Data: p, Call: v.call(method, searchPath(s.UUID)+below, freeAlways),
	})
}

func (v *visit) deleteSearch() error {
	state, err := v.svc.DeleteSavedSearch(v.ctx(), v.caller, v.path("uuid"))
	v.asked(state)
	if err != nil {
		return err
	}
	return v.leadTo(searchesPath, "The search is deleted, with its runs, its own destinations and its feed.")
}

// feedPage shows the address of a feed, this once.
type feedPage struct {
	Search cola.SavedSearch
	URL    copied
}

func (v *visit) makeFeed() error {
	id := v.path("uuid")
	typed, err := v.form()
	if err != nil {
		return err
	}
	found, _, err := v.svc.SavedSearch(v.ctx(), v.caller, id, "")
	if err != nil {
		return err
	}
	first, err := v.takeForm(typed.Get("form"))
	if err != nil {
		return err
	}
	if !first {
		return v.leadTo(searchPath(found.Value.UUID), shownBefore)
	}
	feed, state, err := v.svc.MakeFeed(v.ctx(), v.caller, id)
	v.asked(state)
	if err != nil {
		return err
	}
	return v.show(http.StatusCreated, "savedsearchfeed", page{
		Title: "Feed of “" + found.Value.Name + "”", Data: feedPage{found.Value, copied{"the address of the feed", feed.URL}},
		Call: v.call(http.MethodPost, searchPath(found.Value.UUID)+"/feed", freeAlways+" Each call makes a new address, and the one before stops."),
	})
}

func (v *visit) endFeed() error {
	id := v.path("uuid")
	state, err := v.svc.EndFeed(v.ctx(), v.caller, id)
	v.asked(state)
	if err != nil {
		return err
	}
	return v.leadTo(searchPath(id), "The search has no feed any more.")
}

// runPage is a run; viewing it is free.
type runPage struct {
	Search cola.SavedSearch
	Run    cola.SavedSearchRun
	Labels string // page with its labels, which is charged
	First  int    // labels on the first page there
}

func (v *visit) searchRun() error {
	id, number := v.path("uuid"), v.path("run")
	found, state, err := v.svc.SavedSearch(v.ctx(), v.caller, id, "")
	if err != nil {
		return err
	}
	v.asked(state)
	run, _, err := v.svc.SavedSearchRun(v.ctx(), v.caller, id, number)
	if err != nil {
		return err
	}
	p := runPage{
		Search: found.Value, Run: run,
		Labels: runPath(found.Value.UUID, number) + "/labels", First: min(run.MatchCount, cola.DefaultPerPage),
	}
	return v.show(http.StatusOK, "savedsearchrun", page{
		Title: runTitle(found.Value, number), Data: p,
		Call: v.call(http.MethodGet, searchPath(found.Value.UUID)+"/runs", freeAlways),
	})
}

// runLabelsPage is a page of the labels of a run.
type runLabelsPage struct {
	Search cola.SavedSearch
	Run    string
	Rows   []runRow
	Pager  pager
	Cut    bool // fewer labels than the page has room for: the month's list records are used up
}

// runRow is a label that a run found.
type runRow struct {
	registry.RunLabel
	Name string // brand and product; empty if the label is gone
	Met  string
}

func (v *visit) runLabels() error {
	if answered, err := v.beforeCharge(runPrice()); answered {
		return err
	}
	id, run := v.path("uuid"), v.path("run")
	found, state, err := v.svc.SavedSearch(v.ctx(), v.caller, id, "")
	if err != nil {
		return err
	}
	v.asked(state)
	list, state, err := v.svc.RunLabels(v.ctx(), v.caller, id, run, v.listed())
	v.asked(state)
	if err != nil {
		return err
	}
	v.keepForBack()
	p := runLabelsPage{
		Search: found.Value, Run: run,
		Pager: pageAt(v.r.URL, list.Meta.Page, list.Meta.PerPage, list.Meta.Total, len(list.Rows)),
		Cut:   list.Meta.TruncatedByQuota,
	}
	if p.Cut {
		p.Pager.Next = "" // it would skip the labels that were cut
	}
	for _, l := range list.Rows {
		row := runRow{RunLabel: l, Met: met(l.Met)}
		if l.Label != nil {
			row.Name = labelName(l.Label)
		}
		p.Rows = append(p.Rows, row)
	}
	call := v.listCall(runPath(found.Value.UUID, run) + "/matches")
	call.Cost = "It costs one list record per match, like this page. " +
		"It returns TTB IDs, late flags and filters; look up labels by ID."
	return v.show(http.StatusOK, "savedsearchrunlabels", page{
		Title: "Labels · " + runTitle(found.Value, run), Data: p, Call: call,
	})
}

// runPath returns the path of a run of a saved search.
func runPath(uuid, run string) string { return searchPath(uuid) + "/runs/" + url.PathEscape(run) }

// runTitle returns the title of a run's page.
func runTitle(s cola.SavedSearch, run string) string {
	return "Run " + run + " of “" + s.Name + "”"
}
