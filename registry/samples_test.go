package registry_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/registry"
	"github.com/colaregistry/colaregistry/search"
	"github.com/colaregistry/colaregistry/store"
)

// TestSamples checks that samples match the results that a caller gets, that they are free, and
// that the labels have images on this server.
func TestSamples(t *testing.T) {
	w := mustWorld(t, 300)
	c := w.mustCaller(t, "samples@example.com", cola.TierPro)
	w.stuck.Store(true) // a charge would fail
	m, err := w.Samples(t.Context())
	w.stuck.Store(false)
	if err != nil {
		t.Fatal(err)
	}
	colas, _, errColas := w.SearchColas(t.Context(), c, m.Calls.Search)
	brands, _, errBrands := w.SearchBrands(t.Context(), c, m.Calls.Check)
	counts, _, errCounts := w.CountColas(t.Context(), c, m.Calls.Count)
	if errColas != nil || errBrands != nil || errCounts != nil {
		t.Fatal(errColas, errBrands, errCounts)
	}
	if diff := cmp.Diff([]any{colas, brands, counts}, []any{m.Colas, m.Brands, m.Counts}, cmpopts.IgnoreFields(registry.Note{}, "Search", "found")); diff != "" {
		t.Errorf("samples differ from a caller's results (-caller +samples):\n%s", diff)
	}
	if m.Coverage.Labels != 300 || m.Permittees == 0 || m.NewestApproval == 0 || len(m.Labels) != 8 {
		t.Errorf("%d labels, %d permittees, newest %v, %d labels with images", m.Coverage.Labels, m.Permittees, m.NewestApproval, len(m.Labels))
	}
	if m.Record.TTBID == 0 || m.Record.BarcodeValue == "" || m.Record.PermitNumber == "" {
		t.Errorf("record %s has the barcode %q and the permit %q", m.Record.TTBID, m.Record.BarcodeValue, m.Record.PermitNumber)
	}
	brandNames := map[string]bool{}
	for _, l := range m.Labels {
		if brandNames[l.BrandName] || !strings.HasPrefix(l.Image, "/images/"+l.TTBID.String()) {
			t.Errorf("label %s of %s has the image %q; want one per brand, on this server", l.TTBID, l.BrandName, l.Image)
		}
		brandNames[l.BrandName] = true
	}
}

// TestSamplesOfOtherBrands checks that if no label has the preferred words, the sample calls use a
// stored brand: one whose name is nearly identical to another's or, if there is none, the one with
// the most labels.
func TestSamplesOfOtherBrands(t *testing.T) {
	day := cola.DateOf(testNow)
	plain := []cola.Cola{
		bottle(26001001000001, "NORTHERN LIGHT", day), bottle(26001001000002, "NORTHERN LIGHT", day), bottle(26001001000003, "VALLE", day),
	}
	odd := bottle(26001001000004, `"*" 26001001000004`, day)
	for name, tt := range map[string]struct {
		labels []cola.Cola
		want   string
	}{
		"labels":         {plain, "NORTHERN LIGHT"},
		"old labels":     {[]cola.Cola{bottle(15001001000001, "NORTHERN LIGHT", day-4000)}, "NORTHERN LIGHT"},
		"near duplicate": {append(plain, bottle(26001001000005, "VALE", day), bottle(26001001000006, "VALLE", day-1)), "VALLE"},
		"odd name":       {[]cola.Cola{odd}, ""},
		"no labels":      {nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := mustWorld(t, 0)
			if len(tt.labels) > 0 {
				w.mustImport(t, store.Commit, tt.labels...)
			}
			m, err := w.Samples(t.Context())
			if err != nil || m.Calls.Check.Q != tt.want || m.Calls.Search.Q != tt.want || m.Calls.Count.Q != tt.want {
				t.Fatalf("calls = %+v, %v; want those for %q", m.Calls, err, tt.want)
			}
			if tt.want != "" && (m.Colas.Pagination.Total == 0 || m.Counts.Total == 0 || m.Brands.Brands[0].BrandName != tt.want) {
				t.Errorf("calls find %d labels, count %d, and check %v", m.Colas.Pagination.Total, m.Counts.Total, m.Brands.Brands)
			}
		})
	}
}

