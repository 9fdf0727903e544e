package httpapi

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/openapitest"
	"github.com/colaregistry/colaregistry/internal/web"
)

const createPath = basePath + savedSearchesPath

// goodBody makes a search without a schedule.
const goodBody = `{"name":"Oaks","filters":{"brand_name":"oak"}}`

// TestBodiesThatAreNotRead: each is refused in words, as described, at the price of one request and no more.
func TestBodiesThatAreNotRead(t *testing.T) {
	spec := openapitest.Load(t, goldenOpenAPI)
	const example = `send a JSON object, such as {"name": "New Oak brands", "filters": {"query": "barrel aged", "brand_name": "oak"}}.`
	tests := []struct {
		name, body, line string
		status           int
		code, says       string
	}{
		{"empty", "", "", 400, "validation_error", "The body is empty; " + example},
		{"blank", " \r\n\t ", "", 400, "validation_error", "The body is empty; " + example},
		{"text", "name=Oaks", "", 400, "validation_error", "The body is not JSON: invalid character"},
		{"cut off", goodBody[:20], "", 400, "validation_error", "The body is not JSON: unexpected end of JSON input; " + example},
		{"two", goodBody + goodBody, "", 400, "validation_error", "The body is not JSON: invalid character '{' after top-level value"},
		{"trailing comma", `{"name":"a",}`, "", 400, "validation_error", "The body is not JSON"},
		{"byte order mark", "\ufeff" + goodBody, "", 400, "validation_error", "The body is not JSON"},
		{"no-break space", "\u00a0" + goodBody, "", 400, "validation_error", "The body is not JSON"},
		{"not UTF-8", "{\"name\":\"\xff\"}", "", 400, "validation_error", "The body is not valid UTF-8."},
		{"array", "[" + goodBody + "]", "", 400, "validation_error", "The body is no object; " + example},
		{"null", "null", "", 400, "validation_error", "The body is no object; " + example},
		{"string", `"x"`, "", 400, "validation_error", "The body is no object; " + example},
		{"deep", `{"a":` + strings.Repeat("[", 5000) + strings.Repeat("]", 5000) + `}`, "", 400, "validation_error", "The body is nested too deeply; " + example},

		{"no type", goodBody, "Content-Type: ", 415, "unsupported_media_type", "application/json"},
		{"form", goodBody, "Content-Type: application/x-www-form-urlencoded", 415, "unsupported_media_type", "application/json"},
		{"text type", goodBody, "Content-Type: text/json", 415, "unsupported_media_type", "application/json"},
		{"broken type", goodBody, "Content-Type: application/json; charset", 415, "unsupported_media_type", "application/json"},
		{"other charset", goodBody, "Content-Type: application/json; charset=utf-16", 415, "unsupported_media_type", "UTF-8"},
		{"compressed", goodBody, "Content-Encoding: gzip", 415, "unsupported_media_type", "without a content encoding"},
		{"large", `{"name":"` + strings.Repeat("x", maxBodyBytes) + `"}`, "", 413, "payload_too_large", "at most 65536 are accepted"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := newFake()
			resp := postReplacing(t, mustServe(t, f, io.Discard), tt.body, tt.line)
			spec.Validate(t, httptest.NewRequest(http.MethodPost, createPath, nil), resp)
			got := mustDecode(t, resp)
			said := got.Error.Message + fmt.Sprint(got.Error.Details["body"])
			if resp.StatusCode != tt.status || got.Error.Code != tt.code || !strings.Contains(said, tt.says) {
				t.Errorf("%d %s %s", resp.StatusCode, got.Error.Code, said)
			}
			if f.spent != 1 || f.created.Name != "" || resp.Header.Get("X-Quota-Reset") == "" {
				t.Errorf("%d requests spent, asked for %+v, headers %v", f.spent, f.created, resp.Header)
			}
		})
	}
}

// postReplacing posts a body with a header line in place of the usual one of its name.
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

func TestBodiesThatAreRead(t *testing.T) {
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
			t.Errorf("%s: %d %s", name, resp.StatusCode, mustRead(t, resp))
		}
	}
}

// TestChunkedBodies, whose length nobody tells beforehand, are cut off where they get too long; one that ends early is not taken
// for a whole one.
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
		t.Errorf("a body in chunks: %d %s", status, body)
	}
	if status, body := exchange(chunk(goodBody) + chunk(strings.Repeat(" ", maxBodyBytes)) + "0\r\n\r\n"); status != http.StatusRequestEntityTooLarge || !strings.Contains(body, "payload_too_large") {
		t.Errorf("a long body in chunks: %d %s", status, body)
	}
	f.created = cola.SavedSearchParams{}
	if status, body := exchange(chunk(goodBody)); status != http.StatusBadRequest || !strings.Contains(body, "could not be read to its end") || f.created.Name != "" {
		t.Errorf("a body that ends early: %d %s", status, body)
	}
}

