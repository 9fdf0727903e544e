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
		{"searches come in pages", searchesInPages},
		{"a changed search comes back", changedSearchComesBack},
		{"what names a search stays", namesOfSearchStay},
		{"a change that is refused writes nothing", refusedChange},
		{"a change that cannot be kept is refused", malformedChange},
		{"another account's search is not changed", changeOfAnotherAccount},
		{"a search becomes active below the limit only", resumedAtLimit},
		{"many resumptions at once keep to the limit", resumedAtOnce},
		{"changes at once are all made", changedAtOnce},
		{"a deleted search is gone", deletedSearch},
		{"a search that is changed and deleted at once is gone", changedAndDeletedAtOnce},
	})
}

// change is the callback of UpdateSavedSearch.
type change func(cola.SavedSearch) (cola.SavedSearch, error)

func renamed(name string) change {
	return func(s cola.SavedSearch) (cola.SavedSearch, error) {
		s.Name = name
		return s, nil
	}
}

// activated returns a change that activates or pauses the schedule.
func activated(active bool) change {
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

// mustPause creates a search with a paused schedule.
func mustPause(t tb, st store.Store, account cola.AccountID, n int) cola.SavedSearch {
	t.Helper()
	paused := newSearch(account, n)
	paused.Search.Schedule.Active, paused.Search.Schedule.NextRunAt = false, cola.Opt[cola.Timestamp]{}
	return mustCreate(t, st, paused)
}

func searchesInPages(t *testing.T, st store.Store, _ *clock) {
	a, b := mustAccount(t, st, "a@example.com", cola.TierFree), mustAccount(t, st, "b@example.com", cola.TierFree)
	var all []cola.SavedSearch
	for n := range 5 {
		all = append(all, mustPause(t, st, a.ID, n))
		mustPause(t, st, b.ID, 100+n)
	}
	for _, p := range []struct {
		account       cola.AccountID
		offset, limit int
		want          []cola.SavedSearch
		total         int
	}{
		{a.ID, 0, 2, all[:2], 5}, {a.ID, 2, 2, all[2:4], 5}, {a.ID, 4, 2, all[4:], 5}, {a.ID, 5, 2, nil, 5}, {a.ID, 0, 0, nil, 5},
		{a.ID, math.MaxInt32 * 100, 100, nil, 5}, {a.ID, 1, 1, all[1:2], 5}, {b.ID + 100, 0, 10, nil, 0},
	} {
		page, total, err := st.SavedSearches(t.Context(), p.account, p.offset, p.limit)
		what := fmt.Sprintf("page of account %d after %d", p.account, p.offset)
		same(t, what, append([]cola.SavedSearch{}, p.want...), append([]cola.SavedSearch{}, must(t, page, err)...))
		same(t, what+", total", p.total, total)
	}
}

func changedSearchComesBack(t *testing.T, st store.Store, c *clock) {
	a := mustAccount(t, st, "a@example.com", cola.TierFree)
	first, last := mustPause(t, st, a.ID, 1), mustPause(t, st, a.ID, 2)
	c.advance(time.Hour)
	full := fullSearch()
	scheduled := full
	scheduled.Schedule = &cola.Schedule{Active: true, Cadence: cola.CadenceDaily, NextRunAt: cola.Some(cola.TimestampOf(epoch)), LastRunAt: cola.Some(cola.TimestampOf(epoch.Add(-time.Hour)))}
	unscheduled := cola.SavedSearch{Name: "bare"}
	for _, want := range []cola.SavedSearch{full, scheduled, unscheduled, scheduled} {
		want.UUID, want.CreatedAt = first.UUID, first.CreatedAt
		changed := mustChange(t, st, a.ID, first.UUID, func(cola.SavedSearch) (cola.SavedSearch, error) { return want, nil })
		same(t, "changed", want, changed)
		found, err := st.SavedSearch(t.Context(), a.ID, first.UUID)
		same(t, "found", want, must(t, found, err))
		same(t, "the list, in the order of creation", []cola.SavedSearch{want, last}, mustSearches(t, st, a.ID))
	}
}

func namesOfSearchStay(t *testing.T, st store.Store, c *clock) {
	a := mustAccount(t, st, "a@example.com", cola.TierFree)
	made := mustPause(t, st, a.ID, 1)
	c.advance(time.Hour)
	changed := mustChange(t, st, a.ID, made.UUID, func(s cola.SavedSearch) (cola.SavedSearch, error) {
		same(t, "what is changed", made, s)
		s.UUID, s.CreatedAt, s.ManageURL, s.DashboardURL = newSearch(a.ID, 2).Search.UUID, 1, "https://example.com/1", "https://example.com"
		return s, nil
	})
	same(t, "changed", made, changed)
	same(t, "searches", []cola.SavedSearch{made}, mustSearches(t, st, a.ID))
}

func refusedChange(t *testing.T, st store.Store, _ *clock) {
	a := mustAccount(t, st, "a@example.com", cola.TierFree)
	made := mustCreate(t, st, newSearch(a.ID, 1))
	for _, refusal := range []error{errors.New("not that"), cola.Errorf(cola.CodeValidation, "Not that."), store.ErrUnavailable, store.ErrNotFound} {
		changed, err := st.UpdateSavedSearch(t.Context(), a.ID, made.UUID, maxActive, func(s cola.SavedSearch) (cola.SavedSearch, error) {
			s.Name, s.Schedule.Active = "changed", false
			return s, refusal
		})
		if err != refusal {
			t.Errorf("%v: %v, want it as it is", refusal, err)
		}
		same(t, "what is returned", cola.SavedSearch{}, changed)
	}
	same(t, "searches", []cola.SavedSearch{made}, mustSearches(t, st, a.ID))
}

func malformedChange(t *testing.T, st store.Store, _ *clock) {
	a := mustAccount(t, st, "a@example.com", cola.TierFree)
	made := mustCreate(t, st, newSearch(a.ID, 1))
	broken := func(s cola.SavedSearch) (cola.SavedSearch, error) {
		s.Filters.ABVMin = cola.Some(math.NaN())
		return s, nil
	}
	for name, change := range map[string]change{"a name with a NUL": renamed("a\x00"), "a name of bytes": renamed("\xff"), "a number without an": broken} {
		if _, err := st.UpdateSavedSearch(t.Context(), a.ID, made.UUID, maxActive, change); !errors.Is(err, store.ErrMalformed) {
			t.Errorf("%s: %v, want ErrMalformed", name, err)
		}
	}
	same(t, "searches", []cola.SavedSearch{made}, mustSearches(t, st, a.ID))
}

func changeOfAnotherAccount(t *testing.T, st store.Store, _ *clock) {
	a, b := mustAccount(t, st, "a@example.com", cola.TierFree), mustAccount(t, st, "b@example.com", cola.TierFree)
	made := mustCreate(t, st, newSearch(a.ID, 1))
	for _, k := range []struct {
		account cola.AccountID
		uuid    string
	}{
		{b.ID, made.UUID}, {b.ID + 100, made.UUID}, {a.ID, ""}, {a.ID, "%"}, {a.ID, made.UUID + "\x00"}, {a.ID, "\xff"}, {a.ID, newSearch(a.ID, 2).Search.UUID},
	} {
		_, err := st.UpdateSavedSearch(t.Context(), k.account, k.uuid, maxActive, func(s cola.SavedSearch) (cola.SavedSearch, error) {
			t.Errorf("account %d is shown %+v as %q", k.account, s, k.uuid)
			return s, nil
		})
		if !errors.Is(err, store.ErrNotFound) {
			t.Errorf("UpdateSavedSearch(%d, %q): %v, want ErrNotFound", k.account, k.uuid, err)
		}
		if err := st.DeleteSavedSearch(t.Context(), k.account, k.uuid); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("DeleteSavedSearch(%d, %q): %v, want ErrNotFound", k.account, k.uuid, err)
		}
	}
	same(t, "searches", []cola.SavedSearch{made}, mustSearches(t, st, a.ID))
}

