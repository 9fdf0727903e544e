package ingest_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/cola/vocabulary"
	"github.com/colaregistry/colaregistry/ingest"
	"github.com/colaregistry/colaregistry/store"
	"github.com/colaregistry/colaregistry/store/sqlite"
)

// mustOpen opens a new SQLite store.
func mustOpen(tb testing.TB) store.Store {
	tb.Helper()
	st, _ := mustOpenAt(tb)
	return st
}

// mustOpenAt opens a new SQLite store and returns it with the path of its database.
func mustOpenAt(tb testing.TB) (store.Store, string) {
	tb.Helper()
	path := filepath.Join(tb.TempDir(), "registry.db")
	st, err := sqlite.Open(context.Background(), path, sqlite.Options{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := st.Close(); err != nil {
			tb.Error(err)
		}
	})
	return st, path
}

// realData returns files from the optional folder of real data, or skips the test if there are
// none.
func realData(t *testing.T, pattern string) []ingest.Source {
	t.Helper()
	folder := os.Getenv("COLAREGISTRY_SHARED_DATA")
	if folder == "" {
		folder = filepath.Join("..", "..", "shared", "data") // next to the module
	}
	paths, err := filepath.Glob(filepath.Join(folder, filepath.FromSlash(pattern)))
	if err != nil {
		t.Fatal(err)
	}
	if len(paths) == 0 {
		t.Skipf("no real data %s in %s (set COLAREGISTRY_SHARED_DATA to its folder)", pattern, folder)
	}
	var sources []ingest.Source
	for _, path := range paths {
		sources = append(sources, ingest.FileSource(path))
	}
	return sources
}

func mustImport(t *testing.T, st store.Store, kind ingest.Kind, sources []ingest.Source) ingest.Report {
	t.Helper()
	report, err := ingest.Import(t.Context(), st, kind, sources, ingest.Options{})
	if err != nil {
		t.Fatalf("Import(%s): %v", kind, err)
	}
	return report
}

func checkSummary(t *testing.T, what string, report ingest.Report, want string) {
	t.Helper()
	if report.Summary() != want || len(report.Warnings) > 0 {
		t.Errorf("%s: report = %s, want %s; warnings = %v", what, report.Summary(), want, report.Warnings)
	}
}

// TestRealDataIntoSQLite checks imports of real files into an SQLite store.
func TestRealDataIntoSQLite(t *testing.T) {
	export, records := realData(t, "ttb/cola_export.csv"), realData(t, "ttb/cola_records.jsonl")
	st := mustOpen(t)

	report := mustImport(t, st, ingest.Colas, export)
	checkSummary(t, "export", report, "read=231 added=231 changed=0 unchanged=0 rejected=0")
	checkUndated(t, "export", report, 231)
	report = mustImport(t, st, ingest.Colas, records)
	checkSummary(t, "records", report, "read=50 added=0 changed=50 unchanged=0 rejected=0")
	checkUndated(t, "records", report, 0)
	report = mustImport(t, st, ingest.Colas, append(export, records...))
	checkSummary(t, "both again", report, "read=281 added=0 changed=0 unchanged=281 rejected=0")
	checkUndated(t, "both again", report, 181)

	label := mustCola(t, st, 11054001000049)
	if label.BrandName != "LENZ MOSER" || label.LatestUpdateDate != cola.NewDate(2025, 7, 16) || label.ApprovalDate != cola.NewDate(2011, 3, 18) ||
		label.PermitNumber != "NJ-I-721" || label.WineAppellation != "BURGENLAND" {
		t.Errorf("label lacks fields of one source: %+v", label)
	}
	if undated := mustCola(t, st, 9079001000202); undated.ApprovalDate != 0 || undated.LatestUpdateDate == 0 {
		t.Errorf("label without an approval date = %+v", undated)
	}

	checkSummary(t, "areas", mustImport(t, st, ingest.AVAs, realData(t, "ava/avas.jsonl")),
		"read=333 added=333 changed=0 unchanged=0 rejected=0")
	checkSummary(t, "features", mustImport(t, st, ingest.AVAs, realData(t, "ava/*.geojson")),
		"read=12 added=0 changed=0 unchanged=12 rejected=0")
	checkSummary(t, "permittees", mustImport(t, st, ingest.Permittees, realData(t, "ttb/wine_producers_napa.csv")),
		"read=972 added=971 changed=0 unchanged=1 rejected=0")
	for range 2 {
		mustImport(t, st, ingest.ProductionReports, realData(t, "ttb/production_reports.jsonl"))
	}
	checkSummary(t, "production", mustImport(t, st, ingest.ProductionReports, realData(t, "ttb/production_reports.jsonl")),
		"read=6648 added=0 changed=0 unchanged=6648 rejected=0")
	checkSummary(t, "times", mustImport(t, st, ingest.RegistrationProcessingTimes, realData(t, "ttb/registration_processing_times.jsonl")),
		"read=69 added=69 changed=0 unchanged=0 rejected=0")
}

