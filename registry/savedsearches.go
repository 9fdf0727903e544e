package registry

import (
	"context"

	"github.com/colaregistry/colaregistry/cola"
)

// SavedSearchMade is the answer to CreateSavedSearch.
type SavedSearchMade struct {
	Search   cola.SavedSearch
	Repeated bool // it was made before, by the same request
}

// CreateSavedSearch keeps a search for the caller's account. It is free.
func (s *Service) CreateSavedSearch(ctx context.Context, c cola.Caller, p cola.SavedSearchParams) (SavedSearchMade, cola.QuotaState, error) {
	if state, err := s.begin(c); err != nil {
		return SavedSearchMade{}, state, err
	}
	if !c.Has(cola.ScopeWriteSavedSearches) {
		state, err := s.Refuse(ctx, c, cola.InsufficientScope(cola.ScopeWriteSavedSearches))
		return SavedSearchMade{}, state, err
	}
	if _, err := p.Normalize(s.now()); err != nil {
		state, err := s.Refuse(ctx, c, err)
		return SavedSearchMade{}, state, err
	}
	state, err := s.Refuse(ctx, c, cola.Unavailable()) // until the store keeps searches
	return SavedSearchMade{}, state, err
}
