package ingest

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/cola/vocabulary"
	"github.com/colaregistry/colaregistry/internal/golden"
)

// exportRow formats a label like a row of the export, for comparison:
// id|permit|completed|fanciful|brand|origin|name|class|name.
func exportRow(c cola.Cola) string {
	return fmt.Sprintf("%s|%s|%s|%s|%s|%s|%s|%s|%s", c.TTBID, c.PermitNumber, c.LatestUpdateDate, c.ProductName, c.BrandName,
		c.OriginID, c.OriginName, c.ClassID, c.ClassName)
}

func TestTTBExport(t *testing.T) {
	const before = "10363001000317,NJ-I-721,10NI37,07/16/2025,,LENZ MOSER,64,AUSTRIA,81,TABLE WHITE WINE\n"
	const after = "\n11024001000092,NJ-I-721,11NI11,07/16/2025,,FETE,64,AUSTRIA,80,TABLE RED WINE\n"
	const id = "12345001000001"
	reports := golden.Load(t, "ttb_export")
	for _, test := range []struct {
		name, text string
		want       string // the label in the form of exportRow, or "!" if the row is rejected
	}{
		{"well formed", id + ",BR-ME-MAI-7,24MA1,01/02/2024,DOUBLE,OLD TOM,51,FRANCE,80,TABLE RED WINE",
			id + "|BR-ME-MAI-7|2024-01-02|DOUBLE|OLD TOM|51|FRANCE|80|TABLE RED WINE"},
		{"quoted fields", `"` + id + `","NJ-I-721","1,2","01/02/2024","A, B","C ""D"", E","51","FRANCE","80","TABLE RED WINE"`,
			id + `|NJ-I-721|2024-01-02|A, B|C "D", E|51|FRANCE|80|TABLE RED WINE`},
		{"codes wrapped by a spreadsheet", `="` + id + `",="NJ-I-721",="007",="1/2/2024",A,B,="03",NEW JERSEY,'80A,ROSE WINE`,
			id + `|NJ-I-721|2024-01-02|A|B|03|NEW JERSEY|80A|ROSE WINE`},
		{"ID with an apostrophe", "'" + id + ",NJ-I-721,1,01/02/2024,A,B,51,FRANCE,80,TABLE RED WINE",
			id + "|NJ-I-721|2024-01-02|A|B|51|FRANCE|80|TABLE RED WINE"},
		{"ID in single quotes and a line break", "'" + id + "',NJ-I-721,1,01/02/2024,A,OLD\nTOM,51,FRANCE,80,TABLE RED WINE",
			id + "|NJ-I-721|2024-01-02|A|OLD TOM|51|FRANCE|80|TABLE RED WINE"},
		{"lower case permit, no date", id + ",nj-i-721,1,,A,B,51,FRANCE,80,TABLE RED WINE",
			id + "|NJ-I-721||A|B|51|FRANCE|80|TABLE RED WINE"},
		{"comma in the origin", id + ",NJ-I-721,1,01/02/2024,A,B,6U,MADAGASCAR, REPUBLIC OF,80,TABLE RED WINE", "origin"},
		{"comma in the serial number", id + ",NJ-I-721,24,17,01/02/2024,A,B,51,FRANCE,80,TABLE RED WINE",
			id + "|NJ-I-721|2024-01-02|A|B|51|FRANCE|80|TABLE RED WINE"},
		{"comma and space in the brand", id + ",NJ-I-721,1,01/02/2024,RED,SMITH, JONES & CO,51,FRANCE,80,TABLE RED WINE",
			id + "|NJ-I-721|2024-01-02|RED|SMITH, JONES & CO|51|FRANCE|80|TABLE RED WINE"},
		{"comma and space in the fanciful name", id + ",NJ-I-721,1,01/02/2024,RED, VERY RED,SMITH,51,FRANCE,80,TABLE RED WINE",
			id + "|NJ-I-721|2024-01-02|RED, VERY RED|SMITH|51|FRANCE|80|TABLE RED WINE"},
		{"comma in the brand, no fanciful name", id + ",NJ-I-721,1,01/02/2024,,1,000 STORIES,51,FRANCE,80,TABLE RED WINE",
			id + "|NJ-I-721|2024-01-02||1,000 STORIES|51|FRANCE|80|TABLE RED WINE"},
		{"comma in the brand, quoted fanciful name", id + `,NJ-I-721,1,01/02/2024,"A, B",1,000 STORIES,51,FRANCE,80,TABLE RED WINE`,
			id + "|NJ-I-721|2024-01-02|A, B|1,000 STORIES|51|FRANCE|80|TABLE RED WINE"},
		{"comma in either name", id + ",NJ-I-721,1,01/02/2024,A,1,000 STORIES,51,FRANCE,80,TABLE RED WINE", "!"},
		{"break in the brand", id + ",NJ-I-721,1,01/02/2024,RED,OLD\nTOM,51,FRANCE,80,TABLE RED WINE",
			id + "|NJ-I-721|2024-01-02|RED|OLD TOM|51|FRANCE|80|TABLE RED WINE"},
		{"breaks and a comma", id + ",NJ-I-721,1,01/02/2024,RED,OLD,\r\n\r\nTHE TOM,51,FRANCE,80,TABLE\nRED WINE", "!"},
		{"breaks and a comma with a space", id + ",NJ-I-721,1,01/02/2024,RED,OLD, THE\r\n\r\nTOM,51,FRANCE,80,TABLE\nRED WINE",
			id + "|NJ-I-721|2024-01-02|RED|OLD, THE TOM|51|FRANCE|80|TABLE RED WINE"},
		{"break within quotes", id + ",NJ-I-721,1,01/02/2024,\"RED\nAND DRY\",OLD TOM,51,FRANCE,80,TABLE RED WINE",
			id + "|NJ-I-721|2024-01-02|RED AND DRY|OLD TOM|51|FRANCE|80|TABLE RED WINE"},
		{"quote never closed", id + ",NJ-I-721,1,01/02/2024,\"RED,OLD TOM,51,FRANCE,80,TABLE RED WINE",
			id + "|NJ-I-721|2024-01-02|\"RED|OLD TOM|51|FRANCE|80|TABLE RED WINE"},
		{"quotes not doubled", id + ",NJ-I-721,1,01/02/2024,\"RED\" ROSE,5\" TOM,51,FRANCE,80,TABLE RED WINE",
			id + "|NJ-I-721|2024-01-02|\"RED\" ROSE|5\" TOM|51|FRANCE|80|TABLE RED WINE"},
		{"unknown codes", id + ",NJ-I-721,1,01/02/2024,A,B,9Z,ATLANTIS,80Z,SEA WINE",
			id + "|NJ-I-721|2024-01-02|A|B|9Z|ATLANTIS|80Z|SEA WINE"},
		{"unknown codes and a comma", id + ",NJ-I-721,1,01/02/2024,A,B,9Z,ATLANTIS, LOST,80Z,SEA WINE", "!"},
		{"no origin", id + ",NJ-I-721,1,01/02/2024,A,B,,,80,TABLE RED WINE", id + "|NJ-I-721|2024-01-02|A|B|||80|TABLE RED WINE"},
		{"too few fields", id + ",NJ-I-721,1,01/02/2024,A,B,51,FRANCE", "!"},
		{"missing field", id + ",NJ-I-721,1,01/02/2024,B,51,FRANCE,80,TABLE RED WINE,", "!"},
		{"malformed class code", id + ",NJ-I-721,1,01/02/2024,A,B,51,FRANCE,99999,WHAT", "!"},
		{"malformed origin code", id + ",NJ-I-721,1,01/02/2024,A,B,FRA,FRANCE,80,TABLE RED WINE", "!"},
		{"malformed class code after a comma", id + ",NJ-I-721,1,01/02/2024,A,B, C,51,FRANCE,99999,WHAT", "!"},
		{"endless commas", id + ",NJ-I-721,1,01/02/2024" + strings.Repeat(",51,80", 100_000), "!"},
		{"ISO date", id + ",NJ-I-721,1,2024-01-02,,B,51,FRANCE,80,TABLE RED WINE",
			id + "|NJ-I-721|2024-01-02||B|51|FRANCE|80|TABLE RED WINE"},
		{"ISO date and commas", id + ",NJ-I-721,24,17,2024-01-02,RED,SMITH, JONES,51,FRANCE,80,TABLE RED WINE",
			id + "|NJ-I-721|2024-01-02|RED|SMITH, JONES|51|FRANCE|80|TABLE RED WINE"},
		{"two-digit year", id + ",NJ-I-721,1,01/02/24,,B,51,FRANCE,80,TABLE RED WINE", "!"},
		{"two-digit year and a comma", id + ",NJ-I-721,1,01/02/24,,SMITH, JONES,51,FRANCE,80,TABLE RED WINE", "!"},
		{"month name", id + ",NJ-I-721,1,2 JAN 2024,,B,51,FRANCE,80,TABLE RED WINE", "!"},
		{"no date anywhere", id + ",NJ-I-721,1,2 JAN 2024,A,B, C,51,FRANCE,80,TABLE RED WINE", "!"},
		{"long line", id + ",NJ-I-721,1,01/02/2024," + strings.Repeat("A", maxRow) + ",B,51,FRANCE,80,TABLE RED WINE", "!"},
		{"long line without an ID", strings.Repeat("A", maxRow+1), "!"},
		{"an impossible date", id + ",NJ-I-721,1,13/45/2024,A,B,51,FRANCE,80,TABLE RED WINE", "!"},
		{"13-digit ID", "2345001000001,NJ-I-721,1,01/02/2024,A,B,51,FRANCE,80,TABLE RED WINE", "!"},
		{"ID rounded by a spreadsheet", "1.2345E+13,NJ-I-721,1,01/02/2024,A,B,51,FRANCE,80,TABLE RED WINE", "!"},
		{"not a row", "3 rows found", "!"},
		{"a class without a product type", id + ",NJ-I-721,1,01/02/2024,A,B,51,FRANCE,990,MIXES", "!"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if test.want == "origin" {
				code, name := originWithComma(t)
				test.text = strings.Replace(test.text, "6U,MADAGASCAR, REPUBLIC OF", code+","+name, 1)
				test.want = id + "|NJ-I-721|2024-01-02|A|B|" + code + "|" + name + "|80|TABLE RED WINE"
			}
			st := newFakeStore()
			report, err := Import(t.Context(), st, Colas, texts(ttbHeader+"\n"+before+test.text+after), Options{SkipInvalid: true})
			if err != nil {
				t.Fatal(err)
			}
			if got := exportRow(st.colas[10363001000317]); got != "10363001000317|NJ-I-721|2025-07-16||LENZ MOSER|64|AUSTRIA|81|TABLE WHITE WINE" {
				t.Errorf("row before the test row = %s", got)
			}
			if got := exportRow(st.colas[11024001000092]); got != "11024001000092|NJ-I-721|2025-07-16||FETE|64|AUSTRIA|80|TABLE RED WINE" {
				t.Errorf("row after the test row = %s", got)
			}
			if test.want == "!" {
				if len(report.Rejections) != 1 || report.Rejections[0].Line != 3 || len(st.colas) != 2 {
					t.Errorf("%d labels, rejections = %v, want 2 labels and line 3 rejected", len(st.colas), report.Rejections)
				}
				checkReport(t, reports, test.name, report)
				return
			}
			if got := exportRow(st.colas[12345001000001]); got != test.want || report.Read != 3 || report.Rejected != 0 {
				t.Errorf("got  %s\nwant %s\n%s %v", got, test.want, report.Summary(), report.Rejections)
			}
		})
	}
}

