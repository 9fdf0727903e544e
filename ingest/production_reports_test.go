package ingest

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/golden"
)

// TestProductionRejectedRow checks that a report that may contain a rejected row stays unchanged,
// and that its other rows count as rejected.
func TestProductionRejectedRow(t *testing.T) {
	const header = "commodity,report_type,year,month_number,report_date,statistical_detail,value\n"
	const good = "Wine,monthly,2024,1,,New,1\nWine,monthly,2024,2,,New,1\nBeer,monthly,2024,1,,New,1\nWine,yearly,2024,,,New,1\n"
	const all = "Wine 2024-01,Wine 2024-02,Beer 2024-01,Wine 2024"
	for _, test := range []struct{ name, row, kept string }{
		{"invalid value", "Wine,monthly,2024,1,,Lost,much\n", "Wine 2024-01"},
		{"invalid string", "wine,MONTHLY,2024,1,,Lo\x01st,1\n", "Wine 2024-01"},
		{"date only", "Wine,monthly,,,2024-02-29,Lost,1\n", "Wine 2024-02"},
		{"yearly", "Wine,yearly,2024,,2024-06-30,Lost,1\n", "Wine 2024"},
		{"no month", "Wine,monthly,2024,,,Lost,1\n", "Wine 2024-01,Wine 2024-02"},
		{"conflicting date and month", "Wine,monthly,2024,1,2024-02-29,Lost,1\n", "Wine 2024-01,Wine 2024-02"},
		{"yearly with a month", "Wine,yearly,2024,2,,Lost,1\n", "Wine 2024-02,Wine 2024"},
		{"no year", "Wine,monthly,,2,,Lost,1\n", "Wine 2024-02"},
		{"impossible year", "Wine,monthly,20224,2,,Lost,1\n", "Wine 2024-02"},
		{"no commodity", ",monthly,2024,1,,Lost,1\n", "Wine 2024-01,Beer 2024-01"},
		{"invalid commodity", "Wi\x01ne,monthly,2024,1,,Lost,1\n", "Wine 2024-01,Beer 2024-01"},
		{"no type", "Beer,,2024,1,,Lost,1\n", "Beer 2024-01"},
		{"too few fields", "Wine,monthly\n", all},
		{"malformed quotes", "Wine,\"monthly\"?,2024,1,,Lost,1\n", all},
		{"other report", "Wine,monthly,2023,1,,Lost,much\n", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			for _, text := range []string{header + test.row + good, header + good + test.row} {
				st := newFakeStore()
				mustImport(t, st, ProductionReports, texts(strings.ReplaceAll(header+good, "New", "Old"))...)
				report, err := Import(t.Context(), st, ProductionReports, texts(text), Options{SkipInvalid: true})
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(test.kept, keptReports(st)); diff != "" {
					t.Errorf("stored reports (-want +got):\n%s", diff)
				}
				blocked := 0
				if test.kept != "" {
					blocked = 1 + strings.Count(test.kept, ",")
				}
				if report.Counts != (Counts{Read: 5, Changed: 4 - blocked, Rejected: 1 + blocked}) {
					t.Error(report.Summary())
				}
				line := "2"
				if text == header+good+test.row {
					line = "6"
				}
				for _, r := range report.Rejections[1:] {
					if !strings.Contains(r.Reason, "line "+line+" ") {
						t.Errorf("rejection = %v, want line %s in it", r, line)
					}
				}
			}
		})
	}
}

// keptReports returns the names of the reports that have only old rows. Other reports must have
// only new rows.
func keptReports(st *fakeStore) string {
	var kept []string
	for _, r := range []struct {
		name, commodity, kind string
		date                  cola.Date
	}{
		{"Wine 2024-01", "Wine", "monthly", cola.NewDate(2024, 1, 31)}, {"Wine 2024-02", "Wine", "monthly", cola.NewDate(2024, 2, 29)},
		{"Beer 2024-01", "Beer", "monthly", cola.NewDate(2024, 1, 31)}, {"Wine 2024", "Wine", "yearly", cola.NewDate(2024, 12, 31)},
	} {
		rows := st.reports[cola.ReportKey{Commodity: r.commodity, ReportType: r.kind, ReportDate: r.date}]
		switch {
		case len(rows) == 1 && rows[0].StatisticalDetail == "Old":
			kept = append(kept, r.name)
		case len(rows) != 1 || rows[0].StatisticalDetail != "New":
			kept = append(kept, r.name+" is damaged")
		}
	}
	return strings.Join(kept, ",")
}

