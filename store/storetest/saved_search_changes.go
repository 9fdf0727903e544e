package storetest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

func testSavedSearchChanges(t *testing.T, open Opener) {
	runChecks(t, open, []check{
		{"pages", pageSearches},
		{"update and get", updateSearch},
		{"immutable fields", immutableSearchFields},
		{"rejected change", rejectChange},
		{"malformed change", malformedChange},
		{"another account", changeOfAnotherAccount},
		{"resume at the limit", resumeAtLimit},
		{"concurrent resumes", concurrentResumes},
		{"concurrent changes", concurrentChanges},
		{"delete", deleteSearch},
		{"concurrent change and delete", concurrentChangeAndDelete},
	})
}

// change is the callback of UpdateSavedSearch.
type change func(cola.SavedSearch) (cola.SavedSearch, error)

// rename returns a change that sets the name.
func rename(name string) change {
	return func(s cola.SavedSearch) (cola.SavedSearch, error) {
		s.Name = name
		return s, nil
	}
}

// setActive returns a change that activates or pauses the schedule.
func setActive(active bool) change {
	return func(s cola.SavedSearch) (cola.SavedSearch, error) {
		s.Schedule.Active = active
		return s, nil
	}
}

func mustChange(t tb, st store.Store, account cola.AccountID, uuid string, change change) cola.SavedSearch {
	t.Helper()
	changed, err := st.UpdateSavedSearch(context.Background(), account, uuid, maxActive, change)
	return must(t, changed, err)
}

// mustCreatePaused creates a search with a paused schedule.
func mustCreatePaused(t tb, st store.Store, account cola.AccountID, n int) cola.SavedSearch {
	t.Helper()
	paused := newSearch(account, n)
	paused.Search.Schedule.Active, paused.Search.Schedule.NextRunAt = false, cola.Opt[cola.Timestamp]{}
	return mustCreate(t, st, paused)
}

func pageSearches(t *testing.T, st store.Store, _ *clock) {
	a, b := mustAccount(t, st, "a@example.com", cola.TierFree), mustAccount(t, st, "b@example.com", cola.TierFree)
	var all []cola.SavedSearch
	for n := range 5 {
		all = append(all, mustCreatePaused(t, st, a.ID, n))
		mustCreatePaused(t, st, b.ID, 100+n)
	}
	for _, p := range []struct {
		account       cola.AccountID
		offset, limit int
		want          []cola.SavedSearch
		total         int
	}{
		{a.ID, 0, 2, all[:2], 5},
		{a.ID, 2, 2, all[2:4], 5},
		{a.ID, 4, 2, all[4:], 5},
		{a.ID, 5, 2, nil, 5},
		{a.ID, 0, 0, nil, 5},
		{a.ID, math.MaxInt32 * 100, 100, nil, 5},
		{a.ID, 1, 1, all[1:2], 5},
		{b.ID + 100, 0, 10, nil, 0},
	} {
		page, total, err := st.SavedSearches(t.Context(), p.account, p.offset, p.limit)
		desc := fmt.Sprintf("SavedSearches(account %d, offset %d)", p.account, p.offset)
		checkEqual(t, desc, append([]cola.SavedSearch{}, p.want...),
			append([]cola.SavedSearch{}, must(t, page, err)...))
		checkEqual(t, desc+", total", p.total, total)
	}
}

