package quota

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"pgregory.net/rapid"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

// pacedLedger is a fakeLedger that takes a fixed time per batch plus a time per account.
type pacedLedger struct {
	*fakeLedger
	fixed, each time.Duration
	stall       time.Duration // additional time for the next batch
}

func (b *pacedLedger) Settle(
	ctx context.Context, batch store.Batch, decide func(time.Time, []store.AccountState) []store.Entry,
) error {
	time.Sleep(b.fixed + b.each*time.Duration(len(batch.Accounts)) + b.stall)
	b.stall = 0
	return b.fakeLedger.Settle(ctx, batch, decide)
}

// response is the outcome of a charge.
type response struct {
	account cola.AccountID
	at      time.Duration // when the charge was sent
	took    time.Duration
	err     error
}

// arrive charges a list record to a new account once per interval for d, and returns the responses.
func arrive(l *Ledger, interval, d time.Duration) []response {
	var mu sync.Mutex
	var responses []response
	var wg sync.WaitGroup
	for at := time.Duration(0); at < d; at += interval {
		id := cola.AccountID(1000 + at/interval)
		wg.Go(func() {
			start := time.Now()
			_, err := l.Charge(context.Background(), requestOf(id))
			mu.Lock()
			defer mu.Unlock()
			responses = append(responses, response{id, at, time.Since(start), err})
		})
		time.Sleep(interval)
	}
	wg.Wait()
	return responses
}

func requestOf(id cola.AccountID) Request {
	q := request(key1, cola.MeterListRecords, 1)
	q.Caller.Account = id
	return q
}

func isOverloaded(err error) bool {
	return cola.CodeOf(err) == cola.CodeUnavailable && reason(err) == cola.ReasonOverloaded
}

// TestOverload checks that at twice the rate that the store can sustain, the excess is rejected
// immediately and without a charge, the rest is charged within a second, and as many charges are
// accepted as the store can take.
func TestOverload(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &pacedLedger{fakeLedger: newFakeLedger(cola.TierPro), fixed: 10 * time.Millisecond, each: time.Millisecond}
		registry := prometheus.NewRegistry()
		l := New(b, Options{Metrics: registry})
		defer l.Close()
		const d = 4 * time.Second
		rejected, accepted := 0, 0
		for _, r := range arrive(l, 500*time.Microsecond, d) {
			charged := b.used(r.account).ListRecords
			if r.err == nil {
				accepted++
				if r.took > time.Second || charged != 1 {
					t.Errorf("account %d, accepted after %v, charged %d; want within a second, 1", r.account, r.took, charged)
				}
				continue
			}
			rejected++
			var e *cola.Error
			if !isOverloaded(r.err) || !errors.As(r.err, &e) || e.RetryAfter < time.Second || e.RetryAfter > cola.UnavailableRetry ||
				r.took != 0 || charged != 0 {
				t.Errorf("account %d, rejected after %v, charged %d: %v", r.account, r.took, charged, r.err)
			}
		}
		if sustainable := int(d / b.each); accepted < sustainable*9/10 || rejected == 0 {
			t.Errorf("accepted %d, rejected %d; want about %d accepted", accepted, rejected, sustainable)
		}
		checkMetrics(t, registry, map[string]float64{
			"ledger_overload_rejections_total": float64(rejected), "ledger_queue_length": 0, "ledger_queue_seconds": 0,
		}, "ledger_overload_rejections_total", "ledger_queue_length", "ledger_queue_seconds")
		if got := charge(t, l); got.Units != 20 || got.After > 20*time.Millisecond {
			t.Errorf("charge after the overload = %+v, want 20 units after one short batch", got)
		}
	})
}

// TestEnter checks that a limited number of requests are in progress at a time, that others wait
// their turn, and that a request is rejected if it waits too long or too many are waiting.
func TestEnter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := New(newFakeLedger(cola.TierPro), Options{})
		defer l.Close()
		var leave func()
		for n := range cap(l.working) {
			var err error
			if leave, err = l.Enter(t.Context()); err != nil {
				t.Fatalf("request %d: error = %v, want nil", n+1, err)
			}
		}
		entered := make(chan error, 1)
		enter := func(ctx context.Context) {
			_, err := l.Enter(ctx)
			entered <- err
		}
		go enter(t.Context())
		synctest.Wait()
		if l.Overloaded() != nil {
			t.Error("overloaded while one request is waiting")
		}
		leave()
		if err := <-entered; err != nil {
			t.Errorf("waiting request: error = %v, want nil once another one ended", err)
		}
		start := time.Now()
		if _, err := l.Enter(t.Context()); !isOverloaded(err) || time.Since(start) != chargeTimeout {
			t.Errorf("request that waited too long: error = %v after %v", err, time.Since(start))
		}
		ctx, cancel := context.WithCancel(t.Context())
		go enter(ctx)
		synctest.Wait()
		cancel()
		if err := <-entered; !errors.Is(err, context.Canceled) {
			t.Errorf("request whose client disconnected: error = %v", err)
		}
		if n := l.waiting.Load(); n != 0 {
			t.Errorf("%d requests are waiting, want 0", n)
		}
		l.waiting.Store(l.maxWaiting)
		start = time.Now()
		if _, err := l.Enter(t.Context()); !isOverloaded(err) || !isOverloaded(l.Overloaded()) || time.Since(start) != 0 {
			t.Errorf("too many waiting: error = %v after %v, overloaded: %v; want immediate rejections", err, time.Since(start), l.Overloaded())
		}
		if n := l.waiting.Load(); n != l.maxWaiting {
			t.Errorf("%d requests are waiting after a rejection, want %d", n, l.maxWaiting)
		}
	})
}

