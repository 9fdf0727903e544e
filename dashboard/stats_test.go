package dashboard

import (
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/web"
)

// TestTrends checks the form, the example charts and the cost of a chart.
func TestTrends(t *testing.T) {
	s := mustSite(t)
	form := s.get("/trends?q=gin&product_type=wine")
	form.shows(t, http.StatusOK, `value="gin"`, `value="wine" checked`, `<option value="year" selected>`)
	form.checkHTML(t)
	s.costs(cola.Used{}, 0, 0)
	for _, e := range exampleTrends() {
		page := s.get(e.Href)
		page.shows(t, http.StatusOK)
		page.checkHTML(t)
	}
	before := s.used()
	page := s.get("/trends?date_range=all&group_by=year&group_by=product_type")
	page.shows(t, http.StatusOK, "<svg viewBox", `data-chart=`, "<title>Labels by year and product type · Trends",
		`<option value="product_type" selected>`, `href="/explore?date_range=all"`,
		"/api/v1/colas/stats?date_range=all&group_by=year&group_by=product_type&top=1000'",
		`"count_labels", "arguments": {"date_range":"all","group_by":["year","product_type"],"top":1000}`)
	page.checkHTML(t)
	s.costs(before, 0, 0) // already shown as an example
	if want := s.get("/explore?date_range=all").total(t); page.counted(t) != want {
		t.Errorf("%d labels counted, a search finds %d", page.counted(t), want)
	}
	recent := s.get("/trends?group_by=month")
	recent.shows(t, http.StatusOK, `<a href="/trends?date_range=all&group_by=month">`, "<time datetime=")
	s.by("").get("/trends?group_by=year").redirects(t)
	if to := s.get("/trends?group_by=year&group_by=&q=&volume_unit=milliliters").redirects(t); to != "/trends?group_by=year" {
		t.Errorf("redirect to %s, want /trends?group_by=year", to)
	}
}

// TestTrendTable checks that the counts in the CSV file add up to the service's total, and that the
// table on the page has the same number of rows.
func TestTrendTable(t *testing.T) {
	s := mustSite(t)
	for _, by := range cola.Dimensions() {
		s.registry.Advance(time.Minute)
		var p cola.CountParams
		p.GroupBy, p.Top, p.DateRange = []string{by}, cola.Some(cola.MaxGroups), cola.AllDates
		counts, _, err := s.registry.CountColas(t.Context(), s.browsers.callers[ann], p)
		if err != nil {
			t.Fatal(err)
		}
		page := s.get("/trends?date_range=all&top=100&group_by=" + by)
		page.shows(t, http.StatusOK)
		page.checkHTML(t)
		sum, rows := 0, page.csvOf(t)
		for _, row := range rows[1:] {
			n := 0
			for _, digit := range row[strings.LastIndexByte(row, ',')+1:] {
				n = 10*n + int(digit-'0')
			}
			sum += n
		}
		if len(counts.Groups) <= maxRanking && sum != counts.Total {
			t.Errorf("%s: counts add up to %d, want %d", by, sum, counts.Total)
		}
		if n := strings.Count(page.body, `<tr><th scope="row">`); n != len(rows)-1 {
			t.Errorf("%s: %d rows, %d in CSV", by, n, len(rows)-1)
		}
	}
}

// TestTrendProblems checks that an error links to the field of each invalid parameter, and that
// errors are free.
func TestTrendProblems(t *testing.T) {
	s := mustSite(t)
	for query, says := range map[string]string{
		"group_by=color":                          `href="#f-group_by"`,
		"group_by=year,year":                      `href="#f-group_by"`,
		"group_by=year,brand,month":               `href="#f-group_by"`,
		"group_by=brand&top=1001":                 `href="#f-top"`,
		"group_by=brand&top=101":                  `href="#f-top"`,
		"group_by=year&top=0":                     `href="#f-top"`,
		"group_by=year&abv_min=strong":            `href="#f-abv_min"`,
		"group_by=%3Cscript%3Ealert(1)%3C/script": `href="#f-group_by"`,
		"group_by=year&q=%zz":                     "<bdi>URL</bdi>",
	} {
		page := s.get("/trends?" + query)
		page.shows(t, http.StatusBadRequest, says)
		page.checkHTML(t)
	}
	s.costs(cola.Used{}, 0, 0)
}

// TestTrendNotes checks that a suggested search keeps the dimensions, and that an empty count is
// free.
func TestTrendNotes(t *testing.T) {
	s := mustSite(t)
	page := s.get("/trends?group_by=year,status&origin=frrance")
	page.shows(t, http.StatusOK, `<a href="/trends?group_by=year%2Cstatus&origin=FRANCE">`, "No matching labels")
	page.checkHTML(t)
	s.costs(cola.Used{}, 0, 0)
}

