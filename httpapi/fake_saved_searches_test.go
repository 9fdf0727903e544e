package httpapi

import (
	"context"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/registry"
)

func (f *fake) CreateSavedSearch(_ context.Context, c cola.Caller, p cola.SavedSearchParams) (registry.CreatedSavedSearch, cola.QuotaState, error) {
	state, err := f.admit()
	f.created = p
	if err == nil && !c.Has(cola.ScopeWriteSavedSearches) {
		err = cola.InsufficientScope(cola.ScopeWriteSavedSearches)
	}
	if err != nil {
		return registry.CreatedSavedSearch{}, state, err
	}
	made, err := p.Normalize(now)
	if err != nil {
		return registry.CreatedSavedSearch{}, state, err
	}
	made.UUID, made.CreatedAt = exampleUUID, cola.TimestampOf(now)
	made.DashboardURL = "http://127.0.0.1:8080/saved-searches"
	made.ManageURL = made.DashboardURL + "/" + made.UUID
	return registry.CreatedSavedSearch{Search: made, Repeated: f.repeated}, state, nil
}

// saved returns the fake's only saved search.
func (f *fake) saved() cola.SavedSearch {
	s := exampleSavedSearch()
	s.DashboardURL = "http://127.0.0.1:8080/saved-searches"
	s.ManageURL = s.DashboardURL + "/" + s.UUID
	return s
}

func (f *fake) SavedSearches(_ context.Context, _ cola.Caller, p cola.SavedSearchListParams) (registry.PageList[cola.SavedSearch], cola.QuotaState, error) {
	page, err := p.Normalize()
	f.listed = page
	l, state, err := rowsFor(f, err, f.saved())
	return registry.PageList[cola.SavedSearch]{Rows: l.Rows, Meta: cola.PageMeta{Total: 1, Page: page.Page, PerPage: page.PerPage}}, state, err
}

func (f *fake) SavedSearch(_ context.Context, _ cola.Caller, id, ifNoneMatch string) (registry.Tagged[cola.SavedSearch], cola.QuotaState, error) {
	return tagged(f, exampleUUID, id, ifNoneMatch, f.saved(), cola.MeterNone)
}

// write runs the checks common to all changes, deletions and manual runs of a search.
func (f *fake) write(c cola.Caller, id string) (cola.QuotaState, error) {
	state, err := f.admit()
	f.received = id
	switch {
	case err != nil:
	case !c.Has(cola.ScopeWriteSavedSearches):
		err = cola.InsufficientScope(cola.ScopeWriteSavedSearches)
	case id != exampleUUID:
		err = cola.Errorf(cola.CodeNotFound, "There is no %s.", cola.Quoted(id))
	}
	return state, err
}

func (f *fake) SavedSearchNotes(cola.SavedSearchFilters) []string { return f.notes }

func (f *fake) ChangeSavedSearch(_ context.Context, c cola.Caller, id string, p cola.SavedSearchChangeParams) (cola.SavedSearch, cola.QuotaState, error) {
	f.changed = p
	state, err := f.write(c, id)
	if err != nil {
		return cola.SavedSearch{}, state, err
	}
	changed, err := p.Apply(f.saved(), now)
	return changed, state, err
}

func (f *fake) DeleteSavedSearch(_ context.Context, c cola.Caller, id string) (cola.QuotaState, error) {
	state, err := f.write(c, id)
	if err == nil {
		f.deleted = id
	}
	return state, err
}

func (f *fake) PreviewSavedSearch(_ context.Context, _ cola.Caller, p cola.PreviewParams) (cola.SavedSearchPreview, cola.QuotaState, error) {
	state, err := f.admit()
	if err == nil {
		f.preview, err = p.Normalize()
	}
	if err != nil {
		return cola.SavedSearchPreview{}, state, err
	}
	preview := examplePreview()
	preview.TooBroad = !f.preview.Narrow()
	return preview, state, nil
}

func (f *fake) RunSavedSearch(_ context.Context, c cola.Caller, id string) (cola.SavedSearch, cola.QuotaState, error) {
	state, err := f.write(c, id)
	if err != nil {
		return cola.SavedSearch{}, state, err
	}
	requested := f.saved()
	requested.Schedule.NextRunAt = cola.Some(cola.TimestampOf(now))
	return requested, state, nil
}

func (f *fake) ExplainSavedSearch(_ context.Context, _ cola.Caller, id, label string) (cola.Explanation, cola.QuotaState, error) {
	e := exampleExplanation()
	e.Found, e.Matches, e.Verdict, e.Message = nil, false, cola.VerdictFilters, "It doesn't match these filters: type_wine."
	e.Filters[1].Met = false
	t, state, err := tagged(f, exampleUUID+" "+e.TTBID.String(), id+" "+label, "", e, cola.MeterListRecords)
	return t.Value, state, err
}
