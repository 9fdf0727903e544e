package cola

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestDateMatchesTime(t *testing.T) {
	day := time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC)
	for d := Date(1); d <= maxDate; d++ {
		if got, want := d.String(), day.Format(time.DateOnly); got != want {
			t.Fatalf("Date(%d) = %s, want %s", d, got, want)
		}
		if d%97 == 0 {
			if got := DateOf(day); got != d {
				t.Fatalf("DateOf(%v) = %d, want %d", day, got, d)
			}
			if got := d.Time(); !got.Equal(day) {
				t.Fatalf("(%d).Time() = %v, want %v", d, got, day)
			}
		}
		day = day.AddDate(0, 0, 1)
	}
}

func TestDateOfUTC(t *testing.T) {
	tokyo := time.FixedZone("UTC+9", 9*3600)
	for _, tt := range []struct {
		at   time.Time
		want string
	}{
		{time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC), "2026-11-20"},
		{time.Date(2026, 11, 20, 23, 59, 59, 999_999_999, time.UTC), "2026-11-20"},
		{time.Date(2026, 11, 20, 8, 59, 59, 0, tokyo), "2026-11-19"},
		{time.Date(1969, 12, 31, 23, 59, 59, 0, time.UTC), "1969-12-31"},
		{time.Date(1970, 1, 1, 0, 0, 0, 0, time.UTC), "1970-01-01"},
		{time.Date(1899, 2, 28, 12, 0, 0, 0, time.UTC), "1899-02-28"},
	} {
		if got := DateOf(tt.at).String(); got != tt.want {
			t.Errorf("DateOf(%v) = %s, want %s", tt.at, got, tt.want)
		}
	}
}

func TestParseDate(t *testing.T) {
	for _, good := range []string{"0001-01-01", "1970-01-01", "2000-02-29", "2024-02-29", "2026-11-20", "9999-12-31"} {
		d, err := ParseDate(good)
		if err != nil || d.String() != good {
			t.Errorf("ParseDate(%q) = %s, %v", good, d, err)
		}
	}
	for _, bad := range []string{
		"", " ", "2024", "2024-5-31", "2024-05-32", "2023-02-29", "1900-02-29", "2024-13-01", "2024-00-10", "2024-01-00", "0000-01-01",
		"2024/05/31", "31-05-2024", "05/31/2024", "2024-05-31T00:00:00Z", " 2024-05-31", "20240531xx", "-024-05-31", "２０24-05-31",
	} {
		if d, err := ParseDate(bad); err == nil {
			t.Errorf("ParseDate(%q) = %s, want an error", bad, d)
		} else if !strings.Contains(err.Error(), "YYYY-MM-DD") {
			t.Errorf("ParseDate(%q): error %q does not contain the format", bad, err)
		}
	}
}

func FuzzParseDate(f *testing.F) {
	f.Add("2024-05-31")
	f.Add("0000-00-00")
	f.Add("2023-02-29")
	f.Fuzz(func(t *testing.T, s string) {
		d, err := ParseDate(s)
		if err != nil {
			return
		}
		if d.String() != s {
			t.Fatalf("ParseDate(%q) = %s", s, d)
		}
		if d < 1 || d > maxDate {
			t.Fatalf("ParseDate(%q) = day %d, out of range", s, d)
		}
	})
}

func TestDateJSON(t *testing.T) {
	type row struct {
		D Date `json:"d"`
	}
	for _, tt := range []struct {
		in   string
		want Date
		out  string
	}{
		{`{"d":"2011-03-18"}`, NewDate(2011, 3, 18), `{"d":"2011-03-18"}`},
		{`{"d":""}`, 0, `{"d":null}`},
		{`{}`, 0, `{"d":null}`},
		{`{"d":null}`, 0, `{"d":null}`},
	} {
		var r row
		if err := json.Unmarshal([]byte(tt.in), &r); err != nil || r.D != tt.want {
			t.Errorf("Unmarshal(%s) = %s, %v, want %s", tt.in, r.D, err, tt.want)
		}
		if out, err := json.Marshal(r); err != nil || string(out) != tt.out {
			t.Errorf("Marshal(%s) = %s, %v, want %s", tt.in, out, err, tt.out)
		}
	}
	var r row
	if err := json.Unmarshal([]byte(`{"d":"18.3.2011"}`), &r); err == nil {
		t.Errorf("Unmarshal(18.3.2011) = %s, want an error", r.D)
	}
}

func TestDateArithmetic(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := Date(rapid.Int32Range(1, int32(maxDate)-4000).Draw(t, "day"))
		n := rapid.IntRange(0, 4000).Draw(t, "days")
		if got := d.AddDays(n).Time(); !got.Equal(d.Time().AddDate(0, 0, n)) {
			t.Fatalf("%s.AddDays(%d) = %s", d, n, got)
		}
		year, month, day := d.Time().Date()
		if got := NewDate(year, month, day); got != d {
			t.Fatalf("NewDate(%d, %d, %d) = %s, want %s", year, month, day, got, d)
		}
	})
	if got := NewDate(2023, 2, 29); got != NewDate(2023, 3, 1) {
		t.Errorf("NewDate(2023, 2, 29) = %s, want 2023-03-01", got)
	}
	if got := Date(0).String(); got != "" {
		t.Errorf("Date(0).String() = %q, want an empty string", got)
	}
}
