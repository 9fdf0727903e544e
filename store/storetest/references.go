package storetest

import (
	"slices"
	"testing"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/cola/vocabulary"
	"github.com/colaregistry/colaregistry/store"
)

func testReferences(t *testing.T, open Opener) {
	runChecks(t, open, []check{
		{"empty", func(t *testing.T, st store.Store, _ *clock) {
			sets, err := st.AllReferences(t.Context())
			checkEqual(t, "AllReferences", store.ReferenceSets{}, must(t, sets, err))
		}},
		{"AVAs", mergeAVAs},
		{"processing times", processingTimes},
		{"formula processing times", formulaTimes},
		{"registration processing times", registrationTimes},
		{"category aliases", categoryAliases},
		{"reference revision", referenceRevisions},
	})
}

func mustReferences(t *testing.T, st store.Store) store.ReferenceSets {
	t.Helper()
	sets, err := st.AllReferences(t.Context())
	return must(t, sets, err)
}

// ava returns an AVA without nil lists.
func ava(id, name string) cola.AVADetail {
	return cola.AVADetail{
		AVA:        cola.AVA{AVAID: id, Name: name, States: []string{}, Counties: []string{}},
		ParentAVAs: []string{},
		ChildAVAs:  []string{},
	}
}

func mergeAVAs(t *testing.T, st store.Store, _ *clock) {
	full := cola.AVADetail{
		AVA: cola.AVA{
			AVAID:           "sonoma|2",
			Name:            "Sonoma",
			AKA:             "O'Sonoma 100%",
			States:          []string{"CA", "OR"},
			Counties:        []string{"Napa, \"upper\""},
			EstablishedDate: mustDate(t, "1984-11-23"),
			RemovedDate:     mustDate(t, "2001-01-02"),
			ValidEndDate:    mustDate(t, "2001-01-01"),
		},
		ValidStartDate: mustDate(t, "1990-09-11"),
		ParentAVAs:     []string{"North Coast"},
		ChildAVAs:      []string{"A", "B"},
		Petitioner:     "P",
		CFRAuthor:      "C",
		CFRIndex:       "9.20",
	}
	first := ava("sonoma|1", "Sonoma")
	current := ava("sonoma|3", "Sonoma")
	other := ava("alta", "Alta")
	twin := ava("sonoma|0", "Sonoma")
	first.ValidEndDate = mustDate(t, "1990-09-10")
	current.ValidStartDate = mustDate(t, "2001-01-02")
	twin.ValidEndDate = first.ValidEndDate
	open := ava("sonoma", "Sonoma") // no start date, like first and twin, and no end date
	patches := []cola.Patch[cola.AVADetail]{
		allOf(current), allOf(full), allOf(first), allOf(other), allOf(twin),
		allOf(open), allOf(full),
	}
	got, err := st.UpsertAVAs(t.Context(), patches, store.Commit)
	checkEqual(t, "UpsertAVAs outcomes",
		[]store.Outcome{store.Added, store.Added, store.Added, store.Added, store.Added, store.Added, store.Unchanged},
		must(t, got, err))
	checkEqual(t, "AVAs", []cola.AVADetail{other, twin, first, open, full, current}, mustReferences(t, st).AVAs)

	aka := only(cola.AVADetail{AVA: cola.AVA{AVAID: "sonoma|2", AKA: "NEW"}}, "aka", "states")
	got, err = st.UpsertAVAs(t.Context(), []cola.Patch[cola.AVADetail]{aka, aka}, store.Commit)
	checkEqual(t, "outcomes of a partial update", []store.Outcome{store.Changed, store.Unchanged}, must(t, got, err))
	full.AKA, full.States = "NEW", []string{}
	checkEqual(t, "merged AVA", full, mustReferences(t, st).AVAs[4])
}

// upsertTwice writes rows, and then the same rows followed by two copies of a changed one. It
// checks the outcomes of each write, first in a dry run.
func upsertTwice[T any](t *testing.T, upsert func([]T, store.Mode) ([]store.Outcome, error), rows []T, changed T) {
	t.Helper()
	added, unchanged := make([]store.Outcome, len(rows)), make([]store.Outcome, len(rows))
	for i := range rows {
		added[i] = store.Added
	}
	for _, mode := range []store.Mode{store.DryRun, store.Commit} {
		got, err := upsert(rows, mode)
		checkEqual(t, "outcomes of new rows", added, must(t, got, err))
	}
	second := append(append([]T{}, rows...), changed, changed)
	for _, mode := range []store.Mode{store.DryRun, store.Commit} {
		got, err := upsert(second, mode)
		checkEqual(t, "outcomes of known rows", append(unchanged[:len(rows):len(rows)], store.Changed, store.Unchanged),
			must(t, got, err))
	}
}

