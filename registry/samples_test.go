package registry_test

import (
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/registry"
	"github.com/colaregistry/colaregistry/search"
)

// TestSamples checks that samples are the results that a caller gets, that they are free, and that
// the labels have images on this server.
func TestSamples(t *testing.T) {
	w := mustWorld(t, 300)
	c := w.mustCaller(t, "samples@example.com", cola.TierPro)
	w.stuck.Store(true) // a charge would fail
	m, err := w.Samples(t.Context())
	w.stuck.Store(false)
	if err != nil {
		t.Fatal(err)
	}
	colas, _, errColas := w.SearchColas(t.Context(), c, registry.SampleSearch())
	brands, _, errBrands := w.SearchBrands(t.Context(), c, registry.SampleBrand())
	counts, _, errCounts := w.CountColas(t.Context(), c, registry.SampleCount())
	if errColas != nil || errBrands != nil || errCounts != nil {
		t.Fatal(errColas, errBrands, errCounts)
	}
	if diff := cmp.Diff([]any{colas, brands, counts}, []any{m.Colas, m.Brands, m.Counts}, cmpopts.IgnoreFields(registry.Note{}, "Search")); diff != "" {
		t.Errorf("samples differ from a caller's results (-caller +samples):\n%s", diff)
	}
	if m.Coverage.Labels != 300 || m.Permittees == 0 || m.NewestApproval == 0 || len(m.Labels) != 8 {
		t.Errorf("%d labels, %d permittees, newest %v, %d pictures", m.Coverage.Labels, m.Permittees, m.NewestApproval, len(m.Labels))
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
	if m, err := w.Samples(t.Context()); m == last || err != nil {
		t.Errorf("after an hour: the same samples, %v; want new ones", err)
	}
}

// TestSamplesWithoutLabels checks that the samples of an empty registry are computed again after a
// minute, and that there are none before the index is built.
func TestSamplesWithoutLabels(t *testing.T) {
	w := mustWorld(t, 0)
	m, err := w.Samples(t.Context())
	if err != nil || m.Coverage.Labels != 0 || len(m.Labels) > 0 || m.NewestApproval != 0 {
		t.Fatalf("samples = %+v, %v; want empty ones", m, err)
	}
	w.clock.Add(time.Minute.Microseconds())
	if again, err := w.Samples(t.Context()); again == m || err != nil {
		t.Errorf("after a minute: the same samples, %v; want new ones", err)
	}
	index := search.New(search.Options{})
	defer index.Close()
	starting := registry.New(registry.Options{Store: flaky{w.store, w}, Index: index, Now: w.now})
	defer starting.Close()
	if _, err := starting.Samples(t.Context()); code(err) != cola.CodeUnavailable {
		t.Errorf("before the index is built: %v, want %s", err, cola.CodeUnavailable)
	}
}
