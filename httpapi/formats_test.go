package httpapi

import (
	"cmp"
	"context"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/openapitest"
	"github.com/colaregistry/colaregistry/internal/web"
	"github.com/colaregistry/colaregistry/registry"
)

func TestNegotiate(t *testing.T) {
	for accept, want := range map[string]string{
		"":                                       mediaJSON,
		"*/*":                                    mediaJSON,
		"application/*":                          mediaJSON,
		"text/csv":                               mediaCSV,
		"TEXT/CSV; charset=utf-8; header=x":      mediaCSV,
		"text/*":                                 mediaCSV,
		"application/x-ndjson":                   mediaNDJSON,
		"text/csv, application/json":             mediaJSON, // equal quality: first one offered
		"text/csv, */*;q=0.1":                    mediaCSV,
		"application/json;q=0.5, text/csv;q=0.6": mediaCSV,
		"text/csv;q=0.2, application/x-ndjson;q=0.3, text/html":           mediaNDJSON,
		"*/*, application/json;q=0":                                       mediaCSV,
		"text/csv;q=0, text/*":                                            "",
		"application/*;q=0.1, application/x-ndjson;q=0.2, text/csv;q=0.1": mediaNDJSON,
		"text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8": mediaJSON,
		"text/html, image/gif, image/jpeg, *; q=.2, */*; q=.2":            mediaJSON,
		"application/json;q=0":                                            "",
		"text/html":                                                       "",
		"*/*;q=0":                                                         "",
		// malformed ranges are ignored
		"csv":                      mediaJSON,
		",, ,":                     mediaJSON,
		"text/csv;q=2":             mediaJSON,
		"text/csv;q=NaN":           mediaJSON,
		"text/csv;q=x, text/csv":   mediaCSV,
		"text/csv;q=1;q=0, text/*": mediaCSV,
	} {
		got, ok := negotiate(accept, listMedia())
		if got != want || ok != (want != "") {
			t.Errorf("negotiate(%q) = %q, %v; want %q", accept, got, ok, want)
		}
	}
}

// lists returns the operations that support formats other than JSON, by ID.
func lists(t *testing.T) map[string]*operation {
	t.Helper()
	found := map[string]*operation{}
	for _, op := range operations(newFake()) {
		if op.Rows != nil {
			found[op.ID] = &op
		}
	}
	want := []string{
		"countColas", "listAVAs", "listFormulaProcessingTimes", "listProcessingTimes", "listProductionReports",
		"listRegistrationProcessingTimes", "listRunMatches", "listSavedSearchMatches", "searchBrands", "searchColas",
		"searchPermittees",
	}
	if diff := gocmp.Diff(want, sortedKeys(found)); diff != "" {
		t.Fatalf("lists with formats (-want +got):\n%s", diff)
	}
	return found
}

// TestFormats checks that every list has the same rows and cost in each format, for GET and HEAD.
func TestFormats(t *testing.T) {
	spec := openapitest.Load(t, goldenOpenAPI)
	for id, op := range lists(t) {
		target := newExampleCall("", op).path + "?" + op.Sample
		f := newFake()
		var body struct {
			Data       []map[string]any
			Pagination struct{ Total *int }
			Meta       struct{ Total *int }
			Total      *int
		}
		if err := json.Unmarshal([]byte(mustRead(t, get(t, mustServe(t, f, io.Discard), target))), &body); err != nil {
			t.Fatal(err)
		}
		total := cmp.Or(body.Pagination.Total, body.Meta.Total, body.Total)
		for _, mediaType := range listMedia() {
			for _, method := range []string{http.MethodGet, http.MethodHead} {
				g := newFake()
				resp := send(t, mustServe(t, g, io.Discard), method, target, "X-API-Key: "+testKey, "Accept: "+mediaType)
				r, err := http.NewRequest(method, "http://127.0.0.1:8080"+target, nil)
				if err != nil {
					t.Fatal(err)
				}
				spec.Validate(t, r, resp)
				if got := resp.Header.Get("Content-Type"); resp.StatusCode != 200 || !strings.HasPrefix(got, mediaType) {
					t.Errorf("%s %s as %s: %d %s", method, id, mediaType, resp.StatusCode, got)
				}
				if g.used != f.used || g.spent != f.spent {
					t.Errorf("%s %s as %s: charged %+v and %d requests, want %+v and %d", method, id, mediaType, g.used, g.spent, f.used, f.spent)
				}
				if got := resp.Header.Values("Vary"); !slices.Contains(got, "Accept") {
					t.Errorf("%s as %s: Vary = %v", id, mediaType, got)
				}
				if got := resp.Header.Get(totalHeader); mediaType != mediaJSON && got != fmt.Sprint(*total) {
					t.Errorf("%s as %s: total = %s, want %d", id, mediaType, got, *total)
				}
				switch content := mustRead(t, resp); mediaType {
				case mediaCSV:
					checkCSV(t, id, content, csvNames(op), body.Data)
				case mediaNDJSON:
					checkNDJSON(t, id, content, body.Data)
				}
			}
		}
	}
}

