package storetest

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

func puttingOffChecks() []check {
	return []check{
		{"a search that cannot be run is held on", failedIsHeld},
		{"what ends the failures of a search", failuresEnd},
		{"only what is held is put off", onlyHeldIsPutOff},
	}
}

// putOff puts a claimed search off by an hour, and returns how many times in a row that has happened.
func putOff(t tb, st store.Store, d store.DueSearch) (failures int) {
	t.Helper()
	lasts, err := st.Postpone(context.Background(), d, func(n int) time.Duration {
		failures = n
		return time.Hour
	})
	same(t, "it is put off for", time.Hour, must(t, lasts, err))
	return failures
}

func failedIsHeld(t *testing.T, st store.Store, c *clock) {
	a := mustAccount(t, st, "a@example.com", cola.TierFree)
	mustCreate(t, st, dueSearch(a.ID, 1, epoch))
	mustCreate(t, st, dueSearch(a.ID, 2, epoch))
	claimed := mustClaim(t, st, everyID, time.Minute)
	before := everything(t, st)
	same(t, "failures", 1, putOff(t, st, claimed[0]))
	same(t, "what else the store holds", before, everything(t, st))
	c.advance(time.Hour - time.Microsecond)
	same(t, "claimed meanwhile", []string{"search 2"}, names(mustClaim(t, st, everyID, anHour)))
	c.advance(time.Microsecond)
	again := mustClaimOne(t, st)
	same(t, "claimed then", "search 1", again.Search.Name)
	same(t, "failures the next time", 2, putOff(t, st, again))
	mustRecord(t, st, runOf(t, st, again, 1)) // it can be run after all, under the same claim
}

func failuresEnd(t *testing.T, st store.Store, c *clock) {
	a := mustAccount(t, st, "a@example.com", cola.TierFree)
	search := mustCreate(t, st, dueSearch(a.ID, 1, epoch))
	change := func(change func(*cola.SavedSearch)) {
		_, err := st.UpdateSavedSearch(t.Context(), a.ID, search.UUID, maxActive, func(s cola.SavedSearch) (cola.SavedSearch, error) {
			change(&s)
			return s, nil
		})
		mustDo(t, err)
	}
	for _, k := range []struct {
		what string
		end  func()
		want int // failures of the next time
	}{
		{"nothing", func() { c.advance(time.Hour) }, 3},
		{"being let go", func() {
			c.advance(time.Hour)
			mustDo(t, st.ReleaseDue(t.Context(), mustClaim(t, st, everyID, anHour)))
		}, 3},
		{"other filters", func() { change(func(s *cola.SavedSearch) { s.Filters.BrandName = "elm" }) }, 1},
		{"another schedule", func() {
			change(func(s *cola.SavedSearch) {
				plan := *s.Schedule
				plan.Cadence, plan.Day = cola.CadenceDaily, 0
				s.Schedule = &plan
			})
		}, 1},
		{"a run", func() {
			c.advance(time.Hour)
			run := runOf(t, st, mustClaimOne(t, st))
			run.Next = cola.TimestampOf(duePast)
			mustRecord(t, st, run)
		}, 1},
	} {
		for n := range 2 { // fails twice
			d := mustClaimOne(t, st)
			if got := putOff(t, st, d); got != n+1 {
				t.Errorf("before %s: failure %d, want %d", k.what, got, n+1)
			}
			if n == 0 {
				c.advance(time.Hour)
			}
		}
		k.end()
		same(t, "failures after "+k.what, k.want, putOff(t, st, mustClaimOne(t, st)))
		change(func(s *cola.SavedSearch) { s.Name += "." })
	}
}

func onlyHeldIsPutOff(t *testing.T, st store.Store, c *clock) {
	a := mustAccount(t, st, "a@example.com", cola.TierFree)
	search := mustCreate(t, st, dueSearch(a.ID, 1, epoch))
	refused := func(what string, d store.DueSearch) {
		t.Helper()
		_, err := st.Postpone(t.Context(), d, func(int) time.Duration { return week })
		if !errors.Is(err, store.ErrNotFound) {
			t.Errorf("%s: %v, want ErrNotFound", what, err)
		}
	}
	first := mustClaimOne(t, st)
	c.advance(anHour)
	second := mustClaimOne(t, st)
	refused("what another one holds", first)
	mustDo(t, st.ReleaseDue(t.Context(), []store.DueSearch{second}))
	refused("what was let go", second)
	third := mustClaimOne(t, st)
	mustRecord(t, st, runOf(t, st, third))
	refused("what was run", third)
	unknown := third
	unknown.Search.UUID = "x\x00"
	refused("what is not there", unknown)
	mustDo(t, st.DeleteSavedSearch(t.Context(), a.ID, search.UUID))
	refused("what was deleted", third)
}
