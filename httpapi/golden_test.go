package httpapi

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/golden"
	"github.com/colaregistry/colaregistry/internal/openapitest"
)

// exchange is a request whose response has a golden file.
type exchange struct {
	name, target string
	body         string // empty: no body
	method       string // default: POST if there is a body, otherwise GET
	accept       string // the Accept header; empty: none
}

// ask sends the request.
func (e exchange) ask(t *testing.T, h http.Handler) *http.Response {
	t.Helper()
	return write(t, h, e.httpMethod(), e.target, e.body, "X-Request-Id: golden", "Accept: "+e.accept)
}

func (e exchange) httpMethod() string {
	switch {
	case e.method != "":
		return e.method
	case e.body != "":
		return http.MethodPost
	}
	return http.MethodGet
}

func exchanges() []exchange { return slices.Concat(recordExchanges(), destinationExchanges()) }

func recordExchanges() []exchange {
	gets := []exchange{
		{name: "colas", target: "/api/v1/colas?q=lenz"},
		{name: "counts", target: "/api/v1/colas/stats?group_by=month,permit"},
		{name: "counts_csv", target: "/api/v1/colas/stats?group_by=month,permit", accept: "text/csv"},
		{name: "counts_invalid", target: "/api/v1/colas/stats?group_by=decade,year,YEAR&top=0&page=2&abv_min=x"},
		{name: "colas_csv", target: "/api/v1/colas?q=lenz&fields=ttb_id,brand_name", accept: "text/csv"},
		{name: "colas_ndjson", target: "/api/v1/colas?q=lenz", accept: "application/x-ndjson"},
		{name: "not_acceptable", target: "/api/v1/colas?q=lenz", accept: "text/html"},
		{name: "cola", target: "/api/v1/colas/11054001000049"},
		{name: "barcode", target: "/api/v1/barcode/036000291452"},
		{name: "brands", target: "/api/v1/brands?q=oakan+ridge"},
		{name: "brands_csv", target: "/api/v1/brands?q=oakan+ridge", accept: "text/csv"},
		{name: "brands_invalid", target: "/api/v1/brands?min_score=0&strategies=sounds_alik"},
		{name: "permittees", target: "/api/v1/permittees?state=nj"},
		{name: "permittee", target: "/api/v1/permittees/NJ-I-721"},
		{name: "coverage", target: "/api/v1/coverage"},
		{name: "usage", target: "/api/v1/usage"},
		{name: "processing_times", target: "/api/v1/processing-times?commodity=wine"},
		{name: "formula_processing_times", target: "/api/v1/processing-times/formula"},
		{name: "registration_processing_times", target: "/api/v1/processing-times/registration"},
		{name: "production_reports", target: "/api/v1/production-reports?year=2019"},
		{name: "suggest", target: "/api/v1/suggest?field=Brand&q=l"},
		{name: "suggest_invalid", target: "/api/v1/suggest?q=%26&limit=26"},
		{name: "avas", target: "/api/v1/avas?state=ca"},
		{name: "ava", target: "/api/v1/avas/alexander_valley"},
		{name: "saved_search_runs", target: "/api/v1/saved-searches/" + exampleUUID + "/runs?per_page=1"},
		{name: "saved_search_matches", target: "/api/v1/saved-searches/" + exampleUUID + "/matches"},
		{name: "run_matches", target: "/api/v1/saved-searches/" + exampleUUID + "/runs/5/matches"},
		{name: "invalid_parameters", target: "/api/v1/colas?statsu=x&page=two&abv_min=1&abv_min=2&approval_date_from=2024-02-30"},
		{name: "no_parameters", target: "/api/v1/usage?verbose=1"},
		{name: "unknown_record", target: "/api/v1/colas/99999999999999"},
		{name: "unknown_path", target: "/api/v1/cola"},
		{name: "health", target: "/healthz"},
		{name: "ready", target: "/readyz"},
	}
	return append(gets,
		exchange{name: "saved_search", target: "/api/v1/saved-searches", body: `{"name":" Oaks ","filters":{"brand_name":"oak","type_wine":true,"abv_min":12},"schedule":{"cadence":"Weekly","day":0}}`},
		exchange{name: "saved_search_unscheduled", target: "/api/v1/saved-searches", body: `{"name":"Anything","filters":{}}`},
		exchange{name: "invalid_body", target: "/api/v1/saved-searches?name=x", body: `{"filters":{"brand":"oak","approval_date_from":"2024-01-01","abv_min":200},"schedule":{"cadence":"hourly"}}`},
		exchange{name: "too_broad", target: "/api/v1/saved-searches", body: `{"name":"All","filters":{"application_status":"approved"},"schedule":{"cadence":"daily"}}`},
		exchange{name: "saved_searches", target: "/api/v1/saved-searches?per_page=5"},
		exchange{name: "saved_search_read", target: "/api/v1/saved-searches/" + exampleUUID},
		exchange{name: "saved_search_unknown", target: "/api/v1/saved-searches/1"},
		exchange{name: "saved_search_paused", target: "/api/v1/saved-searches/" + exampleUUID, method: "PATCH", body: `{"schedule":{"active":false}}`},
		exchange{name: "saved_search_empty_change", target: "/api/v1/saved-searches/" + exampleUUID, method: "PATCH", body: `{}`},
		exchange{
			name:   "saved_search_invalid_change",
			target: "/api/v1/saved-searches/" + exampleUUID,
			method: "PATCH",
			body:   `{"title":"x","name":null,"filters":{"brand":"oak"},"schedule":{"cadence":"monthly","active":null,"hour":6}}`,
		},
		exchange{name: "saved_search_deleted", target: "/api/v1/saved-searches/" + exampleUUID, method: "DELETE"},
		exchange{name: "saved_search_run", target: "/api/v1/saved-searches/" + exampleUUID + "/run", method: "POST"},
		exchange{name: "explanation", target: "/api/v1/saved-searches/" + exampleUUID + "/explain/26282001000009"},
		exchange{name: "preview", target: "/api/v1/saved-searches/preview", body: `{"filters":{"application_status":"approved"}}`},
		exchange{name: "preview_invalid", target: "/api/v1/saved-searches/preview", body: `{"name":"x","brand_name":"oak","approval_date_from":"2024-01-01"}`},
	)
}

