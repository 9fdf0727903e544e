package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/colaregistry/colaregistry/internal/web"
	"github.com/colaregistry/colaregistry/store"
)

// outputFlags select the format in which a command prints records. The text format is for people
// and may change; the JSON format is for scripts.
type outputFlags struct {
	JSON bool `name:"json" help:"Print JSON instead of a table."`
}

// list prints the records that read returns, one per row.
func list[T, R any](
	f *storeFlags, o outputFlags, env *environment, read func(store.Store) ([]T, error), row func(T) R,
) (err error) {
	st, err := f.openExisting(env)
	if err != nil {
		return err
	}
	defer closing(st, &err)
	records, err := read(st)
	if err != nil {
		return err
	}
	rows := make([]R, len(records))
	for i, r := range records {
		rows[i] = row(r)
	}
	return printRows(env.stdout, o, rows)
}

// printRows prints structs as a table, or with --json as an array. Columns and JSON fields have the
// same order and, apart from their spelling, the same names.
func printRows[R any](w io.Writer, o outputFlags, rows []R) error {
	if o.JSON {
		return printJSON(w, rows)
	}
	return printTable(w, rows)
}

// printRow prints one struct as a table with one row, or with --json as an object.
func printRow[R any](w io.Writer, o outputFlags, row R) error {
	if o.JSON {
		return printJSON(w, row)
	}
	return printTable(w, []R{row})
}

func printJSON(w io.Writer, document any) error {
	out := json.NewEncoder(w)
	out.SetEscapeHTML(false)
	out.SetIndent("", "  ")
	return out.Encode(document)
}

// printTable prints a column for each field. Columns of ints, which are counts, are right-aligned.
func printTable[R any](w io.Writer, rows []R) error {
	fields := reflect.VisibleFields(reflect.TypeFor[R]())
	cells := make([][]string, 1, len(rows)+1)
	for _, f := range fields {
		cells[0] = append(cells[0], header(f))
	}
	for _, row := range rows {
		var line []string
		for _, f := range fields {
			line = append(line, cell(reflect.ValueOf(row).FieldByIndex(f.Index).Interface()))
		}
		cells = append(cells, line)
	}
	widths := make([]int, len(fields))
	for _, line := range cells {
		for i, text := range line {
			widths[i] = max(widths[i], utf8.RuneCountInString(text))
		}
	}
	out := bufio.NewWriter(w)
	for _, line := range cells {
		for i, text := range line {
			padding := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(text))
			if fields[i].Type.Kind() == reflect.Int {
				text = padding + text
			} else {
				text += padding
			}
			line[i] = text
		}
		fmt.Fprintln(out, strings.TrimRight(strings.Join(line, "  "), " "))
	}
	return out.Flush()
}

// header derives the header of a column from its JSON name: LAST USED for last_used_at.
func header(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	return strings.ToUpper(strings.ReplaceAll(strings.TrimSuffix(name, "_at"), "_", " "))
}

// cell formats a value on one line: counts with thousands separators, missing values as a hyphen.
// Control characters, which could move the cursor of a terminal, become spaces.
func cell(value any) string {
	var text string
	switch v := value.(type) {
	case int:
		return web.Thousands(v)
	case bool:
		text = "no"
		if v {
			text = "yes"
		}
	case *time.Time:
		if v != nil {
			text = v.UTC().Format(time.RFC3339)
		}
	case *string:
		if v != nil {
			text = *v
		}
	default:
		text = fmt.Sprint(v)
	}
	if text == "" {
		return "-"
	}
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, text)
}
