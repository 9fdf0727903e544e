package mcp

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"unicode/utf8"

	protocol "github.com/mark3labs/mcp-go/mcp"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/cola/vocabulary"
	"github.com/colaregistry/colaregistry/registry"
)

// toolResult is the result of a tool call.
type toolResult struct {
	notes   []string // messages from this service, kept separate from the data
	data    []byte   // sanitized JSON
	extra   []field  // members that this service adds after the data
	whole   []byte   // sanitized JSON of the whole result, if another party defines its format; otherwise nil
	charged *charge
}

// charge reports the cost of a call in the result, because assistants don't see the quota headers.
type charge struct {
	Units     int        `json:"units"`
	Meter     cola.Meter `json:"meter"`     // the quota that was charged
	Remaining int        `json:"remaining"` // remaining quota this month
}

// note adds a sentence.
func (a *toolResult) note(format string, args ...any) {
	a.notes = append(a.notes, fmt.Sprintf(format, args...))
}

// setData sanitizes and sets the data.
func (a *toolResult) setData(data []byte) { a.data = sanitizeJSON(data) }

// setWhole sanitizes and sets the whole result of a tool whose format another party defines.
func (a *toolResult) setWhole(v any) { a.whole = sanitizeJSON(mustJSON(v)) }

// addMember adds a member next to the data.
func (a *toolResult) addMember(name string, value any) { a.extra = append(a.extra, field{name, value}) }

// setCharge sets the cost, unless the call is free.
func (a *toolResult) setCharge(m cola.Meter, state cola.QuotaState) {
	switch m {
	case cola.MeterDetailViews:
		a.charged = &charge{state.Charged, m, state.DetailViewsRemaining()}
	case cola.MeterListRecords:
		a.charged = &charge{state.Charged, m, state.ListRecordsRemaining()}
	}
}

// json assembles the structured content.
func (a *toolResult) json() json.RawMessage {
	if a.whole != nil {
		return a.whole
	}
	o := object{}
	if len(a.notes) > 0 {
		o = append(o, field{"notes", a.notes})
	}
	o = append(append(o, field{"data", json.RawMessage(a.data)}), a.extra...)
	if a.charged != nil {
		o = append(o, field{"charged", a.charged})
	}
	return mustJSON(o)
}

// callResult returns the tool result: structured content, and the same as text for clients that
// read only text.
func (a *toolResult) callResult() *protocol.CallToolResult {
	content := a.json()
	return &protocol.CallToolResult{
		Content: []protocol.Content{protocol.TextContent{
			Type: protocol.ContentTypeText,
			Text: string(content),
		}},
		StructuredContent: content,
	}
}

// Limits on the size of a result. Clients truncate or reject larger results, and may show both
// copies of the content to the model.
const (
	maxTokens       = 25_000
	maxBytes        = maxTokens * 7 / 2 // at 3.5 bytes per token
	reservedBytes   = 6_000             // for notes, pagination and protocol overhead
	maxContentBytes = maxBytes - reservedBytes
)

