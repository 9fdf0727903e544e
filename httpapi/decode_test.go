package httpapi

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/golden"
	"github.com/colaregistry/colaregistry/internal/openapitest"
	"github.com/colaregistry/colaregistry/internal/params"
	"github.com/colaregistry/colaregistry/internal/web"
)

func TestDecode(t *testing.T) {
	tests := []struct {
		query string
		want  cola.SearchParams
	}{
		{"", cola.SearchParams{}},
		{"&&", cola.SearchParams{}},
		{"q=a+b%20c%2Bd", cola.SearchParams{Q: "a b c+d"}},
		{"q=a=b", cola.SearchParams{Q: "a=b"}},
		{"q=%2525", cola.SearchParams{Q: "%25"}},
		{"q=ch%C3%A2teau", cola.SearchParams{Q: "château"}},
		{"%71=x", cola.SearchParams{Q: "x"}},
		{"q=&page=&status", cola.SearchParams{}},
		{"q=&q=x", cola.SearchParams{Q: "x"}},
		{"product_type=wine,malt%20beverage", cola.SearchParams{ProductType: []string{"wine", "malt beverage"}}},
		{"product_type=wine&product_type=+distilled+spirits+,", cola.SearchParams{ProductType: []string{"wine", "distilled spirits"}}},
		{"product_type=,,", cola.SearchParams{}},
		{"approval_date_from=2024-02-29", cola.SearchParams{ApprovalDateFrom: cola.NewDate(2024, 2, 29)}},
		{"approval_date_from=+2024-02-29+", cola.SearchParams{ApprovalDateFrom: cola.NewDate(2024, 2, 29)}},
		{"date_range=all&estimated_dates=Exclude", cola.SearchParams{DateRange: "all", EstimatedDates: "Exclude"}},
		{"page=7&per_page=+20", cola.SearchParams{Page: cola.Some(7), PerPage: cola.Some(20)}},
		{"page=0&per_page=-1", cola.SearchParams{Page: cola.Some(0), PerPage: cola.Some(-1)}},
		{"page=+", cola.SearchParams{}},
		{"abv_min=0&abv_max=14.50", cola.SearchParams{ABVMin: cola.Some(0.0), ABVMax: cola.Some(14.5)}},
		{"volume_min=1e3&volume_max=.5", cola.SearchParams{VolumeMin: cola.Some(1000.0), VolumeMax: cola.Some(0.5)}},
	}
	d := newDecoder[cola.SearchParams]()
	for _, tt := range tests {
		if diff := cmp.Diff(tt.want, d.decode(tt.query)); diff != "" {
			t.Errorf("decode(%q) (-want +got):\n%s", tt.query, diff)
		}
	}
}

func TestDecodeProblems(t *testing.T) {
	problems := golden.Load(t, "decode_problems")
	d := newDecoder[cola.SearchParams]()
	for _, query := range []string{
		"page=two",
		"page=1.5",
		"page=99999999999999999999",
		"page=%EF%BC%91",
		"abv_min=strong",
		"volume_min=NaN",
		"volume_min=inf",
		"volume_min=0x10",
		"volume_min=1e999",
		"approval_date_to=2023-02-29",
		"approval_date_to=05/31/2024",
		"q=a&q=b&q=c",
		"page=1&page=1",
		"brandname=x",
		"Q=x",
		"unknown=&unknown=1",
		"q=%zz",
		"q=100%",
		"%zz=1",
		"=x",
		"product_type=wine;page=2",
		"page=x&statsu=a&abv_max=y&q=%",
	} {
		problems.Check(t, query, d.decode(query).Problems)
	}
}

func TestDecodeNoParams(t *testing.T) {
	got := newDecoder[cola.NoParams]().decode("q=1").Problems
	if len(got) != 1 || len(got["q"]) != 1 {
		t.Errorf("problems = %v, want one for q", got)
	}
}