// originWithComma returns an origin with a comma in its name.
func originWithComma(t *testing.T) (code, name string) {
	t.Helper()
	for _, o := range vocabulary.Origins() {
		if strings.Contains(o.Name, ", ") {
			return o.ID, o.Name
		}
	}
	t.Fatal("no TTB origin name contains a comma")
	return "", ""
}

func TestTTBExportMeaning(t *testing.T) {
	text := ttbHeader + "\n12345001000001,CA-W-1,1,01/02/2024,,A,01,CALIFORNIA,931,SAKE\n" +
		ttbHeader + "\n\n12345001000002,DSP-KY-1,1,01/02/2024,,B,51,FRANCE,101,STRAIGHT BOURBON WHISKY\n"
	st := newFakeStore()
	stored := cola.Cola{ColaSummary: cola.ColaSummary{
		TTBID: 12345001000001, BrandName: "OLD", ProductName: "KEPT", ProductType: vocabulary.MaltBeverage, PermitNumber: "X-1",
		ApprovalDate: cola.NewDate(2020, 1, 2),
	}}
	stored.Derive()
	st.colas[stored.TTBID] = stored
	report := mustImport(t, st, Colas, texts(text)...)
	if report.Counts != (Counts{Read: 2, Added: 1, Changed: 1}) || report.Undated != 1 {
		t.Errorf("report = %s, undated = %d", report.Summary(), report.Undated)
	}
	first, second := st.colas[12345001000001], st.colas[12345001000002]
	if first.ProductName != "KEPT" || first.ApprovalDate != cola.NewDate(2020, 1, 2) {
		t.Errorf("export cleared fields that it does not contain: %+v", first.ColaSummary)
	}
	if first.BrandName != "A" || first.ProductType != vocabulary.Wine || first.DomesticOrImported != vocabulary.Domestic {
		t.Errorf("first label = %+v %s", first.ColaSummary, first.DomesticOrImported)
	}
	if second.ProductType != vocabulary.DistilledSpirits || second.DomesticOrImported != vocabulary.Imported || second.ApprovalDate != 0 {
		t.Errorf("second label = %+v %s", second.ColaSummary, second.DomesticOrImported)
	}
}

