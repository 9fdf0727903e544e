package registry

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// flushTimeout is the time limit for one flush.
const flushTimeout = 5 * time.Second

// background writes records some time after they are added, so that requests don't wait for the
// database. Failed writes are retried. The owner keeps the pending records and guards them with mu.
type background struct {
	what     string        // what the records are, for log messages
	interval time.Duration // delay between adding the first pending record and writing
	log      *slog.Logger
	// write writes the pending records and keeps those that it could not write. Before it returns,
	// it calls reschedule.
	write func(context.Context) error

	flushing chan struct{} // full during a write
	failing  bool          // the latest write failed; guarded by flushing

	mu     sync.Mutex
	timer  *time.Timer // nil unless records are pending or being written
	closed bool        // the owner drops further records
}

func newBackground(what string, interval time.Duration, log *slog.Logger) background {
	return background{what: what, interval: interval, log: log, flushing: make(chan struct{}, 1)}
}

// schedule makes sure that a flush is scheduled. The caller holds the lock.
func (b *background) schedule() {
	if b.timer == nil && !b.closed {
		b.timer = time.AfterFunc(b.interval, b.flush)
	}
}

// reschedule marks the end of a flush, and schedules another one if records are left. The caller
// holds the lock.
func (b *background) reschedule(left bool) {
	b.timer = nil
	if left {
		b.schedule()
	}
}

// flush writes the pending records.
func (b *background) flush() {
	b.flushing <- struct{}{}
	defer func() { <-b.flushing }()
	ctx, cancel := context.WithTimeout(context.Background(), flushTimeout)
	defer cancel()
	err := b.write(ctx)
	switch {
	case err != nil && !b.failing:
		b.log.Warn("could not record "+b.what+"; retrying", "error", err)
	case err == nil && b.failing:
		b.log.Info("recording " + b.what + " is working again")
	}
	b.failing = err != nil
}

// close stops the timer and flushes one last time.
func (b *background) close() {
	b.mu.Lock()
	b.closed = true
	if b.timer != nil {
		b.timer.Stop()
	}
	b.mu.Unlock()
	b.flush()
}