// encodedSize returns the size of some JSON in a response, which contains it twice: as structured
// content, and as a JSON string. The protocol's encoder escapes <, > and & in both.
func encodedSize(b []byte) int {
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

// rowLimiter limits a list to the rows that fit in the response, and records how many do.
type rowLimiter[T any] struct {
	view  view
	shown func(T) any // converts a row for the result; optional
	found int         // rows before the limit
	kept  int
}

// newLabelLimiter returns a rowLimiter for labels, measured as the list rows that the result
// contains.
func newLabelLimiter(v view, svc Service) rowLimiter[cola.ColaSummary] {
	return rowLimiter[cola.ColaSummary]{
		view:  v,
		shown: func(label cola.ColaSummary) any { return svc.Rows([]cola.ColaSummary{label})[0] },
	}
}

func (f *rowLimiter[T]) limit(rows []T) int {
	f.found, f.kept = len(rows), 0
	left := maxContentBytes
	for i := range rows {
		var row any = rows[i]
		if f.shown != nil {
			row = f.shown(rows[i])
		}
		if left -= encodedSize(f.view.append(nil, row)) + 2; left < 0 {
			break
		}
		f.kept++
	}
	return f.kept
}

// rowLimit returns the limiter as a registry.RowLimit.
func (f *rowLimiter[T]) rowLimit() registry.RowLimit[T] { return f.limit }

// noteTruncation adds a note if the quota or the size limit truncated a page.
func (f *rowLimiter[T]) noteTruncation(a *toolResult, given int, state cola.QuotaState) {
	switch {
	case given < f.kept:
		a.note("Showing %d of %d rows: this month's list records are used up. They reset on %s.", given,
			f.found, resetDay(state))
	case f.kept < f.found:
		a.note("Showing %d of %d rows to limit the response size. Only these were charged.", f.kept, f.found)
	}
}

// putPage writes a page of a list without a cursor. rows is the plural of the records' name, and
// call describes the call for the next page, without the page number.
func (f *rowLimiter[T]) putPage(
	a *toolResult, page []T, at cola.Pagination, state cola.QuotaState, rows, call string,
) {
	f.noteTruncation(a, len(page), state)
	f.noteNextPage(a, len(page), at, rows, call)
	a.setData(f.view.append(nil, nonNilRows(page)))
	a.addMember("pagination", at)
}

// noteNextPage adds a note on how to get the rows that a page without a cursor leaves out.
func (f *rowLimiter[T]) noteNextPage(a *toolResult, given int, at cola.Pagination, rows, call string) {
	switch {
	case f.kept < f.found && given == f.kept:
		a.note("Later pages skip the omitted rows; to see them, set per_page to %d or less.", max(1, f.kept))
	case at.HasMore && given > 0 && given == f.found:
		a.note("Showing %d of %d %s. For more, call %s and page %d.", given, at.Total, rows, call, at.Page+1)
	}
}

// putRecord sets the data to one record. If it is too large, its longest lists and strings are
// truncated, each with a note.
func putRecord[T any](a *toolResult, v view, record T) {
	r := reflect.New(reflect.TypeFor[T]()).Elem()
	r.Set(reflect.ValueOf(record))
	fields := outputFields(r.Type(), v.detailed)
	lengths := map[string]int{} // original lengths of truncated fields
	var order []int
	data := v.append(nil, r.Interface())
	for encodedSize(data) > maxContentBytes {
		i := largestField(v, r, fields)
		if _, cut := lengths[fields[i].name]; !cut {
			order = append(order, i)
			lengths[fields[i].name] = length(r.FieldByIndex(fields[i].index))
		}
		halve(r.FieldByIndex(fields[i].index))
		data = v.append(nil, r.Interface())
	}
	for _, i := range order {
		f := fields[i]
		a.notes = append(a.notes, truncationNote(f.name, r.FieldByIndex(f.index), lengths[f.name]))
	}
	a.setData(data)
}

// largestField returns the index of a record's largest list or string.
func largestField(v view, r reflect.Value, fields []outputField) (index int) {
	largest := -1
	for i, f := range fields {
		value := r.FieldByIndex(f.index)
		if value.Kind() != reflect.Slice && value.Kind() != reflect.String {
			continue
		}
		if w := encodedSize(v.append(nil, value.Interface())); w > largest {
			index, largest = i, w
		}
	}
	return index
}

// halve drops the second half of a list or a string. In a list of one string, it shortens that
// string. It does not modify shared backing arrays.
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

// length counts the entries of a list, or the characters of a string.
func length(v reflect.Value) int {
	if v.Kind() == reflect.String {
		return len([]rune(v.String()))
	}
	return v.Len()
}

func truncationNote(name string, cut reflect.Value, original int) string {
	if cut.Kind() == reflect.String {
		return fmt.Sprintf(
			"%s contains only the first %d of %d characters, to limit the response size; the REST API returns all of "+
				"it.", name,
			length(cut)-1, original)
	}
	return fmt.Sprintf(
		"%s contains only the first %d of %d entries, to limit the response size; the REST API returns all of them.", name,
		length(cut), original)
}

// nonNilRows returns rows, or an empty list if they are nil.
func nonNilRows[T any](rows []T) []T {
	if rows == nil {
		return []T{}
	}
	return rows
}

// resetDay returns the date on which the quota resets.
func resetDay(state cola.QuotaState) string { return state.Period.End().Format("January 2, 2006") }

// sanitizeJSON removes hidden characters from the strings in JSON: control characters, and
// characters that are invisible or change the direction of text. Line breaks are normalized to \n;
// a tab becomes a space. The JSON must be in the compact form that encoding/json writes, so that
// these characters occur only within strings.
func sanitizeJSON(b []byte) []byte {
	out := make([]byte, 0, len(b))
	for i := 0; i < len(b); {
		if b[i] == '\\' {
			n, replacement := sanitizeEscape(b[i:])
			out = append(out, replacement...)
			i += n
			continue
		}
		r, n := utf8.DecodeRune(b[i:])
		if n == 1 && r != utf8.RuneError && r != 0x7f {
			out = append(out, b[i]) // not a control character: JSON escapes those
		} else if !vocabulary.IsInvisible(r) {
			out = append(out, b[i:i+n]...)
		}
		i += n
	}
	return out
}

var lineBreak = []byte(`\n`)

// sanitizeEscape returns the length of the escape sequence at the start of b and its replacement.
// The two characters \r\n are one line break.
func sanitizeEscape(b []byte) (n int, replacement []byte) {
	if len(b) < 2 {
		return len(b), b
	}
	switch b[1] {
	case 'u':
		return sanitizeEscapedRune(b)
	case 'n':
		return 2, lineBreak
	case 'r':
		if bytes.HasPrefix(b[2:], lineBreak) {
			return 4, lineBreak
		}
		return 2, lineBreak
	case 't':
		return 2, []byte{' '}
	case 'b', 'f':
		return 2, nil
	}
	return 2, b[:2]
}

// sanitizeEscapedRune is sanitizeEscape for \u and four hexadecimal digits.
func sanitizeEscapedRune(b []byte) (n int, replacement []byte) {
	n = min(len(b), 6)
	r, err := strconv.ParseUint(string(b[2:n]), 16, 16)
	switch {
	case err != nil:
		return n, b[:n]
	case r == '\u2028' || r == '\u2029':
		return n, lineBreak
	case vocabulary.IsInvisible(rune(r)):
		return n, nil
	}
	return n, b[:n]
}
