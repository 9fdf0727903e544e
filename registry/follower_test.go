package registry_test

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/cola/vocabulary"
	"github.com/colaregistry/colaregistry/internal/demo"
	"github.com/colaregistry/colaregistry/internal/sqlitetest"
	"github.com/colaregistry/colaregistry/quota"
	"github.com/colaregistry/colaregistry/registry"
	"github.com/colaregistry/colaregistry/search"
	"github.com/colaregistry/colaregistry/store"
	"github.com/colaregistry/colaregistry/store/sqlite"
)

// TestFollowerUpdates checks that the follower picks up new labels, permittees and
// reference data.
func TestFollowerUpdates(t *testing.T) {
	w := mustWorld(t, 0)
	c := w.mustCaller(t, "follow@example.com", cola.TierPro)
	label := cola.Patch[cola.Cola]{Record: cola.Cola{ColaSummary: cola.ColaSummary{
		TTBID: 11054001000049, BrandName: "LENZ MOSER", ProductType: vocabulary.Wine, PermitNumber: "NJ-I-721", ApprovalDate: cola.DateOf(testNow),
	}, AddressRecipient: "NIEDERHOFF IMPORTS"}, Fields: ^cola.Fields(0)}
	must(t, func() error {
		_, err := w.store.UpsertColas(t.Context(), []cola.Patch[cola.Cola]{label}, store.Commit)
		return err
	})
	eventually(t, "a new label", func() bool { return w.count(t, c, "lenz moser") == 1 })

	named := cola.Patch[cola.Permittee]{Record: cola.Permittee{PermitNumber: "NJ-I-721", CompanyName: "BRAUEREI GÖSSER", Listed: true}, Fields: ^cola.Fields(0)}
	must(t, func() error {
		_, err := w.store.UpsertPermittees(t.Context(), []cola.Patch[cola.Permittee]{named}, store.Commit)
		return err
	})
	eventually(t, "a label by its permittee's new name", func() bool { return w.count(t, c, "gosser") == 1 })

	must(t, func() error {
		_, err := w.store.UpsertProcessingTimes(t.Context(), []cola.ProcessingTime{{Commodity: "Wine", SnapshotDate: cola.DateOf(testNow)}}, store.Commit)
		return err
	})
	eventually(t, "a processing time", func() bool {
		times, _, err := w.ProcessingTimes(t.Context(), c, cola.ProcessingTimeParams{})
		return err == nil && len(times.Rows) == 1
	})
}

// count returns the number of labels that match a query. It advances the clock so that waiting
// never exhausts the rate limit.
func (w *world) count(t *testing.T, c cola.Caller, q string) int {
	t.Helper()
	w.clock.Add(int64(time.Second / time.Microsecond))
	page, _, err := w.SearchColas(t.Context(), c, cola.SearchParams{Q: q})
	if err != nil {
		t.Fatal(err)
	}
	return page.Pagination.Total
}

func must(t *testing.T, do func() error) {
	t.Helper()
	if err := do(); err != nil {
		t.Fatal(err)
	}
}

func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for start := time.Now(); !ok(); time.Sleep(50 * time.Millisecond) {
		if time.Since(start) > time.Minute {
			t.Fatalf("timeout waiting for %s", what)
		}
	}
}

// run follows a store until the service is ready, then stops, which saves the snapshot. It returns
// how the index was built.
func run(t *testing.T, st *sqlite.Store, snapshot string) registry.Build {
	t.Helper()
	quiet := slog.New(slog.DiscardHandler)
	index := search.New(search.Options{})
	defer index.Close()
	ledger := quota.New(st, quota.Options{Logger: quiet})
	defer ledger.Close()
	service := registry.New(registry.Options{Store: st, Index: index, Ledger: ledger, PublicURL: publicURL, Now: time.Now, Logger: quiet})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var build registry.Build
	follower := registry.NewFollower(service, registry.FollowerOptions{Snapshot: snapshot, Built: func(b registry.Build) { build = b; cancel() }})
	if err := follower.Run(ctx); err != nil {
		t.Fatal(err)
	}
	return build
}

