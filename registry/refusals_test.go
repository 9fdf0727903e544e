package registry

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
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

// faultyStore counts writes, which fail or hang on demand.
type faultyStore struct {
	mu    sync.Mutex
	fault error
	hangs bool  // writes hang until the context ends
	calls []int // records per write
}

// called counts a write, and returns its error.
func (f *faultyStore) called(ctx context.Context, records int) error {
	f.mu.Lock()
	f.calls = append(f.calls, records)
	fault, hangs := f.fault, f.hangs
	f.mu.Unlock()
	if hangs {
		<-ctx.Done()
		return fmt.Errorf("%w: %v", store.ErrUnavailable, ctx.Err())
	}
	return fault
}

func (f *faultyStore) set(fault error, hangs bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.fault, f.hangs = fault, hangs
}

// fakeRefusalStore records refusals, or fails on demand.
type fakeRefusalStore struct {
	faultyStore
	sums map[store.AccountRefusal]int // keyed by refusal with zero Count and LastAt
}

func (n *fakeRefusalStore) RecordRefusals(ctx context.Context, refusals []store.AccountRefusal) error {
	if err := n.called(ctx, len(refusals)); err != nil {
		return err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.sums == nil {
		n.sums = map[store.AccountRefusal]int{}
	}
	for _, r := range refusals {
		count := r.Count
		r.Count, r.LastAt = 0, time.Time{}
		n.sums[r] += count
	}
	return nil
}

func (n *fakeRefusalStore) Refusals(context.Context, cola.AccountID, int) ([]store.Refusal, error) {
	return nil, nil
}

// counts returns the number of calls and the number of recorded requests.
func (n *fakeRefusalStore) counts() (calls, requests int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, count := range n.sums {
		requests += count
	}
	return len(n.calls), requests
}

func newTestRecorder(n *fakeRefusalStore) *refusalRecorder {
	return newRefusalRecorder(n, time.Now, slog.New(slog.DiscardHandler), newRefusalMetrics(nil))
}

// pendingKeys returns the number of distinct pending refusals, and whether a flush is scheduled.
func (r *refusalRecorder) pendingKeys() (keys int, scheduled bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.pending), r.timer != nil
}

func burstRefusal() error {
	return &cola.Error{Code: cola.CodeQuotaExceeded, Details: map[string]any{"reason": RefusedBurst}}
}

func callerOfAccount(n int) cola.Caller {
	return cola.Caller{Account: cola.AccountID(n), Credential: cola.Credential{Kind: cola.CredentialKey, ID: int64(n)}, Channel: cola.ChannelREST}
}

// TestRejectionReason checks the reason reported to account holders for each error, and which
// errors are not reported.
func TestRejectionReason(t *testing.T) {
	quotaError := func(reason string) error {
		return &cola.Error{Code: cola.CodeQuotaExceeded, Details: map[string]any{"reason": reason}}
	}
	for _, tt := range []struct {
		err               error
		want, inDashboard string
	}{
		{quotaError("burst"), RefusedBurst, RefusedBurst},
		{quotaError("detail_views"), RefusedDetailViews, RefusedDetailViews},
		{fmt.Errorf("search: %w", quotaError("list_records")), RefusedListRecords, RefusedListRecords},
		{quotaError("confirmations"), "", ""},
		{cola.InsufficientScope(cola.ScopeWriteSavedSearches), RefusedScope, ""},
		{cola.Errorf(cola.CodeUnauthorized, "Ended."), RefusedCredential, ""},
		{cola.Errorf(cola.CodeAccountSuspended, "Suspended."), RefusedSuspended, ""},
		{cola.Errorf(cola.CodeNotFound, "None."), "", ""},
		{cola.Unavailable(), "", ""},
		{context.Canceled, "", ""},
		{nil, "", ""},
	} {
		for channel, want := range map[cola.Channel]string{cola.ChannelREST: tt.want, cola.ChannelMCP: tt.want, cola.ChannelDashboard: tt.inDashboard} {
			got, ok := refusalReason(cola.Caller{Channel: channel}, tt.err)
			if ok != (want != "") || ok && got != want {
				t.Errorf("refusalReason(%v) over %s = %q, %t; want %q", tt.err, channel, got, ok, want)
			}
		}
	}
}

