package cola

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestBrandParams(t *testing.T) {
	for name, tt := range map[string]struct {
		params BrandParams
		want   BrandSearch
	}{
		"defaults": {
			BrandParams{Q: " Ravin & Oak "},
			BrandSearch{Name: "Ravin & Oak", MinScore: 50, Page: 1, PerPage: 20},
		},
		"everything": {
			BrandParams{
				Q: "漢", ProductType: []string{"Distilled Spirits", "wine", "wine"}, Strategies: []string{"CONTAINS", "exact", ""},
				MinScore: Some(1), Page: Some(1000), PerPage: Some(100),
			},
			BrandSearch{
				Name: "漢", ProductTypes: []string{"wine", "distilled spirits"}, Similarities: []string{"exact", "contains"},
				MinScore: 1, Page: 1000, PerPage: 100,
			},
		},
		"longest": {
			BrandParams{Q: strings.Repeat("é", 100)},
			BrandSearch{Name: strings.Repeat("é", 100), MinScore: 50, Page: 1, PerPage: 20},
		},
	} {
		got, err := tt.params.Normalize()
		if diff := cmp.Diff(tt.want, got); err != nil || diff != "" {
			t.Errorf("%s: %v (-want +got):\n%s", name, err, diff)
		}
	}
}

func TestBrandParamProblems(t *testing.T) {
	for name, tt := range map[string]struct {
		params BrandParams
		want   []string // parameters with problems
	}{
		"no name":         {BrandParams{}, []string{"q"}},
		"blank name":      {BrandParams{Q: " \u00a0"}, []string{"q"}},
		"no letters":      {BrandParams{Q: "+++ !"}, []string{"q"}},
		"too long":        {BrandParams{Q: strings.Repeat("a", 101)}, []string{"q"}},
		"control":         {BrandParams{Q: "a\x00b"}, []string{"q"}},
		"invalid UTF-8":   {BrandParams{Q: "a\xff"}, []string{"q"}},
		"unknown values":  {BrandParams{Q: "a", ProductType: []string{"beer"}, Strategies: []string{"sounds"}}, []string{"product_type", "strategies"}},
		"out of bounds":   {BrandParams{Q: "a", MinScore: Some(0), Page: Some(0), PerPage: Some(101)}, []string{"min_score", "page", "per_page"}},
		"above 100":       {BrandParams{Q: "a", MinScore: Some(101)}, []string{"min_score"}},
		"decoding failed": {BrandParams{Decoded: Decoded{Problems: Problems{"x": {"Unknown."}}}}, []string{"q", "x"}},
	} {
		got, err := tt.params.Normalize()
		var problem *Error
		if !errors.As(err, &problem) || problem.Code != CodeValidation || !cmp.Equal(got, BrandSearch{}) {
			t.Errorf("%s: %+v, %v", name, got, err)
			continue
		}
		if diff := cmp.Diff(tt.want, slices.Sorted(maps.Keys(problem.Details))); diff != "" {
			t.Errorf("%s: parameters (-want +got):\n%s", name, diff)
		}
		for parameter, messages := range problem.Details {
			if n := len(messages.([]string)); n != 1 {
				t.Errorf("%s: %s has %d problems: %v", name, parameter, n, messages)
			}
		}
	}
}

// TestQuoteBrand checks that WholeBrand reverses QuoteBrand.
func TestQuoteBrand(t *testing.T) {
	for brand, accepted := range map[string]bool{
		"RAVEN & OAK": true, `"Q"`: true, "“É”": true, strings.Repeat("é", 198): true,
		strings.Repeat("é", 199): false, "A\nB": false,
	} {
		value, ok := QuoteBrand(brand)
		if got, whole := WholeBrand(" " + value); ok != accepted || !whole || got != brand {
			t.Errorf("%q: quoted %q, %t; read %q, %t", brand, value, ok, got, whole)
		}
	}
	for _, part := range []string{"", `"`, `"oak`, "oak”", `x "oak"`} {
		if brand, ok := WholeBrand(part); ok {
			t.Errorf("WholeBrand(%q) = %q, want ok = false", part, brand)
		}
	}
}

// TestDescribe checks the phrases for words, for part of a brand name, and for quoted text, which
// isn't quoted twice.
func TestDescribe(t *testing.T) {
	for _, tt := range []struct{ param, value, want string }{
		{"q", "oak", "“oak”"}, {"q", `"raven & oak"`, `"raven & oak"`}, {"q", "“raven”", "“raven”"}, {"q", `"raven" oak`, `“"raven" oak”`},
		{"brand_name", "oak", "brand contains “oak”"}, {"brand_name", `"RAVEN & OAK"`, "brand is “RAVEN & OAK”"},
	} {
		f, _ := FilterOf(tt.param)
		if got := f.Describe(tt.value); got != tt.want {
			t.Errorf("%s: Describe(%s) = %s, want %s", tt.param, tt.value, got, tt.want)
		}
	}
}
