package ingest

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/golden"
)

func TestAVAFeatures(t *testing.T) {
	const properties = `"properties":{"ava_id":"a_b","name":" A  B\n","aka":null,"created":"2006-01-06","removed":null,` +
		`"county":"Napa|San  Diego","state":"CA|OR","within":"South Coast|Big, Coast","contains":null,"petitioner":"P",` +
		`"cfr_author":null,"cfr_index":9.20,"valid_start":"2008-01-01","valid_end":null,"lcsh":"x","sameas":null,"boundary_description":"…"}`
	want := cola.AVADetail{
		AVA: cola.AVA{
			AVAID:           "a_b",
			Name:            "A B",
			States:          []string{"CA", "OR"},
			Counties:        []string{"Napa", "San Diego"},
			EstablishedDate: cola.NewDate(2006, 1, 6),
		},
		ValidStartDate: cola.NewDate(2008, 1, 1), ParentAVAs: []string{"South Coast", "Big, Coast"}, ChildAVAs: []string{},
		Petitioner: "P", CFRIndex: "9.20",
	}
	const feature = `{"type":"Feature","bbox":[1,2],` + properties + `,"geometry":{"type":"Polygon","coordinates":[[[1,2],[3,4]]]}}`
	for name, text := range map[string]string{
		"feature":              feature,
		"multi-line":           strings.ReplaceAll(feature, ",\"", ",\n\""),
		"collection":           `{"type":"FeatureCollection","name":"x","crs":{"type":"name"},"features":[` + feature + `]}`,
		"one feature per line": feature + "\n" + feature + "\n",
	} {
		t.Run(name, func(t *testing.T) {
			st := newFakeStore()
			report := mustImport(t, st, AVAs, texts(text)...)
			if diff := cmp.Diff(want, st.avas["a_b"]); diff != "" || len(report.Warnings) > 0 {
				t.Errorf("warnings = %v (-want +got):\n%s", report.Warnings, diff)
			}
		})
	}
}

func TestReferenceRows(t *testing.T) {
	reports := golden.Load(t, "reference_rows")
	for _, test := range []struct {
		name   string
		kind   Kind
		text   string
		counts Counts
	}{
		{
			name: "areas", kind: AVAs,
			text: `{"ava_id":"a","name":"A","states":["CA"],"cfr_index":"9.2"}` + "\n" + `{"ava_id":"b"}` + "\n" +
				`{"ava_id":"c","name":"C","valid_start_date":"2024-01-02","valid_end_date":"2024-01-01"}`,
			counts: Counts{Read: 3, Added: 1, Rejected: 2},
		},
		{
			name: "areas in CSV", kind: AVAs, text: "ava_id,name,states\na,A,CA|OR\n", counts: Counts{Read: 1, Added: 1},
		},
		{
			name: "processing times", kind: ProcessingTimes,
			text: `[{"commodity":"malt beverages","snapshot_date":"2024-01-05","turnaround_days_median":"4"},
				{"commodity":"Malt Beverage","snapshot_date":"2024-01-05","turnaround_days_median":4},
				{"commodity":"Wine","snapshot_date":"2024-01-05","queue_depth_days":-1},
				{"commodity":"Wine"},
				{"commodity":"Wine","snapshot_date":"0024-01-05"}]`,
			counts: Counts{Read: 5, Added: 1, Unchanged: 1, Rejected: 3},
		},
		{
			name: "formula processing times", kind: FormulaProcessingTimes,
			text:   "Commodity,Formula Type,Snapshot Date,Turnaround Days Median\nWINE,Formula Approval,2024-01-05,7\nWine,,2024-01-05,7\n",
			counts: Counts{Read: 2, Added: 1, Rejected: 1},
		},
		{
			name: "registration processing times", kind: RegistrationProcessingTimes,
			text: `{"category":"alcohol","application_type":"Brewery","report_month":"2024-01-31","snapshot_date":"2024-02-05"}` + "\n" +
				`{"category":"Alcohol","application_type":"Brewery","report_month":"2024-01-01","snapshot_date":"2024-02-05"}` + "\n" +
				`{"application_type":"Brewery","report_month":"2024-01-01"}`,
			counts: Counts{Read: 3, Added: 1, Unchanged: 1, Rejected: 1},
		},
		{
			name: "production reports", kind: ProductionReports,
			text: "commodity,report_type,year,month_number,report_date,statistical_group,value,is_redacted\n" +
				"beer,Monthly,2024,2,,Produced,1.5,false\nBeer,monthly,2024,2,2024-02-29,Taxable,,TRUE\nBeer,yearly,2024,,,Produced,3,\n" +
				"Wine,monthly,2024,,,Produced,3,\nWine,yearly,2024,3,,Produced,3,\nWine,monthly,2024,3,2024-04-30,Produced,3,\nWine,weekly,,,,,,\n",
			counts: Counts{Read: 7, Added: 3, Rejected: 4},
		},
		{
			name: "category aliases", kind: CategoryAliases,
			text: `{"alias":"Wine>Red","path":"Wine > Red Wine"}` + "\n" + `{"alias":"wine > RED","path":"Wine > Red Wine"}` + "\n" +
				`{"alias":"Wine > X","path":"wine>x"}` + "\n" + `{"alias":"Spirits","path":"Alcohol > Rum"}` + "\n" + `{"alias":"","path":"Wine"}` + "\n" +
				`{"alias":"Beer > A","path":"Beer > B"}` + "\n" + `{"alias":"Beer > B","path":"Beer > A"}` + "\n" + `{"alias":"Beer > C","path":"Beer > A"}` + "\n" +
				`{"alias":"beer","path":"Beer > X"}` + "\n" + `{"alias":"Beer > Märzen","path":"Beer > Marzen > X"}` + "\n" + `{"alias":"Wine > Rose","path":"Wine > Rosé"}`,
			counts: Counts{Read: 11, Added: 3, Changed: 1, Rejected: 7},
		},
		{
			name: "category aliases in CSV", kind: CategoryAliases, text: "Alias,Path\nWine > Red,Wine > Red Wine\n", counts: Counts{Read: 1, Added: 1},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			report, err := Import(t.Context(), newFakeStore(), test.kind, texts(test.text), Options{SkipInvalid: true})
			if err != nil || report.Counts != test.counts {
				t.Errorf("error = %v, report = %s", err, report.Summary())
			}
			checkReport(t, reports, test.name, report)
		})
	}
}

