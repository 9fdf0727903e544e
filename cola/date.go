package cola

import (
	"fmt"
	"time"
)

// Date is a calendar day, counted as in Rata Die: 0001-01-01 is day 1. The zero Date is no date (unknown, JSON null). Dates
// compare and subtract as integers.
type Date int32

const unixEpoch Date = 719163 // 1970-01-01

// NewDate returns the day of a year, month and day of the month; values out of range carry over as in time.Date.
func NewDate(year int, month time.Month, day int) Date {
	return DateOf(time.Date(year, month, day, 0, 0, 0, 0, time.UTC))
}

// DateOf returns the UTC day of an instant.
func DateOf(t time.Time) Date {
	s := t.Unix()
	days := s / 86400
	if s%86400 < 0 {
		days--
	}
	return Date(days) + unixEpoch
}

// ParseDate reads YYYY-MM-DD with a year from 0001 to 9999.
func ParseDate(s string) (Date, error) {
	if len(s) != len("2006-01-02") {
		return 0, fmt.Errorf("%q is not a date; write YYYY-MM-DD, such as 2024-05-31", s)
	}
	t, err := time.Parse(time.DateOnly, s)
	if err != nil || t.Year() == 0 {
		return 0, fmt.Errorf("%q is not a date; write YYYY-MM-DD, such as 2024-05-31", s)
	}
	return DateOf(t), nil
}

// Time returns midnight UTC at the start of the day.
func (d Date) Time() time.Time { return time.Unix(int64(d-unixEpoch)*86400, 0).UTC() }

// AddDays returns the day n days later.
func (d Date) AddDays(n int) Date { return d + Date(n) }

// String returns YYYY-MM-DD, or the empty string for no date.
func (d Date) String() string {
	if d == 0 {
		return ""
	}
	return d.Time().Format(time.DateOnly)
}

// AppendTo appends YYYY-MM-DD to b; d must not be zero.
func (d Date) AppendTo(b []byte) []byte { return d.Time().AppendFormat(b, time.DateOnly) }

// MarshalJSON writes "YYYY-MM-DD", or null for no date.
func (d Date) MarshalJSON() ([]byte, error) {
	if d == 0 {
		return []byte("null"), nil
	}
	return []byte(`"` + d.String() + `"`), nil
}

// UnmarshalText reads YYYY-MM-DD; an empty text is no date.
func (d *Date) UnmarshalText(b []byte) error {
	if len(b) == 0 {
		*d = 0
		return nil
	}
	v, err := ParseDate(string(b))
	if err != nil {
		return err
	}
	*d = v
	return nil
}
