package storetest

import (
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

func testUsage(t *testing.T, open Opener) {
	runChecks(t, open, []check{
		{"daily usage in order", dailyUsage},
		{"monthly usage in order", monthlyUsage},
		{"days add up to the month", daysMatchMonth},
	})
}

func dailyUsage(t *testing.T, st store.Store, c *clock) {
	a, b := mustAccount(t, st, "a@example.com", cola.TierFree), mustAccount(t, st, "b@example.com", cola.TierFree)
	units := func(ch cola.Channel, key int64, m cola.Meter, n, requests int) store.Units {
		return store.Units{Channel: ch, Credential: keyCredential(key), Meter: m, Units: n, Requests: requests}
	}
	day := cola.DateOf(c.now())
	settle(t, st, b.ID, charge(b.ID, 1, units(cola.ChannelREST, 9, cola.MeterListRecords, 100, 1)))
	settle(t, st, a.ID, charge(a.ID, 9,
		units(cola.ChannelREST, 2, cola.MeterListRecords, 20, 2),
		units(cola.ChannelREST, 1, cola.MeterListRecords, 1, 1),
		units(cola.ChannelMCP, 2, cola.MeterDetailViews, 1, 1), units(cola.ChannelREST, 2, cola.MeterNone, 0, 3),
		units(cola.ChannelREST, 2, cola.MeterListRecords, 5, 1),
		units(cola.ChannelREST, 2, cola.MeterDetailViews, 0, 1),
		units(cola.ChannelDashboard, 3, cola.MeterListRecords, 0, 0)))
	c.advance(24 * time.Hour)
	settle(t, st, a.ID, charge(a.ID, 1, units(cola.ChannelREST, 1, cola.MeterListRecords, 4, 1)))
	want := []store.DayUsage{
		{Day: day, Channel: "mcp", Credential: keyCredential(2), Meter: cola.MeterDetailViews, Units: 1, Requests: 1},
		{Day: day, Channel: "rest", Credential: keyCredential(1), Meter: cola.MeterListRecords, Units: 1, Requests: 1},
		{Day: day, Channel: "rest", Credential: keyCredential(2), Meter: cola.MeterNone, Requests: 3},
		{Day: day, Channel: "rest", Credential: keyCredential(2), Meter: cola.MeterDetailViews, Requests: 1},
		{Day: day, Channel: "rest", Credential: keyCredential(2), Meter: cola.MeterListRecords, Units: 25, Requests: 3},
		{
			Day:        day + 1,
			Channel:    "rest",
			Credential: keyCredential(1),
			Meter:      cola.MeterListRecords,
			Units:      4,
			Requests:   1,
		},
	}
	for _, span := range []struct {
		first, last cola.Date
		want        []store.DayUsage
	}{
		{day, day + 1, want}, {day - 30, day + 30, want}, {day, day, want[:5]}, {day + 1, day + 1, want[5:]},
		{day + 2, day + 9, nil}, {day + 1, day, nil},
	} {
		got, err := st.DailyUsage(t.Context(), a.ID, span.first, span.last)
		if diff := cmp.Diff(span.want, slices.Clip(must(t, got, err))); diff != "" {
			t.Errorf("DailyUsage(%v, %v) (-want +got):\n%s", span.first, span.last, diff)
		}
	}
}

func monthlyUsage(t *testing.T, st store.Store, c *clock) {
	a, b := mustAccount(t, st, "a@example.com", cola.TierFree), mustAccount(t, st, "b@example.com", cola.TierFree)
	first := cola.PeriodOf(c.now())
	settle(t, st, b.ID, charge(b.ID, 1, rest(1, cola.MeterListRecords, 100)))
	var want []store.MonthUsage
	for n, used := range []cola.Used{{DetailViews: 1}, {}, {ListRecords: 20}, {DetailViews: 3, ListRecords: 1}} {
		period := first + cola.Period(n) // across a year boundary
		c.set(period.End().Add(-time.Microsecond))
		settle(t, st, a.ID, charge(a.ID, 1, rest(1, cola.MeterDetailViews, used.DetailViews),
			rest(1, cola.MeterListRecords, used.ListRecords), rest(1, cola.MeterNone, 0)))
		if used != (cola.Used{}) {
			want = append(want, store.MonthUsage{Account: a.ID, Period: period, Used: used})
		}
	}
	for _, span := range []struct {
		first, last cola.Period
		want        []store.MonthUsage
	}{
		{first, first + 3, want}, {first - 30, first + 30, want}, {first, first, want[:1]},
		{first + 1, first + 2, want[1:2]},
		{first + 1, first + 1, nil}, {first + 3, first, nil}, {first + 4, first + 9, nil},
	} {
		got, err := st.MonthlyUsage(t.Context(), a.ID, span.first, span.last)
		if diff := cmp.Diff(span.want, slices.Clip(must(t, got, err))); diff != "" {
			t.Errorf("MonthlyUsage(%v, %v) (-want +got):\n%s", span.first, span.last, diff)
		}
	}
	voided := store.Entry{Account: b.ID, Units: []store.Units{rest(1, cola.MeterDetailViews, 5)}}
	id := NewBatchID()
	mustDo(t, st.Settle(t.Context(), store.Batch{ID: id, Accounts: []cola.AccountID{b.ID}},
		func(time.Time, []store.AccountState) []store.Entry { return []store.Entry{voided} }))
	mustDo(t, st.Void(t.Context(), id, []store.Entry{voided}))
	got, err := st.MonthlyUsage(t.Context(), b.ID, first, first+9)
	checkEqual(t, "MonthlyUsage after Void",
		[]store.MonthUsage{{Account: b.ID, Period: first, Used: cola.Used{ListRecords: 100}}}, must(t, got, err))
	got, err = st.MonthlyUsage(t.Context(), b.ID+100, first, first+9)
	checkEqual(t, "MonthlyUsage of an unknown account", 0, len(must(t, got, err)))
}

// daysMatchMonth makes random charges across a month boundary and checks that monthly and daily
// usage both match the charges.
func daysMatchMonth(t *testing.T, st store.Store, c *clock) {
	start := c.now()
	n := 0
	rapid.Check(t, func(rt *rapid.T) {
		n++ // each run has its own account
		c.set(start)
		account, err := st.CreateAccount(t.Context(), time.Duration(n).String()+"@example.com", cola.TierFree)
		if err != nil {
			rt.Fatal(err)
		}
		want := map[cola.Period]cola.Used{}
		for range rapid.IntRange(1, 6).Draw(rt, "batches") {
			c.advance(time.Duration(rapid.IntRange(0, 96).Draw(rt, "hours")) * time.Hour)
			entry := charge(account.ID, 1)
			for range rapid.IntRange(0, 3).Draw(rt, "count") {
				u := unitsGenerator().Draw(rt, "units")
				entry.Units = append(entry.Units, u)
				used := want[cola.PeriodOf(c.now())]
				switch u.Meter {
				case cola.MeterDetailViews:
					used.DetailViews += u.Units
				case cola.MeterListRecords:
					used.ListRecords += u.Units
				}
				want[cola.PeriodOf(c.now())] = used
			}
			settle(rt, st, account.ID, entry)
			now := cola.PeriodOf(c.now())
			if got := mustUsage(rt, st, account.ID).Used; got != want[now] {
				rt.Fatalf("usage in %v = %+v, want %+v", now, got, want[now])
			}
		}
		for period, used := range want {
			if got := sumOfDays(rt, st, account.ID, period); got != used {
				rt.Fatalf("sum of daily usage in %v = %+v, want %+v", period, got, used)
			}
		}
	})
}

func unitsGenerator() *rapid.Generator[store.Units] {
	return rapid.Custom(func(t *rapid.T) store.Units {
		u := store.Units{
			Channel: rapid.SampledFrom([]cola.Channel{
				cola.ChannelREST, cola.ChannelMCP,
				cola.ChannelDashboard,
			}).Draw(t, "channel"),
			Credential: keyCredential(rapid.Int64Range(1, 2).Draw(t, "key")),
			Meter: rapid.SampledFrom([]cola.Meter{
				cola.MeterNone, cola.MeterDetailViews,
				cola.MeterListRecords,
			}).Draw(t, "meter"),
			Requests: rapid.IntRange(0, 3).Draw(t, "requests"),
		}
		if u.Meter != cola.MeterNone {
			u.Units = rapid.IntRange(0, 100).Draw(t, "units")
		}
		return u
	})
}

func sumOfDays(t tb, st store.Store, account cola.AccountID, p cola.Period) (sum cola.Used) {
	days, err := st.DailyUsage(context.Background(), account, cola.DateOf(p.Start()), cola.DateOf(p.End())-1)
	for _, d := range must(t, days, err) {
		switch d.Meter {
		case cola.MeterDetailViews:
			sum.DetailViews += d.Units
		case cola.MeterListRecords:
			sum.ListRecords += d.Units
		}
	}
	return sum
}

func testBurstWindow(t *testing.T, open Opener) {
	runChecks(t, open, []check{
		{"grants count for 60 seconds", grantsExpire},
		{"grants at the same time are merged", func(t *testing.T, st store.Store, c *clock) {
			a := mustAccount(t, st, "a@example.com", cola.TierFree)
			for range 3 {
				settle(t, st, a.ID, charge(a.ID, 2))
			}
			checkEqual(t, "grants", []store.Grant{{At: c.now(), Requests: 6}}, mustUsage(t, st, a.ID).Grants)
		}},
		{"charges outside the window", chargesOutsideWindow},
		{"keys and links share the window", func(t *testing.T, st store.Store, c *clock) {
			a := mustAccount(t, st, "a@example.com", cola.TierFree)
			k, l := mustKeyAndLink(t, st, a.ID)
			settle(t, st, a.ID, charge(a.ID, 3, restBy(k, cola.MeterNone, 0), restBy(l, cola.MeterNone, 0),
				restBy(l, cola.MeterListRecords, 1)))
			first := c.now()
			c.advance(time.Second)
			settle(t, st, a.ID, charge(a.ID, 1, restBy(l, cola.MeterNone, 0)))
			checkEqual(t, "grants", []store.Grant{{At: first, Requests: 3}, {At: c.now(), Requests: 1}},
				mustUsage(t, st, a.ID).Grants)
		}},
		{"clock set back", clockSetBack},
		{"burst limit in every window", burstLimit},
	})
}

// chargesOutsideWindow checks that an entry that charges without requests, such as one for dashboard
// pages, is charged and voided in full, and neither adds an empty grant nor changes the window.
func chargesOutsideWindow(t *testing.T, st store.Store, c *clock) {
	a := mustAccount(t, st, "a@example.com", cola.TierFree)
	signIn := mustSignIn(t, st, a.ID).ID
	page := func(records int) store.Entry {
		u := restBy(signInCredential(signIn), cola.MeterListRecords, records)
		u.Channel = cola.ChannelDashboard
		return charge(a.ID, 0, u)
	}
	check := func(when string, records, requests int, grants ...store.Grant) {
		t.Helper()
		got := mustUsage(t, st, a.ID)
		checkEqual(t, "usage "+when, cola.Used{ListRecords: records}, got.Used)
		checkEqual(t, "grants "+when, grants, got.Grants)
		checkEqual(t, "grants in the account state "+when, grants, settle(t, st, a.ID)[0].Grants)
		day := cola.DateOf(c.now())
		days, err := st.DailyUsage(t.Context(), a.ID, day, day)
		total := 0
		for _, d := range must(t, days, err) {
			if d.Channel == cola.ChannelDashboard {
				total += d.Requests
			}
		}
		checkEqual(t, "dashboard requests in the daily usage "+when, requests, total)
	}
	settle(t, st, a.ID, page(3))
	check("without a window", 3, 1)
	first := store.Grant{At: c.now(), Requests: 2}
	settle(t, st, a.ID, charge(a.ID, 2))
	c.advance(time.Second)
	batch := store.Batch{ID: NewBatchID(), Accounts: []cola.AccountID{a.ID}}
	entries := []store.Entry{page(4)}
	mustDo(t, st.Settle(t.Context(), batch, func(time.Time, []store.AccountState) []store.Entry { return entries }))
	check("with a window", 7, 2, first)
	mustDo(t, st.Void(t.Context(), batch.ID, entries))
	check("after Void", 3, 1, first)
	c.advance(time.Minute)
	settle(t, st, a.ID, page(5))
	check("with an expired window", 8, 2)
	second := store.Grant{At: c.now(), Requests: 1}
	settle(t, st, a.ID, charge(a.ID, 1), page(6))
	check("in one batch with a request", 14, 3, second)
}

func grantsExpire(t *testing.T, st store.Store, c *clock) {
	a, b := mustAccount(t, st, "a@example.com", cola.TierFree), mustAccount(t, st, "b@example.com", cola.TierFree)
	settle(t, st, a.ID, charge(a.ID, 1))
	first := c.now()
	c.advance(20 * time.Second)
	settle(t, st, b.ID, charge(b.ID, 5))
	settle(t, st, a.ID, charge(a.ID, 2))
	second := c.now()
	for _, k := range []struct {
		now  time.Time
		want []store.Grant
	}{
		{first.Add(time.Minute - time.Microsecond), []store.Grant{{At: first, Requests: 1}, {At: second, Requests: 2}}},
		{first.Add(time.Minute), []store.Grant{{At: second, Requests: 2}}},
		{second.Add(time.Minute - time.Microsecond), []store.Grant{{At: second, Requests: 2}}},
		{second.Add(time.Minute), nil},
	} {
		c.set(k.now)
		checkEqual(t, "grants in AccountUsage", k.want, mustUsage(t, st, a.ID).Grants)
		checkEqual(t, "grants in the account state", k.want, settle(t, st, a.ID)[0].Grants)
	}
}

// clockSetBack checks that grants ahead of the clock count as granted now, for another 60 seconds.
func clockSetBack(t *testing.T, st store.Store, c *clock) {
	a := mustAccount(t, st, "a@example.com", cola.TierFree)
	early := c.now()
	settle(t, st, a.ID, charge(a.ID, 1))
	c.advance(2 * time.Hour)
	settle(t, st, a.ID, charge(a.ID, 2))
	c.advance(time.Second)
	settle(t, st, a.ID, charge(a.ID, 3))

	resetTo := early.Add(10 * time.Second)
	c.set(resetTo)
	want := []store.Grant{{At: resetTo, Requests: 5}}
	checkEqual(t, "grants in AccountUsage", want, mustUsage(t, st, a.ID).Grants)
	checkEqual(t, "grants in the account state", want, settle(t, st, a.ID)[0].Grants) // charges nothing
	c.set(resetTo.Add(time.Minute - time.Microsecond))
	checkEqual(t, "grants within the minute", want, settle(t, st, a.ID, charge(a.ID, 1))[0].Grants)
	c.set(resetTo.Add(time.Minute))
	checkEqual(t, "grants after the minute", []store.Grant{{At: resetTo.Add(time.Minute - time.Microsecond), Requests: 1}},
		settle(t, st, a.ID)[0].Grants)
}

// burstLimit sends requests from many workers while the clock advances unevenly, and checks every
// 60-second window.
func burstLimit(t *testing.T, st store.Store, c *clock) {
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
			t.Fatalf("%d requests granted in the 60 seconds from %v, want at most %d", sum, first.At, limit)
		}
		total += first.Requests
	}
	if total <= limit {
		t.Errorf("%d requests granted in all, want more than %d", total, limit)
	}
}
