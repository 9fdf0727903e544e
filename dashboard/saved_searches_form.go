package dashboard

import (
	"cmp"
	"crypto/rand"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/params"
	"github.com/colaregistry/colaregistry/internal/web"
	"github.com/colaregistry/colaregistry/registry"
)

// Form fields other than those of the search.
const (
	idempotencyField = "once"
	previewField     = "preview" // the preview button
	fingerprintField = "was"     // see formFingerprint

	alertAddressField = "destination.address"
	alertAllField     = "destination.all"
	alertSharedField  = "destinations"
)

// linkedFields returns the form fields that links from other pages fill in, in addition to search
// parameters.
func linkedFields() []string { return []string{"name", "filters.permit_number_text"} }

// newSearchURL returns the URL of the form, filled in.
func newSearchURL(values url.Values) string { return searchesPath + "/new?" + values.Encode() }

var (
	newSearchReader    = params.New[cola.SavedSearchParams]("this form")
	changeSearchReader = params.New[cola.SavedSearchChangeParams]("this form")
)

// newSearch shows an empty form, or one filled in from the query of a search in Explore or GET
// /colas, or by a link.
func (req *request) newSearch() error {
	f := &searchForm{
		Values:         url.Values{"schedule.cadence": {cola.CadenceDaily}, "schedule.active": {"true"}},
		IdempotencyKey: rand.Text(),
	}
	f.fillFromSearch(req.query())
	for _, name := range linkedFields() {
		if value := req.query().Get(name); value != "" {
			f.Values.Set(name, singleLine(value))
		}
	}
	return req.showSearchForm(http.StatusOK, f, nil)
}

// saveSearch saves the form, or previews it.
func (req *request) saveSearch() error {
	form, err := req.form()
	if err != nil {
		return err
	}
	f := &searchForm{Values: form, IdempotencyKey: idempotencyKey(form)}
	if form.Has(previewField) {
		return req.showSearchForm(http.StatusOK, f, nil)
	}
	p := newSearchReader.Read(newSearchReader.Fields(apiFields(form)), nil)
	p.IdempotencyKey = f.IdempotencyKey
	if p.Filters == nil {
		p.Filters = &cola.SavedSearchFilters{}
	}
	created, state, err := req.svc.CreateAlert(req.ctx(), req.caller, p, registry.AlertDestinations{
		Address: form.Get(alertAddressField), AllSearches: form.Get(alertAllField) == "true", Shared: form[alertSharedField],
	})
	req.recordQuota(state)
	if err != nil {
		return req.showSearchForm(0, f, err)
	}
	return req.showSaved(created)
}

// showSaved redirects to a new search. If a webhook was added, it first shows the webhook's secret,
// once.
func (req *request) showSaved(created registry.CreatedAlert) error {
	path := searchPath(created.Search.UUID)
	notice := savedNotice(created.Search) + confirmationNotice(created)
	switch added := created.Added; {
	case created.Repeated:
		notice = "You already saved this search."
	case added.Secret.OK:
		form := url.Values{"kind": {added.Kind}, "address": {added.Address.V}, "saved_search": {added.SavedSearch.V}}
		p := newSecretPage(added)
		p.Saved, p.Done = notice, path
		return req.showSecret(http.StatusCreated, p, "Search saved", req.destinationCall(form))
	}
	return req.redirect(path, notice)
}

// confirmationNotice names the address that must be confirmed before it gets a new search's alerts,
// or gives the number of such addresses if there are several. It returns "" if there are none.
func confirmationNotice(created registry.CreatedAlert) string {
	var waiting []string
	for _, d := range append(created.Shared, created.Added.Destination) {
		if d.State == cola.DestinationUnconfirmed {
			waiting = append(waiting, d.Address.V)
		}
	}
	switch len(waiting) {
	case 0:
		return ""
	case 1:
		return " Alerts to " + waiting[0] + " start once the recipient confirms by email."
	}
	return fmt.Sprintf(" Alerts to %d addresses start once their recipients confirm by email.", len(waiting))
}

// idempotencyKey returns the key that the form was created with, or a new one if it is missing or
// invalid. Submitting a form twice with the same key creates one search.
func idempotencyKey(form url.Values) string {
	once := form.Get(idempotencyField)
	if strings.Trim(once, idempotencyAlphabet) != "" || once == "" || len(once) > len(idempotencyAlphabet) {
		return rand.Text()
	}
	return once
}

// idempotencyAlphabet is the alphabet of rand.Text.
const idempotencyAlphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"

// savedNotice confirms that a search was saved, with the time of its first run.
func savedNotice(s cola.SavedSearch) string {
	if s.Schedule != nil && s.Schedule.NextRunAt.OK {
		return "Saved. First run: " + s.Schedule.NextRunAt.V.Time().Format("Jan 2, 2006, 15:04 UTC") + "."
	}
	return strings.TrimSpace("Saved. " + scheduleStateOf(s.Schedule).Why)
}

// editSearch shows the form filled in with a search.
func (req *request) editSearch() error {
	s, err := req.savedSearch()
	if err != nil {
		return err
	}
	return req.showSearchForm(http.StatusOK, &searchForm{
		Values:      formValues(s),
		Fingerprint: formFingerprint(formValues(s)),
	}, nil)
}