// TestTrendLinks checks that dimensions are case-insensitive, and that a result's links keep its
// dimensions and number of rows.
func TestTrendLinks(t *testing.T) {
	s := mustSite(t)
	page := s.get("/trends?group_by=Brand&top=100&product_type=wine")
	page.shows(t, http.StatusOK, `href="/trends?group_by=Brand&top=100"`,
		`href="/trends?date_range=all&group_by=Brand&product_type=wine&top=100"`)
	s.get("/trends?group_by=Product_Type,YEAR").shows(t, http.StatusOK, "Labels by product type and year")
}

// TestTrendRowLinks checks that each row's link finds as many labels as the row shows.
func TestTrendRowLinks(t *testing.T) {
	s := mustSite(t)
	link := regexp.MustCompile(`<td><a href="(/explore\?[^"]*)">([\d,]+)</a></td></tr>`)
	for query, least := range map[string]int{
		"group_by=month": 2, "group_by=brand&date_range=all": 5, "group_by=class&approval_date_from=2015-01-01": 2,
		"group_by=state": 2, "group_by=year&group_by=brand&date_range=all": 2, "group_by=permit&group_by=status": 2,
		"group_by=status": 1,
	} {
		s.registry.Advance(time.Minute)
		links := link.FindAllStringSubmatch(s.get("/trends?"+query).text, -1)
		if len(links) < least {
			t.Errorf("%s: %d links, want at least %d", query, len(links), least)
		}
		for _, l := range links[:min(len(links), 5)] {
			if n := s.get(l[1]).total(t); web.Thousands(n) != l[2] {
				t.Errorf("%s: %s finds %d labels, want %s", query, l[1], n, l[2])
			}
		}
	}
}

// TestPartialPeriods checks that partial periods are marked in the table, the chart and the legend.
func TestPartialPeriods(t *testing.T) {
	s := mustSite(t)
	page := s.get("/trends?group_by=month")
	page.shows(t, http.StatusOK, `<span class="soft">(partial)</span>`, `fill-opacity=".45"`, "Partial period</li>")
	page.checkHTML(t)
	s.get("/trends?group_by=year&approval_date_from=2020-01-01&approval_date_to=2022-12-31").lacks(t, "partial")
}

// group returns a group of labels with the values of one or, if b is set, two dimensions.
func group(a, value, b, other string, n int) cola.LabelGroup {
	g := cola.LabelGroup{Count: n}
	g.Set(a, cola.Text(value))
	if b != "" {
		g.Set(b, cola.Text(other))
	}
	return g
}

