package cola

import (
	"maps"
	"slices"
	"strings"
	"testing"
)

func TestNormalizeSuggest(t *testing.T) {
	p := SuggestParams{Field: " BRAND ", Q: "  hawk ", Limit: Some(25)}
	if got, err := p.Normalize(); err != nil || got != (SuggestSearch{Field: "brand", Q: "hawk", Limit: 25}) {
		t.Errorf("Normalize = %+v, %v", got, err)
	}
	p = SuggestParams{Field: "category", Q: "  "}
	if got, err := p.Normalize(); err != nil || got != (SuggestSearch{Field: "category", Limit: 10}) {
		t.Errorf("Normalize without text = %+v, %v, want the most frequent values", got, err)
	}
}

func TestNormalizeInvalidSuggest(t *testing.T) {
	var decoded Decoded
	decoded.Problems.Add("lmit", "Unknown parameter.")
	for want, p := range map[string]SuggestParams{
		"field":        {Q: "oak"},
		"q":            {Field: "company", Q: "&"},
		"limit,q":      {Field: "class", Q: "&&&", Limit: Some(0)},
		"field,limit":  {Field: "vintage", Limit: Some(26)},
		"limit,lmit,q": {Decoded: decoded, Field: "appellation", Limit: Some(0)},
	} {
		_, err := p.Normalize()
		if got := strings.Join(slices.Sorted(maps.Keys(details(err))), ","); got != want || CodeOf(err) != CodeValidation {
			t.Errorf("Normalize(%+v): problems with %s, want %s: %v", p, got, want, err)
		}
	}
	for _, field := range SuggestFields() {
		if _, err := (SuggestParams{Field: field, Q: "ö"}).Normalize(); err != nil {
			t.Errorf("field %s: error = %v", field, err)
		}
	}
}
