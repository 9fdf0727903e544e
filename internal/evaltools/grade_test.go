package main

import (
	"reflect"
	"testing"
)

func TestSays(t *testing.T) {
	for _, c := range []struct {
		answer, text string
		want         bool
	}{
		{"In 2025 there were **1,234** labels.", "1234", true},
		{"In 2025 there were 12345 labels.", "1234", false},
		{"161,659,020 barrels", "161659020", true},
		{"It has 13.20% alcohol.", "13.2", true},
		{"It has 13.25% alcohol.", "13.2", false},
		{"About 21, no more.", "21", true},
		{"TTB ID 05049001000005.", "05049001000005", true},
		{"TTB ID 5049001000005.", "05049001000005", false},
		{"Approved on November 4, 2026.", "2026-11-04", true},
		{"Approved on 2026-11-04.", "2026-11-04", true},
		{"Approved on Nov 4, 2026.", "2026-11-04", true},
		{"Approved on November 14, 2026.", "2026-11-04", false},
		{"| Raven and Oak|111 |", "RAVEN & OAK", true},
		{"Domaine des Cypres", "DOMAINE DES CYPRÈS", true},
		{"Hargrove’s Brewing", "HARGROVE'S BREWING", true},
		{"permit il-i-20664", "IL-I-20664", true},
		{"permit IL-I-206640", "IL-I-20664", false},
		{"", "RAVEN & OAK", false},
	} {
		if got := says(c.answer, c.text); got != c.want {
			t.Errorf("says(%q, %q) = %t, want %t", c.answer, c.text, got, c.want)
		}
	}
}

func TestMissing(t *testing.T) {
	r := request{facts: []fact{
		is("1/a", 5), is("1/b", "Oak").unsaid(), is("1/c", 0).saying("free", "available"), derived(7), lists("1/d", []int{9}),
	}}
	for answer, want := range map[string][]string{
		"":                   {"5", "free or available", "7"},
		"5 and 7, so free.":  nil,
		"It is available; 5": {"7"},
	} {
		if got := r.missing(answer); !reflect.DeepEqual(got, want) {
			t.Errorf("missing(%q) = %q, want %q", answer, got, want)
		}
	}
}
