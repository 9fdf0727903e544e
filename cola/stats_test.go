package cola

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestCountParamsNormalize checks the dimensions, and that problems with them are reported together
// with those of the filters.
func TestCountParamsNormalize(t *testing.T) {
	for name, tt := range map[string]struct {
		params   CountParams
		groupBy  []string
		top      int
		problems map[string]int // messages by parameter
	}{
		"default":       {CountParams{GroupBy: []string{"year"}}, []string{ByYear}, 30, nil},
		"two, in order": {CountParams{GroupBy: []string{" Status", "BRAND", ""}, Top: Some(1000)}, []string{ByStatus, ByBrand}, 1000, nil},
		"none":          {CountParams{GroupBy: []string{" "}}, nil, 0, map[string]int{"group_by": 1}},
		"twice":         {CountParams{GroupBy: []string{"year", "Year"}}, nil, 0, map[string]int{"group_by": 1}},
		"three":         {CountParams{GroupBy: []string{"year", "brand", "abv"}}, nil, 0, map[string]int{"group_by": 1}},
		"unknown":       {CountParams{GroupBy: []string{"years", "decade"}}, nil, 0, map[string]int{"group_by": 2}},
		"many unknown":  {CountParams{GroupBy: slices.Repeat([]string{"x"}, 100)}, nil, 0, map[string]int{"group_by": 5}},
		"with others": {
			CountParams{Top: Some(0), SearchParams: SearchParams{Status: "x", ABVMin: Some(-1.0)}},
			nil, 0, map[string]int{"group_by": 1, "top": 1, "status": 1, "abv_min": 1},
		},
		"undecodable": {
			CountParams{SearchParams: SearchParams{Decoded: Decoded{Problems{"group_by": {"Must be an array."}}}}},
			nil, 0, map[string]int{"group_by": 1},
		},
	} {
		s, err := tt.params.Normalize(testNow)
		problems := map[string]int(nil)
		for parameter, messages := range details(err) {
			if problems == nil {
				problems = map[string]int{}
			}
			problems[parameter] = len(messages)
		}
		if diff := cmp.Diff(tt.problems, problems); diff != "" {
			t.Errorf("%s: problems (-want +got):\n%s", name, diff)
		}
		if !slices.Equal(s.GroupBy, tt.groupBy) || s.Top != tt.top {
			t.Errorf("%s: dimensions %q, top %d, want %q, %d", name, s.GroupBy, s.Top, tt.groupBy, tt.top)
		}
	}
}

// TestCountParamsFilters checks that counts accept the same filters as searches, with the same
// meaning, and otherwise only their own parameters.
func TestCountParamsFilters(t *testing.T) {
	var want, got []string
	for f := range Filters() {
		if f.Param != "" {
			want = append(want, f.Param)
		}
	}
	for _, f := range FieldsOf[CountParams]() {
		got = append(got, f.Name)
	}
	want = append(want, "group_by", "top")
	slices.Sort(want)
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("parameters (-want +got):\n%s", diff)
	}
	params := SearchParams{Q: "oak", Status: "Approved", Category: []string{"wine"}}
	counts, err := CountParams{GroupBy: []string{"year"}, SearchParams: params}.Normalize(testNow)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(mustNormalize(t, params), counts.ColaSearch); diff != "" {
		t.Errorf("search (-want +got):\n%s", diff)
	}
}

// TestDimensions checks that every dimension is documented and is a field of LabelGroup: absent if
// not requested, and null for labels without a value.
func TestDimensions(t *testing.T) {
	f, _ := reflect.TypeFor[CountParams]().FieldByName("GroupBy")
	if got := f.Tag.Get("enum"); got != strings.Join(Dimensions(), ",") {
		t.Errorf("documented dimensions = %s, want %q", got, Dimensions())
	}
	for _, dimension := range Dimensions() {
		g := LabelGroup{Count: 2}
		for value, want := range map[Text]string{"x": `"x"`, "": "null"} {
			g.Set(dimension, value)
			b, err := json.Marshal(g)
			if want = `{"` + dimension + `":` + want + `,"count":2}`; err != nil || string(b) != want {
				t.Errorf("group with %s %q = %s, %v, want %s", dimension, value, b, err, want)
			}
		}
	}
}

