package httpapi

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/openapitest"
	"github.com/colaregistry/colaregistry/internal/web"
)

func TestUnauthorizedFirst(t *testing.T) {
	spec := openapitest.Load(t, goldenOpenAPI)
	tests := []struct{ method, target string }{
		{"GET", "/api/v1/colas"},
		{"GET", "/api/v1/colas?page=nonsense"},
		{"GET", "/api/v1/colas/1"},
		{"GET", "/api/v1/no/such/path"},
		{"GET", "/api/v1/"},
		{"POST", "/api/v1/colas"},
		{"BREW", "/api/v1/colas"},
		{"DELETE", "/api/v1/no/such/path"},
	}
	for _, tt := range tests {
		t.Run(tt.method+tt.target, func(t *testing.T) {
			f := newFake()
			resp := send(t, mustServe(t, f, io.Discard), tt.method, tt.target)
			spec.Validate(t, httptest.NewRequest(tt.method, tt.target, nil), resp)
			if resp.StatusCode != http.StatusUnauthorized || mustDecode(t, resp).Error.Code != "unauthorized" {
				t.Errorf("status = %d, want 401 with code unauthorized", resp.StatusCode)
			}
			if f.spent != 0 {
				t.Errorf("unauthorized request counted as %d requests, want 0", f.spent)
			}
			for name := range resp.Header {
				if strings.HasPrefix(name, "X-Detail") || strings.HasPrefix(name, "X-List") || name == "X-Quota-Reset" {
					t.Errorf("response to an unauthorized request has header %s", name)
				}
			}
		})
	}
}

func TestChallenge(t *testing.T) {
	h := mustServe(t, newFake(), io.Discard)
	bare := send(t, h, "GET", "/api/v1/usage").Header.Get("Www-Authenticate")
	if want := `Bearer realm="colaregistry"`; bare != want {
		t.Errorf("without credentials: WWW-Authenticate = %q, want %q", bare, want)
	}
	for _, line := range []string{"X-API-Key: wrong", "Authorization: Bearer wrong"} {
		got := send(t, h, "GET", "/api/v1/usage", line).Header.Get("Www-Authenticate")
		if want := `Bearer realm="colaregistry", error="invalid_token", error_description="The API key is not known."`; got != want {
			t.Errorf("with %s: WWW-Authenticate = %q, want %q", line, got, want)
		}
	}
	if ok := send(t, h, "GET", "/api/v1/usage", "Authorization: Bearer "+testKey); ok.StatusCode != http.StatusOK {
		t.Errorf("valid bearer key: status = %d, want 200", ok.StatusCode)
	}
}

func TestAuthenticatorUnavailable(t *testing.T) {
	h := New(newFake(), keys{err: cola.Unavailable()}, Options{Logger: slog.New(slog.DiscardHandler)})
	if resp := get(t, h, "/api/v1/usage"); resp.StatusCode != http.StatusServiceUnavailable || resp.Header.Get("Retry-After") != "5" {
		t.Errorf("status = %d, Retry-After = %q; want 503, 5", resp.StatusCode, resp.Header.Get("Retry-After"))
	}
}

// TestOverload checks that an overloaded process rejects API requests before it identifies the
// caller, in a form that browsers can read, and still serves public routes.
func TestOverload(t *testing.T) {
	f := newFake()
	f.overload = cola.Overloaded(1500 * time.Millisecond)
	var logged bytes.Buffer
	h := New(f, keys{err: errBroken}, Options{
		Logger: slog.New(slog.NewTextHandler(&logged, nil)), LogRequest: func(cola.AccountID, bool, func() cola.LoggedRequest) { t.Error("a rejection was recorded") },
	})
	for _, target := range []string{"/api/v1/colas?q=oak", "/api/v1/unknown"} {
		resp := send(t, h, "GET", target)
		var body web.ErrorBody
		if err := json.NewDecoder(resp.Body).Decode(&body); err != nil {
			t.Fatal(err)
		}
		if resp.StatusCode != http.StatusServiceUnavailable || resp.Header.Get("Retry-After") != "2" ||
			body.Error.Code != cola.CodeUnavailable || body.Error.Details["reason"] != cola.ReasonOverloaded ||
			resp.Header.Get("X-Request-Id") == "" || f.spent != 0 {
			t.Errorf("%s: status = %d, headers %v, body %+v", target, resp.StatusCode, resp.Header, body)
		}
	}
	r := httptest.NewRequest(http.MethodGet, "/api/v1/colas", nil)
	r.Header.Set("Origin", "https://app.example")
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	if w.Code != http.StatusServiceUnavailable || w.Header().Get("Access-Control-Allow-Origin") != "*" {
		t.Errorf("from a browser: status = %d, headers %v", w.Code, w.Header())
	}
	if logged.Len() > 0 {
		t.Errorf("rejections were logged: %s", logged.String())
	}
	resp := send(t, h, http.MethodOptions, "/api/v1/colas", "Origin: https://app.example", "Access-Control-Request-Method: GET")
	if resp.StatusCode >= 300 || resp.Header.Get("Access-Control-Allow-Methods") == "" {
		t.Errorf("preflight: status = %d, headers %v", resp.StatusCode, resp.Header)
	}
	for _, target := range []string{"/api/v1/openapi.json", "/healthz"} {
		if resp := send(t, h, "GET", target); resp.StatusCode != http.StatusOK {
			t.Errorf("%s: status = %d, want 200", target, resp.StatusCode)
		}
	}
}

