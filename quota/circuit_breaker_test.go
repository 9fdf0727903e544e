package quota

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

const (
	downMessage = "WARN ledger down; refusing charges"
	upMessage   = "INFO ledger up"
)

// TestFailFast checks that, after the first charge has timed out, charges fail immediately, that
// the store gets only an occasional probe, and that charges succeed again soon after the store
// recovers.
func TestFailFast(t *testing.T) {
	const outage = time.Minute
	tests := []struct {
		name     string
		fault    fault
		first    time.Duration // response time of the first charge
		recovery time.Duration // maximum time from the store's recovery to the first grant
		tries    int           // maximum number of calls to Settle during the outage
	}{
		{"refuses connections", lostBefore, chargeTimeout, probeInterval, 300},
		{"does not respond", hangs, chargeTimeout, probeInterval + probeTimeout, 30},
		{"starts no transaction", neverBegins, chargeTimeout, probeInterval + probeTimeout, 30},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b, log := newFakeLedger(cola.TierPro), newLogCounter()
				end := time.Now().Add(outage)
				b.settle = until(end, tt.fault)
				b.void = func(int) fault { return b.settle(0, store.Batch{}) }
				l := newLedgerWithLog(t, b, log.logger())
				want := charged{0, cola.CodeUnavailable, tt.first}
				if diff := cmp.Diff(want, charge(t, l)); diff != "" {
					t.Errorf("first charge (-want +got):\n%s", diff)
				}
				for time.Now().Before(end) {
					if diff := cmp.Diff(charged{0, cola.CodeUnavailable, 0}, charge(t, l)); diff != "" {
						t.Fatalf("charge while down (-want +got):\n%s", diff)
					}
					time.Sleep(50 * time.Millisecond)
				}
				if tries, _ := b.calls(); tries > tt.tries {
					t.Errorf("Settle called %d times in %v, want at most %d", tries, outage, tt.tries)
				}
				time.Sleep(time.Until(end.Add(tt.recovery)))
				synctest.Wait()
				if got := charge(t, l); got.Units != 20 {
					t.Errorf("%v after the store recovered: charge = %+v, want 20 units", tt.recovery, got)
				}
				if down, up := log.count(downMessage), log.count(upMessage); down != 1 || up != 1 {
					t.Errorf("%d log lines about the outage, %d about the recovery; want 1, 1", down, up)
				}
			})
		})
	}
}

// TestQueueBehindFailingBatch checks that charges queued behind a failing batch fail after a
// second, while the batch itself is retried and commits if the store recovers in time.
func TestQueueBehindFailingBatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newFakeLedger(cola.TierPro)
		b.settle = until(time.Now().Add(3*time.Second), lostBefore)
		l := newLedger(t, b)
		var first, queued, later charged
		var wg sync.WaitGroup
		wg.Go(func() { first = charge(t, l) })
		synctest.Wait()
		wg.Go(func() { queued = charge(t, l) })
		wg.Go(func() {
			time.Sleep(2 * time.Second)
			later = charge(t, l)
		})
		wg.Wait()
		want := []charged{{20, "", 3 * time.Second}, {0, cola.CodeUnavailable, openAfter}, {0, cola.CodeUnavailable, 0}}
		if diff := cmp.Diff(want, []charged{first, queued, later}); diff != "" {
			t.Errorf("outcomes (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(charged{20, "", 0}, charge(t, l)); diff != "" {
			t.Errorf("next charge (-want +got):\n%s", diff)
		}
		if got := b.used(7).ListRecords; got != 40 {
			t.Errorf("usage = %d, want the granted 40", got)
		}
	})
}

// TestShortFailure checks that a failure of less than a second delays charges, but does not cause
// rejections.
func TestShortFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, log := newFakeLedger(cola.TierPro), newLogCounter()
		b.settle = until(time.Now().Add(openAfter-retryPause), lostAfter)
		l := newLedgerWithLog(t, b, log.logger())
		var wg sync.WaitGroup
		for range 5 {
			wg.Go(func() {
				if got := charge(t, l); got.Units != 20 {
					t.Errorf("charge = %+v, want 20 units", got)
				}
			})
		}
		wg.Wait()
		if n := log.count(downMessage); n != 0 {
			t.Errorf("%d log lines about an outage, want 0", n)
		}
		if got := b.used(7).ListRecords; got != 100 {
			t.Errorf("usage = %d, want the granted 100", got)
		}
	})
}

