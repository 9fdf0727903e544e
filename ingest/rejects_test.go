package ingest

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// rejected parses a file of rejected rows.
func rejected(t *testing.T, text string) []reject {
	t.Helper()
	var rows []reject
	for line := range strings.Lines(text) {
		var row reject
		if err := json.Unmarshal([]byte(line), &row); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		rows = append(rows, row)
	}
	return rows
}

// TestRejects checks that every rejected row is written as it was in the source, and that the rows
// can be imported again with their header.
func TestRejects(t *testing.T) {
	const columns = "ttb_id,brand_name,product_type,permit_number\n"
	long := `"` + strings.Repeat("x", maxRow)
	for _, test := range []struct {
		name string
		kind Kind
		text string
		want []string // rows; "-" for an omitted one
	}{
		{"export", Colas, ttbHeader + "\r\n12345001000001,P-1,1,01/02/24,,\"A\",51,FRANCE,80,TABLE RED WINE\r\n" +
			"stray\n12345001000001,P-1,\n\"1,01/02/2024,A,B\n12345001000002,P-1,1,01/02/2024,,A,51,FRANCE,990,MIXES\n" + long,
			[]string{
				`12345001000001,P-1,1,01/02/24,,"A",51,FRANCE,80,TABLE RED WINE`, "stray", "12345001000001,P-1,\n\"1,01/02/2024,A,B",
				"12345001000002,P-1,1,01/02/2024,,A,51,FRANCE,990,MIXES", "-",
			}},
		{"CSV", Colas, columns + "1,\"A \"\"B\"\"\nC\",wine,P-1\n24001001000001,A\n24001001000001,\"A,wine\n24001001000001,CH\xc2TEAU,,\n" + long,
			[]string{"1,\"A \"\"B\"\"\nC\",wine,P-1", "24001001000001,A", `24001001000001,"A,wine`, "24001001000001,CHÂTEAU,,", "-"}},
		{"JSON lines", Colas, `{"ttb_id":"1"}` + "\noops\n{\"ttb_id\":\n" + labelRow(1) + `{"ttb_id":"24001001000002"}` + "\n" + long,
			[]string{`{"ttb_id":"1"}`, "oops", `{"ttb_id":`, `{"ttb_id":"24001001000002"}`, "-"}},
		{"multi-line objects", Colas, "{\n\"ttb_id\":\n]\n}\n{\n\"ttb_id\":1\n}\n", []string{"{\"ttb_id\":]\n}\n", `{"ttb_id":1}`}},
		{"array", Colas, `[{"ttb_id":"1"},{"ttb_id":"24001001000002"},7,["a"]]`,
			[]string{`{"ttb_id":"1"}`, `{"ttb_id":"24001001000002"}`, "7", `["a"]`}},
		{"blocked report", ProductionReports, "commodity,report_type,year,value\nWine,yearly,2024,1\nWine,yearly,2024,much\nBeer,yearly,2024,2\n",
			[]string{"Wine,yearly,2024,much", "Wine,yearly,2024,1"}},
		{"alias cycle", CategoryAliases, "alias,path\nBeer > A,Beer > B\nBeer > B,Beer > A\n", []string{"Beer > B,Beer > A"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			var file strings.Builder
			report, err := Import(t.Context(), newFakeStore(), test.kind, texts(test.text), Options{Rejects: &file})
			if !errors.Is(err, ErrRejected) {
				t.Fatal(err)
			}
			rows := rejected(t, file.String())
			var got []string
			fixable := ""
			for i, row := range rows {
				if row.Source != "-" || row.Line != report.Rejections[i].Line || row.Reason != report.Rejections[i].Reason {
					t.Errorf("row %d = %+v, want %v", i, row, report.Rejections[i])
				}
				if row.Row == nil {
					got = append(got, "-")
					continue
				}
				got = append(got, *row.Row)
				if row.Header != "" {
					fixable += row.Header + "\n"
				}
				fixable += *row.Row + "\n"
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("rejected rows (-want +got):\n%s", diff)
			}
			if test.kind != Colas || test.name == "array" {
				return // by themselves, some of these rows are accepted or rejected for other reasons
			}
			secondReport, _ := Import(t.Context(), newFakeStore(), test.kind, texts(fixable), Options{})
			var first, second []string
			for i, row := range report.Rejections {
				if got[i] != "-" {
					first = append(first, row.Reason)
				}
			}
			for _, row := range secondReport.Rejections {
				second = append(second, row.Reason)
			}
			if diff := cmp.Diff(first, second); diff != "" {
				t.Errorf("reasons of the second import (-first +second):\n%s", diff)
			}
		})
	}
}

// TestRejectsEncoding checks that a row in an unknown encoding is preserved byte for byte.
func TestRejectsEncoding(t *testing.T) {
	var file strings.Builder
	_, err := Import(t.Context(), newFakeStore(), Colas, texts("ttb_id,brand_name\n1,\x81\n"), Options{Rejects: &file})
	if rows := rejected(t, file.String()); !errors.Is(err, ErrRejected) || len(rows) != 1 || rows[0].Row != nil || string(rows[0].Bytes) != "1,\x81" {
		t.Errorf("error = %v, rows = %+v", err, rows)
	}
}

// TestRejectsAll checks that all rejected rows are written, including those beyond the report's
// limit.
func TestRejectsAll(t *testing.T) {
	var file strings.Builder
	text := strings.Repeat("{}\n", maxRejections+5)
	if _, err := Import(t.Context(), newFakeStore(), Colas, texts(text), Options{Rejects: &file, SkipInvalid: true}); err != nil {
		t.Fatal(err)
	}
	if rows := rejected(t, file.String()); len(rows) != maxRejections+5 {
		t.Errorf("%d rows written, want %d", len(rows), maxRejections+5)
	}
}

var errDiskFull = errors.New("disk full")

type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errDiskFull }

// TestRejectsFailure checks that an import ends if a rejected row cannot be written.
func TestRejectsFailure(t *testing.T) {
	for _, kind := range []Kind{Colas, ProductionReports} {
		report, err := Import(t.Context(), newFakeStore(), kind,
			texts("{}\n"+strings.Repeat(fmt.Sprintln(`{"commodity":"Wine","report_type":"yearly","year":2024}`), 3*batchRows)),
			Options{Rejects: fullDisk{}, SkipInvalid: true})
		if !errors.Is(err, errDiskFull) || report.Read > batchRows {
			t.Errorf("%s: error = %v after %d rows, want %v after a batch", kind, err, report.Read, errDiskFull)
		}
	}
}
