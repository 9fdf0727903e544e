package storetest

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

// Collectors in several processes share labels and days, and split every fifth day.
const (
	sharedDays   = 100
	sharedLabels = 200
)

func mustShareFetches(t *testing.T, db Database) cola.AccountID {
	t.Helper()
	mustPlan(t, db, fetchDay, fetchDay+sharedDays-1, never)
	labels := make([]store.FetchLabel, sharedLabels)
	for n := range labels {
		labels[n] = queued(n, fetchDay+cola.Date(n/10))
	}
	mustQueue(t, db, labels...)
	return 0
}

// fetchUntilDone completes windows and finishes labels until none is due, reporting the running
// total to progress. It returns the total.
func fetchUntilDone(
	ctx context.Context, st store.Store, hold time.Duration, progress func(n int),
) (total int, err error) {
	for {
		w, windowErr := claimWindow(st, hold)
		if windowErr == nil {
			if w.Class == (store.ClassRange{}) && w.Day%5 == 0 {
				err = st.SplitWindow(ctx, w, len(testParts), testParts)
			} else if err = st.CompleteWindow(ctx, w, 1); err == nil {
				total++
			}
			if err != nil {
				return total, err
			}
		}
		l, labelErr := st.ClaimLabel(ctx, false, hold)
		if labelErr == nil {
			if err := st.FinishLabel(ctx, l); err != nil {
				return total, err
			}
			total++
		}
		progress(total)
		if windowErr != nil && labelErr != nil {
			return total, unlessNotFound(windowErr, labelErr)
		}
	}
}

// unlessNotFound returns the errors that are not ErrNotFound.
func unlessNotFound(errs ...error) error {
	return errors.Join(slices.DeleteFunc(errs, func(err error) bool { return errors.Is(err, store.ErrNotFound) })...)
}

// claimAllFetches claims all windows and labels that are due.
func claimAllFetches(ctx context.Context, st store.Store) (n int, err error) {
	for {
		_, windowErr := claimWindow(st, shortClaim)
		_, labelErr := st.ClaimLabel(ctx, false, shortClaim)
		if windowErr != nil && labelErr != nil {
			return n, unlessNotFound(windowErr, labelErr)
		}
		n++
	}
}

func checkFetchedAll(t *testing.T, db Database, _ cola.AccountID) {
	t.Helper()
	checkDays(t, db, "at the end", map[string]int{store.FetchComplete: sharedDays})
	checkQueue(t, db, "at the end", map[string]int{})
}

// fetching defines the work of collectors as shared work for RunProcesses.
var fetching = sharedWork{
	jobs:      sharedDays/5*(4+len(testParts)) + sharedLabels,
	work:      "fetch",
	briefly:   "fetch briefly",
	claim:     "claim fetches",
	create:    mustShareFetches,
	done:      checkFetchedAll,
	untilDone: fetchUntilDone,
	claimAll:  claimAllFetches,
	left: func(ctx context.Context, st store.Store) (bool, error) {
		status, err := st.FetchStatus(ctx)
		return status.Windows[store.FetchComplete] < sharedDays || len(status.Labels) > 0, err
	},
}
