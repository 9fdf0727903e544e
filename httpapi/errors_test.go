package httpapi

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/openapitest"
	"github.com/colaregistry/colaregistry/internal/web"
)

// decoded is the body of an error response, as decoded by a client.
type decoded struct {
	Error struct {
		Code    string
		Message string
		Details map[string]any
	}
	UpgradeURL string `json:"upgrade_url"`
}

func mustDecode(t *testing.T, resp *http.Response) decoded {
	t.Helper()
	var d decoded
	if body := mustRead(t, resp); json.Unmarshal([]byte(body), &d) != nil || d.Error.Details == nil {
		t.Fatalf("body is not an error: %s", body)
	}
	return d
}

func TestErrorStatuses(t *testing.T) {
	want := map[cola.Code]int{
		cola.CodeUnauthorized: 401, cola.CodeNotFound: 404, cola.CodeQuotaExceeded: 429, cola.CodeValidation: 400,
		cola.CodeInsufficientScope: 403, cola.CodeSearchTooBroad: 400, cola.CodeWatchlistLimit: 409,
		cola.CodeIdempotencyKeyReused: 409,
		cola.CodeMethodNotAllowed:     405, cola.CodeNotAcceptable: 406, cola.CodeRequestTimeout: 408, cola.CodePayloadTooLarge: 413, cola.CodeUnsupportedMediaType: 415,
		cola.CodeForbidden: 403, cola.CodeAccountSuspended: 403, cola.CodeInternal: 500, cola.CodeUnavailable: 503,
		cola.CodeDestinationLimit: 409, cola.CodeDestinationExists: 409, cola.CodeNotActive: 409,
		cola.CodeKeyLimit: 409,
	}
	source, err := os.ReadFile("../cola/errors.go")
	if err != nil {
		t.Fatal(err)
	}
	codes := regexp.MustCompile(`Code\s+= "([a-z_]+)"`).FindAllStringSubmatch(string(source), -1)
	if len(codes) != len(want) {
		t.Errorf("package cola has %d codes, want %d", len(codes), len(want))
	}
	documented := new(strings.Builder)
	if err := json.NewEncoder(documented).Encode(describe(operations(newFake()), Options{}.withDefaults()).Components.Schemas.Map()["Error"]); err != nil {
		t.Fatal(err)
	}
	for _, match := range codes {
		code := cola.Code(match[1])
		if got := web.StatusOf(code); got != want[code] {
			t.Errorf("web.StatusOf(%s) = %d, want %d", code, got, want[code])
		}
		dashboardOnly := code == cola.CodeKeyLimit // only the dashboard returns it
		if isDocumented := strings.Contains(documented.String(), `"`+match[1]+`"`); isDocumented == dashboardOnly {
			t.Errorf("%s documented = %t, want %t", code, isDocumented, !dashboardOnly)
		}
	}
}

// failure is a service error and its expected response.
type failure struct {
	name    string
	err     error
	blank   bool // the quota state is unknown
	status  int
	code    string
	retry   string
	upgrade string
}

func failures() []failure {
	return []failure{
		{name: "burst", err: &cola.Error{Code: cola.CodeQuotaExceeded, Message: "Too fast.", Details: map[string]any{"reason": "burst"}, RetryAfter: 11*time.Second + time.Millisecond},
			status: 429, code: "quota_exceeded", retry: "12"},
		{name: "burst, almost over", err: &cola.Error{Code: cola.CodeQuotaExceeded, Message: "Too fast.", RetryAfter: time.Nanosecond},
			status: 429, code: "quota_exceeded", retry: "1"},
		{name: "quota", err: &cola.Error{Code: cola.CodeQuotaExceeded, Message: "Used up.", Details: map[string]any{"reason": "list_records"}, UpgradeURL: "https://registry.example/plans"},
			status: 429, code: "quota_exceeded", upgrade: "https://registry.example/plans"},
		{name: "suspended", err: exampleSuspended(), status: 403, code: "account_suspended"},
		{name: "revoked", err: cola.Errorf(cola.CodeUnauthorized, "Revoked."), blank: true, status: 401, code: "unauthorized"},
		{name: "wrapped", err: fmt.Errorf("outer: %w", cola.Errorf(cola.CodeValidation, "Bad.")), status: 400, code: "validation_error"},
		{name: "unavailable", err: cola.Unavailable(), blank: true, status: 503, code: "unavailable", retry: "5"},
		{name: "unavailable, no retry time", err: cola.Errorf(cola.CodeUnavailable, "Later."), blank: true, status: 503, code: "unavailable", retry: "5"},
		{name: "internal", err: errBroken, blank: true, status: 500, code: "internal_error"},
		{name: "internal, from the service", err: &cola.Error{Code: cola.CodeInternal, Message: errBroken.Error()}, status: 500, code: "internal_error"},
		{name: "too slow", err: fmt.Errorf("query: %w", context.DeadlineExceeded), blank: true, status: 503, code: "unavailable", retry: "5"},
		{name: "unencodable details", err: &cola.Error{Code: cola.CodeValidation, Message: "Bad.", Details: map[string]any{"x": func() {}}}, status: 400, code: "validation_error"},
	}
}

