package strictjson

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
)

func TestBounded(t *testing.T) {
	tests := map[string]struct{ depth, values int }{ // minimum limits that pass
		`1`: {0, 0}, `"[[[,,"`: {0, 0}, `"\"[["`: {0, 0}, `"\\"`: {0, 0}, `"`: {0, 0}, `"\`: {0, 0},
		`[]`: {1, 1}, `[1]`: {1, 1}, `[1,2,3]`: {1, 3}, `["\\",[]]`: {2, 3}, `[[],[]]`: {2, 4},
		`{"a":[{}]}`: {3, 3}, `{"a":1,"b":{"c,d":[1,2]}}`: {3, 5},
	}
	for text, least := range tests {
		if err := Bounded([]byte(text), least.depth, least.values); err != nil {
			t.Errorf("Bounded(%s) = %v with depth %d and %d values", text, err, least.depth, least.values)
		}
		if err := Bounded([]byte(text), least.depth-1, least.values); least.depth > 0 && !errors.Is(err, ErrDepth) {
			t.Errorf("Bounded(%s) with depth %d = %v, want ErrDepth", text, least.depth-1, err)
		}
		if err := Bounded([]byte(text), least.depth, least.values-1); least.values > 0 && !errors.Is(err, ErrValues) {
			t.Errorf("Bounded(%s) with %d values = %v, want ErrValues", text, least.values-1, err)
		}
	}
}

// size returns the depth of a decoded value and its number of members and elements, counting each
// empty object or array as one more.
func size(v any) (depth, values int) {
	var inside []any
	switch v := v.(type) {
	case map[string]any:
		for _, e := range v {
			inside = append(inside, e)
		}
	case []any:
		inside = v
	default:
		return 0, 0
	}
	values = max(len(inside), 1)
	for _, e := range inside {
		d, n := size(e)
		depth, values = max(depth, d), values+n
	}
	return depth + 1, values
}

// hasDuplicates reports whether an object in a valid JSON value has two members with the same name.
func hasDuplicates(value json.RawMessage) bool {
	switch value[0] {
	case '{':
		all, ambiguity := Unambiguous(value, nil)
		return ambiguity != nil || slices.ContainsFunc(all, func(m Member) bool { return hasDuplicates(m.Value) })
	case '[':
		return slices.ContainsFunc(Elements(value), hasDuplicates)
	}
	return false
}

// FuzzBounded checks that Bounded agrees with a full decoder on depth and number of values.
func FuzzBounded(f *testing.F) {
	for _, seed := range []string{
		`{"a":{"b":[[]],"b":1}}`, `[{"a":[[]],"a":1}]`, ` {"a":[[]],"a":1}`, `{"a":1,"b":{"c":[2,[]]}}`, `["\\\"[",{}]`, `[[[1]],2]`, `{"":""}`, `"\u0022,["`, `[1,`, `,,`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var v any
		if Bounded(b, 100, 10_000) != nil || json.Unmarshal(b, &v) != nil {
			return
		}
		if hasDuplicates(bytes.TrimSpace(b)) {
			return // the decoder drops duplicates
		}
		depth, values := size(v)
		if err := Bounded(b, depth, 10_000); err != nil {
			t.Errorf("Bounded(%q) with depth %d = %v", b, depth, err)
		}
		if err := Bounded(b, 100, values-1); values > 0 && !errors.Is(err, ErrValues) {
			t.Errorf("Bounded(%q) with fewer than %d values = %v, want ErrValues", b, values, err)
		}
	})
}

// BenchmarkBounded measures hostile 1 MiB documents: some that are rejected early, and two that are
// one long string.
func BenchmarkBounded(b *testing.B) {
	const size = 1 << 20
	for name, text := range map[string]string{
		"members": `{"a":` + strings.Repeat(`{"a":1},"a":`, size/12) + `1}`,
		"depth":   strings.Repeat("[", size),
		"string":  `{"a":"` + strings.Repeat("x", size) + `"}`,
		"escapes": `{"a":"` + strings.Repeat(`\n`, size/2) + `"}`,
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			document := []byte(text)
			for b.Loop() {
				_ = Bounded(document, 32, MaxValues)
			}
		})
	}
}
