package cola

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var testNow = time.Date(2026, 11, 20, 23, 59, 0, 0, time.UTC)

// windowStart is the first day of the default date window at testNow.
var windowStart = NewDate(2025, 11, 20)

func mustNormalize(t interface{ Fatalf(string, ...any) }, p SearchParams) ColaSearch {
	s, err := p.Normalize(testNow)
	if err != nil {
		t.Fatalf("Normalize(%+v) = %v %v", p, err, details(err))
	}
	return s
}

// details returns the problems by parameter.
func details(err error) map[string][]string {
	var e *Error
	if !errors.As(err, &e) {
		return nil
	}
	found := map[string][]string{}
	for name, messages := range e.Details {
		found[name] = messages.([]string)
	}
	return found
}

func TestNormalizeEveryParameter(t *testing.T) {
	got := mustNormalize(t, SearchParams{
		Q:                  "  lenz moser ",
		ProductType:        []string{"WINE", " malt  beverage", "", "wine"},
		Category:           []string{"liquor", "BEER"},
		DerivedSubcategory: "Wine>Red  Wine",
		Origin:             "Austrian",
		DomesticOrImported: "IMPORTED",
		Status:             " Surrendered ",
		BrandName:          " lenz ",
		Class:              " Table Red Wine ",
		PermitNumber:       " nj-i-721",
		ApplicantState:     "new jersey",
		BarcodeValue:       " 0 36000 29145 2 ",
		ApprovalDateFrom:   NewDate(2005, 1, 1),
		ApprovalDateTo:     NewDate(2011, 12, 31),
		ABVMin:             Some(0.0),
		ABVMax:             Some(14.5),
		VolumeUnit:         "Liters",
		VolumeMin:          Some(0.75),
		VolumeMax:          Some(1.5),
		ContainerType:      []string{"Keg", "bottle"},
		Page:               Some(3),
		PerPage:            Some(50),
	})
	want := ColaSearch{
		Query: Query{
			Text: "lenz moser", ProductTypes: []string{"wine", "malt beverage"}, Categories: []string{"Beer", "Liquor"},
			CategoryPath: "Wine > Red Wine", OriginNames: []string{"AUSTRIA"}, Domestic: "imported", Status: "surrendered",
			BrandName: "lenz", Class: "Table Red Wine", PermitNumber: "NJ-I-721", AddressState: "NJ", Barcode: "0 36000 29145 2",
			From: NewDate(2005, 1, 1), To: NewDate(2011, 12, 31), ABVMin: Some(0.0), ABVMax: Some(14.5),
			VolumeMin: Some(750.0), VolumeMax: Some(1500.0), Containers: []string{"bottle", "keg"},
		},
		Page: 3, PerPage: 50, Fingerprint: got.Fingerprint,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("search (-want +got):\n%s", diff)
	}
}

func TestNormalizeZeroValue(t *testing.T) {
	got := mustNormalize(t, SearchParams{})
	want := ColaSearch{Query: Query{From: windowStart, To: DateOf(testNow)}, Page: 1, PerPage: 20, DefaultWindow: true, Fingerprint: got.Fingerprint}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("search (-want +got):\n%s", diff)
	}
	blank := mustNormalize(t, SearchParams{Q: " ", ProductType: []string{"", " "}, Origin: "\t", Status: " ", VolumeUnit: " ", Cursor: " "})
	if diff := cmp.Diff(want, blank); diff != "" {
		t.Errorf("search with blank values (-want +got):\n%s", diff)
	}
}

