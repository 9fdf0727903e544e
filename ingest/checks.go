package ingest

import (
	"fmt"
	"reflect"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/colaregistry/colaregistry/cola"
)

// maxTextRunes is how long a text of a reference record or a permittee may be.
const maxTextRunes = 2000

// checkTexts checks every text of a record: printable, and not longer than anything published.
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
		r.problems.add(field, fmt.Errorf("%s holds a control character", quote(s)))
	}
	if n := utf8.RuneCountInString(s); n > maxTextRunes {
		r.problems.add(field, fmt.Errorf("%s has %d characters, more than %d", quote(s), n, maxTextRunes))
	}
}
