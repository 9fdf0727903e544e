package storetest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

// createUntilLimit creates active searches, starting at number n, up to the limit, and returns how
// many it created.
func createUntilLimit(
	ctx context.Context, st store.Store, account cola.AccountID, n, maxSearches int,
) (created int, err error) {
	for ; ; created++ {
		next := newSearch(account, n+created)
		next.MaxActive = maxSearches
		_, repeated, err := st.CreateSavedSearch(ctx, next)
		switch {
		case errors.Is(err, store.ErrLimit):
			return created, nil
		case err != nil:
			return created, fmt.Errorf("create saved search: %w", err)
		case repeated:
			return created, errors.New("creation without an idempotency key was treated as a repeat")
		}
	}
}

// newUnscheduled returns a new search without a schedule, subject to a limit on all of the
// account's searches.
func newUnscheduled(account cola.AccountID, n, maxSearches int) store.NewSavedSearch {
	next := newSearch(account, n)
	next.Search.Schedule, next.MaxSearches = nil, maxSearches
	return next
}

func searchLimit(t *testing.T, st store.Store, _ *clock) {
	a, b := mustAccount(t, st, "a@example.com", cola.TierFree), mustAccount(t, st, "b@example.com", cola.TierFree)
	active, paused := newSearch(a.ID, 1), newSearch(a.ID, 2)
	paused.Search.Schedule.Active = false
	created, last := mustCreate(t, st, withKey(active, "key", 1)), mustCreate(t, st, paused)
	mustCreate(t, st, newUnscheduled(a.ID, 3, 3))
	rejectedActive := newSearch(a.ID, 4)
	rejectedActive.MaxSearches, rejectedActive.MaxActive = 3, 1
	for desc, n := range map[string]store.NewSavedSearch{
		"over the limit":                 newUnscheduled(a.ID, 4, 3),
		"active search over both limits": rejectedActive,
	} {
		_, _, err := st.CreateSavedSearch(t.Context(), n)
		if limit, ok := errors.AsType[store.LimitError](err); !ok || limit != (store.LimitError{Limit: 3, All: true}) ||
			!errors.Is(err, store.ErrLimit) {
			t.Errorf("%s: error = %v, want ErrLimit for all searches", desc, err)
		}
	}
	repeat := withKey(active, "key", 1)
	repeat.MaxSearches = 3 // a repeated request creates no search, so the limit does not apply
	found, repeated, err := st.CreateSavedSearch(t.Context(), repeat)
	if must(t, found, err); !repeated || found.UUID != created.UUID {
		t.Errorf("repeated request = %+v, repeated = %v; want the first search, true", found, repeated)
	}
	mustCreate(t, st, newUnscheduled(b.ID, 5, 3))
	mustDo(t, st.DeleteSavedSearch(t.Context(), a.ID, last.UUID))
	mustCreate(t, st, newUnscheduled(a.ID, 4, 3))
	checkEqual(t, "number of searches", 3, len(mustSearches(t, st, a.ID)))
}

func searchLimitConcurrent(t *testing.T, st store.Store, _ *clock) {
	const limit = 30
	a := mustAccount(t, st, "a@example.com", cola.TierFree)
	var created atomic.Int64
	var wg sync.WaitGroup
	for i := range 10 {
		wg.Go(func() {
			for n := 0; ; n++ {
				_, _, err := st.CreateSavedSearch(t.Context(), newUnscheduled(a.ID, 100*i+n, limit))
				if errors.Is(err, store.ErrLimit) {
					return
				}
				if err != nil {
					t.Error(err)
					return
				}
				created.Add(1)
			}
		})
	}
	wg.Wait()
	if stored := mustSearches(t, st, a.ID); len(stored) != limit || created.Load() != limit {
		t.Errorf("%d searches created, %d stored; want %d", created.Load(), len(stored), limit)
	}
}

// processActiveLimit is the limit on active schedules in tests with several processes. It is high
// enough that they all change searches at the same time.
const processActiveLimit = 150

// isActive reports whether a search has an active schedule.
func isActive(s cola.SavedSearch) bool { return s.Schedule != nil && s.Schedule.Active }

// resumeUntilLimit resumes an account's searches, starting at number n, up to the limit, and
// returns how many it resumed. Other callers may resume the same searches concurrently.
func resumeUntilLimit(
	ctx context.Context, st store.Store, account cola.AccountID, n, maxActive int,
) (resumed int, err error) {
	all, total, err := st.SavedSearches(ctx, account, 0, 10*processActiveLimit)
	for i := 0; i < total && err == nil; i++ {
		var wasActive bool
		_, err = st.UpdateSavedSearch(ctx, account, all[(n+i)%total].UUID, maxActive,
			func(s cola.SavedSearch) (cola.SavedSearch, error) {
				wasActive = isActive(s)
				return setActive(true)(s)
			})
		switch {
		case errors.Is(err, store.ErrLimit):
			return resumed, nil
		case err == nil && !wasActive:
			resumed++
		}
	}
	return resumed, errors.Join(err, errors.New("limit not reached"))
}

// childResume resumes searches up to the limit and prints how many it resumed.
func childResume(ctx context.Context, st store.Store, out io.Writer) error {
	account, err := st.AccountByEmail(ctx, chargedAccount)
	if err != nil {
		return err
	}
	resumed, err := resumeUntilLimit(ctx, st, account.ID, os.Getpid(), processActiveLimit)
	fmt.Fprintf(out, "resumed %d\n", resumed)
	return err
}

// childCreate creates searches up to the limit and prints how many it created.
func childCreate(ctx context.Context, st store.Store, out io.Writer) error {
	account, err := st.AccountByEmail(ctx, chargedAccount)
	if err != nil {
		return err
	}
	created, err := createUntilLimit(ctx, st, account.ID, 1_000*os.Getpid(), processActiveLimit)
	fmt.Fprintf(out, "created %d\n", created)
	return err
}

// createAcrossProcesses checks that two processes, and goroutines of a third, together create
// exactly as many active schedules as the limit allows.
func createAcrossProcesses(t *testing.T, b Backend) {
	dsn := b.New(t)
	db := b.mustOpen(t, dsn)
	account := roomyAccount(t, db, chargedAccount)
	total := runTogether(t, dsn, "create", "created %d", func(i int) (int, error) {
		return createUntilLimit(t.Context(), db, account.ID, 1_000*i, processActiveLimit)
	})
	if stored := mustSearches(t, db, account.ID); len(stored) != processActiveLimit || total != processActiveLimit {
		t.Errorf("%d searches created, %d stored; want %d", total, len(stored), processActiveLimit)
	}
}

// resumeAcrossProcesses checks that two processes, and goroutines of a third, together resume
// exactly as many schedules as the limit allows.
func resumeAcrossProcesses(t *testing.T, b Backend) {
	dsn := b.New(t)
	db := b.mustOpen(t, dsn)
	account := roomyAccount(t, db, chargedAccount)
	for n := range 2 * processActiveLimit {
		mustCreatePaused(t, db, account.ID, n)
	}
	total := runTogether(t, dsn, "resume", "resumed %d", func(i int) (int, error) {
		return resumeUntilLimit(t.Context(), db, account.ID, 70*i, processActiveLimit)
	})
	active := 0
	for _, s := range mustSearches(t, db, account.ID) {
		if isActive(s) {
			active++
		}
	}
	if active != processActiveLimit || total != processActiveLimit {
		t.Errorf("%d searches active, %d resumed; want %d", active, total, processActiveLimit)
	}
}
