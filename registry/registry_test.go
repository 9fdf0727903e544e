package registry_test

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/goleak"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/demo"
	"github.com/colaregistry/colaregistry/internal/sqlitetest"
	"github.com/colaregistry/colaregistry/quota"
	"github.com/colaregistry/colaregistry/registry"
	"github.com/colaregistry/colaregistry/search"
	"github.com/colaregistry/colaregistry/store"
	"github.com/colaregistry/colaregistry/store/sqlite"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const publicURL = "https://registry.example"

var testNow = time.Date(2026, time.November, 20, 12, 0, 0, 0, time.UTC)

// world is a registry over an embedded database with demo data.
type world struct {
	*registry.Service
	store                *sqlite.Store
	index                *search.Index
	clock                atomic.Int64
	down                 atomic.Bool // the database is unavailable
	mute                 atomic.Bool // reading changes and imports fails
	stuck                atomic.Bool // reads work; commits fail
	full                 atomic.Bool // operations on saved searches, destinations and deliveries fail
	destinationsReadOnly atomic.Bool // changing destinations fails; reading them works
	// earlier finds destinations by the link hashes of earlier versions. Default: the store.
	earlier func(hash []byte) (store.Destination, error)
	trace   atomic.Pointer[store.Trace] // if set, the trace of every label for every search

	settled atomic.Int64 // batches of charges that the database was asked to commit

	metrics *prometheus.Registry
}

func (w *world) now() time.Time { return time.UnixMicro(w.clock.Load()).UTC() }

// cola fails while the database is down.
func (w *world) cola(ctx context.Context, id cola.TTBID) (cola.Cola, error) {
	if w.down.Load() {
		return cola.Cola{}, fmt.Errorf("read: %w", store.ErrUnavailable)
	}
	return w.store.Cola(ctx, id)
}

// flaky is the store with failures chosen by a test.
type flaky struct {
	*sqlite.Store
	w *world
}

func (f flaky) Cola(ctx context.Context, id cola.TTBID) (cola.Cola, error) { return f.w.cola(ctx, id) }

func (f flaky) MainImages(ctx context.Context, ids []cola.TTBID) (map[cola.TTBID]string, error) {
	if f.w.down.Load() {
		return nil, fmt.Errorf("read: %w", store.ErrUnavailable)
	}
	return f.Store.MainImages(ctx, ids)
}

func (f flaky) Ping(ctx context.Context) error {
	if f.w.down.Load() {
		return store.ErrUnavailable
	}
	return f.Store.Ping(ctx)
}

func (f flaky) Settle(ctx context.Context, b store.Batch, decide func(time.Time, []store.AccountState) []store.Entry) error {
	f.w.settled.Add(1)
	if f.w.stuck.Load() {
		return fmt.Errorf("settle: %w", store.ErrUnavailable)
	}
	if f.w.down.Load() {
		return errors.New("disk is gone")
	}
	return f.Store.Settle(ctx, b, decide)
}

// mustWorld creates a registry with the given number of demo labels and waits until it is ready.
func mustWorld(t testing.TB, labels int) *world {
	t.Helper()
	return mustWorldOf(t, labels, func(*registry.Options) {})
}

// mustWorldOf is mustWorld with options changed by set.
func mustWorldOf(t testing.TB, labels int, set func(*registry.Options)) *world {
	t.Helper()
	w := &world{metrics: prometheus.NewPedanticRegistry()}
	w.clock.Store(testNow.UnixMicro())
	quiet := slog.New(slog.DiscardHandler)
	st := sqlitetest.Open(t, sqlite.Options{Now: w.now})
	w.store, w.index = st, search.New(search.Options{})
	if labels > 0 {
		o := demo.Options{Colas: labels, Seed: 1, AsOf: cola.DateOf(testNow)}
		if err := demo.Load(t.Context(), st, o, func(int, int) {}); err != nil {
			t.Fatal(err)
		}
	}
	backend := flaky{st, w}
	ledger := quota.New(backend, quota.Options{Rules: quota.Rules{UpgradeURL: publicURL + "/plans"}, Logger: quiet})
	o := registry.Options{Vault: box, Store: backend, Index: w.index, Ledger: ledger, PublicURL: publicURL + "/", Now: w.now, Logger: quiet, Metrics: w.metrics, SendsMail: true}
	set(&o)
	w.Service = registry.New(o)
	built := make(chan struct{})
	follower := registry.NewFollower(w.Service, registry.FollowerOptions{Built: func(registry.Build) { close(built) }})
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- follower.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		ledger.Close()
		w.Close()
		w.index.Close()
	})
	<-built
	return w
}

