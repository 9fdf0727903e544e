package ingest

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/cola/vocabulary"
)

// textForm determines how a string in the input is parsed.
type textForm struct {
	lists string // list separators, in order of preference; default: a comma
	prose bool   // long text that keeps its line breaks
	zip   bool   // a ZIP code, which may have lost leading zeros as a number or in a spreadsheet
	abv   bool   // a percentage by volume, such as "12.5 % by vol"
	// volume is a number, or a volume with its unit. The unit goes to another field; see setUnit.
	volume bool
}

// setText parses a string into a field. An empty string clears it.
func setText(field any, s string, form textForm) error {
	if form.prose {
		s = strings.TrimSpace(s)
	} else {
		s = normalizeSpace(s)
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
		return fmt.Errorf("must be an array of objects, not text")
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

// setNumber parses the text of a number into a field.
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
		v, ok := decimalNumber(s)
		if !ok && form.abv {
			if v, ok = vocabulary.ParseABV(s); !ok {
				return fmt.Errorf("%s is not an alcohol content; use a number or a percentage, such as 12.5 or 12.5%% by vol", quote(s))
			}
		}
		if !ok {
			return fmt.Errorf("%s is not a number", quote(s))
		}
		*f = cola.Some(v)
		return nil
	case *cola.Opt[bool], *bool:
		return setBoolText(f, s)
	case *cola.Text, *string:
		if strings.ContainsAny(s, "eE") {
			return fmt.Errorf("%s is in scientific notation; write the value as text", quote(s))
		}
		if form.zip {
			s = padZIP(s)
		}
		return setText(field, s, form)
	case *cola.TTBID:
		if len(s) == 13 {
			s = "0" + s // as numbers, IDs from 2000 to 2009 lose their leading zero
		}
		return setTTBID(f, s)
	}
	return fmt.Errorf("must be %s, not the number %s", expectedFormat(field), quote(s))
}

// decimalNumber parses a decimal number. It rejects NaN, infinity and hexadecimal.
func decimalNumber(s string) (v float64, ok bool) {
	v, err := strconv.ParseFloat(s, 64)
	return v, err == nil && strings.Trim(s, "0123456789.+-eE") == ""
}

// setString parses a string into a field, as setText does. The unit of a volume goes to r.unit.
func (r *recordReader) setString(field any, s string, form textForm) error {
	volume, ok := field.(*cola.Opt[float64])
	if !ok || !form.volume {
		return setText(field, s, form)
	}
	if _, ok := decimalNumber(normalizeSpace(s)); ok || normalizeSpace(s) == "" {
		return setText(field, s, form)
	}
	v, unit, ok := vocabulary.ParseVolume(s)
	if !ok {
		return fmt.Errorf("%s is not a volume; use a number or a volume such as 750 mL or 12 FL. OZ", quote(s))
	}
	*volume, r.unit = cola.Some(v), unit
	return nil
}

// padZIP restores the leading zeros of a ZIP code with three or four digits.
func padZIP(s string) string {
	if n := len(s); (n == 3 || n == 4) && strings.Trim(s, "0123456789") == "" {
		return "00000"[n:] + s
	}
	return s
}

// wholeNumber parses an integer. It accepts a fraction of zeros, as in 2.0, which is common in
// columns with missing values.
func wholeNumber(s string) (int, error) {
	digits, decimals, _ := strings.Cut(s, ".")
	if strings.Trim(decimals, "0") == "" {
		if n, err := strconv.Atoi(digits); err == nil {
			return n, nil
		}
	}
	return 0, fmt.Errorf("%s is not a whole number", quote(s))
}

