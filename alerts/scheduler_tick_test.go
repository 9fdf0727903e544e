package alerts

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/cola/vocabulary"
	"github.com/colaregistry/colaregistry/store"
)

var (
	daily = cola.Schedule{Cadence: cola.CadenceDaily}
	oaks  = cola.SavedSearchFilters{BrandName: "oak"}
)

// oak returns a label that matches oaks.
func oak(number int, approved cola.Date) cola.IndexRecord {
	return cola.IndexRecord{Summary: cola.ColaSummary{
		TTBID: cola.TTBID(26001001000000 + number), BrandName: "OAK", PermitNumber: "CA-W-1", ApprovalDate: approved,
	}}
}

// withSearches returns a store with n searches, created on November 9 and due the next morning, and
// one label that matches them all.
func withSearches(n int) *fakeStore {
	f := newFakeStore(at(11, 9, 12))
	for i := range n {
		f.save(fmt.Sprintf("search %02d", i), oaks, daily)
	}
	f.write(oak(1, date(11, 9)), false)
	f.clock = at(11, 10, 7)
	return f
}

func mustTick(t *testing.T, r *Runner, now time.Time) Report {
	t.Helper()
	report, err := r.Tick(t.Context(), now)
	if err != nil {
		t.Fatal(err)
	}
	return report
}

