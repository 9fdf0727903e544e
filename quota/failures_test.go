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

// protocol keeps the lines of a log with the attributes that a test may rely on.
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

// about returns the lines about batches and the ledger being down, without those about doubts.
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

// refusing is a store that fails in words of its own until an instant, at once or, later on, only when it is no longer waited
// for.
type refusing struct {
	*book
	until, silent time.Time
	reason        error
	probed        bool // batches of nobody's charges are committed
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

// TestReasonIsLogged: why a batch was not committed is what the store said, not that time was up, unless it said nothing. Of the
// batches that follow there is only a number.
func TestReasonIsLogged(t *testing.T) {
	away := fmt.Errorf("password authentication failed: %w", store.ErrUnavailable)
	const down = "WARN ledger down: the store does not commit, charges are refused error="
	for name, c := range map[string]struct {
		silent time.Duration // from when on there is no answer
		fails  time.Duration
		reason error
		probed bool // but probes are committed
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