// TestBand checks that a band includes its lower bound but not its upper one.
func TestBand(t *testing.T) {
	for _, tt := range []struct {
		dimension string
		v         float64
		want      Text
	}{
		{ByABV, 0, "0-0.5"}, {ByABV, .5, "0.5-4"}, {ByABV, 11.99, "10-12"}, {ByABV, 12, "12-14"}, {ByABV, 49.9, "40-50"},
		{ByABV, 50, "50+"}, {ByABV, 1e9, "50+"}, {ByABV, -1, "0-0.5"},
		{ByVolume, 750, "700-1000"}, {ByVolume, 1000, "1000-1500"}, {ByVolume, 20_000, "20000+"}, {ByVolume, 99.9, "0-100"},
	} {
		if got, _ := Band(tt.dimension, tt.v); got != tt.want {
			t.Errorf("Band(%s, %v) = %s, want %s", tt.dimension, tt.v, got, tt.want)
		}
	}
	last := -1
	for _, v := range []float64{0, .5, 4, 5, 6, 7, 10, 12, 14, 16, 21, 24, 40, 50} {
		if _, position := Band(ByABV, v); position != last+1 {
			t.Errorf("%v is in band %d, want %d", v, position, last+1)
		} else {
			last = position
		}
	}
}

// TestOmit checks that omitted groups are added to the other groups, whose number may be unknown.
func TestOmit(t *testing.T) {
	groups := []LabelGroup{{Count: 5}, {Count: 3}, {Count: 1}}
	for known, want := range map[Opt[int]]Opt[int]{Some(4): Some(6), {}: {}} {
		others := OtherGroups{Groups: known, Labels: 10}
		if kept := others.Omit(groups, 1); len(kept) != 1 || !cmp.Equal(others, OtherGroups{Groups: want, Labels: 14}) {
			t.Errorf("others after omitting two groups = %+v, kept %v", others, kept)
		}
	}
}

// TestDaysOfPeriod checks the first and last day of each period.
func TestDaysOfPeriod(t *testing.T) {
	for period, want := range map[string]string{
		"2024": "2024-01-01 2024-12-31", "2024-Q1": "2024-01-01 2024-03-31", "2024-Q4": "2024-10-01 2024-12-31",
		"2024-02": "2024-02-01 2024-02-29", "2025-12": "2025-12-01 2025-12-31", "9999": "9999-01-01 9999-12-31",
		"": "", "0": "", "12345": "", "2024-": "", "2024-13": "", "2024-00": "", "2024-Q0": "", "2024-Q5": "", "2024-Q255": "", "x-01": "",
	} {
		first, last, ok := daysOfPeriod(period)
		if got := strings.TrimSpace(first.String() + " " + last.String()); got != want || ok != (want != "") {
			t.Errorf("%q: %q, %t, want %q", period, got, ok, want)
		}
	}
}

// TestIsPartial checks which periods extend beyond the dates of a search or beyond today.
func TestIsPartial(t *testing.T) {
	today := NewDate(2026, 11, 24)
	for name, tt := range map[string]struct {
		from, to Date
		partial  string // partial years
	}{
		"all dates":   {0, 0, "2026 2027"},
		"whole years": {NewDate(2024, 1, 1), NewDate(2025, 12, 31), ""},
		"last year":   {NewDate(2025, 11, 24), today, "2024 2025 2026"},
		"one day off": {NewDate(2024, 1, 2), NewDate(2025, 12, 30), "2024 2025"},
		"future":      {NewDate(2024, 1, 1), NewDate(2027, 1, 1), "2026 2027"},
	} {
		s := CountSearch{GroupBy: []string{ByClass, ByYear}}
		s.From, s.To = tt.from, tt.to
		var partial []string
		for _, year := range []Text{"", "2024", "2025", "2026", "2027"} {
			g := LabelGroup{}
			g.Set(ByYear, year)
			g.Set(ByClass, "2020")
			if s.IsPartial(&g, today) && (tt.to == 0 || year <= Text(tt.to.String()[:4])) {
				partial = append(partial, string(year))
			}
		}
		if got := strings.Join(partial, " "); got != tt.partial {
			t.Errorf("%s: partial years %q, want %q", name, got, tt.partial)
		}
	}
}
