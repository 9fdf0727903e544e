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
	downMessage = "WARN ledger down: the store does not commit, charges are refused"
	upMessage   = "INFO ledger up: the store commits again"
)

// TestFailsFastWhileDown checks that, after the first charge has timed out, charges are refused at
// once, that the store sees only an occasional probe, and that charges succeed again soon after the
// store is back.
func TestFailsFastWhileDown(t *testing.T) {
	const outage = time.Minute
	tests := []struct {
		name  string
		fault fault
		first time.Duration // response time of the first charge
		back  time.Duration // maximum time from the store's return to the first grant
		tries int           // maximum calls of Settle during the outage
	}{
		{"refuses connections", lostBefore, chargeTimeout, probeInterval, 300},
		{"gives no answer", hangs, chargeTimeout, probeInterval + probeTimeout, 30},
		{"lets nobody begin", neverBegins, chargeTimeout, probeInterval + probeTimeout, 30},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b, log := newBook(cola.TierPro), newLogged()
				end := time.Now().Add(outage)
				b.settle = until(end, tt.fault)
				b.void = func(int) fault { return b.settle(0, store.Batch{}) }
				l := newLoggedLedger(t, b, log.logger())
				want := charged{0, cola.CodeUnavailable, tt.first}
				if diff := cmp.Diff(want, charge(t, l)); diff != "" {
					t.Errorf("first charge (-want +got):\n%s", diff)
				}
				for time.Now().Before(end) {
					if diff := cmp.Diff(charged{0, cola.CodeUnavailable, 0}, charge(t, l)); diff != "" {
						t.Fatalf("while down (-want +got):\n%s", diff)
					}
					time.Sleep(50 * time.Millisecond)
				}
				if tries, _ := b.calls(); tries > tt.tries {
					t.Errorf("the store was asked %d times in %v, want at most %d", tries, outage, tt.tries)
				}
				time.Sleep(time.Until(end.Add(tt.back)))
				synctest.Wait()
				if got := charge(t, l); got.Units != 20 {
					t.Errorf("%v after the store came back: %+v, want 20 units", tt.back, got)
				}
				if down, up := log.count(downMessage), log.count(upMessage); down != 1 || up != 1 {
					t.Errorf("logged %d times down, %d times up; want once each", down, up)
				}
			})
		})
	}
}

// TestQueueIsRefusedWhileABatchFails checks that charges queued behind a failing batch are refused
// after a second, while the batch itself is still tried and is granted if the store returns in
// time.
func TestQueueIsRefusedWhileABatchFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBook(cola.TierPro)
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
			t.Errorf("answers (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(charged{20, "", 0}, charge(t, l)); diff != "" {
			t.Errorf("right afterwards (-want +got):\n%s", diff)
		}
		if got := b.used(7).ListRecords; got != 40 {
			t.Errorf("ledger %d, want the 40 that were granted", got)
		}
	})
}

// TestShortFailureIsNoOutage checks that a failure of under a second delays charges but refuses
// none.
func TestShortFailureIsNoOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, log := newBook(cola.TierPro), newLogged()
		b.settle = until(time.Now().Add(openAfter-retryPause), lostAfter)
		l := newLoggedLedger(t, b, log.logger())
		var wg sync.WaitGroup
		for range 5 {
			wg.Go(func() {
				if got := charge(t, l); got.Units != 20 {
					t.Errorf("got %+v, want 20 units", got)
				}
			})
		}
		wg.Wait()
		if n := log.count(downMessage); n != 0 {
			t.Errorf("logged %d times that it is down", n)
		}
		if got := b.used(7).ListRecords; got != 100 {
			t.Errorf("ledger %d, want the 100 that were granted", got)
		}
	})
}

