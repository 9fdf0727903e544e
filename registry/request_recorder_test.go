package registry

import (
	"context"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

// fakeRequestStore records requests. It fails for requests that can't be stored, and on demand.
type fakeRequestStore struct {
	store.RequestLog
	faultyStore
	requests []store.RecordedRequest
	gaps     map[gapKey]store.RequestGap
}

func (n *fakeRequestStore) RecordRequests(ctx context.Context, requests []store.RecordedRequest, gaps []store.RequestGap) error {
	if err := n.called(ctx, len(requests)); err != nil {
		return err
	}
	for _, r := range requests {
		if err := r.Check(); err != nil {
			return err
		}
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.requests = append(n.requests, requests...)
	for _, g := range gaps {
		key := gapKey{g.Account, g.Hour.Unix() / 3600}
		g.Successes += n.gaps[key].Successes
		g.Errors += n.gaps[key].Errors
		if n.gaps == nil {
			n.gaps = map[gapKey]store.RequestGap{}
		}
		n.gaps[key] = g
	}
	return nil
}

// totals returns the number of calls and recorded requests, and the sums of the gaps.
func (n *fakeRequestStore) totals() (calls, requests, successes, failures int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, g := range n.gaps {
		successes += g.Successes
		failures += g.Errors
	}
	return len(n.calls), len(n.requests), successes, failures
}

func newTestRequestRecorder(n *fakeRequestStore) *requestRecorder {
	return newRequestRecorder(n, 7, time.Now, slog.New(slog.DiscardHandler), newRequestLogMetrics(nil))
}

// sent records an account's request with the given status.
func (r *requestRecorder) sent(account, status int) {
	r.record(cola.AccountID(account), status >= 400, func() cola.LoggedRequest {
		return cola.LoggedRequest{Status: status, Duration: time.Second}
	})
}

func (r *requestRecorder) counts() [3]float64 {
	return [3]float64{testutil.ToFloat64(r.metrics.recorded), testutil.ToFloat64(r.metrics.sampled), testutil.ToFloat64(r.metrics.dropped)}
}

// TestRequestsWritten checks that requests are written together after an interval, in batches, with
// their arrival and expiry times.
func TestRequestsWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := &fakeRequestStore{}
		r := newTestRequestRecorder(n)
		start := time.Now()
		for account := range 250 {
			r.sent(account, 200)
		}
		time.Sleep(requestInterval - time.Nanosecond)
		synctest.Wait()
		if calls, _, _, _ := n.totals(); calls != 0 {
			t.Errorf("%d writes before the interval", calls)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if diff := cmp.Diff([]int{100, 100, 50}, n.calls); diff != "" {
			t.Errorf("batches (-want +got):\n%s", diff)
		}
		want := store.RecordedRequest{
			Account: 1, ExpiresAt: start.Add(7*24*time.Hour - time.Second), // measured from the arrival
			LoggedRequest: cola.LoggedRequest{Status: 200, Duration: time.Second, At: start.Add(-time.Second)},
		}
		if diff := cmp.Diff(want, n.requests[1]); diff != "" {
			t.Errorf("request (-want +got):\n%s", diff)
		}
		r.close()
		if got := r.counts(); got != [3]float64{250, 0, 0} {
			t.Errorf("metrics = %v", got)
		}
	})
}

// TestRequestSampling checks that an account's requests are recorded up to a rate, and errors
// beyond it up to a second rate, that other accounts are unaffected, and that every request is
// counted.
func TestRequestSampling(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := &fakeRequestStore{}
		r := newTestRequestRecorder(n)
		start := time.Now().UTC() // synctest bubbles start on a whole hour
		described := 0
		for range requestBurst + 10 {
			r.record(1, false, func() cola.LoggedRequest { described++; return cola.LoggedRequest{Status: 200} })
		}
		if described != requestBurst {
			t.Errorf("%d requests described, want %d", described, requestBurst)
		}
		for range errorBurst + 20 {
			r.sent(1, 404)
		}
		r.sent(2, 200)
		time.Sleep(time.Minute)
		check := func(requests, successes, failures int) {
			t.Helper()
			if _, a, b, c := n.totals(); a != requests || b != successes || c != failures {
				t.Errorf("%d recorded, %d successes and %d errors left out; want %d, %d, %d", a, b, c, requests, successes, failures)
			}
		}
		check(requestBurst+errorBurst+1, 10, 20)
		if g := n.gaps[gapKey{1, start.Unix() / 3600}]; !g.Hour.Equal(start) || g.Account != 1 || !g.ExpiresAt.After(start.Add(7*24*time.Hour)) {
			t.Errorf("gap = %+v", g)
		}
		for range 10 * 60 { // the long-term rate, for an hour
			time.Sleep(requestEvery)
			r.sent(1, 200)
		}
		time.Sleep(time.Minute)
		check(requestBurst+errorBurst+1+600, 10, 20)
		r.close()
		if got := r.counts(); got != [3]float64{requestBurst + errorBurst + 601, 30, 0} {
			t.Errorf("metrics = %v", got)
		}
	})
}

