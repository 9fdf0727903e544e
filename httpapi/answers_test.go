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
	"github.com/colaregistry/colaregistry/internal/openapitest"
)

// exchange is one request whose answer has a golden file.
type exchange struct{ name, target string }

func exchanges() []exchange {
	return []exchange{
		{"colas", "/api/v1/colas?q=lenz"},
		{"cola", "/api/v1/colas/11054001000049"},
		{"barcode", "/api/v1/barcode/036000291452"},
		{"permittees", "/api/v1/permittees?state=nj"},
		{"permittee", "/api/v1/permittees/NJ-I-721"},
		{"usage", "/api/v1/usage"},
		{"processing_times", "/api/v1/processing-times?commodity=wine"},
		{"formula_processing_times", "/api/v1/processing-times/formula"},
		{"registration_processing_times", "/api/v1/processing-times/registration"},
		{"production_reports", "/api/v1/production-reports?year=2019"},
		{"avas", "/api/v1/avas?state=ca"},
		{"ava", "/api/v1/avas/alexander_valley"},
		{"invalid_parameters", "/api/v1/colas?statsu=x&page=two&abv_min=1&abv_min=2&approval_date_from=2024-02-30"},
		{"no_parameters", "/api/v1/usage?verbose=1"},
		{"unknown_record", "/api/v1/colas/99999999999999"},
		{"unknown_path", "/api/v1/cola"},
		{"health", "/healthz"},
		{"ready", "/readyz"},
	}
}

// TestGoldenAnswers asks every endpoint once and compares what it says, status, headers and body, with a golden file.
func TestGoldenAnswers(t *testing.T) {
	spec := openapitest.Load(t, goldenOpenAPI)
	for _, tt := range exchanges() {
		t.Run(tt.name, func(t *testing.T) {
			h := mustServe(t, newFake(), io.Discard)
			resp := get(t, h, tt.target, "X-Request-Id: golden")
			spec.Validate(t, httptest.NewRequest(http.MethodGet, tt.target, nil), resp)
			golden(t, tt.name, resp)
		})
	}
}

// golden compares a whole answer with testdata/NAME.golden.
func golden(t *testing.T, name string, resp *http.Response) {
	t.Helper()
	var got bytes.Buffer
	got.WriteString(resp.Status + "\n")
	if err := resp.Header.Write(&got); err != nil {
		t.Fatal(err)
	}
	got.WriteByte('\n')
	if err := json.Indent(&got, []byte(mustRead(t, resp)), "", "  "); err != nil {
		t.Fatal(err)
	}
	got.WriteByte('\n')
	text := strings.ReplaceAll(got.String(), "\r\n", "\n")
	file := filepath.Join("testdata", name+".golden")
	if *update {
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
		t.Errorf("%s (-golden +now):\n%s", file, diff)
	}
}

// TestEveryOperationIsAsked keeps the table above whole: an endpoint that is mounted is among its targets.
func TestEveryOperationIsAsked(t *testing.T) {
	for _, op := range operations(newFake()) {
		fixed, _, hasValue := strings.Cut(basePath+op.Path, "{")
		asked := slices.ContainsFunc(exchanges(), func(e exchange) bool {
			path, _, _ := strings.Cut(e.target, "?")
			return path == fixed || hasValue && strings.HasPrefix(path, fixed)
		})
		if !asked {
			t.Errorf("%s is not asked for in TestGoldenAnswers", op.Path)
		}
	}
}

func TestHeadIsGetWithoutBody(t *testing.T) {
	for _, target := range []string{"/api/v1/colas", "/api/v1/colas/11054001000049", "/api/v1/nothing", "/healthz", "/docs"} {
		f, g := newFake(), newFake()
		head := send(t, mustServe(t, f, io.Discard), http.MethodHead, target, "X-API-Key: "+testKey, "X-Request-Id: same")
		want := get(t, mustServe(t, g, io.Discard), target, "X-Request-Id: same")
		if head.StatusCode != want.StatusCode {
			t.Errorf("HEAD %s: %d, GET: %d", target, head.StatusCode, want.StatusCode)
		}
		if diff := cmp.Diff(want.Header, head.Header); diff != "" {
			t.Errorf("HEAD %s has other headers (-get +head):\n%s", target, diff)
		}
		if f.used != g.used || f.spent != g.spent {
			t.Errorf("HEAD %s is charged %+v and %d requests, GET %+v and %d", target, f.used, f.spent, g.used, g.spent)
		}
	}
}

// TestHeadSendsNoBody is over a real connection: it is net/http that leaves the body out.
func TestHeadSendsNoBody(t *testing.T) {
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
		t.Errorf("status %d, length %d, body %q", resp.StatusCode, resp.ContentLength, body)
	}
}

func TestSearchParametersReachTheService(t *testing.T) {
	f := newFake()
	resp := get(t, mustServe(t, f, io.Discard), "/api/v1/colas?q=oak&product_type=wine,malt%20beverage&product_type=distilled+spirits"+
		"&status=approved&approval_date_to=2024-12-31&abv_min=12.5&container_type=can&per_page=7&brand_name=")
	if resp.StatusCode != http.StatusOK {
		t.Fatalf("status %d: %s", resp.StatusCode, mustRead(t, resp))
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
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestNotModified(t *testing.T) {
	for _, target := range []string{"/api/v1/colas/11054001000049", "/api/v1/permittees/NJ-I-721", "/api/v1/avas/alexander_valley"} {
		f := newFake()
		h := mustServe(t, f, io.Discard)
		first := get(t, h, target)
		tag := first.Header.Get("Etag")
		if first.StatusCode != http.StatusOK || tag == "" {
			t.Fatalf("%s: status %d, ETag %q", target, first.StatusCode, tag)
		}
		used := f.used
		again := get(t, h, target, "If-None-Match: "+tag)
		if again.StatusCode != http.StatusNotModified || mustRead(t, again) != "" || again.Header.Get("Etag") != tag {
			t.Errorf("%s with its tag: status %d, ETag %q", target, again.StatusCode, again.Header.Get("Etag"))
		}
		if again.Header.Get("X-Quota-Reset") == "" || again.Header.Get("Content-Type") != "" {
			t.Errorf("%s with its tag has headers %v", target, again.Header)
		}
		if f.used != used {
			t.Errorf("%s: a 304 was charged: %+v after %+v", target, f.used, used)
		}
	}
}
