package mcp

import (
	"fmt"
	"reflect"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/registry"
)

// How large an answer may be. Clients cut or refuse larger ones, and a client may show its model both copies of the content.
const (
	maxTokens     = 25_000
	maxBytes      = maxTokens * 7 / 2 // at three and a half bytes a token
	reservedBytes = 6_000             // for notes, pagination and the protocol's own
	room          = maxBytes - reservedBytes
)

// weight is how many bytes some JSON takes in an answer, which holds it twice: as structured content, and as a text that is a
// JSON string. The protocol's encoder escapes <, > and & in both.
func weight(b []byte) int {
	n := 2 * len(b)
	for _, c := range b {
		switch c {
		case '"', '\\':
			n++
		case '<', '>', '&':
			n += 10
		}
	}
	return n
}

// rowFit is a registry.Fit for the rows of a list. It remembers how many rows it kept.
type rowFit[T any] struct {
	view  view
	shown func(T) any // what a row becomes in the answer; nil: the row itself
	found int         // rows there were
	kept  int
}

// labelFit is a rowFit for labels, which become rows.
func labelFit(v view, svc Service) rowFit[cola.ColaSummary] {
	return rowFit[cola.ColaSummary]{view: v, shown: func(label cola.ColaSummary) any { return svc.Rows([]cola.ColaSummary{label})[0] }}
}

func (f *rowFit[T]) fit(rows []T) int {
	f.found, f.kept = len(rows), 0
	left := room
	for i := range rows {
		var row any = rows[i]
		if f.shown != nil {
			row = f.shown(rows[i])
		}
		if left -= weight(f.view.append(nil, row)) + 2; left < 0 {
			break
		}
		f.kept++
	}
	return f.kept
}

// asFit returns the function that the registry asks.
func (f *rowFit[T]) asFit() registry.Fit[T] { return f.fit }

// putRecord sets an answer's data to one record. One that is too large has its longest lists and texts cut, and a note says so.
func putRecord[T any](a *answer, v view, record T) {
	r := reflect.New(reflect.TypeFor[T]()).Elem()
	r.Set(reflect.ValueOf(record))
	fields := shownFields(r.Type(), v.detailed)
	whole := map[string]int{} // lengths of what was cut
	var order []int
	data := v.append(nil, r.Interface())
	for weight(data) > room {
		i := heaviest(v, r, fields)
		if _, cut := whole[fields[i].name]; !cut {
			order = append(order, i)
			whole[fields[i].name] = length(r.FieldByIndex(fields[i].index))
		}
		halve(r.FieldByIndex(fields[i].index))
		data = v.append(nil, r.Interface())
	}
	for _, i := range order {
		f := fields[i]
		a.notes = append(a.notes, cutNote(f.name, r.FieldByIndex(f.index), whole[f.name]))
	}
	a.put(data)
}

// heaviest returns the place of the list or text that takes most of a record.
func heaviest(v view, r reflect.Value, fields []shownField) (heaviest int) {
	most := -1
	for i, f := range fields {
		value := r.FieldByIndex(f.index)
		if value.Kind() != reflect.Slice && value.Kind() != reflect.String {
			continue
		}
		if w := weight(v.append(nil, value.Interface())); w > most {
			heaviest, most = i, w
		}
	}
	return heaviest
}

// halve cuts a list or a text to half. A list of one text keeps half of that. What a list or text is made of is not written to:
// others may read it.
func halve(v reflect.Value) {
	switch n := length(v); {
	case v.Kind() == reflect.String && n < 2:
		v.SetString("")
	case v.Kind() == reflect.String:
		v.SetString(string([]rune(v.String())[:n/2]) + "…")
	case n == 1 && v.Type().Elem().Kind() == reflect.String && len(v.Index(0).String()) > 4:
		one := reflect.MakeSlice(v.Type(), 1, 1)
		one.Index(0).SetString(v.Index(0).String())
		halve(one.Index(0))
		v.Set(one)
	default:
		v.SetLen(n / 2)
	}
}

// length counts the entries of a list, or the characters of a text.
func length(v reflect.Value) int {
	if v.Kind() == reflect.String {
		return len([]rune(v.String()))
	}
	return v.Len()
}

func cutNote(name string, cut reflect.Value, whole int) string {
	if cut.Kind() == reflect.String {
		return fmt.Sprintf("%s is cut to its first %d of %d characters to keep the answer small; the REST API has all of it.", name, length(cut)-1, whole)
	}
	return fmt.Sprintf("%s is cut to its first %d of %d entries to keep the answer small; the REST API has all of them.", name, length(cut), whole)
}

// emptyRows makes no rows an empty list.
func emptyRows[T any](rows []T) []T {
	if rows == nil {
		return []T{}
	}
	return rows
}

// resetDay says when a quota starts again.
func resetDay(state cola.QuotaState) string { return state.Period.End().Format("2 January 2006") }
