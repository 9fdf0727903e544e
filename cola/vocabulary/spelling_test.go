package vocabulary

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestNearest(t *testing.T) {
	parameters := []string{
		"q", "product_type", "category", "derived_subcategory", "origin", "status", "brand_name", "permit_number", "approval_date_from",
		"approval_date_to", "abv_min", "abv_max", "volume_unit", "volume_min", "volume_max", "page", "per_page", "cursor",
	}
	for _, tt := range []struct {
		word    string
		allowed []string
		want    string
	}{
		{"aproved", Statuses(), "approved"},
		{"APPROVED", Statuses(), "approved"},
		{"exipred", Statuses(), "expired"}, // a transposition is one edit
		{"surender", Statuses(), "surrendered"},
		{"malt", ProductTypes(), "malt beverage"},
		{"spirits", ProductTypes(), "distilled spirits"},
		{"wines", ProductTypes(), "wine"},
		{"barrels", VolumeUnits(), "beer barrels"},
		{"liter", VolumeUnits(), "liters"},
		{"litres", VolumeUnits(), "liters"},
		{"ounces", VolumeUnits(), "fluid ounces"},
		{"voulme_min", parameters, "volume_min"},
		{"perPage", parameters, "per_page"},
		{"date_from", parameters, "approval_date_from"},
		{"brand", parameters, "brand_name"},
		{"Q", parameters, "q"},
		{"ap", Statuses(), "approved"},
		{"xyz", Statuses(), ""},
		{"a", Statuses(), ""},
		{"", Statuses(), ""},
		{"  ", Statuses(), ""},
		{"approved", nil, ""},
		{strings.Repeat("approved", 100), Statuses(), ""},
	} {
		got, ok := Nearest(tt.word, tt.allowed)
		if got != tt.want || ok != (tt.want != "") {
			t.Errorf("Nearest(%q) = %q, %t; want %q", tt.word, got, ok, tt.want)
		}
	}
}

func TestNearestTie(t *testing.T) {
	if got, _ := Nearest("abv_m", []string{"abv_max", "abv_min"}); got != "abv_max" {
		t.Errorf("Nearest = %q, want the first", got)
	}
	if got, _ := Nearest("abv_m", []string{"abv_min", "abv_max"}); got != "abv_min" {
		t.Errorf("Nearest = %q, want the first", got)
	}
}

func TestEditDistance(t *testing.T) {
	for _, tt := range []struct {
		a, b string
		want int
	}{
		{"", "", 0}, {"", "abc", 3}, {"abc", "abc", 0}, {"abc", "acb", 1}, {"abc", "axc", 1}, {"abc", "ab", 1}, {"abc", "abcd", 1},
		{"kitten", "sitting", 3}, {"ca", "abc", 3}, // each position is edited at most once
	} {
		if got := EditDistance([]rune(tt.a), []rune(tt.b), 10); got != tt.want {
			t.Errorf("EditDistance(%q, %q) = %d, want %d", tt.a, tt.b, got, tt.want)
		}
	}
}

func TestNearestOneTypo(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		allowed := VolumeUnits()
		want := rapid.SampledFrom(allowed).Draw(t, "unit")
		r := []rune(want)
		at := rapid.IntRange(0, len(r)-2).Draw(t, "at")
		switch rapid.SampledFrom([]string{"drop", "swap", "replace", "insert"}).Draw(t, "typo") {
		case "drop":
			r = append(r[:at:at], r[at+1:]...)
		case "swap":
			r[at], r[at+1] = r[at+1], r[at]
		case "replace":
			r[at] = 'x'
		case "insert":
			r = append(r[:at:at], append([]rune{'x'}, r[at:]...)...)
		}
		if got, ok := Nearest(string(r), allowed); !ok || got != want {
			t.Fatalf("Nearest(%q) = %q, %t; want %q", string(r), got, ok, want)
		}
	})
}

func TestNearestSpelling(t *testing.T) {
	places := []string{"austria", "australia", "canada", "french", "georgia", "malta", "oregon", "zambia"}
	for word, want := range map[string]string{
		"austrai": "austria", "orgeon": "oregon", "Frnech": "french", "CANDA": "canada", "gerogia": "georgia", "austrlaia": "australia",
		"ca": "", "can": "", "gambia": "", "mars": "", "mali": "", "atlantis": "", "": "", "x": "", "oreg": "",
	} {
		got, ok := NearestSpelling(word, places)
		if got != want || ok != (want != "") {
			t.Errorf("NearestSpelling(%q) = %q, %t; want %q", word, got, ok, want)
		}
	}
}
