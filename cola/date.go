package cola

import (
	"fmt"
	"time"
)

// Date is a calendar day, counted as in Rata Die: 0001-01-01 is day 1. The zero Date is unknown
// (JSON null). Dates compare and subtract as integers.
type Date int32

const (
	unixEpoch Date = 719163  // 1970-01-01
	maxDate   Date = 3652059 // 9999-12-31
)

// NewDate returns the date for a year, month and day; values out of range carry over as in
// time.Date.
func NewDate(year int, month time.Month, day int) Date {
	return DateOf(time.Date(year, month, day, 0, 0, 0, 0, time.UTC))
}

// DateOf returns the UTC date of a time.
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
		return 0, fmt.Errorf("%q is not a date; use YYYY-MM-DD, such as 2024-05-31", s)
	}
	t, err := time.Parse(time.DateOnly, s)
	if err != nil || t.Year() == 0 {
		return 0, fmt.Errorf("%q is not a date; use YYYY-MM-DD, such as 2024-05-31", s)
	}
	return DateOf(t), nil
}

// Time returns midnight UTC at the start of the day.
func (d Date) Time() time.Time { return time.Unix(int64(d-unixEpoch)*86400, 0).UTC() }

// AddDays returns the day n days later.
func (d Date) AddDays(n int) Date { return d + Date(n) }

// String returns YYYY-MM-DD, or "" for the zero Date.
func (d Date) String() string {
	if d == 0 {
		return ""
	}
	return string(d.AppendTo(make([]byte, 0, len(time.DateOnly))))
}

// AppendTo appends YYYY-MM-DD to b; d must not be zero.
func (d Date) AppendTo(b []byte) []byte {
	if d < 1 || d > maxDate {
		return d.Time().AppendFormat(b, time.DateOnly)
	}
	year, month, day := d.civil()
	return append(b,
		byte('0'+year/1000), byte('0'+year/100%10), byte('0'+year/10%10), byte('0'+year%10), '-',
		byte('0'+month/10), byte('0'+month%10), '-', byte('0'+day/10), byte('0'+day%10))
}

// civil returns the year, month and day of a positive Date. It avoids time.Time, whose clock and
// zone arithmetic accounted for most of the time spent writing a page of results. Years start in
// March here, so the leap day is the last day of the year.
func (d Date) civil() (year, month, day int) {
	const daysIn400Years, daysIn100Years, daysIn4Years = 146097, 36524, 1461
	n := int(d) + 305 // days since 0000-03-01
	era, n := n/daysIn400Years, n%daysIn400Years
	century := min(n/daysIn100Years, 3)
	n -= century * daysIn100Years
	quad, n := n/daysIn4Years, n%daysIn4Years
	y := min(n/365, 3)
	n -= y * 365
	month = (5*n + 2) / 153 // March is 0
	day = n - (153*month+2)/5 + 1
	year = era*400 + century*100 + quad*4 + y
	if month >= 10 {
		return year + 1, month - 9, day
	}
	return year, month + 3, day
}

// MarshalJSON writes "YYYY-MM-DD", or null for the zero Date.
func (d Date) MarshalJSON() ([]byte, error) {
	if d == 0 {
		return []byte("null"), nil
	}
	return d.appendJSON(make([]byte, 0, len(time.DateOnly)+2)), nil
}

// UnmarshalText reads YYYY-MM-DD; empty text is the zero Date.
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
