package dashboard

import (
	"cmp"
	"crypto/rand"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/params"
	"github.com/colaregistry/colaregistry/internal/web"
)

// The fields of the form that are no parameters of a search.
const (
	onceField    = "once"
	previewField = "preview" // the button that saves nothing
	stateField   = "was"     // what a search was like when its form was filled; see stateMark
)

var (
	newSearchReader    = params.New[cola.SavedSearchParams]("this form")
	changeSearchReader = params.New[cola.SavedSearchChangeParams]("this form")
)

// newSearch shows an empty form, or one filled with what is in the address: a search for labels, as Explore and GET /colas have it.
func (v *visit) newSearch() error {
	f := &searchForm{Typed: url.Values{"schedule.cadence": {cola.CadenceDaily}, "schedule.active": {"true"}}, Once: rand.Text()}
	f.takeSearch(v.query())
	return v.showSearchForm(http.StatusOK, f, nil)
}

// saveSearch keeps what was typed, or shows what it would find.
func (v *visit) saveSearch() error {
	typed, err := v.form()
	if err != nil {
		return err
	}
	f := &searchForm{Typed: typed, Once: onceOf(typed)}
	if typed.Has(previewField) {
		return v.showSearchForm(http.StatusOK, f, nil)
	}
	p := newSearchReader.Read(newSearchReader.Fields(fieldsOf(typed)), nil)
	p.IdempotencyKey = f.Once
	if p.Filters == nil {
		p.Filters = &cola.SavedSearchFilters{}
	}
	made, state, err := v.svc.CreateSavedSearch(v.ctx(), v.caller, p)
	v.asked(state)
	if err != nil {
		return v.showSearchForm(0, f, err)
	}
	notice := "Saved. " + savedNotice(made.Search)
	if made.Repeated {
		notice = "This search was saved already; it was not saved twice."
	}
	return v.leadTo(searchPath(made.Search.UUID), notice)
}

// onceOf returns what a form is known by that may be sent twice: what it was given when it was shown.
func onceOf(typed url.Values) string {
	once := typed.Get(onceField)
	if strings.Trim(once, onceLetters) != "" || once == "" || len(once) > len(onceLetters) {
		return rand.Text()
	}
	return once
}

// onceLetters are those that rand.Text writes with.
const onceLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"

// savedNotice says what becomes of a search that was saved.
func savedNotice(s cola.SavedSearch) string {
	if s.Schedule != nil && s.Schedule.NextRunAt.OK {
		return "It runs " + rhythm(s.Schedule) + ", first on " + s.Schedule.NextRunAt.V.Time().Format("2 January, 15:04 UTC") + "."
	}
	return stateOf(s.Schedule).Why
}

// editSearch shows the form filled with a search.
func (v *visit) editSearch() error {
	found, state, err := v.svc.SavedSearch(v.ctx(), v.caller, v.path("uuid"), "")
	if err != nil {
		return err
	}
	v.asked(state)
	return v.showSearchForm(http.StatusOK, &searchForm{Typed: typedOf(found.Value), Was: stateMark(typedOf(found.Value))}, nil)
}

// changeSearch keeps what was typed in place of what a search was. If that is not what the form was filled with any more, the form is shown again first.
func (v *visit) changeSearch() error {
	typed, err := v.form()
	if err != nil {
		return err
	}
	found, _, err := v.svc.SavedSearch(v.ctx(), v.caller, v.path("uuid"), "")
	if err != nil {
		return err
	}
	f := &searchForm{Typed: typed}
	f.Was = f.Text(stateField)
	if typed.Has(previewField) {
		return v.showSearchForm(http.StatusOK, f, nil)
	}
	if f.overtaken(typedOf(found.Value)) {
		return v.showSearchForm(http.StatusConflict, f, nil)
	}
	p := changeOf(typed)
	changed, state, err := v.svc.ChangeSavedSearch(v.ctx(), v.caller, v.path("uuid"), p)
	v.asked(state)
	if err != nil {
		return v.showSearchForm(0, f, err)
	}
	return v.leadTo(searchPath(changed.UUID), "Changed. The next run looks for what it says now.")
}

