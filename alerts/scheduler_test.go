package alerts

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/colaregistry/colaregistry/store"
)

// scheduled runs a scheduler over a store in a bubble of its own, until the test ends it.
func scheduled(t *testing.T, f *fakeStore) (end func(), log *bytes.Buffer) {
	log = &bytes.Buffer{}
	logger := slog.New(slog.NewTextHandler(log, nil))
	start, began := f.clock, time.Now()
	s := &Scheduler{
		Runner: New(Options{Store: f, Logger: logger}), Logger: logger,
		Now: func() time.Time { return start.Add(time.Since(began)) },
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

func TestScheduler(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := withSearches(3)
		f.clock = at(11, 10, 5).Add(58 * time.Minute)
		end, _ := scheduled(t, f)
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		if n := len(f.runs()); n != 0 {
			t.Errorf("%d searches ran before they were due", n)
		}
		time.Sleep(time.Minute)
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

// TestSchedulerGoesOn when ticks fail, and says so once.
func TestSchedulerGoesOn(t *testing.T) {
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
		end, log := scheduled(t, f)
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		end()
		checkEachOnce(t, f, 1)
		if n := strings.Count(log.String(), "cannot be run"); n != 1 || !strings.Contains(log.String(), "run again") {
			t.Errorf("the log says %d times that it fails:\n%s", n, log)
		}
	})
}

// TestSchedulerEnds in the middle of a tick, and lets go of what the tick has claimed.
func TestSchedulerEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := withSearches(1)
		reading, goOn := make(chan struct{}), make(chan struct{})
		f.before = func(call string) error {
			if call == "ArrivedSince" {
				close(reading)
				<-goOn
			}
			return nil
		}
		end, log := scheduled(t, f)
		<-reading
		go func() {
			time.Sleep(time.Second)
			close(goOn)
		}()
		end()
		if s := f.searches["search 00"]; !s.heldUntil.IsZero() || len(f.runs()) != 0 {
			t.Errorf("held until %v, %d runs", s.heldUntil, len(f.runs()))
		}
		if strings.Contains(log.String(), "ERROR") {
			t.Errorf("that it ends is logged as an error:\n%s", log)
		}
	})
}
