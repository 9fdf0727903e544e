package registry

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

// runsTimeout is how long a list of runs or matches waits for the database.
const runsTimeout = 5 * time.Second

// SavedSearchRuns returns a page of runs for one of the caller's searches, newest first. It is
// free. It fails with CodeNotFound if the search is missing or belongs to another account.
func (s *Service) SavedSearchRuns(
	ctx context.Context, c cola.Caller, id string, p cola.SavedSearchListParams,
) (PageList[cola.SavedSearchRun], cola.QuotaState, error) {
	none := PageList[cola.SavedSearchRun]{}
	if state, err := s.precheck(c); err != nil {
		return none, state, err
	}
	page, invalid := p.Normalize()
	state, err := s.admitFree(ctx, c, invalid)
	if err != nil {
		return none, state, err
	}
	list, err := listForSearch(ctx, id, page,
		func(ctx context.Context, uuid string, part store.Slice) ([]cola.SavedSearchRun, int, error) {
			return s.store.RunsOf(ctx, c.Account, uuid, part)
		})
	return list, state, err
}

// SavedSearchRun returns a run of one of the caller's searches. It is free. It fails with
// CodeNotFound if the search is missing or belongs to another account, or has no such run.
func (s *Service) SavedSearchRun(
	ctx context.Context, c cola.Caller, id, run string,
) (cola.SavedSearchRun, cola.QuotaState, error) {
	found, state, err := lookup(ctx, s, c, cola.MeterNone, "", func() (found cola.SavedSearchRun, err error) {
		search, err := parseSearchID(id)
		if err != nil {
			return found, err
		}
		err = withTimeout(ctx, runsTimeout, func(ctx context.Context) (err error) {
			found, err = s.store.RunOf(ctx, c.Account, search, parseRunNumber(run))
			return err
		})
		return found, runsError(err, id)
	})
	return found.Value, state, err
}

// MatchedRun is a run with matches, and its search.
type MatchedRun = store.MatchedRun

// LatestMatches returns the newest run with matches for each of the caller's searches, newest
// first, for at most limit searches. It is free and doesn't need the index.
func (s *Service) LatestMatches(ctx context.Context, c cola.Caller, limit int) ([]MatchedRun, cola.QuotaState, error) {
	return readManaged(ctx, s, c, "list latest matches",
		func(ctx context.Context, _ cola.QuotaState) ([]MatchedRun, error) {
			return s.store.LatestMatches(ctx, c.Account, limit)
		})
}

// SavedSearchMatches returns a page of matches for one of the caller's searches, latest run first,
// and by TTB ID within a run. It costs one list record per match; if fewer list records are left,
// the page is truncated and TruncatedByQuota is true. It fails with CodeNotFound if the search is
// missing or belongs to another account.
func (s *Service) SavedSearchMatches(
	ctx context.Context, c cola.Caller, id string, p cola.SavedSearchListParams,
) (PageList[cola.SavedSearchMatch], cola.QuotaState, error) {
	return s.matchesOf(ctx, c, id, 0, p)
}

// RunMatches is SavedSearchMatches for one run. It also fails with CodeNotFound if the search
// has no such run.
func (s *Service) RunMatches(
	ctx context.Context, c cola.Caller, id, run string, p cola.SavedSearchListParams,
) (PageList[cola.SavedSearchMatch], cola.QuotaState, error) {
	return s.matchesOf(ctx, c, id, parseRunNumber(run), p)
}

// noRun is a run number that no run has.
const noRun = -1

// parseRunNumber parses a run number. It returns noRun for a malformed one.
func parseRunNumber(run string) int64 {
	number, err := strconv.ParseInt(run, 10, 64)
	if err != nil || number < 1 || strconv.FormatInt(number, 10) != run {
		return noRun
	}
	return number
}

func (s *Service) matchesOf(
	ctx context.Context, c cola.Caller, id string, run int64, p cola.SavedSearchListParams,
) (PageList[cola.SavedSearchMatch], cola.QuotaState, error) {
	none := PageList[cola.SavedSearchMatch]{}
	if state, err := s.precheck(c); err != nil {
		return none, state, err
	}
	page, err := p.Normalize()
	var list PageList[cola.SavedSearchMatch]
	if err == nil {
		list, err = listForSearch(ctx, id, page,
			func(ctx context.Context, uuid string, part store.Slice) ([]cola.SavedSearchMatch, int, error) {
				return s.store.MatchesOf(ctx, c.Account, uuid, run, part)
			})
	}
	if refusal, ok := errors.AsType[*cola.Error](err); ok && refusal.Code != cola.CodeUnavailable {
		state, err := s.Refuse(ctx, c, err)
		return none, state, err
	}
	if err != nil {
		return none, cola.QuotaState{}, err
	}
	of := pageOf{"matches", []any{id, run, page}, s.index.View()}
	charged, state, err := chargeRows(ctx, s, c, of, list.Rows, list.Meta.HasMore, nil)
	if err != nil {
		return none, state, err
	}
	list.Rows, list.Meta.HasMore, list.Meta.TruncatedByQuota = charged.rows, charged.more, charged.truncated
	return list, state, nil
}