// mustCaller creates an account with an API key.
func (w *world) mustCaller(t testing.TB, email string, tier cola.Tier) cola.Caller {
	t.Helper()
	account, err := w.store.CreateAccount(t.Context(), email, tier)
	if err != nil {
		t.Fatal(err)
	}
	key, err := w.store.CreateKey(t.Context(), store.Key{
		AccountID: account.ID, Name: "test", KeyAccess: store.KeyAccess{Scopes: cola.Scopes()},
	}, sha256.Sum256([]byte(email)), 0)
	if err != nil {
		t.Fatal(err)
	}
	return cola.Caller{Account: account.ID, Credential: cola.Credential{Kind: cola.CredentialKey, ID: key.ID}, Channel: cola.ChannelREST}
}

// newest returns the newest labels that match.
func (w *world) newest(t *testing.T, c cola.Caller, p cola.SearchParams) []cola.ColaSummary {
	t.Helper()
	page, _, err := w.SearchColas(t.Context(), c, p)
	if err != nil {
		t.Fatal(err)
	}
	return page.Colas
}

func code(err error) cola.Code { return cola.CodeOf(err) }

// spend charges list records to a caller.
func (w *world) spend(t *testing.T, c cola.Caller, units int) {
	t.Helper()
	batch := store.Batch{ID: store.BatchID{byte(c.Account)}, Accounts: []cola.AccountID{c.Account}}
	err := w.store.Settle(t.Context(), batch, func(time.Time, []store.AccountState) []store.Entry {
		return []store.Entry{{Account: c.Account, Units: []store.Units{{
			Channel: c.Channel, Credential: c.Credential, Meter: cola.MeterListRecords, Units: units,
		}}}}
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestBarcode(t *testing.T) {
	w := mustWorld(t, 800)
	c := w.mustCaller(t, "barcode@example.com", cola.TierPro)
	for _, row := range w.newest(t, c, cola.SearchParams{PerPage: cola.Some(100)}) {
		if !row.HasBarcode {
			continue
		}
		label, _, err := w.Cola(t.Context(), c, row.TTBID.String(), "")
		if err != nil {
			t.Fatal(err)
		}
		before, _, _ := w.Usage(t.Context(), c)
		found, state, err := w.Barcode(t.Context(), c, string(label.Value.BarcodeValue))
		if err != nil || !slices.Contains(found.Colas, row) || found.TotalColas != len(found.Colas) {
			t.Fatalf("Barcode(%s) = %+v, %v, want %s in it", label.Value.BarcodeValue, found, err, row.TTBID)
		}
		if cost := state.Used.ListRecords - before.ListRecords.Used; cost != len(found.Colas) {
			t.Errorf("charged %d list records for %d labels", cost, len(found.Colas))
		}
		return
	}
	t.Fatal("no label has a barcode")
}

// TestPermitteeCounts checks that a permittee's label count matches a search for its permit, except
// for undated labels.
func TestPermitteeCounts(t *testing.T) {
	w := mustWorld(t, 1_000)
	c := w.mustCaller(t, "permittees@example.com", cola.TierPro)
	page, state, err := w.SearchPermittees(t.Context(), c, cola.PermitteeParams{PerPage: cola.Some(20)})
	if err != nil || len(page.Permittees) != 20 || state.Used.ListRecords != 20 || page.Pagination.NextCursor != "" {
		t.Fatalf("SearchPermittees = %d rows, %+v, %+v, %v", len(page.Permittees), page.Pagination, state.Used, err)
	}
	for _, p := range page.Permittees {
		all, _, err := w.SearchColas(t.Context(), c, cola.SearchParams{PermitNumber: p.PermitNumber, ApprovalDateFrom: cola.NewDate(1990, 1, 1), PerPage: cola.Some(1)})
		if err != nil {
			t.Fatal(err)
		}
		if all.Pagination.Total > p.Colas || p.Colas-all.Pagination.Total > p.Colas/4+1 { // undated labels match no date range
			t.Errorf("%s: %d labels, but a search finds %d with dates", p.PermitNumber, p.Colas, all.Pagination.Total)
		}
	}
}

func TestReferenceDataCharge(t *testing.T) {
	w := mustWorld(t, 10)
	c := w.mustCaller(t, "free@example.com", cola.TierPro)
	counts := map[string]int{}
	note := func(name string, rows int, state cola.QuotaState, err error) {
		t.Helper()
		if err != nil || state.Used != (cola.Used{}) {
			t.Errorf("%s = %+v, %v, want no charge", name, state.Used, err)
		}
		counts[name] = rows
	}
	ctx := t.Context()
	times, state, err := w.ProcessingTimes(ctx, c, cola.ProcessingTimeParams{Commodity: "WINE"})
	note("times", len(times.Rows), state, err)
	formula, state, err := w.FormulaProcessingTimes(ctx, c, cola.FormulaProcessingTimeParams{})
	note("formula", len(formula.Rows), state, err)
	registration, state, err := w.RegistrationProcessingTimes(ctx, c, cola.RegistrationProcessingTimeParams{})
	note("registration", len(registration.Rows), state, err)
	reports, state, err := w.ProductionReports(ctx, c, cola.ProductionReportParams{Commodity: "beer", PerPage: cola.Some(3), Page: cola.Some(2)})
	note("reports", len(reports.Rows), state, err)
	areas, state, err := w.AVAs(ctx, c, cola.AVAParams{State: "ca", Q: "valley"})
	note("areas", len(areas.Rows), state, err)
	area, state, err := w.AVA(ctx, c, areas.Rows[0].AVAID, "")
	note("area", len(area.Value.States), state, err)
	for name, n := range counts {
		if n == 0 {
			t.Errorf("no %s in the demo data", name)
		}
	}
	if reports.Meta.Total <= 6 || !reports.Meta.HasMore || reports.Meta.Page != 2 {
		t.Errorf("reports = %+v", reports.Meta)
	}
	for _, r := range times.Rows {
		if r.Commodity != "Wine" {
			t.Errorf("commodity = %s, want Wine", r.Commodity)
		}
	}
}

// TestETagPerAccount checks that an account's ETag is not valid for another account, and that an
// ETag cannot be computed from the record.
func TestETagPerAccount(t *testing.T) {
	w := mustWorld(t, 50)
	reader, other := w.mustCaller(t, "reader@example.com", cola.TierPro), w.mustCaller(t, "other@example.com", cola.TierPro)
	id := w.newest(t, reader, cola.SearchParams{})[0].TTBID.String()
	read, _, err := w.Cola(t.Context(), reader, id, "")
	if err != nil {
		t.Fatal(err)
	}
	if got, _, err := w.Cola(t.Context(), reader, id, read.ETag); err != nil || !got.NotModified {
		t.Errorf("own ETag: modified = %t, %v, want not modified", !got.NotModified, err)
	}
	content, err := json.Marshal(read.Value)
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(content)
	for name, tag := range map[string]string{"the reader's": read.ETag, "a hash of the record": `W/"` + base64.RawURLEncoding.EncodeToString(sum[:12]) + `"`} {
		if got, state, err := w.Cola(t.Context(), other, id, tag); err != nil || got.NotModified || state.Charged != 1 {
			t.Errorf("%s: modified = %t, charged %d, %v, want the record and a charge", name, !got.NotModified, state.Charged, err)
		}
	}
}

// TestCommitOutage checks that while the database is unavailable, requests fail, return no data and
// are not charged.
func TestCommitOutage(t *testing.T) {
	w := mustWorld(t, 50)
	c := w.mustCaller(t, "closed@example.com", cola.TierPro)
	id := w.newest(t, c, cola.SearchParams{})[0].TTBID.String()
	w.down.Store(true)
	if page, _, err := w.SearchColas(t.Context(), c, cola.SearchParams{}); code(err) != cola.CodeUnavailable || page.Colas != nil {
		t.Errorf("SearchColas = %d rows, %v, want unavailable", len(page.Colas), err)
	}
	if _, _, err := w.Cola(t.Context(), c, id, ""); code(err) != cola.CodeUnavailable {
		t.Errorf("Cola: error = %v, want unavailable", err)
	}
	if w.Ready(t.Context()) == nil {
		t.Error("Ready = nil without a database, want an error")
	}
	w.down.Store(false)
	w.advance(time.Second) // the database status is cached briefly
	if err := w.Ready(t.Context()); err != nil {
		t.Errorf("Ready after the outage = %v", err)
	}
	if _, state, err := w.Usage(t.Context(), c); err != nil || state.Used.DetailViews != 0 {
		t.Errorf("usage after the outage = %+v, %v, want no charge", state.Used, err)
	}
}