// TestServiceErrors checks every error from every endpoint against the OpenAPI description.
func TestServiceErrors(t *testing.T) {
	spec := openapitest.Load(t, goldenOpenAPI)
	for _, tt := range failures() {
		f := newFake()
		f.err, f.blank = tt.err, tt.blank
		h := mustServe(t, f, io.Discard)
		for _, op := range operations(f) {
			target := basePath + strings.Replace(op.Path, "{"+op.PathParam.Name+"}", "1", 1)
			t.Run(tt.name+op.Path, func(t *testing.T) {
				resp := ask(t, h, &op, target)
				spec.Validate(t, httptest.NewRequest(op.method(), target, nil), resp)
				checkFailure(t, tt, resp)
			})
		}
	}
}

func checkFailure(t *testing.T, want failure, resp *http.Response) {
	t.Helper()
	got := mustDecode(t, resp)
	if resp.StatusCode != want.status || got.Error.Code != want.code {
		t.Errorf("response = %d %s, want %d %s", resp.StatusCode, got.Error.Code, want.status, want.code)
	}
	if retry := resp.Header.Get("Retry-After"); retry != want.retry {
		t.Errorf("Retry-After = %q, want %q", retry, want.retry)
	}
	nested, _ := got.Error.Details["upgrade_url"].(string)
	if got.UpgradeURL != want.upgrade || nested != want.upgrade {
		t.Errorf("upgrade_url = %q, in details = %q, want %q", got.UpgradeURL, nested, want.upgrade)
	}
	if known := resp.Header.Get("X-Quota-Reset") != ""; known == want.blank {
		t.Errorf("unexpected or missing quota headers: %v", resp.Header)
	}
	if challenged := resp.Header.Get("Www-Authenticate") != ""; challenged != (want.status == 401) {
		t.Errorf("unexpected or missing WWW-Authenticate: %q", resp.Header.Get("Www-Authenticate"))
	}
	if resp.Header.Get("Cache-Control") != "private, no-store" || resp.Header.Get("Etag") != "" {
		t.Errorf("error may be cached: %v", resp.Header)
	}
}

func TestInternalErrors(t *testing.T) {
	faults := map[string]func(*fake){
		"error":          func(f *fake) { f.err = errBroken },
		"internal error": func(f *fake) { f.err = &cola.Error{Code: cola.CodeInternal, Message: errBroken.Error()} },
		"panic":          func(f *fake) { f.panic = errBroken },
	}
	for name, inject := range faults {
		t.Run(name, func(t *testing.T) {
			var log strings.Builder
			f := newFake()
			inject(f)
			resp := get(t, mustServe(t, f, &log), "/api/v1/colas/11054001000049", "X-Request-Id: find-me")
			body := mustRead(t, resp)
			if resp.StatusCode != http.StatusInternalServerError || strings.Contains(body, "secrets") {
				t.Errorf("response = %d %s, want 500 without internals", resp.StatusCode, body)
			}
			if !strings.Contains(body, `"request_id":"find-me"`) {
				t.Errorf("request ID is missing: %s", body)
			}
			if got := strings.Count(log.String(), "\n"); got != 1 || !strings.Contains(log.String(), "secrets") || !strings.Contains(log.String(), `"level":"ERROR"`) {
				t.Errorf("error is not logged exactly once:\n%s", log.String())
			}
			if name == "panic" && !strings.Contains(log.String(), "fake_test.go") {
				t.Errorf("stack is missing:\n%s", log.String())
			}
		})
	}
}

// TestClientDisconnect checks that a client that disconnects during a call gets no response and
// causes no server error.
func TestClientDisconnect(t *testing.T) {
	var log strings.Builder
	f := newFake()
	f.err = fmt.Errorf("search: %w", context.Canceled)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r := httptest.NewRequestWithContext(ctx, http.MethodGet, "/api/v1/usage", nil)
	r.Header.Set("X-Api-Key", testKey)
	w := httptest.NewRecorder()
	mustServe(t, f, &log).ServeHTTP(w, r)
	if w.Code != web.StatusClientGone || w.Body.Len() != 0 || strings.Contains(log.String(), "ERROR") {
		t.Errorf("response = %d %q, want no body and no logged error\n%s", w.Code, w.Body, log.String())
	}
}