func TestTick(t *testing.T) {
	f := withSearches(25)
	f.write(oak(2, date(11, 1)), false)
	f.write(oak(3, date(11, 9)), true)
	r := New(Options{Store: f, Batch: 10})
	want := Report{Runs: 25, Matches: 50, Late: 25, Labels: 2, NextDueAt: at(11, 11, 6)}
	if diff := cmp.Diff(want, mustTick(t, r, f.clock)); diff != "" {
		t.Errorf("first tick (-want +got):\n%s", diff)
	}
	if f.reads != 1 {
		t.Errorf("%d reads of the labels for three batches, want 1", f.reads)
	}
	if diff := cmp.Diff(Report{NextDueAt: at(11, 11, 6)}, mustTick(t, r, f.clock)); diff != "" {
		t.Errorf("second tick (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(Report{Runs: 25, Labels: 2, NextDueAt: at(11, 12, 6)}, mustTick(t, r, at(11, 11, 6))); diff != "" {
		t.Errorf("next day (-want +got):\n%s", diff)
	}
}

// TestTickErrors checks that a tick returns the error from any call and releases unrecorded
// searches, and that the next tick runs them exactly once.
func TestTickErrors(t *testing.T) {
	for _, call := range []string{"ClaimDue", "AllReferences", "ArrivedSince", "RecordRuns", "NextDue"} {
		for _, when := range []string{"before", "after"} {
			t.Run(call+" "+when, func(t *testing.T) {
				f := withSearches(9)
				fails := func(c string) error {
					if c == call {
						return fmt.Errorf("%w: no connection", store.ErrUnavailable)
					}
					return nil
				}
				if when == "before" {
					f.before = fails
				} else {
					f.after = fails
				}
				r := New(Options{Store: f, Batch: 4})
				if _, err := r.Tick(t.Context(), f.clock); !errors.Is(err, store.ErrUnavailable) {
					t.Fatalf("Tick error = %v, want %v", err, store.ErrUnavailable)
				}
				f.before, f.after = nil, nil
				// The caller does not know which searches it claimed, so their claims must expire.
				if call == "ClaimDue" && when == "after" {
					f.clock = f.clock.Add(DefaultHold)
				}
				mustTick(t, r, f.clock)
				checkEachOnce(t, f, 9)
			})
		}
	}
}

// checkEachOnce checks that every search has found the label in one run.
func checkEachOnce(t *testing.T, f *fakeStore, searches int) {
	t.Helper()
	found := map[string]int{}
	for _, r := range f.runs() {
		found[r.Due.Search.UUID] += len(r.new)
	}
	for uuid, n := range found {
		if n != 1 {
			t.Errorf("%s: found %d labels, want 1", uuid, n)
		}
	}
	if len(found) != searches || len(f.runs()) != searches {
		t.Errorf("%d searches and %d runs, want %d of each", len(found), len(f.runs()), searches)
	}
}

// TestTickCanceled checks that a tick whose context is canceled releases all claims.
func TestTickCanceled(t *testing.T) {
	f := withSearches(1200)
	ctx, cancel := context.WithCancel(t.Context())
	f.after = func(call string) error {
		if call == "RecordRuns" {
			cancel()
		}
		return nil
	}
	report, err := New(Options{Store: f}).Tick(ctx, f.clock)
	if !errors.Is(err, context.Canceled) || report.Runs != maxRunsPerRecord ||
		report.Released != batchSize-maxRunsPerRecord {
		t.Fatalf("Tick = %+v, %v, want %d runs and the rest released", report, err, maxRunsPerRecord)
	}
	if got := mustTick(t, New(Options{Store: f}), f.clock); got.Runs != 1200-maxRunsPerRecord {
		t.Errorf("another process ran %d searches, want %d", got.Runs, 1200-maxRunsPerRecord)
	}
}

// TestFailingSearches checks that failing searches don't block others, are not retried immediately,
// and keep their windows.
func TestFailingSearches(t *testing.T) {
	for name, spoil := range map[string]func(*fakeStore, *fakeSearch){
		"filters from a newer version":   func(_ *fakeStore, s *fakeSearch) { s.fault = errors.New(`unknown field "color"`) },
		"a schedule without a day":       func(_ *fakeStore, s *fakeSearch) { s.search.Schedule.Cadence = cola.CadenceMonthly },
		"an unknown cadence":             func(_ *fakeStore, s *fakeSearch) { s.search.Schedule.Cadence = "fortnightly" },
		"a mark ahead of the labels":     func(_ *fakeStore, s *fakeSearch) { s.mark.Revision += 1_000_000 },
		"matches that can't be recorded": func(f *fakeStore, s *fakeSearch) { f.before = rejects(f, s) },
	} {
		t.Run(name, func(t *testing.T) {
			f := withSearches(6)
			bad := f.searches["search 02"]
			good := *bad
			schedule := *bad.search.Schedule
			good.search.Schedule = &schedule
			spoil(f, bad)
			mark := bad.mark
			var log bytes.Buffer
			r := New(Options{Store: f, Batch: 2, Logger: slog.New(slog.NewTextHandler(&log, nil))})
			report := mustTick(t, r, f.clock)
			if report.Runs != 5 || report.Failed != 1 || bad.mark != mark || len(bad.seen) != 0 ||
				!bad.claimedUntil.Equal(f.clock.Add(DefaultHold)) {
				t.Errorf("Tick = %+v, want 5 runs and 1 failure; failing search: %+v", report, bad)
			}
			if !strings.Contains(log.String(), `search="search 02"`) || strings.Contains(log.String(), "oak") {
				t.Errorf("log = %s, want the search without its filters", log.String())
			}
			if second := mustTick(t, r, f.clock); second.Runs != 0 || second.Failed != 0 {
				t.Errorf("second tick = %+v, want no runs and no failures", second)
			}
			f.before, f.clock = nil, f.clock.Add(9*24*time.Hour)
			bad.fault, bad.mark, bad.search = nil, good.mark, good.search
			mustTick(t, r, f.clock)
			recovered := slices.ContainsFunc(f.recorded, func(r fakeRun) bool {
				return r.Due.Search.UUID == "search 02" && r.From == date(11, 9) && r.To == date(11, 19)
			})
			if !bad.seen[26001001000001] || !recovered {
				t.Errorf("after recovery: found %v, want the label; last run %+v", bad.seen, f.recorded[len(f.recorded)-1])
			}
		})
	}
}

// TestPostpone checks that a failing search is retried with pauses that double up to six hours
// and start over after a successful run.
func TestPostpone(t *testing.T) {
	f := withSearches(1)
	bad := f.searches["search 00"]
	fails := func(want ...time.Duration) {
		t.Helper()
		bad.fault = errors.New(`unknown field "color"`)
		for _, wait := range want {
			var log bytes.Buffer
			r := New(Options{Store: f, Logger: slog.New(slog.NewTextHandler(&log, nil))})
			if got := mustTick(t, r, f.clock); got.Failed != 1 || !bad.claimedUntil.Equal(f.clock.Add(wait)) ||
				!strings.Contains(log.String(), "after="+wait.String()) {
				t.Fatalf("Tick = %+v; postponed for %v, want %v; log: %s", got, bad.claimedUntil.Sub(f.clock), wait, log.String())
			}
			f.clock = f.clock.Add(wait - 1)
			if got := mustTick(t, r, f.clock); got.Failed != 0 {
				t.Fatalf("search was retried before %v had passed", wait)
			}
			f.clock = f.clock.Add(1)
		}
	}
	var want []time.Duration
	for wait := DefaultHold; wait < maxHold; wait *= 2 {
		want = append(want, wait)
	}
	fails(append(want, maxHold, maxHold)...)
	bad.fault = nil
	if got := mustTick(t, New(Options{Store: f}), f.clock); got.Runs != 1 {
		t.Fatalf("after recovery: Tick = %+v, want 1 run", got)
	}
	f.clock = f.clock.Add(24 * time.Hour)
	fails(DefaultHold, 2*DefaultHold)
	if long := 2 * maxHold; New(Options{Store: f, Hold: long}).postponement(9) != long {
		t.Error("postponement is shorter than a long hold")
	}
}

// TestPostponeErrors checks that a search that can't be postponed stays claimed and that the tick
// continues.
func TestPostponeErrors(t *testing.T) {
	for message, failure := range map[string]error{
		"database unavailable": store.ErrUnavailable, "taken over": store.ErrNotFound,
	} {
		f := withSearches(3)
		bad := f.searches["search 01"]
		bad.fault = errors.New(`unknown field "color"`)
		f.before = func(call string) error {
			if call == "Postpone" {
				return failure
			}
			return nil
		}
		var log bytes.Buffer
		got := mustTick(t, New(Options{Store: f, Logger: slog.New(slog.NewTextHandler(&log, nil))}), f.clock)
		if got.Runs != 2 || got.Failed != 1 || !bad.claimedUntil.Equal(f.clock.Add(DefaultHold)) ||
			!strings.Contains(log.String(), message) || !strings.Contains(log.String(), "color") {
			t.Errorf("%s: Tick = %+v, want 2 runs and 1 failure; claimed for %v; log: %s", message, got, bad.claimedUntil.Sub(f.clock), log.String())
		}
	}
}

// rejects returns a hook that fails calls that record a run of the search.
func rejects(f *fakeStore, s *fakeSearch) func(string) error {
	return func(call string) error {
		if call == "RecordRuns" && f.recording[s.search.UUID] {
			return errors.New("value too long")
		}
		return nil
	}
}

// TestTickPanic checks that a panic in the index is returned as an error.
func TestTickPanic(t *testing.T) {
	if _, err := (&candidates{}).match(oaks, window{}); err == nil {
		t.Error("match without an index returned no error")
	}
}

// TestTickDuringChange checks that a search changed after it was claimed does not run with its old
// filters.
func TestTickDuringChange(t *testing.T) {
	f := withSearches(4)
	f.before = func(call string) error {
		if call == "RecordRuns" {
			f.before = nil
			f.update("search 00", func(s *cola.SavedSearch) { s.Filters.BrandName = "elm"; s.Schedule.Active = false })
			f.remove("search 01")
		}
		return nil
	}
	report := mustTick(t, New(Options{Store: f}), f.clock)
	if want := (Report{Runs: 2, Matches: 2, Missed: 2, Labels: 1, NextDueAt: at(11, 11, 6)}); report != want {
		t.Errorf("Tick = %+v, want %+v", report, want)
	}
	if s := f.searches["search 00"]; len(s.seen) != 0 || !s.mark.At.Equal(at(11, 9, 12)) {
		t.Errorf("changed search = %+v, want no matches and its initial mark", s)
	}
}

// TestTickTermination checks that a tick ends even if searches change faster than they run.
func TestTickTermination(t *testing.T) {
	f := withSearches(3)
	f.before = func(call string) error {
		if call == "RecordRuns" {
			for uuid, s := range f.searches {
				due := s.search.Schedule.NextRunAt
				f.update(uuid, func(*cola.SavedSearch) {})
				f.searches[uuid].search.Schedule.NextRunAt = due
			}
		}
		return nil
	}
	if report := mustTick(t, New(Options{Store: f, Batch: 3}), f.clock); report.Missed != 3 || report.Runs != 0 {
		t.Errorf("Tick = %+v, want 3 missed and no runs", report)
	}
}

// TestLongPause checks that searches paused for a long time find the labels they missed without a
// separate read of all labels for each search.
func TestLongPause(t *testing.T) {
	f := newFakeStore(at(11, 9, 12))
	f.revision = 1_000
	for i := range 40 { // searches with longer pauses come later
		s := f.save(fmt.Sprint("waiting ", i), oaks, daily)
		s.mark = store.Mark{At: f.clock.AddDate(0, 0, -20*i), Revision: 500}
		f.write(oak(i, cola.DateOf(s.mark.At)), false)
	}
	f.clock = at(11, 10, 7)
	report := mustTick(t, New(Options{Store: f, Batch: 3}), f.clock)
	for i := range 40 {
		want := min(40, i+1+cola.LateDays/20) // including late labels
		if seen := f.searches[fmt.Sprint("waiting ", i)].seen; len(seen) != want {
			t.Errorf("search %d found %d labels, want %d", i, len(seen), want)
		}
	}
	if report.Runs != 40 || f.reads > 5 {
		t.Errorf("Tick = %+v with %d reads of the labels, want 40 runs with at most 5", report, f.reads)
	}
}

// TestCategoryAliases checks that a search for a former category path finds labels with the current
// one.
func TestCategoryAliases(t *testing.T) {
	f := newFakeStore(at(11, 9, 12))
	f.aliases = []vocabulary.CategoryAlias{{Alias: "Wine > Red", Path: "Wine > Red Wine"}}
	f.save("one", cola.SavedSearchFilters{DerivedCategory: "Wine > Red"}, daily)
	label := oak(1, date(11, 9))
	label.CategoryPath = "Wine > Red Wine > Zweigelt"
	f.write(label, false)
	if report := mustTick(t, New(Options{Store: f}), at(11, 10, 7)); report.Matches != 1 {
		t.Errorf("Tick = %+v, want 1 match", report)
	}
}