// TestEnter checks that a read counts toward the limit on concurrent work until its response is
// ready, and that a request with a body, which a client may send slowly, does not.
func TestEnter(t *testing.T) {
	f := newFake()
	h := mustServe(t, f, io.Discard)
	r := httptest.NewRequest(http.MethodGet, "/api/v1/colas", nil)
	r.Header.Set("X-API-Key", testKey)
	w := &countingWriter{ResponseRecorder: httptest.NewRecorder(), count: func() int { return f.working }}
	h.ServeHTTP(w, r)
	if w.Code != http.StatusOK || f.entered != 1 || w.counted != 0 || f.working != 0 {
		t.Errorf("status = %d, entered %d times, in progress while writing: %d, afterward: %d; want 200, 1, 0, 0",
			w.Code, f.entered, w.counted, f.working)
	}
	f.full = cola.Overloaded(time.Second)
	if resp := get(t, h, "/api/v1/colas"); resp.StatusCode != http.StatusServiceUnavailable || resp.Header.Get("Retry-After") != "1" {
		t.Errorf("at the limit: status = %d, headers %v", resp.StatusCode, resp.Header)
	}
	if resp := post(t, h, "/api/v1/saved-searches", `{"name":"Oak"}`); resp.StatusCode == http.StatusServiceUnavailable {
		t.Errorf("POST at the limit: status = %d", resp.StatusCode)
	}
	f.full, f.panic = nil, "broken"
	if resp := get(t, h, "/api/v1/usage"); resp.StatusCode != http.StatusInternalServerError || f.working != 0 {
		t.Errorf("after a panic: status = %d, in progress: %d; want 500, 0", resp.StatusCode, f.working)
	}
}

// countingWriter calls a function when the body is written.
type countingWriter struct {
	*httptest.ResponseRecorder
	count   func() int
	counted int
}

func (w *countingWriter) Write(b []byte) (int, error) {
	w.counted += w.count()
	return w.ResponseRecorder.Write(b)
}

func TestPublicRoutes(t *testing.T) {
	for _, target := range []string{"/api/v1/openapi.json", "/llms.txt", "/healthz", "/readyz", "/images/11054001000049-1", "/images/11054001000049-1.svg", unsubscribeTarget, confirmTarget, feedTarget} {
		f := newFake()
		resp := send(t, mustServe(t, f, io.Discard), "GET", target)
		if resp.StatusCode != http.StatusOK || f.spent != 0 {
			t.Errorf("%s: status = %d, %d requests spent; want 200, 0", target, resp.StatusCode, f.spent)
		}
	}
}

