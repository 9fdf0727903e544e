package cola

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/colaregistry/colaregistry/cola/vocabulary"
	"github.com/colaregistry/colaregistry/internal/golden"
)

// saved returns the parameters of a narrow search, modified by change.
func saved(change func(p *SavedSearchParams)) SavedSearchParams {
	p := SavedSearchParams{Name: "New oak", Filters: &SavedSearchFilters{BrandName: "oak"}}
	change(&p)
	return p
}

func TestNormalizeSavedSearch(t *testing.T) {
	off := Some(false)
	got, err := SavedSearchParams{
		Name: "  Neue Weine 👩‍🌾 ",
		Filters: &SavedSearchFilters{
			Query: " barrel aged ", BrandName: " oak ", BarcodeValue: " 0 36000 29145 2", ApplicationStatus: "APPROVED",
			TypeWine: Some(true), TypeMaltBeverage: off, TypeDistilledSpirit: off, DerivedBeer: off, DerivedWine: Some(true), DerivedLiquor: off,
			DerivedCategory: "Wine>Red  Wine", OriginDomestic: off, OriginImported: off, Country: " united  states", USState: " Californian ",
			PermitNumberText: " ca-w ", ApplicantUSState: "new york", ABVMin: Some(math.Copysign(0, -1)), ABVMax: Some(100.0),
			VolumeUnit: "Liters", VolumeMin: Some(0.75), ContainerCan: Some(true), ContainerKeg: off,
		},
		Schedule:       &ScheduleParams{Cadence: "Weekly", Day: Some(1)},
		IdempotencyKey: "~!" + strings.Repeat("k", 253),
	}.Normalize(testNow)
	if err != nil {
		t.Fatal(details(err))
	}
	want := SavedSearch{
		Name: "Neue Weine 👩‍🌾",
		Filters: SavedSearchFilters{
			Query: "barrel aged", BrandName: "oak", BarcodeValue: "0 36000 29145 2", ApplicationStatus: "approved", TypeWine: Some(true),
			DerivedWine: Some(true), DerivedCategory: "Wine > Red Wine", Country: "united states", USState: "Californian",
			PermitNumberText: "ca-w", ApplicantUSState: "NY", ABVMin: Some(0.0), ABVMax: Some(100.0),
			VolumeUnit: "liters", VolumeMin: Some(0.75), ContainerCan: Some(true),
		},
		Schedule: &Schedule{
			Active:    true,
			Cadence:   CadenceWeekly,
			Day:       1,
			NextRunAt: Some(TimestampOf(time.Date(2026, 11, 23, RunHour, 0, 0, 0, time.UTC))),
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("search (-want +got):\n%s", diff)
	}
	if math.Signbit(got.Filters.ABVMin.V) {
		t.Error("abv_min = -0, want 0")
	}
}

func TestNormalizeLeavesInput(t *testing.T) {
	p := saved(func(p *SavedSearchParams) {
		p.Problems = Problems{"filters.x": {"Unknown."}}
		p.Filters.TypeWine = Some(false)
		p.Filters.BrandName = " oak"
	})
	for range 2 {
		_, err := p.Normalize(testNow)
		if got := details(err); len(got) != 1 || len(got["filters.x"]) != 1 {
			t.Errorf("problems = %v, want only the one from decoding", got)
		}
	}
	if !p.Filters.TypeWine.OK || p.Filters.BrandName != " oak" {
		t.Errorf("Normalize changed its parameters: %+v", p.Filters)
	}
}

// invalidSearch is an invalid saved search.
type invalidSearch struct {
	name   string
	params SavedSearchParams
}

var longText = strings.Repeat("é", 201)

func invalidNamesAndKeys() []invalidSearch {
	return []invalidSearch{
		{"empty", SavedSearchParams{}},
		{"a blank name", saved(func(p *SavedSearchParams) { p.Name = " \u00a0\t" })},
		{"an invisible name", saved(func(p *SavedSearchParams) { p.Name = "\u200b\u2060\u0301" })},
		{"combining mark as a name", saved(func(p *SavedSearchParams) { p.Name = "\u0301" })},
		{"name with a bidi control", saved(func(p *SavedSearchParams) { p.Name = "oak\u202egnp.exe" })},
		{"name with tag characters", saved(func(p *SavedSearchParams) { p.Name = "oak\U000e0041" })},
		{"a long name", saved(func(p *SavedSearchParams) { p.Name = longText })},
		{"two-line name", saved(func(p *SavedSearchParams) { p.Name = "a\r\nBcc: b" })},
		{"name not UTF-8", saved(func(p *SavedSearchParams) { p.Name = "\xff" })},
		{"undecodable name", SavedSearchParams{Decoded: Decoded{Problems{"name": {"Not a string."}, "filters": {"Not an object."}}}}},
		{"a key with a space", saved(func(p *SavedSearchParams) { p.IdempotencyKey = "a b" })},
		{"non-ASCII key", saved(func(p *SavedSearchParams) { p.IdempotencyKey = "schlüssel" })},
		{"a long key", saved(func(p *SavedSearchParams) { p.IdempotencyKey = strings.Repeat("k", 256) })},
		{"several problems", SavedSearchParams{Filters: &SavedSearchFilters{ABVMin: Some(101.0)}, Schedule: &ScheduleParams{Cadence: "never"}, IdempotencyKey: " "}},
	}
}

func invalidFilters() []invalidSearch {
	filters := func(change func(f *SavedSearchFilters)) SavedSearchParams {
		return saved(func(p *SavedSearchParams) { change(p.Filters) })
	}
	return []invalidSearch{
		{"invalid strings", filters(func(f *SavedSearchFilters) {
			f.Query, f.BrandName, f.BarcodeValue, f.DerivedCategory = longText, "\x00", longText, "\x01"
			f.Country, f.USState, f.PermitNumberText, f.ApplicantUSState = "\xff", longText, "\x7f", longText
		})},
		{"query without letters or digits", filters(func(f *SavedSearchFilters) { f.Query = " -– \u0301!" })},
		{"invalid words", filters(func(f *SavedSearchFilters) { f.ApplicationStatus, f.VolumeUnit = "aproved", "liter" })},
		{"unknown states", filters(func(f *SavedSearchFilters) { f.USState, f.ApplicantUSState = "califronia", "ZZ" })},
		{"country as a state", filters(func(f *SavedSearchFilters) { f.USState, f.ApplicantUSState = "american", "US" })},
		{"several states in an address", filters(func(f *SavedSearchFilters) { f.ApplicantUSState = "dakotan" })},
		{"bounds out of range", filters(func(f *SavedSearchFilters) { f.ABVMin, f.ABVMax = Some(-1.0), Some(100.5) })},
		{"reversed bounds", filters(func(f *SavedSearchFilters) { f.ABVMin, f.ABVMax = Some(14.0), Some(12.0) })},
		{"NaN and infinity", filters(func(f *SavedSearchFilters) {
			f.ABVMin, f.VolumeMax, f.VolumeUnit = Some(math.NaN()), Some(math.Inf(1)), "liters"
		})},
		{"a volume without a unit", filters(func(f *SavedSearchFilters) { f.VolumeMin = Some(1.0) })},
		{"reversed volumes", filters(func(f *SavedSearchFilters) { f.VolumeMin, f.VolumeMax, f.VolumeUnit = Some(2.0), Some(1.0), "pints" })},
		{"volume out of range", filters(func(f *SavedSearchFilters) { f.VolumeMin, f.VolumeUnit = Some(math.MaxFloat64), "gallons" })},
	}
}

func invalidSchedules() []invalidSearch {
	scheduled := func(s ScheduleParams) SavedSearchParams {
		return saved(func(p *SavedSearchParams) { p.Schedule = &s })
	}
	return []invalidSearch{
		{"no cadence", scheduled(ScheduleParams{Day: Some(1)})},
		{"unknown cadence", scheduled(ScheduleParams{Cadence: "dayly"})},
		{"weekly on day 7", scheduled(ScheduleParams{Cadence: "weekly", Day: Some(7)})},
		{"weekly on day -1", scheduled(ScheduleParams{Cadence: "weekly", Day: Some(-1)})},
		{"monthly on day 0", scheduled(ScheduleParams{Cadence: "monthly", Day: Some(0)})},
		{"monthly on day 29", scheduled(ScheduleParams{Cadence: "monthly", Day: Some(29)})},
	}
}

func TestInvalidSavedSearches(t *testing.T) {
	messages := golden.Load(t, "invalid_saved_searches")
	for _, tt := range slices.Concat(invalidNamesAndKeys(), invalidFilters(), invalidSchedules()) {
		t.Run(tt.name, func(t *testing.T) {
			got, err := tt.params.Normalize(testNow)
			if CodeOf(err) != CodeValidation || !cmp.Equal(got, SavedSearch{}) {
				t.Fatalf("Normalize = %+v, %v, want validation_error and an empty search", got, err)
			}
			messages.Check(t, tt.name, details(err))
		})
	}
}

// broadnessTest is a set of filters and whether it is narrow enough for a schedule.
type broadnessTest struct {
	name    string
	filters SavedSearchFilters
	narrow  bool
}

func broadnessTests() []broadnessTest {
	on := Some(true)
	every := func(f *SavedSearchFilters, groups ...string) {
		for c := range Filters() {
			if slices.Contains(groups, c.Group) {
				c.save(f, filterValue{words: c.Words})
			}
		}
	}
	with := func(change func(f *SavedSearchFilters)) SavedSearchFilters {
		var f SavedSearchFilters
		change(&f)
		return f
	}
	return []broadnessTest{
		{"empty", SavedSearchFilters{}, false},
		{"a status", SavedSearchFilters{ApplicationStatus: "revoked"}, false},
		{"bounds that match everything", SavedSearchFilters{ABVMin: Some(0.0), ABVMax: Some(100.0)}, false},
		{"minimum volume of 0", SavedSearchFilters{VolumeMin: Some(0.0), VolumeUnit: "pints"}, false},
		{"a unit", SavedSearchFilters{VolumeUnit: "pints"}, false},
		{"false booleans", SavedSearchFilters{TypeWine: Some(false), ContainerCan: Some(false)}, false},
		{"every type", with(func(f *SavedSearchFilters) { every(f, GroupType) }), false},
		{"every root", with(func(f *SavedSearchFilters) { every(f, GroupCategory) }), false},
		{"both origins", with(func(f *SavedSearchFilters) { every(f, GroupOrigin) }), false},
		{"every container", with(func(f *SavedSearchFilters) { every(f, GroupContainer) }), false},
		{"all of the above", with(func(f *SavedSearchFilters) {
			every(f, GroupType, GroupCategory, GroupOrigin, GroupContainer)
			f.ApplicationStatus, f.ABVMin = "approved", Some(0.0)
		}), false},

		{"keywords", SavedSearchFilters{Query: "oak"}, true},
		{"a name", SavedSearchFilters{BrandName: "oak"}, true},
		{"a barcode", SavedSearchFilters{BarcodeValue: "1"}, true},
		{"a permit", SavedSearchFilters{PermitNumberText: "CA"}, true},
		{"a country", SavedSearchFilters{Country: "france"}, true},
		{"a state", SavedSearchFilters{USState: "ohio"}, true},
		{"an address", SavedSearchFilters{ApplicantUSState: "OH"}, true},
		{"a category", SavedSearchFilters{DerivedCategory: "Wine"}, true},
		{"a root", SavedSearchFilters{DerivedBeer: on}, true},
		{"two types", SavedSearchFilters{TypeWine: on, TypeMaltBeverage: on}, true},
		{"an origin", SavedSearchFilters{OriginImported: on}, true},
		{"a container", SavedSearchFilters{ContainerPod: on}, true},
		{"every container but one", with(func(f *SavedSearchFilters) { every(f, GroupContainer); f.ContainerBag = Opt[bool]{} }), true},
		{"abv above 0", SavedSearchFilters{ABVMin: Some(0.5)}, true},
		{"abv below 100", SavedSearchFilters{ABVMax: Some(99.5)}, true},
		{"no alcohol", SavedSearchFilters{ABVMax: Some(0.0)}, true},
		{"a volume", SavedSearchFilters{VolumeMin: Some(1.0), VolumeUnit: "pints"}, true},
		{"maximum volume", SavedSearchFilters{VolumeMax: Some(1.0), VolumeUnit: "pints"}, true},
	}
}

func TestTooBroadToRun(t *testing.T) {
	for _, tt := range broadnessTests() {
		t.Run(tt.name, func(t *testing.T) {
			for _, active := range []Opt[bool]{{}, Some(true), Some(false)} {
				p := SavedSearchParams{Name: "n", Filters: &tt.filters, Schedule: &ScheduleParams{Cadence: CadenceDaily, Active: active}}
				got, err := p.Normalize(testNow)
				if tt.narrow {
					if err != nil || got.Schedule.Active != active.Or(true) || got.Schedule.NextRunAt.OK != got.Schedule.Active {
						t.Errorf("active = %v: Normalize = %+v, %v, want a next run only when active", active, got.Schedule, err)
					}
					continue
				}
				if CodeOf(err) != CodeSearchTooBroad || !strings.Contains(err.Error(), "brand_name") {
					t.Errorf("active = %v: error = %v, want search_too_broad with a suggestion", active, err)
				}
			}
			if _, err := (SavedSearchParams{Name: "n", Filters: &tt.filters}).Normalize(testNow); err != nil {
				t.Errorf("without a schedule: error = %v, want nil", err)
			}
		})
	}
	broad := SavedSearchParams{Filters: &SavedSearchFilters{}, Schedule: &ScheduleParams{Cadence: CadenceDaily}}
	if _, err := broad.Normalize(testNow); CodeOf(err) != CodeValidation {
		t.Errorf("broad and without a name: error = %v, want validation_error", err)
	}
}

// FuzzNormalizeSavedSearch checks that invalid input is rejected with a message, and that
// normalization is idempotent.
func FuzzNormalizeSavedSearch(f *testing.F) {
	f.Add("n", "oak", "ohio", "NY", "weekly", 1, 1.5, 2.5, "liters", "key")
	f.Add("", "\xff", "carolinian", "dc", "MONTHLY", 28, math.NaN(), -1.0, "", "")
	f.Fuzz(func(t *testing.T, name, text, state, address, cadence string, day int, low, high float64, unit, key string) {
		p := SavedSearchParams{Name: name, IdempotencyKey: key, Schedule: &ScheduleParams{Cadence: cadence, Day: Opt[int]{V: day, OK: day != 0}}, Filters: &SavedSearchFilters{
			Query: text, BrandName: text, Country: text, DerivedCategory: text, PermitNumberText: text, USState: state, ApplicantUSState: address,
			VolumeMin: Some(low), VolumeMax: Some(high), VolumeUnit: unit, ABVMin: Some(low), ABVMax: Some(high),
		}}
		s, err := p.Normalize(testNow)
		if err != nil {
			var target *Error
			if !errors.As(err, &target) || target.Message == "" || target.Code == CodeValidation && len(target.Details) == 0 {
				t.Fatalf("error without an explanation: %v", err)
			}
			return
		}
		again, err := SavedSearchParams{Name: s.Name, Filters: &s.Filters, Schedule: &ScheduleParams{
			Cadence: s.Schedule.Cadence, Day: Some(s.Schedule.Day), Active: Some(s.Schedule.Active),
		}}.Normalize(testNow)
		if diff := cmp.Diff(s, again); err != nil || diff != "" || s.Fingerprint() != again.Fingerprint() {
			t.Fatalf("second Normalize: %v (-once +twice):\n%s", err, diff)
		}
	})
}

// TestScheduleDay checks that every cadence accepts a missing day: daily ignores the day, and
// the others have a default.
func TestScheduleDay(t *testing.T) {
	for _, tt := range []struct {
		sent ScheduleParams
		want int
	}{
		{ScheduleParams{Cadence: "daily"}, 0}, {ScheduleParams{Cadence: "daily", Day: Some(0)}, 0}, {ScheduleParams{Cadence: "daily", Day: Some(31)}, 0},
		{ScheduleParams{Cadence: "weekly"}, 0}, {ScheduleParams{Cadence: "weekly", Day: Some(6)}, 6},
		{ScheduleParams{Cadence: "monthly"}, 1}, {ScheduleParams{Cadence: "monthly", Day: Some(28)}, 28},
	} {
		s, err := SavedSearchParams{Name: "n", Filters: &SavedSearchFilters{Query: "oak"}, Schedule: &tt.sent}.Normalize(testNow)
		if err != nil || s.Schedule.Day != tt.want || !s.Schedule.NextRunAt.OK {
			t.Errorf("Normalize(%+v) = %+v, %v, want day %d", tt.sent, s.Schedule, err, tt.want)
		}
	}
}

func TestQueryOfSavedFilters(t *testing.T) {
	on := Some(true)
	for _, tt := range []struct {
		name    string
		filters SavedSearchFilters
		want    Query
	}{
		{"empty", SavedSearchFilters{}, Query{}},
		{"text filters", SavedSearchFilters{
			Query:             "a",
			BrandName:         "b",
			BarcodeValue:      "c",
			PermitNumberText:  "d",
			ApplicantUSState:  "NY",
			DerivedCategory:   "Wine > e",
			ApplicationStatus: "revoked",
			Country:           "french",
		},
			Query{Text: "a", BrandName: "b", Barcode: "c", PermitPart: "d", AddressState: "NY", CategoryPath: "Wine > e", Status: "revoked", OriginNames: []string{"FRANCE"}}},
		{"types in canonical order", SavedSearchFilters{TypeDistilledSpirit: on, TypeWine: on, TypeMaltBeverage: on}, Query{ProductTypes: vocabulary.ProductTypes()}},
		{"one type", SavedSearchFilters{TypeMaltBeverage: on}, Query{ProductTypes: []string{"malt beverage"}}},
		{"roots in canonical order", SavedSearchFilters{DerivedLiquor: on, DerivedBeer: on, DerivedWine: on}, Query{Categories: vocabulary.CategoryRoots()}},
		{"containers in canonical order", SavedSearchFilters{
			ContainerBottle: on,
			ContainerCan:    on,
			ContainerKeg:    on,
			ContainerBox:    on,
			ContainerCask:   on,
			ContainerPouch:  on,
			ContainerPod:    on,
			ContainerCarton: on,
			ContainerBag:    on,
			ContainerJug:    on,
		}, Query{Containers: ContainerTypes()}},
		{"domestic", SavedSearchFilters{OriginDomestic: on}, Query{Domestic: vocabulary.Domestic}},
		{"imported", SavedSearchFilters{OriginImported: on}, Query{Domestic: vocabulary.Imported}},
		{"both origins", SavedSearchFilters{OriginDomestic: on, OriginImported: on}, Query{}},
		{"numbers", SavedSearchFilters{ABVMin: Some(1.0), ABVMax: Some(2.0), VolumeMin: Some(1.0), VolumeMax: Some(2.0), VolumeUnit: "gallons"},
			Query{ABVMin: Some(1.0), ABVMax: Some(2.0), VolumeMin: Some(3785.412), VolumeMax: Some(7570.824)}},
		{"a volume of 0", SavedSearchFilters{VolumeMin: Some(0.0), VolumeUnit: "pints"}, Query{VolumeMin: Some(0.0)}},
		{"a unit alone", SavedSearchFilters{VolumeUnit: "pints"}, Query{}},
		{"a state with two names", SavedSearchFilters{USState: "wa"}, Query{OriginNames: []string{"WASHINGTON", "WASHINGTON STATE"}}},
		{"several states", SavedSearchFilters{USState: "dakotan"}, Query{OriginNames: []string{"NORTH DAKOTA", "SOUTH DAKOTA"}}},
		{"a state in the country", SavedSearchFilters{USState: "ohio", Country: "usa"}, Query{OriginNames: []string{"OHIO"}}},
		{"a state in another country", SavedSearchFilters{USState: "ohio", Country: "france"}, Query{OriginNames: []string{}}},
		{"Georgia", SavedSearchFilters{Country: "georgia"}, Query{OriginNames: vocabulary.OriginNames("georgia")}},
		{"the state of Georgia", SavedSearchFilters{USState: "georgia"}, Query{OriginNames: vocabulary.OriginNames("GA")}},
		{"the state of Georgia, imported", SavedSearchFilters{USState: "GA", OriginImported: on}, Query{OriginNames: vocabulary.OriginNames("GA"), Domestic: vocabulary.Imported}},
	} {
		if diff := cmp.Diff(tt.want, tt.filters.AsQuery()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

// TestCountryAndState checks that if both are given, a label must match both.
func TestCountryAndState(t *testing.T) {
	for _, s := range vocabulary.States() {
		alone := SavedSearchFilters{USState: s.Code}.AsQuery().OriginNames
		if diff := cmp.Diff(vocabulary.OriginNames(s.Code), alone); diff != "" {
			t.Errorf("origins of %s (-want +got):\n%s", s.Code, diff)
		}
		same := SavedSearchFilters{USState: s.Code, Country: s.Origin}.AsQuery().OriginNames
		if diff := cmp.Diff(alone, same); diff != "" {
			t.Errorf("origins of %s with its own name as the country (-want +got):\n%s", s.Code, diff)
		}
		for _, country := range []string{"french", "narnia", "!"} {
			if got := (SavedSearchFilters{USState: s.Code, Country: country}).AsQuery().OriginNames; got == nil || len(got) > 0 {
				t.Errorf("%s in %s: origins = %v, want an empty list", s.Code, country, got)
			}
		}
	}
}