// TestRejectionTotals checks that refusals are summed by account, minute, channel, credential and
// reason, and written after flushInterval, with no earlier or empty writes.
func TestRejectionTotals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := &fakeRefusalStore{}
		r := newTestRecorder(n)
		one, other := callerOfAccount(1), callerOfAccount(2)
		app := one
		app.Credential.Kind, app.Channel = cola.CredentialLink, cola.ChannelMCP
		start := time.Now().UTC() // synctest bubbles start on a whole minute
		for range 3 {
			r.record(one, burstRefusal())
		}
		r.record(other, burstRefusal())
		r.record(app, burstRefusal())
		r.record(one, cola.Errorf(cola.CodeUnauthorized, "Ended."))
		r.record(one, cola.Errorf(cola.CodeNotFound, "None."))
		time.Sleep(flushInterval - time.Nanosecond)
		synctest.Wait()
		if calls, _ := n.counts(); calls != 0 {
			t.Errorf("%d calls before the interval, want 0", calls)
		}
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		time.Sleep(time.Minute)
		r.record(one, burstRefusal())
		r.close()
		at := func(minute int, c cola.Caller, reason string) store.AccountRefusal {
			return store.AccountRefusal{Account: c.Account, Refusal: store.Refusal{
				Minute: start.Add(time.Duration(minute) * time.Minute), Channel: c.Channel, Credential: c.Credential, Reason: reason,
			}}
		}
		want := map[store.AccountRefusal]int{
			at(0, one, RefusedBurst): 3, at(0, other, RefusedBurst): 1, at(0, app, RefusedBurst): 1, at(0, one, RefusedCredential): 1, at(1, one, RefusedBurst): 1,
		}
		if diff := cmp.Diff(want, n.sums); diff != "" {
			t.Errorf("stored sums (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff([]int{4, 1}, n.calls); diff != "" {
			t.Errorf("calls (-want +got):\n%s", diff)
		}
		if got := testutil.ToFloat64(r.metrics.recorded); got != 7 {
			t.Errorf("recorded = %v, want 7", got)
		}
	})
}

// TestRejectionStoreErrors checks that refusals that the store could not write are kept, merged
// with later ones, and written when the store works again.
func TestRejectionStoreErrors(t *testing.T) {
	for name, fail := range map[string]func(*fakeRefusalStore){
		"the store fails": func(n *fakeRefusalStore) { n.set(store.ErrUnavailable, false) },
		"the store hangs": func(n *fakeRefusalStore) { n.set(nil, true) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := &fakeRefusalStore{}
				logged := &strings.Builder{}
				r := newTestRecorder(n)
				r.log = slog.New(slog.NewTextHandler(logged, nil))
				fail(n)
				for account := range 2_000 {
					r.record(callerOfAccount(account), burstRefusal())
				}
				time.Sleep(time.Minute)
				for account := range 3_000 { // all in a later minute; the last 1,000 also for new accounts
					r.record(callerOfAccount(account), burstRefusal())
				}
				time.Sleep(time.Minute)
				n.set(nil, false)
				time.Sleep(time.Minute)
				synctest.Wait()
				if _, requests := n.counts(); requests != 5_000 {
					t.Errorf("stored %d requests, want 5000", requests)
				}
				if failed := strings.Count(logged.String(), "level=WARN"); failed != 1 || strings.Count(logged.String(), "level=INFO") != 1 {
					t.Errorf("log has an unexpected number of lines:\n%s", logged)
				}
				calls, _ := n.counts()
				time.Sleep(time.Minute)
				if more, _ := n.counts(); more != calls {
					t.Errorf("%d calls without pending refusals, want 0", more-calls)
				}
				if keys, scheduled := r.pendingKeys(); keys != 0 || scheduled {
					t.Errorf("%d pending, timer active = %t, want 0, false", keys, scheduled)
				}
				r.close()
				if dropped := testutil.ToFloat64(r.metrics.dropped); dropped != 0 {
					t.Errorf("dropped = %v, want 0", dropped)
				}
			})
		})
	}
}

