package registry

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/search"
	"github.com/colaregistry/colaregistry/store"
)

// SavedSearches returns a page of the searches that the caller's account keeps, oldest first. It is free.
func (s *Service) SavedSearches(ctx context.Context, c cola.Caller, p cola.SavedSearchListParams) (PageList[cola.SavedSearch], cola.QuotaState, error) {
	none := PageList[cola.SavedSearch]{}
	if state, err := s.begin(c); err != nil {
		return none, state, err
	}
	q, err := p.Normalize()
	if err != nil {
		state, err := s.Refuse(ctx, c, err)
		return none, state, err
	}
	state, err := s.Admit(ctx, c)
	if err != nil {
		return none, state, err
	}
	list := PageList[cola.SavedSearch]{Meta: cola.PageMeta{Page: q.Page, PerPage: q.PerPage}}
	before := (q.Page - 1) * q.PerPage
	err = within(ctx, readWithin, func(ctx context.Context) (err error) {
		list.Rows, list.Meta.Total, err = s.store.SavedSearches(ctx, c.Account, before, q.PerPage)
		return err
	})
	if err != nil {
		return none, state, storeError(err, "list saved searches")
	}
	for i := range list.Rows {
		s.address(&list.Rows[i])
	}
	list.Meta.HasMore = before+len(list.Rows) < list.Meta.Total
	return list, state, nil
}

// SavedSearch returns a search that the caller's account keeps. It is free. It fails with CodeNotFound also for another account's.
func (s *Service) SavedSearch(ctx context.Context, c cola.Caller, id, ifNoneMatch string) (Tagged[cola.SavedSearch], cola.QuotaState, error) {
	return lookup(ctx, s, c, cola.MeterNone, ifNoneMatch, func() (found cola.SavedSearch, err error) {
		key, err := searchID(id)
		if err != nil {
			return cola.SavedSearch{}, err
		}
		err = within(ctx, readWithin, func(ctx context.Context) (err error) {
			found, err = s.store.SavedSearch(ctx, c.Account, key)
			return err
		})
		switch {
		case errors.Is(err, store.ErrNotFound):
			return cola.SavedSearch{}, noSuchSearch(id)
		case err != nil:
			return cola.SavedSearch{}, storeError(err, "read saved search")
		}
		s.address(&found)
		return found, nil
	})
}

// ChangeSavedSearch changes a search of the caller's account, and returns it. It is free and needs the scope
// cola.ScopeWriteSavedSearches. It fails with CodeNotFound also for another account's search, with what
// cola.SavedSearchChangeParams.Apply refuses, and with CodeWatchlistLimit when the search would become active and the account has
// cola.MaxActiveSchedules active ones. CodeUnavailable may leave unknown whether it was changed; the same change can be made again.
func (s *Service) ChangeSavedSearch(ctx context.Context, c cola.Caller, id string, p cola.SavedSearchChangeParams) (cola.SavedSearch, cola.QuotaState, error) {
	key, state, err := s.beginWriting(ctx, c, id)
	if err != nil {
		return cola.SavedSearch{}, state, err
	}
	var changed cola.SavedSearch
	err = within(ctx, saveWithin, func(ctx context.Context) (err error) {
		now := s.now()
		changed, err = s.store.UpdateSavedSearch(ctx, c.Account, key, cola.MaxActiveSchedules, func(search cola.SavedSearch) (cola.SavedSearch, error) {
			return p.Apply(search, now)
		})
		return err
	})
	if err != nil {
		return cola.SavedSearch{}, state, changeError(err, id, maybeChanged)
	}
	s.address(&changed)
	return changed, state, nil
}

// DeleteSavedSearch forgets a search of the caller's account. It is free and needs the scope cola.ScopeWriteSavedSearches. It fails with
// CodeNotFound also for another account's search. CodeUnavailable may leave unknown whether it was deleted.
func (s *Service) DeleteSavedSearch(ctx context.Context, c cola.Caller, id string) (cola.QuotaState, error) {
	key, state, err := s.beginWriting(ctx, c, id)
	if err != nil {
		return state, err
	}
	err = within(ctx, saveWithin, func(ctx context.Context) error {
		return s.store.DeleteSavedSearch(ctx, c.Account, key)
	})
	if err != nil {
		return state, changeError(err, id, maybeDeleted)
	}
	return state, nil
}