// TestRejectedBatch checks that a batch that the store rejects does not affect the next one.
func TestRejectedBatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newFakeLedger(cola.TierPro)
		b.settle = sequence(fails)
		l := newLedger(t, b)
		want := []charged{{0, cola.CodeUnavailable, 0}, {20, "", 0}}
		if diff := cmp.Diff(want, []charged{charge(t, l), charge(t, l)}); diff != "" {
			t.Errorf("outcomes (-want +got):\n%s", diff)
		}
	})
}

// TestPrecheckDuringOutage checks that Precheck rejects work during an outage.
func TestPrecheckDuringOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newFakeLedger(cola.TierPro)
		b.settle = until(time.Now().Add(10*time.Second), hangs)
		l := newLedger(t, b)
		caller := request(key1, cola.MeterNone, 0).Caller
		if _, err := l.Precheck(Request{Caller: caller}); err != nil {
			t.Errorf("Precheck before the outage: error = %v, want nil", err)
		}
		charge(t, l)
		if _, err := l.Precheck(Request{Caller: caller}); cola.CodeOf(err) != cola.CodeUnavailable {
			t.Errorf("Precheck while down: error = %v, want unavailable", err)
		}
		time.Sleep(10 * time.Second)
		if _, err := l.Precheck(Request{Caller: caller}); err != nil {
			t.Errorf("Precheck after the outage: error = %v, want nil", err)
		}
	})
}

// TestHangingProbes checks that a probe that never returns does not keep the ledger down, and that
// the number of probes is bounded.
func TestHangingProbes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newFakeLedger(cola.TierPro)
		b.settle = sequence(stuck, stuck, works)
		l := newLedger(t, b)
		charge(t, l)
		time.Sleep(2*probeInterval + probeTimeout)
		synctest.Wait()
		if got := charge(t, l); got.Units != 20 {
			t.Errorf("charge with one hanging probe = %+v, want 20 units", got)
		}
		time.Sleep(2 * stuckFor)
	})
	synctest.Test(t, func(t *testing.T) {
		b := newFakeLedger(cola.TierPro)
		b.settle = until(time.Now().Add(stuckFor/2), stuck)
		l := newLedger(t, b)
		charge(t, l)
		time.Sleep(stuckFor / 2)
		if tries, _ := b.calls(); tries != 1+maxProbes {
			t.Errorf("Settle called %d times, want %d: one batch and the probes", tries, 1+maxProbes)
		}
		time.Sleep(stuckFor)
		if got := charge(t, l); got.Units != 20 {
			t.Errorf("charge after the store recovered = %+v, want 20 units", got)
		}
	})
}

func TestCloseWhileDown(t *testing.T) {
	for name, f := range map[string]fault{
		"refuses connections": lostBefore, "does not respond": hangs, "ignores the context": ignoresContext,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newFakeLedger(cola.TierPro)
				b.settle = always(f)
				l := newLedger(t, b)
				charge(t, l)
				time.Sleep(probeInterval + time.Millisecond) // a probe is in progress or has just failed
				start := time.Now()
				l.Close()
				if took := time.Since(start); took > closeTimeout {
					t.Errorf("Close took %v, want at most %v", took, closeTimeout)
				}
				if got := charge(t, l); got.Code != cola.CodeUnavailable || got.After != 0 {
					t.Errorf("charge after Close = %+v, want unavailable immediately", got)
				}
			})
		})
	}
}

// logRecorder is a log handler that records messages and attributes, except the duration of an
// outage.
type logRecorder struct {
	mu    sync.Mutex
	lines []string
}

func (p *logRecorder) Enabled(context.Context, slog.Level) bool { return true }
func (p *logRecorder) WithAttrs([]slog.Attr) slog.Handler       { return p }
func (p *logRecorder) WithGroup(string) slog.Handler            { return p }

func (p *logRecorder) Handle(_ context.Context, r slog.Record) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	line := r.Level.String() + " " + r.Message
	r.Attrs(func(a slog.Attr) bool {
		if a.Key != "after" {
			line += fmt.Sprintf(" %s=%v", a.Key, a.Value)
		}
		return true
	})
	p.lines = append(p.lines, line)
	return nil
}

