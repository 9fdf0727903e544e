package alerts

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

// startScheduler runs a scheduler in the test's synctest bubble until the caller calls end. The
// database's clock follows the scheduler's.
func startScheduler(t *testing.T, f *fakeStore) (end func(), log *bytes.Buffer) {
	log = &bytes.Buffer{}
	logger := slog.New(slog.NewTextHandler(log, nil))
	clock, start := f.clock, time.Now()
	s := &Scheduler{
		Runner: New(Options{Store: f, Logger: logger}), Logger: logger,
		Now: func() time.Time {
			f.mu.Lock()
			defer f.mu.Unlock()
			f.clock = clock.Add(time.Since(start))
			return f.clock
		},
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		s.Run(ctx)
	}()
	return func() {
		cancel()
		<-ended
	}, log
}

// pollPromise is how soon a due search runs, as documented in docs/OPERATIONS.md.
const pollPromise = 5 * time.Second

func TestScheduler(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := withSearches(3)
		f.clock = at(11, 10, 5).Add(58 * time.Minute)
		end, _ := startScheduler(t, f)
		time.Sleep(2*time.Minute - time.Second)
		synctest.Wait()
		if n := len(f.runs()); n != 0 {
			t.Errorf("%d searches ran before they were due", n)
		}
		time.Sleep(time.Second + pollPromise)
		synctest.Wait()
		checkEachOnce(t, f, 3)
		time.Sleep(24 * time.Hour)
		synctest.Wait()
		if n := len(f.runs()); n != 6 {
			t.Errorf("%d runs after another day, want 6", n)
		}
		end()
	})
}

// TestSchedulerPoll checks that a requested run starts within five seconds, even when another
// search keeps failing, and that searches that fail or are claimed by another process don't cause a
// tick at every poll.
func TestSchedulerPoll(t *testing.T) {
	for _, state := range []string{"no other due search", "failing", "claimed"} {
		t.Run(state, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := withSearches(2)
				other := f.searches["search 01"]
				f.searches["search 00"].search.Schedule, other.search.Schedule = nil, nil
				switch state {
				case "failing":
					other.fault, other.requested = errors.New("unknown filter"), f.clock
				case "claimed":
					other.requested, other.claimedUntil = f.clock, f.clock.Add(time.Hour)
				}
				ticks := 0
				f.before = func(call string) error {
					if call == "ClaimDue" {
						ticks++
					}
					return nil
				}
				end, _ := startScheduler(t, f)
				defer end()
				time.Sleep(30 * time.Minute)
				synctest.Wait()
				if ticks < 28 || ticks > 34 { // one a minute, and one for each retry
					t.Errorf("%d ticks in 30 minutes, want about 30", ticks)
				}
				for n := range 10 {
					f.request("search 00")
					time.Sleep(pollPromise)
					synctest.Wait()
					if runs := len(f.runs()); runs != n+1 {
						t.Fatalf("%d runs %s after request %d, want %d", runs, pollPromise, n+1, n+1)
					}
					time.Sleep(7 * time.Second)
					synctest.Wait()
				}
			})
		})
	}
}

// TestSchedulerSurvivesOutage checks that a scheduler continues after failed ticks and logs the
// failure once.
func TestSchedulerSurvivesOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := withSearches(1)
		failures := 0
		f.before = func(call string) error {
			if failures < 5 {
				failures++
				return fmt.Errorf("%w: no connection", store.ErrUnavailable)
			}
			return nil
		}
		end, log := startScheduler(t, f)
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		end()
		checkEachOnce(t, f, 1)
		if n := strings.Count(log.String(), "level=ERROR"); n != 1 ||
			!strings.Contains(log.String(), "saved searches are running again") {
			t.Errorf("%d errors logged, want 1 and the recovery:\n%s", n, log)
		}
	})
}

// TestSchedulerShutdown stops a scheduler in the middle of a tick, which must release its claims.
func TestSchedulerShutdown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := withSearches(1)
		reading, proceed := make(chan struct{}), make(chan struct{})
		f.before = func(call string) error {
			if call == "ArrivedSince" {
				close(reading)
				<-proceed
			}
			return nil
		}
		end, log := startScheduler(t, f)
		<-reading
		go func() {
			time.Sleep(time.Second)
			close(proceed)
		}()
		end()
		if s := f.searches["search 00"]; !s.claimedUntil.IsZero() || len(f.runs()) != 0 {
			t.Errorf("claimed until %v after %d runs, want no claim and no runs", s.claimedUntil, len(f.runs()))
		}
		if strings.Contains(log.String(), "ERROR") {
			t.Errorf("shutdown logged as an error:\n%s", log)
		}
	})
}

