package ingest

import (
	"context"
	"reflect"
	"slices"
	"sync"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/cola/vocabulary"
	"github.com/colaregistry/colaregistry/store"
)

// fakeStore is an in-memory store with the methods that imports use.
type fakeStore struct {
	Target // nil, for methods that imports don't call

	mu         sync.Mutex
	colas      map[cola.TTBID]cola.Cola
	permittees map[string]cola.Permittee
	avas       map[string]cola.AVADetail
	reports    map[cola.ReportKey][]cola.ProductionReport
	times      map[any]any
	aliases    map[string]vocabulary.CategoryAlias

	batches int               // calls to UpsertColas
	failAt  int               // number of the call to UpsertColas that fails after half its patches; zero for none
	err     error             // error from the failing call
	onBatch func(n, rows int) // called before each UpsertColas
	reads   int               // calls to Cola
	modes   []store.Mode      // modes of the calls to UpsertColas
	lookErr error             // error from HasColas
	imports []cola.Import     // recorded imports
	recErr  error             // error from RecordImport
}

func newFakeStore() *fakeStore {
	return &fakeStore{
		colas: map[cola.TTBID]cola.Cola{}, permittees: map[string]cola.Permittee{}, avas: map[string]cola.AVADetail{},
		reports: map[cola.ReportKey][]cola.ProductionReport{}, times: map[any]any{}, aliases: map[string]vocabulary.CategoryAlias{},
	}
}

// merged applies a patch to a stored record and returns the outcome.
func merged[T any](patch *cola.Patch[T], stored T, exists bool, derive func(*T)) (T, store.Outcome) {
	before := stored
	patch.Apply(&stored)
	derive(&stored)
	switch {
	case !exists:
		return stored, store.Added
	case reflect.DeepEqual(before, stored):
		return stored, store.Unchanged
	}
	return stored, store.Changed
}

func (f *fakeStore) UpsertColas(ctx context.Context, patches []cola.Patch[cola.Cola], mode store.Mode) ([]store.Outcome, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.batches++
	f.modes = append(f.modes, mode)
	if f.onBatch != nil {
		f.onBatch(f.batches, len(patches))
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if f.batches == f.failAt {
		patches = patches[:len(patches)/2]
	}
	kept := f.colas
	if !mode.Writes() {
		kept = map[cola.TTBID]cola.Cola{}
	}
	var outcomes []store.Outcome
	for i := range patches {
		id := patches[i].Record.TTBID
		stored, exists := kept[id]
		if !exists {
			stored, exists = f.colas[id]
		}
		label, outcome := merged(&patches[i], stored, exists, (*cola.Cola).Derive)
		if cola.CheckNew(&label) != nil {
			outcomes = append(outcomes, store.Rejected)
			continue
		}
		kept[id] = label
		outcomes = append(outcomes, outcome)
	}
	if f.batches == f.failAt {
		return outcomes, f.err
	}
	return outcomes, nil
}

func (f *fakeStore) Cola(_ context.Context, id cola.TTBID) (cola.Cola, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.reads++
	label, ok := f.colas[id]
	if !ok {
		return label, store.ErrNotFound
	}
	return label, nil
}

func (f *fakeStore) RecordImport(ctx context.Context, i cola.Import) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	f.imports = append(f.imports, i)
	return f.recErr
}

func (f *fakeStore) HasColas(context.Context) (bool, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.colas) > 0, f.lookErr
}

func (f *fakeStore) UpsertPermittees(_ context.Context, patches []cola.Patch[cola.Permittee], mode store.Mode) ([]store.Outcome, error) {
	var outcomes []store.Outcome
	for i := range patches {
		number := patches[i].Record.PermitNumber
		stored, exists := f.permittees[number]
		listed := stored.Listed || patches[i].Record.Listed
		p, outcome := merged(&patches[i], stored, exists, func(p *cola.Permittee) { p.Listed = listed })
		if mode.Writes() {
			f.permittees[number] = p
		}
		outcomes = append(outcomes, outcome)
	}
	return outcomes, nil
}