// TestStall checks that charges that arrive while one batch is slow are accepted, and that the
// stall does not cause rejections afterward.
func TestStall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &pacedLedger{fakeLedger: newFakeLedger(cola.TierPro), fixed: time.Millisecond, each: 100 * time.Microsecond}
		l := New(b, Options{})
		defer l.Close()
		const stall = 2 * time.Second
		arrive(l, time.Millisecond, 200*time.Millisecond)
		b.stall = stall
		for _, r := range arrive(l, time.Millisecond, 5*time.Second) {
			if r.err != nil {
				t.Errorf("charge at %v: error = %v, want nil", r.at, r.err)
			}
			if r.at > stall+time.Second && r.took > 10*time.Millisecond {
				t.Errorf("charge at %v, a second after the stall, took %v", r.at, r.took)
			}
		}
	})
}

// TestFairness checks that an account with hundreds of waiting charges delays another account's
// charge by no more than the batch that is being settled.
func TestFairness(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &pacedLedger{fakeLedger: newFakeLedger(cola.TierPro), fixed: 100 * time.Millisecond}
		l := New(b, Options{})
		var wg sync.WaitGroup
		for range 400 {
			wg.Go(func() { _, _ = l.Charge(t.Context(), requestOf(8)) }) // most exceed the rate limit
		}
		synctest.Wait()
		start := time.Now()
		if _, err := l.Charge(t.Context(), requestOf(9)); err != nil || time.Since(start) > 2*b.fixed {
			t.Errorf("another account's charge: error = %v after %v, want nil within %v", err, time.Since(start), 2*b.fixed)
		}
		wg.Wait()
		l.Close()
	})
}

// TestCancelWhileQueued checks that a canceled charge leaves the queue at once, is not
// charged, and leaves the order of the others unchanged.
func TestCancelWhileQueued(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &pacedLedger{fakeLedger: newFakeLedger(cola.TierPro), fixed: time.Second}
		l := New(b, Options{})
		var wg sync.WaitGroup
		send := func(ctx context.Context, units int) *response {
			r := &response{}
			wg.Go(func() {
				q, start := requestOf(7), time.Now()
				q.Units = units
				_, r.err = l.Charge(ctx, q)
				r.took = time.Since(start)
			})
			synctest.Wait()
			return r
		}
		impatient, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		taken := send(impatient, 1) // cannot be canceled anymore
		queued := []*response{
			send(impatient, 10), send(t.Context(), 100), send(impatient, 10), send(t.Context(), 1000), send(impatient, 10),
		}
		if n := l.queue.len(); n != len(queued) {
			t.Errorf("%d charges are queued, want %d", n, len(queued))
		}
		time.Sleep(200 * time.Millisecond)
		if n := l.queue.len(); n != 2 {
			t.Errorf("%d charges are queued after three were canceled, want 2", n)
		}
		wg.Wait()
		l.Close()
		if taken.err != nil || taken.took != time.Second {
			t.Errorf("charge in the running batch: %v after %v, want a grant after %v", taken.err, taken.took, b.fixed)
		}
		for i, r := range queued {
			if canceled := i%2 == 0; canceled != errors.Is(r.err, context.DeadlineExceeded) || canceled && r.took > 100*time.Millisecond {
				t.Errorf("queued charge %d: error = %v after %v", i, r.err, r.took)
			}
		}
		if got := b.used(7).ListRecords; got != 1101 {
			t.Errorf("usage = %d, want 1101: nothing for canceled charges", got)
		}
	})
}

// TestCloseDrainsQueue checks that Close settles the charges that are waiting behind a batch.
func TestCloseDrainsQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &pacedLedger{fakeLedger: newFakeLedger(cola.TierPro), fixed: time.Second}
		l := New(b, Options{})
		var wg sync.WaitGroup
		for id := range cola.AccountID(100) {
			wg.Go(func() {
				if _, err := l.Charge(t.Context(), requestOf(id)); err != nil {
					t.Errorf("charge to account %d: %v", id, err)
				}
			})
			synctest.Wait()
		}
		l.Close()
		wg.Wait()
		if err := l.queue.add(&pending{}); cola.CodeOf(err) != cola.CodeUnavailable || isOverloaded(err) {
			t.Errorf("add to a closed queue: error = %v, want unavailable", err)
		}
	})
}