// csvNames returns the CSV column names in the response to the example call.
func csvNames(op *operation) []string {
	rows := reflect.MakeSlice(reflect.SliceOf(op.Rows), 0, 0).Interface()
	return web.Table{Rows: rows, Fields: op.RowFields}.CSVHeader()
}

func checkNDJSON(t *testing.T, name, content string, want []map[string]any) {
	t.Helper()
	var got []map[string]any
	for line := range strings.Lines(content) {
		var row map[string]any
		if err := json.Unmarshal([]byte(line), &row); err != nil || !strings.HasSuffix(line, "}\n") {
			t.Errorf("%s: line %q: %v", name, line, err)
		}
		got = append(got, row)
	}
	if diff := gocmp.Diff(want, append([]map[string]any{}, got...)); diff != "" {
		t.Errorf("%s: NDJSON (-JSON +got):\n%s", name, diff)
	}
}

func checkCSV(t *testing.T, name, content string, columns []string, want []map[string]any) {
	t.Helper()
	rows, err := csv.NewReader(strings.NewReader(content)).ReadAll()
	if err != nil {
		t.Fatalf("%s: %v: %s", name, err, content)
	}
	if strings.Count(content, "\r\n") < len(want)+1 {
		t.Errorf("%s: lines don't end with CRLF: %q", name, content)
	}
	expected := [][]string{columns}
	for _, row := range want {
		var cells []string
		for _, c := range columns {
			cells = append(cells, cellOf(member(row, c)))
		}
		expected = append(expected, cells)
	}
	if diff := gocmp.Diff(expected, rows); diff != "" {
		t.Errorf("%s: CSV (-JSON +got):\n%s", name, diff)
	}
}

// member returns the decoded value of a CSV column: a member of the row, a member of an object in
// the row, or the values of a member in a list of objects.
func member(row map[string]any, column string) any {
	name, inner, nested := strings.Cut(column, ".")
	if !nested {
		return row[name]
	}
	if objects, ok := row[name].([]any); ok {
		values := make([]any, len(objects))
		for i := range objects {
			values[i] = objects[i].(map[string]any)[inner]
		}
		return values
	}
	return row[name].(map[string]any)[inner]
}

// cellOf returns the CSV text of a decoded JSON value.
func cellOf(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case []any:
		var texts []string
		for _, one := range v {
			texts = append(texts, cellOf(one))
		}
		return strings.Join(texts, "; ")
	}
	return fmt.Sprint(v)
}

// oneMember is a row of TestCSVText.
type oneMember struct {
	Name cola.Text `json:"name"`
}

// TestCSVText checks that a CSV reader gets any text back unchanged, except for an apostrophe
// before text that spreadsheets would run as a formula.
func TestCSVText(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		text := rapid.OneOf(rapid.String(), rapid.StringMatching(`[=+@\-\t]?[ ",;\na-z']*`)).Draw(rt, "text")
		content, err := web.Table{Rows: []oneMember{{"before"}, {cola.Text(text)}}}.AppendCSV(nil)
		if err != nil {
			rt.Fatal(err)
		}
		rows, err := csv.NewReader(strings.NewReader(string(content))).ReadAll()
		want := text
		if text != "" && strings.Contains("=+-@\t\r", text[:1]) {
			want = "'" + text
		}
		want = strings.ReplaceAll(want, "\r\n", "\n") // csv.Reader normalizes line breaks
		if err != nil || len(rows) != 3 || rows[2][0] != want {
			rt.Fatalf("%q: rows = %q, %v; want %q", text, rows, err, want)
		}
	})
}

