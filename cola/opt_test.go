package cola

import (
	"encoding/json"
	"testing"
)

type optRow struct {
	N Opt[int]     `json:"n"`
	F Opt[float64] `json:"f"`
	B Opt[bool]    `json:"b"`
	T Text         `json:"t"`
}

func TestOptAndTextJSON(t *testing.T) {
	for _, tt := range []struct {
		name, in string
		want     optRow
		out      string
	}{
		{"known", `{"n":2,"f":12.5,"b":true,"t":"x"}`, optRow{Some(2), Some(12.5), Some(true), "x"}, ""},
		{"zero is known", `{"n":0,"f":0,"b":false,"t":null}`, optRow{Some(0), Some(0.0), Some(false), ""}, ""},
		{"null", `{"n":null,"f":null,"b":null,"t":null}`, optRow{}, ""},
		{"absent", `{}`, optRow{}, `{"n":null,"f":null,"b":null,"t":null}`},
		{"empty text is null", `{"n":null,"f":null,"b":null,"t":""}`, optRow{}, `{"n":null,"f":null,"b":null,"t":null}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var got optRow
			if err := json.Unmarshal([]byte(tt.in), &got); err != nil || got != tt.want {
				t.Fatalf("Unmarshal(%s) = %+v, %v, want %+v", tt.in, got, err, tt.want)
			}
			if tt.out == "" {
				tt.out = tt.in
			}
			if out, err := json.Marshal(got); err != nil || string(out) != tt.out {
				t.Errorf("Marshal(%+v) = %s, %v, want %s", got, out, err, tt.out)
			}
		})
	}
}

// TestOptEscaping checks that a value is encoded as it would be without Opt.
func TestOptEscaping(t *testing.T) {
	b, err := AppendJSON(nil, []any{Some(Text("Wine > Red & White")), Some(Text(""))})
	if want := `["Wine > Red & White",null]`; err != nil || string(b) != want {
		t.Errorf("AppendJSON = %s, %v, want %s", b, err, want)
	}
}

func TestOptInvalidTypes(t *testing.T) {
	for _, in := range []string{`{"n":"2"}`, `{"n":2.5}`, `{"f":"x"}`, `{"b":1}`, `{"t":5}`, `{"n":[1]}`} {
		r := optRow{N: Some(7), F: Some(7.0), B: Some(true), T: "kept"}
		if err := json.Unmarshal([]byte(in), &r); err == nil {
			t.Errorf("Unmarshal(%s) = %+v, want an error", in, r)
		}
	}
}

func TestOptNull(t *testing.T) {
	r := optRow{N: Some(7), F: Some(7.0), B: Some(true), T: "old"}
	if err := json.Unmarshal([]byte(`{"n":null,"f":null,"b":null,"t":null}`), &r); err != nil || r != (optRow{}) {
		t.Errorf("Unmarshal(null) = %+v, %v, want no values", r, err)
	}
}

func TestOptOr(t *testing.T) {
	if got := (Opt[int]{}).Or(20); got != 20 {
		t.Errorf("Opt{}.Or(20) = %d", got)
	}
	if got := Some(0).Or(20); got != 0 {
		t.Errorf("Some(0).Or(20) = %d, want 0", got)
	}
}
