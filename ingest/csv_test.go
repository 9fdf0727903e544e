package ingest

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
)

func TestCSVRows(t *testing.T) {
	open, bare := errOpenQuote.Error(), errBareQuote.Error()
	many := strings.Repeat("x\n", maxCSVLines+5)
	for _, test := range []struct {
		name, text string
		want       []string
	}{
		{"empty", "", nil},
		{"plain", "a,b\nc,d", []string{"1: a,b", "2: c,d"}},
		{"blank lines and lines of commas", "\na,b\n,,\n  \nc,d\r\n\r\n", []string{"2: a,b", "5: c,d"}},
		{"quoted comma", `"a,b",c` + "\n", []string{`1: "a,b",c`}},
		{"quoted line break", "\"a\nb\",c\nd,e", []string{"1: \"a\nb\",c", "3: d,e"}},
		{"quoted quote", `"a ""b"" c",d` + "\n", []string{`1: "a ""b"" c",d`}},
		{"quote within a field", "12\" BEER,b\nc,d\n", []string{`1: 12" BEER,b`, "2: c,d"}},
		{"unclosed quote", "a,\"b\nc,d\ne,f\n", []string{"1! " + open, "2: c,d", "3: e,f"}},
		{"unclosed quote, last line", "a,b\nc,\"d", []string{"1: a,b", "2! " + open}},
		{"two unclosed quotes in a row", "a,\"b\nc,\"d\ne,f\n", []string{"1! " + bare, "2! " + open, "3: e,f"}},
		{"text after a quote", "a,\"b\" c,d\ne,f\n", []string{"1! " + bare, "2: e,f"}},
		{"spaces around quotes", "a, \"b,c\" ,d\n", []string{`1: a, "b,c" ,d`}},
		{"many lines after an open quote", "a,\"b\n" + many + "c,\"d\ne\",f\n", nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			want := test.want
			if want == nil && test.text != "" {
				want = []string{"1! " + open}
				for i := range maxCSVLines + 5 {
					want = append(want, rowAt(i+2, "x"))
				}
				want = append(want, rowAt(maxCSVLines+7, "c,\"d\ne\",f"))
			}
			for name, text := range map[string]io.Reader{
				"at once":      strings.NewReader(test.text),
				"byte by byte": iotest.OneByteReader(strings.NewReader(test.text)),
			} {
				if diff := cmp.Diff(want, allRows(&csvRows{in: newInput(text), delimiter: ','})); diff != "" {
					t.Errorf("%s (-want +got):\n%s", name, diff)
				}
			}
		})
	}
}

func rowAt(line int, text string) string { return fmt.Sprintf("%d: %s", line, text) }

func TestCSVReadError(t *testing.T) {
	failure := errors.New("the disk is gone")
	for _, text := range []string{"a,b\nc,", "a,b\nc,\"d\ne"} {
		in := newInput(io.MultiReader(strings.NewReader(text), iotest.ErrReader(failure)))
		got := allRows(&csvRows{in: in, delimiter: ','})
		if len(got) != 2 || got[0] != "1: a,b" || !strings.Contains(got[1], failure.Error()) {
			t.Errorf("rows(%q) = %q, want one row and the error", text, got)
		}
	}
}

func TestSplitCSV(t *testing.T) {
	for _, test := range []struct {
		record      string
		loose       bool
		want, quote string // fields separated by "|", and which of them are quoted
		err         error
	}{
		{record: "", want: "", quote: "-"},
		{record: "a,b,c", want: "a|b|c", quote: "---"},
		{record: ",", want: "|", quote: "--"},
		{record: ` a , b `, want: "a|b", quote: "--"},
		{record: `"a,b","c ""d"""`, want: `a,b|c "d"`, quote: "qq"},
		{record: `"",""""`, want: `|"`, quote: "qq"},
		{record: `a, "b" ,c`, want: "a|b|c", quote: "-q-"},
		{record: `5" a,b`, want: `5" a|b`, quote: "--"},
		{record: `"a,b`, err: errOpenQuote},
		{record: `"a"b,c`, err: errBareQuote},
		{record: `"a,b`, loose: true, want: `"a|b`, quote: "--"},
		{record: `"a"b,"c"`, loose: true, want: `"a"b|c`, quote: "-q"},
	} {
		cells, err := splitCSV([]byte(test.record), ',', nil, test.loose)
		if !errors.Is(err, test.err) {
			t.Errorf("splitCSV(%s): error = %v, want %v", test.record, err, test.err)
		}
		if test.err != nil {
			continue
		}
		var texts []string
		quotes := ""
		for _, c := range cells {
			texts = append(texts, string(c.text))
			if c.quoted {
				quotes += "q"
			} else {
				quotes += "-"
			}
		}
		if got := strings.Join(texts, "|"); got != test.want || quotes != test.quote {
			t.Errorf("splitCSV(%s) = %s %s, want %s %s", test.record, got, quotes, test.want, test.quote)
		}
	}
}