// TestBrokenBatchIsNoOutage checks that a batch that the store rejects does not affect the next
// one.
func TestBrokenBatchIsNoOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBook(cola.TierPro)
		b.settle = inTurn(breaks)
		l := newLedger(t, b)
		want := []charged{{0, cola.CodeUnavailable, 0}, {20, "", 0}}
		if diff := cmp.Diff(want, []charged{charge(t, l), charge(t, l)}); diff != "" {
			t.Errorf("answers (-want +got):\n%s", diff)
		}
	})
}

// TestPrecheckKnowsAnOutage checks that Precheck refuses work during an outage.
func TestPrecheckKnowsAnOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBook(cola.TierPro)
		b.settle = until(time.Now().Add(10*time.Second), hangs)
		l := newLedger(t, b)
		caller := request(key1, cola.MeterNone, 0).Caller
		if _, err := l.Precheck(Request{Caller: caller}); err != nil {
			t.Errorf("before anything failed: %v", err)
		}
		charge(t, l)
		if _, err := l.Precheck(Request{Caller: caller}); cola.CodeOf(err) != cola.CodeUnavailable {
			t.Errorf("while down: %v, want unavailable", err)
		}
		time.Sleep(10 * time.Second)
		if _, err := l.Precheck(Request{Caller: caller}); err != nil {
			t.Errorf("up again: %v", err)
		}
	})
}

// TestHeldProbes checks that a probe that never returns does not keep the ledger down, and that the
// number of probes is bounded.
func TestHeldProbes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBook(cola.TierPro)
		b.settle = inTurn(stuck, stuck, works)
		l := newLedger(t, b)
		charge(t, l)
		time.Sleep(2*probeInterval + probeTimeout)
		synctest.Wait()
		if got := charge(t, l); got.Units != 20 {
			t.Errorf("with one probe held up and another through: %+v, want 20 units", got)
		}
		time.Sleep(2 * stuckFor)
	})
	synctest.Test(t, func(t *testing.T) {
		b := newBook(cola.TierPro)
		b.settle = until(time.Now().Add(stuckFor/2), stuck)
		l := newLedger(t, b)
		charge(t, l)
		time.Sleep(stuckFor / 2)
		if tries, _ := b.calls(); tries != 1+maxProbes {
			t.Errorf("asked to settle %d times, want once and %d probes", tries, maxProbes)
		}
		time.Sleep(stuckFor)
		if got := charge(t, l); got.Units != 20 {
			t.Errorf("once the store lets go: %+v, want 20 units", got)
		}
	})
}

func TestCloseWhileDown(t *testing.T) {
	for name, f := range map[string]fault{"refuses connections": lostBefore, "gives no answer": hangs, "is deaf": deaf} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBook(cola.TierPro)
				b.settle = always(f)
				l := newLedger(t, b)
				charge(t, l)
				time.Sleep(probeInterval + time.Millisecond) // a probe is in progress or has just failed
				begun := time.Now()
				l.Close()
				if took := time.Since(begun); took > closeTimeout {
					t.Errorf("closing took %v, want at most %v", took, closeTimeout)
				}
				if got := charge(t, l); got.Code != cola.CodeUnavailable || got.After != 0 {
					t.Errorf("after closing: %+v, want unavailable at once", got)
				}
			})
		})
	}
}

// protocol is a log handler that records messages and attributes, except the duration of an outage.
type protocol struct {
	mu    sync.Mutex
	lines []string
}

func (p *protocol) Enabled(context.Context, slog.Level) bool { return true }
func (p *protocol) WithAttrs([]slog.Attr) slog.Handler       { return p }
func (p *protocol) WithGroup(string) slog.Handler            { return p }