// TestCSVFormulas checks cells that contain numbers, lists, dates, and text that looks like a
// formula.
func TestCSVFormulas(t *testing.T) {
	type row struct {
		Number cola.Opt[float64] `json:"number"`
		List   []string          `json:"list"`
		Date   cola.Date         `json:"date"`
		Note   string            `json:"note,omitempty"`
	}
	for want, r := range map[string]row{
		",,,":                   {},
		"-1.5,,,":               {Number: cola.Some(-1.5)},
		",'=A1; B,2024-05-31,":  {List: []string{"=A1", "B"}, Date: cola.NewDate(2024, 5, 31)},
		`,"a, b",,"say ""hi"""`: {List: []string{"a, b"}, Note: `say "hi"`},
		`0,,,'@SUM(A1)`:         {Number: cola.Some(0.0), Note: "@SUM(A1)"},
		`,,,'-196 STRONG LEMON`: {Note: "-196 STRONG LEMON"},
		`,,," lead"`:            {Note: " lead"},
	} {
		content, err := web.Table{Rows: []row{r}}.AppendCSV(nil)
		if got := string(content); err != nil || got != "number,list,date,note\r\n"+want+"\r\n" {
			t.Errorf("%+v: %q, %v; want %q", r, got, err, want)
		}
	}
	if _, err := (web.Table{Rows: []struct {
		O map[string]int `json:"o"`
	}{{map[string]int{}}}}).AppendCSV(nil); err == nil {
		t.Error("AppendCSV accepted an object in a cell, want an error")
	}
}

// TestNestedCSV checks the columns for objects and lists of objects.
func TestNestedCSV(t *testing.T) {
	type inner struct {
		Name  cola.Text `json:"name" nullable:"true"`
		Count int       `json:"count"`
	}
	type row struct {
		ID     string  `json:"id"`
		Object inner   `json:"object"`
		List   []inner `json:"list"`
	}
	for want, r := range map[string]row{
		"a,b,3,,":                {"a", inner{"b", 3}, nil},
		"a,,0,c; ; d,1; 2; 3":    {"a", inner{}, []inner{{"c", 1}, {"", 2}, {"d", 3}}},
		"a,'=b,0,'=c; @d,'-1; 2": {"a", inner{"=b", 0}, []inner{{"=c", -1}, {"@d", 2}}},
	} {
		content, err := web.Table{Rows: []row{r}}.AppendCSV(nil)
		if got := string(content); err != nil || got != "id,object.name,object.count,list.name,list.count\r\n"+want+"\r\n" {
			t.Errorf("%+v: %q, %v; want %q", r, got, err, want)
		}
	}
}

func TestNotAcceptable(t *testing.T) {
	for id, op := range lists(t) {
		f := newFake()
		resp := get(t, mustServe(t, f, io.Discard), newExampleCall("", op).path, "Accept: text/html", "Accept: image/png")
		d := mustDecode(t, resp)
		available := fmt.Sprint(d.Error.Details["available"])
		if resp.StatusCode != 406 || d.Error.Code != "not_acceptable" || available != fmt.Sprint(listMedia()) {
			t.Errorf("%s: response = %d %+v, want 406 with the media types", id, resp.StatusCode, d.Error)
		}
		if f.used != (cola.Used{}) || f.spent != 1 || resp.Header.Get("X-Quota-Reset") == "" || !slices.Contains(resp.Header.Values("Vary"), "Accept") {
			t.Errorf("%s: charged %+v and %d requests, headers %v; want one free request", id, f.used, f.spent, resp.Header)
		}
	}
	// Other operations have one format and ignore the header.
	if resp := get(t, mustServe(t, newFake(), io.Discard), "/api/v1/usage", "Accept: text/csv"); resp.StatusCode != 200 || resp.Header.Get("Content-Type") != mediaJSON {
		t.Errorf("usage as text/csv: response = %d %s, want JSON", resp.StatusCode, resp.Header.Get("Content-Type"))
	}
	resp := get(t, mustServe(t, newFake(), io.Discard), "/api/v1/colas?pag=1", "Accept: text/csv")
	if d := mustDecode(t, resp); resp.StatusCode != 400 || d.Error.Code != "validation_error" || resp.Header.Get(totalHeader) != "" {
		t.Errorf("error as text/csv: %d %v", resp.StatusCode, resp.Header)
	}
}

// pagesOf is a Service with searches that return fixed pages.
type pagesOf struct {
	*fake
	colas      registry.ColaPage
	permittees registry.PermitteePage
}

func (s *pagesOf) SearchColas(context.Context, cola.Caller, cola.SearchParams) (registry.ColaPage, cola.QuotaState, error) {
	return s.colas, s.state(), nil
}

