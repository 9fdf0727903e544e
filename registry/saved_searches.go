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

// savedSearchesPath is the path of the dashboard's saved searches page, relative to the public URL.
const savedSearchesPath = "/saved-searches"

const (
	// keyRemembered is how long an idempotency key is remembered.
	keyRemembered = 24 * time.Hour
	// callRemembered is the same for tool calls, which have no key: they are identified by content.
	callRemembered = 10 * time.Minute
	// saveTimeout is the time limit for writes of admitted requests.
	saveTimeout = 5 * time.Second
)

// CreatedSavedSearch is the result of CreateSavedSearch.
type CreatedSavedSearch struct {
	Search   cola.SavedSearch
	Repeated bool // an earlier identical request created it
}

// CreateSavedSearch stores a search for the caller's account. It is free and needs the scope
// cola.ScopeWriteSavedSearches.
//
// Repeating a request doesn't create a second search; it returns the first one in its current
// state. A request is a repeat if it has the same idempotency key within 24 hours or, on MCP, where
// calls have no such key, the same content and credential within ten minutes.
//
// Besides Normalize's errors, it fails with CodeIdempotencyKeyReused if the key was used for
// another search, and with CodeWatchlistLimit if the account has cola.MaxSavedSearches searches, or
// if the new one would be active and the account has cola.MaxActiveSchedules active ones. After
// CodeUnavailable the outcome may be unknown.
func (s *Service) CreateSavedSearch(
	ctx context.Context, c cola.Caller, p cola.SavedSearchParams,
) (CreatedSavedSearch, cola.QuotaState, error) {
	created, state, err := s.CreateAlert(ctx, c, p, AlertDestinations{})
	return created.CreatedSavedSearch, state, err
}

// SavedSearchNotes returns Vocabulary.SavedSearchNotes for the current index. It is not metered:
// call it only for an admitted request.
func (s *Service) SavedSearchNotes(f cola.SavedSearchFilters) []string {
	return vocabularyOf(s.index.View()).SavedSearchNotes(f)
}

// idempotencyOf returns the key that identifies repeats of a request.
func idempotencyOf(c cola.Caller, key string, search cola.SavedSearch) store.Once {
	once := store.Once{Fingerprint: search.Fingerprint()}
	switch {
	case key != "":
		once.Key, once.Within = "key:"+key, keyRemembered
	case c.Channel == cola.ChannelMCP:
		once.Key, once.Within = fmt.Sprintf("call:%s:%d:%x", c.Credential.Kind, c.Credential.ID,
			once.Fingerprint), callRemembered
	}
	return once
}

// saveSearch stores a normalized search for an admitted caller.
func (s *Service) saveSearch(
	ctx context.Context, c cola.Caller, search cola.SavedSearch, once store.Once, to []store.NewDestination,
) (CreatedSavedSearch, error) {
	var created CreatedSavedSearch
	err := withTimeout(ctx, saveTimeout, func(ctx context.Context) (err error) {
		created.Search, created.Repeated, err = s.store.CreateSavedSearch(ctx, store.NewSavedSearch{
			Account: c.Account, Search: search, MaxActive: cola.MaxActiveSchedules, MaxSearches: cola.MaxSavedSearches,
			Once: once, Destinations: to,
		})
		return err
	})
	if err != nil {
		return CreatedSavedSearch{}, saveSearchError(err)
	}
	s.setURLs(&created.Search)
	return created, nil
}

// setURLs adds the dashboard links to a stored search, and hides the next run of a search on hold.
func (s *Service) setURLs(search *cola.SavedSearch) {
	search.DashboardURL = s.publicURL + savedSearchesPath
	search.ManageURL = search.DashboardURL + "/" + search.UUID
	if search.Schedule != nil && search.Schedule.PausedBecause.OK {
		search.Schedule.NextRunAt = cola.Opt[cola.Timestamp]{}
	}
}