func updateSearch(t *testing.T, st store.Store, c *clock) {
	a := mustAccount(t, st, "a@example.com", cola.TierFree)
	first, last := mustCreatePaused(t, st, a.ID, 1), mustCreatePaused(t, st, a.ID, 2)
	c.advance(time.Hour)
	full := fullSearch()
	scheduled := full
	scheduled.Schedule = &cola.Schedule{
		Active:    true,
		Cadence:   cola.CadenceDaily,
		NextRunAt: cola.Some(cola.TimestampOf(epoch)),
		LastRunAt: cola.Some(cola.TimestampOf(epoch.Add(-time.Hour))),
	}
	unscheduled := cola.SavedSearch{Name: "bare"}
	for _, want := range []cola.SavedSearch{full, scheduled, unscheduled, scheduled} {
		want.UUID, want.CreatedAt = first.UUID, first.CreatedAt
		changed := mustChange(t, st, a.ID, first.UUID,
			func(cola.SavedSearch) (cola.SavedSearch, error) { return want, nil })
		checkEqual(t, "UpdateSavedSearch", want, changed)
		found, err := st.SavedSearch(t.Context(), a.ID, first.UUID)
		checkEqual(t, "SavedSearch", want, must(t, found, err))
		checkEqual(t, "SavedSearches", []cola.SavedSearch{want, last}, mustSearches(t, st, a.ID))
	}
}

func immutableSearchFields(t *testing.T, st store.Store, c *clock) {
	a := mustAccount(t, st, "a@example.com", cola.TierFree)
	search := mustCreatePaused(t, st, a.ID, 1)
	c.advance(time.Hour)
	changed := mustChange(t, st, a.ID, search.UUID, func(s cola.SavedSearch) (cola.SavedSearch, error) {
		checkEqual(t, "search passed to the callback", search, s)
		s.UUID = newSearch(a.ID, 2).Search.UUID
		s.CreatedAt = 1
		s.ManageURL = "https://example.com/1"
		s.DashboardURL = "https://example.com"
		return s, nil
	})
	checkEqual(t, "UpdateSavedSearch", search, changed)
	checkEqual(t, "SavedSearches", []cola.SavedSearch{search}, mustSearches(t, st, a.ID))
}

func rejectChange(t *testing.T, st store.Store, _ *clock) {
	a := mustAccount(t, st, "a@example.com", cola.TierFree)
	search := mustCreate(t, st, newSearch(a.ID, 1))
	for _, reason := range []error{
		errors.New("not that"),
		cola.Errorf(cola.CodeValidation, "Not that."),
		store.ErrUnavailable,
		store.ErrNotFound,
	} {
		changed, err := st.UpdateSavedSearch(t.Context(), a.ID, search.UUID, maxActive,
			func(s cola.SavedSearch) (cola.SavedSearch, error) {
				s.Name, s.Schedule.Active = "changed", false
				return s, reason
			})
		if err != reason {
			t.Errorf("UpdateSavedSearch error = %v, want the callback's error %v", err, reason)
		}
		checkEqual(t, "returned search", cola.SavedSearch{}, changed)
	}
	checkEqual(t, "SavedSearches", []cola.SavedSearch{search}, mustSearches(t, st, a.ID))
}

func malformedChange(t *testing.T, st store.Store, _ *clock) {
	a := mustAccount(t, st, "a@example.com", cola.TierFree)
	search := mustCreate(t, st, newSearch(a.ID, 1))
	broken := func(s cola.SavedSearch) (cola.SavedSearch, error) {
		s.Filters.ABVMin = cola.Some(math.NaN())
		return s, nil
	}
	for name, change := range map[string]change{
		"name with NUL":     rename("a\x00"),
		"name is not UTF-8": rename("\xff"),
		"number is NaN":     broken,
	} {
		_, err := st.UpdateSavedSearch(t.Context(), a.ID, search.UUID, maxActive, change)
		if !errors.Is(err, store.ErrMalformed) {
			t.Errorf("%s: UpdateSavedSearch error = %v, want ErrMalformed", name, err)
		}
	}
	checkEqual(t, "SavedSearches", []cola.SavedSearch{search}, mustSearches(t, st, a.ID))
}

