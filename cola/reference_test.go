package cola

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestAVACurrent(t *testing.T) {
	today := NewDate(2026, 11, 20)
	for _, tt := range []struct {
		ends, removed Date
		want          bool
	}{
		{0, 0, true},
		{today, 0, true}, {today.AddDays(-1), 0, false},
		{0, today, false}, {0, today.AddDays(1), true},
	} {
		if got := (&AVA{ValidEndDate: tt.ends, RemovedDate: tt.removed}).IsCurrent(today); got != tt.want {
			t.Errorf("AVA ending %s, removed %s: IsCurrent = %t", tt.ends, tt.removed, got)
		}
	}
}

func TestNormalizePermittees(t *testing.T) {
	for _, tt := range []struct {
		name   string
		params PermitteeParams
		want   PermitteeSearch
	}{
		{"no parameters", PermitteeParams{}, PermitteeSearch{Page: 1, PerPage: 20}},
		{
			"everything",
			PermitteeParams{Q: " Niederhoff ", State: " nj", PermitteeType: "IMPORTER ", IsActive: Some(true), Page: Some(500), PerPage: Some(100)},
			PermitteeSearch{Name: "Niederhoff", State: "NJ", Type: "IMPORTER", Active: Some(true), Page: 500, PerPage: 100},
		},
		{"inactive", PermitteeParams{IsActive: Some(false)}, PermitteeSearch{Active: Some(false), Page: 1, PerPage: 20}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := tt.params.Normalize(testNow)
			tt.want.Today = NewDate(2026, 11, 20)
			if diff := cmp.Diff(tt.want, got); diff != "" || err != nil {
				t.Errorf("search (-want +got), error %v:\n%s", err, diff)
			}
		})
	}
}

func TestNormalizeInvalidPermittees(t *testing.T) {
	p := PermitteeParams{Q: "a\x01", State: "New Jersye", Page: Some(0), PerPage: Some(101)}
	p.Problems.Add("limit", "It is not a parameter.")
	s, err := p.Normalize(testNow)
	found := details(err)
	for parameter, part := range map[string]string{
		"q": "control", "state": "Did you mean new jersey?", "page": "0", "per_page": "1 to 100", "limit": "not a parameter",
	} {
		if len(found[parameter]) != 1 || !strings.Contains(found[parameter][0], part) {
			t.Errorf("problems with %s = %q, want one containing %q", parameter, found[parameter], part)
		}
	}
	if s != (PermitteeSearch{}) {
		t.Errorf("search = %+v, want empty with an error", s)
	}
	for _, state := range []string{"N", "NJX", "N1", "Ñ", "日本", "dakotan", "american", "Ontario", strings.Repeat("x", 201)} {
		if _, err := (PermitteeParams{State: state}).Normalize(testNow); len(details(err)["state"]) != 1 {
			t.Errorf("state %q: error = %v, want a problem with state", state, err)
		}
	}
	if _, err := (PermitteeParams{Page: Some(math.MaxInt)}).Normalize(testNow); len(details(err)["page"]) != 1 {
		t.Errorf("page beyond the integer range: error = %v, want a problem with page", err)
	}
}

func TestNormalizeProductionReports(t *testing.T) {
	p := ProductionReportParams{
		Year: Some(2019), Month: Some(12), Commodity: " Beer", ReportType: "MONTHLY ", StatisticalGroup: "Barrels  Produced",
		StatisticalDetail: " In  cans", Latest: Some(true), Page: Some(100), PerPage: Some(1),
	}
	want := ProductionReportSearch{
		Year: Some(2019), Month: Some(12), Commodity: "Beer", ReportType: "MONTHLY", StatisticalGroup: "Barrels Produced",
		StatisticalDetail: "In cans", Latest: true, Page: 100, PerPage: 1,
	}
	if got, err := p.Normalize(); err != nil || got != want {
		t.Errorf("Normalize = %+v, %v, want %+v", got, err, want)
	}
	if got, err := (ProductionReportParams{}).Normalize(); err != nil || got != (ProductionReportSearch{Page: 1, PerPage: 20}) {
		t.Errorf("Normalize() = %+v, %v", got, err)
	}
	for parameter, p := range map[string]ProductionReportParams{
		"month":    {Month: Some(13)},
		"year":     {Year: Some(0)},
		"page":     {Page: Some(101)},
		"per_page": {PerPage: Some(0)},
	} {
		if _, err := p.Normalize(); len(details(err)) != 1 || len(details(err)[parameter]) != 1 {
			t.Errorf("Normalize(%+v): problems = %v, want one for %s", p, details(err), parameter)
		}
	}
	for _, month := range []int{0, -1} {
		if _, err := (ProductionReportParams{Month: Some(month)}).Normalize(); len(details(err)["month"]) != 1 {
			t.Errorf("month %d: error = %v, want a problem with month", month, err)
		}
	}
}

func TestNormalizeAVAs(t *testing.T) {
	if got, err := (AVAParams{Q: " Napa  Valley ", State: "ca"}).Normalize(); err != nil || got != (AVASearch{Q: "Napa Valley", State: "CA"}) {
		t.Errorf("Normalize = %+v, %v", got, err)
	}
	for word, code := range map[string]string{"Oregon": "OR", " new  YORK ": "NY", "hawaiian": "HI", "D.C.": "DC", "zz": "ZZ"} {
		if got, err := (AVAParams{State: word}).Normalize(); err != nil || got.State != code {
			t.Errorf("state %q: Normalize = %+v, %v, want %s", word, got, err, code)
		}
	}
	_, err := AVAParams{Q: strings.Repeat("x", 201), State: "Califórnia County"}.Normalize()
	if found := details(err); len(found["q"]) != 1 || len(found["state"]) != 1 {
		t.Errorf("problems = %v, want q and state", found)
	}
}

func TestNormalizeProcessingTimes(t *testing.T) {
	if got, err := (ProcessingTimeParams{Commodity: " malt  beverage"}).Normalize(); err != nil || got.Commodity != "malt beverage" {
		t.Errorf("Normalize = %+v, %v", got, err)
	}
	formula, err := FormulaProcessingTimeParams{FormulaType: " Formula Approval ", Commodity: "WINE"}.Normalize()
	if err != nil || formula.FormulaType != "Formula Approval" || formula.Commodity != "WINE" {
		t.Errorf("Normalize = %+v, %v", formula, err)
	}
	registration, err := RegistrationProcessingTimeParams{Category: "alcohol", ApplicationType: " Brewery"}.Normalize()
	if err != nil || registration.Category != "alcohol" || registration.ApplicationType != "Brewery" {
		t.Errorf("Normalize = %+v, %v", registration, err)
	}
}

func TestNormalizeInvalidProcessingTimes(t *testing.T) {
	var decoded Decoded
	decoded.Problems.Add("comodity", "It is not a parameter. Did you mean commodity?")
	_, first := ProcessingTimeParams{Decoded: decoded, Commodity: "\xff"}.Normalize()
	_, second := FormulaProcessingTimeParams{Decoded: decoded, Commodity: "\xff"}.Normalize()
	_, third := RegistrationProcessingTimeParams{Decoded: decoded, Category: "\xff"}.Normalize()
	for i, err := range []error{first, second, third} {
		if CodeOf(err) != CodeValidation || len(details(err)) != 2 || len(details(err)["comodity"]) != 1 {
			t.Errorf("list %d: problems = %v, want two", i, details(err))
		}
	}
}