// saveSearchError returns the public error for a failed creation.
func saveSearchError(err error) error {
	failed, isDestination := errors.AsType[store.DestinationError](err)
	switch {
	case isDestination && !errors.Is(err, store.ErrUnavailable):
		return newDestinationError(failed.Destination, failed.Err)
	case errors.Is(err, store.ErrReused):
		return cola.Errorf(cola.CodeIdempotencyKeyReused,
			"This Idempotency-Key was already used for another search. Use a new key for each search, and the same "+
				"key only to repeat a request.")
	case errors.Is(err, store.ErrLimit):
		return activeLimitError(err, "Save this search without a schedule or with \"active\": false, or pause or "+
			"delete another one first.")
	case errors.Is(err, store.ErrUnavailable):
		refusal := cola.Unavailable()
		refusal.Message = "The search may not have been saved. Repeat the request in a few seconds. Repeated tool calls, " +
			"and requests with the same Idempotency-Key, save it only once."
		return refusal
	}
	return fmt.Errorf("create saved search: %w", err)
}

// activeLimitError returns the error for too many active schedules. remedy says what the caller can
// do instead.
func activeLimitError(err error, remedy string) error {
	limit := cola.MaxActiveSchedules
	if reached, ok := errors.AsType[store.LimitError](err); ok {
		if reached.All {
			return searchLimitError(reached.Limit)
		}
		limit = reached.Limit // accounts can have a lower limit
	}
	refusal := cola.Errorf(cola.CodeWatchlistLimit,
		"The account has reached the maximum of %d saved searches with an active schedule. %s", limit, remedy)
	switch limit {
	case 0:
		refusal.Message = "This account can't have active schedules. Contact the operator."
	case 1:
		refusal.Message = "This account can have only one saved search with an active schedule, and already has one. " + remedy
	}
	refusal.Details = map[string]any{"limit": limit}
	return refusal
}

// searchLimitError returns the error for too many saved searches.
func searchLimitError(limit int) error {
	refusal := cola.Errorf(cola.CodeWatchlistLimit,
		"The account has reached the maximum of %d saved searches. Delete one first: GET /saved-searches lists them, "+
			"DELETE /saved-searches/{uuid} deletes one.", limit)
	refusal.Details = map[string]any{"limit": limit}
	return refusal
}

