package openapitest

import (
	"cmp"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

const documentPath = "../../httpapi/openapi.json"

// recorder is a testing.TB that records failures instead of failing.
type recorder struct {
	testing.TB
	failures []string
}

func (r *recorder) Helper() {}
func (r *recorder) Errorf(format string, args ...any) {
	r.failures = append(r.failures, fmt.Sprintf(format, args...))
}

const usage = `{"data":{"tier":"free","current_period":"2026-11","detail_views":{"used":1,"limit":200,"remaining":199},` +
	`"list_records":{"used":0,"limit":10000,"remaining":10000},"per_minute_limit":10,"data_as_of":null}}`

const notFound = `{"error":{"code":"not_found","message":"No.","details":{"anything":1}}}`

// answer returns a response with the headers of GET /api/v1/usage.
func answer(status int, body string) *http.Response {
	h := http.Header{
		"Content-Type": {"application/json"}, "X-Request-Id": {"r"}, "X-Quota-Reset": {"1796083200"},
		"X-Detail-Views-Limit": {"200"}, "X-Detail-Views-Remaining": {"199"},
		"X-List-Records-Limit": {"10000"}, "X-List-Records-Remaining": {"10000"},
	}
	return &http.Response{StatusCode: status, Header: h, Body: io.NopCloser(strings.NewReader(body))}
}

// exchange is a request with its response.
type exchange struct {
	name, method, target string // default GET /api/v1/usage
	status               int
	body                 string
	change               func(http.Header)
	fails                string // part of the failure, or empty if the response is valid
}

func with(name, value string) func(http.Header) { return func(h http.Header) { h.Set(name, value) } }
func without(name string) func(http.Header)     { return func(h http.Header) { h.Del(name) } }

func exchanges() []exchange {
	return []exchange{
		{name: "good", status: 200, body: usage},
		{name: "good from another host", target: "https://registry.example/api/v1/usage", status: 200, body: usage},
		{name: "good HEAD", method: "HEAD", status: 200},
		{name: "good 304", target: "/api/v1/colas/1", status: 304, change: with("Etag", `W/"a"`)},
		{name: "missing field", status: 200, body: strings.Replace(usage, `"tier":"free",`, "", 1), fails: "tier"},
		{
			name:   "undocumented field",
			status: 200,
			body:   strings.Replace(usage, `"tier"`, `"extra":1,"tier"`, 1),
			fails:  "extra",
		},
		{
			name:   "undocumented nested field",
			status: 200,
			body:   strings.Replace(usage, `"used"`, `"extra":1,"used"`, 1),
			fails:  "extra",
		},
		{name: "wrong type", status: 200, body: strings.Replace(usage, "199", `"199"`, 1), fails: "remaining"},
		{name: "invalid null", status: 200, body: strings.Replace(usage, "199", "null", 1), fails: "remaining"},
		{
			name:   "value not in the enumeration",
			status: 200,
			body:   strings.Replace(usage, `"free"`, `"gold"`, 1),
			fails:  "tier",
		},
		{name: "not JSON", status: 200, body: "{", fails: "body"},
		{
			name:   "missing quota header",
			status: 200,
			body:   usage,
			change: without("X-Quota-Reset"),
			fails:  "X-Quota-Reset",
		},
		{name: "missing request ID", status: 200, body: usage, change: without("X-Request-Id"), fails: "X-Request-Id"},
		{
			name:   "header of the wrong type",
			status: 200,
			body:   usage,
			change: with("X-Quota-Reset", "soon"),
			fails:  "X-Quota-Reset",
		},
		{name: "undocumented status", status: 418, body: usage, fails: "status"},
		{
			name:   "undocumented content type",
			status: 200,
			body:   usage,
			change: with("Content-Type", "text/plain"),
			fails:  "content type",
		},
		{
			name:   "HEAD without a header",
			method: "HEAD",
			status: 200,
			change: without("X-Quota-Reset"),
			fails:  "X-Quota-Reset",
		},
		{name: "good error", target: "/api/v1/colas/1", status: 404, body: notFound},
		{
			name:   "error without details",
			target: "/api/v1/colas/1",
			status: 404,
			body:   `{"error":{"code":"not_found","message":"No."}}`,
			fails:  "details",
		},
		{name: "unknown path", target: "/api/v1/unknown", status: 404, body: notFound},
		{name: "unknown path, wrong schema", target: "/api/v1/unknown", status: 404, body: `{}`, fails: "error"},
		{
			name:   "unknown path, HTML",
			target: "/api/v1/unknown",
			status: 404,
			body:   notFound,
			change: with("Content-Type", "text/html"),
			fails:  "content type",
		},
		{name: "unknown path, success", target: "/api/v1/unknown", status: 200, body: usage, fails: "undocumented"},
		{
			name:   "unknown path, no request ID",
			target: "/api/v1/unknown",
			status: 404,
			body:   notFound,
			change: without("X-Request-Id"),
			fails:  "X-Request-Id",
		},
		{name: "outside the API", target: "/healthz", status: 200, body: `{"status":"ok"}`},
		{
			name:   "outside the API, HTML error",
			target: "/confirm/x",
			status: 404,
			body:   "<p>No.",
			change: with("Content-Type", "text/html"),
		},
		{
			name:   "outside the API, no request ID",
			target: "/healthz",
			status: 200,
			body:   "{}",
			change: without("X-Request-Id"),
			fails:  "X-Request-Id",
		},
		{name: "outside the API, error with wrong schema", target: "/readyz", status: 503, body: "{}", fails: "error"},
		{name: "wrong method", method: "POST", status: 405, body: notFound, change: with("Allow", "GET")},
		{name: "wrong method, no Allow", method: "POST", status: 405, body: notFound, fails: "Allow"},
		{name: "escaped slash in a path", target: "/api/v1/permittees/A%2FB", status: 404, body: notFound},
	}
}

func TestValidate(t *testing.T) {
	spec := Load(t, documentPath)
	for _, tt := range exchanges() {
		t.Run(tt.name, func(t *testing.T) {
			resp := answer(tt.status, tt.body)
			if tt.change != nil {
				tt.change(resp.Header)
			}
			req := httptest.NewRequest(cmp.Or(tt.method, http.MethodGet), cmp.Or(tt.target, "/api/v1/usage"), nil)
			r := &recorder{TB: t}
			spec.Validate(r, req, resp)
			switch {
			case tt.fails == "" && len(r.failures) > 0:
				t.Errorf("valid response failed: %s", r.failures)
			case tt.fails != "" && (len(r.failures) != 1 || !strings.Contains(r.failures[0], tt.fails)):
				t.Errorf("failures %q, want %q", r.failures, tt.fails)
			}
			if body, err := io.ReadAll(resp.Body); err != nil || string(body) != tt.body {
				t.Errorf("reading the body again: %q, %v, want %q", body, err, tt.body)
			}
		})
	}
}
