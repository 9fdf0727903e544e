package ingest

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/golden"
)

// TestStatistics checks TTB's monthly and yearly statistics and its reports with tables.
func TestStatistics(t *testing.T) {
	const monthly = "CY_Month_Number,Year,Statistical_Group,Statistical_Category,Statistical_Detail,Count_IMs,Value,commodity,Stat_Redaction\n"
	const yearly = "Year,Statistical_Group,Statistical_Category,Statistical_Detail,Count_IMs,Value,commodity,Stat_Redaction\n"
	spirits := cola.ProductionReport{
		Commodity: "Distilled Spirits", ReportType: "monthly", Year: 2023, MonthNumber: cola.Some(2), ReportDate: cola.NewDate(2023, 2, 28),
		StatisticalGroup: "1-Distilled Spirits Production", StatisticalCategory: "1-Total", StatisticalDetail: "1-Whisky",
		CountIMs: cola.Some(7), Value: cola.Some(12.0), ValueUnit: "proof gallons",
	}
	withheld := spirits
	withheld.StatisticalDetail, withheld.CountIMs, withheld.Value, withheld.IsRedacted = "2-Brandy", cola.Opt[int]{}, cola.Opt[float64]{}, true
	members := spirits
	members.StatisticalGroup, members.StatisticalCategory, members.StatisticalDetail = "6-Count of IMs", "", ""
	members.ValueUnit = "industry members"
	bottled := spirits
	bottled.StatisticalGroup, bottled.ValueUnit = "3-Bottled", ""
	wine := cola.ProductionReport{
		Commodity: "Wine", ReportType: "yearly", Year: 2023, ReportDate: cola.NewDate(2023, 12, 31), StatisticalGroup: "4-Stocks on Hand",
		StatisticalDetail: "0-Category Total", Value: cola.Some(3.0), ValueUnit: "wine gallons",
	}
	grain := cola.ProductionReport{
		Commodity: "Beer", ReportType: "yearly", Year: 2023, ReportDate: cola.NewDate(2023, 12, 31), StatisticalGroup: "5-Materials Used",
		Value: cola.Some(4.0), ValueUnit: "pounds",
	}
	table := func(category, detail cola.Text, value cola.Opt[float64]) cola.ProductionReport {
		return cola.ProductionReport{
			Commodity: "Distilled Spirits", ReportType: "yearly", Year: 2023, ReportDate: cola.NewDate(2023, 12, 31), StatisticalGroup: "Figures, Table 1",
			StatisticalCategory: category, StatisticalDetail: detail, Value: value,
		}
	}
	for _, test := range []struct {
		name, source, text string
		want               []cola.ProductionReport
	}{
		{"monthly", "-", monthly + "2,2023,1-Distilled Spirits Production,1-Total,1-Whisky,7,12,Distilled Spirits,FALSE\n" +
			"2,2023,1-Distilled Spirits Production,1-Total,2-Brandy,,9,distilled spirits,TRUE\n" +
			"2,2023,6-Count of IMs,,,7,12,Distilled Spirits,FALSE\n2,2023,3-Bottled,1-Total,1-Whisky,7,12,Distilled Spirits,FALSE\n",
			[]cola.ProductionReport{spirits, withheld, members, bottled}},
		{"yearly, wine", "-", yearly + "2023,4-Stocks on Hand,,0-Category Total,,3,Wine,FALSE\n", []cola.ProductionReport{wine}},
		{"yearly, beer", "-", yearly + "2023,5-Materials Used,,,,4,Beer,\n", []cola.ProductionReport{grain}},
		{"table", "2023_Report_Distillers.json",
			`{"Report Header":{"Report Title":"Figures","Date":"x"},"Note":"y","Table 1":{"Data":[
			{"Year":"2023","Size":"1 to 5","TotalAtBegin":5,"Volume":null},
			{"Year":"Totals","Size":"1 to 5","TotalAtBegin":5,"Volume":null}]}}`,
			[]cola.ProductionReport{table("1 to 5", "TotalAtBegin", cola.Some(5.0)), table("1 to 5", "Volume", cola.Opt[float64]{})}},
	} {
		t.Run(test.name, func(t *testing.T) {
			st := newFakeStore()
			source := texts(test.text)[0]
			source.Name = test.source
			mustImport(t, st, ProductionReports, source)
			if diff := cmp.Diff(map[cola.ReportKey][]cola.ProductionReport{test.want[0].Key(): test.want}, st.reports); diff != "" {
				t.Errorf("stored reports (-want +got):\n%s", diff)
			}
			source = texts(test.text)[0]
			source.Name = test.source
			if second := mustImport(t, st, ProductionReports, source); second.Unchanged != len(test.want) {
				t.Errorf("second import: %s, want %d unchanged", second.Summary(), len(test.want))
			}
		})
	}
}

// TestStatisticsProblems checks the errors, rejections and warnings for statistics with problems.
func TestStatisticsProblems(t *testing.T) {
	reports := golden.Load(t, "statistics")
	for name, text := range map[string]string{
		"unknown column":          "Year,Statistical_Group,Value,commodity,Region\n2023,1-Production,3,Wine,West\n",
		"missing columns":         "Year,Statistical_Group,Statistical_Detail\n",
		"no header":               "2023,1-Production,3,Wine\n",
		"month of a yearly total": "CY_Month_Number,Year,Statistical_Group,Value,commodity\n1,2023,1-Production,3,Wine\n13,2023,1-Production,3,Wine\n,2023,1-Production,3,Wine\n",
		"thousands":               "Year,Statistical_Group,Value,commodity\n2023,1-Production,\"3,000\",Wine\n",
		"table, no commodity":     `{"Report Header":{"Report Title":"Figures"},"Table 1":{"Data":[{"Year":2023,"A":1}]}}`,
		"table, two commodities":  `{"Report Header":{"Report Title":"Wine and beer"},"Table 1":{"Data":[{"Year":2023,"A":1}]}}`,
		"table, no year":          `{"Report Header":{"Report Title":"Wine"},"Table 1":{"Data":[{"A":1}]}}`,
		"table, invalid year":     `{"Report Header":{"Report Title":"Wine"},"Table 1":{"Data":[{"Year":"2012-2024","A":1}]}}`,
		"table, invalid figure":   `{"Report Header":{"Report Title":"Wine"},"Table 1":{"Data":[{"Year":2023,"A":[1]}]}}`,
		"table, long year":        `{"Report Header":{"Report Title":"Wine"},"Table 1":{"Data":[{"Year":"` + strings.Repeat("\u009b", 99) + `"}]}}`,
		"table, ESC in the name":  `{"Report Header":{"Report Title":"Wine"},"\u001b[2J":{"Data":[{"A":1}]}}`,
		"table, no data":          `{"Report Header":{"Report Title":"Wine"},"Table 1":{}}`,
		"table, not JSON":         `{"Report Header":{"Report Title":"Wine"},"Table 1":{"Data":[{"Year":NaN}]}}`,
	} {
		report, err := Import(t.Context(), newFakeStore(), ProductionReports, texts(text), Options{SkipInvalid: true})
		reports.Check(t, name, outcome(report, err))
	}
}

// outcome returns the summary, rejections, warnings and error of an import.
func outcome(report Report, err error) []string {
	lines := []string{report.Summary()}
	for _, r := range report.Rejections {
		lines = append(lines, r.String())
	}
	for _, w := range report.Warnings {
		lines = append(lines, "warning: "+w.String())
	}
	if err != nil {
		lines = append(lines, "error: "+err.Error())
	}
	return lines
}