// TestProductionRejectedRowOtherSource checks that a rejected row that identifies its report blocks
// that report in all sources. Any other rejected row blocks only reports in its own source.
func TestProductionRejectedRowOtherSource(t *testing.T) {
	row := func(month, value string) string {
		return `{"commodity":"Wine","report_type":"monthly","year":2024,"month_number":` + month + `,"value":` + value + `}` + "\n"
	}
	st := newFakeStore()
	report, err := Import(t.Context(), st, ProductionReports, texts(row("1", `"much"`)+row("2", "1")+"{]\n", row("1", "1")+row("3", "1")), Options{})
	if err == nil || report.Counts != (Counts{Read: 5, Added: 1, Rejected: 4}) || len(st.reports) != 1 {
		t.Errorf("error = %v, report = %s, stored reports = %v", err, report.Summary(), st.reports)
	}
	checkReport(t, golden.Load(t, "production_rejected"), "elsewhere", report)
}

// TestProductionProgress checks that reports are written after all sources are read, and that the
// last progress report includes their outcomes.
func TestProductionProgress(t *testing.T) {
	const row = `{"commodity":"Wine","report_type":"yearly","year":2024}` + "\n"
	var last Progress
	opts := Options{Progress: func(p Progress) { last = p }}
	st := newFakeStore()
	for _, counts := range []Counts{{Read: 2, Added: 2}, {Read: 2, Unchanged: 2}} {
		last = Progress{}
		if _, err := Import(t.Context(), st, ProductionReports, texts(row, row), opts); err != nil {
			t.Fatal(err)
		}
		if last.Counts != counts || !last.Done || last.Source != "2" || last.Index != 1 || last.Sources != 2 {
			t.Errorf("last progress report = %+v, want %+v", last, counts)
		}
	}
}

// TestTruncatedReports checks that a report keeps its stored rows if one of its files in a folder or
// archive is truncated, even if a complete file has rows of the same report.
func TestTruncatedReports(t *testing.T) {
	file := func(rows int, value string) string {
		row := `{"commodity":"Wine","report_type":"monthly","year":2024,"month_number":1,"value":` + value + `}` + "\n"
		return strings.Repeat(row, rows)
	}
	half := "[" + strings.TrimSpace(file(1, "2")) + ","
	tape := writeTar(t, map[string]string{"a.json": file(1, "2"), "b.json": file(1, "2")})
	for name, sources := range map[string][]Source{
		"folder":               {FileSource(writeFolder(t, map[string]string{"a.json": half}))},
		"second failure":       {FileSource(writeFolder(t, map[string]string{"0.json": "[{", "a.json": half, "c.json": "[{"}))},
		"then a complete file": texts(half, file(1, "2")),
		"truncated archive":    {FileSource(mustWrite(t, tape[:1536]))},
	} {
		t.Run(name, func(t *testing.T) {
			st := newFakeStore()
			mustImport(t, st, ProductionReports, texts(file(3, "1"))...)
			report, err := Import(t.Context(), st, ProductionReports, sources, Options{})
			if err == nil || report.Changed+report.Unchanged > 0 || report.Rejected == 0 {
				t.Errorf("report = %s, error = %v, want rejected rows", report.Summary(), err)
			}
			for _, rows := range st.reports {
				if len(rows) != 3 || rows[0].Value != cola.Some(1.) {
					t.Errorf("stored rows = %v, want the old ones", rows)
				}
			}
		})
	}
}