// mustAdd queues a charge to an account.
func mustAdd(t *testing.T, q *queue, id cola.AccountID) {
	t.Helper()
	if err := q.add(&pending{request: requestOf(id)}); err != nil {
		t.Fatalf("add a charge to account %d: %v", id, err)
	}
}

// TestQueueBound checks that the queue is bounded while nothing is committed, and that accounts
// that send as much as they can leave room for others.
func TestQueueBound(t *testing.T) {
	q := newQueue()
	rejected := map[cola.AccountID]bool{}
	for len(rejected) < 100 {
		for id := range cola.AccountID(100) {
			if err := q.add(&pending{request: requestOf(id)}); err != nil {
				if !isOverloaded(err) {
					t.Fatalf("add to a full queue: error = %v", err)
				}
				rejected[id] = true
			}
		}
	}
	if n := q.len(); n > maxQueued-maxQueued/10 {
		t.Errorf("100 accounts have queued %d charges, want room for others", n)
	}
	mustAdd(t, q, 1000)
	for id := cola.AccountID(1001); q.add(&pending{request: requestOf(id)}) == nil; id++ {
	}
	if n := q.len(); n != maxQueued {
		t.Errorf("%d charges are queued, want %d", n, maxQueued)
	}
	if n := len(q.take()); n != maxBatch {
		t.Errorf("batch of %d charges, want %d", n, maxBatch)
	}
	mustAdd(t, q, 1000)
}

// TestRetryAfterOverload checks that Retry-After is the estimated time until the waiting charges
// are committed, within the bounds of cola.Overloaded.
func TestRetryAfterOverload(t *testing.T) {
	for each, want := range map[time.Duration]time.Duration{
		time.Millisecond:       time.Second,             // half a second of charges, rounded up
		4 * time.Millisecond:   2048 * time.Millisecond, // minAccounts
		100 * time.Millisecond: cola.UnavailableRetry,
	} {
		q := newQueue()
		q.pace = paceOf(0, each)
		id := cola.AccountID(1)
		for q.admit(id) == nil {
			mustAdd(t, q, id)
			id++
		}
		var e *cola.Error
		if err := q.admit(id); !errors.As(err, &e) || (e.RetryAfter-want).Abs() > want/10 {
			t.Errorf("%v per account: Retry-After = %v, want %v", each, e.RetryAfter, want)
		}
	}
}

// TestQueueOrder checks that take returns charges to different accounts in turn, and those to the
// same account in order of arrival, after any sequence of calls.
func TestQueueOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		q := newQueue()
		var waiting []*pending // in order of arrival
		var turns []cola.AccountID
		n := 0
		t.Repeat(map[string]func(*rapid.T){
			"add": func(t *rapid.T) {
				id := cola.AccountID(rapid.IntRange(1, 4).Draw(t, "account"))
				p := &pending{request: requestOf(id)}
				p.request.Units = n
				n++
				if err := q.add(p); err != nil {
					t.Fatal(err)
				}
				waiting = append(waiting, p)
				if !slices.Contains(turns, id) {
					turns = append(turns, id)
				}
			},
			"remove": func(t *rapid.T) {
				if len(waiting) == 0 {
					t.Skip("empty")
				}
				i := rapid.IntRange(0, len(waiting)-1).Draw(t, "index")
				p := waiting[i]
				if !q.remove(p) || q.remove(p) {
					t.Fatal("remove must succeed exactly once")
				}
				waiting = slices.Delete(waiting, i, i+1)
				id := p.request.Caller.Account
				if !slices.ContainsFunc(waiting, func(p *pending) bool { return p.request.Caller.Account == id }) {
					turns = slices.DeleteFunc(turns, func(other cola.AccountID) bool { return other == id })
				}
			},
			"take": func(t *rapid.T) {
				var want []string
				for len(waiting) > 0 {
					id := turns[0]
					i := slices.IndexFunc(waiting, func(p *pending) bool { return p.request.Caller.Account == id })
					if turns = turns[1:]; i >= 0 {
						want = append(want, name(waiting[i]))
						waiting = slices.Delete(waiting, i, i+1)
						turns = append(turns, id)
					}
				}
				turns = nil
				var got []string
				for _, p := range q.take() {
					got = append(got, name(p))
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Fatalf("batch (-want +got):\n%s", diff)
				}
			},
			"": func(t *rapid.T) {
				if q.len() != len(waiting) {
					t.Fatalf("%d charges are queued, want %d", q.len(), len(waiting))
				}
			},
		})
	})
}

// name identifies a charge in a test by its account and units.
func name(p *pending) string { return fmt.Sprint(p.request.Caller.Account, "/", p.request.Units) }