// SavedSearches returns a page of the caller's saved searches, oldest first. It is free.
func (s *Service) SavedSearches(
	ctx context.Context, c cola.Caller, p cola.SavedSearchListParams,
) (PageList[cola.SavedSearch], cola.QuotaState, error) {
	none := PageList[cola.SavedSearch]{}
	if state, err := s.precheck(c); err != nil {
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
	offset := (q.Page - 1) * q.PerPage
	err = withTimeout(ctx, readTimeout, func(ctx context.Context) (err error) {
		list.Rows, list.Meta.Total, err = s.store.SavedSearches(ctx, c.Account, offset, q.PerPage)
		return err
	})
	if err != nil {
		return none, state, storeError(err, "list saved searches")
	}
	for i := range list.Rows {
		s.setURLs(&list.Rows[i])
	}
	list.Meta.HasMore = offset+len(list.Rows) < list.Meta.Total
	return list, state, nil
}

// SavedSearch returns one of the caller's saved searches. It is free. It fails with CodeNotFound if
// the search is missing or belongs to another account.
func (s *Service) SavedSearch(
	ctx context.Context, c cola.Caller, id, ifNoneMatch string,
) (Tagged[cola.SavedSearch], cola.QuotaState, error) {
	return lookup(ctx, s, c, cola.MeterNone, ifNoneMatch, func() (found cola.SavedSearch, err error) {
		key, err := parseSearchID(id)
		if err != nil {
			return cola.SavedSearch{}, err
		}
		err = withTimeout(ctx, readTimeout, func(ctx context.Context) (err error) {
			found, err = s.store.SavedSearch(ctx, c.Account, key)
			return err
		})
		switch {
		case errors.Is(err, store.ErrNotFound):
			return cola.SavedSearch{}, savedSearchNotFound(id)
		case err != nil:
			return cola.SavedSearch{}, storeError(err, "read saved search")
		}
		s.setURLs(&found)
		return found, nil
	})
}

// ChangeSavedSearch changes one of the caller's searches, and returns it. It is free and needs the
// scope cola.ScopeWriteSavedSearches. It fails with CodeNotFound if the search is missing or
// belongs to another account, with the same errors as cola.SavedSearchChangeParams.Apply, and with
// CodeWatchlistLimit if the search would become active and the account has cola.MaxActiveSchedules
// active ones. After CodeUnavailable the outcome may be unknown; the change can be repeated.
func (s *Service) ChangeSavedSearch(
	ctx context.Context, c cola.Caller, id string, p cola.SavedSearchChangeParams,
) (cola.SavedSearch, cola.QuotaState, error) {
	key, state, err := s.authorizeSearchWrite(ctx, c, id)
	if err != nil {
		return cola.SavedSearch{}, state, err
	}
	var changed cola.SavedSearch
	err = withTimeout(ctx, saveTimeout, func(ctx context.Context) (err error) {
		now := s.now()
		changed, err = s.store.UpdateSavedSearch(ctx, c.Account, key, cola.MaxActiveSchedules,
			func(search cola.SavedSearch) (cola.SavedSearch, error) {
				return p.Apply(search, now)
			})
		return err
	})
	if err != nil {
		return cola.SavedSearch{}, state, changeSearchError(err, id, changeSearchUnconfirmed)
	}
	s.setURLs(&changed)
	return changed, state, nil
}

// DeleteSavedSearch deletes one of the caller's searches. It is free and needs the scope
// cola.ScopeWriteSavedSearches. It fails with CodeNotFound if the search is missing or belongs to
// another account. After CodeUnavailable the outcome may be unknown.
func (s *Service) DeleteSavedSearch(ctx context.Context, c cola.Caller, id string) (cola.QuotaState, error) {
	key, state, err := s.authorizeSearchWrite(ctx, c, id)
	if err != nil {
		return state, err
	}
	err = withTimeout(ctx, saveTimeout, func(ctx context.Context) error {
		return s.store.DeleteSavedSearch(ctx, c.Account, key)
	})
	if err != nil {
		return state, changeSearchError(err, id, deleteSearchUnconfirmed)
	}
	return state, nil
}

// authorizeSearchWrite admits a request to change a search, and returns the search's normalized
// UUID.
func (s *Service) authorizeSearchWrite(
	ctx context.Context, c cola.Caller, id string,
) (key string, state cola.QuotaState, err error) {
	return authorizeWrite(ctx, s, c, id, parseSearchID)
}

// authorizeWrite admits a request to change a record, and returns the parsed ID of the record.
func authorizeWrite[K any](
	ctx context.Context, s *Service, c cola.Caller, id string, parse func(id string) (K, error),
) (found K, state cola.QuotaState, err error) {
	var none K
	c.Needs = cola.ScopeWriteSavedSearches
	if state, err := s.precheck(c); err != nil {
		return none, state, err
	}
	found, err = parse(id)
	if err != nil {
		state, err := s.Refuse(ctx, c, err)
		return none, state, err
	}
	state, err = s.Admit(ctx, c)
	return found, state, err
}

// parseSearchID returns the normalized UUID of a search.
func parseSearchID(id string) (string, error) {
	if key, ok := normalizeUUID(id); ok {
		return key, nil
	}
	refusal := savedSearchNotFound(id)
	refusal.Message += " Search IDs are UUIDs."
	return "", refusal
}

// normalizeUUID returns a UUID in lower case. It accepts only the form with hyphens.
func normalizeUUID(id string) (normalized string, ok bool) {
	const hyphenated = 36 // length in characters
	parsed, err := uuid.Parse(id)
	return parsed.String(), err == nil && len(id) == hyphenated
}

func savedSearchNotFound(id string) *cola.Error {
	return cola.Errorf(cola.CodeNotFound, "Your account has no saved search with the ID %s.", cola.Quoted(id))
}

// Messages for requests with an unknown outcome.
const (
	changeSearchUnconfirmed = "The search may not have been changed. Send the same request again in a few seconds; " +
		"it's safe to retry."
	deleteSearchUnconfirmed = "The search may not have been deleted. Send the same request again in a few seconds; " +
		"not_found means that it was."
	runSearchUnconfirmed = "The run may not have been requested. Send the same request again in a few seconds; " +
		"it's safe to retry."
)

// changeSearchError returns the public error for a failed change or deletion. unknown is the
// message if the outcome is unknown.
func changeSearchError(err error, id, unknown string) error {
	if refusal, ok := errors.AsType[*cola.Error](err); ok {
		return refusal
	}
	switch {
	case errors.Is(err, store.ErrNotFound):
		return savedSearchNotFound(id)
	case errors.Is(err, store.ErrLimit):
		return activeLimitError(err, "Pause or delete another one first.")
	case errors.Is(err, store.ErrUnavailable):
		refusal := cola.Unavailable()
		refusal.Message = unknown
		return refusal
	}
	return fmt.Errorf("change saved search: %w", err)
}