// checkUndated checks how many labels without an approval date a report counts.
func checkUndated(t *testing.T, what string, report ingest.Report, want int) {
	t.Helper()
	if text := written(t, report); report.Undated != want || report.Estimated != want || !strings.Contains(text, fmt.Sprintf("without an approval date: %d", want)) {
		t.Errorf("%s: undated = %d, want %d:\n%s", what, report.Undated, want, text)
	}
}

func written(t *testing.T, report ingest.Report) string {
	t.Helper()
	var b strings.Builder
	if _, err := report.WriteTo(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func mustCola(t *testing.T, st store.Store, id cola.TTBID) cola.Cola {
	t.Helper()
	label, err := st.Cola(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return label
}

// TestSQLiteRejections checks that the store's rejections are reported, even in a dry run.
func TestSQLiteRejections(t *testing.T) {
	const whole = `{"ttb_id":"24001001000001","brand_name":"A","product_type":"wine","permit_number":"CA-W-1"}` + "\n"
	const partial = `{"ttb_id":"24001001000002","application_status":"expired"}` + "\n"
	st := mustOpen(t)
	for _, dryRun := range []bool{true, false} {
		source := ingest.ReaderSource("-", strings.NewReader(partial+whole+strings.Replace(whole, "}", `,"abv":1}`, 1)+partial))
		report, err := ingest.Import(t.Context(), st, ingest.Colas, []ingest.Source{source}, ingest.Options{DryRun: dryRun, SkipInvalid: true})
		if err != nil || report.Summary() != "read=4 added=1 changed=1 unchanged=0 rejected=2" || report.Undated != 1 {
			t.Errorf("dry run = %t: error = %v, report = %s, undated = %d", dryRun, err, report.Summary(), report.Undated)
		}
		if len(report.Rejections) != 2 || report.Rejections[1].Line != 4 {
			t.Errorf("dry run = %t: rejections = %v", dryRun, report.Rejections)
		}
	}
}

// TestSQLiteWholeLabel checks that a complete label is stored without loss.
func TestSQLiteWholeLabel(t *testing.T) {
	want := wholeLabel(1)
	text, err := json.Marshal(map[string]any{"data": []cola.Cola{want}})
	if err != nil {
		t.Fatal(err)
	}
	st := mustOpen(t)
	mustImport(t, st, ingest.Colas, []ingest.Source{ingest.ReaderSource("-", strings.NewReader(string(text)))})
	want.DateEstimate = cola.NewDate(2024, 1, 21) // computed from the ID
	if diff := cmp.Diff(want, mustCola(t, st, want.TTBID)); diff != "" {
		t.Error(diff)
	}
}

// wholeLabel returns a label with most fields set.
func wholeLabel(n int) cola.Cola {
	c := cola.Cola{ColaSummary: cola.ColaSummary{
		TTBID: cola.TTBID(24001001000000 + n), BrandName: fmt.Sprintf("CHÂTEAU %d", n), ProductName: "RÉSERVE", ProductType: vocabulary.Wine,
		ClassName: "TABLE RED WINE", OriginName: "FRANCE", PermitNumber: "NJ-I-721", ApplicationStatus: vocabulary.StatusApproved,
		ApprovalDate: cola.NewDate(2024, 2, 1),
	}}
	c.ClassID, c.OriginID, c.DomesticOrImported, c.ABV = "80", "51", vocabulary.Imported, cola.Some(13.5)
	c.Volume, c.VolumeUnit, c.GrapeVarietals = cola.Some(750.0), "milliliters", []string{"Merlot", "Syrah"}
	c.LLMCategoryPath, c.LLMProductDescription = "Wine > Red Wine > Blend", "A dry red wine.\nServe at room temperature."
	id := cola.Text(c.TTBID.String() + "-1")
	c.Images = []cola.Image{{TTBImageID: string(id), ContainerPosition: "front", WidthPixels: cola.Some(900), ImageURL: "/images/" + id}}
	c.Barcodes = []cola.Barcode{{BarcodeType: "UPC-A", BarcodeValue: "036000291452", TTBImageID: id, WidthPixels: cola.Some(210)}}
	c.Derive()
	return c
}

// BenchmarkImportSQLite measures an import of new labels into an SQLite store.
func BenchmarkImportSQLite(b *testing.B) {
	const labels = 5000
	var text strings.Builder
	for i := range labels {
		line, err := json.Marshal(wholeLabel(i))
		if err != nil {
			b.Fatal(err)
		}
		text.Write(append(line, '\n'))
	}
	b.SetBytes(int64(text.Len()))
	for b.Loop() {
		b.StopTimer()
		st := mustOpen(b)
		source := ingest.ReaderSource("-", strings.NewReader(text.String()))
		b.StartTimer()
		if report, err := ingest.Import(context.Background(), st, ingest.Colas, []ingest.Source{source}, ingest.Options{}); err != nil || report.Added != labels {
			b.Fatal(err, report.Summary())
		}
	}
	b.ReportMetric(float64(labels*b.N)/b.Elapsed().Seconds(), "rows/s")
}
