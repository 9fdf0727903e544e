package quota

import (
	"context"
	"errors"
	"net/netip"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/colaregistry/colaregistry/cola"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestConcurrentChargesAtLimit(t *testing.T) {
	b := newFakeLedger(cola.TierPro)
	b.start[7] = cola.Used{DetailViews: 9_950}
	l := newLedger(t, b)
	var granted, rejected, errs int
	var mu sync.Mutex
	var wg sync.WaitGroup
	for range 120 {
		wg.Go(func() {
			g, err := l.Charge(t.Context(), request(key1, cola.MeterDetailViews, 1))
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err == nil:
				granted += g.Units
			case reason(err) == "detail_views":
				rejected++
			default:
				errs++
			}
		})
	}
	wg.Wait()
	if granted != 50 || rejected != 70 || errs != 0 || b.used(7).DetailViews != 10_000 {
		t.Errorf("granted %d, rejected %d, errors %d, usage %d; want 50, 70, 0, 10000",
			granted, rejected, errs, b.used(7).DetailViews)
	}
}

// TestBurstCache checks that requests in a full window are rejected from the cache for at most a
// second.
func TestBurstCache(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newFakeLedger(cola.TierFree)
		l := newLedger(t, b)
		send := func() error {
			_, err := l.Charge(t.Context(), request(key1, cola.MeterNone, 0))
			return err
		}
		for i := range 10 {
			if err := send(); err != nil {
				t.Fatalf("request %d: %v", i+1, err)
			}
		}
		for range 50 {
			if got := reason(send()); got != "burst" {
				t.Fatalf("reason in a full window = %q, want burst", got)
			}
		}
		if tries, _ := b.calls(); tries != 11 {
			t.Errorf("Settle called %d times, want 11: ten grants and one rejection", tries)
		}
		b.mu.Lock()
		b.tier = cola.TierPro
		b.mu.Unlock()
		time.Sleep(rejectionCacheTTL)
		if err := send(); err != nil {
			t.Errorf("after an upgrade and %v: error = %v, want nil", rejectionCacheTTL, err)
		}
	})
}

// TestSuspension checks that a suspension takes effect on the next request, that lifting it takes
// effect within rejectionCacheTTL (immediately for a session), and that nothing is charged in
// between.
func TestSuspension(t *testing.T) {
	for credential, ttl := range map[cola.Credential]time.Duration{key1: rejectionCacheTTL, session: 0} {
		synctest.Test(t, func(t *testing.T) {
			b := newFakeLedger(cola.TierFree)
			l := newLedger(t, b)
			send := func(peek bool) string {
				q := request(credential, cola.MeterListRecords, 2)
				q.Peek = peek
				if peek {
					q.Units = 0
				}
				grant, err := l.Charge(t.Context(), q)
				if !grant.State.Known() {
					t.Errorf("%v, peek %v: grant has no state, error = %v", credential, peek, err)
				}
				return reason(err)
			}
			for _, want := range []string{"", "Unpaid.", ""} {
				b.suspend(want)
				if want == "" {
					time.Sleep(ttl)
				}
				for _, peek := range []bool{false, true} {
					if got := send(peek); got != want {
						t.Errorf("%v, peek %v: reason = %q, want %q", credential, peek, got, want)
					}
				}
			}
			if used := b.used(7); used.ListRecords != 4 || len(b.grants(7)) == 0 {
				t.Errorf("%v: usage = %+v, want the four records of the granted requests", credential, used)
			}
		})
	}
}

// TestRejectionCache checks that a rejected credential costs one transaction per rejectionCacheTTL,
// however many requests and peeks it sends, and that a change to a key's networks takes effect
// within that time.
func TestRejectionCache(t *testing.T) {
	link := cola.Credential{Kind: cola.CredentialLink, ID: 1}
	client := netip.MustParseAddr("198.51.100.7")
	for name, tt := range map[string]struct {
		credential cola.Credential
		networks   string
		suspended  string
		want       string
		state      bool
	}{
		"outside networks": {key1, "203.0.113.0/24", "", cola.NetworkNotAllowed, false},
		"revoked key":      {key2, "", "", "unauthorized", false},
		"suspended key":    {key1, "", "Unpaid.", "Unpaid.", true},
		"suspended app":    {link, "", "Unpaid.", "Unpaid.", true},
	} {
		for _, peek := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				b := newFakeLedger(cola.TierFree)
				b.suspend(tt.suspended)
				b.allow(tt.networks)
				l := newLedger(t, b)
				q := request(tt.credential, cola.MeterNone, 0)
				q.Caller.Client = client
				q.Peek = peek
				for i := range 30 {
					grant, err := l.Charge(t.Context(), q)
					if reason(err) != tt.want || grant.State.Known() != tt.state {
						t.Fatalf("%s, peek %v, request %d: %+v, %v; want %q, state %v", name, peek, i+1, grant, err, tt.want, tt.state)
					}
					q.Peek = !q.Peek
					time.Sleep(rejectionCacheTTL / 10)
				}
				if tries, _ := b.calls(); tries != 3 {
					t.Errorf("%s, peek %v: Settle called %d times in three seconds, want 3", name, peek, tries)
				}
				q.Caller.Client = netip.MustParseAddr("203.0.113.7")
				if _, err := l.Charge(t.Context(), q); tt.networks != "" && err != nil {
					t.Errorf("%s: from an allowed network: error = %v, want nil", name, err)
				}
				q.Caller.Client = client
				_, _ = l.Charge(t.Context(), q)
				b.allow("")
				time.Sleep(rejectionCacheTTL)
				if _, err := l.Charge(t.Context(), q); tt.networks != "" && err != nil {
					t.Errorf("%s: %v after a change to the networks: error = %v, want nil", name, rejectionCacheTTL, err)
				}
			})
		}
	}
}