func (s *pagesOf) SearchPermittees(context.Context, cola.Caller, cola.PermitteeParams) (registry.PermitteePage, cola.QuotaState, error) {
	return s.permittees, s.state(), nil
}

// TestListHeaders checks the headers that replace the other members of the JSON body.
func TestListHeaders(t *testing.T) {
	const server = "http://127.0.0.1:8080"
	window := &cola.DefaultsApplied{DateRange: true, DateFrom: cola.NewDate(2025, 11, 20)}
	headers := func(next, total, truncated, from, notes string) map[string]string {
		if next != "" {
			next = "<" + server + "/api/v1" + next + `>; rel="next"`
		}
		return map[string]string{"Link": next, totalHeader: total, truncatedHeader: truncated, windowHeader: from, notesHeader: notes}
	}
	for _, tt := range []struct {
		target string
		at     cola.Pagination
		from   *cola.DefaultsApplied
		notes  []string
		want   map[string]string
	}{
		{"/colas", cola.Pagination{Page: 1, Total: 0}, nil, nil, headers("", "0", "", "", "")},
		{
			"/colas?q=a+b%26c&page=2&product_type=wine&product_type=malt+beverage", cola.Pagination{Page: 2, Total: 41, HasMore: true, NextCursor: "AQ_-"},
			window, nil, headers("/colas?cursor=AQ_-&product_type=wine&product_type=malt+beverage&q=a+b%26c", "41", "", "2025-11-20", ""),
		},
		{
			"/colas?cursor=old", cola.Pagination{Page: 3, Total: 41, HasMore: true, TruncatedByQuota: true, NextCursor: "new"},
			nil, []string{`No label contains "crème 🍷"`, "b"},
			headers("/colas?cursor=new", "41", "true", "", `["No label contains \"cr\u00e8me \ud83c\udf77\"","b"]`),
		},
		{"/permittees?q=a", cola.Pagination{Page: 1, Total: 9, HasMore: true}, nil, nil, headers("/permittees?page=2&q=a", "9", "", "", "")},
		{"/permittees?page=7", cola.Pagination{Page: 7, Total: 9}, nil, nil, headers("", "9", "", "", "")},
		{"/permittees", cola.Pagination{Page: 1, Total: 9, HasMore: true, TruncatedByQuota: true}, nil, nil, headers("", "9", "true", "", "")},
	} {
		svc := &pagesOf{newFake(), registry.ColaPage{Pagination: tt.at, Defaults: tt.from, Notes: tt.notes}, registry.PermitteePage{Pagination: tt.at}}
		for _, mediaType := range []string{mediaCSV, mediaNDJSON} {
			resp := get(t, mustServe(t, svc, io.Discard), "/api/v1"+tt.target, "Accept: "+mediaType)
			got := map[string]string{}
			for name := range tt.want {
				got[name] = resp.Header.Get(name)
			}
			if diff := gocmp.Diff(tt.want, got); diff != "" {
				t.Errorf("%s as %s: headers (-want +got):\n%s", tt.target, mediaType, diff)
			}
			if notes := resp.Header.Get(notesHeader); notes != "" {
				var decoded []string
				if err := json.Unmarshal([]byte(notes), &decoded); err != nil || !slices.Equal(decoded, tt.notes) {
					t.Errorf("notes = %q, %v; want %q", decoded, err, tt.notes)
				}
			}
		}
	}
}

// TestOtherHeaders checks that the rows and headers of counts add up to the total.
func TestOtherHeaders(t *testing.T) {
	for _, known := range []cola.Opt[int]{cola.Some(2), {}} {
		f := newFake()
		f.others = cola.OtherGroups{Groups: known, Labels: 5}
		resp := get(t, mustServe(t, f, io.Discard), "/api/v1/colas/stats?group_by=status", "Accept: text/csv")
		groups := ""
		if known.OK {
			groups = "2"
		}
		if got := resp.Header; got.Get(otherLabelsHeader) != "5" || got.Get(otherGroupsHeader) != groups || got.Get(totalHeader) != "9" {
			t.Errorf("headers = %v, want other groups %+v", got, f.others)
		}
		if content := mustRead(t, resp); content != "status,count\r\nknown,3\r\n,1\r\n" {
			t.Errorf("rows = %q", content)
		}
	}
}

