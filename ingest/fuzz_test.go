package ingest

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/colaregistry/colaregistry/cola"
)

// FuzzJSONDecoder checks that the decoder accepts exactly the JSON that encoding/json accepts, and
// decodes strings to the same text, apart from surrounding white space.
func FuzzJSONDecoder(f *testing.F) {
	for _, seed := range []string{
		`[1,-0.5e+10,true,null,"x\u00e9\ud83c\udf77\n"]`, `01`, `"\ud800"`, `[1,]`, `{"a"}`, `nul`, "\"\t\"", ` [ ] `, `-`, `1.`, `"\x"`,
		`"x"`, `"\u00e9\ud83c\udf77\n\/"`, `"\ud800\ud83c\udf77"`, `"\udf77\ud83c"`, `""`, `1,"unknown":2`, `{"a":{}}`, `1}`, `1} {`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if !utf8.Valid(text) || bytes.Count(text, []byte{'['})+bytes.Count(text, []byte{'{'}) >= maxDepth {
			t.Skip()
		}
		r := newRecordReader()
		r.reset(text)
		if err := r.end(r.skip()); json.Valid(text) != (err == nil) {
			t.Fatalf("%q: json.Valid = %t, error = %v", text, json.Valid(text), err)
		}
		var want string
		if json.Unmarshal(text, &want) != nil || strings.TrimSpace(want) == "" {
			return
		}
		got := ""
		r.reset(text)
		field := schemaField{form: textForm{prose: true}}
		if err := r.end(r.value(&field, &got, place{})); err != nil || got != strings.TrimSpace(want) {
			t.Fatalf("%q: value = %q, %v, want %q", text, got, err, want)
		}
	})
}

// FuzzJSONRows checks that splitting terminates, that line numbers never decrease, and that valid
// text is split into its records.
func FuzzJSONRows(f *testing.F) {
	for _, seed := range []string{
		`[{"a":1},{"b":[{}]}]`, "{\"a\":1}\n{\"a\":2}\n", `{"data":[{"a":1}],"meta":{}}`, `{"data":{"a":1}}`, "{\n\"a\":1\n}\n", `[1,[],"x"]`, "{\"a\":\n{}",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		rows, lines := newJSONRows(newInput(bytes.NewReader(text))), 0
		var records []json.RawMessage
		for n := 0; ; n++ {
			record, row, err := rows.next(nil)
			if err != nil {
				break
			}
			if n > len(text) || row.line < lines || row.line > 1+bytes.Count(text, []byte{'\n'}) {
				t.Fatalf("row %d of %d bytes is on line %d after line %d", n, len(text), row.line, lines)
			}
			lines = row.line
			if row.problem == "" {
				records = append(records, bytes.Clone(record))
			}
		}
		var array []json.RawMessage
		if json.Unmarshal(text, &array) != nil || array == nil {
			return
		}
		array = slices.DeleteFunc(array, func(e json.RawMessage) bool { return e[0] != '{' })
		if diff := cmp.Diff(compacted(array), compacted(records)); diff != "" {
			t.Fatalf("%s (-want +got):\n%s", text, diff)
		}
	})
}

func compacted(values []json.RawMessage) (texts []string) {
	for _, v := range values {
		var b bytes.Buffer
		if err := json.Compact(&b, v); err != nil {
			b.WriteString(err.Error())
		}
		texts = append(texts, b.String())
	}
	return texts
}

// FuzzCSVRows checks that valid text is split into the same fields that encoding/csv returns, except
// for surrounding white space.
func FuzzCSVRows(f *testing.F) {
	for _, seed := range []string{"a,b\nc,d", "\"a,b\",\"c\nd\"\r\n", "\"a \"\"b\"\"\",\n", "a\"b,c\n", "\"a\nb", "\"a\" ,b\n"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		rows := &csvRows{in: newInput(strings.NewReader(text)), delimiter: ','}
		var got [][]string
		for n := 0; ; n++ {
			record, row, err := rows.next(nil)
			if err != nil {
				break
			}
			if n > len(text) {
				t.Fatal("too many records")
			}
			if row.problem != "" {
				continue
			}
			cells, err := splitCSV(bytes.Clone(record), ',', nil, false)
			if err != nil {
				t.Fatalf("record %q of %q cannot be split into fields: %v", record, text, err)
			}
			var fields []string
			for _, c := range cells {
				fields = append(fields, string(c.text))
			}
			got = append(got, fields)
		}
		if strings.Count(text, "\n") > maxCSVLines {
			return
		}
		reader := csv.NewReader(strings.NewReader(text))
		reader.FieldsPerRecord = -1
		want, err := reader.ReadAll()
		if err != nil {
			return
		}
		for _, record := range want {
			for i := range record {
				record[i] = strings.TrimSpace(record[i])
			}
		}
		empty := func(record []string) bool { return strings.Join(record, "") == "" }
		want, got = slices.DeleteFunc(want, empty), slices.DeleteFunc(got, empty)
		if len(want)+len(got) > 0 && !reflect.DeepEqual(want, got) {
			t.Fatalf("rows(%q) = %q, want %q", text, got, want)
		}
	})
}

