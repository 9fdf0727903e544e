package cola

import (
	"fmt"
)

// TTBID identifies a COLA: 14 digits that start with the receipt date (YYDDD). The zero TTBID
// means unknown.
type TTBID uint64

const (
	ttbIDDigits = 14
	maxTTBID    = 99_999_999_999_999
)

// ParseTTBID reads exactly 14 ASCII digits; ok is false for anything else and for 14 zeros.
func ParseTTBID(s string) (id TTBID, ok bool) {
	if len(s) != ttbIDDigits {
		return 0, false
	}
	for i := range len(s) {
		c := s[i]
		if c < '0' || c > '9' {
			return 0, false
		}
		id = id*10 + TTBID(c-'0')
	}
	return id, id != 0
}

// String returns the 14 digits, or "" for the zero TTBID.
func (id TTBID) String() string {
	if id == 0 {
		return ""
	}
	return string(id.AppendTo(make([]byte, 0, ttbIDDigits)))
}

// PageURL returns the address of the label's page in TTB's public registry.
func (id TTBID) PageURL() string {
	return "https://ttbonline.gov/colasonline/viewColaDetails.do?action=publicDisplaySearchBasic&ttbid=" + id.String()
}

// AppendTo appends the 14 digits to b.
func (id TTBID) AppendTo(b []byte) []byte {
	var d [ttbIDDigits]byte
	for i := len(d) - 1; i >= 0; i-- {
		d[i] = byte('0' + id%10)
		id /= 10
	}
	return append(b, d[:]...)
}

// MarshalJSON writes the 14 digits as a string, or null.
func (id TTBID) MarshalJSON() ([]byte, error) {
	if id == 0 {
		return []byte("null"), nil
	}
	b := append(make([]byte, 0, ttbIDDigits+2), '"')
	return append(id.AppendTo(b), '"'), nil
}

// UnmarshalText reads 14 digits; empty text means unknown.
func (id *TTBID) UnmarshalText(b []byte) error {
	if len(b) == 0 {
		*id = 0
		return nil
	}
	v, ok := ParseTTBID(string(b))
	if !ok {
		return fmt.Errorf("%q is not a TTB ID; use 14 digits, such as 11054001000049", b)
	}
	*id = v
	return nil
}
