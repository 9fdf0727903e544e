package dashboard

import (
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/colaregistry/colaregistry/cola"
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
		p.Reading = cola.OriginNote(s.Filters.Country, s.Filters.AsQuery().Domestic)
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

// explainPage tells why a search finds a label, or does not.
type explainPage struct {
	Search cola.SavedSearch
	cola.Explanation
	Name    string // brand and product
	Said    string // the verdict
	Filters []explainedFilter
}

// explainedFilter is what one filter makes of a label.
type explainedFilter struct {
	Word, Sought string
	Met          bool
}

func (v *visit) explainSearch() error {
	id, label := v.path("uuid"), strings.TrimSpace(v.query().Get("ttb_id"))
	if label != "" {
		if answered, err := v.beforeCharge(explanationPrice()); answered {
			return err
		}
	}
	found, state, err := v.svc.SavedSearch(v.ctx(), v.caller, id, "")
	if err != nil {
		return err
	}
	v.asked(state)
	if label == "" {
		return v.leadTo(searchPath(id), "Type the TTB id of a label, to see why it was found or not.")
	}
	e, state, err := v.svc.ExplainSavedSearch(v.ctx(), v.caller, id, label)
	v.asked(state)
	if err != nil {
		return err
	}
	v.keepForBack()
	p := explainPage{Search: found.Value, Explanation: e, Name: labelName(&e.Label), Said: inFieldWords(e.Message)}
	for _, f := range e.Filters {
		p.Filters = append(p.Filters, explainedFilter{met(cola.FilterSetOf(f.Filter)), soughtText(f), f.Met})
	}
	return v.show(http.StatusOK, "savedsearchexplain", page{
		Title: "Why a label was found, or not", Data: p,
		Call: v.call(http.MethodGet, searchPath(found.Value.UUID)+"/explain/"+url.PathEscape(e.TTBID.String()), "It costs a list record."),
	})
}

// soughtText says what a filter looks for.
func soughtText(f cola.FilterFinding) string {
	if f.Sought == true {
		return "any such label"
	}
	text := legible(plainValue(f.Sought))
	filter, _, ok := cola.SavedFilter(f.Filter)
	switch {
	case ok && filter.Kind == cola.MinFilter:
		return "at least " + text
	case ok && filter.Kind == cola.MaxFilter:
		return "at most " + text
	}
	return text
}

// inFieldWords says a sentence that names filters as the API does with the words of pages.
func inFieldWords(sentence string) string {
	words := strings.Fields(sentence)
	for i, word := range words {
		bare := strings.TrimRight(word, ",.")
		if set := cola.FilterSetOf(bare); set != 0 {
			words[i] = met(set) + word[len(bare):]
		}
	}
	return strings.Join(words, " ")
}