// TestTTBExportLongContinuation checks that an overlong line ends the incomplete row before it, and
// that both are rejected.
func TestTTBExportLongContinuation(t *testing.T) {
	st := newFakeStore()
	text := ttbHeader + "\n12345001000001,CA-W-1,1,01/02/2024,A,\n" + strings.Repeat("B", maxRow+1) +
		"\n12345001000002,DSP-KY-1,1,01/02/2024,,B,51,FRANCE,101,STRAIGHT BOURBON WHISKY\n"
	report, err := Import(t.Context(), st, Colas, texts(text), Options{SkipInvalid: true})
	if err != nil || report.Counts != (Counts{Read: 3, Added: 1, Rejected: 2}) {
		t.Errorf("error = %v, report = %s %v, want two rejected rows", err, report.Summary(), report.Rejections)
	}
}

// TestTTBExportColumns checks exports with edited columns.
func TestTTBExportColumns(t *testing.T) {
	const want = `12345001000001|NJ-I-721|2024-01-02|A, B|C "D"|51|FRANCE|80|TABLE RED WINE`
	reports := golden.Load(t, "ttb_columns")
	for _, test := range []struct{ name, text, want string }{
		{"reordered", "Brand Name,TTB ID,Permit No.,Serial Number,Completed Date,Fanciful Name,Class/Type,Class/Type Desc,Origin,Origin Desc\n" +
			`"C ""D""",12345001000001,NJ-I-721,1,01/02/2024,"A, B",80,TABLE RED WINE,51,FRANCE`, want},
		{"extended", ttbHeader + ",Status,Notes,\n" +
			`12345001000001,NJ-I-721,1,01/02/2024,"A, B","C ""D""",51,FRANCE,80,TABLE RED WINE,APPROVED,x,`, want},
		{"repeated", ttbHeader + ",brand name\n" +
			`12345001000001,NJ-I-721,1,01/02/2024,"A, B","C ""D""",51,FRANCE,80,TABLE RED WINE,E`, want},
		{"shortened", "TTB ID,Permit No.,Completed Date,Brand Name,Class/Type\n12345001000001,NJ-I-721,01/02/2024,B,80Z",
			"12345001000001|NJ-I-721|2024-01-02||B|||80Z|"},
		{"unquoted comma", ttbHeader + ",Status\n12345001000001,NJ-I-721,1,01/02/2024,,A, B,51,FRANCE,80,TABLE RED WINE,", "!"},
	} {
		t.Run(test.name, func(t *testing.T) {
			st := newFakeStore()
			report, err := Import(t.Context(), st, Colas, texts(test.text), Options{SkipInvalid: true})
			if err != nil {
				t.Fatal(err)
			}
			if got := exportRow(st.colas[12345001000001]); test.want != "!" && got != test.want {
				t.Errorf("got  %s\nwant %s\n%v", got, test.want, report.Rejections)
			}
			if anyRejected := report.Rejected > 0; anyRejected != (test.want == "!") {
				t.Errorf("rejected rows: %v", report.Rejections)
			}
			checkReport(t, reports, test.name, report)
		})
	}
	for name, header := range map[string]string{
		"no ID":             strings.TrimPrefix(ttbHeader, "TTB ID,"),
		"no permit number":  strings.Replace(ttbHeader, "Permit No.,", "", 1),
		"three are missing": "TTB ID,Permit No.,Serial Number,Origin",
	} {
		_, err := Import(t.Context(), newFakeStore(), Colas, texts(header+"\n"), Options{})
		if failure := (*SourceError)(nil); !errors.As(err, &failure) {
			t.Errorf("%s: error = %v, want a SourceError", name, err)
			continue
		}
		reports.Check(t, name, err.Error())
	}
}

