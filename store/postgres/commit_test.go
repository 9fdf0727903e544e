package postgres

import (
	"context"
	"errors"
	"iter"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/pgtest"
	"github.com/colaregistry/colaregistry/store"
	"github.com/colaregistry/colaregistry/store/storetest"
)

// TestCanceledStandbyWait checks that a commit is reported as in doubt if an operator cancels its
// wait for the standby. A retry succeeds once the standby has the commit. statement_timeout does
// not end the wait.
func TestCanceledStandbyWait(t *testing.T) {
	primary, standby, url := mustReplicate(t)
	// Migrations may take longer than the statement_timeout below.
	if _, _, err := Migrate(t.Context(), url, Options{Logger: quiet()}); err != nil {
		t.Fatal(err)
	}
	s := mustOpen(t, withParams(t, url, map[string]string{"statement_timeout": "500ms"}), Options{Logger: quiet()})
	account, err := s.CreateAccount(t.Context(), "a@example.com", cola.TierFree)
	if err != nil {
		t.Fatal(err)
	}
	charged, pending := storetest.NewBatchID(), storetest.NewBatchID()
	entries, err := chargeAs(t.Context(), s, charged, account.ID)
	if err != nil {
		t.Fatal(err)
	}
	if err := primary.SetSynchronous(t.Context(), standby.Name()); err != nil {
		t.Fatal(err)
	}
	if err := standby.Stop(t.Context(), pgtest.Fast); err != nil {
		t.Fatal(err)
	}
	settle := func() error { _, err := chargeAs(t.Context(), s, pending, account.ID); return err }
	void := func() error { return s.Void(t.Context(), charged, entries) }
	for _, c := range []struct {
		name string
		do   func() error
	}{
		{"Settle", settle},
		{"second Settle", settle},
		{"Void", void},
		{"second Void", void},
		{"SetTier", func() error { return s.SetTier(t.Context(), account.ID, cola.TierPro) }},
	} {
		done := make(chan error, 1)
		go func() { done <- c.do() }()
		cancelStandbyWait(t, url, done)
		if err := <-done; !errors.Is(err, store.ErrUnavailable) || !strings.Contains(err.Error(), "standby") {
			t.Errorf("%s: error = %v, want ErrUnavailable that mentions the standby", c.name, err)
		}
	}
	if err := standby.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := settle(); !errors.Is(err, store.ErrExists) {
		t.Errorf("Settle after recovery: error = %v, want ErrExists", err)
	}
	if err := void(); err != nil {
		t.Errorf("Void after recovery: error = %v, want nil", err)
	}
	checkUsage(t, s, account.ID, 1, "after recovery")
}

// cancelStandbyWait cancels a commit that has been waiting for a standby for over a second, as an
// operator would.
func cancelStandbyWait(t *testing.T, url string, done <-chan error) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		var canceled int
		query(t, url, `SELECT count(pg_cancel_backend(pid)) FROM pg_stat_activity
			WHERE wait_event = 'SyncRep' AND query_start < clock_timestamp() - interval '1 second'`, &canceled)
		if canceled > 0 {
			return
		}
		if len(done) > 0 || time.Now().After(deadline) {
			t.Fatal("no commit is waiting for a standby")
		}
	}
}

// commitTimes is a tracer that records the remaining time of each commit's context.
type commitTimes struct {
	mu   sync.Mutex
	list []time.Duration
}

func (c *commitTimes) TraceQueryStart(ctx context.Context, _ *pgx.Conn, q pgx.TraceQueryStartData) context.Context {
	if deadline, limited := ctx.Deadline(); strings.EqualFold(q.SQL, "commit") && limited {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.list = append(c.list, time.Until(deadline))
	}
	return ctx
}

func (c *commitTimes) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

// TestFillCommitTimeout checks that committing a whole database gets more time, since a standby
// takes longer to write it.
func TestFillCommitTimeout(t *testing.T) {
	s := mustOpen(t, migratedDatabase(t), Options{Logger: quiet()})
	tracer := &commitTimes{}
	config := s.general.Config()
	config.ConnConfig.Tracer = tracer
	s.general.Close()
	var err error
	if s.general, err = pgxpool.NewWithConfig(t.Context(), config); err != nil {
		t.Fatal(err)
	}
	if err := s.Fill(t.Context(), iter.Seq2[*store.Item, error](func(func(*store.Item, error) bool) {})); err != nil {
		t.Fatal(err)
	}
	if _, err := s.CreateAccount(t.Context(), "a@example.com", cola.TierFree); err != nil {
		t.Fatal(err)
	}
	if got := tracer.list; len(got) != 2 || got[0] < 10*time.Minute || got[1] > commitTimeout {
		t.Errorf("commit timeouts = %v, want minutes, then at most %v", got, commitTimeout)
	}
}

// TestCommitContext checks that a commit outlives its caller, but by at most commitTimeout.
func TestCommitContext(t *testing.T) {
	for name, c := range map[string]struct{ timeout, callerTimeout, want time.Duration }{
		"caller waits":                     {fillTimeout, time.Hour, fillTimeout},
		"caller gone":                      {fillTimeout, time.Minute, time.Minute + commitTimeout},
		"caller gone near the end":         {fillTimeout, fillTimeout - time.Second, fillTimeout},
		"caller gone at once, short limit": {commitTimeout, 0, commitTimeout},
	} {
		synctest.Test(t, func(t *testing.T) {
			caller, stop := context.WithTimeout(t.Context(), c.callerTimeout)
			defer stop()
			start := time.Now()
			ctx, cancel := commitContext(caller, c.timeout)
			defer cancel()
			<-ctx.Done()
			if took := time.Since(start); took != c.want {
				t.Errorf("%s: canceled after %v, want %v", name, took, c.want)
			}
		})
	}
}

// TestConnectionNames checks that application_name shows the purpose of each connection.
func TestConnectionNames(t *testing.T) {
	for name, want := range map[string]string{
		"":     "colaregistry, colaregistry ledger, colaregistry listener",
		"east": "east, east ledger, east listener",
	} {
		url := migratedDatabase(t)
		s := mustOpen(t, withParams(t, url, map[string]string{"application_name": name}), Options{Logger: quiet()})
		<-s.Wakeups()                                                            // the listener is connected
		if err := s.Void(t.Context(), storetest.NewBatchID(), nil); err != nil { // uses a ledger connection
			t.Fatal(err)
		}
		var got string
		query(t, url, `SELECT string_agg(DISTINCT application_name, ', ' ORDER BY application_name) FROM pg_stat_activity
			WHERE datname = current_database() AND pid <> pg_backend_pid()`, &got)
		if got != want {
			t.Errorf("application_name %q: connections %s, want %s", name, got, want)
		}
	}
}