// TestGoldenResponses compares the status, headers and body of every endpoint's response with a
// golden file.
func TestGoldenResponses(t *testing.T) {
	spec := openapitest.Load(t, goldenOpenAPI)
	for _, tt := range exchanges() {
		t.Run(tt.name, func(t *testing.T) {
			h := mustServe(t, newFake(), io.Discard)
			resp := tt.ask(t, h)
			spec.Validate(t, httptest.NewRequest(tt.httpMethod(), tt.target, nil), resp)
			compareGolden(t, tt.name, resp)
		})
	}
}

// compareGolden compares a whole response with testdata/NAME.golden.
func compareGolden(t *testing.T, name string, resp *http.Response) {
	t.Helper()
	var got bytes.Buffer
	got.WriteString(resp.Status + "\n")
	if err := resp.Header.Write(&got); err != nil {
		t.Fatal(err)
	}
	got.WriteByte('\n')
	if body := mustRead(t, resp); resp.Header.Get("Content-Type") != mediaJSON {
		got.WriteString(body)
	} else if body != "" {
		if err := json.Indent(&got, []byte(body), "", "  "); err != nil {
			t.Fatal(err)
		}
	}
	got.WriteByte('\n')
	text := strings.ReplaceAll(got.String(), "\r\n", "\n")
	file := filepath.Join("testdata", name+".golden")
	if golden.Update() {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), text); diff != "" {
		t.Errorf("%s (-golden +got):\n%s", file, diff)
	}
}

// TestGoldenOperations checks that the exchanges cover every endpoint.
func TestGoldenOperations(t *testing.T) {
	for _, op := range operations(newFake()) {
		fixed, _, hasValue := strings.Cut(basePath+op.Path, "{")
		covered := slices.ContainsFunc(exchanges(), func(e exchange) bool {
			path, _, _ := strings.Cut(e.target, "?")
			return e.httpMethod() == op.method() && (path == fixed || hasValue && strings.HasPrefix(path, fixed))
		})
		if !covered {
			t.Errorf("%s is missing from TestGoldenResponses", op.Path)
		}
	}
}

