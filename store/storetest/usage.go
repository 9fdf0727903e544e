package storetest

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

func testUsage(t *testing.T, open Opener) {
	runChecks(t, open, []check{
		{"days are told by channel, credential and meter, in order", daysInOrder},
		{"months are told in order", monthsInOrder},
		{"the days of a month sum up to it", daysSumUp},
	})
}

func daysInOrder(t *testing.T, st store.Store, c *clock) {
	a, b := mustAccount(t, st, "a@example.com", cola.TierFree), mustAccount(t, st, "b@example.com", cola.TierFree)
	units := func(ch cola.Channel, key int64, m cola.Meter, n, requests int) store.Units {
		return store.Units{Channel: ch, Credential: keyCredential(key), Meter: m, Units: n, Requests: requests}
	}
	day := cola.DateOf(c.now())
	settle(t, st, b.ID, charge(b.ID, 1, units(cola.ChannelREST, 9, cola.MeterListRecords, 100, 1)))
	settle(t, st, a.ID, charge(a.ID, 9,
		units(cola.ChannelREST, 2, cola.MeterListRecords, 20, 2), units(cola.ChannelREST, 1, cola.MeterListRecords, 1, 1),
		units(cola.ChannelMCP, 2, cola.MeterDetailViews, 1, 1), units(cola.ChannelREST, 2, cola.MeterNone, 0, 3),
		units(cola.ChannelREST, 2, cola.MeterListRecords, 5, 1), units(cola.ChannelREST, 2, cola.MeterDetailViews, 0, 1),
		units(cola.ChannelDashboard, 3, cola.MeterListRecords, 0, 0)))
	c.advance(24 * time.Hour)
	settle(t, st, a.ID, charge(a.ID, 1, units(cola.ChannelREST, 1, cola.MeterListRecords, 4, 1)))
	want := []store.DayUsage{
		{Day: day, Channel: "mcp", Credential: keyCredential(2), Meter: cola.MeterDetailViews, Units: 1, Requests: 1},
		{Day: day, Channel: "rest", Credential: keyCredential(1), Meter: cola.MeterListRecords, Units: 1, Requests: 1},
		{Day: day, Channel: "rest", Credential: keyCredential(2), Meter: cola.MeterNone, Requests: 3},
		{Day: day, Channel: "rest", Credential: keyCredential(2), Meter: cola.MeterDetailViews, Requests: 1},
		{Day: day, Channel: "rest", Credential: keyCredential(2), Meter: cola.MeterListRecords, Units: 25, Requests: 3},
		{Day: day + 1, Channel: "rest", Credential: keyCredential(1), Meter: cola.MeterListRecords, Units: 4, Requests: 1},
	}
	for _, span := range []struct {
		first, last cola.Date
		want        []store.DayUsage
	}{
		{day, day + 1, want}, {day - 30, day + 30, want}, {day, day, want[:5]}, {day + 1, day + 1, want[5:]}, {day + 2, day + 9, nil}, {day + 1, day, nil},
	} {
		got, err := st.DailyUsage(t.Context(), a.ID, span.first, span.last)
		if diff := cmp.Diff(span.want, slices.Clip(must(t, got, err))); diff != "" {
			t.Errorf("days %v to %v (-want +got):\n%s", span.first, span.last, diff)
		}
	}
}

