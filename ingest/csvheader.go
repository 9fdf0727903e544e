package ingest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
)

// csvHeader is the line that names the columns.
type csvHeader struct {
	line  []byte
	names []string // folded: lower case, words joined by underscores
}

// maxPreamble is how many lines, such as titles, may stand above a header.
const maxPreamble = 20

// readHeader reads up to the first line whose column names are the ones looked for.
func readHeader(in *input, wanted func(names []string) bool) (csvHeader, error) {
	var first []byte
	for range maxPreamble {
		line, _, _, ok := in.readLine(nil)
		if !ok {
			if err := in.ended(); !errors.Is(err, io.EOF) {
				return csvHeader{}, err
			}
			break
		}
		if first == nil {
			first = bytes.Clone(line)
		}
		cells, err := splitCSV(bytes.Clone(line), nil, true)
		if err != nil {
			continue
		}
		names := make([]string, len(cells))
		for i, c := range cells {
			names[i] = foldColumn(string(c.text))
		}
		if wanted(names) {
			return csvHeader{line: line, names: names}, nil
		}
	}
	hint := ""
	if bytes.IndexByte(first, ',') < 0 && bytes.ContainsAny(first, "\t;") {
		hint = ", and its columns seem to be separated by tabs or semicolons, where commas are due"
	}
	return csvHeader{}, fmt.Errorf("the format is not known: the text begins with %s%s", quote(first), hint)
}

// again reports whether a line is the header once more, as in files that were joined.
func (h csvHeader) again(line []byte) bool { return bytes.Equal(line, h.line) }

// foldColumn returns the name of a column as fields are named.
func foldColumn(name string) string {
	words := strings.FieldsFunc(strings.ToLower(name), func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9')
	})
	return strings.Join(words, "_")
}

// column finds a column that stands for a field.
func (s *schema) column(names []string, field string) (int, bool) {
	for i, name := range names {
		if f, ok := s.byName[name]; ok && s.fields[f].name == field {
			return i, true
		}
	}
	return 0, false
}

// columns returns the field of each column, -1 for none, and warnings about those that are unknown or come twice.
func (s *schema) columns(names []string) (fields []int, warnings []string) {
	seen := map[int]bool{}
	for _, name := range names {
		f, ok := s.byName[name]
		switch {
		case !ok:
			if warning := s.unknownKey("", name); name != "" && warning != "" {
				warnings = append(warnings, warning)
			}
			f = -1
		case seen[f]:
			warnings = append(warnings, fmt.Sprintf("the column %s comes twice; the first is taken", name))
			f = -1
		default:
			seen[f] = true
		}
		fields = append(fields, f)
	}
	return fields, warnings
}