func TestDecodeLimits(t *testing.T) {
	d := newDecoder[cola.SearchParams]()
	if got := d.decode("q=" + strings.Repeat("x", maxQueryBytes-2)); got.Problems != nil || len(got.Q) != maxQueryBytes-2 {
		t.Errorf("query of %d bytes: problems = %v, want none", maxQueryBytes, got.Problems)
	}
	if got := d.decode("q=" + strings.Repeat("x", maxQueryBytes-1)).Problems; len(got["query"]) != 1 {
		t.Errorf("query of %d bytes: problems = %v, want one", maxQueryBytes+1, got)
	}
	many := strings.Repeat("product_type=wine&", maxQueryPairs)
	if got := d.decode(many).Problems; got != nil {
		t.Errorf("%d parameters: problems = %v, want none", maxQueryPairs, got)
	}
	if got := d.decode(many + "q=x").Problems; len(got["query"]) != 1 {
		t.Errorf("%d parameters: problems = %v, want one", maxQueryPairs+1, got)
	}
	long := strings.Repeat("é", 200)
	for name, messages := range d.decode(url.QueryEscape(long) + "=1&page=" + url.QueryEscape(long)).Problems {
		if utf8.RuneCountInString(name) > params.MaxTextLength+1 || utf8.RuneCountInString(messages[0]) > 500 {
			t.Errorf("long value is not shortened: %q: %q", name, messages)
		}
	}
}

// TestDecodeEncoded checks that decoding returns what a client encoded, for any parameter values.
func TestDecodeEncoded(t *testing.T) {
	d := newDecoder[cola.SearchParams]()
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.String()
		word := rapid.StringMatching(`[^, \t\n\v\f\r\x85\xA0;]+`).Filter(func(s string) bool { return strings.TrimSpace(s) == s && s != "" })
		want := cola.SearchParams{
			Q: text.Draw(t, "q"), BrandName: text.Draw(t, "brand"), Origin: text.Draw(t, "origin"),
			ApprovalDateFrom: cola.Date(rapid.IntRange(1, 3_000_000).Draw(t, "from")),
			ABVMin:           cola.Some(rapid.Float64Range(-1e9, 1e9).Draw(t, "abv")),
			Page:             cola.Some(rapid.Int().Draw(t, "page")),
		}
		if list := rapid.SliceOfN(word, 1, 4).Draw(t, "types"); len(list) > 0 {
			want.ProductType = list
		}
		values := url.Values{
			"q": {want.Q}, "brand_name": {want.BrandName}, "origin": {want.Origin},
			"approval_date_from": {want.ApprovalDateFrom.String()},
			"abv_min":            {fmt.Sprint(want.ABVMin.V)}, "page": {fmt.Sprint(want.Page.V)},
			"product_type": {strings.Join(want.ProductType, ",")},
		}
		if diff := cmp.Diff(want, d.decode(values.Encode())); diff != "" {
			t.Fatalf("decode(%s) (-want +got):\n%s", values.Encode(), diff)
		}
	})
}

// TestDecodeUnknownNames checks that unknown parameters are always reported.
func TestDecodeUnknownNames(t *testing.T) {
	d := newDecoder[cola.PermitteeParams]()
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.StringN(1, params.MaxTextLength, -1).Draw(t, "name")
		if _, known := d.Takes(name); known {
			return
		}
		got := d.decode("q=x&" + url.QueryEscape(name) + "=" + url.QueryEscape(rapid.String().Draw(t, "value")))
		if got.Q != "x" || len(got.Problems) != 1 || len(got.Problems[name]) != 1 {
			t.Fatalf("decode with unknown parameter %q: problems = %v, want one", name, got.Problems)
		}
	})
}

func FuzzDecode(f *testing.F) {
	for _, seed := range []string{"q=a&page=2", "product_type=wine,beer&product_type=x", "q=%zz&=;", "approval_date_from=2024-02-30", "abv_min=1e5&%00=%FF", "page=1&page=2"} {
		f.Add(seed)
	}
	d := newDecoder[cola.SearchParams]()
	f.Fuzz(func(t *testing.T, raw string) {
		got := d.decode(raw)
		if second := d.decode(raw); !reflect.DeepEqual(got.Problems, second.Problems) {
			t.Errorf("decode is not deterministic: problems %v, then %v", got.Problems, second.Problems)
		}
		for name, messages := range got.Problems {
			if !utf8.ValidString(name) || len(messages) == 0 {
				t.Errorf("invalid problem for %q: %q", name, messages)
			}
		}
		if values, err := url.ParseQuery(raw); err != nil && len(raw) > 0 && got.Problems == nil {
			t.Errorf("net/url rejects %q (%v), but decode accepts it", raw, err)
		} else if err == nil && got.Problems == nil {
			checkAgainstURL(t, d, values)
		}
	})
}

