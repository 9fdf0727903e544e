package auth

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestClaimTypes checks that a claim of the wrong type, including null, is an error and is never
// treated as empty.
func TestClaimTypes(t *testing.T) {
	tests := []struct {
		value string // the claim is missing if empty
		text  any    // nil if an error is expected; likewise in texts and time
		texts any
		time  any // milliseconds
	}{
		{"", "", []string(nil), int64(0)},
		{`"a b"`, "a b", []string{"a b"}, nil},
		{`""`, "", []string{""}, nil},
		{`["a","b"]`, nil, []string{"a", "b"}, nil},
		{`[]`, nil, []string(nil), nil},
		{`["a",null]`, nil, nil, nil},
		{`["a",["b"]]`, nil, nil, nil},
		{`null`, nil, nil, nil},
		{`true`, nil, nil, nil},
		{`{}`, nil, nil, nil},
		{`1800000000`, nil, nil, int64(1800000000000)},
		{`1.8e9`, nil, nil, int64(1800000000000)},
		{`1800000000.25`, nil, nil, int64(1800000000250)},
		{`0`, nil, nil, int64(0)},
		{`-0.5`, nil, nil, nil},
		{`1e999`, nil, nil, nil},
	}
	for _, tt := range tests {
		t.Run(tt.value, func(t *testing.T) {
			data := `{}`
			if tt.value != "" {
				data = `{"A": "other", "a" : ` + tt.value + ` }`
			}
			o, err := parseClaims([]byte(data))
			if err != nil {
				t.Fatal(err)
			}
			var got [3]any
			if s, err := o.text("a"); err == nil {
				got[0] = s
			}
			if list, err := o.texts("a"); err == nil {
				got[1] = list
			}
			if at, ok, err := o.timestamp("a"); err == nil {
				got[2] = int64(0)
				if ok {
					got[2] = at.UnixMilli()
				}
			}
			if diff := cmp.Diff([3]any{tt.text, tt.texts, tt.time}, got); diff != "" {
				t.Errorf("text, texts, time (-want +got):\n%s", diff)
			}
		})
	}
}