// TestSamplesCache checks that concurrent callers share samples for an hour.
func TestSamplesCache(t *testing.T) {
	w := mustWorld(t, 300)
	samples := make([]*registry.Samples, 8)
	var all sync.WaitGroup
	for i := range samples {
		all.Go(func() { samples[i], _ = w.Samples(t.Context()) })
	}
	all.Wait()
	w.clock.Add(time.Hour.Microseconds() - 1)
	last, err := w.Samples(t.Context())
	for _, m := range samples {
		if m == nil || m != last || err != nil {
			t.Fatalf("samples %p and %p, %v; want the same", m, last, err)
		}
	}
	w.clock.Add(1)
	w.newSamples(t, last)
}

// TestSamplesSearchOnce checks that the record and the labels with images come from one search.
func TestSamplesSearchOnce(t *testing.T) {
	w := mustWorld(t, 300)
	m, err := w.Samples(t.Context())
	if err != nil || m.Record.TTBID == 0 || len(m.Labels) == 0 {
		t.Fatalf("samples = %+v, %v; want a record and labels", m, err)
	}
	if searches := w.measured(t, "searches_total")["browse"]; searches != 1 {
		t.Errorf("%v searches for the newest labels, want 1", searches)
	}
}

// TestSamplesWithoutImages checks that samples of labels without images are shared for an hour, so
// that they don't show new labels for free.
func TestSamplesWithoutImages(t *testing.T) {
	w := mustWorld(t, 0)
	day := cola.DateOf(testNow)
	w.mustImport(t, store.Commit, bottle(26001001000001, "NORTHERN LIGHT", day))
	m, err := w.Samples(t.Context())
	if err != nil || m.Record.TTBID != 26001001000001 || len(m.Labels) > 0 {
		t.Fatalf("samples = %+v, %v; want a record and no labels with images", m, err)
	}
	w.mustImport(t, store.Commit, bottle(26001001000002, "NORTHERN LIGHT", day))
	w.clock.Add(time.Hour.Microseconds() - 1)
	for range 100 { // samples are computed in the background
		if got, err := w.Samples(t.Context()); got != m || err != nil {
			t.Fatalf("samples before an hour has passed = %p, %v; want the previous ones, %p", got, err, m)
		}
		time.Sleep(time.Millisecond)
	}
	w.clock.Add(1)
	if m := w.newSamples(t, m); m.Coverage.Labels != 2 {
		t.Errorf("samples after an hour cover %d labels, want 2", m.Coverage.Labels)
	}
}

// newSamples waits until the samples have been recomputed in the background.
func (w *world) newSamples(t *testing.T, last *registry.Samples) *registry.Samples {
	t.Helper()
	for {
		switch m, err := w.Samples(t.Context()); {
		case err != nil:
			t.Fatal(err)
		case m != last:
			return m
		}
		time.Sleep(time.Millisecond)
	}
}

// TestSamplesOutage checks that a database outage doesn't replace samples, and that a failure is
// cached for a minute.
func TestSamplesOutage(t *testing.T) {
	w := mustWorld(t, 300)
	w.down.Store(true)
	for range 2 {
		if m, err := w.Samples(t.Context()); code(err) != cola.CodeUnavailable {
			t.Fatalf("samples during an outage = %v, %v; want %s", m, err, cola.CodeUnavailable)
		}
		w.down.Store(false) // the failure is cached
	}
	w.clock.Add(time.Minute.Microseconds())
	first, err := w.Samples(t.Context())
	if err != nil || len(first.Labels) == 0 {
		t.Fatalf("samples after an outage = %+v, %v; want labels", first, err)
	}
	w.down.Store(true)
	w.clock.Add(time.Hour.Microseconds())
	for range 100 {
		if m, err := w.Samples(t.Context()); m != first || err != nil {
			t.Fatalf("samples during a second outage: %p, %v; want the previous ones, %p", m, err, first)
		}
		time.Sleep(time.Millisecond)
	}
	w.down.Store(false)
	w.clock.Add(time.Minute.Microseconds())
	if m := w.newSamples(t, first); len(m.Labels) != len(first.Labels) {
		t.Errorf("%d labels after the outage, want %d", len(m.Labels), len(first.Labels))
	}
}