// checkAgainstURL compares a query decoded without problems with the values that net/url parses.
func checkAgainstURL(t *testing.T, d decoder[cola.SearchParams], values url.Values) {
	t.Helper()
	for name, list := range values {
		several, known := d.Takes(name)
		if !known {
			t.Errorf("unknown parameter %q is accepted", name)
			continue
		}
		list = slices.DeleteFunc(list, func(v string) bool { return v == "" })
		if !several && len(list) > 1 {
			t.Errorf("%q is accepted with %d values", name, len(list))
		}
	}
}

const createPath = basePath + savedSearchesPath

// goodBody creates a search without a schedule.
const goodBody = `{"name":"Oaks","filters":{"brand_name":"oak"}}`

// TestRejectedBodies checks that each unreadable body is rejected as documented and costs one
// request.
func TestRejectedBodies(t *testing.T) {
	spec := openapitest.Load(t, goldenOpenAPI)
	messages := golden.Load(t, "unreadable_bodies")
	tests := []struct {
		name, body, line string
		status           int
		code             string
	}{
		{"empty", "", "", 400, "validation_error"},
		{"blank", " \r\n\t ", "", 400, "validation_error"},
		{"text", "name=Oaks", "", 400, "validation_error"},
		{"truncated", goodBody[:20], "", 400, "validation_error"},
		{"two objects", goodBody + goodBody, "", 400, "validation_error"},
		{"trailing comma", `{"name":"a",}`, "", 400, "validation_error"},
		{"byte order mark", "\ufeff" + goodBody, "", 400, "validation_error"},
		{"no-break space", "\u00a0" + goodBody, "", 400, "validation_error"},
		{"not UTF-8", "{\"name\":\"\xff\"}", "", 400, "validation_error"},
		{"array", "[" + goodBody + "]", "", 400, "validation_error"},
		{"null", "null", "", 400, "validation_error"},
		{"string", `"x"`, "", 400, "validation_error"},
		{"deeply nested", `{"a":` + strings.Repeat("[", 5000) + strings.Repeat("]", 5000) + `}`, "", 400, "validation_error"},

		{"no type", goodBody, "Content-Type: ", 415, "unsupported_media_type"},
		{"form", goodBody, "Content-Type: application/x-www-form-urlencoded", 415, "unsupported_media_type"},
		{"text type", goodBody, "Content-Type: text/json", 415, "unsupported_media_type"},
		{"malformed type", goodBody, "Content-Type: application/json; charset", 415, "unsupported_media_type"},
		{"other charset", goodBody, "Content-Type: application/json; charset=utf-16", 415, "unsupported_media_type"},
		{"compressed", goodBody, "Content-Encoding: gzip", 415, "unsupported_media_type"},
		{"large", `{"name":"` + strings.Repeat("x", maxBodyBytes) + `"}`, "", 413, "payload_too_large"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := newFake()
			resp := postReplacing(t, mustServe(t, f, io.Discard), tt.body, tt.line)
			spec.Validate(t, httptest.NewRequest(http.MethodPost, createPath, nil), resp)
			got := mustDecode(t, resp)
			if resp.StatusCode != tt.status || got.Error.Code != tt.code {
				t.Errorf("response = %d %s, want %d %s", resp.StatusCode, got.Error.Code, tt.status, tt.code)
			}
			messages.Check(t, tt.name, []any{got.Error.Message, got.Error.Details["body"]})
			if f.spent != 1 || f.created.Name != "" || resp.Header.Get("X-Quota-Reset") == "" {
				t.Errorf("spent %d requests, created %+v, headers %v; want 1 request and nothing created", f.spent, f.created, resp.Header)
			}
		})
	}
}