// listForSearch reads a page of runs or matches for a saved search.
func listForSearch[T any](ctx context.Context, id string, page cola.SavedSearchPage,
	read func(ctx context.Context, uuid string, part store.Slice) ([]T, int, error),
) (list PageList[T], err error) {
	search, err := parseSearchID(id)
	if err != nil {
		return list, err
	}
	part := store.Slice{Offset: (page.Page - 1) * page.PerPage, Limit: page.PerPage}
	list.Meta = cola.PageMeta{Page: page.Page, PerPage: page.PerPage}
	err = withTimeout(ctx, runsTimeout, func(ctx context.Context) (err error) {
		list.Rows, list.Meta.Total, err = read(ctx, search, part)
		return err
	})
	if err != nil {
		return PageList[T]{}, runsError(err, id)
	}
	list.Meta.HasMore = part.Offset+len(list.Rows) < list.Meta.Total
	return list, nil
}

// runsError returns the public error for a failed read of runs or matches.
func runsError(err error, id string) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, store.ErrNotFound):
		return runsNotFound(id)
	}
	return storeError(err, "read runs of a saved search")
}

// RunSavedSearch requests a run of one of the caller's searches, which starts within about a
// minute, and returns the search. The search needs no schedule. The run is manual: messages about
// it give the count and a link, and feeds don't name its labels.
//
// RunSavedSearch is free, needs the scope cola.ScopeWriteSavedSearches, and counts toward
// cola.MaxDailyManualRuns unless the search is already due. It fails with CodeNotFound if the
// search is missing or belongs to another account, with CodeSearchTooBroad if its filters are too
// broad, with CodeNotActive if the search is on hold because of the account, and with
// CodeQuotaExceeded if the account has used up its manual runs for the UTC day. After
// CodeUnavailable the outcome is unknown; the call can be repeated.
func (s *Service) RunSavedSearch(
	ctx context.Context, c cola.Caller, id string,
) (cola.SavedSearch, cola.QuotaState, error) {
	key, state, err := s.authorizeSearchWrite(ctx, c, id)
	if err != nil {
		return cola.SavedSearch{}, state, err
	}
	var requested cola.SavedSearch
	err = withTimeout(ctx, saveTimeout, func(ctx context.Context) (err error) {
		if requested, err = s.store.SavedSearch(ctx, c.Account, key); err != nil {
			return err
		}
		if !requested.Filters.Narrow() {
			return cola.Errorf(cola.CodeSearchTooBroad, "The search's filters are too broad to run. Add a filter, or "+
				"search labels directly.")
		}
		now := s.now()
		ran, err := s.store.RequestRun(ctx, c.Account, key, now, cola.MaxDailyManualRuns)
		switch {
		case errors.Is(err, store.ErrNotActive):
			return notActiveError(requested.Schedule)
		case errors.Is(err, store.ErrLimit):
			return manualRunLimitError(now)
		}
		requested = ran
		return err
	})
	if err != nil {
		return cola.SavedSearch{}, state, changeSearchError(err, id, runSearchUnconfirmed)
	}
	s.setURLs(&requested)
	return requested, state, nil
}

// ReasonManualRuns is the value of details.reason if the day's manual runs are used up.
const ReasonManualRuns = "manual_runs"

// manualRunLimitError returns the error for too many manual runs in a UTC day.
func manualRunLimitError(now time.Time) error {
	wait := (cola.DateOf(now.UTC()) + 1).Time().Sub(now)
	return &cola.Error{
		Code: cola.CodeQuotaExceeded,
		Message: fmt.Sprintf("Your account has used all %d manual runs for today. The limit resets at 00:00 UTC; "+
			"scheduled runs continue.", cola.MaxDailyManualRuns),
		Details: map[string]any{
			"reason":      ReasonManualRuns,
			"limit":       cola.MaxDailyManualRuns,
			"retry_after": int(math.Ceil(wait.Seconds())),
		},
		RetryAfter: wait,
	}
}

// notActiveError returns the error for a search that is on hold because of its account.
func notActiveError(plan *cola.Schedule) error {
	reason, explanation := cola.PausedSuspended, "the account is suspended. Contact the operator."
	if plan != nil && plan.PausedBecause.V == cola.PausedDowngraded {
		reason = cola.PausedDowngraded
		explanation = "the account has more active schedules than allowed, so only the oldest ones run. To run this " +
			"one, pause or delete enough older ones."
	}
	refusal := cola.Errorf(cola.CodeNotActive,
		"The search is on hold: %s This search's next run will find the labels it missed in the "+
			"meantime.", explanation)
	refusal.Details = map[string]any{"reason": reason}
	return refusal
}

func runsNotFound(id string) error {
	return cola.Errorf(cola.CodeNotFound, "Your account has no saved search with the ID %s, or the search has no such "+
		"run.", cola.Quoted(id))
}

// RunLabel is a label that a run found. Label is its current record, or nil if it is gone.
type RunLabel struct {
	cola.SavedSearchMatch
	Label *cola.ColaSummary
}

// RunLabels is RunMatches with the labels, at the same cost. It is for the dashboard only: it fails
// with CodeForbidden for callers on other channels.
func (s *Service) RunLabels(
	ctx context.Context, c cola.Caller, id, run string, p cola.SavedSearchListParams,
) (PageList[RunLabel], cola.QuotaState, error) {
	none := PageList[RunLabel]{}
	if c.Channel != cola.ChannelDashboard {
		state, err := s.admitDashboard(ctx, c, dashboardLabelsOnly, nil)
		return none, state, err
	}
	found, state, err := s.RunMatches(ctx, c, id, run, p)
	if err != nil {
		return none, state, err
	}
	list := PageList[RunLabel]{Meta: found.Meta, Rows: make([]RunLabel, len(found.Rows))}
	view := s.index.View()
	for i, match := range found.Rows {
		list.Rows[i].SavedSearchMatch = match
		if label, ok := view.Label(match.TTBID); ok {
			list.Rows[i].Label = &label
		}
	}
	return list, state, nil
}
