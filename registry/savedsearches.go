package registry

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

// savedSearchesPath is where account holders see their searches, below the public URL.
const savedSearchesPath = "/saved-searches"

const (
	// keyRemembered is how long a caller may send a creation again with its idempotency key.
	keyRemembered = 24 * time.Hour
	// callRemembered is the same for a tool call, which has no key: one with the same content is the same call.
	callRemembered = 10 * time.Minute
	// saveWithin is how long a request waits for the database to keep what it has been admitted for.
	saveWithin = 5 * time.Second
)

// SavedSearchMade is the answer to CreateSavedSearch.
type SavedSearchMade struct {
	Search   cola.SavedSearch
	Repeated bool // the same request made it before, and nothing was made now
}

// CreateSavedSearch keeps a search for the caller's account; one with an active schedule will run by itself. It is free and needs
// the scope cola.ScopeWriteSavedSearches. A request that is sent again makes no second search: within 24 hours with the same
// idempotency key, and on MCP, where there is none, within ten minutes with the same content and credential; it gets the search as
// it stands then. Beside what Normalize refuses, it fails with CodeIdempotencyKeyReused when the key was sent with another search,
// and with CodeWatchlistLimit when the account has cola.MaxActiveSchedules active ones, or cola.MaxSavedSearches in all. CodeUnavailable may
// leave unknown whether the search was kept.
func (s *Service) CreateSavedSearch(ctx context.Context, c cola.Caller, p cola.SavedSearchParams) (SavedSearchMade, cola.QuotaState, error) {
	if state, err := s.begin(c); err != nil {
		return SavedSearchMade{}, state, err
	}
	if !c.Has(cola.ScopeWriteSavedSearches) {
		state, err := s.Refuse(ctx, c, c.Lacks(cola.ScopeWriteSavedSearches))
		return SavedSearchMade{}, state, err
	}
	search, err := p.Normalize(s.now())
	if err != nil {
		state, err := s.Refuse(ctx, c, err)
		return SavedSearchMade{}, state, err
	}
	state, err := s.Admit(ctx, c)
	if err != nil {
		return SavedSearchMade{}, state, err
	}
	made, err := s.save(ctx, c, search, onceOf(c, p.IdempotencyKey, search))
	return made, state, err
}

// SavedSearchNotes returns what to tell the owner of a saved search about its filters: how an ambiguous country was read, and
// which words no label has yet. It is not metered: call it for an admitted request.
func (s *Service) SavedSearchNotes(f cola.SavedSearchFilters) []string {
	return wordsIn(s.index.View()).SavedSearchNotes(f)
}

// onceOf says by what a creation that is sent again is known.
func onceOf(c cola.Caller, key string, search cola.SavedSearch) store.Once {
	once := store.Once{Fingerprint: search.Fingerprint()}
	switch {
	case key != "":
		once.Key, once.Within = "key:"+key, keyRemembered
	case c.Channel == cola.ChannelMCP:
		once.Key, once.Within = fmt.Sprintf("call:%s:%d:%x", c.Credential.Kind, c.Credential.ID, once.Fingerprint), callRemembered
	}
	return once
}

// save keeps a settled search of an admitted caller.
func (s *Service) save(ctx context.Context, c cola.Caller, search cola.SavedSearch, once store.Once) (SavedSearchMade, error) {
	id, err := uuid.NewRandom()
	if err != nil {
		return SavedSearchMade{}, fmt.Errorf("name saved search: %w", err)
	}
	search.UUID = id.String()
	var made SavedSearchMade
	err = within(ctx, saveWithin, func(ctx context.Context) (err error) {
		made.Search, made.Repeated, err = s.store.CreateSavedSearch(ctx, store.NewSavedSearch{
			Account: c.Account, Search: search, MaxActive: cola.MaxActiveSchedules, MaxSearches: cola.MaxSavedSearches, Once: once,
		})
		return err
	})
	if err != nil {
		return SavedSearchMade{}, saveError(err)
	}
	s.address(&made.Search)
	return made, nil
}

// address makes a search of the store one that is shown: it tells where the account holder finds it, and when it runs next only if it does.
func (s *Service) address(search *cola.SavedSearch) {
	search.DashboardURL = s.publicURL + savedSearchesPath
	search.ManageURL = search.DashboardURL + "/" + search.UUID
	if search.Schedule != nil && search.Schedule.PausedBecause.OK {
		search.Schedule.NextRunAt = cola.Opt[cola.Timestamp]{}
	}
}

// saveError turns an error of keeping a search into what a caller may see.
func saveError(err error) error {
	switch {
	case errors.Is(err, store.ErrReused):
		return cola.Errorf(cola.CodeIdempotencyKeyReused,
			"This Idempotency-Key was sent with another search before. Send a new key with a new search, and the same one only to repeat a request.")
	case errors.Is(err, store.ErrLimit):
		return tooManyActive(err, "Save this search without a schedule or with \"active\": false, or pause or delete one of the others first.")
	case errors.Is(err, store.ErrUnavailable):
		refusal := cola.Unavailable()
		refusal.Message = "It is unknown whether the search was saved. Send the same request again in a few seconds; " +
			"with an Idempotency-Key, or as a tool call, it is saved once."
		return refusal
	}
	return fmt.Errorf("create saved search: %w", err)
}

// tooManyActive refuses one more active schedule, which the store has refused with err, and tells what to do instead.
func tooManyActive(err error, instead string) error {
	most := cola.MaxActiveSchedules
	if reached, ok := errors.AsType[store.LimitError](err); ok {
		if reached.All {
			return tooManySearches(reached.Limit)
		}
		most = reached.Limit // the account may have a lower one
	}
	refusal := cola.Errorf(cola.CodeWatchlistLimit, "An account may have %d saved searches that run by themselves, and this one has them. %s", most, instead)
	switch most {
	case 0:
		refusal.Message = "This account may have no saved search that runs by itself. Ask the operator of this service."
	case 1:
		refusal.Message = "This account may have one saved search that runs by itself, and has it. " + instead
	}
	refusal.Details = map[string]any{"limit": most}
	return refusal
}

// tooManySearches refuses one more saved search of any kind.
func tooManySearches(most int) error {
	refusal := cola.Errorf(cola.CodeWatchlistLimit, "An account may have %d saved searches, with or without a schedule, and this one has them. "+
		"Delete some that are no longer needed: GET /saved-searches lists them, DELETE /saved-searches/{uuid} deletes one.", most)
	refusal.Details = map[string]any{"limit": most}
	return refusal
}