// postReplacing posts a body with one header line replaced or added.
func postReplacing(t *testing.T, h http.Handler, body, line string) *http.Response {
	t.Helper()
	lines := []string{"X-API-Key: " + testKey}
	if !strings.HasPrefix(line, "Content-Type") {
		lines = append(lines, "Content-Type: application/json")
	}
	if line != "" {
		lines = append(lines, line)
	}
	return sendBody(t, h, http.MethodPost, createPath, strings.NewReader(body), lines...)
}

func TestAcceptedBodies(t *testing.T) {
	padded := goodBody[:len(goodBody)-1] + `,"schedule":null` + strings.Repeat(" ", maxBodyBytes-len(goodBody)-len(`,"schedule":null`)) + "}"
	for name, tt := range map[string][2]string{
		"charset":       {goodBody, "Content-Type: application/json; charset=UTF-8"},
		"upper case":    {goodBody, "Content-Type: Application/JSON"},
		"identity":      {goodBody, "Content-Encoding: identity"},
		"white space":   {"\r\n\t " + goodBody + "\n", ""},
		"largest":       {padded, ""},
		"escaped names": {strings.ReplaceAll(goodBody, "name", `n\u0061me`), ""},
	} {
		f := newFake()
		resp := postReplacing(t, mustServe(t, f, io.Discard), tt[0], tt[1])
		if resp.StatusCode != http.StatusCreated || f.spent != 1 || f.created.Name != "Oaks" || f.created.Filters.BrandName != "oak" || f.created.Schedule != nil {
			t.Errorf("%s: response = %d %s, want 201", name, resp.StatusCode, mustRead(t, resp))
		}
	}
}