func TestDefaultWindow(t *testing.T) {
	day := NewDate(2020, 1, 1)
	for _, tt := range []struct {
		name     string
		params   SearchParams
		windowed bool
		from, to Date
	}{
		{"nothing given", SearchParams{}, true, windowStart, DateOf(testNow)},
		{"a query", SearchParams{Q: "lenz"}, true, windowStart, DateOf(testNow)},
		{"approved", SearchParams{Status: "approved"}, true, windowStart, DateOf(testNow)},
		{"expired", SearchParams{Status: "expired"}, false, 0, 0},
		{"surrendered", SearchParams{Status: "SURRENDERED"}, false, 0, 0},
		{"revoked", SearchParams{Status: "revoked"}, false, 0, 0},
		{"an ID", SearchParams{Q: " 11054001000049 "}, false, 0, 0},
		{"an ID and a filter", SearchParams{Q: "11054001000049", Status: "approved"}, false, 0, 0},
		{"an ID with a space", SearchParams{Q: "11054 001000049"}, true, windowStart, DateOf(testNow)},
		{"thirteen digits", SearchParams{Q: "1105400100004"}, true, windowStart, DateOf(testNow)},
		{"a quoted ID", SearchParams{Q: `"11054001000049"`}, true, windowStart, DateOf(testNow)},
		{"an ID as a barcode", SearchParams{BarcodeValue: "11054001000049"}, true, windowStart, DateOf(testNow)},
		{"from", SearchParams{ApprovalDateFrom: day}, false, day, 0},
		{"to", SearchParams{ApprovalDateTo: day}, false, 0, day},
		{"both", SearchParams{ApprovalDateFrom: day, ApprovalDateTo: day}, false, day, day},
		{"all dates", SearchParams{DateRange: "All"}, false, 0, 0},
		{"a query over all dates", SearchParams{Q: "lenz", DateRange: "all"}, false, 0, 0},
		{"without estimates", SearchParams{EstimatedDates: "exclude"}, true, windowStart, DateOf(testNow)},
		{"expired with a date", SearchParams{Status: "expired", ApprovalDateFrom: day}, false, day, 0},
		{"new brands", SearchParams{BrandFirstSeenFrom: day}, false, 0, 0},
		{"new permittees", SearchParams{PermitteeFirstSeenFrom: day}, false, 0, 0},
		{"new brands with a date", SearchParams{BrandFirstSeenFrom: day, ApprovalDateTo: day}, false, 0, day},
		{"an ID with a date", SearchParams{Q: "11054001000049", ApprovalDateTo: day}, false, 0, day},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := mustNormalize(t, tt.params)
			if s.DefaultWindow != tt.windowed || s.From != tt.from || s.To != tt.to {
				t.Errorf("default window = %t from %q to %q, want %t from %q to %q", s.DefaultWindow, s.From, s.To, tt.windowed, tt.from, tt.to)
			}
		})
	}
}

// refusal is a search with one invalid parameter, and strings that the message must contain.
type refusal struct {
	name      string
	params    SearchParams
	parameter string
	contains  []string
}