func resumedAtLimit(t *testing.T, st store.Store, _ *clock) {
	a, b := mustAccount(t, st, "a@example.com", cola.TierFree), mustAccount(t, st, "b@example.com", cola.TierFree)
	paused, others := mustPause(t, st, a.ID, 100), mustPause(t, st, b.ID, 200)
	for n := range maxActive {
		mustCreate(t, st, newSearch(a.ID, n))
	}
	resume := func() error {
		_, err := st.UpdateSavedSearch(t.Context(), a.ID, paused.UUID, maxActive, activated(true))
		return err
	}
	if err := resume(); !errors.Is(err, store.ErrLimit) {
		t.Errorf("one more: %v, want ErrLimit", err)
	}
	found, err := st.SavedSearch(t.Context(), a.ID, paused.UUID)
	same(t, "the one that was refused", paused, must(t, found, err))
	mustChange(t, st, a.ID, paused.UUID, renamed("paused still"))
	active := newSearch(a.ID, 0).Search
	if _, err := st.UpdateSavedSearch(t.Context(), a.ID, active.UUID, 1, renamed("active already")); err != nil {
		t.Errorf("one that is active already, above the limit: %v", err)
	}
	mustChange(t, st, b.ID, others.UUID, activated(true))
	mustChange(t, st, a.ID, active.UUID, activated(false))
	if err := resume(); err != nil {
		t.Errorf("once another one is paused: %v", err)
	}
	if err := st.DeleteSavedSearch(t.Context(), a.ID, paused.UUID); err != nil {
		t.Error(err)
	}
	mustChange(t, st, a.ID, active.UUID, activated(true)) // takes the place of the deleted one
}