// TestNewTrend checks the order of rows, missing periods, unknown values, the combined column and
// incomplete groups.
func TestNewTrend(t *testing.T) {
	var none cola.OtherGroups
	var many []cola.LabelGroup
	for i, name := range []string{"A", "B", "C", "D", "E", "F", "G"} {
		many = append(many, group("status", name, "year", "2024", 70-i))
	}
	for name, tt := range map[string]struct {
		groups     []cola.LabelGroup
		dimensions []string
		others     cola.OtherGroups
		want       []string
		shown      int
		chart      bool
	}{
		"missing quarters": {
			[]cola.LabelGroup{group("quarter", "2025-Q2", "", "", 4), group("quarter", "2024-Q4", "", "", 3), group("quarter", "", "", "", 2)},
			[]string{"quarter"}, none,
			[]string{"Quarter,Labels", "2024 Q4,3", "2025 Q1,0", "2025 Q2,4", "Unknown,2"}, 9, true,
		},
		"months across a year boundary": {
			[]cola.LabelGroup{group("month", "2025-01", "", "", 4), group("month", "2024-11", "", "", 3)},
			[]string{"month"}, none, []string{"Month,Labels", "Nov 2024,3", "Dec 2024,0", "Jan 2025,4"}, 7, true,
		},
		"ranges": {
			[]cola.LabelGroup{group("abv", "4-5", "status", "a", 1), group("abv", "50+", "status", "a", 2), group("abv", "12-14", "status", "b", 4)},
			[]string{"abv", "status"}, none,
			[]string{"ABV (%),b,a,Labels", "4–5,0,1,1", "12–14,4,0,4", "50+,0,2,2"}, 7, true,
		},
		"a date after another dimension": {
			[]cola.LabelGroup{group("status", "a", "year", "2025", 5), group("status", "a", "year", "2024", 1), group("status", "", "year", "2024", 2)},
			[]string{"status", "year"}, none, []string{"Year,a,Unknown,Labels", "2024,1,2,3", "2025,5,0,5"}, 8, true,
		},
		"seven values": {
			many, []string{"year", "status"}, none,
			[]string{"Year,A,B,C,D,E,Other,Labels", "2024,70,69,68,67,66,129,469"}, 469, true,
		},
		"seven values and others": {
			many, []string{"year", "status"},
			cola.OtherGroups{Labels: 5, Breakdown: []cola.OtherLabels{{Value: "2024", Count: 3}, {Value: "2022", Count: 2}}},
			[]string{"Year,A,B,C,D,E,Other,Labels", "2022,0,0,0,0,0,2,2", "2023,0,0,0,0,0,0,0", "2024,70,69,68,67,66,132,472"}, 474, true,
		},
		"years cut off": {
			[]cola.LabelGroup{group("year", "2025", "abv", "4-5", 3), group("year", "2024", "abv", "4-5", 1)},
			[]string{"year", "abv"}, cola.OtherGroups{Labels: 9}, []string{"Year,4–5,Labels", "2025,3,3"}, 3, true,
		},
		"all pairs": {
			[]cola.LabelGroup{group("brand", "A", "status", "a", 5), group("brand", "B", "status", "a", 4), group("brand", "B", "status", "b", 2)},
			[]string{"brand", "status"}, none, []string{"Brand,a,b,Labels", "B,4,2,6", "A,5,0,5"}, 11, false,
		},
		"largest pairs": {
			[]cola.LabelGroup{group("brand", "A", "status", "a", 5), group("brand", "B", "status", "", 4), group("brand", "B", "status", "b", 2)},
			[]string{"brand", "status"}, cola.OtherGroups{Labels: 1}, []string{"Brand and status,Labels", "A · a,5", "B · Unknown,4"}, 9, false,
		},
		"a ranking": {
			[]cola.LabelGroup{group("brand", "=1+1", "", "", 9), group("brand", "B, C", "", "", 8), group("brand", "D", "", "", 7)},
			[]string{"brand"}, cola.OtherGroups{Labels: 1}, []string{"Brand,Labels", "'=1+1,9", `"B, C",8`}, 17, false,
		},
		"no groups": {nil, []string{"year"}, none, []string{"Year,Labels"}, 0, false},
	} {
		got := newTrend(tt.groups, tt.dimensions, 2, tt.others)
		page := response{text: `href="` + string(got.CSV()) + `" download="` + got.CSVName() + `"`}
		if diff := cmp.Diff(tt.want, page.csvOf(t)); diff != "" || got.Shown != tt.shown || (got.Chart != nil) != tt.chart {
			t.Errorf("%s: %d labels, chart %t; CSV (-want +got):\n%s", name, got.Shown, got.Chart != nil, diff)
		}
	}
}

// TestLongTrend checks that a trend includes every month between two distant months, and that long
// names are complete in CSV but shortened on the page.
func TestLongTrend(t *testing.T) {
	groups := []cola.LabelGroup{group("month", "2025-01", "", "", 4), group("month", "1900-01", "", "", 3)}
	if got := newTrend(groups, []string{"month"}, 0, cola.OtherGroups{}); len(got.Rows) != 125*12+1 || got.Shown != 7 {
		t.Errorf("%d rows with %d labels, want 1501 with 7", len(got.Rows), got.Shown)
	}
	name := strings.Repeat("N", 2*maxShownName)
	got := newTrend([]cola.LabelGroup{group("brand", name, "", "", 1)}, []string{"brand"}, 1, cola.OtherGroups{})
	page := response{text: `href="` + string(got.CSV()) + `" download="` + got.CSVName() + `"`}
	if rows := page.csvOf(t); rows[1] != name+",1" || len(got.Rows[0].Label) > len(name)/2+len("…") {
		t.Errorf("CSV has %s; label is %s", rows[1], got.Rows[0].Label)
	}
}

// TestLineChart checks that a line has a point for each step, and that the axis has few enough
// labels for wide screens and phones.
func TestLineChart(t *testing.T) {
	steps := make([]chartStep, maxBars+1)
	values := make([]int, len(steps))
	for i := range steps {
		steps[i].Label, values[i] = "Jan 2025", i
	}
	labelSteps(steps)
	p := newLineChart("p", "", "Month", "labels", steps, []series{{Class: "one", Values: values}})
	path := p.Layers[0].Path
	if n := strings.Count(path, "L"); n != len(steps)-1 || !strings.HasPrefix(path, "M") {
		t.Errorf("path %s has %d segments, want %d", path, n, len(steps)-1)
	}
	wide, phone := 0, 0
	for _, b := range p.Below {
		if wide++; !b.Wide {
			phone++
		}
	}
	if phone == 0 || phone > 5 || wide < phone || wide > 9 {
		t.Errorf("%d labels, %d on phones", wide, phone)
	}
}
