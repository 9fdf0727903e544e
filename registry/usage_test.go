package registry_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/registry"
)

// mustReport returns an account's usage report and checks its sums.
func (w *world) mustReport(t *testing.T, holder cola.Caller) registry.UsageReport {
	t.Helper()
	r, state, err := w.UsageReport(t.Context(), holder)
	if err != nil || state != r.State {
		t.Fatalf("UsageReport = %+v, %v", state, err)
	}
	checkSums(t, r)
	return r
}

// checkSums checks that the days, the rows, the rows' days and the month have equal totals.
func checkSums(t *testing.T, r registry.UsageReport) {
	t.Helper()
	var days, rows registry.Usage
	by := make([]registry.Usage, len(r.Rows))
	for _, d := range r.Days {
		days = sum(days, d.Total)
		var ofDay registry.Usage
		for i, u := range d.By {
			ofDay, by[i] = sum(ofDay, u), sum(by[i], u)
		}
		if ofDay != d.Total {
			t.Errorf("%s: rows add up to %+v, want %+v", d.Day, ofDay, d.Total)
		}
	}
	for i, row := range r.Rows {
		rows = sum(rows, row.Total)
		if by[i] != row.Total {
			t.Errorf("%s: days add up to %+v, want %+v", row.Name, by[i], row.Total)
		}
	}
	used := cola.Used{DetailViews: days.DetailViews, ListRecords: days.ListRecords}
	last := registry.MonthUsage{Period: r.State.Period, Used: used}
	if days != rows || r.State.Used != used || len(r.Months) != 12 || r.Months[11] != last {
		t.Errorf("days = %+v, rows = %+v, month = %+v, months = %+v", days, rows, r.State.Used, r.Months)
	}
}

func sum(a, b registry.Usage) registry.Usage {
	return registry.Usage{DetailViews: a.DetailViews + b.DetailViews, ListRecords: a.ListRecords + b.ListRecords, Requests: a.Requests + b.Requests}
}

// mustSpend searches for a number of labels and reads one.
func (w *world) mustSpend(t *testing.T, c cola.Caller, labels int) {
	t.Helper()
	found := w.newest(t, c, cola.SearchParams{PerPage: cola.Some(labels), ApprovalDateFrom: cola.NewDate(2005, 1, 1)})
	if len(found) != labels {
		t.Fatalf("%d labels, want %d", len(found), labels)
	}
	if _, _, err := w.Cola(t.Context(), c, found[0].TTBID.String(), ""); err != nil {
		t.Fatal(err)
	}
}

// TestUsageReport checks a report with keys, apps, browsers, all three channels, several days and
// an earlier month.
func TestUsageReport(t *testing.T) {
	w := mustWorld(t, 300)
	holder := w.mustHolder(t, "report@example.com", cola.TierPro)
	second := w.mustSignIn(t, holder.Account, "Chromium")
	busy, gone := w.mustCreateKey(t, holder, registry.KeyParams{Name: "busy"}), w.mustCreateKey(t, holder, registry.KeyParams{Name: "gone"})
	_, app := w.mustConnect(t, holder.Account, "Assistant")
	stranger := w.mustHolder(t, "stranger@example.com", cola.TierPro)
	w.mustSpend(t, stranger, 50)

	w.mustSpend(t, keyCaller(holder.Account, busy.ID), 40)
	w.clock.Store(time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC).UnixMicro())
	w.mustSpend(t, keyCaller(holder.Account, busy.ID), 10)
	w.mustSpend(t, keyCaller(holder.Account, gone.ID), 5)
	if _, err := w.RevokeKey(t.Context(), holder, gone.ID); err != nil {
		t.Fatal(err)
	}
	w.advance(36 * time.Hour)
	w.mustSpend(t, app, 3)
	w.mustSpend(t, holder, 2)
	w.mustSpend(t, second, 1)
	if _, err := w.Admit(t.Context(), keyCaller(holder.Account, busy.ID)); err != nil {
		t.Fatal(err)
	}
	w.advance(12 * time.Hour)

	r := w.mustReport(t, holder)
	browsers := cola.Credential{Kind: cola.CredentialSignIn}
	wantRows := []registry.UsageRow{
		{Channel: cola.ChannelDashboard, Credential: browsers, Total: registry.Usage{DetailViews: 2, ListRecords: 3, Requests: 4}},
		{Channel: cola.ChannelREST, Credential: cola.Credential{Kind: cola.CredentialKey, ID: busy.ID}, Name: "busy", Total: registry.Usage{DetailViews: 1, ListRecords: 10, Requests: 3}},
		{Channel: cola.ChannelMCP, Credential: app.Credential, Name: "Assistant", Total: registry.Usage{DetailViews: 1, ListRecords: 3, Requests: 2}},
		{Channel: cola.ChannelREST, Credential: cola.Credential{Kind: cola.CredentialKey, ID: gone.ID}, Name: "gone", Total: registry.Usage{DetailViews: 1, ListRecords: 5, Requests: 2}},
	}
	if diff := cmp.Diff(wantRows, r.Rows); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
	var totals []string
	for _, d := range r.Days {
		totals = append(totals, fmt.Sprint(d.Day, d.Total))
	}
	if diff := cmp.Diff([]string{"2026-12-01 {2 15 4}", "2026-12-02 {3 6 7}", "2026-12-03 {0 0 0}"}, totals); diff != "" {
		t.Errorf("days (-want +got):\n%s", diff)
	}
	if before := r.Months[10]; before.Period.String() != "2026-11" || before.Used != (cola.Used{DetailViews: 1, ListRecords: 40}) {
		t.Errorf("previous month = %+v", before)
	}
	if first := r.Months[0]; first.Period.String() != "2026-01" || first.Used != (cola.Used{}) {
		t.Errorf("first month = %+v", first)
	}
	if want := (cola.Used{DetailViews: 78, ListRecords: 326}); r.Projected != want || !r.Now.Equal(w.now()) { // 31/2 times 5 and 21
		t.Errorf("projected = %+v at %v, want %+v", r.Projected, r.Now, want)
	}
}