// TestGroupColumns checks that the columns of counts are in the order of group_by, and that counts
// by period have a column that marks partial periods.
func TestGroupColumns(t *testing.T) {
	for by, want := range map[string]string{
		"status,product_type": "status,product_type,count", "product_type,status": "product_type,status,count",
		"permit,year": "permit,company_name,year,count,partial",
	} {
		resp := get(t, mustServe(t, newFake(), io.Discard), "/api/v1/colas/stats?group_by="+by, "Accept: text/csv")
		if header, _, _ := strings.Cut(mustRead(t, resp), "\r\n"); header != want {
			t.Errorf("group_by=%s: columns %s, want %s", by, header, want)
		}
	}
}

// TestExposedListHeaders checks that scripts from other origins can read the headers of lists.
func TestExposedListHeaders(t *testing.T) {
	resp := get(t, mustServe(t, newFake(), io.Discard), "/api/v1/colas", "Origin: https://app.example", "Accept: text/csv")
	exposed := strings.Split(resp.Header.Get("Access-Control-Expose-Headers"), ", ")
	for _, name := range listHeaders() {
		if !slices.Contains(exposed, http.CanonicalHeaderKey(name)) {
			t.Errorf("%s is not among the exposed headers %v", name, exposed)
		}
	}
}

// sparseLists are the paths with a fields parameter.
var sparseLists = map[string]struct {
	row, params reflect.Type
	more        map[string]any // members that are only returned if selected
}{
	"/colas": {
		reflect.TypeFor[cola.ColaRow](), reflect.TypeFor[colaParams](),
		map[string]any{"company_name": "KNOWN", "abv": 12.5, "volume_ml": nil},
	},
	"/permittees": {reflect.TypeFor[cola.PermitteeSummary](), reflect.TypeFor[permitteeParams](), nil},
}

// TestFields checks that fields selects members in every format, and accepts exactly the members
// of the rows.
func TestFields(t *testing.T) {
	h := mustServe(t, newFake(), io.Discard)
	for path, list := range sparseLists {
		names := web.MemberNames(list.row)
		f, _ := list.params.FieldByName("Fields")
		if want := strings.Join(names, ","); f.Tag.Get("enum") != want {
			t.Errorf("%s: fields has the enum %s, want %s", path, f.Tag.Get("enum"), want)
		}
		whole := dataOfList(t, h, path)
		for name, value := range list.more {
			if _, returned := whole[name]; returned {
				t.Errorf("%s returns %s without fields", path, name)
			}
			whole[name] = value
		}
		rapid.Check(t, func(rt *rapid.T) {
			chosen := rapid.SliceOfNDistinct(rapid.SampledFrom(names), 1, len(names), rapid.ID).Draw(rt, "fields")
			want := maps.Clone(whole)
			maps.DeleteFunc(want, func(name string, _ any) bool { return !slices.Contains(chosen, name) })
			target := path + "?fields=" + url.QueryEscape(strings.Join(chosen, " , "))
			if diff := gocmp.Diff(want, dataOfList(t, h, target)); diff != "" {
				rt.Fatalf("%s (-want +got):\n%s", target, diff)
			}
			slices.SortFunc(chosen, func(a, b string) int { return slices.Index(names, a) - slices.Index(names, b) })
			checkCSV(t, target, mustRead(t, get(t, h, basePath+target, "Accept: text/csv")), chosen, []map[string]any{whole})
			checkNDJSON(t, target, mustRead(t, get(t, h, basePath+target, "Accept: application/x-ndjson")), []map[string]any{want})
		})
	}
}

// dataOfList returns the only row of a list.
func dataOfList(t *testing.T, h http.Handler, target string) map[string]any {
	t.Helper()
	var body struct{ Data []map[string]any }
	if err := json.Unmarshal([]byte(mustRead(t, get(t, h, basePath+target))), &body); err != nil || len(body.Data) != 1 {
		t.Fatalf("%s: %v, %v", target, body, err)
	}
	return body.Data[0]
}

func TestUnknownFields(t *testing.T) {
	f := newFake()
	resp := get(t, mustServe(t, f, io.Discard), "/api/v1/colas?fields=ttb_id,brandname&per_page=500&fields=volume")
	d := mustDecode(t, resp)
	messages := fmt.Sprint(d.Error.Details["fields"])
	if resp.StatusCode != 400 || len(d.Error.Details) != 2 || !strings.Contains(messages, "brand_name?") || !strings.Contains(messages, `"volume"`) {
		t.Errorf("unknown fields: response = %d %v; want both names with a suggestion, and per_page", resp.StatusCode, d.Error.Details)
	}
	if f.used != (cola.Used{}) || f.spent != 1 {
		t.Errorf("charged %+v and %d requests, want one free request", f.used, f.spent)
	}
}
