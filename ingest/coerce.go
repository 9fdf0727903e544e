package ingest

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/cola/vocabulary"
)

// textForm says where a text comes from, which decides what may be read into it.
type textForm struct {
	lists string // what may separate the values of a list, first choice first; empty is a comma
	prose bool   // a long text, whose line breaks stay
	zip   bool   // a ZIP code, whose leading zeros a number or a spreadsheet drops
}

// setText reads a text into a field. An empty one clears it.
func setText(field any, s string, form textForm) error {
	if form.prose {
		s = strings.TrimSpace(s)
	} else {
		s = settle(s)
	}
	if s == "" {
		return setNull(field)
	}
	switch f := field.(type) {
	case *cola.Text:
		*f = cola.Text(s)
	case *string:
		*f = s
	case *vocabulary.ProductType:
		*f = vocabulary.ProductType(s)
	case *[]string:
		*f = splitList(s, form.lists)
	case *cola.TTBID:
		return setTTBID(f, s)
	case *cola.Date:
		return setDate(f, s)
	case *cola.Opt[bool], *bool:
		return setBoolText(f, s)
	case *cola.Opt[int], *int, *cola.Opt[float64]:
		return setNumber(f, s, form)
	default:
		return fmt.Errorf("is text, where a list of objects is due")
	}
	return nil
}

// setNull clears a field.
func setNull(field any) error {
	switch f := field.(type) {
	case *cola.Text:
		*f = ""
	case *string:
		*f = ""
	case *vocabulary.ProductType:
		*f = ""
	case *[]string:
		*f = nil
	case *cola.TTBID:
		*f = 0
	case *cola.Date:
		*f = 0
	case *cola.Opt[bool]:
		*f = cola.Opt[bool]{}
	case *bool:
		*f = false
	case *cola.Opt[int]:
		*f = cola.Opt[int]{}
	case *int:
		*f = 0
	case *cola.Opt[float64]:
		*f = cola.Opt[float64]{}
	case *[]cola.Image:
		*f = nil
	case *[]cola.Barcode:
		*f = nil
	}
	return nil
}

// setNumber reads a number, by its text, into a field.
func setNumber(field any, s string, form textForm) error {
	switch f := field.(type) {
	case *cola.Opt[int]:
		n, err := wholeNumber(s)
		*f = cola.Opt[int]{V: n, OK: err == nil}
		return err
	case *int:
		n, err := wholeNumber(s)
		*f = n
		return err
	case *cola.Opt[float64]:
		v, err := strconv.ParseFloat(s, 64)
		if err != nil || strings.Trim(s, "0123456789.+-eE") != "" { // no NaN, infinity or hexadecimal
			return fmt.Errorf("%s is not a number", quote(s))
		}
		*f = cola.Some(v)
		return nil
	case *cola.Opt[bool], *bool:
		return setBoolText(f, s)
	case *cola.Text, *string:
		if strings.ContainsAny(s, "eE") {
			return fmt.Errorf("%s is a number whose digits were rounded; write the value as text", quote(s))
		}
		if form.zip {
			s = padZIP(s)
		}
		return setText(field, s, form)
	case *cola.TTBID:
		if len(s) == 13 {
			s = "0" + s // a number has no leading zero, and ids of 2000 to 2009 have one
		}
		return setTTBID(f, s)
	}
	return fmt.Errorf("is the number %s, where %s is due", quote(s), due(field))
}

// padZIP gives a ZIP code of three or four digits the leading zeros that it lost.
func padZIP(s string) string {
	if n := len(s); (n == 3 || n == 4) && strings.Trim(s, "0123456789") == "" {
		return "00000"[n:] + s
	}
	return s
}

// wholeNumber reads an integer, also one with zero decimals, as tables with gaps are often written.
func wholeNumber(s string) (int, error) {
	digits, decimals, _ := strings.Cut(s, ".")
	if strings.Trim(decimals, "0") == "" {
		if n, err := strconv.Atoi(digits); err == nil {
			return n, nil
		}
	}
	return 0, fmt.Errorf("%s is not a whole number", quote(s))
}

// setBool sets a field to a truth value.
func setBool(field any, v bool) error {
	switch f := field.(type) {
	case *cola.Opt[bool]:
		*f = cola.Some(v)
	case *bool:
		*f = v
	default:
		return fmt.Errorf("is %t, where %s is due", v, due(field))
	}
	return nil
}

func setBoolText(field any, s string) error {
	switch strings.ToLower(s) {
	case "true", "t", "yes", "y", "1":
		return setBool(field, true)
	case "false", "f", "no", "n", "0":
		return setBool(field, false)
	}
	return fmt.Errorf("%s is neither true nor false", quote(s))
}

func setTTBID(f *cola.TTBID, s string) error {
	id, ok := cola.ParseTTBID(s)
	if !ok {
		hint := ""
		if strings.Trim(s, "0123456789") == "" && len(s) == 13 {
			hint = "; a spreadsheet may have dropped a leading zero"
		} else if strings.Contains(s, "E+") {
			hint = "; a spreadsheet rounded it to a number"
		}
		return fmt.Errorf("%s is not a TTB id; it has 14 digits, such as 11054001000049%s", quote(s), hint)
	}
	*f = id
	return nil
}

// setDate reads YYYY-MM-DD, or a timestamp that is midnight of a day.
func setDate(f *cola.Date, s string) error {
	day := s
	if len(s) > 10 && (s[10] == 'T' || s[10] == ' ') {
		clock, _, _ := strings.Cut(strings.TrimSuffix(s[11:], "Z"), ".")
		if clock == "00:00:00" || clock == "00:00" {
			day = s[:10]
		}
	}
	d, err := cola.ParseDate(day)
	if err != nil {
		return fmt.Errorf("%s is not a date; write YYYY-MM-DD, such as 2024-05-31", quote(s))
	}
	*f = d
	return nil
}

// due names what a field takes.
func due(field any) string {
	switch field.(type) {
	case *[]string:
		return "a list of texts"
	case *[]cola.Image, *[]cola.Barcode:
		return "a list of objects"
	case *cola.Date:
		return "a date in quotes"
	case *cola.Opt[int], *int, *cola.Opt[float64]:
		return "a number"
	case *cola.Opt[bool], *bool:
		return "true or false"
	}
	return "text"
}