func processingTimes(t *testing.T, st store.Store, _ *clock) {
	june, july := mustDate(t, "2025-06-30"), mustDate(t, "2025-07-31")
	wine := cola.ProcessingTime{
		Commodity:            "Wine",
		SnapshotDate:         june,
		TurnaroundDaysMedian: cola.Some(4),
		QueueFrontierDate:    june.AddDays(-4),
		QueueDepthDays:       cola.Some(0),
	}
	rows := []cola.ProcessingTime{
		wine, {Commodity: "Malt Beverage", SnapshotDate: june},
		{Commodity: "Wine", SnapshotDate: july},
	}
	changed := wine
	changed.QueueDepthDays = cola.Opt[int]{}
	upsertTwice(t, func(r []cola.ProcessingTime, m store.Mode) ([]store.Outcome, error) {
		return st.UpsertProcessingTimes(t.Context(), r, m)
	}, rows, changed)
	checkEqual(t, "ProcessingTimes", []cola.ProcessingTime{rows[2], rows[1], changed},
		mustReferences(t, st).ProcessingTimes)
}

func formulaTimes(t *testing.T, st store.Store, _ *clock) {
	june, july := mustDate(t, "2025-06-30"), mustDate(t, "2025-07-31")
	rows := []cola.FormulaProcessingTime{
		{Commodity: "Wine", FormulaType: "B", SnapshotDate: june, TurnaroundDaysMedian: cola.Some(7)},
		{
			Commodity:         "Wine",
			FormulaType:       "A",
			SnapshotDate:      june,
			QueueFrontierDate: june,
			QueueDepthDays:    cola.Some(1),
		},
		{Commodity: "Distilled Spirits", FormulaType: "Z", SnapshotDate: june},
		{Commodity: "Wine", FormulaType: "A", SnapshotDate: july},
	}
	changed := rows[0]
	changed.TurnaroundDaysMedian = cola.Some(8)
	upsertTwice(t, func(r []cola.FormulaProcessingTime, m store.Mode) ([]store.Outcome, error) {
		return st.UpsertFormulaProcessingTimes(t.Context(), r, m)
	}, rows, changed)
	checkEqual(t, "FormulaProcessingTimes", []cola.FormulaProcessingTime{rows[3], rows[2], rows[1], changed},
		mustReferences(t, st).FormulaProcessingTimes)
}

func registrationTimes(t *testing.T, st store.Store, _ *clock) {
	may, june := mustDate(t, "2025-05-01"), mustDate(t, "2025-06-01")
	rows := []cola.RegistrationProcessingTime{
		{Category: "Alcohol", ApplicationType: "Winery", ReportMonth: may, SnapshotDate: june},
		{
			Category:             "Alcohol",
			ApplicationType:      "Brewery",
			ReportMonth:          may,
			TurnaroundDaysMedian: cola.Some(57),
			SnapshotDate:         june,
		},
		{Category: "Alcohol", ApplicationType: "Winery", ReportMonth: june, SnapshotDate: june},
	}
	changed := rows[0] // the snapshot date is not part of the key
	changed.SnapshotDate, changed.TurnaroundDaysMedian = june.AddDays(30), cola.Some(0)
	upsertTwice(t, func(r []cola.RegistrationProcessingTime, m store.Mode) ([]store.Outcome, error) {
		return st.UpsertRegistrationProcessingTimes(t.Context(), r, m)
	}, rows, changed)
	checkEqual(t, "RegistrationProcessingTimes", []cola.RegistrationProcessingTime{rows[2], rows[1], changed},
		mustReferences(t, st).RegistrationProcessingTimes)
}

func categoryAliases(t *testing.T, st store.Store, _ *clock) {
	rows := []vocabulary.CategoryAlias{
		{Alias: "Wine > Rosé", Path: "Wine > Pink"},
		{Alias: "Beer > 100%_Lager", Path: "Beer > Lager"},
		{Alias: "beer > 100%_lager", Path: "X"},
	}
	changed := vocabulary.CategoryAlias{Alias: "Wine > Rosé", Path: "Wine > Rosé Wine"}
	upsertTwice(t, func(r []vocabulary.CategoryAlias, m store.Mode) ([]store.Outcome, error) {
		return st.UpsertCategoryAliases(t.Context(), r, m)
	}, rows, changed)
	checkEqual(t, "CategoryAliases", []vocabulary.CategoryAlias{rows[1], changed, rows[2]},
		mustReferences(t, st).CategoryAliases)
}

func referenceRevisions(t *testing.T, st store.Store, _ *clock) {
	mustAddColas(t, st, label(0))
	if rev, err := st.ReferenceRevision(t.Context()); err != nil || rev != 0 {
		t.Errorf("ReferenceRevision after a label = %d, %v; want 0, nil", rev, err)
	}
	alias := []vocabulary.CategoryAlias{{Alias: "a", Path: "b"}}
	_, err := st.UpsertCategoryAliases(t.Context(), alias, store.Commit)
	latest := must(t, mustRevision(t, st), err)
	rev, err := st.ReferenceRevision(t.Context())
	if err != nil || rev != latest || latest < 2 {
		t.Errorf("ReferenceRevision = %d, %v; want %d", rev, err, latest)
	}
	mustAddColas(t, st, label(1))
	_, err = st.UpsertCategoryAliases(t.Context(), alias, store.Commit)
	if got := must(t, mustReferences(t, st), err).Revision; got != latest {
		t.Errorf("AllReferences.Revision = %d, want %d", got, latest)
	}
	if rev := mustRevision(t, st); rev <= latest {
		t.Errorf("revision after another label = %d, want more than %d", rev, latest)
	}
}