// TestExemptAndBurstCache checks that peeks and dashboard requests are admitted in a full window,
// even if an API call from the same sender was just rejected, and that they leave the cached
// rejection in place.
func TestExemptAndBurstCache(t *testing.T) {
	call := request(session, cola.MeterNone, 0)
	peek, page := call, fromDashboard(request(session, cola.MeterDetailViews, 1))
	peek.Peek = true
	for name, exempt := range map[string]Request{"peek": peek, "page": page} {
		synctest.Test(t, func(t *testing.T) {
			b := newFakeLedger(cola.TierFree)
			l := newLedger(t, b)
			for range 11 {
				_, _ = l.Charge(t.Context(), call)
			}
			if _, err := l.Precheck(exempt); err != nil {
				t.Errorf("%s: Precheck in a full window: error = %v, want nil", name, err)
			}
			if grant, err := l.Charge(t.Context(), exempt); err != nil || grant.Units != exempt.Units {
				t.Errorf("%s in a full window: %+v, %v, want %d units", name, grant, err, exempt.Units)
			}
			if used := b.used(7); used.DetailViews != exempt.Units {
				t.Errorf("%s: usage = %+v, want %d detail views", name, used, exempt.Units)
			}
			before, _ := b.calls()
			_, err := l.Charge(t.Context(), call)
			if after, _ := b.calls(); reason(err) != "burst" || after != before {
				t.Errorf("API call after a %s: error = %v, Settle calls = %d, want burst from the cache", name, err, after-before)
			}
		})
	}
}

// TestPagesLeaveWindow checks that batches with only dashboard requests are charged, and leave the
// whole rate-limit window to API calls.
func TestPagesLeaveWindow(t *testing.T) {
	b := newFakeLedger(cola.TierFree)
	l := newLedger(t, b)
	send := func(q Request) string {
		_, err := l.Charge(t.Context(), q)
		return reason(err)
	}
	for range 20 {
		if got := send(fromDashboard(request(session, cola.MeterListRecords, 3))); got != "" {
			t.Fatalf("page: reason = %q, want none", got)
		}
	}
	if used := b.used(7); used.ListRecords != 60 || len(b.grants(7)) != 0 {
		t.Errorf("usage = %+v, grants = %v, want 60 list records and no grants", used, b.grants(7))
	}
	for n := range 11 {
		want := ""
		if n == 10 {
			want = "burst"
		}
		if got := send(request(session, cola.MeterNone, 0)); got != want {
			t.Errorf("API call %d: reason = %q, want %q", n+1, got, want)
		}
	}
}

// TestCachedRetryAfter checks that a rejection from the cache reports the remaining wait.
func TestCachedRetryAfter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newFakeLedger(cola.TierFree)
		l := newLedger(t, b)
		var err error
		for range 11 {
			_, err = l.Charge(t.Context(), request(key1, cola.MeterNone, 0))
		}
		var rejection *cola.Error
		if !errors.As(err, &rejection) || rejection.RetryAfter != Window {
			t.Fatalf("eleventh request: error = %v, want RetryAfter %v", err, Window)
		}
		time.Sleep(500 * time.Millisecond)
		_, err = l.Charge(t.Context(), request(key1, cola.MeterNone, 0))
		if !errors.As(err, &rejection) || rejection.RetryAfter != Window-500*time.Millisecond {
			t.Errorf("half a second later: error = %v, want RetryAfter half a second less", err)
		}
	})
}

func TestCanceledCharge(t *testing.T) {
	b := newFakeLedger(cola.TierFree)
	l := newLedger(t, b)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for range 100 {
		g, err := l.Charge(ctx, request(key1, cola.MeterListRecords, 1))
		if err == nil && g.Units == 0 {
			t.Fatal("Charge = 0 units, nil; want a unit or an error")
		}
		if err != nil && !errors.Is(err, context.Canceled) && reason(err) != "burst" {
			t.Fatalf("Charge error = %v, want context.Canceled", err)
		}
	}
	l.Close()
	if b.used(7).ListRecords > 10 {
		t.Errorf("charged %d records, want at most 10", b.used(7).ListRecords)
	}
}

func TestCloseWithQueue(t *testing.T) {
	b := newFakeLedger(cola.TierPro)
	l := newLedger(t, b)
	var wg sync.WaitGroup
	var mu sync.Mutex
	granted := 0
	for range 100 {
		wg.Go(func() {
			g, err := l.Charge(context.Background(), request(key1, cola.MeterListRecords, 1))
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				granted += g.Units
			} else if cola.CodeOf(err) != cola.CodeUnavailable {
				t.Errorf("Charge error = %v, want unavailable", err)
			}
		})
	}
	l.Close()
	wg.Wait()
	l.Close()
	if granted != b.used(7).ListRecords {
		t.Errorf("granted %d, charged %d; want equal", granted, b.used(7).ListRecords)
	}
}

// TestBurstCacheSenders checks that a request with the same key from another address is not
// answered from the cache, which would reveal the account's usage outside the key's networks.
func TestBurstCacheSenders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLedger(t, newFakeLedger(cola.TierFree))
		q := request(key1, cola.MeterNone, 0)
		q.Caller.Client = netip.MustParseAddr("203.0.113.7")
		for range 11 {
			_, _ = l.Charge(t.Context(), q)
		}
		if _, err := l.Precheck(q); reason(err) != "burst" {
			t.Errorf("same address: error = %v, want burst", err)
		}
		q.Caller.Client = netip.MustParseAddr("203.0.113.8")
		if state, err := l.Precheck(q); err != nil || state.Known() {
			t.Errorf("another address: %+v, %v, want neither state nor error", state, err)
		}
	})
}