func monthsInOrder(t *testing.T, st store.Store, c *clock) {
	a, b := mustAccount(t, st, "a@example.com", cola.TierFree), mustAccount(t, st, "b@example.com", cola.TierFree)
	first := cola.PeriodOf(c.now())
	settle(t, st, b.ID, charge(b.ID, 1, rest(1, cola.MeterListRecords, 100)))
	var want []store.MonthUsage
	for n, used := range []cola.Used{{DetailViews: 1}, {}, {ListRecords: 20}, {DetailViews: 3, ListRecords: 1}} {
		period := first + cola.Period(n) // over the turn of a year
		c.set(period.End().Add(-time.Microsecond))
		settle(t, st, a.ID, charge(a.ID, 1, rest(1, cola.MeterDetailViews, used.DetailViews), rest(1, cola.MeterListRecords, used.ListRecords), rest(1, cola.MeterNone, 0)))
		if used != (cola.Used{}) {
			want = append(want, store.MonthUsage{Account: a.ID, Period: period, Used: used})
		}
	}
	for _, span := range []struct {
		first, last cola.Period
		want        []store.MonthUsage
	}{
		{first, first + 3, want}, {first - 30, first + 30, want}, {first, first, want[:1]}, {first + 1, first + 2, want[1:2]},
		{first + 1, first + 1, nil}, {first + 3, first, nil}, {first + 4, first + 9, nil},
	} {
		got, err := st.MonthlyUsage(t.Context(), a.ID, span.first, span.last)
		if diff := cmp.Diff(span.want, slices.Clip(must(t, got, err))); diff != "" {
			t.Errorf("months %v to %v (-want +got):\n%s", span.first, span.last, diff)
		}
	}
	voided := store.Entry{Account: b.ID, Units: []store.Units{rest(1, cola.MeterDetailViews, 5)}}
	id := NewBatchID()
	mustDo(t, st.Settle(t.Context(), store.Batch{ID: id, Accounts: []cola.AccountID{b.ID}}, func(time.Time, []store.AccountState) []store.Entry { return []store.Entry{voided} }))
	mustDo(t, st.Void(t.Context(), id, []store.Entry{voided}))
	got, err := st.MonthlyUsage(t.Context(), b.ID, first, first+9)
	same(t, "with what was taken back", []store.MonthUsage{{Account: b.ID, Period: first, Used: cola.Used{ListRecords: 100}}}, must(t, got, err))
	got, err = st.MonthlyUsage(t.Context(), b.ID+100, first, first+9)
	same(t, "of nobody", 0, len(must(t, got, err)))
}

// daysSumUp charges at random over the turn of a month and holds the books of months and days to each other and to a sum.
func daysSumUp(t *testing.T, st store.Store, c *clock) {
	start := c.now()
	n := 0
	rapid.Check(t, func(rt *rapid.T) {
		n++ // an account of its own for every run
		c.set(start)
		account, err := st.CreateAccount(t.Context(), time.Duration(n).String()+"@example.com", cola.TierFree)
		if err != nil {
			rt.Fatal(err)
		}
		want := map[cola.Period]cola.Used{}
		for range rapid.IntRange(1, 6).Draw(rt, "batches") {
			c.advance(time.Duration(rapid.IntRange(0, 96).Draw(rt, "hours")) * time.Hour)
			entry := charge(account.ID, 1)
			for range rapid.IntRange(0, 3).Draw(rt, "units") {
				u := unitsGenerator().Draw(rt, "of")
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
				rt.Fatalf("used in %v: %+v, want %+v", now, got, want[now])
			}
		}
		for period, used := range want {
			if got := sumOfDays(rt, st, account.ID, period); got != used {
				rt.Fatalf("sum of the days of %v: %+v, want %+v", period, got, used)
			}
		}
	})
}

func unitsGenerator() *rapid.Generator[store.Units] {
	return rapid.Custom(func(t *rapid.T) store.Units {
		u := store.Units{
			Channel:    rapid.SampledFrom([]cola.Channel{cola.ChannelREST, cola.ChannelMCP, cola.ChannelDashboard}).Draw(t, "channel"),
			Credential: keyCredential(rapid.Int64Range(1, 2).Draw(t, "key")),
			Meter:      rapid.SampledFrom([]cola.Meter{cola.MeterNone, cola.MeterDetailViews, cola.MeterListRecords}).Draw(t, "meter"),
			Requests:   rapid.IntRange(0, 3).Draw(t, "requests"),
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