// TestDelimiters checks that delimiters other than commas are detected in all CSV formats.
func TestDelimiters(t *testing.T) {
	for _, delimiter := range []string{"\t", ";", "|"} {
		delimited := func(text string) string { return strings.ReplaceAll(text, ",", delimiter) }
		st := newFakeStore()
		mustImport(t, st, Colas, texts(delimited(ttbHeader+"\n12345001000001,NJ-I-721,,01/02/2024,,\"A")+", B\""+delimited(",51,FRANCE,80,TABLE RED WINE\n,,,,,,,,,\n"),
			delimited("ttb_id,brand_name,product_type,permit_number,grape_varietals\n12345001000002,SMITH")+", JONES"+
				delimited(",wine,CA-W-1,MERLOT")+", SYRAH\n")...)
		if got := exportRow(st.colas[12345001000001]); got != "12345001000001|NJ-I-721|2024-01-02||A, B|51|FRANCE|80|TABLE RED WINE" {
			t.Errorf("%q: %s", delimiter, got)
		}
		label := st.colas[12345001000002]
		if label.BrandName != "SMITH, JONES" || strings.Join(label.GrapeVarietals, "+") != "MERLOT+SYRAH" {
			t.Errorf("%q: %s, %q", delimiter, label.BrandName, label.GrapeVarietals)
		}
		report := mustImport(t, st, Permittees, texts(delimited("PERMIT NUMBER,OWNER NAME,STATE\nCA-W-1,,CA\nTOTAL PERMITS: 2,,\n"))...)
		if report.Read != 1 || len(report.Warnings) != 1 || st.permittees["CA-W-1"].CompanyState != "CA" {
			t.Errorf("%q: permittees = %v, warnings = %v", delimiter, st.permittees, report.Warnings)
		}
	}
}