// TestSnapshot checks that a restart uses the snapshot, unless it is damaged or belongs to another
// database.
func TestSnapshot(t *testing.T) {
	dir := t.TempDir()
	open := func(name string) *sqlite.Store {
		st, err := sqlite.Open(t.Context(), filepath.Join(dir, name), sqlite.Options{Logger: slog.New(slog.DiscardHandler)})
		must(t, func() error { return err })
		t.Cleanup(func() { st.Close() })
		return st
	}
	load := func(st *sqlite.Store, labels int) {
		must(t, func() error {
			return demo.Load(t.Context(), st, demo.Options{Colas: labels, Seed: 1, AsOf: cola.DateOf(testNow)}, func(int, int) {})
		})
	}
	st, snapshot := open("a.db"), filepath.Join(dir, "a.index")
	load(st, 300)
	if b := run(t, st, snapshot); b.Restored || b.Labels != 300 {
		t.Fatalf("first start: %+v, want 300 labels, not restored", b)
	}
	if b := run(t, st, snapshot); !b.Restored || b.Labels != 300 {
		t.Errorf("second start: %+v, want 300 labels, restored", b)
	}
	load(st, 320)
	if b := run(t, st, snapshot); !b.Restored || b.Labels < 320 {
		t.Errorf("after an import: %+v, want restored and updated", b)
	}

	other := open("b.db")
	load(other, 100)
	if b := run(t, other, snapshot); b.Restored || b.Labels != 100 {
		t.Errorf("snapshot of another database: %+v, want rebuilt", b)
	}
	if b := run(t, st, snapshot); b.Restored {
		t.Errorf("overwritten snapshot: %+v, want rebuilt", b)
	}
	raw, err := os.ReadFile(snapshot)
	must(t, func() error { return err })
	raw[len(raw)/2] ^= 1
	must(t, func() error { return os.WriteFile(snapshot, raw, 0o600) })
	if b := run(t, st, snapshot); b.Restored || b.Labels < 320 {
		t.Errorf("damaged snapshot: %+v, want rebuilt", b)
	}
}

// wakingStore is a store that wakes its follower.
type wakingStore struct {
	store.Store
	wakeups       chan struct{}
	revisionCalls *atomic.Int64
}

func (w wakingStore) Wakeups() <-chan struct{} { return w.wakeups }

func (w wakingStore) Revision(ctx context.Context) (cola.Revision, error) {
	w.revisionCalls.Add(1)
	return w.Store.Revision(ctx)
}

// TestFollowerWakeup checks that each wake-up makes the follower read the store's revision.
func TestFollowerWakeup(t *testing.T) {
	st := wakingStore{sqlitetest.Open(t, sqlite.Options{}), make(chan struct{}), new(atomic.Int64)}
	const wakeups = 50
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		defer cancel()
		for range wakeups + 1 { // receiving a wake-up means that the previous one was handled
			select {
			case st.wakeups <- struct{}{}: // the follower is the only receiver
			case <-ctx.Done():
				return
			}
		}
	}()
	follow(t, ctx, st)
	if requests := st.revisionCalls.Load(); requests < wakeups {
		t.Errorf("%d revision queries after %d wake-ups", requests, wakeups)
	}
}

// follow runs a follower until the context ends.
func follow(t *testing.T, ctx context.Context, st store.Store) {
	t.Helper()
	index := search.New(search.Options{})
	defer index.Close()
	service := registry.New(registry.Options{Store: st, Index: index, PublicURL: publicURL, Now: time.Now})
	if err := registry.NewFollower(service, registry.FollowerOptions{}).Run(ctx); err != nil {
		t.Fatal(err)
	}
}

// TestReadinessWithoutCommits checks that a service is not ready while its database answers reads
// but does not commit, like a primary without its standby.
func TestReadinessWithoutCommits(t *testing.T) {
	w := mustWorld(t, 1)
	c := w.mustCaller(t, "stuck@example.com", cola.TierFree)
	w.stuck.Store(true)
	var unavailable *cola.Error
	if _, _, err := w.Usage(t.Context(), c); !errors.As(err, &unavailable) || unavailable.Code != cola.CodeUnavailable || unavailable.RetryAfter == 0 {
		t.Errorf("Usage without commits: error = %v, want unavailable with Retry-After", err)
	}
	if err := w.Ready(t.Context()); err == nil {
		t.Error("Ready = nil, want an error without commits")
	}
	w.stuck.Store(false)
	for w.Ready(t.Context()) != nil { // detected without a request
		time.Sleep(10 * time.Millisecond)
	}
	if _, _, err := w.Usage(t.Context(), c); err != nil {
		t.Errorf("Usage after the outage: %v", err)
	}
}

// TestReadinessWhileDraining checks that a draining service still answers requests but reports that
// it is not ready.
func TestReadinessWhileDraining(t *testing.T) {
	w := mustWorld(t, 1)
	c := w.mustCaller(t, "drain@example.com", cola.TierFree)
	if err := w.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.Drain()
	if err := w.Ready(t.Context()); err == nil {
		t.Error("Ready = nil while draining, want an error")
	}
	if _, _, err := w.Usage(t.Context(), c); err != nil {
		t.Errorf("Usage while draining: %v", err)
	}
}

// deaf is a store that does not respond to health checks.
type deaf struct{ store.Store }

func (deaf) Ping(ctx context.Context) error {
	<-ctx.Done()
	return ctx.Err()
}

// TestReadinessTimeout checks that a readiness probe gets a response even if the database
// does not respond.
func TestReadinessTimeout(t *testing.T) {
	index := search.New(search.Options{})
	defer index.Close()
	service := registry.New(registry.Options{Store: deaf{mustWorld(t, 0).store}, Index: index, PublicURL: publicURL, Now: time.Now})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	follower := registry.NewFollower(service, registry.FollowerOptions{Built: func(registry.Build) { cancel() }})
	if err := follower.Run(ctx); err != nil {
		t.Fatal(err)
	}
	if err := service.Ready(context.Background()); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Ready with an unresponsive database = %v, want context.DeadlineExceeded", err)
	}
}