func resumedAtOnce(t *testing.T, st store.Store, _ *clock) {
	a := mustAccount(t, st, "a@example.com", cola.TierFree)
	for n := range maxActive - 3 {
		mustCreate(t, st, newSearch(a.ID, n))
	}
	var resumed, refused atomic.Int64
	var wg sync.WaitGroup
	for n := range 10 {
		paused := mustPause(t, st, a.ID, 100+n)
		wg.Go(func() {
			switch _, err := st.UpdateSavedSearch(t.Context(), a.ID, paused.UUID, maxActive, activated(true)); {
			case err == nil:
				resumed.Add(1)
			case errors.Is(err, store.ErrLimit):
				refused.Add(1)
			default:
				t.Errorf("resumption: %v", err)
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
	if active != maxActive || resumed.Load() != 3 || refused.Load() != 7 {
		t.Errorf("%d are active, %d were resumed and %d refused; want %d, 3 and 7", active, resumed.Load(), refused.Load(), maxActive)
	}
}

// changedAtOnce checks that concurrent changes each see the result of the previous one.
func changedAtOnce(t *testing.T, st store.Store, _ *clock) {
	a := mustAccount(t, st, "a@example.com", cola.TierFree)
	made := mustPause(t, st, a.ID, 1)
	mustChange(t, st, a.ID, made.UUID, renamed("."))
	var wg sync.WaitGroup
	for range 10 {
		wg.Go(func() {
			_, err := st.UpdateSavedSearch(t.Context(), a.ID, made.UUID, maxActive, func(s cola.SavedSearch) (cola.SavedSearch, error) {
				s.Name += "."
				return s, nil
			})
			if err != nil {
				t.Errorf("change: %v", err)
			}
		})
	}
	wg.Wait()
	found, err := st.SavedSearch(t.Context(), a.ID, made.UUID)
	same(t, "name", "...........", must(t, found, err).Name)
}

func deletedSearch(t *testing.T, st store.Store, _ *clock) {
	a := mustAccount(t, st, "a@example.com", cola.TierFree)
	first, second := mustCreate(t, st, once(newSearch(a.ID, 1), "key", 1)), mustCreate(t, st, newSearch(a.ID, 2))
	if err := st.DeleteSavedSearch(t.Context(), a.ID, first.UUID); err != nil {
		t.Fatal(err)
	}
	if _, err := st.SavedSearch(t.Context(), a.ID, first.UUID); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("read: %v, want ErrNotFound", err)
	}
	if _, err := st.UpdateSavedSearch(t.Context(), a.ID, first.UUID, maxActive, renamed("x")); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("changed: %v, want ErrNotFound", err)
	}
	if err := st.DeleteSavedSearch(t.Context(), a.ID, first.UUID); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("deleted again: %v, want ErrNotFound", err)
	}
	same(t, "searches", []cola.SavedSearch{second}, mustSearches(t, st, a.ID))
	mustCreate(t, st, once(newSearch(a.ID, 3), "key", 1)) // the same request creates a new search
}

// changedAndDeletedAtOnce checks that a search is gone after its deletion, and that each concurrent
// change either succeeds or returns ErrNotFound.
func changedAndDeletedAtOnce(t *testing.T, st store.Store, _ *clock) {
	a := mustAccount(t, st, "a@example.com", cola.TierFree)
	for round := range 10 {
		made := mustCreate(t, st, newSearch(a.ID, round))
		var wg sync.WaitGroup
		for n := range 4 {
			wg.Go(func() {
				for i := range 5 {
					changed, err := st.UpdateSavedSearch(t.Context(), a.ID, made.UUID, maxActive, renamed(fmt.Sprint(n, i)))
					if err == nil && changed.Name != fmt.Sprint(n, i) || err != nil && !errors.Is(err, store.ErrNotFound) {
						t.Errorf("change: %+v, %v", changed, err)
					}
				}
			})
		}
		wg.Go(func() {
			if err := st.DeleteSavedSearch(t.Context(), a.ID, made.UUID); err != nil {
				t.Errorf("deletion: %v", err)
			}
		})
		wg.Wait()
		same(t, "searches", 0, len(mustSearches(t, st, a.ID)))
	}
}
