package alerts

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/colaregistry/colaregistry/cola"
)

// TestAskedRuns: a search that somebody asks to be run runs at once, with a schedule or without; it goes back to its schedule, if it has an
// active one, and the next run begins where this one ended.
func TestAskedRuns(t *testing.T) {
	f := withSearches(3)
	f.clock = at(11, 9, 15)
	f.searches["search 01"].search.Schedule = nil
	f.change("search 02", func(s *cola.SavedSearch) { s.Schedule.Active = false })
	r := New(Options{Store: f})
	if report := mustTick(t, r, f.clock); report.Runs != 0 {
		t.Fatalf("before anybody asks: %+v", report)
	}
	for uuid := range f.searches {
		f.ask(uuid)
	}
	if diff := cmp.Diff(Report{Runs: 3, Matches: 3, Labels: 1, NextDueAt: at(11, 10, 6)}, mustTick(t, r, f.clock)); diff != "" {
		t.Errorf("asked for (-want +got):\n%s", diff)
	}
	if report := mustTick(t, r, f.clock); report.Runs != 0 {
		t.Errorf("at once again: %+v", report)
	}
	f.write(oak(2, day(11, 9)), false)
	f.clock = at(11, 10, 7)
	if report := mustTick(t, r, f.clock); report.Runs != 1 || report.Matches != 1 {
		t.Errorf("by its schedule: %+v", report)
	}
	f.ask("search 01")
	f.ask("search 02")
	if report := mustTick(t, r, f.clock); report.Runs != 2 || report.Matches != 2 {
		t.Errorf("asked for again: %+v", report)
	}
	for uuid, s := range f.searches {
		if len(s.had) != 2 || !s.mark.At.Equal(f.clock) {
			t.Errorf("%s has found %d labels, mark %+v", uuid, len(s.had), s.mark)
		}
	}
}