// beginWriting admits a caller who is to change a search, and returns the UUID that the store has it by.
func (s *Service) beginWriting(ctx context.Context, c cola.Caller, id string) (key string, state cola.QuotaState, err error) {
	return beginWritingOf(ctx, s, c, id, searchID)
}

// beginWritingOf admits a caller who is to change something, and returns what the store has it by, as key reads it.
func beginWritingOf[K any](ctx context.Context, s *Service, c cola.Caller, id string, key func(id string) (K, error)) (found K, state cola.QuotaState, err error) {
	var none K
	if state, err := s.begin(c); err != nil {
		return none, state, err
	}
	if !c.Has(cola.ScopeWriteSavedSearches) {
		state, err := s.Refuse(ctx, c, c.Lacks(cola.ScopeWriteSavedSearches))
		return none, state, err
	}
	found, err = key(id)
	if err != nil {
		state, err := s.Refuse(ctx, c, err)
		return none, state, err
	}
	state, err = s.Admit(ctx, c)
	return found, state, err
}

// PreviewSavedSearch counts what filters would have found on each of the last cola.PreviewDays days, today first. It is free.
func (s *Service) PreviewSavedSearch(ctx context.Context, c cola.Caller, p cola.PreviewParams) (cola.SavedSearchPreview, cola.QuotaState, error) {
	if state, err := s.begin(c); err != nil {
		return cola.SavedSearchPreview{}, state, err
	}
	filters, err := p.Normalize()
	if err != nil {
		state, err := s.Refuse(ctx, c, err)
		return cola.SavedSearchPreview{}, state, err
	}
	state, err := s.Admit(ctx, c)
	if err != nil {
		return cola.SavedSearchPreview{}, state, err
	}
	_, preview := s.preview(s.index.View(), filters)
	return preview, state, nil
}

// preview counts what settled filters would have found lately, and returns what was asked for.
func (s *Service) preview(view *search.View, filters cola.SavedSearchFilters) (cola.Query, cola.SavedSearchPreview) {
	q := filters.AsQuery()
	q.To = s.today()
	q.From = q.To.AddDays(1 - cola.PreviewDays)
	counts := view.CountByDay(q)
	preview := cola.SavedSearchPreview{Days: make([]cola.PreviewDay, len(counts)), TooBroad: !filters.Narrow()}
	for i, n := range counts {
		preview.Days[i] = cola.PreviewDay{Date: q.To.AddDays(-i), Count: n}
		preview.Total += n
	}
	return q, preview
}

// searchID returns the form in which the store has a UUID, or a refusal for what is none.
func searchID(id string) (string, error) {
	if key, ok := settleUUID(id); ok {
		return key, nil
	}
	refusal := noSuchSearch(id)
	refusal.Message += " The id of a search is a UUID."
	return "", refusal
}

// settleUUID returns a UUID in lower case; ok is false for what is none. Other forms than the one with hyphens are none of ours.
func settleUUID(id string) (settled string, ok bool) {
	const written = 36 // characters
	parsed, err := uuid.Parse(id)
	return parsed.String(), err == nil && len(id) == written
}

func noSuchSearch(id string) *cola.Error {
	return cola.Errorf(cola.CodeNotFound, "Your account has no saved search with the id %s.", cola.Quoted(id))
}

// What a caller is told when the outcome of a request is not known.
const (
	maybeChanged = "It is unknown whether the search was changed. Send the same request again in a few seconds: a change made twice is as good as one made once."
	maybeDeleted = "It is unknown whether the search was deleted. Send the same request again in a few seconds; not_found then says that it is gone."
	maybeAsked   = "It is unknown whether the search will run. Send the same request again in a few seconds: asking twice does no harm."
)

// changeError turns an error of changing or deleting a search into what a caller may see. unknown is what to say when it may have
// been done.
func changeError(err error, id, unknown string) error {
	if refusal, ok := errors.AsType[*cola.Error](err); ok {
		return refusal
	}
	switch {
	case errors.Is(err, store.ErrNotFound):
		return noSuchSearch(id)
	case errors.Is(err, store.ErrLimit):
		return tooManyActive(err, "Pause or delete one of the others first.")
	case errors.Is(err, store.ErrUnavailable):
		refusal := cola.Unavailable()
		refusal.Message = unknown
		return refusal
	}
	return fmt.Errorf("change saved search: %w", err)
}
