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
		Channel: cola.ChannelREST, Credential: cola.Credential{Kind: cola.CredentialKey, ID: 1},
		Meter: cola.MeterListRecords, Units: 1, Requests: 1,
	}}}}
	return entries, s.Settle(ctx, store.Batch{ID: id, Accounts: []cola.AccountID{account}},
		func(time.Time, []store.AccountState) []store.Entry { return entries })
}

// settleAtLast retries a batch until it is settled, as the quota ledger does.
func settleAtLast(t *testing.T, s *Store, account cola.AccountID) {
	t.Helper()
	id := storetest.NewBatchID()
	for range 100 {
		_, err := chargeAs(t.Context(), s, id, account)
		switch {
		case err == nil || errors.Is(err, store.ErrExists):
			return
		case !errors.Is(err, store.ErrUnavailable):
			t.Fatalf("settling: %v, want ErrUnavailable or none", err)
		}
	}
	t.Fatal("a batch is not settled after a hundred attempts")
}

// mustHaveUsed compares an account's usage with the acknowledged charges.
func mustHaveUsed(t *testing.T, s *Store, account cola.AccountID, want int, when string) {
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
		t.Fatalf("%s: %d records are in the ledger and %d requests in the window, want %d", when, usage.Used.ListRecords, granted, want)
	}
}

// everyMessage runs try repeatedly, cutting the connection at the first message, then the second
// and so on, in each direction, until try succeeds without a cut.
func everyMessage(t *testing.T, p *proxy, try func(when string)) {
	t.Helper()
	for _, w := range []way{toServer, toClient} {
		cuts := 0
		for n := 0; ; n++ {
			p.cutAt(w, n)
			try(fmt.Sprintf("cut at message %d, way %d", n, w))
			if !p.disarm() {
				break
			}
			cuts++
		}
		if cuts < 20 {
			t.Errorf("way %d was cut at %d messages, too few to show anything", w, cuts)
		}
	}
}

// openThroughProxy returns a store behind a proxy, a store with a direct connection, and an
// account.
func openThroughProxy(t *testing.T, params map[string]string) (p *proxy, through, beside *Store, account cola.AccountID) {
	t.Helper()
	url := withParams(t, migratedDatabase(t), params)
	beside = mustOpen(t, url, Options{Logger: quiet()})
	a, err := beside.CreateAccount(t.Context(), "a@example.com", cola.TierPro)
	if err != nil {
		t.Fatal(err)
	}
	p, url = startProxy(t, url)
	return p, mustOpen(t, url, Options{Logger: quiet()}), beside, a.ID
}

// TestCutSettlementsAreExact checks that a batch retried under its ID counts once, wherever the
// connection is cut.
func TestCutSettlementsAreExact(t *testing.T) {
	p, through, beside, account := openThroughProxy(t, nil)
	settled := 0
	everyMessage(t, p, func(when string) {
		settleAtLast(t, through, account)
		settled++
		mustHaveUsed(t, beside, account, settled, when)
	})
}

// TestCutSettlementsCanBeVoided checks that a voided batch never counts, wherever the connection is
// cut.
func TestCutSettlementsCanBeVoided(t *testing.T) {
	p, through, beside, account := openThroughProxy(t, nil)
	settleAtLast(t, through, account)
	everyMessage(t, p, func(when string) {
		id := storetest.NewBatchID()
		entries, err := chargeAs(t.Context(), through, id, account)
		if err != nil && !errors.Is(err, store.ErrUnavailable) {
			t.Fatalf("%s: %v, want ErrUnavailable or none", when, err)
		}
		for err = through.Void(t.Context(), id, entries); errors.Is(err, store.ErrUnavailable); {
			err = through.Void(t.Context(), id, entries)
		}
		if err != nil {
			t.Fatalf("%s: voiding: %v", when, err)
		}
		mustHaveUsed(t, beside, account, 1, when)
		if _, err := chargeAs(t.Context(), beside, id, account); !errors.Is(err, store.ErrVoid) {
			t.Fatalf("%s: settling it all the same: %v, want ErrVoid", when, err)
		}
	})
}

// TestCutImportsLoseNothing checks that, wherever the connection is cut, returned outcomes are
// those of stored labels, and that repeating the import completes it.
func TestCutImportsLoseNothing(t *testing.T) {
	p, through, beside, _ := openThroughProxy(t, nil)
	n := 0
	everyMessage(t, p, func(when string) {
		patches := storetest.Samples(n, 2)
		outcomes, err := through.UpsertColas(t.Context(), patches, store.Commit)
		if err != nil && !errors.Is(err, store.ErrUnavailable) || (err == nil) != (len(outcomes) == len(patches)) {
			t.Fatalf("%s: %d outcomes and %v", when, len(outcomes), err)
		}
		if _, err := beside.UpsertColas(t.Context(), patches, store.Commit); err != nil {
			t.Fatalf("%s: importing again: %v", when, err)
		}
		n += len(patches)
	})
	if kept := storetest.CheckSamples(t, beside); kept != n {
		t.Errorf("%d labels are kept, want %d", kept, n)
	}
}