// withoutInDoubt returns all lines except those about in-doubt batches.
func (p *logRecorder) withoutInDoubt() (list []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, line := range p.lines {
		if !strings.Contains(line, "in-doubt") && !strings.Contains(line, "in doubt") {
			list = append(list, line)
		}
	}
	return list
}

// failingStore is a store that fails for a while.
type failingStore struct {
	*fakeLedger
	until   time.Time // when the store recovers
	hangsAt time.Time // from this time until the store recovers, it does not respond before the context ends
	reason  error     // returned before hangsAt
	probed  bool      // whether probes (empty batches) succeed in the meantime
}

func (r failingStore) Settle(
	ctx context.Context, b store.Batch, decide func(time.Time, []store.AccountState) []store.Entry,
) error {
	switch now := time.Now(); {
	case !now.Before(r.until), r.probed && len(b.Accounts) == 0:
		return r.fakeLedger.Settle(ctx, b, decide)
	case !now.Before(r.hangsAt):
		<-ctx.Done()
		return unavailable("settle: no response")
	}
	return r.reason
}

// TestFailureLog checks that the log contains the store's reason for an uncommitted batch, not the
// timeout, unless the store did not respond. Later batches are only counted.
func TestFailureLog(t *testing.T) {
	unavailable := fmt.Errorf("password authentication failed: %w", store.ErrUnavailable)
	const down = "WARN ledger down; refusing charges error="
	for name, c := range map[string]struct {
		hangsAt time.Duration // when the store stops responding
		outage  time.Duration
		reason  error
		probed  bool // probes still succeed
		want    []string
	}{
		"connection refused throughout": {time.Hour, 30 * time.Second, unavailable, false, []string{
			"WARN ledger batch outcome unknown; retrying charges=1 error=" + unavailable.Error(),
			down + unavailable.Error(),
			"ERROR ledger batch not committed charges=1 error=" + unavailable.Error(),
			"INFO ledger up",
		}},
		"connection refused, then no response": {500 * time.Millisecond, 30 * time.Second, unavailable, false, []string{
			"WARN ledger batch outcome unknown; retrying charges=1 error=" + unavailable.Error(),
			down + unavailable.Error(),
			"ERROR ledger batch not committed charges=1 error=" + unavailable.Error(),
			"INFO ledger up",
		}},
		"no response": {0, 30 * time.Second, nil, false, []string{
			"ERROR ledger batch not committed charges=1 error=no response from the store within 5s",
			down + "no response from the store within 5s",
			"INFO ledger up",
		}},
		"broken for seconds": {time.Hour, 3 * time.Second, errors.New("disk on fire"), false, []string{
			"ERROR ledger batch not committed charges=1 error=disk on fire",
			"INFO ledger batch commits recovered failed_batches=3 failed_charges=3",
		}},
		"up and down": {time.Hour, 12 * time.Second, unavailable, true, []string{
			"WARN ledger batch outcome unknown; retrying charges=1 error=" + unavailable.Error(),
			down + unavailable.Error(),
			"ERROR ledger batch not committed charges=1 error=" + unavailable.Error(),
			"INFO ledger up",
			down + unavailable.Error(),
			"INFO ledger up",
			"INFO ledger batch commits recovered failed_batches=2 failed_charges=2",
		}},
		"broken for minutes": {time.Hour, 2*time.Minute + time.Second, errors.New("disk on fire"), false, []string{
			"ERROR ledger batch not committed charges=1 error=disk on fire",
			"ERROR ledger batches still not committed batches=61 charges=61 error=disk on fire",
			"ERROR ledger batches still not committed batches=121 charges=121 error=disk on fire",
			"INFO ledger batch commits recovered failed_batches=121 failed_charges=121",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start, log := time.Now(), &logRecorder{}
				r := failingStore{newFakeLedger(cola.TierPro), start.Add(c.outage), start.Add(c.hangsAt), c.reason, c.probed}
				l := New(r, Options{Logger: slog.New(log)})
				defer l.Close()
				for time.Since(start) < c.outage {
					next := time.Now().Add(time.Second)
					charge(t, l)
					time.Sleep(time.Until(next))
				}
				time.Sleep(10 * time.Second)
				if got := charge(t, l); got.Units != 20 {
					t.Errorf("final charge = %+v, want 20 units", got)
				}
				if diff := cmp.Diff(c.want, log.withoutInDoubt()); diff != "" {
					t.Errorf("log (-want +got):\n%s", diff)
				}
			})
		})
	}
}