func changeOfAnotherAccount(t *testing.T, st store.Store, _ *clock) {
	a, b := mustAccount(t, st, "a@example.com", cola.TierFree), mustAccount(t, st, "b@example.com", cola.TierFree)
	search := mustCreate(t, st, newSearch(a.ID, 1))
	for _, k := range []struct {
		account cola.AccountID
		uuid    string
	}{
		{b.ID, search.UUID},
		{b.ID + 100, search.UUID},
		{a.ID, ""},
		{a.ID, "%"},
		{a.ID, search.UUID + "\x00"},
		{a.ID, "\xff"},
		{a.ID, newSearch(a.ID, 2).Search.UUID},
	} {
		_, err := st.UpdateSavedSearch(t.Context(), k.account, k.uuid, maxActive,
			func(s cola.SavedSearch) (cola.SavedSearch, error) {
				t.Errorf("UpdateSavedSearch(%d, %q) called the callback with %+v", k.account, k.uuid, s)
				return s, nil
			})
		if !errors.Is(err, store.ErrNotFound) {
			t.Errorf("UpdateSavedSearch(%d, %q) error = %v, want ErrNotFound", k.account, k.uuid, err)
		}
		if err := st.DeleteSavedSearch(t.Context(), k.account, k.uuid); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("DeleteSavedSearch(%d, %q) error = %v, want ErrNotFound", k.account, k.uuid, err)
		}
	}
	checkEqual(t, "SavedSearches", []cola.SavedSearch{search}, mustSearches(t, st, a.ID))
}

func resumeAtLimit(t *testing.T, st store.Store, _ *clock) {
	a, b := mustAccount(t, st, "a@example.com", cola.TierFree), mustAccount(t, st, "b@example.com", cola.TierFree)
	paused, other := mustCreatePaused(t, st, a.ID, 100), mustCreatePaused(t, st, b.ID, 200)
	for n := range maxActive {
		mustCreate(t, st, newSearch(a.ID, n))
	}
	resume := func() error {
		_, err := st.UpdateSavedSearch(t.Context(), a.ID, paused.UUID, maxActive, setActive(true))
		return err
	}
	if err := resume(); !errors.Is(err, store.ErrLimit) {
		t.Errorf("resume over the limit: error = %v, want ErrLimit", err)
	}
	found, err := st.SavedSearch(t.Context(), a.ID, paused.UUID)
	checkEqual(t, "SavedSearch after the rejected resume", paused, must(t, found, err))
	mustChange(t, st, a.ID, paused.UUID, rename("paused still"))
	active := newSearch(a.ID, 0).Search
	if _, err := st.UpdateSavedSearch(t.Context(), a.ID, active.UUID, 1, rename("active already")); err != nil {
		t.Errorf("change to an active search over the limit: error = %v, want nil", err)
	}
	mustChange(t, st, b.ID, other.UUID, setActive(true))
	mustChange(t, st, a.ID, active.UUID, setActive(false))
	if err := resume(); err != nil {
		t.Errorf("resume after pausing another search: error = %v, want nil", err)
	}
	if err := st.DeleteSavedSearch(t.Context(), a.ID, paused.UUID); err != nil {
		t.Error(err)
	}
	mustChange(t, st, a.ID, active.UUID, setActive(true)) // takes the place of the deleted one
}

func concurrentResumes(t *testing.T, st store.Store, _ *clock) {
	a := mustAccount(t, st, "a@example.com", cola.TierFree)
	for n := range maxActive - 3 {
		mustCreate(t, st, newSearch(a.ID, n))
	}
	var resumed, rejected atomic.Int64
	var wg sync.WaitGroup
	for n := range 10 {
		paused := mustCreatePaused(t, st, a.ID, 100+n)
		wg.Go(func() {
			switch _, err := st.UpdateSavedSearch(t.Context(), a.ID, paused.UUID, maxActive, setActive(true)); {
			case err == nil:
				resumed.Add(1)
			case errors.Is(err, store.ErrLimit):
				rejected.Add(1)
			default:
				t.Errorf("UpdateSavedSearch: %v", err)
			}
		})
	}
	wg.Wait()
	active := 0
	for _, s := range mustSearches(t, st, a.ID) {
		if isActive(s) {
			active++
		}
	}
	if active != maxActive || resumed.Load() != 3 || rejected.Load() != 7 {
		t.Errorf("%d active, %d resumed, %d rejected; want %d, 3, 7", active, resumed.Load(), rejected.Load(), maxActive)
	}
}