// overtaken reports whether a search, which would now fill a form so, was changed since this form was filled, into something else than the form says. The form
// notes it then, and that its sender was told: sent once more it is taken.
func (f *searchForm) overtaken(now url.Values) bool {
	mark := stateMark(now)
	if f.Was == "" || f.Was == mark || mark == stateMark(f.Typed) { // the last: the form is sent twice
		return false
	}
	f.Was = mark
	f.Sentence = "This search was changed meanwhile: in another window, by the API or by an assistant. Nothing was saved now, and what you typed is still here. " +
		"Save once more to put it in place of that change, or cancel to see the search as it is."
	return true
}

// showSearchForm shows the form, with what its filters would have found. A refusal that its sender can mend is told in it, with the status of that; any other is
// returned.
func (v *visit) showSearchForm(status int, f *searchForm, refusal error) error {
	if refusal != nil {
		if !f.refuse(refusal) {
			return refusal
		}
		status = web.StatusOf(cola.CodeOf(refusal))
	}
	words, err := v.svc.Words(v.ctx())
	if err != nil {
		return err
	}
	f.Categories, f.Origins = offered(words.Categories), offered(words.Origins())
	filters, shown, err := v.preview(f.Typed, words)
	if err != nil {
		return err
	}
	f.Preview = shown
	p := page{Title: "New saved search", Data: f}
	f.Action, f.Submit, f.Back = newSearchPath, "Save the search", searchesPath
	if f.Once == "" {
		p.Title, f.Submit, f.Back = "Change saved search", "Save the changes", searchPath(v.path("uuid"))
		f.Action = f.Back + "/edit"
	}
	p.Call = v.formCall(f, filters)
	return v.show(status, "savedsearchform", p)
}

// refuse notes in the form why it was refused, and reports whether its sender can mend that.
func (f *searchForm) refuse(refusal error) (mendable bool) {
	f.Problems, f.Sentence, mendable = refused(refusal)
	if cola.CodeOf(refusal) == cola.CodeIdempotencyKeyReused {
		f.Once = rand.Text()
	}
	f.nameDay()
	return mendable
}

// mostWords is how many words a field offers: a page must stay small.
const mostWords = 200

// offered returns so many words at most: of category paths the shorter ones, which what is below them begins with.
func offered(words []string) []string {
	if len(words) <= mostWords {
		return words
	}
	levels := func(path string) int { return strings.Count(path, ">") }
	words = slices.Clone(words)
	slices.SortStableFunc(words, func(a, b string) int { return cmp.Compare(levels(a), levels(b)) })
	words = words[:mostWords]
	slices.Sort(words)
	return words
}

// formCall is the call of the API that does what the form does; where nothing is filled in to look for, an example of one.
func (v *visit) formCall(f *searchForm, filters cola.SavedSearchFilters) *apiCall {
	if filters == (cola.SavedSearchFilters{}) {
		filters.BrandName = "oak"
	}
	body := map[string]any{"name": cmp.Or(f.Text("name"), "New labels"), "filters": filters}
	if cadence := f.Text("schedule.cadence"); cadence != "" {
		schedule := map[string]any{"cadence": cadence, "active": f.Is("schedule.active", "true")}
		if day, err := strconv.Atoi(fieldsOf(f.Typed).Get("schedule.day")); err == nil {
			schedule["day"] = day
		}
		body["schedule"] = schedule
	} else if f.Once == "" {
		body["schedule"] = nil
	}
	if f.Once == "" {
		return v.call(http.MethodPatch, searchPath(v.path("uuid")), freeAlways).with(body)
	}
	return v.call(http.MethodPost, searchesPath, freeAlways).with(body).forTool("create_saved_search", body)
}