// TestChunkedBodies checks that a body without a Content-Length is accepted, but rejected if it is
// too large or truncated.
func TestChunkedBodies(t *testing.T) {
	f := newFake()
	server := httptest.NewServer(mustServe(t, f, io.Discard))
	defer server.Close()
	exchange := func(chunks string) (status int, body string) {
		conn, err := net.Dial("tcp", server.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: x\r\nX-API-Key: %s\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n%s", createPath, testKey, chunks)
		conn.(*net.TCPConn).CloseWrite()
		resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		return resp.StatusCode, mustRead(t, resp)
	}
	chunk := func(s string) string { return fmt.Sprintf("%x\r\n%s\r\n", len(s), s) }
	if status, body := exchange(chunk(goodBody[:9]) + chunk(goodBody[9:]) + "0\r\n\r\n"); status != http.StatusCreated {
		t.Errorf("chunked body: response = %d %s, want 201", status, body)
	}
	if status, body := exchange(chunk(goodBody) + chunk(strings.Repeat(" ", maxBodyBytes)) + "0\r\n\r\n"); status != http.StatusRequestEntityTooLarge || !strings.Contains(body, "payload_too_large") {
		t.Errorf("long chunked body: response = %d %s, want 413", status, body)
	}
	f.created = cola.SavedSearchParams{}
	if status, body := exchange(chunk(goodBody)); status != http.StatusBadRequest || !strings.Contains(body, "incomplete") || f.created.Name != "" {
		t.Errorf("truncated chunked body: response = %d %s, want 400", status, body)
	}
}

// TestBodyFieldsInQuery checks that fields of the body are rejected in the query string.
func TestBodyFieldsInQuery(t *testing.T) {
	f := newFake()
	got := mustDecode(t, post(t, mustServe(t, f, io.Discard), createPath+"?dry_run=1&name=x&name=y&%zz", goodBody))
	for _, name := range []string{"dry_run", "name"} {
		if messages, _ := got.Error.Details[name].([]any); len(messages) != 1 {
			t.Errorf("problems with %s = %v, want one", name, messages)
		}
	}
	if len(got.Error.Details) != 3 || f.spent != 1 {
		t.Errorf("spent %d requests, problems = %v; want 1 request, 3 problems", f.spent, got.Error.Details)
	}
}

// TestRateLimitBeforeBody checks that an exceeded rate limit takes precedence over an unreadable
// body.
func TestRateLimitBeforeBody(t *testing.T) {
	f := newFake()
	f.err = &cola.Error{Code: cola.CodeQuotaExceeded, Message: "Too fast.", RetryAfter: 1}
	for _, body := range []string{"", goodBody} {
		if resp := post(t, mustServe(t, f, io.Discard), createPath, body); resp.StatusCode != http.StatusTooManyRequests {
			t.Errorf("body %q: status = %d, want 429", body, resp.StatusCode)
		}
	}
}

// TestSavedSearchMethods checks that each path rejects other methods with a list of the allowed
// ones, and that the log shows the route.
func TestSavedSearchMethods(t *testing.T) {
	spec := openapitest.Load(t, goldenOpenAPI)
	for _, tt := range []struct {
		path, route, allow string
		refused            []string
	}{
		{createPath, createPath, "GET, HEAD, POST", []string{"PUT", "PATCH", "DELETE", "BREW"}},
		{createPath + "/" + exampleUUID, createPath + "/{uuid}", "GET, HEAD, PATCH, DELETE", []string{"POST", "PUT", "BREW"}},
		{createPath + "/preview", createPath + "/preview", "POST", []string{"PUT", "BREW"}},
		{createPath + "/pr%65view", createPath + "/preview", "POST", []string{"GET", "HEAD", "PATCH", "DELETE"}}, // not a search ID
	} {
		for _, method := range tt.refused {
			f := newFake()
			var log strings.Builder
			resp := send(t, mustServe(t, f, &log), method, tt.path, "X-API-Key: "+testKey)
			spec.Validate(t, httptest.NewRequest(method, strings.ReplaceAll(tt.path, "%65", "e"), nil), resp)
			if resp.StatusCode != http.StatusMethodNotAllowed || resp.Header.Get("Allow") != tt.allow || f.spent != 1 || resp.Header.Get(web.QuotaHeaders()[0]) == "" {
				t.Errorf("%s %s: status = %d, Allow = %q, %d requests spent; want 405, %q, 1", method, tt.path, resp.StatusCode, resp.Header.Get("Allow"), f.spent, tt.allow)
			}
			if body := mustRead(t, resp); !strings.Contains(body, "use "+strings.ReplaceAll(tt.allow, ", ", " or ")+".") {
				t.Errorf("%s %s: body = %s, want the allowed methods", method, tt.path, body)
			}
			if !strings.Contains(log.String(), `"route":"`+tt.route+`"`) {
				t.Errorf("%s %s: log = %s, want route %s", method, tt.path, log.String(), tt.route)
			}
		}
	}
	for method, path := range map[string]string{"POST": createPath, "PATCH": createPath + "/{uuid}", "DELETE": createPath + "/{uuid}"} {
		var log strings.Builder
		resp := sendBody(t, mustServe(t, newFake(), &log), method, path, strings.NewReader(goodBody), "Content-Type: application/json")
		if resp.StatusCode != http.StatusUnauthorized || !strings.Contains(log.String(), `"route":"`+path+`"`) {
			t.Errorf("%s without a key: status = %d, log = %s; want 401 with the route", method, resp.StatusCode, log.String())
		}
	}
	var log strings.Builder
	sendBody(t, mustServe(t, newFake(), &log), http.MethodPost, createPath+"/preview", nil)
	if !strings.Contains(log.String(), `"route":"/api/v1/saved-searches/preview"`) {
		t.Errorf("preview without a key: log = %s, want the route", log.String())
	}
}

// TestBodyWithManyValues checks that a body with thousands of values, within 64 KiB, is rejected
// before it is decoded.
func TestBodyWithManyValues(t *testing.T) {
	many := `{"name":"a","filters":{` + strings.Repeat(`"a":1,`, 5_000) + `"a":1}}`
	if problem := objectProblem([]byte(many), "{}"); !strings.Contains(problem, "too many values") {
		t.Errorf("objectProblem(many values) = %q", problem)
	}
}