func (f *fakeStore) UpsertAVAs(_ context.Context, patches []cola.Patch[cola.AVADetail], mode store.Mode) ([]store.Outcome, error) {
	var outcomes []store.Outcome
	for i := range patches {
		stored, exists := f.avas[patches[i].Record.AVAID]
		a, outcome := merged(&patches[i], stored, exists, func(a *cola.AVADetail) {
			for _, list := range []*[]string{&a.States, &a.Counties, &a.ParentAVAs, &a.ChildAVAs} {
				if *list == nil {
					*list = []string{}
				}
			}
		})
		if mode.Writes() {
			f.avas[a.AVAID] = a
		}
		outcomes = append(outcomes, outcome)
	}
	return outcomes, nil
}

func (f *fakeStore) ReplaceProductionReport(
	_ context.Context, key cola.ReportKey, rows []cola.ProductionReport, mode store.Mode,
) ([]store.Outcome, error) {
	before, exists := f.reports[key]
	var outcomes []store.Outcome
	for _, row := range rows {
		switch {
		case slices.Contains(before, row):
			outcomes = append(outcomes, store.Unchanged)
		case exists:
			outcomes = append(outcomes, store.Changed)
		default:
			outcomes = append(outcomes, store.Added)
		}
	}
	if mode.Writes() {
		f.reports[key] = slices.Clone(rows)
	}
	return outcomes, nil
}

// upsertRows stores rows by key.
func upsertRows[T comparable](stored map[any]any, rows []T, key func(T) any, mode store.Mode) []store.Outcome {
	var outcomes []store.Outcome
	for _, row := range rows {
		before, exists := stored[key(row)]
		switch {
		case !exists:
			outcomes = append(outcomes, store.Added)
		case before == any(row):
			outcomes = append(outcomes, store.Unchanged)
		default:
			outcomes = append(outcomes, store.Changed)
		}
		if mode.Writes() {
			stored[key(row)] = row
		}
	}
	return outcomes
}

func (f *fakeStore) UpsertProcessingTimes(_ context.Context, rows []cola.ProcessingTime, mode store.Mode) ([]store.Outcome, error) {
	key := func(t cola.ProcessingTime) any {
		return cola.ProcessingTime{Commodity: t.Commodity, SnapshotDate: t.SnapshotDate}
	}
	return upsertRows(f.times, rows, key, mode), nil
}

func (f *fakeStore) UpsertFormulaProcessingTimes(
	_ context.Context, rows []cola.FormulaProcessingTime, mode store.Mode,
) ([]store.Outcome, error) {
	key := func(t cola.FormulaProcessingTime) any {
		return cola.FormulaProcessingTime{Commodity: t.Commodity, FormulaType: t.FormulaType, SnapshotDate: t.SnapshotDate}
	}
	return upsertRows(f.times, rows, key, mode), nil
}

func (f *fakeStore) UpsertRegistrationProcessingTimes(
	_ context.Context, rows []cola.RegistrationProcessingTime, mode store.Mode,
) ([]store.Outcome, error) {
	key := func(t cola.RegistrationProcessingTime) any {
		return cola.RegistrationProcessingTime{Category: t.Category, ApplicationType: t.ApplicationType, ReportMonth: t.ReportMonth}
	}
	return upsertRows(f.times, rows, key, mode), nil
}

func (f *fakeStore) UpsertCategoryAliases(_ context.Context, rows []vocabulary.CategoryAlias, mode store.Mode) ([]store.Outcome, error) {
	var outcomes []store.Outcome
	for _, row := range rows {
		before, exists := f.aliases[vocabulary.FoldPath(row.Alias)]
		switch {
		case !exists:
			outcomes = append(outcomes, store.Added)
		case before == row:
			outcomes = append(outcomes, store.Unchanged)
		default:
			outcomes = append(outcomes, store.Changed)
		}
		if mode.Writes() {
			f.aliases[vocabulary.FoldPath(row.Alias)] = row
		}
	}
	return outcomes, nil
}

func (f *fakeStore) AllReferences(context.Context) (store.ReferenceSets, error) {
	var sets store.ReferenceSets
	for _, rows := range f.reports {
		sets.ProductionReports = append(sets.ProductionReports, rows...)
	}
	for _, a := range f.aliases {
		sets.CategoryAliases = append(sets.CategoryAliases, a)
	}
	return sets, nil
}
