package registry_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/registry"
)

// TestLatestFigures checks that latest returns exactly the matching rows with the newest date in
// each series.
func TestLatestFigures(t *testing.T) {
	w := mustWorld(t, 10)
	c := w.mustCaller(t, "latest@example.com", cola.TierPro)
	ctx, latest := t.Context(), cola.Some(true)

	times, _, err := w.ProcessingTimes(ctx, c, cola.ProcessingTimeParams{})
	newest, _, err2 := w.ProcessingTimes(ctx, c, cola.ProcessingTimeParams{Latest: latest})
	checkLatest(t, times, newest, err, err2, func(r cola.ProcessingTime) (string, cola.Date) { return r.Commodity, r.SnapshotDate })
	if len(newest.Rows) != 3 || newest.Meta.Total != 3 {
		t.Errorf("newest: %d of %d rows, want 3", len(newest.Rows), newest.Meta.Total)
	}
	formula, _, err := w.FormulaProcessingTimes(ctx, c, cola.FormulaProcessingTimeParams{Commodity: "wine"})
	newestFormula, _, err2 := w.FormulaProcessingTimes(ctx, c, cola.FormulaProcessingTimeParams{Commodity: "wine", Latest: latest})
	checkLatest(t, formula, newestFormula, err, err2, func(r cola.FormulaProcessingTime) (string, cola.Date) {
		return r.Commodity + "|" + r.FormulaType, r.SnapshotDate
	})
	permits, _, err := w.RegistrationProcessingTimes(ctx, c, cola.RegistrationProcessingTimeParams{})
	newestPermits, _, err2 := w.RegistrationProcessingTimes(ctx, c, cola.RegistrationProcessingTimeParams{Latest: latest})
	checkLatest(t, permits, newestPermits, err, err2, func(r cola.RegistrationProcessingTime) (string, cola.Date) {
		return r.Category + "|" + r.ApplicationType, r.ReportMonth
	})
	for _, p := range []cola.ProductionReportParams{{}, {Commodity: "beer", Year: cola.Some(2019)}, {StatisticalDetail: "production"}} {
		all := allReports(t, w, c, p)
		p.Latest = latest
		checkLatest(t, all, allReports(t, w, c, p), nil, nil, func(r cola.ProductionReport) (string, cola.Date) {
			return r.Commodity + "|" + r.ReportType, r.ReportDate
		})
	}
}

// checkLatest compares the latest rows with the rows in the full list that have each series' newest
// date.
func checkLatest[T any](t *testing.T, all, newest registry.List[T], err, err2 error, of func(T) (string, cola.Date)) {
	t.Helper()
	if err != nil || err2 != nil {
		t.Fatal(err, err2)
	}
	dates := map[string]cola.Date{}
	for _, r := range all.Rows {
		series, date := of(r)
		dates[series] = max(dates[series], date)
	}
	want := slices.DeleteFunc(slices.Clone(all.Rows), func(r T) bool {
		series, date := of(r)
		return date != dates[series]
	})
	if diff := cmp.Diff(want, newest.Rows); diff != "" || len(want) == 0 || len(want) == len(all.Rows) || newest.Meta.Total != len(want) {
		t.Errorf("newest: %d of %d rows (-want +got):\n%s", newest.Meta.Total, len(all.Rows), diff)
	}
}

// allReports returns every page of a list of production reports.
func allReports(t *testing.T, w *world, c cola.Caller, p cola.ProductionReportParams) (all registry.List[cola.ProductionReport]) {
	t.Helper()
	p.PerPage = cola.Some(cola.MaxPerPage)
	for page := 1; ; page++ {
		p.Page = cola.Some(page)
		got, _, err := w.ProductionReports(t.Context(), c, p)
		if err != nil {
			t.Fatal(err)
		}
		all.Rows, all.Meta.Total = append(all.Rows, got.Rows...), got.Meta.Total
		if !got.Meta.HasMore || page == cola.MaxPage {
			return all
		}
	}
}

func TestStatisticalDetail(t *testing.T) {
	w := mustWorld(t, 10)
	c := w.mustCaller(t, "detail@example.com", cola.TierPro)
	got := allReports(t, w, c, cola.ProductionReportParams{StatisticalDetail: "  PRODUCTION "})
	for _, r := range got.Rows {
		if r.StatisticalDetail != "Production" {
			t.Errorf("statistical detail = %q, want Production", r.StatisticalDetail)
		}
	}
	if len(got.Rows) == 0 {
		t.Error("no rows with detail Production")
	}
}

// TestCurrentAVAs checks that superseded boundaries have a last day and that current excludes them.
func TestCurrentAVAs(t *testing.T) {
	w := mustWorld(t, 10)
	c := w.mustCaller(t, "areas@example.com", cola.TierPro)
	ids := func(current cola.Opt[bool]) (found []string) {
		areas, _, err := w.AVAs(t.Context(), c, cola.AVAParams{Q: "walla walla", Current: current})
		if err != nil || areas.Meta.Total != len(areas.Rows) {
			t.Fatalf("AVAs = %+v, %v", areas.Meta, err)
		}
		for _, a := range areas.Rows {
			found = append(found, a.AVAID+" "+a.ValidEndDate.String())
		}
		return found
	}
	all := []string{"walla_walla_valley_19840112 2001-04-27", "walla_walla_valley "}
	for _, tt := range []struct {
		current cola.Opt[bool]
		want    []string
	}{{cola.Opt[bool]{}, all}, {cola.Some(false), all}, {cola.Some(true), all[1:]}} {
		if diff := cmp.Diff(tt.want, ids(tt.current)); diff != "" {
			t.Errorf("current = %+v (-want +got):\n%s", tt.current, diff)
		}
	}
}
