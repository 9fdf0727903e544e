package ingest

import (
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/golden"
)

const colaStatsXML = `<?xml version="1.0" encoding="UTF-8"?>
<ROWSET>
<FOR_XML2><commodity>DS</commodity><Turnaround_Time_Median>4</Turnaround_Time_Median><month>2</month><day>9</day><year>2023</year><now_time>06:00</now_time></FOR_XML2>
<FOR_XML2><commodity>Wine</commodity><Turnaround_Time_Median> 7 </Turnaround_Time_Median><month>02</month><day>09</day><year>2023</year><now_time/></FOR_XML2>
<FOR_XML2><commodity>MB</commodity><Turnaround_Time_Median/><month>2</month><day>9</day><year>2023</year></FOR_XML2>
</ROWSET>
`

const formStatsCSV = "application_type,processing_time,processing_new,creation_date\n" +
	"Distilled Spirits,5,02/03/2023,02/09/2023\nMalt Beverages,3,2/9/2023,2023-02-09\nWine,,,02/09/2023 07:00 AM\nLab Analysis,12,02/10/2023,02/09/2023\n"

func TestPublishedTimes(t *testing.T) {
	day := cola.NewDate(2023, 2, 9)
	for _, test := range []struct {
		kind Kind
		text string
		want []any
	}{
		{ProcessingTimes, colaStatsXML, []any{
			cola.ProcessingTime{Commodity: "Distilled Spirits", SnapshotDate: day, TurnaroundDaysMedian: cola.Some(4)},
			cola.ProcessingTime{Commodity: "Wine", SnapshotDate: day, TurnaroundDaysMedian: cola.Some(7)},
			cola.ProcessingTime{Commodity: "Malt Beverage", SnapshotDate: day},
		}},
		{FormulaProcessingTimes, formStatsCSV, []any{
			cola.FormulaProcessingTime{
				Commodity: "Distilled Spirits", FormulaType: "Formula Approval", SnapshotDate: day, TurnaroundDaysMedian: cola.Some(5),
				QueueFrontierDate: cola.NewDate(2023, 2, 3), QueueDepthDays: cola.Some(6),
			},
			cola.FormulaProcessingTime{
				Commodity: "Malt Beverage", FormulaType: "Formula Approval", SnapshotDate: day, TurnaroundDaysMedian: cola.Some(3),
				QueueFrontierDate: day, QueueDepthDays: cola.Some(0),
			},
			cola.FormulaProcessingTime{Commodity: "Wine", FormulaType: "Formula Approval", SnapshotDate: day},
			cola.FormulaProcessingTime{
				Commodity: "All", FormulaType: "Laboratory Analysis", SnapshotDate: day, TurnaroundDaysMedian: cola.Some(12),
				QueueFrontierDate: cola.NewDate(2023, 2, 10),
			},
		}},
	} {
		st := newFakeStore()
		mustImport(t, st, test.kind, texts(test.text)...)
		want := map[any]bool{}
		for _, row := range test.want {
			want[row] = true
		}
		got := map[any]bool{}
		for row := range maps.Values(st.times) {
			got[row] = true
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.kind, diff)
		}
		if second := mustImport(t, st, test.kind, texts(test.text)...); second.Unchanged != len(test.want) {
			t.Errorf("%s: second import: %s, want %d unchanged", test.kind, second.Summary(), len(test.want))
		}
	}
}

// TestPublishedTimesProblems checks the errors, rejections and warnings for files with problems.
func TestPublishedTimesProblems(t *testing.T) {
	reports := golden.Load(t, "published_times")
	change := func(old, replacement string) string { return strings.Replace(colaStatsXML, old, replacement, 1) }
	for _, test := range []struct {
		name string
		kind Kind
		text string
	}{
		{"unknown commodity", ProcessingTimes, change("DS", "XX")},
		{"missing day", ProcessingTimes, change("<day>9</day>", "")},
		{"impossible day", ProcessingTimes, change("<day>9</day>", "<day>30</day>")},
		{"invalid median", ProcessingTimes, change(">4<", ">4 days<")},
		{"unknown element", ProcessingTimes, change("now_time>06:00</now_time", "then>x</then")},
		{"truncated", ProcessingTimes, colaStatsXML[:len(colaStatsXML)-40]},
		{"other XML", ProcessingTimes, "<?xml version=\"1.0\"?><feed/>"},
		{"not XML", ProcessingTimes, "<FOR_XML2><a></b></FOR_XML2>"},
		{"UTF-16", ProcessingTimes, "\xff\xfe<\x00a\x00/\x00>\x00"},
		{"XML of labels", Colas, colaStatsXML},
		{"missing columns", FormulaProcessingTimes, "application_type,processing_time\nWine,3\n"},
		{"renamed column", FormulaProcessingTimes, "type,processing_time,processing_new,creation_date\nWine,3,,\n"},
		{"extra column", FormulaProcessingTimes, strings.ReplaceAll(formStatsCSV, "\n", ",\n") + "Wine,3,,02/09/2023,x\n"},
		{"bad values", FormulaProcessingTimes, "application_type,processing_time,processing_new,creation_date\n,3,,02/09/2023\nWine,-1,soon,9/2/23\nWine,3,,\n"},
	} {
		report, err := Import(t.Context(), newFakeStore(), test.kind, texts(test.text), Options{SkipInvalid: true})
		reports.Check(t, test.name, outcome(report, err))
	}
}