func refusals() []refusal {
	long := strings.Repeat("é", 201)
	return []refusal{
		{"page 0", SearchParams{Page: Some(0)}, "page", []string{"0", "1 to 100"}},
		{"page 101", SearchParams{Page: Some(101)}, "page", []string{"101", "1 to 100", "next_cursor"}},
		{"negative page", SearchParams{Page: Some(-1)}, "page", []string{"-1"}},
		{"per_page 0", SearchParams{PerPage: Some(0)}, "per_page", []string{"0", "1 to 100"}},
		{"per_page 101", SearchParams{PerPage: Some(101)}, "per_page", []string{"101", "1 to 100"}},
		{"a misspelled status", SearchParams{Status: "aproved"}, "status", []string{`"aproved"`, "expired", "Did you mean approved?"}},
		{"an unknown status", SearchParams{Status: "xyz"}, "status", []string{`"xyz"`, "approved, expired, surrendered, revoked"}},
		{"an unknown product type", SearchParams{ProductType: []string{"wine", "cider"}}, "product_type", []string{`"cider"`, "malt beverage"}},
		{"a misspelled category", SearchParams{Category: []string{"wines"}}, "category", []string{`"wines"`, "Did you mean Wine?"}},
		{"a category path", SearchParams{Category: []string{"Wine > Red"}}, "category", []string{`"Wine > Red"`}},
		{"an unknown date range", SearchParams{DateRange: "year"}, "date_range", []string{`"year"`, "all"}},
		{"date_range with approval_date_from", SearchParams{DateRange: "all", ApprovalDateFrom: 730000}, "approval_date_from", []string{"date_range"}},
		{"date_range with approval_date_to", SearchParams{DateRange: "all", ApprovalDateTo: 730000}, "approval_date_to", []string{"date_range"}},
		{"an unknown estimated_dates value", SearchParams{EstimatedDates: "no"}, "estimated_dates", []string{`"no"`, "the only accepted value is exclude"}},
		{"a misspelled container", SearchParams{ContainerType: []string{"bottel"}}, "container_type", []string{"Did you mean bottle?"}},
		{"an unknown domestic_or_imported value", SearchParams{DomesticOrImported: "foreign"}, "domestic_or_imported", []string{"domestic, imported"}},
		{"a misspelled unit", SearchParams{VolumeUnit: "litres", VolumeMin: Some(1.0)}, "volume_unit", []string{`"litres"`, "Did you mean liters?"}},
		{"no unit", SearchParams{VolumeMin: Some(1.0)}, "volume_unit", []string{"unit", "beer barrels"}},
		{"no unit for the maximum", SearchParams{VolumeMax: Some(1.0)}, "volume_unit", []string{"unit"}},
		{"a negative volume", SearchParams{VolumeMin: Some(-1.0), VolumeUnit: "liters"}, "volume_min", []string{"-1", "0"}},
		{"reversed volume bounds", SearchParams{VolumeMin: Some(2.0), VolumeMax: Some(1.0), VolumeUnit: "liters"}, "volume_min", []string{"volume_max", "1"}},
		{"an immense volume", SearchParams{VolumeMax: Some(math.MaxFloat64), VolumeUnit: "gallons"}, "volume_max", []string{"too large", "gallons"}},
		{"abv not a number", SearchParams{ABVMin: Some(math.NaN())}, "abv_min", []string{"NaN", "finite"}},
		{"abv infinite", SearchParams{ABVMax: Some(math.Inf(1))}, "abv_max", []string{"finite"}},
		{"abv too large", SearchParams{ABVMax: Some(100.5)}, "abv_max", []string{"100.5", "100"}},
		{"abv negative", SearchParams{ABVMin: Some(-0.1)}, "abv_min", []string{"-0.1"}},
		{"reversed ABV bounds", SearchParams{ABVMin: Some(14.0), ABVMax: Some(12.5)}, "abv_min", []string{"abv_max", "12.5"}},
		{"reversed dates", SearchParams{ApprovalDateFrom: NewDate(2024, 2, 1), ApprovalDateTo: NewDate(2024, 1, 1)}, "approval_date_from",
			[]string{"approval_date_to", "2024-01-01"}},
		{"an unknown state", SearchParams{ApplicantState: "narnia"}, "applicant_state", []string{`"narnia"`, "California or CA"}},
		{"a long q", SearchParams{Q: long}, "q", []string{"201", "200"}},
		{"a long brand", SearchParams{BrandName: long}, "brand_name", []string{"201", "200"}},
		{"not UTF-8", SearchParams{Q: "a\xff"}, "q", []string{"UTF-8"}},
		{"a control character", SearchParams{BrandName: "a\x00b"}, "brand_name", []string{"control", `a\x00b`}},
		{"a line break", SearchParams{Origin: "new\nzealand"}, "origin", []string{"control"}},
		{"a bad cursor", SearchParams{Cursor: "AQAB"}, "cursor", []string{`"AQAB"`, "next_cursor"}},
		{"a control character in the cursor", SearchParams{Cursor: "\x01"}, "cursor", []string{"control"}},
	}
}

func TestNormalizeInvalid(t *testing.T) {
	for _, tt := range refusals() {
		t.Run(tt.name, func(t *testing.T) {
			s, err := tt.params.Normalize(testNow)
			found := details(err)
			if CodeOf(err) != CodeValidation || len(found) != 1 || len(found[tt.parameter]) != 1 {
				t.Fatalf("problems = %v, %v, want one for %s", found, err, tt.parameter)
			}
			message := found[tt.parameter][0]
			for _, part := range tt.contains {
				if !strings.Contains(message, part) {
					t.Errorf("message %q does not contain %q", message, part)
				}
			}
			if !strings.HasSuffix(message, ".") && !strings.HasSuffix(message, "?") {
				t.Errorf("message %q is not a sentence", message)
			}
			if diff := cmp.Diff(ColaSearch{}, s); diff != "" {
				t.Errorf("rejected search is not empty:\n%s", diff)
			}
		})
	}
}

