package postgres

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
	"github.com/colaregistry/colaregistry/store/sqlstore"
	"github.com/colaregistry/colaregistry/store/storetest"
)

// chargeAs charges an account one list record under a batch ID.
func chargeAs(ctx context.Context, s *Store, id store.BatchID, account cola.AccountID) ([]store.Entry, error) {
	entries := []store.Entry{{Account: account, Requests: 1, Units: []store.Units{{
		Channel:    cola.ChannelREST,
		Credential: cola.Credential{Kind: cola.CredentialKey, ID: 1},
		Meter:      cola.MeterListRecords,
		Units:      1,
		Requests:   1,
	}}}}
	return entries, s.Settle(ctx, store.Batch{ID: id, Accounts: []cola.AccountID{account}},
		func(time.Time, []store.AccountState) []store.Entry { return entries })
}

// mustSettle retries a batch until it is settled, as the quota ledger does.
func mustSettle(t *testing.T, s *Store, account cola.AccountID) {
	t.Helper()
	id := storetest.NewBatchID()
	for range 100 {
		_, err := chargeAs(t.Context(), s, id, account)
		switch {
		case err == nil || errors.Is(err, store.ErrExists):
			return
		case !errors.Is(err, store.ErrUnavailable):
			t.Fatalf("Settle error = %v, want nil or ErrUnavailable", err)
		}
	}
	t.Fatal("batch not settled after 100 attempts")
}

// checkUsage compares an account's usage with the acknowledged charges.
func checkUsage(t *testing.T, s *Store, account cola.AccountID, want int, when string) {
	t.Helper()
	usage, err := s.AccountUsage(t.Context(), account)
	if err != nil {
		t.Fatal(err)
	}
	granted := 0
	for _, g := range usage.Grants {
		granted += g.Requests
	}
	if usage.Used.ListRecords != want || granted != want {
		t.Fatalf("%s: ledger has %d list records and %d requests in the window, want %d of each",
			when, usage.Used.ListRecords, granted, want)
	}
}

// cutAtEveryMessage runs try repeatedly, cutting the connection at the first message, then the
// second and so on, in each direction, until try succeeds without a cut.
func cutAtEveryMessage(t *testing.T, p *proxy, try func(when string)) {
	t.Helper()
	for _, d := range []direction{toServer, toClient} {
		cuts := 0
		for n := 0; ; n++ {
			p.cutAt(d, n)
			try(fmt.Sprintf("cut at message %d, direction %d", n, d))
			if !p.disarm() {
				break
			}
			cuts++
		}
		if cuts < 20 {
			t.Errorf("direction %d: cut at %d messages, want at least 20", d, cuts)
		}
	}
}

// openWithProxy returns a store behind a proxy, a store with a direct connection, and an
// account.
func openWithProxy(t *testing.T, params map[string]string) (p *proxy, proxied, direct *Store, account cola.AccountID) {
	t.Helper()
	url := withParams(t, migratedDatabase(t), params)
	direct = mustOpen(t, url, Options{Logger: quiet()})
	a, err := direct.CreateAccount(t.Context(), "a@example.com", cola.TierPro)
	if err != nil {
		t.Fatal(err)
	}
	p, url = startProxy(t, url)
	return p, mustOpen(t, url, Options{Logger: quiet()}), direct, a.ID
}

// TestSettleOverBrokenConnections checks that a batch retried under its ID counts once, wherever
// the connection is cut.
func TestSettleOverBrokenConnections(t *testing.T) {
	p, proxied, direct, account := openWithProxy(t, nil)
	settled := 0
	cutAtEveryMessage(t, p, func(when string) {
		mustSettle(t, proxied, account)
		settled++
		checkUsage(t, direct, account, settled, when)
	})
}

// TestVoidOverBrokenConnections checks that a voided batch never counts, wherever the connection is
// cut.
func TestVoidOverBrokenConnections(t *testing.T) {
	p, proxied, direct, account := openWithProxy(t, nil)
	mustSettle(t, proxied, account)
	cutAtEveryMessage(t, p, func(when string) {
		id := storetest.NewBatchID()
		entries, err := chargeAs(t.Context(), proxied, id, account)
		if err != nil && !errors.Is(err, store.ErrUnavailable) {
			t.Fatalf("%s: Settle error = %v, want nil or ErrUnavailable", when, err)
		}
		for err = proxied.Void(t.Context(), id, entries); errors.Is(err, store.ErrUnavailable); {
			err = proxied.Void(t.Context(), id, entries)
		}
		if err != nil {
			t.Fatalf("%s: Void: %v", when, err)
		}
		checkUsage(t, direct, account, 1, when)
		if _, err := chargeAs(t.Context(), direct, id, account); !errors.Is(err, store.ErrVoid) {
			t.Fatalf("%s: Settle(voided batch) error = %v, want ErrVoid", when, err)
		}
	})
}

