package demo

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/cola/vocabulary"
	"github.com/colaregistry/colaregistry/store"
	"github.com/google/go-cmp/cmp"
)

// fakeStore is an in-memory store for Load that can fail one kind of write.
type fakeStore struct {
	store.Store // nil; other methods must not be called
	colas       map[cola.TTBID]cola.Cola
	permittees  map[string]cola.Permittee
	reports     map[cola.ReportKey]int
	rows        map[string]int
	largest     int    // largest batch of labels
	fails       string // kind of write that fails
	rejectFirst bool   // reject the first label of every batch
	asNew       bool   // a label was written as new rather than as history
}

func newFakeStore() *fakeStore {
	return &fakeStore{
		colas: map[cola.TTBID]cola.Cola{}, permittees: map[string]cola.Permittee{},
		reports: map[cola.ReportKey]int{}, rows: map[string]int{},
	}
}

var errWrite = errors.New("write failed")

func (s *fakeStore) write(kind string, n int) ([]store.Outcome, error) {
	if s.fails == kind {
		return nil, errWrite
	}
	s.rows[kind] += n
	return make([]store.Outcome, n), nil
}

func (s *fakeStore) UpsertColas(
	_ context.Context, patches []cola.Patch[cola.Cola], mode store.Mode,
) ([]store.Outcome, error) {
	s.asNew = s.asNew || mode != store.History
	s.largest = max(s.largest, len(patches))
	for i := range patches {
		var c cola.Cola
		patches[i].Apply(&c)
		s.colas[c.TTBID] = c
	}
	outcomes, err := s.write("colas", len(patches))
	if s.rejectFirst {
		outcomes[0] = store.Rejected
	}
	return outcomes, err
}

func (s *fakeStore) UpsertPermittees(
	_ context.Context, patches []cola.Patch[cola.Permittee], _ store.Mode,
) ([]store.Outcome, error) {
	for i := range patches {
		p := cola.Permittee{Listed: patches[i].Record.Listed}
		patches[i].Apply(&p)
		s.permittees[p.PermitNumber] = p
	}
	return s.write("permittees", len(patches))
}

func (s *fakeStore) UpsertAVAs(
	_ context.Context, patches []cola.Patch[cola.AVADetail], _ store.Mode,
) ([]store.Outcome, error) {
	return s.write("avas", len(patches))
}

func (s *fakeStore) ReplaceProductionReport(
	_ context.Context, key cola.ReportKey, rows []cola.ProductionReport, _ store.Mode,
) ([]store.Outcome, error) {
	for _, r := range rows {
		if r.Key() != key {
			return nil, errors.New("a row of another report")
		}
	}
	s.reports[key] += len(rows)
	return s.write("reports", len(rows))
}

func (s *fakeStore) UpsertProcessingTimes(
	_ context.Context, rows []cola.ProcessingTime, _ store.Mode,
) ([]store.Outcome, error) {
	return s.write("times", len(rows))
}

func (s *fakeStore) UpsertFormulaProcessingTimes(
	_ context.Context, rows []cola.FormulaProcessingTime, _ store.Mode,
) ([]store.Outcome, error) {
	return s.write("formula times", len(rows))
}

func (s *fakeStore) UpsertRegistrationProcessingTimes(
	_ context.Context, rows []cola.RegistrationProcessingTime, _ store.Mode,
) ([]store.Outcome, error) {
	return s.write("registration times", len(rows))
}

func (s *fakeStore) UpsertCategoryAliases(
	_ context.Context, rows []vocabulary.CategoryAlias, _ store.Mode,
) ([]store.Outcome, error) {
	return s.write("aliases", len(rows))
}

func TestLoad(t *testing.T) {
	o := Options{Colas: 1_234, Seed: 4, AsOf: testDay}
	s := newFakeStore()
	var seen []int
	err := Load(context.Background(), s, o, func(done, total int) {
		if total != o.Colas {
			t.Errorf("total %d, want %d", total, o.Colas)
		}
		seen = append(seen, done)
	})
	if err != nil {
		t.Fatal(err)
	}
	if want := []int{500, 1000, 1234}; !cmp.Equal(seen, want) {
		t.Errorf("progress %v, want %v", seen, want)
	}
	if s.largest != batchSize || len(s.colas) != o.Colas {
		t.Errorf("%d labels in batches of up to %d", len(s.colas), s.largest)
	}
	if s.asNew {
		t.Error("demo labels were not loaded as history")
	}
	for c := range Labels(o) {
		if diff := cmp.Diff(*c, s.colas[c.TTBID]); diff != "" {
			t.Fatalf("%s is stored differently (-generated +stored):\n%s", c.TTBID, diff)
		}
	}
	for _, p := range Permittees(o) {
		if s.permittees[p.PermitNumber] != p {
			t.Fatalf("%s is stored as %+v, want %+v", p.PermitNumber, s.permittees[p.PermitNumber], p)
		}
	}
	want := map[string]int{
		"colas": o.Colas, "permittees": len(Permittees(o)), "avas": len(AVAs(o)),
		"aliases": len(CategoryAliases(o)), "times": len(ProcessingTimes(o)),
		"formula times":      len(FormulaProcessingTimes(o)),
		"registration times": len(RegistrationProcessingTimes(o)), "reports": len(ProductionReports(o)),
	}
	if diff := cmp.Diff(want, s.rows); diff != "" {
		t.Errorf("rows written (-want +got):\n%s", diff)
	}
	for key, n := range s.reports {
		count := 0
		for _, r := range ProductionReports(o) {
			if r.Key() == key {
				count++
			}
		}
		if n != count {
			t.Fatalf("report %+v was written with %d rows, want %d at once", key, n, count)
		}
	}
}

func TestLoadErrors(t *testing.T) {
	o := Options{Colas: 10, Seed: 4, AsOf: testDay}
	for kind, words := range map[string]string{
		"colas": "labels", "permittees": "permittees", "avas": "AVAs",
		"aliases": "category aliases", "times": "processing times",
		"formula times":      "formula processing times",
		"registration times": "registration processing times", "reports": "report Beer of 2014-01-31",
	} {
		s := newFakeStore()
		s.fails = kind
		err := Load(context.Background(), s, o, nil)
		if !errors.Is(err, errWrite) || !strings.Contains(err.Error(), words) {
			t.Errorf("%s: %v, want an error about %q", kind, err, words)
		}
	}
	s := newFakeStore()
	s.rejectFirst = true
	if err := Load(context.Background(), s, o, nil); err == nil || !strings.Contains(err.Error(), "rejected") {
		t.Errorf("Load with a rejected label = %v, want an error", err)
	}
	if err := Load(context.Background(), newFakeStore(), Options{Colas: -1, AsOf: testDay}, nil); err == nil {
		t.Error("Load accepted options that fail Check")
	}
}

func TestLoadCanceled(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	s := newFakeStore()
	err := Load(ctx, s, Options{Colas: 5_000, Seed: 4, AsOf: testDay}, func(done, _ int) {
		if done == 1000 {
			cancel()
		}
	})
	if !errors.Is(err, context.Canceled) || len(s.colas) != 1000 {
		t.Errorf("%v after %d labels, want the context's error after 1000", err, len(s.colas))
	}
}

func TestLoadNoLabels(t *testing.T) {
	s := newFakeStore()
	if err := Load(context.Background(), s, Options{AsOf: testDay}, nil); err != nil || len(s.colas) != 0 ||
		s.rows["avas"] == 0 {
		t.Errorf("Load = %v, wrote %v; want reference data and no labels", err, s.rows)
	}
}