func TestNormalizeAllProblems(t *testing.T) {
	p := SearchParams{
		Status: "x", Page: Some(0), PerPage: Some(1000), ABVMin: Some(200.0), VolumeMin: Some(-5.0), ProductType: []string{"x", "y"},
	}
	p.Problems.Add("limit", "It is not a parameter. Did you mean per_page?")
	p.Problems.Add("status", "It was given twice.")
	_, err := p.Normalize(testNow)
	found := details(err)
	for parameter, n := range map[string]int{
		"limit": 1, "status": 2, "page": 1, "per_page": 1, "abv_min": 1, "volume_min": 1, "volume_unit": 1, "product_type": 2,
	} {
		if len(found[parameter]) != n {
			t.Errorf("problems with %s = %q, want %d", parameter, found[parameter], n)
		}
	}
	if len(p.Problems) != 2 || len(p.Problems["status"]) != 1 {
		t.Errorf("Normalize changed its argument's problems: %v", p.Problems)
	}
	if _, again := p.Normalize(testNow); cmp.Diff(found, details(again)) != "" {
		t.Errorf("second Normalize: problems = %v, want %v", details(again), found)
	}
}

func TestNormalizeManyInvalidValues(t *testing.T) {
	var p SearchParams
	for i := range 1000 {
		p.ContainerType = append(p.ContainerType, fmt.Sprintf("%d%s", i, strings.Repeat("x", 5000)))
	}
	_, err := p.Normalize(testNow)
	messages := details(err)["container_type"]
	if len(messages) != 6 || !strings.Contains(messages[5], "995") {
		t.Errorf("%d messages, last %q, want five and a count", len(messages), messages[len(messages)-1])
	}
	if n := len(messages[0]); n > 300 {
		t.Errorf("message of %d bytes is not shortened", n)
	}
}

func TestNormalizeLongestText(t *testing.T) {
	if s := mustNormalize(t, SearchParams{Q: strings.Repeat("é", 200)}); len(s.Text) != 400 {
		t.Errorf("text of 200 characters = %d bytes, want 400", len(s.Text))
	}
	if s := mustNormalize(t, SearchParams{Q: "!?"}); s.Text != "!?" {
		t.Errorf("text = %q, want !?", s.Text)
	}
}

func TestUnknownOrigin(t *testing.T) {
	if s := mustNormalize(t, SearchParams{Origin: "?"}); len(s.OriginNames) != 1 {
		t.Errorf("origin ?: names = %v, want one unknown name", s.OriginNames)
	}
}

func TestSort(t *testing.T) {
	for value, want := range map[string]Sort{
		"": SortNewest, "-approval_date": SortNewest, "approval_date": SortOldest, " Brand ": SortBrand, "BRAND": SortBrand,
	} {
		if s := mustNormalize(t, SearchParams{Sort: value}); s.Sort != want {
			t.Errorf("sort %q = %q, want %q", value, s.Sort, want)
		}
	}
	for value, suggestion := range map[string]string{"brands": "mean brand", "approval_dat": "mean approval_date", "-brand": "brand", "ttb_id": "-approval_date"} {
		_, err := SearchParams{Sort: value}.Normalize(testNow)
		if messages := details(err)["sort"]; len(messages) != 1 || !strings.Contains(messages[0], suggestion) {
			t.Errorf("sort %q: problems = %q, want one with %s", value, messages, suggestion)
		}
	}
}

// TestSortInSavedSearches checks that saving a search drops its sort order, because runs have a
// fixed order.
func TestSortInSavedSearches(t *testing.T) {
	p := SearchParams{Q: "oak", Sort: "brand"}
	if diff := cmp.Diff(SearchParams{Q: "oak"}.ForSavedSearch(), p.ForSavedSearch()); diff != "" || len(p.NotForSavedSearch()) > 0 {
		t.Errorf("sorted search as a saved search: lacks %v (-want +got):\n%s", p.NotForSavedSearch(), diff)
	}
}