// FuzzTTBExport checks that arbitrary rows never produce incomplete labels and never affect the
// rows around them.
func FuzzTTBExport(f *testing.F) {
	const before = "10363001000317,NJ-I-721,10NI37,07/16/2025,,LENZ MOSER,64,AUSTRIA,81,TABLE WHITE WINE\n"
	const after = "\n11024001000092,NJ-I-721,11NI11,07/16/2025,,FETE,64,AUSTRIA,80,TABLE RED WINE\n"
	for _, seed := range []string{
		"12345001000001,NJ-I-721,1,01/02/2024,A,B,51,FRANCE,80,TABLE RED WINE", "12345001000001,NJ-I-721,1,01/02/2024,A,B, C\nD,51,FRANCE,80,TABLE\nRED WINE",
		"\"12345001000001\",,,\"", "x\n\n'12345001000001,", "=\"12345001000001\",P,,1/2/2024,,1,2,3,51,FRANCE,80,TABLE RED WINE",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if strings.ContainsRune(text, 0) || strings.Contains(text, "10363001000317") || strings.Contains(text, "11024001000092") {
			t.Skip()
		}
		st := newFakeStore()
		report, err := Import(context.Background(), st, Colas, texts(ttbHeader+"\n"+before+text+after), Options{SkipInvalid: true})
		if err != nil {
			t.Fatal(err)
		}
		checkCounts(t, report)
		if st.colas[10363001000317].BrandName != "LENZ MOSER" || st.colas[11024001000092].BrandName != "FETE" {
			t.Fatalf("%q changed the rows around it: %v", text, report.Rejections)
		}
		for _, label := range st.colas {
			if err := errors.Join(cola.CheckCola(&label), cola.CheckNew(&label)); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// FuzzImport checks that an import of any source and kind terminates, that its counts add up, and
// that repeating it changes nothing.
func FuzzImport(f *testing.F) {
	seeds := []string{
		`{` + newRow + `,"images":[{"ttb_image_id":"x"}],"barcodes":[{"barcode_value":"1"}]}`, "ttb_id,brand_name\n24001001000001,A\n",
		"PERMIT NUMBER,OWNER NAME\nCA-W-1,A\nTOTAL PERMITS: 1\n", `{"type":"Feature","properties":{"ava_id":"a","name":"A","state":"CA|OR"},"geometry":[1]}`,
		`{"commodity":"Beer","report_type":"yearly","year":2024}`, `[{"commodity":"Wine","snapshot_date":"2024-01-05"}]`,
		`{"Definitions":["Permit_Number","Owner_Name"],"Permit Data":[["ZZ-S-1","A"],["ZZ-S-2",null]]}`,
		"Permit_Number|Owner_Name|Prem_Zip\nZZ-S-1|A|601\n", "CY_Month_Number,Year,Statistical_Group,Value,commodity\n1,2023,1-Production,3,Wine\n",
		`{"Report Header":{"Report Title":"Wine"},"Table 1":{"Data":[{"Year":2023,"A":1}]}}`, colaStatsXML, formStatsCSV,
		"Brand Name,TTB ID,Permit No.,Completed Date,Class/Type\nA,12345001000001,ZZ-S-1,2024-01-02,80\n",
		`{"alias":"Wine > A","path":"Wine > B"}`, "\xff\xfe{\x00}\x00", "\x1f\x8b\x08\x00", "\x28\xb5\x2f\xfd",
	}
	for i := range Kinds() {
		for _, seed := range seeds {
			f.Add(uint8(i), []byte(seed))
		}
	}
	f.Fuzz(func(t *testing.T, n uint8, content []byte) {
		kind := Kinds()[int(n)%len(Kinds())]
		st := newFakeStore()
		run := func() Report {
			source := ReaderSource("-", io.NopCloser(bytes.NewReader(content)))
			report, _ := Import(context.Background(), st, kind, []Source{source}, Options{Workers: 1})
			checkCounts(t, report)
			return report
		}
		first := run()
		before := []any{maps.Clone(st.colas), maps.Clone(st.permittees), maps.Clone(st.avas), maps.Clone(st.reports), maps.Clone(st.times)}
		second := run()
		if first.Read != second.Read || first.Rejected != second.Rejected && kind != Colas && kind != CategoryAliases {
			t.Fatalf("first import: %s, second import: %s", first.Summary(), second.Summary())
		}
		if kind == CategoryAliases {
			return // which alias in a cycle is rejected depends on the stored aliases
		}
		if first.Rejected != second.Rejected {
			return // a rejected row may be valid once a later row has added its label
		}
		for i, after := range []any{st.colas, st.permittees, st.avas, st.reports, st.times} {
			if !reflect.DeepEqual(before[i], after) {
				t.Fatalf("second import changed the store (-before +after):\n%s", cmp.Diff(before[i], after))
			}
		}
	})
}

func checkCounts(t *testing.T, r Report) {
	t.Helper()
	if r.Read != r.Added+r.Changed+r.Unchanged+r.Rejected || len(r.Rejections) != min(r.Rejected, maxRejections) {
		t.Fatalf("inconsistent counts: %s, %d rejections listed", r.Summary(), len(r.Rejections))
	}
}
