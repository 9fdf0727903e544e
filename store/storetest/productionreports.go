package storetest

import (
	"slices"
	"testing"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

func testProductionReports(t *testing.T, open Opener) {
	runChecks(t, open, []check{
		{"every field and the order come back", reportComesBack},
		{"a report is replaced whole", reportIsReplaced},
		{"rows of another report are refused", func(t *testing.T, st store.Store, _ *clock) {
			rows := beerReport(t, "2019-03-31")
			if _, err := st.ReplaceProductionReport(t.Context(), cola.ReportKey{Commodity: "Wine"}, rows, store.Commit); err == nil {
				t.Error("no error")
			}
			same(t, "rows", 0, len(mustReferences(t, st).ProductionReports))
		}},
	})
}

func beerReport(t *testing.T, date string) []cola.ProductionReport {
	row := cola.ProductionReport{
		Commodity: "Beer", ReportType: "monthly", Year: 2019, MonthNumber: cola.Some(3), ReportDate: mustDate(t, date),
		StatisticalGroup: "Barrels Produced", StatisticalCategory: "Taxable", StatisticalDetail: "In bottles and cans",
		CountIMs: cola.Some(42), Value: cola.Some(13222104.5), ValueUnit: "barrels",
	}
	redacted := row
	redacted.StatisticalDetail, redacted.Value, redacted.CountIMs, redacted.IsRedacted = "", cola.Opt[float64]{}, cola.Opt[int]{}, true
	third := row
	third.StatisticalGroup, third.MonthNumber = "A", cola.Opt[int]{}
	return []cola.ProductionReport{row, redacted, third}
}

func replaceReport(t *testing.T, st store.Store, key cola.ReportKey, rows []cola.ProductionReport, want ...store.Outcome) {
	t.Helper()
	before := mustReferences(t, st)
	got, err := st.ReplaceProductionReport(t.Context(), key, rows, store.DryRun)
	same(t, "outcomes of a dry run", want, slices.Clip(must(t, got, err)))
	same(t, "sets after a dry run", before, mustReferences(t, st))
	got, err = st.ReplaceProductionReport(t.Context(), key, rows, store.Commit)
	same(t, "outcomes", want, slices.Clip(must(t, got, err)))
}

func reportComesBack(t *testing.T, st store.Store, _ *clock) {
	march, april := beerReport(t, "2019-03-31"), beerReport(t, "2019-04-30")
	wine := beerReport(t, "2019-04-30")
	yearly := beerReport(t, "2019-04-30")
	for i := range wine {
		wine[i].Commodity, yearly[i].ReportType = "Wine", "yearly"
	}
	for _, rows := range [][]cola.ProductionReport{wine, march, yearly, april} {
		replaceReport(t, st, rows[0].Key(), rows, store.Added, store.Added, store.Added)
	}
	same(t, "rows", slices.Concat(april, yearly, wine, march), mustReferences(t, st).ProductionReports)
}

func reportIsReplaced(t *testing.T, st store.Store, _ *clock) {
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
		{[]cola.ProductionReport{a, b, b, c}, []store.Outcome{store.Unchanged, store.Unchanged, store.Changed, store.Changed}, true},
		{[]cola.ProductionReport{c, b, a}, []store.Outcome{store.Unchanged, store.Unchanged, store.Unchanged}, true}, // fewer, in another order
		{[]cola.ProductionReport{a, b, c}, []store.Outcome{store.Unchanged, store.Unchanged, store.Unchanged}, true},
		{nil, nil, true},
		{nil, nil, false},
		{[]cola.ProductionReport{a}, []store.Outcome{store.Added}, true},
	} {
		before := mustRevision(t, st)
		replaceReport(t, st, key, step.rows, step.want...)
		same(t, "rows", append(slices.Clone(other), step.rows...), mustReferences(t, st).ProductionReports)
		if written := mustRevision(t, st) > before; written != step.written {
			t.Errorf("replacing by %d rows: written = %v, want %v", len(step.rows), written, step.written)
		}
	}
}
