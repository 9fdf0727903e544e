package alerts

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"time"
)

const (
	// tickEvery is how often a scheduler looks for what is due. Schedules name an hour.
	tickEvery = time.Minute
	// startWithin is how long its first tick may be put off.
	startWithin = 20 * time.Second
)

// Scheduler ticks again and again. Every serving process has one; they share the work.
type Scheduler struct {
	Runner *Runner
	Now    func() time.Time
	Logger *slog.Logger
}

// Run ticks every minute until the context ends, which ends the tick under way too. It begins within 20 seconds, at an instant of its
// own, so that processes that were started together do not tick together. A tick that fails is logged, once until they succeed again,
// and followed by the next one.
func (s *Scheduler) Run(ctx context.Context) {
	failing := false
	for wait := rand.N(startWithin); rest(ctx, wait); wait = tickEvery {
		_, err := s.Runner.Tick(ctx, s.Now())
		if ctx.Err() != nil {
			return
		}
		switch {
		case err != nil && !failing:
			s.Logger.Error("saved searches cannot be run; they are tried again every minute, and nothing is left out", "error", err)
		case err == nil && failing:
			s.Logger.Info("saved searches are run again")
		}
		failing = err != nil
	}
}

// rest waits, and reports whether to go on.
func rest(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}