// TestRequestErrors checks that requests rejected before any operation runs count toward the rate
// limit and get the quota headers, like any other.
func TestRequestErrors(t *testing.T) {
	spec := openapitest.Load(t, goldenOpenAPI)
	tests := []struct {
		method, target, code, allow, message string
		status                               int
	}{
		{"GET", "/api/v1/unknown/here", "not_found", "", "/docs/reference", 404},
		{"GET", "/api/v1/nope", "not_found", "", "/api/v1/nope. /docs/reference", 404},
		{"GET", "/api/v1/permitees", "not_found", "", "did you mean /api/v1/permittees?", 404},
		{"GET", "/api/v1/colas/", "not_found", "", "", 404},
		{"GET", "/api/v1/colas/1/images", "not_found", "", "", 404},
		{"GET", "/api/v1/COLAS", "not_found", "", "did you mean /api/v1/colas?", 404},
		{"POST", "/api/v1/colas", "method_not_allowed", "GET, HEAD", "use GET or HEAD", 405},
		{"OPTIONS", "/api/v1/colas", "method_not_allowed", "GET, HEAD", "", 405},
		{"DELETE", "/api/v1/permittees/NJ%2FI-721", "method_not_allowed", "GET, HEAD", "", 405},
		{"BREW", "/api/v1/usage", "method_not_allowed", "GET, HEAD", "", 405},
		{"BREW", "/api/v1/unknown", "not_found", "", "", 404},
		{"PATCH", "/api/v1/unknown", "not_found", "", "", 404},
		{"POST", "/api/v1/openapi.json", "method_not_allowed", "GET, HEAD", "", 405},
		{"GET", "/api/v1/usage?x=1", "validation_error", "", "x", 400},
		{"GET", "/api/v1/usage?%zz", "validation_error", "", "", 400},
		{"GET", "/api/v1/colas/1?fields=all", "validation_error", "", "fields", 400},
	}
	for _, tt := range tests {
		t.Run(tt.method+tt.target, func(t *testing.T) {
			f := newFake()
			resp := send(t, mustServe(t, f, io.Discard), tt.method, tt.target, "X-API-Key: "+testKey)
			spec.Validate(t, httptest.NewRequest(tt.method, tt.target, nil), resp)
			got := mustDecode(t, resp)
			if resp.StatusCode != tt.status || got.Error.Code != tt.code || !strings.Contains(got.Error.Message, tt.message) {
				t.Errorf("response = %d %s %q, want %d %s containing %q", resp.StatusCode, got.Error.Code, got.Error.Message, tt.status, tt.code, tt.message)
			}
			if allow := resp.Header.Get("Allow"); allow != tt.allow {
				t.Errorf("Allow = %q, want %q", allow, tt.allow)
			}
			if f.spent != 1 || f.used != (cola.Used{}) {
				t.Errorf("counted %d requests and used %+v, want 1 request and no quota", f.spent, f.used)
			}
			for _, name := range web.QuotaHeaders() {
				if resp.Header.Get(name) == "" {
					t.Errorf("header %s is missing", name)
				}
			}
		})
	}
}

// TestMessageLength checks that error messages truncate long values from the request.
func TestMessageLength(t *testing.T) {
	long := strings.Repeat("x", 5000)
	tests := []struct{ method, target string }{
		{"GET", "/" + long},
		{"GET", "/api/v1/" + long},
		{"POST", "/api/v1/" + long},
		{"POST", "/api/v1/permittees/" + long},
		{long, "/api/v1/colas"},
		{long, "/" + long},
		{"GET", "/images/" + long},
		{"GET", "/images/1?format=" + long},
		{"GET", "/api/v1/avas/" + long},
		{"GET", "/api/v1/usage?" + long + "=1"},
		{"GET", "/api/v1/colas?status=" + long},
		{"GET", "/api/v1/colas?page=" + long},
		{"GET", "/api/v1/colas?q=1&q=" + long},
	}
	for _, tt := range tests {
		resp := send(t, mustServe(t, newFake(), io.Discard), tt.method, tt.target, "X-API-Key: "+testKey)
		body := mustRead(t, resp)
		if resp.StatusCode < 400 || strings.Contains(body, long[:61]) || !strings.Contains(body, long[:30]) {
			t.Errorf("%.20s %.30s: response = %d %.300s, want an error with a shortened value", tt.method, tt.target, resp.StatusCode, body)
		}
	}
}

func TestRateLimitFirst(t *testing.T) {
	f := newFake()
	f.err = &cola.Error{Code: cola.CodeQuotaExceeded, Message: "Too fast.", RetryAfter: 1}
	for _, target := range []string{"/api/v1/unknown", "/api/v1/usage?x=1"} {
		if resp := get(t, mustServe(t, f, io.Discard), target); resp.StatusCode != http.StatusTooManyRequests {
			t.Errorf("%s: status = %d, want 429 before any other error", target, resp.StatusCode)
		}
	}
}

