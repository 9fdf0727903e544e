package ingest

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/colaregistry/colaregistry/cola/vocabulary"
)

// maxTTBCells is the maximum number of cells in a row to repair. The number of ways to split a row
// grows with the square of this number.
const maxTTBCells = 50

// ttbRow is a row of TTB's export as text.
type ttbRow [ttbWidth]string

var (
	errTTBShort  = errors.New("has fewer fields than the header")
	errTTBLong   = errors.New("has far more fields than the header")
	errTTBDate   = errors.New("ambiguous fields: no Completed Date (MM/DD/YYYY or YYYY-MM-DD) in the expected position")
	errTTBTail   = errors.New("ambiguous fields: can't find where the origin and class start")
	errTTBMiddle = errors.New("ambiguous comma in the fanciful name or the brand name; quote the field")
)

// readTTBRow assigns cells to the fields of a row. A well-formed row needs no repair. Otherwise
// there are unquoted commas within fields: the date anchors the fields before it, the origin and
// class codes with their names anchor those at the end, and the cells in between are the fanciful
// name and the brand name, if there is only one way to split them. Other rows are errors.
func readTTBRow(cells []csvField) (ttbRow, error) {
	switch {
	case len(cells) < ttbWidth:
		return ttbRow{}, fmt.Errorf("%w: %d instead of %d", errTTBShort, len(cells), ttbWidth)
	case len(cells) > maxTTBCells:
		return ttbRow{}, errTTBLong
	}
	date, err := findTTBDate(cells)
	if err != nil {
		return ttbRow{}, err
	}
	origin, class, err := findTTBTail(cells, date+1)
	if err != nil {
		return ttbRow{}, err
	}
	brand, err := findTTBBrand(cells[date+1 : origin])
	if err != nil {
		return ttbRow{}, err
	}
	return ttbRow{
		ttbID:         joinCells(cells[:1]),
		ttbPermit:     joinCells(cells[1:2]),
		ttbSerial:     joinCells(cells[2:date]),
		ttbCompleted:  joinCells(cells[date : date+1]),
		ttbFanciful:   joinCells(cells[date+1 : date+1+brand]),
		ttbBrand:      joinCells(cells[date+1+brand : origin]),
		ttbOrigin:     joinCells(cells[origin : origin+1]),
		ttbOriginDesc: joinCells(cells[origin+1 : class]),
		ttbClass:      joinCells(cells[class : class+1]),
		ttbClassDesc:  joinCells(cells[class+1:]),
	}, nil
}

// findTTBDate finds the Completed Date: the first cell after the serial number that is a date or
// empty. In a row with the right number of cells, it must be in its own column.
func findTTBDate(cells []csvField) (int, error) {
	for at := ttbCompleted; at < len(cells); at++ {
		if len(cells[at].text) == 0 || isCompleted(cells[at].text) {
			return at, nil
		}
		if len(cells) == ttbWidth || hasShortYear(cells[at].text) {
			return 0, errCompleted(cells[at].text)
		}
	}
	return 0, errTTBDate
}

// findTTBTail finds the origin code and the class code at or after first: the only place where
// TTB's names follow both codes or, if there is none, the last four cells (see lastTTBCodes).
func findTTBTail(cells []csvField, first int) (origin, class int, err error) {
	found := 0
	for o := first; o+3 < len(cells); o++ {
		if !originShaped(cells[o].text) {
			continue
		}
		for c := o + 2; c+1 < len(cells); c++ {
			if namesOrigin(cells[o:c]) && namesClass(cells[c:]) {
				origin, class = o, c
				found++
			}
		}
	}
	if found == 1 {
		return origin, class, nil
	}
	if found > 1 {
		return 0, 0, errTTBTail
	}
	return lastTTBCodes(cells, first)
}

// lastTTBCodes takes the last four cells as the codes and their names, if the codes are well-formed
// or missing. Otherwise the error names the malformed codes or, in a row with extra cells, says
// that the fields are ambiguous.
func lastTTBCodes(cells []csvField, first int) (origin, class int, err error) {
	origin, class = len(cells)-4, len(cells)-2
	none := func(at int) bool { return len(cells[at].text) == 0 && len(cells[at+1].text) == 0 }
	var unknown []string
	if code := cells[origin].text; !originShaped(code) && !none(origin) {
		unknown = append(unknown, fmt.Sprintf("%s is not an origin code; use two uppercase letters or digits", quote(code)))
	}
	if code := cells[class].text; !classShaped(code) && !none(class) {
		unknown = append(unknown, fmt.Sprintf("%s is not a class code; use one to three digits and an optional uppercase letter", quote(code)))
	}
	switch {
	case origin < first || unknown != nil && len(cells) > ttbWidth:
		return 0, 0, errTTBTail
	case unknown != nil:
		return 0, 0, errors.New(strings.Join(unknown, "; "))
	}
	return origin, class, nil
}

