package registry

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

// runsWithin is how long a list of runs or matches waits for the database.
const runsWithin = 5 * time.Second

// SavedSearchRuns returns a page of the runs of a search that the caller's account keeps, newest first. It is free. It fails with
// CodeNotFound also for another account's search.
func (s *Service) SavedSearchRuns(ctx context.Context, c cola.Caller, id string, p cola.SavedSearchListParams) (PageList[cola.SavedSearchRun], cola.QuotaState, error) {
	return listOf(ctx, s, c, id, p, func(ctx context.Context, uuid string, part store.Slice) ([]cola.SavedSearchRun, int, error) {
		return s.store.RunsOf(ctx, c.Account, uuid, part)
	})
}

// SavedSearchMatches returns a page of what a search of the caller's account has found: those of its latest run first, and by id within
// a run. It is free; the labels themselves are looked up as ever. It fails with CodeNotFound also for another account's search.
func (s *Service) SavedSearchMatches(ctx context.Context, c cola.Caller, id string, p cola.SavedSearchListParams) (PageList[cola.SavedSearchMatch], cola.QuotaState, error) {
	return s.matchesOf(ctx, c, id, 0, p)
}

// RunMatches returns a page of what one run of a search has found. It fails with CodeNotFound also for a run of another search.
func (s *Service) RunMatches(ctx context.Context, c cola.Caller, id, run string, p cola.SavedSearchListParams) (PageList[cola.SavedSearchMatch], cola.QuotaState, error) {
	number, err := strconv.ParseInt(run, 10, 64)
	if err != nil || number < 1 || strconv.FormatInt(number, 10) != run {
		number = noRun
	}
	return s.matchesOf(ctx, c, id, number, p)
}

// noRun is the number of no run.
const noRun = -1

func (s *Service) matchesOf(ctx context.Context, c cola.Caller, id string, run int64, p cola.SavedSearchListParams) (PageList[cola.SavedSearchMatch], cola.QuotaState, error) {
	return listOf(ctx, s, c, id, p, func(ctx context.Context, uuid string, part store.Slice) ([]cola.SavedSearchMatch, int, error) {
		if run == noRun {
			return nil, 0, store.ErrNotFound
		}
		return s.store.MatchesOf(ctx, c.Account, uuid, run, part)
	})
}

// listOf answers a free list of what belongs to a saved search: settle, admit, read.
func listOf[T any](ctx context.Context, s *Service, c cola.Caller, id string, p cola.SavedSearchListParams,
	read func(ctx context.Context, uuid string, part store.Slice) ([]T, int, error),
) (list PageList[T], state cola.QuotaState, err error) {
	if state, err = s.begin(c); err != nil {
		return list, state, err
	}
	page, invalid := p.Normalize()
	if state, err = s.free(ctx, c, invalid); err != nil {
		return list, state, err
	}
	search, err := searchID(id)
	if err != nil {
		return list, state, err
	}
	part := store.Slice{Offset: (page.Page - 1) * page.PerPage, Limit: page.PerPage}
	reading, cancel := context.WithTimeout(ctx, runsWithin)
	defer cancel()
	rows, total, err := read(reading, search, part)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return list, state, noSuchRuns(id)
	case err != nil && reading.Err() != nil && ctx.Err() == nil:
		return list, state, cola.Unavailable()
	case err != nil:
		return list, state, storeError(err, fmt.Sprintf("read runs of saved search %s", search))
	}
	meta := cola.PageMeta{Total: total, Page: page.Page, PerPage: page.PerPage, HasMore: part.Offset+len(rows) < total}
	return PageList[T]{Rows: rows, Meta: meta}, state, nil
}

// RunSavedSearch has a search of the caller's account run within the next minute or so, whether it has a schedule or not, and returns it. What
// it finds is listed, and told, as ever. It is free and needs the scope cola.ScopeWriteSavedSearches. It fails with CodeNotFound also for another
// account's search, with CodeSearchTooBroad when its filters narrow too little for a search that runs, and with CodeNotActive when it is paused for
// a reason of the account's. CodeUnavailable may leave unknown whether it will run; it can be asked for again.
func (s *Service) RunSavedSearch(ctx context.Context, c cola.Caller, id string) (cola.SavedSearch, cola.QuotaState, error) {
	key, state, err := s.beginWriting(ctx, c, id)
	if err != nil {
		return cola.SavedSearch{}, state, err
	}
	var asked cola.SavedSearch
	err = within(ctx, saveWithin, func(ctx context.Context) (err error) {
		if asked, err = s.store.SavedSearch(ctx, c.Account, key); err != nil {
			return err
		}
		if !asked.Filters.Narrow() {
			return cola.Errorf(cola.CodeSearchTooBroad, "A search that runs needs a filter that narrows it, and this one has none. "+
				"Change its filters first; to look at labels now, search for them.")
		}
		ran, err := s.store.AskRun(ctx, c.Account, key, s.now())
		if errors.Is(err, store.ErrNotActive) {
			return whyNotActive(asked.Schedule)
		}
		asked = ran
		return err
	})
	if err != nil {
		return cola.SavedSearch{}, state, changeError(err, id, maybeAsked)
	}
	s.address(&asked)
	return asked, state, nil
}

// whyNotActive refuses to run a search that is paused for a reason of its account's.
func whyNotActive(plan *cola.Schedule) error {
	reason, because := cola.PausedSuspended, "the account is suspended. Ask the operator of this service."
	if plan != nil && plan.PausedBecause.V == cola.PausedDowngraded {
		reason, because = cola.PausedDowngraded, "the account has more active schedules than it may, and the oldest of them run. Pause or delete one of the others."
	}
	refusal := cola.Errorf(cola.CodeNotActive, "The search does not run: %s What it misses meanwhile its next run finds.", because)
	refusal.Details = map[string]any{"reason": reason}
	return refusal
}

func noSuchRuns(id string) error {
	return cola.Errorf(cola.CodeNotFound, "Your account has no saved search with the id %s, or it has no such run.", cola.Quoted(id))
}