// concurrentChanges checks that concurrent changes each see the result of the previous one.
func concurrentChanges(t *testing.T, st store.Store, _ *clock) {
	a := mustAccount(t, st, "a@example.com", cola.TierFree)
	search := mustCreatePaused(t, st, a.ID, 1)
	mustChange(t, st, a.ID, search.UUID, rename("."))
	var wg sync.WaitGroup
	for range 10 {
		wg.Go(func() {
			_, err := st.UpdateSavedSearch(t.Context(), a.ID, search.UUID, maxActive,
				func(s cola.SavedSearch) (cola.SavedSearch, error) {
					s.Name += "."
					return s, nil
				})
			if err != nil {
				t.Errorf("UpdateSavedSearch: %v", err)
			}
		})
	}
	wg.Wait()
	found, err := st.SavedSearch(t.Context(), a.ID, search.UUID)
	checkEqual(t, "name", "...........", must(t, found, err).Name)
}

func deleteSearch(t *testing.T, st store.Store, _ *clock) {
	a := mustAccount(t, st, "a@example.com", cola.TierFree)
	first, second := mustCreate(t, st, withKey(newSearch(a.ID, 1), "key", 1)), mustCreate(t, st, newSearch(a.ID, 2))
	if err := st.DeleteSavedSearch(t.Context(), a.ID, first.UUID); err != nil {
		t.Fatal(err)
	}
	if _, err := st.SavedSearch(t.Context(), a.ID, first.UUID); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("SavedSearch(deleted) error = %v, want ErrNotFound", err)
	}
	_, err := st.UpdateSavedSearch(t.Context(), a.ID, first.UUID, maxActive, rename("x"))
	if !errors.Is(err, store.ErrNotFound) {
		t.Errorf("UpdateSavedSearch(deleted) error = %v, want ErrNotFound", err)
	}
	if err := st.DeleteSavedSearch(t.Context(), a.ID, first.UUID); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("second DeleteSavedSearch error = %v, want ErrNotFound", err)
	}
	checkEqual(t, "SavedSearches", []cola.SavedSearch{second}, mustSearches(t, st, a.ID))
	mustCreate(t, st, withKey(newSearch(a.ID, 3), "key", 1)) // the same request creates a new search
}

// concurrentChangeAndDelete checks that a search is gone after its deletion, and that each
// concurrent change either succeeds or returns ErrNotFound.
func concurrentChangeAndDelete(t *testing.T, st store.Store, _ *clock) {
	a := mustAccount(t, st, "a@example.com", cola.TierFree)
	for round := range 10 {
		search := mustCreate(t, st, newSearch(a.ID, round))
		var wg sync.WaitGroup
		for n := range 4 {
			wg.Go(func() {
				for i := range 5 {
					changed, err := st.UpdateSavedSearch(t.Context(), a.ID, search.UUID, maxActive,
						rename(fmt.Sprint(n, i)))
					if err == nil && changed.Name != fmt.Sprint(n, i) ||
						err != nil && !errors.Is(err, store.ErrNotFound) {
						t.Errorf("UpdateSavedSearch = %+v, %v; want the new name or ErrNotFound", changed, err)
					}
				}
			})
		}
		wg.Go(func() {
			if err := st.DeleteSavedSearch(t.Context(), a.ID, search.UUID); err != nil {
				t.Errorf("DeleteSavedSearch: %v", err)
			}
		})
		wg.Wait()
		checkEqual(t, "number of searches", 0, len(mustSearches(t, st, a.ID)))
	}
}