// TestFullRequestQueue checks that requests that don't fit in memory are dropped and counted,
// including during a write, and that waiting requests are written once the database recovers.
func TestFullRequestQueue(t *testing.T) {
	for name, fail := range map[string]func(*fakeRequestStore){
		"the store fails": func(n *fakeRequestStore) { n.set(store.ErrUnavailable, false) },
		"the store hangs": func(n *fakeRequestStore) { n.set(nil, true) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := &fakeRequestStore{}
				r := newTestRequestRecorder(n)
				fail(n)
				for account := range maxPendingRequests - 10 {
					r.sent(account, 200)
				}
				time.Sleep(requestInterval + time.Millisecond) // a write is in progress or has failed
				for account := range 100 {
					r.sent(account, 500)
				}
				if got := r.counts(); got != [3]float64{0, 0, 90} {
					t.Errorf("metrics during or after the first write = %v", got)
				}
				time.Sleep(time.Minute)
				n.set(nil, false)
				time.Sleep(time.Minute)
				synctest.Wait()
				if _, requests, successes, failures := n.totals(); requests != maxPendingRequests || successes != 0 || failures != 90 {
					t.Errorf("%d recorded, %d and %d left out; want %d, 0 and 90", requests, successes, failures, maxPendingRequests)
				}
				if got := r.counts(); got != [3]float64{maxPendingRequests, 0, 90} {
					t.Errorf("metrics = %v", got)
				}
				if r.timer != nil || len(r.pending)+len(r.gaps) != 0 {
					t.Error("requests are still pending")
				}
				for account := range maxPendingRequests + 1 {
					r.sent(account, 200)
				}
				r.close()
				if got := r.counts(); got != [3]float64{2 * maxPendingRequests, 0, 91} {
					t.Errorf("metrics after filling the queue again = %v", got)
				}
			})
		})
	}
}

// TestUnstorableRequests checks that a request that can't be stored is counted as left out, and
// that the other requests in its batch are recorded.
func TestUnstorableRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := &fakeRequestStore{}
		r := newTestRequestRecorder(n)
		hour := time.Now().Unix() / 3600
		r.sent(1, 200)
		for _, text := range []string{"a\x00b", "\xff"} {
			r.record(2, true, func() cola.LoggedRequest { return cola.LoggedRequest{Status: 404, Target: text} })
		}
		r.sent(3, 200)
		time.Sleep(time.Minute)
		calls, requests, successes, failures := n.totals()
		if calls != 1 || requests != 2 || successes != 0 || failures != 2 || n.gaps[gapKey{2, hour}].Errors != 2 {
			t.Errorf("%d writes, %d recorded, %d successes and %d errors left out; want 1, 2, 0 and 2 for account 2",
				calls, requests, successes, failures)
		}
		r.close()
		if got := r.counts(); got != [3]float64{2, 0, 2} {
			t.Errorf("metrics = %v", got)
		}
	})
}

// TestRequestsAtShutdown checks that closing writes pending requests, and gives up after
// flushTimeout if the database does not respond.
func TestRequestsAtShutdown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := &fakeRequestStore{}
		r := newTestRequestRecorder(n)
		r.sent(1, 200)
		r.close()
		r.sent(1, 200)
		time.Sleep(time.Minute)
		if _, requests, _, _ := n.totals(); requests != 1 || r.counts() != [3]float64{1, 0, 1} {
			t.Errorf("%d recorded, metrics %v", requests, r.counts())
		}
		silent := newTestRequestRecorder(&fakeRequestStore{faultyStore: faultyStore{hangs: true}})
		silent.sent(1, 200)
		start := time.Now()
		silent.close()
		if took := time.Since(start); took != flushTimeout || silent.counts() != [3]float64{0, 0, 1} {
			t.Errorf("closed after %v, metrics %v", took, silent.counts())
		}
	})
}

// TestGapLimit checks that the counts in memory are limited.
func TestGapLimit(t *testing.T) {
	n := &fakeRequestStore{faultyStore: faultyStore{fault: store.ErrUnavailable}}
	r := newTestRequestRecorder(n)
	r.mu.Lock()
	for account := range maxPendingGaps + 10 {
		r.leaveOut(cola.AccountID(account), time.Now(), true)
	}
	gaps := len(r.gaps)
	r.mu.Unlock()
	if gaps != maxPendingGaps {
		t.Errorf("%d counts, want %d", gaps, maxPendingGaps)
	}
	n.set(nil, false)
	r.close()
}

// TestConcurrentRequests checks that no request is lost or recorded twice when goroutines record
// concurrently and writes fail.
func TestConcurrentRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := &fakeRequestStore{}
		r := newTestRequestRecorder(n)
		var all sync.WaitGroup
		for account := range 8 {
			all.Go(func() {
				for i := range 500 {
					r.sent(account, 200)
					time.Sleep(time.Duration(account+1) * 7 * time.Millisecond)
					if i%100 == 0 {
						n.set([]error{nil, store.ErrUnavailable}[i/100%2], false)
					}
				}
			})
		}
		all.Wait()
		n.set(nil, false)
		r.close()
		if _, requests, _, _ := n.totals(); requests != 8*500 {
			t.Errorf("%d recorded, want %d", requests, 8*500)
		}
	})
}