func TestHead(t *testing.T) {
	for _, target := range []string{"/api/v1/colas", "/api/v1/colas/11054001000049", "/api/v1/unknown", "/healthz", "/llms.txt", unsubscribeTarget, confirmTarget, feedTarget} {
		f, g := newFake(), newFake()
		head := send(t, mustServe(t, f, io.Discard), http.MethodHead, target, "X-API-Key: "+testKey, "X-Request-Id: same")
		want := get(t, mustServe(t, g, io.Discard), target, "X-Request-Id: same")
		if head.StatusCode != want.StatusCode {
			t.Errorf("HEAD %s: status = %d, GET: %d", target, head.StatusCode, want.StatusCode)
		}
		if diff := cmp.Diff(want.Header, head.Header); diff != "" {
			t.Errorf("HEAD %s: headers (-get +head):\n%s", target, diff)
		}
		if f.used != g.used || f.spent != g.spent {
			t.Errorf("HEAD %s: charged %+v and %d requests, GET: %+v and %d", target, f.used, f.spent, g.used, g.spent)
		}
	}
}

// TestHeadBody checks that a response to HEAD has a length but no body. It uses a real connection
// because net/http's server removes the body.
func TestHeadBody(t *testing.T) {
	server := httptest.NewServer(mustServe(t, newFake(), io.Discard))
	defer server.Close()
	req, err := http.NewRequest(http.MethodHead, server.URL+"/api/v1/colas", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("X-Api-Key", testKey)
	resp, err := server.Client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if body := mustRead(t, resp); resp.StatusCode != http.StatusOK || body != "" || resp.ContentLength <= 0 {
		t.Errorf("status = %d, length = %d, body = %q; want 200 with a length and no body", resp.StatusCode, resp.ContentLength, body)
	}
}

func TestSearchParameters(t *testing.T) {
	f := newFake()
	resp := get(t, mustServe(t, f, io.Discard), "/api/v1/colas?q=oak&product_type=wine,malt%20beverage&product_type=distilled+spirits"+
		"&status=approved&approval_date_to=2024-12-31&abv_min=12.5&container_type=can&per_page=7&brand_name=")
	if resp.StatusCode != http.StatusOK {
		t.Fatalf("response = %d %s, want 200", resp.StatusCode, mustRead(t, resp))
	}
	got := f.search
	want := cola.ColaSearch{
		Query: cola.Query{
			Text: "oak", ProductTypes: []string{"wine", "malt beverage", "distilled spirits"}, Status: "approved",
			To: cola.NewDate(2024, 12, 31), ABVMin: cola.Some(12.5), Containers: []string{"can"},
		},
		Page: 1, PerPage: 7, Fingerprint: got.Fingerprint,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("parameters (-want +got):\n%s", diff)
	}
}

func TestNotModified(t *testing.T) {
	for _, target := range []string{"/api/v1/colas/11054001000049", "/api/v1/permittees/NJ-I-721", "/api/v1/avas/alexander_valley", "/api/v1/saved-searches/" + exampleUUID, oneDestination, oneDelivery} {
		f := newFake()
		h := mustServe(t, f, io.Discard)
		first := get(t, h, target)
		tag := first.Header.Get("Etag")
		if first.StatusCode != http.StatusOK || tag == "" {
			t.Fatalf("%s: status = %d, ETag = %q; want 200 with an ETag", target, first.StatusCode, tag)
		}
		used := f.used
		second := get(t, h, target, "If-None-Match: "+tag)
		if second.StatusCode != http.StatusNotModified || mustRead(t, second) != "" || second.Header.Get("Etag") != tag {
			t.Errorf("%s with If-None-Match: status = %d, ETag = %q; want 304, %q", target, second.StatusCode, second.Header.Get("Etag"), tag)
		}
		if second.Header.Get("X-Quota-Reset") == "" || second.Header.Get("Content-Type") != "" {
			t.Errorf("%s with If-None-Match: headers = %v", target, second.Header)
		}
		if f.used != used {
			t.Errorf("%s: 304 was charged: used %+v, want %+v", target, f.used, used)
		}
	}
}