// TestRejectionLimit checks that pending refusals are limited while writes fail, and that the
// excess is counted as dropped. Refusals with the same key share one entry.
func TestRejectionLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := &fakeRefusalStore{faultyStore: faultyStore{fault: store.ErrUnavailable}}
		r := newTestRecorder(n)
		for account := range maxPendingRefusals + 50 {
			r.record(callerOfAccount(account), burstRefusal())
		}
		time.Sleep(flushInterval + time.Second) // write failed; entries are pending again
		for account := range 2 * maxPendingRefusals {
			r.record(callerOfAccount(account), burstRefusal())
		}
		if keys, _ := r.pendingKeys(); keys != maxPendingRefusals {
			t.Errorf("%d pending, want %d", keys, maxPendingRefusals)
		}
		n.set(nil, false)
		r.close()
		_, requests := n.counts()
		if dropped := testutil.ToFloat64(r.metrics.dropped); requests != 2*maxPendingRefusals || dropped != maxPendingRefusals+50 {
			t.Errorf("stored %d, dropped %v, want %d and %d", requests, dropped, 2*maxPendingRefusals, maxPendingRefusals+50)
		}
		for _, size := range n.calls {
			if size > flushBatchSize {
				t.Errorf("transaction of %d refusals is too large", size)
			}
		}
	})
}

// TestUnwrittenRejectionLimit checks that refusals from a failed write and those recorded in the
// meantime together stay within the limit.
func TestUnwrittenRejectionLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := &fakeRefusalStore{faultyStore: faultyStore{hangs: true}}
		r := newTestRecorder(n)
		for account := range maxPendingRefusals - 10 {
			r.record(callerOfAccount(account), burstRefusal())
		}
		time.Sleep(flushInterval + time.Second) // write in progress
		for account := range maxPendingRefusals {
			r.record(callerOfAccount(maxPendingRefusals+account), burstRefusal())
		}
		time.Sleep(flushTimeout) // write failed; the next one is in progress
		synctest.Wait()
		n.set(nil, false)
		r.close()
		_, requests := n.counts()
		if dropped := testutil.ToFloat64(r.metrics.dropped); requests != maxPendingRefusals || dropped != maxPendingRefusals-10 {
			t.Errorf("stored %d, dropped %v, want %d and %d", requests, dropped, maxPendingRefusals, maxPendingRefusals-10)
		}
	})
}

// TestCloseFlush checks that closing writes pending refusals, gives up after flushTimeout if the
// store does not respond, and reports the number lost.
func TestCloseFlush(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := &fakeRefusalStore{}
		r := newTestRecorder(n)
		r.record(callerOfAccount(1), burstRefusal())
		r.close()
		r.close()
		r.record(callerOfAccount(1), burstRefusal())
		time.Sleep(time.Minute)
		if calls, requests := n.counts(); calls != 1 || requests != 1 || testutil.ToFloat64(r.metrics.dropped) != 1 {
			t.Errorf("%d calls, %d requests, %v dropped, want one each", calls, requests, testutil.ToFloat64(r.metrics.dropped))
		}

		silent := newTestRecorder(&fakeRefusalStore{faultyStore: faultyStore{hangs: true}})
		silent.record(callerOfAccount(1), burstRefusal())
		silent.record(callerOfAccount(1), burstRefusal())
		start := time.Now()
		silent.close()
		if took := time.Since(start); took != flushTimeout || testutil.ToFloat64(silent.metrics.dropped) != 2 {
			t.Errorf("closed after %v, %v dropped; want %v, 2", took, testutil.ToFloat64(silent.metrics.dropped), flushTimeout)
		}
	})
}

// TestConcurrentRejections checks that no refusal is lost or counted twice when goroutines record
// concurrently and writes fail.
func TestConcurrentRejections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := &fakeRefusalStore{}
		r := newTestRecorder(n)
		var wg sync.WaitGroup
		for account := range 8 {
			wg.Go(func() {
				for i := range 500 {
					r.record(callerOfAccount(account), burstRefusal())
					time.Sleep(time.Duration(account+1) * 7 * time.Millisecond)
					if i%100 == 0 {
						n.set([]error{nil, errors.New("odd")}[i/100%2], false)
					}
				}
			})
		}
		wg.Wait()
		n.set(nil, false)
		r.close()
		if _, requests := n.counts(); requests != 8*500 || testutil.ToFloat64(r.metrics.recorded) != 8*500 {
			t.Errorf("stored %d requests, want %d", requests, 8*500)
		}
	})
}

// BenchmarkRecord measures the cost of recording a refusal.
func BenchmarkRecord(b *testing.B) {
	for name, accounts := range map[string]int{"one account": 1, "5000 accounts": 5_000} {
		b.Run(name, func(b *testing.B) {
			r := newTestRecorder(&fakeRefusalStore{})
			defer r.close()
			err := burstRefusal()
			b.ReportAllocs()
			b.RunParallel(func(pb *testing.PB) {
				for i := 0; pb.Next(); i++ {
					r.record(callerOfAccount(i%accounts), err)
				}
			})
		})
	}
}