// TestInvalidField checks that an invalid field is not also reported as missing.
func TestInvalidField(t *testing.T) {
	reports := golden.Load(t, "invalid_fields")
	for kind, text := range map[Kind]string{
		Colas:             `{"ttb_id":"1","brand_name":null}`,
		Permittees:        `{"permit_number":["x"]}`,
		ProcessingTimes:   `{"commodity":"Wine","snapshot_date":"soon"}`,
		ProductionReports: "commodity,report_type,year\nBeer,yearly,then\n",
	} {
		report, err := Import(t.Context(), newFakeStore(), kind, texts(text), Options{SkipInvalid: true})
		if err != nil {
			t.Errorf("Import(%s): error = %v", kind, err)
		}
		checkReport(t, reports, string(kind), report)
	}
}

// TestStoredAliasCycle checks that an alias forming a cycle with a stored alias is rejected, and
// that a dry run stores no aliases.
func TestStoredAliasCycle(t *testing.T) {
	st := newFakeStore()
	reverse := texts(`{"alias":"Beer > B > X","path":"Beer > A > X"}`)
	if report, err := Import(t.Context(), st, CategoryAliases, texts(`{"alias":"Beer > A","path":"Beer > B"}`), Options{DryRun: true}); err != nil || report.Added != 1 {
		t.Errorf("dry run: error = %v, report = %s, want one row added", err, report.Summary())
	}
	mustImport(t, st, CategoryAliases, reverse...)
	report, _ := Import(t.Context(), st, CategoryAliases, texts(`{"alias":"Beer > A","path":"Beer > B"}`), Options{})
	if report.Counts != (Counts{Read: 1, Rejected: 1}) || len(st.aliases) != 1 {
		t.Errorf("report = %s, aliases = %v", report.Summary(), st.aliases)
	}
}

// TestProductionReplacement checks that an import replaces a report's groups, with the rows of all
// sources in input order, and keeps its other groups.
func TestProductionReplacement(t *testing.T) {
	row := func(month, group string) string {
		return `{"commodity":"Wine","report_type":"monthly","year":2024,"month_number":` + month + `,"statistical_group":"` + group + `"}` + "\n"
	}
	st := newFakeStore()
	mustImport(t, st, ProductionReports, texts(row("1", "A")+row("2", "A")+row("1", "B"), row("1", "C"))...)
	january := cola.ReportKey{Commodity: "Wine", ReportType: "monthly", ReportDate: cola.NewDate(2024, 1, 31)}
	groups := func() (s string) {
		for _, r := range st.reports[january] {
			s += string(r.StatisticalGroup)
		}
		return s
	}
	if len(st.reports) != 2 || groups() != "ABC" {
		t.Errorf("%d reports, January's groups = %s, want ABC", len(st.reports), groups())
	}
	report := mustImport(t, st, ProductionReports, texts(row("1", "D")+row("1", "B")+row("1", "B"))...)
	if groups() != "ABBCD" || report.Counts != (Counts{Read: 3, Unchanged: 2, Changed: 1}) {
		t.Errorf("January's groups = %s, want ABBCD; report = %s", groups(), report.Summary())
	}
	for _, text := range []string{row("1", "B") + row("1", "B"), row("1", "D") + row("1", "A"), row("1", "C")} {
		if report := mustImport(t, st, ProductionReports, texts(text)...); groups() != "ABBCD" || report.Changed > 0 {
			t.Errorf("January's groups = %s, want no change; report = %s", groups(), report.Summary())
		}
	}
	all := row("1", "D") + row("1", "C") + row("1", "B") + row("1", "A")
	if mustImport(t, st, ProductionReports, texts(all)...); groups() != "DCBA" {
		t.Errorf("January's groups = %s, want DCBA after a file with all groups", groups())
	}

	broken := "[" + strings.TrimSpace(row("1", "E")) + ","
	report, err := Import(t.Context(), st, ProductionReports, texts(broken, row("2", "Z")), Options{})
	if err == nil || groups() != "DCBA" || report.Counts != (Counts{Read: 2, Changed: 1, Rejected: 1}) {
		t.Errorf("incomplete report was stored: January's groups = %s, report = %s, error = %v", groups(), report.Summary(), err)
	}
	checkReport(t, golden.Load(t, "production_truncated"), "truncated", report)
}
