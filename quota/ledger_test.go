package quota

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// book is a store.Ledger in memory whose failures a test chooses.
type book struct {
	mu      sync.Mutex
	tier    cola.Tier
	used    cola.Used
	grants  []store.Grant
	settled map[store.BatchID]bool
	batches int
	fail    func(attempt int) failure // nil never fails
	tries   int
}

type failure int

const (
	works      failure = iota
	lostBefore         // the connection is lost, nothing was committed
	lostAfter          // the connection is lost, the batch was committed
	breaks             // nothing was committed, for a reason that stays
)

func newBook(tier cola.Tier) *book { return &book{tier: tier, settled: map[store.BatchID]bool{}} }

func (b *book) Settle(_ context.Context, batch store.Batch, decide func(time.Time, []store.AccountState) []store.Entry) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.tries++
	result := works
	if b.fail != nil {
		result = b.fail(b.tries)
	}
	if b.settled[batch.ID] {
		return store.ErrExists
	}
	now := time.Now()
	valid := map[cola.Credential]bool{}
	for _, c := range batch.Credentials {
		valid[c] = c != key2
	}
	var window []store.Grant
	for _, g := range b.grants {
		if g.At.After(now.Add(-Window)) {
			window = append(window, g)
		}
	}
	entries := decide(now, []store.AccountState{{Account: 7, Exists: true, Tier: b.tier, Used: b.used, Grants: window, Valid: valid}})
	switch result {
	case lostBefore:
		return fmt.Errorf("settle: %w", store.ErrUnavailable)
	case breaks:
		return errors.New("disk on fire")
	}
	b.batches++
	b.settled[batch.ID] = true
	for _, e := range entries {
		b.grants = append(window, store.Grant{At: now, Requests: e.Requests})
		for _, u := range e.Units {
			switch u.Meter {
			case cola.MeterDetailViews:
				b.used.DetailViews += u.Units
			case cola.MeterListRecords:
				b.used.ListRecords += u.Units
			}
		}
	}
	if result == lostAfter {
		return fmt.Errorf("settle: %w", store.ErrUnavailable)
	}
	return nil
}

func (b *book) Settled(_ context.Context, id store.BatchID) (bool, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.settled[id], nil
}

func (b *book) Void(context.Context, store.BatchID, []store.Entry) error {
	return errors.New("this book keeps what is written")
}

func (b *book) AccountUsage(context.Context, cola.AccountID) (store.AccountState, error) {
	return store.AccountState{}, store.ErrNotFound
}

func (b *book) DailyUsage(context.Context, cola.AccountID, cola.Date, cola.Date) ([]store.DayUsage, error) {
	return nil, nil
}

func newLedger(t *testing.T, b *book) *Ledger {
	l := New(b, Rules{}, slog.New(slog.DiscardHandler))
	t.Cleanup(l.Close)
	return l
}

func TestChargesEndExactlyAtTheLimit(t *testing.T) {
	b := newBook(cola.TierPro)
	b.used.DetailViews = 9_950
	l := newLedger(t, b)
	var granted, refused, errs int
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
				refused++
			default:
				errs++
			}
		})
	}
	wg.Wait()
	if granted != 50 || refused != 70 || errs != 0 || b.used.DetailViews != 10_000 {
		t.Errorf("granted %d, refused %d, errors %d, ledger %d; want 50, 70, 0, 10000", granted, refused, errs, b.used.DetailViews)
	}
}

func TestUnclearBatchIsChargedOnce(t *testing.T) {
	tests := []struct {
		name string
		fail func(attempt int) failure
		want int // units in the ledger, and granted
		code cola.Code
	}{
		{"lost before the commit", first(lostBefore), 20, ""},
		{"lost after the commit", first(lostAfter), 20, ""},
		{"lost twice", func(n int) failure { return []failure{lostBefore, lostAfter}[min(n-1, 1)] }, 20, ""},
		{"never commits", func(int) failure { return lostBefore }, 0, cola.CodeUnavailable},
		{"breaks for good", func(int) failure { return breaks }, 0, cola.CodeUnavailable},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBook(cola.TierFree)
				b.fail = tt.fail
				l := newLedger(t, b)
				g, err := l.Charge(t.Context(), request(key1, cola.MeterListRecords, 20))
				var code cola.Code
				if err != nil {
					code = cola.CodeOf(err)
				}
				if g.Units != tt.want || code != tt.code || b.used.ListRecords != tt.want {
					t.Errorf("granted %d (%v), ledger %d; want %d, code %q", g.Units, err, b.used.ListRecords, tt.want, tt.code)
				}
			})
		})
	}
}

func first(f failure) func(int) failure {
	return func(attempt int) failure {
		if attempt == 1 {
			return f
		}
		return works
	}
}

// TestFullWindowIsRefusedWithoutTheStore: for at most a second, then the store is asked again.
func TestFullWindowIsRefusedWithoutTheStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBook(cola.TierFree)
		l := newLedger(t, b)
		ask := func() error {
			_, err := l.Charge(t.Context(), request(key1, cola.MeterNone, 0))
			return err
		}
		for i := range 10 {
			if err := ask(); err != nil {
				t.Fatalf("request %d: %v", i+1, err)
			}
		}
		for range 50 {
			if got := reason(ask()); got != "burst" {
				t.Fatalf("request in a full window: %q, want burst", got)
			}
		}
		if b.tries != 11 {
			t.Errorf("the store was asked %d times, want 11: ten grants and one refusal", b.tries)
		}
		b.mu.Lock()
		b.tier = cola.TierPro
		b.mu.Unlock()
		time.Sleep(knownFor)
		if err := ask(); err != nil {
			t.Errorf("an upgrade does not show after %v: %v", knownFor, err)
		}
	})
}

func TestRefusalTellsTheTimeLeftNow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBook(cola.TierFree)
		l := newLedger(t, b)
		var err error
		for range 11 {
			_, err = l.Charge(t.Context(), request(key1, cola.MeterNone, 0))
		}
		var told *cola.Error
		if !errors.As(err, &told) || told.RetryAfter != Window {
			t.Fatalf("eleventh request: %v, want a refusal for %v", err, Window)
		}
		time.Sleep(500 * time.Millisecond)
		_, err = l.Charge(t.Context(), request(key1, cola.MeterNone, 0))
		if !errors.As(err, &told) || told.RetryAfter != Window-500*time.Millisecond {
			t.Errorf("half a second later: %v, want a refusal for half a second less", err)
		}
	})
}

func TestCancelledChargeCostsNothing(t *testing.T) {
	b := newBook(cola.TierFree)
	l := newLedger(t, b)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for range 100 {
		g, err := l.Charge(ctx, request(key1, cola.MeterListRecords, 1))
		if err == nil && g.Units == 0 {
			t.Fatal("granted nothing without an error")
		}
		if err != nil && !errors.Is(err, context.Canceled) && reason(err) != "burst" {
			t.Fatalf("error = %v, want the context's", err)
		}
	}
	l.Close()
	if b.used.ListRecords > 10 {
		t.Errorf("charged %d records, more than the window lets through", b.used.ListRecords)
	}
}

func TestCloseSettlesWhatWaits(t *testing.T) {
	b := newBook(cola.TierPro)
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
				t.Errorf("error = %v, want unavailable", err)
			}
		})
	}
	l.Close()
	wg.Wait()
	l.Close()
	if granted != b.used.ListRecords {
		t.Errorf("answered %d, charged %d", granted, b.used.ListRecords)
	}
}