// changeSearch saves a changed search. If the search has changed since the form was opened, it
// shows the form again first.
func (req *request) changeSearch() error {
	form, err := req.form()
	if err != nil {
		return err
	}
	s, err := req.savedSearch()
	if err != nil {
		return err
	}
	f := &searchForm{Values: form}
	f.Fingerprint = f.Text(fingerprintField)
	if form.Has(previewField) {
		return req.showSearchForm(http.StatusOK, f, nil)
	}
	if f.changedSince(formValues(s)) {
		return req.showSearchForm(http.StatusConflict, f, nil)
	}
	p := changeParams(form)
	changed, state, err := req.svc.ChangeSavedSearch(req.ctx(), req.caller, req.path("uuid"), p)
	req.recordQuota(state)
	if err != nil {
		return req.showSearchForm(0, f, err)
	}
	return req.redirect(searchPath(changed.UUID), "Changes saved.")
}

// changedSince reports whether the search has been changed since the form was opened, other than to
// the submitted values. If so, it updates the fingerprint, so that a second submission is accepted.
func (f *searchForm) changedSince(now url.Values) bool {
	mark := formFingerprint(now)
	// The last condition detects a double submission.
	if f.Fingerprint == "" || f.Fingerprint == mark || mark == formFingerprint(f.Values) {
		return false
	}
	f.Fingerprint = mark
	f.Error = "This search was changed elsewhere while you were editing. Save again to overwrite those changes, or " +
		"cancel to keep them."
	return true
}

// showSearchForm shows the form with a preview. It shows a correctable error in the form, and
// returns any other error.
func (req *request) showSearchForm(status int, f *searchForm, formErr error) error {
	if formErr != nil {
		if !f.addError(formErr) {
			return formErr
		}
		status = web.StatusOf(cola.CodeOf(formErr))
		req.setRetryAfter(formErr)
	}
	words, err := req.svc.Vocabulary(req.ctx())
	if err != nil {
		return err
	}
	f.Categories, f.Origins = limitWords(words.Categories), limitWords(words.Origins())
	f.Grapes = words.Grapes(maxWordOptions)
	filters, preview, err := req.preview(f.Values, words)
	if err != nil {
		return err
	}
	f.Preview = preview
	if err := req.addDestinations(f); err != nil {
		return err
	}
	p := page{Title: "New saved search", Data: f}
	f.Action, f.Submit, f.Back = newSearchPath, "Save search", searchesPath
	if f.IdempotencyKey == "" {
		p.Title, f.Submit, f.Back = "Edit saved search", "Save changes", searchPath(req.path("uuid"))
		f.Action = f.Back + "/edit"
	}
	p.Call = req.formCall(f, filters)
	return req.show(status, "saved_search_form", p)
}

// addDestinations adds the destinations of an existing search. For a new one, it adds the
// destinations for all searches, and offers those of other searches.
func (req *request) addDestinations(f *searchForm) error {
	if f.IdempotencyKey == "" {
		f.UUID = req.path("uuid")
		names, err := req.loadDestinationNames()
		f.Destinations = req.searchDestinations(names, f.UUID)
		return err
	}
	names, _, err := req.loadNames()
	if err != nil {
		return err
	}
	f.Rules = req.svc.DestinationRules()
	listed := map[string]bool{}
	address := func(d cola.Destination) string { return d.Kind + " " + cola.FoldAddress(d.Kind, d.Address.V) }
	for _, d := range names.all {
		if !d.SavedSearch.OK {
			f.AllSearches = append(f.AllSearches, req.destinationRow(d, names.searches))
			listed[address(d)] = true
		}
	}
	for _, d := range names.all {
		row := req.destinationRow(d, names.searches)
		if d.State == cola.DestinationActive && row.Unserved == "" && !listed[address(d)] {
			f.Shared = append(f.Shared, destinationChoice{
				row, slices.Contains(f.Values[alertSharedField], d.UUID), d.Kind == cola.KindEmail && !req.ownAddress(d),
			})
			listed[address(d)] = true
		}
	}
	return nil
}

// addError adds an error to the form, and reports whether the user can correct it.
func (f *searchForm) addError(formErr error) (ok bool) {
	f.Problems, f.Error, ok = formErrors(formErr)
	if cola.CodeOf(formErr) == cola.CodeIdempotencyKeyReused {
		f.IdempotencyKey = rand.Text()
	}
	f.moveDayProblems()
	return ok
}

// maxWordOptions is the maximum number of words in a datalist, to keep the page small.
const maxWordOptions = 200

// limitWords returns at most maxWordOptions words. It prefers category paths with fewer levels,
// which are prefixes of the others.
func limitWords(words []string) []string {
	if len(words) <= maxWordOptions {
		return words
	}
	levels := func(path string) int { return strings.Count(path, ">") }
	words = slices.Clone(words)
	slices.SortStableFunc(words, func(a, b string) int { return cmp.Compare(levels(a), levels(b)) })
	words = words[:maxWordOptions]
	slices.Sort(words)
	return words
}

// formCall returns the API call equivalent to the form, or an example if no filter is set.
func (req *request) formCall(f *searchForm, filters cola.SavedSearchFilters) *apiCall {
	if filters == (cola.SavedSearchFilters{}) {
		filters.BrandName = "oak"
	}
	body := map[string]any{"name": cmp.Or(f.Text("name"), "New labels"), "filters": filters}
	if cadence := f.Text("schedule.cadence"); cadence != "" {
		schedule := map[string]any{"cadence": cadence, "active": f.Is("schedule.active", "true")}
		if day, err := strconv.Atoi(apiFields(f.Values).Get("schedule.day")); err == nil {
			schedule["day"] = day
		}
		body["schedule"] = schedule
	} else if f.IdempotencyKey == "" {
		body["schedule"] = nil
	}
	if f.IdempotencyKey == "" {
		return req.call(http.MethodPatch, searchPath(req.path("uuid")), freeCost).with(body)
	}
	return req.call(http.MethodPost, searchesPath, freeCost).with(body).forTool("create_saved_search", body)
}
