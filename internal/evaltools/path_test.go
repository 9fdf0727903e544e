package main

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/colaregistry/colaregistry/cola"
)

func TestLookUp(t *testing.T) {
	const text = `{"data":[{"year":"2025","n":2},{"year":null,"n":3},{"year":7,"n":4.5}],"a":{"b c":true}}`
	var value any
	if err := json.Unmarshal([]byte(text), &value); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]any{
		"data/0/n": 2.0, "data/year=2025/n": 2.0, "data/year=<nil>/n": 3.0, "data/year=7/n": 4.5, "data/n=2;year=2025/n": 2.0,
		"a/b c":    true,
		"data/*/n": []any{2.0, 3.0, 4.5}, "": value,
	} {
		if got, err := lookUp(value, path); err != nil || !cmp.Equal(got, want) {
			t.Errorf("lookUp(%q) = %v, %v; want %v", path, got, err, want)
		}
	}
	for _, path := range []string{
		"b", "data/3", "data/-1", "data/x", "data/year=2024", "data/n=3;year=2025", "data/0/n/x", "data/*/x", "a/*",
	} {
		if got, err := lookUp(value, path); err == nil {
			t.Errorf("lookUp(%q) = %v, want an error", path, got)
		}
	}
}

func TestTextOf(t *testing.T) {
	for want, v := range map[string]any{
		"26009001000010": cola.TTBID(26_009_001_000_010), "2026-11-20": records.AsOf, "13.2": cola.Some(13.2), "true": true,
		"161659020": 161_659_020.0,
	} {
		if got, err := textOf(v); err != nil || got != want {
			t.Errorf("textOf(%v) = %q, %v; want %q", v, got, err, want)
		}
	}
	if got, err := textOf([]int{1}); err == nil {
		t.Errorf("text of a list: %q", got)
	}
}
