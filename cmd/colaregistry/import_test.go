package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/colaregistry/colaregistry/cola"
)

func lastLine(s string) string {
	lines := strings.Split(strings.TrimRight(s, "\n"), "\n")
	return lines[len(lines)-1]
}

// TestRealData imports published government data as an operator would and queries it.
func TestRealData(t *testing.T) {
	for name, h := range map[string]func(*testing.T) testRegistry{"sqlite": embedded, "postgres": onPostgres} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			testRealData(t, h(t))
		})
	}
}

func testRealData(t *testing.T, h testRegistry) {
	export, records := sharedData(t, "ttb/cola_export.csv"), sharedData(t, "ttb/cola_records.jsonl")
	areas, producers := sharedData(t, "ava/avas.jsonl"), sharedData(t, "ttb/wine_producers_napa.csv")
	geo, err := filepath.Glob(filepath.Join(filepath.Dir(areas), "*.geojson"))
	if err != nil || len(geo) != 12 {
		t.Fatalf("%d GeoJSON files, %v; want 12", len(geo), err)
	}
	format := func(name string) string { return sharedData(t, "ttb/reference_formats/"+name) }
	load := func(kind string, files ...string) string {
		return h.run(t, append([]string{"import", kind}, files...)...)
	}
	steps := []struct {
		kind  string
		files []string
		want  string
	}{
		{"colas", []string{export}, "read=231 added=231 changed=0 unchanged=0 rejected=0"},
		{"colas", []string{records}, "read=50 added=0 changed=50 unchanged=0 rejected=0"},
		{"colas", []string{records}, "read=50 added=0 changed=0 unchanged=50 rejected=0"},
		{"avas", []string{areas}, "read=333 added=333 changed=0 unchanged=0 rejected=0"},
		{"avas", geo, "read=12 added=0 changed=0 unchanged=12 rejected=0"},
		{
			"production-reports", []string{sharedData(t, "ttb/production_reports.jsonl")},
			"read=6648 added=6648 changed=0 unchanged=0 rejected=0",
		},
		{
			"production-reports", []string{sharedData(t, "ttb/production_reports.jsonl")},
			"read=6648 added=0 changed=0 unchanged=6648 rejected=0",
		},
		{
			"registration-processing-times", []string{sharedData(t, "ttb/registration_processing_times.jsonl")},
			"read=69 added=69 changed=0 unchanged=0 rejected=0",
		},
		{
			"permittees", []string{
				format("FRL_Spirits_Producers_and_Bottlers_List.csv"),
				format("FRL_All_Permits.json"),
			},
			"read=6 added=4 changed=0 unchanged=2 rejected=0",
		},
		{
			"production-reports", []string{
				format("Distilled_Spirits_monthly_data_csv.csv"), format("Wine_yearly_data_csv.csv"),
				format("2012-2024_Report_DistillersProduction.json"),
			},
			"read=4 added=4 changed=0 unchanged=0 rejected=0",
		},
		{"production-reports", []string{format("Wine_yearly_data_csv.csv")}, "read=1 added=0 changed=0 unchanged=1 rejected=0"},
		{"processing-times", []string{format("cola_stats.xml")}, "read=1 added=1 changed=0 unchanged=0 rejected=0"},
		{"processing-times", []string{format("cola_stats.xml")}, "read=1 added=0 changed=0 unchanged=1 rejected=0"},
		{"formula-processing-times", []string{format("form_stats.csv")}, "read=2 added=2 changed=0 unchanged=0 rejected=0"},
		{"formula-processing-times", []string{format("form_stats.csv")}, "read=2 added=0 changed=0 unchanged=2 rejected=0"},
		{
			"production-reports", []string{sharedData(t, "ttb/production_reports.jsonl")},
			"read=6648 added=0 changed=0 unchanged=6648 rejected=0",
		},
	}
	for _, step := range steps {
		if got := lastLine(load(step.kind, step.files...)); got != step.want {
			t.Errorf("import %s: %s, want %s", step.kind, got, step.want)
		}
	}

	s := startServer(t, h)
	if s.key != "" {
		t.Error("demo data was loaded into an existing database")
	}
	_, secret, _ := mustAccount(t, mustOpen(t, h), "real@example.com", cola.TierPro)
	get := func(path string) answer { return s.get(t, path, secret.Reveal()) }
	for _, filter := range []string{"q=lenz+moser", "brand_name=lenz", "permit_number=NJ-I-721"} {
		if ids := get("/colas?approval_date_from=2005-01-01&" + filter).ids(); !slices.Contains(ids, "11054001000049") {
			t.Errorf("%s: results %v, want 11054001000049 among them", filter, ids)
		}
	}
	if ids := get("/colas?q=09079001000202").ids(); !slices.Equal(ids, []string{"09079001000202"}) {
		t.Errorf("label without an approval date, by ID: %v", ids)
	}
	label := get("/colas/11054001000049").at("data").(map[string]any)
	both := map[string]any{
		"brand_name": "LENZ MOSER", "origin_name": "AUSTRIA",
		"domestic_or_imported": "imported", "class_name": "TABLE RED WINE",
		"latest_update_date": "2025-07-16", // from the export
		"approval_date":      "2011-03-18", // from the fuller record
		"wine_appellation":   "BURGENLAND", "image_count": 2.0, "address_state": "NJ",
	}
	for field, want := range both {
		if diff := cmp.Diff(want, label[field]); diff != "" {
			t.Errorf("%s (-want +got):\n%s", field, diff)
		}
	}

	coverage := get("/coverage")
	for field, want := range map[string]any{
		"labels": 231.0, "with_detail": 50.0, "known_dates": 50.0, "estimated_dates": 181.0, "undated": 0.0,
		"data_as_of": "2025-10-30",
	} {
		if got := coverage.at("data", field); got != want {
			t.Errorf("coverage: %s = %v, want %v", field, got, want)
		}
	}
	if e := coverage.at("data", "estimate_error").(map[string]any); e["labels"] != 50.0 || e["within_25_days"] != 0.96 ||
		e["worst_days"] != 115.0 {
		t.Errorf("estimate errors = %v, want 48 of 50 within 25 days, the worst 115", e)
	}
	kinds := []string{}
	for _, i := range coverage.at("data", "last_imports").([]any) {
		kinds = append(kinds, i.(map[string]any)["kind"].(string))
	}
	want := []string{
		"avas", "colas", "formula-processing-times", "permittees", "processing-times", "production-reports",
		"registration-processing-times",
	}
	if !slices.Equal(kinds, want) {
		t.Errorf("last imports = %v, want %v", kinds, want)
	}

	// GET /permittees omits permittees known only from labels, so the list for one county adds 971.
	before := get("/permittees").at("pagination", "total").(float64)
	if got := lastLine(load("permittees", producers)); got != "read=972 added=971 changed=0 unchanged=1 rejected=0" {
		t.Errorf("import permittees printed %q, want 971 added", got)
	}
	eventually(t, func() bool { return get("/permittees").at("pagination", "total").(float64) == before+971 })
	if name := get("/permittees/CA-W-21448").at("data", "company_name"); name != "ZERO LINK MARKETS, INC." {
		t.Errorf("company_name = %v, want ZERO LINK MARKETS, INC.", name)
	}
	if total := get("/avas").at("meta", "total"); total != 333.0 {
		t.Errorf("%v AVAs, want 333", total)
	}
	if total := get("/production-reports?commodity=beer&year=2019&month=3").at("meta", "total"); total.(float64) == 0 {
		t.Error("no production report for March 2019")
	}
}

// eventually waits for a condition in a running server. The limit is generous, because machines may
// be slow; make perf measures latency.
func eventually(t *testing.T, ok func() bool) {
	t.Helper()
	for started := time.Now(); !ok(); time.Sleep(200 * time.Millisecond) {
		if time.Since(started) > time.Minute {
			t.Error("condition not met within a minute")
			return
		}
	}
}

// TestRejectsFileMode checks that only the owner can read rejected rows.
func TestRejectsFileMode(t *testing.T) {
	path := filepath.Join(t.TempDir(), "rejects.jsonl")
	f, err := (&importCommand{Rejects: path}).createRejects()
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode = %v, error = %v, want 0600", info.Mode(), err)
	}
}
