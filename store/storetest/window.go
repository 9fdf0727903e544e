package storetest

import (
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

func testWindow(t *testing.T, open Opener) {
	runChecks(t, open, []check{
		{"grants count for 60 seconds", grantsCountForAMinute},
		{"grants of one instant are one", func(t *testing.T, st store.Store, c *clock) {
			a := mustAccount(t, st, "a@example.com", cola.TierFree)
			for range 3 {
				settle(t, st, a.ID, charge(a.ID, 2))
			}
			same(t, "grants", []store.Grant{{At: c.now(), Requests: 6}}, mustUsage(t, st, a.ID).Grants)
		}},
		{"an entry without requests grants nothing", func(t *testing.T, st store.Store, _ *clock) {
			a := mustAccount(t, st, "a@example.com", cola.TierFree)
			settle(t, st, a.ID, charge(a.ID, 0, rest(1, cola.MeterListRecords, 3)))
			if got := mustUsage(t, st, a.ID).Grants; len(got) != 0 {
				t.Errorf("grants %v, want none", got)
			}
		}},
		{"requests by keys and links are in one window", func(t *testing.T, st store.Store, c *clock) {
			a := mustAccount(t, st, "a@example.com", cola.TierFree)
			k, l := mustKeyAndLink(t, st, a.ID)
			settle(t, st, a.ID, charge(a.ID, 3, restBy(k, cola.MeterNone, 0), restBy(l, cola.MeterNone, 0), restBy(l, cola.MeterListRecords, 1)))
			first := c.now()
			c.advance(time.Second)
			settle(t, st, a.ID, charge(a.ID, 1, restBy(l, cola.MeterNone, 0)))
			same(t, "grants", []store.Grant{{At: first, Requests: 3}, {At: c.now(), Requests: 1}}, mustUsage(t, st, a.ID).Grants)
		}},
		{"a clock set back lets nobody through twice, nor locks anyone out", clockSetBack},
		{"no 60 seconds hold more than the limit", neverMoreInAMinute},
	})
}

func grantsCountForAMinute(t *testing.T, st store.Store, c *clock) {
	a, b := mustAccount(t, st, "a@example.com", cola.TierFree), mustAccount(t, st, "b@example.com", cola.TierFree)
	settle(t, st, a.ID, charge(a.ID, 1))
	first := c.now()
	c.advance(20 * time.Second)
	settle(t, st, b.ID, charge(b.ID, 5))
	settle(t, st, a.ID, charge(a.ID, 2))
	second := c.now()
	for _, at := range []struct {
		now  time.Time
		want []store.Grant
	}{
		{first.Add(time.Minute - time.Microsecond), []store.Grant{{At: first, Requests: 1}, {At: second, Requests: 2}}},
		{first.Add(time.Minute), []store.Grant{{At: second, Requests: 2}}},
		{second.Add(time.Minute - time.Microsecond), []store.Grant{{At: second, Requests: 2}}},
		{second.Add(time.Minute), nil},
	} {
		c.set(at.now)
		same(t, "grants as usage tells", at.want, mustUsage(t, st, a.ID).Grants)
		same(t, "grants as a batch sees them", at.want, settle(t, st, a.ID)[0].Grants)
	}
}

// clockSetBack: grants ahead of the clock count as of now, for 60 seconds more.
func clockSetBack(t *testing.T, st store.Store, c *clock) {
	a := mustAccount(t, st, "a@example.com", cola.TierFree)
	early := c.now()
	settle(t, st, a.ID, charge(a.ID, 1))
	c.advance(2 * time.Hour)
	settle(t, st, a.ID, charge(a.ID, 2))
	c.advance(time.Second)
	settle(t, st, a.ID, charge(a.ID, 3))

	back := early.Add(10 * time.Second)
	c.set(back)
	want := []store.Grant{{At: back, Requests: 5}}
	same(t, "grants as usage tells", want, mustUsage(t, st, a.ID).Grants)
	same(t, "grants as a batch sees them", want, settle(t, st, a.ID)[0].Grants) // and it charges nothing
	c.set(back.Add(time.Minute - time.Microsecond))
	same(t, "grants within the minute", want, settle(t, st, a.ID, charge(a.ID, 1))[0].Grants)
	c.set(back.Add(time.Minute))
	same(t, "grants after it", []store.Grant{{At: back.Add(time.Minute - time.Microsecond), Requests: 1}}, settle(t, st, a.ID)[0].Grants)
}

// neverMoreInAMinute has many ask at once, while the clock goes on in uneven steps, and looks at every span of 60 seconds.
func neverMoreInAMinute(t *testing.T, st store.Store, c *clock) {
	const limit, workers, rounds = 10, 8, 40
	a := mustAccount(t, st, "a@example.com", cola.TierFree)
	var mu sync.Mutex
	var granted []store.Grant
	var wg sync.WaitGroup
	for w := range workers {
		random := rand.New(rand.NewPCG(uint64(w), 1))
		wg.Go(func() {
			for range rounds {
				mu.Lock()
				c.advance(time.Duration(random.IntN(3_000_000)) * time.Microsecond)
				mu.Unlock()
				var g store.Grant
				err := st.Settle(t.Context(), store.Batch{ID: NewBatchID(), Accounts: []cola.AccountID{a.ID}},
					func(now time.Time, states []store.AccountState) []store.Entry {
						left := limit
						for _, g := range states[0].Grants {
							left -= g.Requests
						}
						g = store.Grant{At: now, Requests: min(max(left, 0), 1+random.IntN(3))}
						return []store.Entry{charge(a.ID, g.Requests)}
					})
				if err != nil {
					t.Errorf("settle: %v", err)
					return
				}
				mu.Lock()
				granted = append(granted, g)
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	total := 0
	for _, first := range granted {
		sum := 0
		for _, g := range granted {
			if d := g.At.Sub(first.At); d >= 0 && d < time.Minute {
				sum += g.Requests
			}
		}
		if sum > limit {
			t.Fatalf("%d requests were let through in the 60 seconds from %v, want at most %d", sum, first.At, limit)
		}
		total += first.Requests
	}
	if total <= limit {
		t.Errorf("only %d requests were let through in all, so the window never moved on", total)
	}
}
