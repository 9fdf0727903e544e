package collect

import (
	"context"
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/colaregistry/colaregistry/store"
)

// Follower runs collectors one after another in a long-lived process.
type Follower struct {
	st Store
	o  Options
	process
}

// NewFollower returns a Follower. It sets Options.Follow; registerer may be nil.
func NewFollower(st Store, o Options, registerer prometheus.Registerer) *Follower {
	o.setDefaults()
	o.Follow = true
	return &Follower{st, o, process{keepsBlock: true, metrics: newMetrics(registerer)}}
}

// Run collects until ctx is canceled, like the function Run. It logs errors and starts the next run
// after a random wait. It doesn't clear a block, because a supervisor may restart the process in a
// loop. Instead, it waits until another process has cleared the block.
func (f *Follower) Run(ctx context.Context) {
	failures := 0
	for f.awaitUnblocked(ctx) {
		started := time.Now()
		err := f.run(ctx)
		switch {
		case errors.As(err, new(store.SiteBlockedError)):
			continue
		case ctx.Err() != nil:
			if err != nil {
				f.o.Logger.Warn("fetching ended with an error", "error", err)
			}
			return
		case time.Since(started) > 2*f.o.MaxBackoff:
			failures = 0
		}
		wait := f.o.backoff(failures)
		failures++
		f.o.Logger.Error("fetching failed; restarting", "wait", wait, "error", err)
		sleep(ctx, wait)
	}
}

// run performs one run. It turns panics into errors.
func (f *Follower) run(ctx context.Context) error {
	return catch(f.o.Logger, func() error {
		_, err := run(ctx, f.st, f.o, &f.process)
		return err
	})
}

// awaitUnblocked waits until the site is not blocked. It returns false if ctx is canceled.
func (f *Follower) awaitUnblocked(ctx context.Context) bool {
	for logged := false; ctx.Err() == nil; sleep(ctx, f.o.poll()) {
		status, err := f.st.FetchStatus(ctx)
		switch {
		case err == nil && status.Blocked == "":
			if logged {
				f.o.Logger.Info("fetching has resumed")
			}
			return true
		case err != nil:
			f.o.Logger.Warn("database unavailable", "error", err)
			continue
		case !logged:
			f.o.Logger.Error("the site is refusing requests; to resume, run: colaregistry fetch resume",
				"reason", status.Blocked, "since", status.BlockedAt.UTC().Format(time.RFC3339))
			logged = true
		}
		f.stale.check(status, f.o.Now(), f.o.Logger)
	}
	return false
}

// poll returns how often a paused collector checks whether it may send requests again: every
// minute, or more often with a shorter Backoff.
func (o *Options) poll() time.Duration { return min(time.Minute, 30*o.Backoff) }

// sleep waits for d or until ctx is canceled.
func sleep(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