func (p *protocol) Handle(_ context.Context, r slog.Record) error {
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

// about returns the lines about batches and outages, without those about batches in doubt.
func (p *protocol) about() (list []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, line := range p.lines {
		if !strings.Contains(line, "in doubt") {
			list = append(list, line)
		}
	}
	return list
}

// refusing is a store that fails with a given reason until an instant. From silent on, it fails
// only when the context ends.
type refusing struct {
	*book
	until, silent time.Time
	reason        error
	probed        bool // empty batches, which are probes, succeed
}

func (r refusing) Settle(ctx context.Context, b store.Batch, decide func(time.Time, []store.AccountState) []store.Entry) error {
	switch now := time.Now(); {
	case !now.Before(r.until), r.probed && len(b.Accounts) == 0:
		return r.book.Settle(ctx, b, decide)
	case !now.Before(r.silent):
		<-ctx.Done()
		return unavailable("settle: no answer")
	}
	return r.reason
}

// TestReasonIsLogged checks that the log gives the store's reason for an uncommitted batch, not the
// timeout, unless the store did not respond. Later batches are only counted.
func TestReasonIsLogged(t *testing.T) {
	away := fmt.Errorf("password authentication failed: %w", store.ErrUnavailable)
	const down = "WARN ledger down: the store does not commit, charges are refused error="
	for name, c := range map[string]struct {
		silent time.Duration // when the store stops responding
		fails  time.Duration
		reason error
		probed bool // probes succeed nevertheless
		want   []string
	}{
		"refused all the time": {time.Hour, 30 * time.Second, away, false, []string{
			"WARN ledger batch unclear, settling it again charges=1 error=" + away.Error(),
			down + away.Error(),
			"ERROR ledger batch not committed charges=1 error=" + away.Error(),
			"INFO ledger up: the store commits again",
		}},
		"refused, then silent": {500 * time.Millisecond, 30 * time.Second, away, false, []string{
			"WARN ledger batch unclear, settling it again charges=1 error=" + away.Error(),
			down + away.Error(),
			"ERROR ledger batch not committed charges=1 error=" + away.Error(),
			"INFO ledger up: the store commits again",
		}},
		"silent": {0, 30 * time.Second, nil, false, []string{
			"ERROR ledger batch not committed charges=1 error=the store gave no answer within 5s",
			down + "the store gave no answer within 5s",
			"INFO ledger up: the store commits again",
		}},
		"broken for a while": {time.Hour, 3 * time.Second, errors.New("disk on fire"), false, []string{
			"ERROR ledger batch not committed charges=1 error=disk on fire",
			"INFO ledger batches are committed again failed_batches=3 failed_charges=3",
		}},
		"up and down": {time.Hour, 12 * time.Second, away, true, []string{
			"WARN ledger batch unclear, settling it again charges=1 error=" + away.Error(),
			down + away.Error(),
			"ERROR ledger batch not committed charges=1 error=" + away.Error(),
			"INFO ledger up: the store commits again",
			down + away.Error(),
			"INFO ledger up: the store commits again",
			"INFO ledger batches are committed again failed_batches=2 failed_charges=2",
		}},
		"broken for minutes": {time.Hour, 2*time.Minute + time.Second, errors.New("disk on fire"), false, []string{
			"ERROR ledger batch not committed charges=1 error=disk on fire",
			"ERROR ledger batches still not committed batches=61 charges=61 error=disk on fire",
			"ERROR ledger batches still not committed batches=121 charges=121 error=disk on fire",
			"INFO ledger batches are committed again failed_batches=121 failed_charges=121",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				begun, log := time.Now(), &protocol{}
				r := refusing{newBook(cola.TierPro), begun.Add(c.fails), begun.Add(c.silent), c.reason, c.probed}
				l := New(r, Options{Logger: slog.New(log)})
				defer l.Close()
				for time.Since(begun) < c.fails {
					next := time.Now().Add(time.Second)
					charge(t, l)
					time.Sleep(time.Until(next))
				}
				time.Sleep(10 * time.Second)
				if got := charge(t, l); got.Units != 20 {
					t.Errorf("in the end: %+v, want 20 units", got)
				}
				if diff := cmp.Diff(c.want, log.about()); diff != "" {
					t.Errorf("log (-want +got):\n%s", diff)
				}
			})
		})
	}
}