// findTTBBrand returns the index of the first cell of the brand name, among the cells between date
// and origin. The fanciful name precedes it. A comma that separates fields is neither followed by a
// space nor adjacent to a comma within a field, so a field doesn't start with a space, or start or
// end with an empty cell.
func findTTBBrand(cells []csvField) (brand int, err error) {
	if len(cells) < 2 {
		return 0, errTTBShort
	}
	if len(cells) == 2 {
		return 1, nil
	}
	found := 0
	for at := 1; at < len(cells); at++ {
		if !cells[at].spaced && wholeField(cells[:at], true) && wholeField(cells[at:], false) {
			brand = at
			found++
		}
	}
	if found != 1 {
		return 0, errTTBMiddle
	}
	return brand, nil
}

// wholeField reports whether cells can be a single field with unquoted commas.
func wholeField(cells []csvField, mayBeEmpty bool) bool {
	first, last := cells[0], cells[len(cells)-1]
	if len(cells) == 1 {
		return mayBeEmpty || len(first.text) > 0
	}
	quoted := slices.ContainsFunc(cells, func(c csvField) bool { return c.quoted })
	return !quoted && len(first.text) > 0 && len(last.text) > 0
}

// unwrapCode removes the characters with which spreadsheets mark a code as text: ="…" or a leading
// apostrophe.
func unwrapCode(code []byte) []byte {
	return bytes.TrimSpace(bytes.Trim(bytes.TrimPrefix(code, []byte{'='}), `"'`))
}

// joinCells joins the cells of one field with commas and normalizes the result.
func joinCells(cells []csvField) string {
	var b []byte
	for i, c := range cells {
		if i > 0 {
			b = append(b, ',')
			if c.spaced {
				b = append(b, ' ')
			}
		}
		b = append(b, c.text...)
	}
	return normalizeSpace(string(b))
}

// originShaped reports whether a field has the form of an origin code.
func originShaped(code []byte) bool {
	code = unwrapCode(code)
	return len(code) == 2 && isCode(code[0]) && isCode(code[1])
}

// classShaped reports whether a field has the form of a class/type code: one to three digits and an
// optional letter.
func classShaped(code []byte) bool {
	code = unwrapCode(code)
	letter := bytes.TrimLeft(code, "0123456789")
	n := len(code) - len(letter)
	return n >= 1 && n <= 3 && (len(letter) == 0 || len(letter) == 1 && isCode(letter[0]))
}

func isCode(c byte) bool { return c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' }

// namesOrigin reports whether cells are an origin code and its TTB name.
func namesOrigin(cells []csvField) bool {
	origin, ok := ttbOrigins[string(unwrapCode(cells[0].text))]
	return ok && origin.Name == joinCells(cells[1:])
}

// namesClass reports whether cells are a class code and its TTB name.
func namesClass(cells []csvField) bool {
	name, ok := ttbClasses[string(unwrapCode(cells[0].text))]
	return ok && strings.EqualFold(name, joinCells(cells[1:]))
}

// knownClass reports whether cells end with a class code and its TTB name, or with any name if the
// code is unknown: TTB publishes no complete list.
func knownClass(cells []csvField) bool {
	for c := ttbClass; c+1 < len(cells); c++ {
		if namesClass(cells[c:]) {
			return true
		}
	}
	code := cells[len(cells)-2].text
	_, known := ttbClasses[string(unwrapCode(code))]
	return !known && classShaped(code)
}

// TTB's own tables, by code.
var (
	ttbOrigins = func() map[string]vocabulary.Origin {
		table := map[string]vocabulary.Origin{}
		for _, o := range vocabulary.Origins() {
			table[o.ID] = o
		}
		return table
	}()
	ttbClasses = func() map[string]string {
		table := map[string]string{}
		for _, c := range vocabulary.Classes() {
			table[c.ID] = c.Name
		}
		return table
	}()
)
