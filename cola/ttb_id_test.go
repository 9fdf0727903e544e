package cola

import (
	"encoding/json"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestParseTTBID(t *testing.T) {
	for _, tt := range []struct {
		in   string
		want TTBID
		ok   bool
	}{
		{"11054001000049", 11054001000049, true},
		{"06090001000048", 6090001000048, true},
		{"99999999999999", 99999999999999, true},
		{"00000000000001", 1, true},
		{"00000000000000", 0, false}, // zero is invalid
		{"", 0, false},
		{"1105400100004", 0, false},
		{"110540010000490", 0, false},
		{"1105400100004a", 0, false},
		{" 1054001000049", 0, false},
		{"+1054001000049", 0, false},
		{"-1054001000049", 0, false},
		{"1105400100004\x00", 0, false},
		{"１1054001000", 0, false},
	} {
		if got, ok := ParseTTBID(tt.in); got != tt.want || ok != tt.ok {
			t.Errorf("ParseTTBID(%q) = %d, %t; want %d, %t", tt.in, got, ok, tt.want, tt.ok)
		}
	}
}

func FuzzParseTTBID(f *testing.F) {
	f.Add("11054001000049")
	f.Add("00000000000000")
	f.Add("1105400100004 ")
	f.Fuzz(func(t *testing.T, s string) {
		id, ok := ParseTTBID(s)
		if ok != (id != 0) {
			t.Fatalf("ParseTTBID(%q) = %d, %t", s, id, ok)
		}
		if ok && (id.String() != s || id > maxTTBID) {
			t.Fatalf("ParseTTBID(%q) = %s", s, id)
		}
	})
}

func TestTTBIDRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		id := TTBID(rapid.Uint64Range(1, maxTTBID).Draw(t, "id"))
		if got, ok := ParseTTBID(id.String()); !ok || got != id {
			t.Fatalf("ID %d: ParseTTBID(%q) = %d, %t", id, id, got, ok)
		}
		b, err := json.Marshal(id)
		if err != nil {
			t.Fatal(err)
		}
		var back TTBID
		if err := json.Unmarshal(b, &back); err != nil || back != id {
			t.Fatalf("Unmarshal(%s) = %d, %v", b, back, err)
		}
	})
}

func TestZeroTTBID(t *testing.T) {
	if s := TTBID(0).String(); s != "" {
		t.Errorf("TTBID(0).String() = %q, want an empty string", s)
	}
	if b, err := json.Marshal(TTBID(0)); err != nil || string(b) != "null" {
		t.Errorf("Marshal(TTBID(0)) = %s, %v, want null", b, err)
	}
	for _, in := range []string{`null`, `""`} {
		id := TTBID(0)
		if err := json.Unmarshal([]byte(in), &id); err != nil || id != 0 {
			t.Errorf("Unmarshal(%s) = %d, %v, want 0", in, id, err)
		}
	}
	var id TTBID
	if err := json.Unmarshal([]byte(`"123"`), &id); err == nil || !strings.Contains(err.Error(), "14 digits") {
		t.Errorf(`Unmarshal("123") = %d, %v, want an error about 14 digits`, id, err)
	}
}
