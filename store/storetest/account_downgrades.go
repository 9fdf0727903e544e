package storetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

func downgradePausesNewest(t *testing.T, st store.Store, _ *clock) {
	a := mustAccount(t, st, "a@example.com", cola.TierFree)
	uuids := map[int]string{}
	for _, n := range []int{4, 2, 3, 1, 5} { // in order of creation; the newest are paused first
		uuids[n] = mustCreate(t, st, dueSearch(a.ID, n, epoch)).UUID
	}
	mustCreatePaused(t, st, a.ID, 6)
	turn := func(n int, active bool) {
		mustChange(t, st, a.ID, uuids[n], func(s cola.SavedSearch) (cola.SavedSearch, error) {
			s.Schedule.Active = active
			s.Schedule.NextRunAt = cola.Opt[cola.Timestamp]{V: cola.TimestampOf(epoch), OK: active}
			return s, nil
		})
	}
	limit := func(n int) { mustDo(t, st.SetActiveLimit(t.Context(), a.ID, n)) }
	for _, step := range []struct {
		desc       string
		do         func()
		downgraded []int // all other active searches stay due
	}{
		{"limit 2", func() { limit(2) }, []int{3, 1, 5}},
		{"limit 1", func() { limit(1) }, []int{2, 3, 1, 5}},
		{"limit 0", func() { limit(0) }, []int{4, 2, 3, 1, 5}},
		{"limit 3", func() { limit(3) }, []int{1, 5}},
		{"pause search 2", func() { turn(2, false) }, []int{5}},
		{"rename downgraded search 5", func() { mustChange(t, st, a.ID, uuids[5], rename("search 5")) }, []int{5}},
		{"delete search 4", func() { mustDo(t, st.DeleteSavedSearch(t.Context(), a.ID, uuids[4])) }, nil},
		{"limit 2 again", func() { limit(2) }, []int{5}},
		{"limit 4, then resume older search 2", func() { limit(4); turn(2, true) }, nil},
		{"limit 2 after the resume", func() { limit(2) }, []int{1, 5}},
	} {
		step.do()
		checkDowngraded(t, st, a.ID, uuids, step.desc, step.downgraded)
	}
}

// checkDowngraded checks that exactly the searches with the given numbers are paused and that the
// other active ones are due.
func checkDowngraded(t *testing.T, st store.Store, account cola.AccountID, uuids map[int]string, desc string,
	downgraded []int) {
	t.Helper()
	want, due := map[string]string{"search 6": ""}, []string{}
	for n, uuid := range uuids {
		s, err := st.SavedSearch(t.Context(), account, uuid)
		if errors.Is(err, store.ErrNotFound) {
			continue
		}
		name := fmt.Sprint("search ", n)
		want[name] = ""
		if slices.Contains(downgraded, n) {
			want[name] = cola.PausedDowngraded
		} else if isActive(must(t, s, err)) {
			due = append(due, name)
		}
	}
	slices.Sort(due)
	checkEqual(t, desc+": pause reasons", want, pauses(t, st, account))
	checkEqual(t, desc+": due searches", due, claimable(t, st))
}

func activeLimitOnCreateAndResume(t *testing.T, st store.Store, _ *clock) {
	a := mustAccount(t, st, "a@example.com", cola.TierFree)
	paused := mustCreatePaused(t, st, a.ID, 100)
	for n := range 3 {
		mustCreate(t, st, newSearch(a.ID, n))
	}
	wantLimitError := func(desc string, limit int) {
		t.Helper()
		_, _, created := st.CreateSavedSearch(t.Context(), newSearch(a.ID, 50))
		_, resumed := st.UpdateSavedSearch(t.Context(), a.ID, paused.UUID, maxActive, setActive(true))
		for method, err := range map[string]error{"CreateSavedSearch": created, "UpdateSavedSearch": resumed} {
			var reached store.LimitError
			if !errors.Is(err, store.ErrLimit) || !errors.As(err, &reached) || reached.Limit != limit {
				t.Errorf("%s: %s error = %v, want ErrLimit with limit %d", desc, method, err, limit)
			}
		}
	}
	for _, limit := range []int{3, 2, 0} {
		mustDo(t, st.SetActiveLimit(t.Context(), a.ID, limit))
		wantLimitError(fmt.Sprintf("limit %d", limit), limit)
	}
	mustCreatePaused(t, st, a.ID, 101) // creating a paused search is still allowed
	mustDo(t, st.SetActiveLimit(t.Context(), a.ID, 4))
	_, err := st.UpdateSavedSearch(t.Context(), a.ID, paused.UUID, 3, setActive(true))
	if !errors.Is(err, store.ErrLimit) {
		t.Errorf("UpdateSavedSearch above the caller's limit: error = %v, want ErrLimit", err)
	}
	mustChange(t, st, a.ID, paused.UUID, setActive(true))
	if _, _, err := st.CreateSavedSearch(t.Context(), newSearch(a.ID, 50)); !errors.Is(err, store.ErrLimit) {
		t.Errorf("CreateSavedSearch at the limit: error = %v, want ErrLimit", err)
	}
	for _, reason := range pauses(t, st, a.ID) {
		checkEqual(t, "pause reason", "", reason)
	}
}