// TestBodyOutOfPlace: what belongs into the body is not taken from the query string.
func TestBodyOutOfPlace(t *testing.T) {
	f := newFake()
	got := mustDecode(t, post(t, mustServe(t, f, io.Discard), createPath+"?dry_run=1&name=x&name=y&%zz", goodBody))
	for _, name := range []string{"dry_run", "name"} {
		if messages := fmt.Sprint(got.Error.Details[name]); messages != "[It is in the query string, where nothing is taken; send it in the body.]" {
			t.Errorf("%s: %s", name, messages)
		}
	}
	if len(got.Error.Details) != 3 || f.spent != 1 {
		t.Errorf("%d requests spent, problems %v", f.spent, got.Error.Details)
	}
}

// TestFullMinuteComesFirst: a body that is not read is not told of in a full minute.
func TestFullMinuteComesFirst(t *testing.T) {
	f := newFake()
	f.err = &cola.Error{Code: cola.CodeQuotaExceeded, Message: "Too fast.", RetryAfter: 1}
	for _, body := range []string{"", goodBody} {
		if resp := post(t, mustServe(t, f, io.Discard), createPath, body); resp.StatusCode != http.StatusTooManyRequests {
			t.Errorf("%q: %d", body, resp.StatusCode)
		}
	}
}

// TestMethodsOfSavedSearches: each path says to every other method what it takes, and such a request is told under its route.
func TestMethodsOfSavedSearches(t *testing.T) {
	spec := openapitest.Load(t, goldenOpenAPI)
	for _, tt := range []struct {
		path, route, allow string
		refused            []string
	}{
		{createPath, createPath, "GET, HEAD, POST", []string{"PUT", "PATCH", "DELETE", "BREW"}},
		{createPath + "/" + exampleUUID, createPath + "/{uuid}", "GET, HEAD, PATCH, DELETE", []string{"POST", "PUT", "BREW"}},
		{createPath + "/preview", createPath + "/preview", "POST", []string{"PUT", "BREW"}},
		{createPath + "/pr%65view", createPath + "/preview", "POST", []string{"GET", "HEAD", "PATCH", "DELETE"}}, // no search is called so
	} {
		for _, method := range tt.refused {
			f := newFake()
			var log strings.Builder
			resp := send(t, mustServe(t, f, &log), method, tt.path, "X-API-Key: "+testKey)
			spec.Validate(t, httptest.NewRequest(method, strings.ReplaceAll(tt.path, "%65", "e"), nil), resp)
			if resp.StatusCode != http.StatusMethodNotAllowed || resp.Header.Get("Allow") != tt.allow || f.spent != 1 || resp.Header.Get(web.QuotaHeaders()[0]) == "" {
				t.Errorf("%s %s: %d, Allow %q, %d requests spent", method, tt.path, resp.StatusCode, resp.Header.Get("Allow"), f.spent)
			}
			if body := mustRead(t, resp); !strings.Contains(body, "use "+strings.ReplaceAll(tt.allow, ", ", " or ")+".") {
				t.Errorf("%s %s: %s", method, tt.path, body)
			}
			if !strings.Contains(log.String(), `"route":"`+tt.route+`"`) {
				t.Errorf("%s %s is logged as %s", method, tt.path, log.String())
			}
		}
	}
	for method, path := range map[string]string{"POST": createPath, "PATCH": createPath + "/{uuid}", "DELETE": createPath + "/{uuid}"} {
		var log strings.Builder
		resp := sendBody(t, mustServe(t, newFake(), &log), method, path, strings.NewReader(goodBody), "Content-Type: application/json")
		if resp.StatusCode != http.StatusUnauthorized || !strings.Contains(log.String(), `"route":"`+path+`"`) {
			t.Errorf("%s without a key: %d, logged as %s", method, resp.StatusCode, log.String())
		}
	}
	var log strings.Builder
	sendBody(t, mustServe(t, newFake(), &log), http.MethodPost, createPath+"/preview", nil)
	if !strings.Contains(log.String(), `"route":"/api/v1/saved-searches/preview"`) {
		t.Errorf("a preview without a key is logged as %s", log.String())
	}
}

// TestBodyWithManyValues checks that a body with thousands of values, within 64 KiB, is refused before
// it is decoded.
func TestBodyWithManyValues(t *testing.T) {
	many := `{"name":"a","filters":{` + strings.Repeat(`"a":1,`, 5_000) + `"a":1}}`
	if problem := notAnObject([]byte(many), "{}"); !strings.Contains(problem, "too many values") {
		t.Errorf("the problem is %q", problem)
	}
}