// TestRequestedRuns checks that a requested run starts immediately, with or without a schedule,
// that the search then returns to its active schedule, and that the next window starts where the
// requested run's window ended.
func TestRequestedRuns(t *testing.T) {
	f := withSearches(3)
	f.clock = at(11, 9, 15)
	f.searches["search 01"].search.Schedule = nil
	f.update("search 02", func(s *cola.SavedSearch) { s.Schedule.Active = false })
	r := New(Options{Store: f})
	if report := mustTick(t, r, f.clock); report.Runs != 0 {
		t.Fatalf("before the request: Tick = %+v, want no runs", report)
	}
	for uuid := range f.searches {
		f.request(uuid)
	}
	if diff := cmp.Diff(Report{Runs: 3, Matches: 3, Labels: 1, NextDueAt: at(11, 10, 6)}, mustTick(t, r, f.clock)); diff != "" {
		t.Errorf("requested run (-want +got):\n%s", diff)
	}
	if report := mustTick(t, r, f.clock); report.Runs != 0 {
		t.Errorf("second tick = %+v, want no runs", report)
	}
	f.write(oak(2, date(11, 9)), false)
	f.clock = at(11, 10, 7)
	if report := mustTick(t, r, f.clock); report.Runs != 1 || report.Matches != 1 {
		t.Errorf("scheduled run: Tick = %+v, want 1 run with 1 match", report)
	}
	f.request("search 01")
	f.request("search 02")
	if report := mustTick(t, r, f.clock); report.Runs != 2 || report.Matches != 2 {
		t.Errorf("second request: Tick = %+v, want 2 runs with 2 matches", report)
	}
	manual := 0
	for _, run := range f.runs() {
		if run.Manual != (run.MaxNamed == 0) || !run.Manual && run.MaxNamed != cola.MaxMessageLabels ||
			run.MaxNamedPerAccount != cola.MaxDailyMessageLabels {
			t.Errorf("run record = %+v, want labels included only in scheduled runs", run.RunRecord)
		}
		if run.Manual {
			manual++
		}
	}
	if manual != 5 {
		t.Errorf("%d manual runs, want 5", manual)
	}
	for uuid, s := range f.searches {
		if len(s.seen) != 2 || !s.mark.At.Equal(f.clock) {
			t.Errorf("%s: found %d labels, mark %+v; want 2 and %v", uuid, len(s.seen), s.mark, f.clock)
		}
	}
}

// TestIsManual checks that a run counts as scheduled only if one of the search's scheduled times has
// passed.
func TestIsManual(t *testing.T) {
	scheduled := func(s cola.Schedule, due time.Time) *cola.Schedule {
		s.Active, s.NextRunAt = true, cola.Some(cola.TimestampOf(due))
		return &s
	}
	// November 9 is a Monday.
	daily, weekly := cola.Schedule{Cadence: cola.CadenceDaily}, cola.Schedule{Cadence: cola.CadenceWeekly, Day: 1}
	paused := scheduled(daily, at(11, 9, 6))
	paused.Active = false
	for _, tt := range []struct {
		name     string
		schedule *cola.Schedule
		now      time.Time
		want     bool
	}{
		{"no schedule", nil, at(11, 9, 6), true},
		{"a paused schedule", paused, at(11, 9, 7), true},
		{"never due", &cola.Schedule{Cadence: cola.CadenceDaily, Active: true}, at(11, 9, 7), true},
		{"on time", scheduled(daily, at(11, 9, 6)), at(11, 9, 6), false},
		{"overdue", scheduled(daily, at(11, 9, 6)), at(11, 12, 23), false},
		{"requested at noon", scheduled(daily, at(11, 9, 12)), at(11, 9, 13), true},
		{"requested, a microsecond late", scheduled(daily, at(11, 9, 6).Add(time.Microsecond)), at(11, 9, 7), true},
		{"requested before a scheduled time that has passed", scheduled(daily, at(11, 9, 5)), at(11, 9, 6), false},
		{"weekly, on time", scheduled(weekly, at(11, 9, 6)), at(11, 9, 7), false},
		{"weekly, on another day", scheduled(weekly, at(11, 10, 6)), at(11, 11, 6), true},
		{"an unknown cadence", scheduled(cola.Schedule{Cadence: "hourly"}, at(11, 9, 6)), at(11, 9, 7), true},
	} {
		if got := isManual(tt.schedule, tt.now); got != tt.want {
			t.Errorf("%s: isManual = %v, want %v", tt.name, got, tt.want)
		}
	}
}