func TestOutsideTheAPI(t *testing.T) {
	h := mustServe(t, newFake(), io.Discard)
	for target, want := range map[string]int{"/nothing": 404, "/api/v2/colas": 404, "/images/": 404, "/images/unknown": 404, "/": 404} {
		resp := send(t, h, "GET", target)
		if got := mustDecode(t, resp); resp.StatusCode != want || got.Error.Code != "not_found" {
			t.Errorf("%s: response = %d %s, want %d not_found", target, resp.StatusCode, got.Error.Code, want)
		}
	}
	if got := mustDecode(t, send(t, h, "GET", "/colas")).Error.Message; !strings.Contains(got, "did you mean /api/v1/colas?") {
		t.Errorf("path without /api/v1: message = %q, want a suggestion", got)
	}
	resp := send(t, h, "POST", "/llms.txt")
	if resp.StatusCode != http.StatusMethodNotAllowed || resp.Header.Get("Allow") != "GET, HEAD" {
		t.Errorf("POST /llms.txt: status = %d, Allow = %q; want 405, GET, HEAD", resp.StatusCode, resp.Header.Get("Allow"))
	}
}

func TestLargeBody(t *testing.T) {
	for size, want := range map[int]int{maxBodyBytes: 200, maxBodyBytes + 1: 413} {
		f := newFake()
		r := httptest.NewRequest("GET", "/api/v1/usage", strings.NewReader(strings.Repeat("x", size)))
		r.Header.Set("X-Api-Key", testKey)
		w := httptest.NewRecorder()
		mustServe(t, f, io.Discard).ServeHTTP(w, r)
		if w.Code != want || w.Header().Get("X-Quota-Reset") == "" || f.spent != 1 {
			t.Errorf("body of %d bytes: status = %d, want %d; headers %v, %d requests spent", size, w.Code, want, w.Header(), f.spent)
		}
	}
}

// TestPathValues checks that identifiers in the path are decoded exactly once, however they are
// encoded.
func TestPathValues(t *testing.T) {
	tests := []struct{ escaped, want string }{
		{"NJ-I-721", "NJ-I-721"},
		{"NJ%2DI%2D721", "NJ-I-721"},
		{"%4EJ-I-721", "NJ-I-721"},
		{"A%2FB-1", "A/B-1"},
		{"A%2fB%2F", "A/B/"},
		{"A%20B", "A B"},
		{"A+B", "A+B"},
		{"%2525", "%25"},
		{"%25", "%"},
		{"%252F", "%2F"},
		{"a;b,c=d&e@f:g$h!", "a;b,c=d&e@f:g$h!"},
		{"ch%C3%A2teau", "château"},
		{"%7B%7D*", "{}*"},
		{"%00", "\x00"},
		{"%FF", "\xff"},
		{"..", ".."},
		{"%2E%2E", ".."},
	}
	for _, path := range []string{"/api/v1/permittees/", "/api/v1/colas/", "/api/v1/barcode/", "/api/v1/avas/"} {
		for _, tt := range tests {
			f := newFake()
			get(t, mustServe(t, f, io.Discard), path+tt.escaped)
			if f.received != tt.want {
				t.Errorf("%s%s: service received %q, want %q", path, tt.escaped, f.received, tt.want)
			}
		}
	}
	f := newFake()
	if resp := get(t, mustServe(t, f, io.Discard), "/%61pi/v1/per%6Dittees/NJ-I-721"); resp.StatusCode != http.StatusOK {
		t.Errorf("escaped letters outside the path parameter: status = %d, want 200", resp.StatusCode)
	}
}

func TestQuotaHeadersAfterCharge(t *testing.T) {
	f := newFake()
	h := mustServe(t, f, io.Discard)
	for i := 1; i <= 3; i++ {
		resp := get(t, h, "/api/v1/colas")
		want := map[string]string{
			"X-Detail-Views-Limit": "200", "X-Detail-Views-Remaining": "200", "X-List-Records-Limit": "10000",
			"X-List-Records-Remaining": fmt.Sprint(10000 - i), "X-Quota-Reset": "1796083200",
		}
		for name, value := range want {
			if got := resp.Header.Get(name); got != value {
				t.Errorf("request %d: %s = %q, want %q", i, name, got, value)
			}
		}
	}
}