// TestImportOverBrokenConnections checks that, wherever the connection is cut, an import returns
// outcomes only for labels it stored, and that repeating the import completes it.
func TestImportOverBrokenConnections(t *testing.T) {
	p, proxied, direct, _ := openWithProxy(t, nil)
	n := 0
	cutAtEveryMessage(t, p, func(when string) {
		patches := storetest.Samples(n, 2)
		outcomes, err := proxied.UpsertColas(t.Context(), patches, store.Commit)
		if err != nil && !errors.Is(err, store.ErrUnavailable) || (err == nil) != (len(outcomes) == len(patches)) {
			t.Fatalf("%s: UpsertColas = %d outcomes, %v; want all outcomes or ErrUnavailable", when, len(outcomes), err)
		}
		if _, err := direct.UpsertColas(t.Context(), patches, store.Commit); err != nil {
			t.Fatalf("%s: repeated UpsertColas: %v", when, err)
		}
		n += len(patches)
	})
	if stored := storetest.CheckSamples(t, direct); stored != n {
		t.Errorf("%d labels stored, want %d", stored, n)
	}
}

// TestSilentConnection checks that a silently dead connection delays a charge only until its
// context ends, and the next attempt only until the server ends the abandoned transaction.
func TestSilentConnection(t *testing.T) {
	p, proxied, direct, account := openWithProxy(t, map[string]string{"idle_in_transaction_session_timeout": "700ms"})
	mustSettle(t, proxied, account)
	id := storetest.NewBatchID()
	p.silenceAt(toServer, 'B', 6) // at the first statement of the second round trip, when the locks are held
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	_, err := chargeAs(ctx, proxied, id, account)
	if failed := p.disarm(); !failed || !errors.Is(err, store.ErrUnavailable) ||
		errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("connection failed = %v, Settle error = %v; want true, ErrUnavailable", failed, err)
	}
	if _, err := chargeAs(t.Context(), direct, id, account); err != nil {
		t.Fatalf("Settle on the direct connection: %v", err)
	}
	checkUsage(t, direct, account, 2, "after silence")
}

// TestSettleContext checks that the outcome of a batch is reported as unknown if its context ends
// during the transaction.
func TestSettleContext(t *testing.T) {
	_, s, _, account := openWithProxy(t, nil)
	ctx, cancel := context.WithCancel(t.Context())
	id := storetest.NewBatchID()
	err := s.Settle(ctx, store.Batch{
		ID:       id,
		Accounts: []cola.AccountID{account},
	}, func(time.Time, []store.AccountState) []store.Entry {
		cancel()
		return []store.Entry{{Account: account, Requests: 1}}
	})
	if !errors.Is(err, store.ErrUnavailable) || errors.Is(err, context.Canceled) {
		t.Errorf("Settle error = %v, want ErrUnavailable without Canceled", err)
	}
	if err := s.Void(t.Context(), id, []store.Entry{{Account: account, Requests: 1}}); err != nil {
		t.Errorf("Void: %v", err)
	}
	checkUsage(t, s, account, 0, "after Void")
}

// TestSettleLockWait checks that a batch waits for an account locked by another transaction, but
// only until its context ends.
func TestSettleLockWait(t *testing.T) {
	_, s, direct, account := openWithProxy(t, nil)
	held, err := direct.general.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := held.Exec(t.Context(), lockAccounts, []int64{int64(account)}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	id := storetest.NewBatchID()
	if _, err := chargeAs(ctx, s, id, account); !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("Settle error = %v, want ErrUnavailable", err)
	}
	if err := held.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := chargeAs(t.Context(), s, id, account); err != nil {
		t.Errorf("Settle after the lock is released: %v", err)
	}
	checkUsage(t, s, account, 1, "after the lock is released")
}

// TestTransactionRetries checks that transactions that conflict with others are retried, up to a
// limit.
func TestTransactionRetries(t *testing.T) {
	s := mustOpen(t, migratedDatabase(t), Options{Logger: quiet()})
	for name, c := range map[string]struct {
		err                 error
		fails, tried        int
		unavailable, passes bool
	}{
		"deadlock": {&pgconn.PgError{Code: deadlockDetected}, 1, 2, false, true},
		"serialization failure": {
			&pgconn.PgError{Code: serializationFailure},
			attempts - 1, attempts, false, true,
		},
		"permanent deadlock": {&pgconn.PgError{Code: deadlockDetected}, attempts, attempts, true, false},
		"conflict":           {sqlstore.ErrConflict, 1, 2, false, true},
		"permanent conflict": {sqlstore.ErrConflict, attempts, attempts, true, false},
		"other error":        {&pgconn.PgError{Code: uniqueViolation}, 1, 1, false, false},
	} {
		tried := 0
		err := s.transact(t.Context(), "try", func(tx pgx.Tx) error {
			if _, err := tx.Exec(t.Context(), `UPDATE meta SET revision = revision + 1`); err != nil {
				return err
			}
			tried++
			if tried <= c.fails {
				return c.err
			}
			return nil
		})
		if (err == nil) != c.passes || errors.Is(err, store.ErrUnavailable) != c.unavailable || tried != c.tried {
			t.Errorf("%s: transact error = %v after %d attempts; want success = %v after %d", name, err, tried, c.passes, c.tried)
		}
	}
	if rev, err := s.Revision(t.Context()); err != nil || rev != 3 {
		t.Errorf("revision = %d (error %v), want 3 without the failed attempts", rev, err)
	}
}