// panicking is a store that panics when reading images while broken is set.
type panicking struct {
	registry.Store
	broken atomic.Bool
}

func (p *panicking) MainImages(ctx context.Context, ids []cola.TTBID) (map[cola.TTBID]string, error) {
	if p.broken.Load() {
		panic("bug")
	}
	return p.Store.MainImages(ctx, ids)
}

// TestSamplesPanic checks that a panic doesn't crash the process, is logged with its stack, and is
// cached for a minute like other failures.
func TestSamplesPanic(t *testing.T) {
	var p panicking
	logged := &strings.Builder{}
	w := mustWorldOf(t, 300, func(o *registry.Options) {
		p.Store, o.Store = o.Store, &p
		o.Logger = slog.New(slog.NewTextHandler(logged, &slog.HandlerOptions{Level: slog.LevelWarn}))
	})
	p.broken.Store(true)
	for range 2 {
		if m, err := w.Samples(t.Context()); m != nil || err == nil {
			t.Fatalf("samples after a panic = %v, %v; want an error", m, err)
		}
		p.broken.Store(false) // the failure is cached
	}
	if !strings.Contains(logged.String(), "panicking).MainImages") {
		t.Errorf("log lacks the stack:\n%s", logged)
	}
	w.clock.Add(time.Minute.Microseconds())
	if m, err := w.Samples(t.Context()); err != nil || len(m.Labels) == 0 {
		t.Errorf("samples a minute after a panic = %+v, %v; want labels", m, err)
	}
}

// hanging is a store that can't read images before release is closed.
type hanging struct {
	registry.Store
	release   chan struct{}
	deadlines chan time.Time
}

func (h hanging) MainImages(ctx context.Context, ids []cola.TTBID) (map[cola.TTBID]string, error) {
	deadline, _ := ctx.Deadline()
	h.deadlines <- deadline
	<-h.release
	return nil, nil
}

// TestSamplesHang checks that callers stop waiting for the first samples when their context ends,
// and that all reads share a deadline.
func TestSamplesHang(t *testing.T) {
	h := hanging{release: make(chan struct{}), deadlines: make(chan time.Time, 100)}
	w := mustWorldOf(t, 600, func(o *registry.Options) { h.Store, o.Store = o.Store, &h })
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	for range 4 {
		if _, err := w.Samples(canceled); !errors.Is(err, context.Canceled) {
			t.Errorf("Samples with a canceled context: error = %v, want %v", err, context.Canceled)
		}
	}
	close(h.release)
	if _, err := w.Samples(t.Context()); err != nil {
		t.Fatal(err)
	}
	first := <-h.deadlines
	for n := len(h.deadlines); n > 0; n-- {
		if next := <-h.deadlines; next != first {
			t.Errorf("deadlines differ by %v", next.Sub(first))
		}
	}
	if first.IsZero() {
		t.Error("no deadline")
	}
}

// TestSamplesWithoutLabels checks that the samples of an empty registry are recomputed after a
// minute, and that there are none before the index is built.
func TestSamplesWithoutLabels(t *testing.T) {
	w := mustWorld(t, 0)
	m, err := w.Samples(t.Context())
	if err != nil || m.Coverage.Labels != 0 || len(m.Labels) > 0 || m.NewestApproval != 0 {
		t.Fatalf("samples = %+v, %v; want empty ones", m, err)
	}
	w.clock.Add(time.Minute.Microseconds())
	w.newSamples(t, m)
	index := search.New(search.Options{})
	defer index.Close()
	starting := registry.New(registry.Options{Store: flaky{w.store, w}, Index: index, Now: w.now})
	defer starting.Close()
	if _, err := starting.Samples(t.Context()); code(err) != cola.CodeUnavailable {
		t.Errorf("before the index is built: %v, want %s", err, cola.CodeUnavailable)
	}
}