func testProductionReports(t *testing.T, open Opener) {
	runChecks(t, open, []check{
		{"all fields and row order", reportRoundTrip},
		{"replace a report", replaceReportRows},
		{"rows of another report", func(t *testing.T, st store.Store, _ *clock) {
			rows := beerReport(t, "2019-03-31")
			if _, err := st.ReplaceProductionReport(t.Context(), cola.ReportKey{Commodity: "Wine"}, rows,
				store.Commit); err == nil {
				t.Error("ReplaceProductionReport(rows of another report) error = nil, want non-nil")
			}
			checkEqual(t, "number of rows", 0, len(mustReferences(t, st).ProductionReports))
		}},
	})
}

func beerReport(t *testing.T, date string) []cola.ProductionReport {
	row := cola.ProductionReport{
		Commodity:           "Beer",
		ReportType:          "monthly",
		Year:                2019,
		MonthNumber:         cola.Some(3),
		ReportDate:          mustDate(t, date),
		StatisticalGroup:    "Barrels Produced",
		StatisticalCategory: "Taxable",
		StatisticalDetail:   "In bottles and cans",
		CountIMs:            cola.Some(42),
		Value:               cola.Some(13222104.5),
		ValueUnit:           "barrels",
	}
	redacted := row
	redacted.StatisticalDetail = ""
	redacted.Value = cola.Opt[float64]{}
	redacted.CountIMs = cola.Opt[int]{}
	redacted.IsRedacted = true
	third := row
	third.StatisticalGroup, third.MonthNumber = "A", cola.Opt[int]{}
	return []cola.ProductionReport{row, redacted, third}
}

func replaceReport(t *testing.T, st store.Store, key cola.ReportKey, rows []cola.ProductionReport,
	want ...store.Outcome) {
	t.Helper()
	before := mustReferences(t, st)
	got, err := st.ReplaceProductionReport(t.Context(), key, rows, store.DryRun)
	checkEqual(t, "dry-run outcomes", want, slices.Clip(must(t, got, err)))
	checkEqual(t, "references after a dry run", before, mustReferences(t, st))
	got, err = st.ReplaceProductionReport(t.Context(), key, rows, store.Commit)
	checkEqual(t, "outcomes", want, slices.Clip(must(t, got, err)))
}

func reportRoundTrip(t *testing.T, st store.Store, _ *clock) {
	march, april := beerReport(t, "2019-03-31"), beerReport(t, "2019-04-30")
	wine := beerReport(t, "2019-04-30")
	yearly := beerReport(t, "2019-04-30")
	for i := range wine {
		wine[i].Commodity, yearly[i].ReportType = "Wine", "yearly"
	}
	for _, rows := range [][]cola.ProductionReport{wine, march, yearly, april} {
		replaceReport(t, st, rows[0].Key(), rows, store.Added, store.Added, store.Added)
	}
	checkEqual(t, "ProductionReports", slices.Concat(april, yearly, wine, march),
		mustReferences(t, st).ProductionReports)
}

func replaceReportRows(t *testing.T, st store.Store, _ *clock) {
	other := beerReport(t, "2019-04-30")
	replaceReport(t, st, other[0].Key(), other, store.Added, store.Added, store.Added)
	rows := beerReport(t, "2019-03-31")
	a, b, c := rows[0], rows[1], rows[2]
	key := a.Key()
	for _, step := range []struct {
		rows    []cola.ProductionReport
		want    []store.Outcome
		written bool
	}{
		{[]cola.ProductionReport{a, b}, []store.Outcome{store.Added, store.Added}, true},
		{[]cola.ProductionReport{a, b}, []store.Outcome{store.Unchanged, store.Unchanged}, false},
		{
			[]cola.ProductionReport{a, b, b, c},
			[]store.Outcome{store.Unchanged, store.Unchanged, store.Changed, store.Changed},
			true,
		},
		// A subset, in a different order.
		{[]cola.ProductionReport{c, b, a}, []store.Outcome{store.Unchanged, store.Unchanged, store.Unchanged}, true},
		{[]cola.ProductionReport{a, b, c}, []store.Outcome{store.Unchanged, store.Unchanged, store.Unchanged}, true},
		{nil, nil, true},
		{nil, nil, false},
		{[]cola.ProductionReport{a}, []store.Outcome{store.Added}, true},
	} {
		before := mustRevision(t, st)
		replaceReport(t, st, key, step.rows, step.want...)
		checkEqual(t, "ProductionReports", append(slices.Clone(other), step.rows...),
			mustReferences(t, st).ProductionReports)
		if written := mustRevision(t, st) > before; written != step.written {
			t.Errorf("replacing with %d rows: written = %v, want %v", len(step.rows), written, step.written)
		}
	}
}