// setBool sets a field to a Boolean.
func setBool(field any, v bool) error {
	switch f := field.(type) {
	case *cola.Opt[bool]:
		*f = cola.Some(v)
	case *bool:
		*f = v
	default:
		return fmt.Errorf("must be %s, not %t", expectedFormat(field), v)
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
	return fmt.Errorf("%s is not true or false", quote(s))
}

func setTTBID(f *cola.TTBID, s string) error {
	id, ok := cola.ParseTTBID(s)
	if !ok {
		hint, digits := "", strings.Trim(s, "0123456789") == ""
		switch {
		case digits && len(s) == 13:
			hint = "; a spreadsheet may have dropped a leading zero"
		case digits && len(s) >= 6 && len(s) <= 12:
			hint = "; shorter IDs of old applications are not supported"
		case strings.Contains(s, "E+"):
			hint = "; a spreadsheet turned it into a rounded number"
		}
		return fmt.Errorf("%s is not a TTB ID; use 14 digits, such as 11054001000049%s", quote(s), hint)
	}
	*f = id
	return nil
}

func setDate(f *cola.Date, s string) error {
	d, ok := parseDate(s)
	if !ok {
		return fmt.Errorf("%s is not a date; %s, such as 2024-05-31 or 05/31/2024", quote(s), adviceDate)
	}
	*f = d
	return nil
}

const adviceDate = "use YYYY-MM-DD or MM/DD/YYYY"

// parseDate parses YYYY-MM-DD, a timestamp at midnight, or MM/DD/YYYY, as TTB writes dates. Leading
// zeros may be missing.
func parseDate(s string) (day cola.Date, ok bool) {
	if len(s) > 10 && (s[10] == 'T' || s[10] == ' ') {
		clock, _, _ := strings.Cut(strings.TrimSuffix(s[11:], "Z"), ".")
		if clock == "00:00:00" || clock == "00:00" {
			s = s[:10]
		}
	}
	for _, layout := range []string{"2006-1-2", "1/2/2006"} {
		if t, err := time.Parse(layout, s); err == nil && t.Year() > 0 {
			return cola.DateOf(t), true
		}
	}
	return 0, false
}

// expectedFormat describes the valid values of a field.
func expectedFormat(field any) string {
	switch field.(type) {
	case *[]string:
		return "a list of strings"
	case *[]cola.Image, *[]cola.Barcode:
		return "a list of objects"
	case *cola.Date:
		return "a quoted date"
	case *cola.Opt[int], *int, *cola.Opt[float64]:
		return "a number"
	case *cola.Opt[bool], *bool:
		return "true or false"
	}
	return "text"
}

// normalizeSpace returns a string in its stored form: no leading or trailing white space, and one
// space for each run of white space, including line breaks.
func normalizeSpace(s string) string {
	if isNormalized(s) {
		return s
	}
	return strings.Join(strings.Fields(s), " ")
}

// isNormalized reports whether normalizeSpace would leave a string unchanged.
func isNormalized(s string) bool {
	space := true // rejects a leading space
	for _, r := range s {
		isSpace := r == ' '
		if isSpace && space || !isSpace && unicode.IsSpace(r) {
			return false
		}
		space = isSpace
	}
	return !space || s == ""
}

// splitList splits a string into normalized, nonempty values. The separator is the first of
// separators that occurs in the text, or a comma if separators is empty.
func splitList(s, separators string) []string {
	separator := ","
	for i := range len(separators) {
		if separator = separators[i : i+1]; strings.Contains(s, separator) {
			break
		}
	}
	list := make([]string, 0, strings.Count(s, separator)+1)
	for value := range strings.SplitSeq(s, separator) {
		if value = normalizeSpace(value); value != "" {
			list = append(list, value)
		}
	}
	return list
}

// quote returns a value for messages: quoted, and truncated if it is long.
func quote[S ~string | ~[]byte](s S) string {
	text := string(s)
	if short := truncate(text, 60); short != text {
		return strconv.Quote(strings.TrimSuffix(short, "…")) + "…"
	}
	return strconv.Quote(text)
}

// truncate limits a string to a number of bytes. It marks a shortened string with an ellipsis.
func truncate(s string, maxBytes int) string {
	if len(s) <= maxBytes {
		return s
	}
	for maxBytes > 0 && !utf8.RuneStart(s[maxBytes]) {
		maxBytes--
	}
	return s[:maxBytes] + "…"
}

// maxTextRunes is the maximum length of strings in reference records and permittees.
const maxTextRunes = 2000

// checkTexts checks that no string of a record contains control characters or is too long.
func checkTexts[R any](r *recordReader, s *schema, row *R) {
	value := reflect.ValueOf(row).Elem()
	for i := range s.fields {
		f := &s.fields[i]
		switch text := value.FieldByIndex(f.index).Addr().Interface().(type) {
		case *string:
			r.text(f.name, *text)
		case *cola.Text:
			r.text(f.name, string(*text))
		case *[]string:
			for _, t := range *text {
				r.text(f.name, t)
			}
		}
	}
}

func (r *recordReader) text(field, s string) {
	if strings.ContainsFunc(s, unicode.IsControl) {
		r.problems.add(field, fmt.Errorf("%s contains a control character", quote(s)))
	}
	if n := utf8.RuneCountInString(s); n > maxTextRunes {
		r.problems.add(field, fmt.Errorf("%s has %d characters; the limit is %d", quote(s), n, maxTextRunes))
	}
}
