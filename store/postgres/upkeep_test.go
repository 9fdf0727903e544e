package postgres

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/cola/vocabulary"
	"github.com/colaregistry/colaregistry/internal/pgtest"
	"github.com/colaregistry/colaregistry/store"
	"github.com/colaregistry/colaregistry/store/sqlstore"
	"github.com/colaregistry/colaregistry/store/storetest"
)

// TestWakeupsResume checks that a follower that reads only after wake-ups sees every change,
// including those made while the listener was disconnected.
func TestWakeupsResume(t *testing.T) {
	url := migratedDatabase(t)
	following := mustOpen(t, url, Options{Logger: quiet()})
	writing := mustOpen(t, url, Options{Logger: quiet()})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	const listeners = `FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'LISTEN %'`
	for round := range 4 {
		var n int
		if round > 0 {
			query(t, url, `SELECT count(pg_terminate_backend(pid)) `+listeners, &n)
		}
		if _, err := writing.UpsertColas(ctx, storetest.Samples(round, 1), store.Commit); err != nil {
			t.Fatal(err)
		}
		want, err := writing.Revision(ctx)
		if err != nil {
			t.Fatal(err)
		}
		for seen := cola.Revision(-1); seen < want; {
			select {
			case <-following.Wakeups():
			case <-ctx.Done():
				t.Fatalf("round %d: no wake-up after revision %d, want one for %d", round, seen, want)
			}
			if seen, err = following.Revision(ctx); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// TestWakeupsFromOtherProcesses checks that changes by another store wake a listening store
// immediately, and that other writes do not.
func TestWakeupsFromOtherProcesses(t *testing.T) {
	url := migratedDatabase(t)
	following := mustOpen(t, url, Options{Logger: quiet()})
	writing := mustOpen(t, url, Options{Logger: quiet()})
	<-following.Wakeups() // the listener is connected
	listener, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close(context.WithoutCancel(t.Context()))
	if _, err := listener.Exec(t.Context(), `LISTEN `+changesChannel); err != nil {
		t.Fatal(err)
	}
	account, err := writing.CreateAccount(t.Context(), "a@example.com", cola.TierFree)
	if err == nil {
		_, err = chargeAs(t.Context(), writing, storetest.NewBatchID(), account.ID)
	}
	if err == nil {
		_, err = writing.UpsertColas(t.Context(), storetest.Samples(0, 1), store.DryRun)
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := writing.UpsertColas(t.Context(), storetest.Samples(0, 3), store.Commit); err != nil {
		t.Fatal(err)
	}
	<-following.Wakeups()
	if _, err := writing.UpsertColas(t.Context(), storetest.Samples(0, 3), store.Commit); err != nil { // no changes
		t.Fatal(err)
	}
	if _, err := writing.UpsertCategoryAliases(t.Context(), []vocabulary.CategoryAlias{{Alias: "a", Path: "b"}},
		store.Commit); err != nil {
		t.Fatal(err)
	}
	<-following.Wakeups()
	if n := countNotifications(t, url, listener); n != 2 {
		t.Errorf("got %d notifications for 2 changes", n)
	}
}

// countNotifications returns how many changes a listener has been notified of so far. It counts
// notifications rather than wake-ups, because a superfluous wake-up may merge into the next one.
func countNotifications(t *testing.T, url string, listener *pgx.Conn) (count int) {
	t.Helper()
	const end = "end" // arrives last, because notifications arrive in commit order
	query(t, url, `SELECT 1 FROM pg_notify('`+changesChannel+`', '`+end+`')`, new(int))
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for {
		n, err := listener.WaitForNotification(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if n.Payload == end {
			return count
		}
		count++
	}
}

func TestBatchRetention(t *testing.T) {
	url := migratedDatabase(t)
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	s := mustOpen(t, url, Options{Logger: quiet(), Now: func() time.Time { return now }})
	ids := map[time.Duration]store.BatchID{}
	for _, age := range []time.Duration{sqlstore.BatchRetention + time.Minute, sqlstore.BatchRetention - time.Minute, 0} {
		ids[age] = storetest.NewBatchID()
		at := now
		now = now.Add(-age)
		if err := s.Settle(t.Context(), store.Batch{ID: ids[age]},
			func(time.Time, []store.AccountState) []store.Entry { return nil }); err != nil {
			t.Fatal(err)
		}
		now = at
	}
	var n int
	query(t, url, `WITH old AS (INSERT INTO ledger_batches (id, settled_at)
		SELECT gen_random_uuid(), $1 FROM generate_series(1, 2 * $2::int + 1) RETURNING 1) SELECT count(*) FROM old`, &n, now.Add(-3*sqlstore.BatchRetention), deletedPerStatement)
	if err := s.deleteOldBatches(t.Context()); err != nil {
		t.Fatal(err)
	}
	query(t, url, `SELECT count(*) FROM ledger_batches`, &n)
	if n != 2 {
		t.Errorf("%d batches left, want 2", n)
	}
	for age, id := range ids {
		if known := storetest.IsSettled(t, s, id); known != (age < sqlstore.BatchRetention) {
			t.Errorf("batch of age %v: IsSettled = %v, want %v", age, known, !known)
		}
	}
}

// TestCrashRecovery kills and restarts the server under load. The store is unavailable in the
// meantime and then recovers without intervention, and the ledger equals the acknowledged charges.
func TestCrashRecovery(t *testing.T) {
	server, err := pgtest.Start(t.Context(), pgtest.Options{Durable: true})
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	url, err := server.CreateDatabase(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	s := mustOpen(t, url, Options{Logger: quiet()})
	load := startLoad(t, s, 4)
	for _, mode := range []pgtest.Mode{pgtest.Kill, pgtest.Immediate, pgtest.Fast} {
		load.waitFor(t, 50)
		if err := server.Stop(t.Context(), mode); err != nil {
			t.Fatal(err)
		}
		if err := s.Ping(t.Context()); err == nil {
			t.Error("Ping of a stopped server: error = nil, want non-nil")
		}
		if err := server.Restart(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	load.waitFor(t, 50)
	load.end(t)
}

// TestFailover kills the primary under load and promotes its synchronous standby. The
// store finds the new primary, and the ledger equals the acknowledged charges.
func TestFailover(t *testing.T) {
	primary, standby, url := mustReplicate(t)
	if err := primary.SetSynchronous(t.Context(), standby.Name()); err != nil {
		t.Fatal(err)
	}
	s := mustOpen(t, withHost(t, url, standby.Addr()), Options{Logger: quiet()})
	load := startLoad(t, s, 4)
	load.waitFor(t, 100)
	checkStandby(t, withAddr(t, url, standby.Addr()))
	if err := primary.Stop(t.Context(), pgtest.Kill); err != nil {
		t.Fatal(err)
	}
	if err := standby.Promote(t.Context()); err != nil {
		t.Fatal(err)
	}
	load.waitFor(t, 100)
	if err := s.Ping(t.Context()); err != nil {
		t.Errorf("Ping after the failover: %v", err)
	}
	load.end(t)
}
