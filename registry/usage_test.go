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
func (w *world) mustReport(t *testing.T, holder cola.Caller, span registry.UsageSpan) registry.UsageReport {
	t.Helper()
	r, state, err := w.UsageReport(t.Context(), holder, span)
	if err != nil || state != r.State {
		t.Fatalf("UsageReport = %+v, %v", state, err)
	}
	checkSums(t, r)
	return r
}

// checkSums checks that the steps and the rows have equal totals, and so do the days and the state.
func checkSums(t *testing.T, r registry.UsageReport) {
	t.Helper()
	var days, steps, rows registry.Usage
	by := make([]registry.Usage, len(r.Rows))
	for _, d := range r.Steps {
		steps = steps.Plus(d.Total)
		var stepTotal registry.Usage
		for i, u := range d.By {
			stepTotal, by[i] = stepTotal.Plus(u), by[i].Plus(u)
		}
		if stepTotal != d.Total {
			t.Errorf("%s: rows add up to %+v, want %+v", d.First, stepTotal, d.Total)
		}
	}
	for i, row := range r.Rows {
		rows = rows.Plus(row.Total)
		if by[i] != row.Total {
			t.Errorf("%s: steps add up to %+v, want %+v", row.Name, by[i], row.Total)
		}
	}
	for _, d := range r.Days {
		days = days.Plus(d)
	}
	used := cola.Used{DetailViews: days.DetailViews, ListRecords: days.ListRecords}
	if steps != rows || r.State.Used != used {
		t.Errorf("steps = %+v, rows = %+v, days = %+v, month = %+v", steps, rows, days, r.State.Used)
	}
}

// mustSpend searches for the given number of labels and reads one.
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

	r := w.mustReport(t, holder, registry.Last7Days)
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
	if diff := cmp.Diff([]registry.Usage{{DetailViews: 2, ListRecords: 15, Requests: 4}, {DetailViews: 3, ListRecords: 6, Requests: 7}, {}}, r.Days); diff != "" {
		t.Errorf("days (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"2026-12-01 {2 15 4}", "2026-12-02 {3 6 7}"}, usedSteps(r)); diff != "" {
		t.Errorf("steps (-want +got):\n%s", diff)
	}
	if r.Since.String() != "2026-12-01" {
		t.Errorf("projection starts on %s, want the first of the month because of use in November", r.Since)
	}
	november := "2026-11-20 {1 40 2}"
	for span, want := range map[registry.UsageSpan][]string{
		registry.Last30Days:   {november, "2026-12-01 {2 15 4}", "2026-12-02 {3 6 7}"},
		registry.Last90Days:   {november, "2026-12-01 {2 15 4}", "2026-12-02 {3 6 7}"},
		registry.Last12Months: {"2026-11-01 {1 40 2}", "2026-12-01 {5 21 11}"},
	} {
		longer := w.mustReport(t, holder, span)
		if diff := cmp.Diff(want, usedSteps(longer)); diff != "" {
			t.Errorf("%s: steps (-want +got):\n%s", span, diff)
		}
		if longer.State != r.State || longer.Projected != r.Projected {
			t.Errorf("%s: month = %+v, projected = %+v; want the same for every span", span, longer.State, longer.Projected)
		}
	}
	if want := (cola.Used{DetailViews: 78, ListRecords: 326}); r.Projected != want || !r.Now.Equal(w.now()) { // 31/2 times 5 and 21
		t.Errorf("projected = %+v at %v, want %+v", r.Projected, r.Now, want)
	}
}

// usedSteps describes the steps with usage in a report.
func usedSteps(r registry.UsageReport) (used []string) {
	for _, s := range r.Steps {
		if s.Total != (registry.Usage{}) {
			used = append(used, fmt.Sprint(s.First, s.Total))
		}
	}
	return used
}

// TestFirstUse checks that the projection is based on the days since the first use of quota, or
// since the first of the month if that use was in an earlier month.
func TestFirstUse(t *testing.T) {
	w := mustWorld(t, 50)
	holder := w.mustHolder(t, "young@example.com", cola.TierPro)
	c := keyCaller(holder.Account, w.mustCreateKey(t, holder, registry.KeyParams{Name: "first"}).ID)
	if _, err := w.Admit(t.Context(), c); err != nil { // free, on the 20th at noon
		t.Fatal(err)
	}
	w.clock.Store(time.Date(2026, 11, 26, 9, 0, 0, 0, time.UTC).UnixMicro())
	w.mustSpend(t, c, 30)
	w.clock.Store(time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC).UnixMicro())
	r := w.mustReport(t, holder, registry.Last7Days)
	if want := (cola.Used{DetailViews: 2, ListRecords: 60}); r.Since.String() != "2026-11-26" || r.Projected != want {
		t.Errorf("projected %+v from %s, want %+v from the 26th: twice 2.5 days' usage", r.Projected, r.Since, want)
	}
	w.clock.Store(time.Date(2026, 12, 20, 0, 0, 0, 0, time.UTC).UnixMicro())
	holder = w.mustSignIn(t, holder.Account, "Chromium")
	if r := w.mustReport(t, holder, registry.Last7Days); r.Since.String() != "2026-12-01" || r.Projected != (cola.Used{}) {
		t.Errorf("next month: projected %+v from %s, want no usage from the 1st", r.Projected, r.Since)
	}
}

// TestUsageAfterDowngrade checks that usage above the limits of a smaller plan is reported, and
// that further requests are rejected.
func TestUsageAfterDowngrade(t *testing.T) {
	w := mustWorld(t, 50)
	holder := w.mustHolder(t, "smaller@example.com", cola.TierPro)
	label := w.newest(t, holder, cola.SearchParams{PerPage: cola.Some(1), ApprovalDateFrom: cola.NewDate(2005, 1, 1)})[0].TTBID.String()
	view := func() error {
		w.advance(time.Minute)
		_, _, err := w.Cola(t.Context(), holder, label, "")
		return err
	}
	for range 205 {
		if err := view(); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.store.SetTier(t.Context(), holder.Account, cola.TierFree); err != nil {
		t.Fatal(err)
	}
	if err := view(); cola.CodeOf(err) != cola.CodeQuotaExceeded {
		t.Errorf("view after the downgrade: %v, want %s", err, cola.CodeQuotaExceeded)
	}
	r := w.mustReport(t, holder, registry.Last7Days)
	if r.State.Used.DetailViews != 205 || r.State.Limits.DetailViews != 200 || r.State.DetailViewsRemaining() != 0 {
		t.Errorf("state = %+v, want 205 of 200 used and none left", r.State)
	}
}

// TestUsageOfNewAccount checks that a new account's report lists days and steps with zero usage.
func TestUsageOfNewAccount(t *testing.T) {
	w := mustWorld(t, 0)
	r := w.mustReport(t, w.mustHolder(t, "nothing@example.com", cola.TierFree), registry.Last30Days)
	if len(r.Days) != 20 || len(r.Steps) != 30 || r.Since != 0 || len(r.Rows) != 0 || len(r.Refusals) != 0 || r.Projected != (cola.Used{}) {
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
		r := w.mustReport(t, holder, registry.Last7Days)
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
		r := w.mustReport(t, holder, registry.Last7Days)
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

// TestUsageReportWhileSpending checks that a report's figures come from one read, even while usage
// grows.
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
		w.mustReport(t, holder, registry.Last7Days)
	}
	cancel()
	all.Wait()
	if r := w.mustReport(t, holder, registry.Last7Days); r.State.Used.ListRecords == 0 {
		t.Error("no usage recorded during the report")
	}
}
