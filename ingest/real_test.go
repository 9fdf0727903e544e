package ingest

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/cola/vocabulary"
)

// realData returns a file from the optional folder of real data, or skips the test if it is
// missing.
func realData(t *testing.T, name string) string {
	t.Helper()
	folder := os.Getenv("COLAREGISTRY_SHARED_DATA")
	if folder == "" {
		folder = filepath.Join("..", "..", "shared", "data") // next to the module
	}
	path := filepath.Join(folder, filepath.FromSlash(name))
	if _, err := os.Stat(path); err != nil {
		t.Skipf("no real data: %v (set COLAREGISTRY_SHARED_DATA to its folder)", err)
	}
	return path
}

func mustImport(t *testing.T, st Target, kind Kind, sources ...Source) Report {
	t.Helper()
	report, err := Import(context.Background(), st, kind, sources, Options{})
	if err != nil {
		t.Fatalf("Import(%s): %v\n%v", kind, err, report.Rejections)
	}
	return report
}

func TestRealLabels(t *testing.T) {
	export, records := realData(t, "ttb/cola_export.csv"), realData(t, "ttb/cola_records.jsonl")
	st := newFakeStore()
	first := mustImport(t, st, Colas, FileSource(export))
	if first.Counts != (Counts{Read: 231, Added: 231}) || first.Undated != 231 || len(first.Warnings) > 0 {
		t.Errorf("export: report = %+v", first)
	}
	second := mustImport(t, st, Colas, FileSource(records))
	if second.Read != 50 || second.Added != 0 || len(second.Warnings) > 0 || len(st.colas) != 231 {
		t.Errorf("records: report = %+v, %d labels", second, len(st.colas))
	}
	label := st.colas[11054001000049]
	if label.LatestUpdateDate.String() != "2025-07-16" || label.ApprovalDate.String() != "2011-03-18" ||
		label.AddressZipCode != "07927" || label.ProductType != vocabulary.Wine || label.DomesticOrImported != vocabulary.Imported {
		t.Errorf("label in both sources = %+v", label)
	}
	repeat := mustImport(t, st, Colas, FileSource(export), FileSource(records))
	if repeat.Counts != (Counts{Read: 281, Unchanged: 281}) {
		t.Errorf("second import: report = %s, want 281 unchanged", repeat.Summary())
	}
	undated := 0
	for _, label := range st.colas {
		if label.ApprovalDate == 0 {
			undated++
		}
	}
	if repeat.Undated != undated || undated == 0 {
		t.Errorf("undated = %d, but %d stored", repeat.Undated, undated)
	}
}

func TestRealPermittees(t *testing.T) {
	list := realData(t, "ttb/wine_producers_napa.csv")
	st := newFakeStore()
	report := mustImport(t, st, Permittees, FileSource(list))
	if report.Counts != (Counts{Read: 972, Added: 971, Unchanged: 1}) || len(report.Warnings) > 0 {
		t.Errorf("report = %s %v", report.Summary(), report.Warnings)
	}
	want := cola.Permittee{
		PermitNumber: "CA-W-21448", CompanyName: "ZERO LINK MARKETS, INC.", OperatingName: "VINOSHIPPER.COM",
		CompanyState: "CA", CompanyZipCode: "95448", PermitteeType: "Wine Producer", Listed: true,
	}
	if diff := cmp.Diff(want, st.permittees["CA-W-21448"]); diff != "" {
		t.Error(diff)
	}
}

func TestRealAVAs(t *testing.T) {
	rows := realData(t, "ava/avas.jsonl")
	features, err := filepath.Glob(filepath.Join(filepath.Dir(rows), "*.geojson"))
	if err != nil {
		t.Fatal(err)
	}
	st := newFakeStore()
	if report := mustImport(t, st, AVAs, FileSource(rows)); report.Counts != (Counts{Read: 333, Added: 333}) {
		t.Errorf("rows: report = %s", report.Summary())
	}
	var sources []Source
	for _, f := range features {
		sources = append(sources, FileSource(f))
	}
	report := mustImport(t, st, AVAs, sources...)
	if report.Counts != (Counts{Read: 12, Unchanged: 12}) || len(report.Warnings) > 0 {
		t.Errorf("features: report = %s %v", report.Summary(), report.Warnings)
	}
}

func TestRealReferences(t *testing.T) {
	reports := realData(t, "ttb/production_reports.jsonl")
	st := newFakeStore()
	if report := mustImport(t, st, ProductionReports, FileSource(reports)); report.Counts != (Counts{Read: 6648, Added: 6648}) {
		t.Errorf("production reports: report = %s", report.Summary())
	}
	if report := mustImport(t, st, ProductionReports, FileSource(reports)); report.Counts != (Counts{Read: 6648, Unchanged: 6648}) {
		t.Errorf("production reports again: report = %s", report.Summary())
	}
	times := realData(t, "ttb/registration_processing_times.jsonl")
	if report := mustImport(t, st, RegistrationProcessingTimes, FileSource(times)); report.Counts != (Counts{Read: 69, Added: 69}) {
		t.Errorf("processing times: report = %s", report.Summary())
	}
}

// TestRealReferenceFormats imports files in the formats of TTB's current downloads, with made-up
// values.
func TestRealReferenceFormats(t *testing.T) {
	st := newFakeStore()
	for _, test := range []struct {
		kind  Kind
		file  string
		added int
	}{
		{Permittees, "FRL_Spirits_Producers_and_Bottlers_List.csv", 4},
		{Permittees, "FRL_All_Permits.json", 0}, // both permits are on the list
		{ProductionReports, "Distilled_Spirits_monthly_data_csv.csv", 2},
		{ProductionReports, "Wine_yearly_data_csv.csv", 1},
		{ProductionReports, "2012-2024_Report_DistillersProduction.json", 1},
		{FormulaProcessingTimes, "form_stats.csv", 2},
		{ProcessingTimes, "cola_stats.xml", 1},
	} {
		path := realData(t, "ttb/reference_formats/"+test.file)
		first := mustImport(t, st, test.kind, FileSource(path))
		second := mustImport(t, st, test.kind, FileSource(path))
		if first.Added != test.added || first.Changed > 0 || second.Unchanged != first.Read || second.Read != first.Read {
			t.Errorf("%s: first import: %s, second: %s", test.file, first.Summary(), second.Summary())
		}
		for _, w := range first.Warnings {
			if w.Message != noteWindows {
				t.Errorf("%s: %s", test.file, w)
			}
		}
	}
	want := cola.Permittee{
		PermitNumber: "PR-S-1", CompanyName: "DESTILERÍA SERRALLÉS, INC.", CompanyState: "PR", CompanyZipCode: "00715",
		PermitteeType: "Distilled Spirits Plant", Listed: true,
	}
	if diff := cmp.Diff(want, st.permittees["PR-S-1"]); diff != "" {
		t.Error(diff)
	}
}
