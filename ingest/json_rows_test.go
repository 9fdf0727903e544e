package ingest

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/colaregistry/colaregistry/internal/golden"
)

// allRows reads all rows: "line: text" for a valid one, "line! problem" for an invalid one, and
// finally the error unless it is io.EOF.
func allRows(r rowReader) []string {
	var got []string
	for range 10_000 {
		text, row, err := r.next([]byte("before"))
		switch {
		case errors.Is(err, io.EOF):
			return got
		case err != nil:
			return append(got, err.Error())
		case row.problem != "":
			got = append(got, fmt.Sprintf("%d! %s", row.line, row.problem))
		default:
			got = append(got, fmt.Sprintf("%d: %s", row.line, strings.TrimPrefix(string(text), "before")))
		}
	}
	return append(got, "does not end")
}

func TestJSONRows(t *testing.T) {
	rows := golden.Load(t, "json_rows")
	for _, test := range []struct{ name, text string }{
		{"empty", ""},
		{"blank lines", "\n \n\t\n"},
		{"lines", `{"a":1}` + "\n" + `{"a":2}` + "\n"},
		{"no final newline, blank lines, Windows line endings", "{\"a\":1}\r\n\r\n\n{\"a\":2}"},
		{"a bad line among good ones", "{\"a\":1}\n{\"a\":\n{\"a\":3}\n"},
		{"unterminated first line", "{\"a\":{\"b\":2\n{\"a\":3}\n{\"a\":4}\n"},
		{"a first line with an open string", "{\"a\":\"b\n{\"a\":3}\n"},
		{"truncated last line", "{\"a\":1}\n{\"a\":"},
		{"truncated single object", "{\n\"a\": [1,"},
		{"multi-line object", "{\n \"a\": 1,\n \"b\": [ 1, {\"c\": 2} ]\n}\n"},
		{"concatenated objects", "{\"a\":1} {\"a\":2}{\n\"a\":3}"},
		{"text before records", "rows:\n{\"a\":1}\n"},
		{"array", "[{\"a\":1},\n{\"a\":2}\n]"},
		{"empty array", " [ ] "},
		{"array of other values", "[1, null,\n\"x\", [{}], {\"a\":1}]"},
		{"array with a trailing comma", `[{"a":1},]`},
		{"array truncated between records", "[{\"a\":1},\n"},
		{"array truncated in a record", "[{\"a\":1},\n{\"a\":\n"},
		{"array without a comma", "[{\"a\":1}\n{\"a\":2}]"},
		{"array with the wrong bracket", "[{\"a\":[1}]"},
		{"array with an invalid value", "[{\"a\":NaN},\n{\"a\":2}]"},
		{"object truncated after a comma", "{\"a\":1,\n{\"a\":2}\n{\"a\":3}"},
		{"concatenated arrays", "[{\"a\":1}]\n[{\"a\":2}]"},
		{"unclosed brackets", "{\"a\":" + strings.Repeat("[", 2000) + "\n{\"a\":1}"},
		{"API list", "{\"data\":[{\"a\":1},\n{\"a\":2}],\"meta\":{\"total\":2,\"x\":[{}]}}"},
		{"API record", `{"data":{"a":1}}`},
		{"concatenated API responses", "{\"data\":{\"a\":1}}{\"data\":{\"a\":2}}\n{\"data\":[{\"a\":3}]}\n"},
		{"data as a string", `{"data":"x","a":1}`},
		{"API response truncated after its records", `{"data":[{"a":1}],"meta":{`},
		{"feature collection", `{"type":"FeatureCollection","crs":{"a":[1]},"features":[{"type":"Feature"}]}`},
		{"brackets and quotes in strings", `{"a":"}]\"{\\"}` + "\n" + `{"a":"["}`},
		{"text sequence", "\x1e{\"a\":1}\n\x1e{\"a\":2}\n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := allRows(newJSONRows(newInput(strings.NewReader(test.text))))
			rows.Check(t, test.name, got)
			byByte := allRows(newJSONRows(newInput(iotest.OneByteReader(strings.NewReader(test.text)))))
			if diff := cmp.Diff(got, byByte); diff != "" {
				t.Errorf("rows (-at once +byte by byte):\n%s", diff)
			}
		})
	}
}

func TestJSONRowsSkip(t *testing.T) {
	geometry := strings.Repeat("[[1.5,2.5],[3,4]],", maxRow/10)
	text := `{"type":"Feature","geometry":{"coordinates":[` + geometry + `[]]},"properties":{"ava_id":"a"}}` + "\n"
	want := []string{
		`1: {"type":"Feature","geometry":null,"properties":{"ava_id":"a"}}`,
		`2: {"type":"Feature","geometry":null,"properties":{"ava_id":"a"}}`,
	}
	rows := newJSONRows(newInput(strings.NewReader(text+text)), "geometry")
	if diff := cmp.Diff(want, allRows(rows)); diff != "" {
		t.Error(diff)
	}
}

func TestJSONRowsTooLong(t *testing.T) {
	long := `{"a":"` + strings.Repeat("x", maxRow) + `"}`
	for name, test := range map[string]struct {
		text string
		want []string
	}{
		"first line": {long + "\n" + `{"a":1}`, []string{"1! " + problemLong, `2: {"a":1}`}},
		"later line": {`{"a":1}` + "\n" + long + "\n" + `{"a":1}`, []string{`1: {"a":1}`, "2! " + problemLong, `3: {"a":1}`}},
		"in array":   {"[" + long + ",\n" + `{"a":1}]`, []string{"1! " + problemLong, `2: {"a":1}`}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, allRows(newJSONRows(newInput(strings.NewReader(test.text))))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestRowsReadError(t *testing.T) {
	failure := errors.New("the disk is gone")
	for _, text := range []string{"", `{"a":1}` + "\n" + `{"a":`, `[{"a":1},{"a`, `{"data":[{"a":1}],`, `{"a":`} {
		in := newInput(io.MultiReader(strings.NewReader(text), iotest.ErrReader(failure)))
		got := allRows(newJSONRows(in))
		if len(got) == 0 || !strings.Contains(got[len(got)-1], failure.Error()) {
			t.Errorf("rows(%q) = %q, want the error last", text, got)
		}
		if strings.HasPrefix(text, `{"a":1}`) && len(got) != 2 {
			t.Errorf("rows(%q) returned an incomplete row: %q", text, got)
		}
	}
}