// TestUsageOfNewAccount checks that a new account's report lists days and months with zero usage.
func TestUsageOfNewAccount(t *testing.T) {
	w := mustWorld(t, 0)
	r := w.mustReport(t, w.mustHolder(t, "nothing@example.com", cola.TierFree))
	if len(r.Days) != 20 || r.Days[0].Day.String() != "2026-11-01" || len(r.Rows) != 0 || len(r.Refusals) != 0 || r.Projected != (cola.Used{}) {
		t.Errorf("report = %+v, want no usage in 20 days", r)
	}
}

// TestManyRows checks that the busiest credentials have their own rows, the rest are combined, and
// no usage is missing.
func TestManyRows(t *testing.T) {
	for keys, others := range map[int]int{11: 0, 12: 0, 13: 2, 20: 9} {
		w := mustWorld(t, 0)
		holder := w.mustHolder(t, "many@example.com", cola.TierPro)
		for n := range keys {
			c := keyCaller(holder.Account, w.mustCreateKey(t, holder, registry.KeyParams{Name: fmt.Sprint(n)}).ID)
			for range 1 + n/5 {
				if _, err := w.Admit(t.Context(), c); err != nil {
					t.Fatal(err)
				}
			}
		}
		r := w.mustReport(t, holder)
		last := r.Rows[len(r.Rows)-1]
		if len(r.Rows) != min(keys, 12) || !slices.IsSortedFunc(r.Rows[:11], func(a, b registry.UsageRow) int { return b.Total.Requests - a.Total.Requests }) {
			t.Errorf("%d keys: rows = %+v", keys, r.Rows)
		}
		if (last.Name == "others") != (others > 0) || others > 0 && (last.Credential != cola.Credential{} || last.Channel != cola.ChannelREST || last.Total.Requests < others) {
			t.Errorf("%d keys: last row = %+v", keys, last)
		}
	}
}

// TestManyRowsByChannel checks that usage per channel is exact for any number of keys and apps.
func TestManyRowsByChannel(t *testing.T) {
	for _, test := range []struct {
		keys, apps    int
		rows, unnamed int
	}{
		{keys: 12, apps: 0, rows: 12, unnamed: 0},
		{keys: 12, apps: 1, rows: 12, unnamed: 1}, // the only app has its own row
		{keys: 30, apps: 4, rows: 12, unnamed: 2},
		{keys: 2, apps: 28, rows: 12, unnamed: 1},
	} {
		w := mustWorld(t, 0)
		holder := w.mustHolder(t, "channels@example.com", cola.TierPro)
		var callers []cola.Caller
		for n := range test.keys {
			c := keyCaller(holder.Account, w.mustCreateKey(t, holder, registry.KeyParams{Name: fmt.Sprint(n)}).ID)
			callers = append(callers, c, c) // two requests per key
		}
		for n := range test.apps {
			_, app := w.mustConnect(t, holder.Account, fmt.Sprint("app ", n))
			callers = append(callers, app)
		}
		for _, c := range callers {
			if _, err := w.Admit(t.Context(), c); err != nil {
				t.Fatal(err)
			}
		}
		r := w.mustReport(t, holder)
		unnamed, by := 0, map[cola.Channel]int{}
		for _, row := range r.Rows {
			by[row.Channel] += row.Total.Requests
			if row.Credential == (cola.Credential{}) {
				unnamed++
			}
		}
		if by[cola.ChannelREST] != 2*test.keys || by[cola.ChannelMCP] != test.apps || len(r.Rows) != test.rows || unnamed != test.unnamed {
			t.Errorf("%d keys, %d apps: %v in %d rows, %d unnamed", test.keys, test.apps, by, len(r.Rows), unnamed)
		}
	}
}

// TestUsageReportWhileSpending checks that the figures of a report come from one read, even while
// usage grows.
func TestUsageReportWhileSpending(t *testing.T) {
	w := mustWorld(t, 100)
	holder := w.mustHolder(t, "meanwhile@example.com", cola.TierPro)
	c := keyCaller(holder.Account, w.mustCreateKey(t, holder, registry.KeyParams{Name: "busy"}).ID)
	ctx, cancel := context.WithCancel(t.Context())
	var all sync.WaitGroup
	for range 2 {
		all.Go(func() {
			for ctx.Err() == nil {
				w.SearchColas(ctx, c, cola.SearchParams{PerPage: cola.Some(1)})
				w.advance(time.Second)
			}
		})
	}
	for range 40 {
		w.mustReport(t, holder)
	}
	cancel()
	all.Wait()
	if r := w.mustReport(t, holder); r.State.Used.ListRecords == 0 {
		t.Error("no usage recorded during the report")
	}
}
