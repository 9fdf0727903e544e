package reference

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime/debug"
	"time"
)

const (
	// followAge is the age at which Follow fetches a source again: a little less than a day, so
	// that the time of day doesn't drift by one check every day.
	followAge = 23 * time.Hour
	// checkEvery is the average time between checks for sources that are due.
	checkEvery = time.Hour
)

// Follow fetches every source once a day until ctx is canceled. If several processes follow, only
// one fetches each source; another takes over if that one is killed. No run starts during quiet
// hours. quietUntil returns the end of the quiet hours that a time is in, or the zero time; it may
// be nil. Outcomes are logged.
func Follow(ctx context.Context, st Store, o Options, quietUntil func(time.Time) time.Time) {
	o.setDefaults()
	o.MinAge, o.Force = followAge, false
	o.Done = o.logResult
	for ctx.Err() == nil {
		if quietUntil != nil {
			if now := time.Now(); quietUntil(now).After(now) {
				_ = sleep(ctx, min(quietUntil(now).Sub(now), checkEvery))
				continue
			}
		}
		if err := follow(ctx, st, o); err != nil && ctx.Err() == nil {
			o.Logger.Error("fetching reference data failed; retrying later", "error", err)
		}
		_ = sleep(ctx, checkEvery/2+rand.N(checkEvery)) // ctx.Err reports the error
	}
}

// follow does one run. It turns panics into errors, so that the process survives a file that
// triggers a bug.
func follow(ctx context.Context, st Store, o Options) (err error) {
	defer func() {
		if p := recover(); p != nil {
			o.Logger.Error("fetching reference data panicked", "panic", p, "stack", string(debug.Stack()))
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	_, err = Run(ctx, st, o)
	return err
}

func (o *Options) logResult(r Result) {
	log := o.Logger.With("source", r.Source.Name)
	switch {
	case r.Err != nil:
		log.Error("fetching reference data failed", "error", r.Err)
	case r.Imported:
		c := r.Report.Counts
		log.Info("reference data imported",
			"read", c.Read, "added", c.Added, "changed", c.Changed, "unchanged", c.Unchanged, "rejected", c.Rejected)
	default:
		log.Debug("reference data unchanged")
	}
}
