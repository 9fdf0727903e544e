package postgres

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
	"github.com/colaregistry/colaregistry/store/storetest"
)

// load charges accounts, each from its own goroutine, and counts the charges that the store
// acknowledged.
type load struct {
	s        *Store
	accounts []cola.AccountID
	charged  []atomic.Int64 // number of charges for each account
	stop     chan struct{}
	running  sync.WaitGroup
}

func startLoad(t *testing.T, s *Store, accounts int) *load {
	t.Helper()
	l := &load{s: s, charged: make([]atomic.Int64, accounts), stop: make(chan struct{})}
	for i := range accounts {
		a, err := s.CreateAccount(t.Context(), fmt.Sprintf("%d@example.com", i), cola.TierPro)
		if err != nil {
			t.Fatal(err)
		}
		l.accounts = append(l.accounts, a.ID)
	}
	for i := range l.accounts {
		l.running.Go(func() { l.charge(t, i) })
	}
	return l
}

// charge settles batches in sequence, each under the same ID until its outcome is known. It stops
// only between batches.
func (l *load) charge(t *testing.T, i int) {
	for {
		select {
		case <-l.stop:
			return
		default:
		}
		id := storetest.NewBatchID()
		for settled := false; !settled; {
			ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
			_, err := chargeAs(ctx, l.s, id, l.accounts[i])
			cancel()
			settled = err == nil || errors.Is(err, store.ErrExists)
			switch {
			case settled:
			case errors.Is(err, store.ErrUnavailable), errors.Is(err, context.DeadlineExceeded):
				time.Sleep(10 * time.Millisecond)
			default:
				t.Errorf("charge: %v", err)
				return
			}
		}
		l.charged[i].Add(1)
	}
}

// waitFor waits until every account has received the given number of further charges.
func (l *load) waitFor(t *testing.T, more int64) {
	t.Helper()
	for i := range l.charged {
		want := l.charged[i].Load() + more
		for deadline := time.Now().Add(time.Minute); l.charged[i].Load() < want; time.Sleep(5 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("account %d: no more charges within a minute", l.accounts[i])
			}
		}
	}
}

// end stops the load and compares the ledger with the acknowledged charges.
func (l *load) end(t *testing.T) {
	t.Helper()
	close(l.stop)
	l.running.Wait()
	for i, id := range l.accounts {
		usage, err := l.s.AccountUsage(t.Context(), id)
		if want := int(l.charged[i].Load()); err != nil || usage.Used.ListRecords != want {
			t.Errorf("account %d: ledger has %d list records (error %v), want the %d acknowledged",
				id, usage.Used.ListRecords, err, want)
		}
	}
}

// withHost adds a second host to a URL and selects the writable one.
func withHost(t *testing.T, address, second string) string {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	u.Host += "," + second
	return u.String() + "&target_session_attrs=read-write"
}

// checkStandby checks that a store on a standby rejects pings and writes as unavailable, but serves
// reads.
func checkStandby(t *testing.T, address string) {
	t.Helper()
	s := mustOpen(t, address, Options{Logger: quiet()})
	if err := s.Ping(t.Context()); !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("Ping(standby) error = %v, want ErrUnavailable", err)
	}
	err := s.Settle(t.Context(), store.Batch{ID: storetest.NewBatchID()},
		func(time.Time, []store.AccountState) []store.Entry { return nil })
	if !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("Settle(standby) error = %v, want ErrUnavailable", err)
	}
	_, err = s.UpsertColas(t.Context(), storetest.Samples(0, 1), store.Commit)
	if !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("UpsertColas(standby) error = %v, want ErrUnavailable", err)
	}
	if _, err := s.Revision(t.Context()); err != nil {
		t.Errorf("Revision(standby) error = %v, want nil", err)
	}
}

// withAddr returns the URL of the same database on a different server.
func withAddr(t *testing.T, address, addr string) string {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	u.Host = addr
	return u.String()
}