// TestSilentConnection checks that a silently dead connection delays a charge only until its
// context ends, and the next attempt until the server ends the abandoned transaction.
func TestSilentConnection(t *testing.T) {
	p, through, beside, account := openThroughProxy(t, map[string]string{"idle_in_transaction_session_timeout": "700ms"})
	settleAtLast(t, through, account)
	id := storetest.NewBatchID()
	p.silenceAt(toServer, 'B', 6) // at the first statement of the second round trip, when the locks are held
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	_, err := chargeAs(ctx, through, id, account)
	if failed := p.disarm(); !failed || !errors.Is(err, store.ErrUnavailable) || errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("silent %v: %v, want ErrUnavailable", failed, err)
	}
	if _, err := chargeAs(t.Context(), beside, id, account); err != nil {
		t.Fatalf("settling it beside: %v", err)
	}
	mustHaveUsed(t, beside, account, 2, "after silence")
}

// TestContextEndsWithinABatch checks that the outcome of a batch is reported as unknown if its
// context ends after it has begun.
func TestContextEndsWithinABatch(t *testing.T) {
	_, s, _, account := openThroughProxy(t, nil)
	ctx, cancel := context.WithCancel(t.Context())
	id := storetest.NewBatchID()
	err := s.Settle(ctx, store.Batch{ID: id, Accounts: []cola.AccountID{account}}, func(time.Time, []store.AccountState) []store.Entry {
		cancel()
		return []store.Entry{{Account: account, Requests: 1}}
	})
	if !errors.Is(err, store.ErrUnavailable) || errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want ErrUnavailable and not the context's", err)
	}
	if err := s.Void(t.Context(), id, []store.Entry{{Account: account, Requests: 1}}); err != nil {
		t.Errorf("voiding it: %v", err)
	}
	mustHaveUsed(t, s, account, 0, "after that")
}

// TestLocksAreWaitedForWithinTheContext checks that a batch waits for an account locked by another
// transaction, but only until its context ends.
func TestLocksAreWaitedForWithinTheContext(t *testing.T) {
	_, s, beside, account := openThroughProxy(t, nil)
	held, err := beside.general.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := held.Exec(t.Context(), lockAccounts, []int64{int64(account)}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	id := storetest.NewBatchID()
	if _, err := chargeAs(ctx, s, id, account); !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("error %v, want ErrUnavailable", err)
	}
	if err := held.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := chargeAs(t.Context(), s, id, account); err != nil {
		t.Errorf("once it is free: %v", err)
	}
	mustHaveUsed(t, s, account, 1, "once it is free")
}

// TestTransactionsAreTriedAgain checks that conflicts with concurrent transactions are retried, up
// to a limit.
func TestTransactionsAreTriedAgain(t *testing.T) {
	s := mustOpen(t, migratedDatabase(t), Options{Logger: quiet()})
	for name, c := range map[string]struct {
		err                 error
		fails, tried        int
		unavailable, passes bool
	}{
		"a deadlock":                   {&pgconn.PgError{Code: deadlockDetected}, 1, 2, false, true},
		"a serialization failure":      {&pgconn.PgError{Code: serializationFailure}, attempts - 1, attempts, false, true},
		"a deadlock that does not end": {&pgconn.PgError{Code: deadlockDetected}, attempts, attempts, true, false},
		"rows of others":               {sqlstore.ErrConflict, 1, 2, false, true},
		"others who come without end":  {sqlstore.ErrConflict, attempts, attempts, true, false},
		"another error":                {&pgconn.PgError{Code: uniqueViolation}, 1, 1, false, false},
	} {
		tried := 0
		err := s.transact(t.Context(), "try", func(tx pgx.Tx) error {
			if _, err := tx.Exec(t.Context(), `UPDATE meta SET revision = revision + 1`); err != nil {
				return err
			}
			if tried++; tried <= c.fails {
				return c.err
			}
			return nil
		})
		if (err == nil) != c.passes || errors.Is(err, store.ErrUnavailable) != c.unavailable || tried != c.tried {
			t.Errorf("%s: %v after %d attempts, want %d", name, err, tried, c.tried)
		}
	}
	if rev, err := s.Revision(t.Context()); err != nil || rev != 3 {
		t.Errorf("revision %d (%v), want 3: attempts that failed leave nothing", rev, err)
	}
}