func pauseReasonPrecedence(t *testing.T, st store.Store, _ *clock) {
	a := mustAccount(t, st, "a@example.com", cola.TierFree)
	for n := range 3 {
		mustCreate(t, st, newSearch(a.ID, n))
	}
	downgraded := map[string]string{
		"search 0": "",
		"search 1": cola.PausedDowngraded,
		"search 2": cola.PausedDowngraded,
	}
	mustDo(t, st.SetActiveLimit(t.Context(), a.ID, 1))
	checkEqual(t, "pause reasons after the downgrade", downgraded, pauses(t, st, a.ID))
	mustDo(t, st.Suspend(t.Context(), a.ID, ""))
	mustDo(t, st.SetActiveLimit(t.Context(), a.ID, 0))
	suspended := map[string]string{
		"search 0": cola.PausedSuspended,
		"search 1": cola.PausedSuspended,
		"search 2": cola.PausedSuspended,
	}
	checkEqual(t, "pause reasons after Suspend", suspended, pauses(t, st, a.ID))
	mustDo(t, st.SetActiveLimit(t.Context(), a.ID, 1))
	mustDo(t, st.Restore(t.Context(), a.ID))
	checkEqual(t, "pause reasons after Restore", downgraded, pauses(t, st, a.ID))
}

// requestedRunSurvivesChanges checks that a search with a requested run stays due after any other
// change, with or without a schedule.
func requestedRunSurvivesChanges(t *testing.T, st store.Store, _ *clock) {
	a := mustAccount(t, st, "a@example.com", cola.TierFree)
	unscheduled := newSearch(a.ID, 1)
	unscheduled.Search.Schedule = nil
	mustCreate(t, st, unscheduled)
	mustCreatePaused(t, st, a.ID, 2)
	mustCreate(t, st, newSearch(a.ID, 3))
	for n := range 3 {
		uuid := newSearch(a.ID, n+1).Search.UUID
		found, err := st.RequestRun(t.Context(), a.ID, uuid, epoch, noLimit)
		if must(t, found, err); found.Schedule != nil {
			checkEqual(t, "NextRunAt after RequestRun", cola.Some(cola.TimestampOf(epoch)), found.Schedule.NextRunAt)
		}
		changed := mustChange(t, st, a.ID, uuid, rename(fmt.Sprint("requested ", n+1)))
		checkEqual(t, "schedule after the rename", found.Schedule, changed.Schedule)
	}
	checkEqual(t, "due searches", []string{"requested 1", "requested 2", "requested 3"}, claimable(t, st))
	mustDo(t, st.Suspend(t.Context(), a.ID, ""))
	checkEqual(t, "due searches while suspended", []string{}, claimable(t, st))
	mustDo(t, st.Restore(t.Context(), a.ID))
	checkEqual(t, "due searches after Restore", []string{"requested 1", "requested 2", "requested 3"}, claimable(t, st))
}

// concurrentAccountChanges checks that concurrent suspensions, limit changes, creations, updates,
// deletions and runs do not deadlock, and that the right searches are paused afterward.
func concurrentAccountChanges(t *testing.T, st store.Store, _ *clock) {
	a := mustAccount(t, st, "a@example.com", cola.TierFree)
	for n := range 6 {
		mustCreate(t, st, dueSearch(a.ID, n, epoch))
	}
	var wg sync.WaitGroup
	for _, do := range searchOperations(t.Context(), st, a.ID) {
		wg.Go(func() {
			for n := range 12 {
				if err := do(n); err != nil && !errors.Is(err, store.ErrLimit) && !errors.Is(err, store.ErrNotFound) {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	mustDo(t, st.SetActiveLimit(t.Context(), a.ID, 2))
	active := 0
	for _, s := range mustSearches(t, st, a.ID) {
		want := ""
		if isActive(s) {
			if active++; active > 2 {
				want = cola.PausedDowngraded
			}
		}
		checkEqual(t, s.Name, want, s.Schedule.PausedBecause.V)
	}
}

// searchOperations returns operations on the searches of an account with six searches. Each takes
// the round number.
func searchOperations(ctx context.Context, st store.Store, account cola.AccountID) []func(n int) error {
	uuid := func(n int) string { return newSearch(account, n).Search.UUID }
	return []func(n int) error{
		func(n int) error {
			return errors.Join(st.Suspend(ctx, account, fmt.Sprint(n)), st.Restore(ctx, account))
		},
		func(n int) error { return st.SetActiveLimit(ctx, account, 2+n%4) },
		func(n int) error {
			_, err := st.UpdateSavedSearch(ctx, account, uuid(n%6), maxActive, setActive(n%3 > 0))
			return err
		},
		func(n int) error {
			_, _, err := st.CreateSavedSearch(ctx, dueSearch(account, 100+n, epoch))
			return err
		},
		func(n int) error { return st.DeleteSavedSearch(ctx, account, uuid(100+n)) },
		func(n int) error {
			claimed, err := st.ClaimDue(ctx, duePast, noLimit, anHour)
			var runs []store.RunRecord
			for _, d := range claimed {
				runs = append(runs, store.RunRecord{
					Due:     d,
					Mark:    store.Mark{At: duePast},
					Next:    cola.TimestampOf(epoch),
					From:    dayOne,
					To:      dayOne,
					Matches: []store.RunMatch{{TTBID: firstID + cola.TTBID(n)}},
				})
			}
			if err == nil {
				_, err = st.RecordRuns(ctx, runs)
			}
			return err
		},
	}
}
