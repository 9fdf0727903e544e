package web

import (
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/colaregistry/colaregistry/cola"
)

var errBroken = errors.New("disk full of secrets")

// withMiddleware wraps a handler in this package's middleware. The log goes to out.
func withMiddleware(
	out *strings.Builder, registerer prometheus.Registerer, route string, h http.HandlerFunc,
) http.Handler {
	rec := NewRecorder(slog.New(slog.NewJSONHandler(out, nil)), registerer, []string{route},
		func(*http.Request) string { return route })
	return RequestID(rec.Record(Recover(h)))
}

func get(h http.Handler, id string) *http.Response {
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	r.Header.Set("X-Request-Id", id)
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Result()
}

func TestRequestID(t *testing.T) {
	h := withMiddleware(&strings.Builder{}, nil, "/", func(http.ResponseWriter, *http.Request) {})
	for _, sane := range []string{"a", "0b5c.7-D_e", strings.Repeat("x", 64)} {
		if got := get(h, sane).Header.Get("X-Request-Id"); got != sane {
			t.Errorf("request ID %q: response has %q", sane, got)
		}
	}
	const key = "lar_test"
	seen := map[string]bool{}
	for _, bad := range []string{
		"", "has space", "semi;colon", "naïve", "-leading", strings.Repeat("x", 65),
		`"><script>`, key, "id-" + key,
	} {
		got := get(h, bad).Header.Get("X-Request-Id")
		if got == bad || !validRequestID(got) || seen[got] {
			t.Errorf("invalid request ID %q: response has %q", bad, got)
		}
		seen[got] = true
	}
}

// TestPanicBeforeResponse checks that the response contains only the request ID and that the log
// has the stack.
func TestPanicBeforeResponse(t *testing.T) {
	var log strings.Builder
	resp := get(withMiddleware(&log, nil, "/", func(http.ResponseWriter, *http.Request) { panic(errBroken) }), "seen")
	var body strings.Builder
	if err := resp.Write(&body); err != nil {
		t.Fatal(err)
	}
	if resp.StatusCode != http.StatusInternalServerError || strings.Contains(body.String(), "disk") ||
		!strings.Contains(body.String(), `"request_id":"seen"`) {
		t.Errorf("response to a panic: want status 500 with only the request ID: %s", body.String())
	}
	if !strings.Contains(log.String(), "disk full of secrets") || !strings.Contains(log.String(), "web_test.go") {
		t.Errorf("log of a panic: want the cause and the stack: %s", log.String())
	}
}

// TestPanicDuringResponse checks that the connection is closed, because the response is
// incomplete.
func TestPanicDuringResponse(t *testing.T) {
	h := withMiddleware(&strings.Builder{}, nil, "/", func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusOK)
		panic(errBroken)
	})
	defer func() {
		if p := recover(); p != http.ErrAbortHandler {
			t.Errorf("recovered %v, want %v", p, http.ErrAbortHandler)
		}
	}()
	get(h, "")
	t.Error("get returned after a panic")
}

// TestInvalidDetails checks that an error is sent without details that cannot be encoded as
// JSON.
func TestInvalidDetails(t *testing.T) {
	var log strings.Builder
	resp := get(withMiddleware(&log, nil, "/", func(w http.ResponseWriter, r *http.Request) {
		Fail(w, r, &cola.Error{Code: cola.CodeValidation, Message: "Odd.", Details: map[string]any{"why": func() {}}})
	}), "")
	var body strings.Builder
	if err := resp.Write(&body); err != nil {
		t.Fatal(err)
	}
	if resp.StatusCode != http.StatusBadRequest ||
		!strings.Contains(body.String(), `{"error":{"code":"validation_error","message":"Odd.","details":{}}}`) {
		t.Errorf("response: want status 400 with empty details: %s", body.String())
	}
	if !strings.Contains(log.String(), "unsupported type") {
		t.Errorf("log lacks the encoding error: %s", log.String())
	}
}

// TestSharedMetrics checks that two APIs with one registerer share their counters.
func TestSharedMetrics(t *testing.T) {
	registry := prometheus.NewPedanticRegistry()
	ok := func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) }
	var log strings.Builder
	for _, route := range []string{"/a", "/b", "/b"} {
		get(withMiddleware(&log, registry, route, ok), "")
	}
	want := `
# HELP colaregistry_http_requests_total Requests by route pattern and status. Status 499: the client disconnected; 0: no response.
# TYPE colaregistry_http_requests_total counter
colaregistry_http_requests_total{method="GET",route="/a",status="200"} 1
colaregistry_http_requests_total{method="GET",route="/b",status="200"} 2
`
	if err := testutil.GatherAndCompare(registry, strings.NewReader(want),
		"colaregistry_http_requests_total"); err != nil {
		t.Error(err)
	}
}

// TestConcurrentCounts counts the same new outcomes from many goroutines at once.
func TestConcurrentCounts(t *testing.T) {
	const goroutines, each = 16, 50
	m := newMetrics(prometheus.NewRegistry(), []string{"/a"})
	var all sync.WaitGroup
	for range goroutines {
		all.Go(func() {
			for i := range each {
				m.startRequest()
				m.finishRequest("/a", outcome{"GET", 200 + i%10}, 0, 1, false)
			}
		})
	}
	all.Wait()
	for status := 200; status < 210; status++ {
		if got := testutil.ToFloat64(m.routes["/a"].counter(outcome{"GET", status})); got != goroutines*each/10 {
			t.Errorf("status %d: counter = %v, want %d", status, got, goroutines*each/10)
		}
	}
}

func TestRetrySeconds(t *testing.T) {
	tests := map[time.Duration]int64{
		0: 1, time.Nanosecond: 1, time.Second: 1, time.Second + 1: 2, 59*time.Second +
			999*time.Millisecond: 60, time.Minute: 60,
	}
	got := map[time.Duration]int64{}
	for d := range tests {
		got[d] = RetrySeconds(d)
	}
	if diff := cmp.Diff(tests, got); diff != "" {
		t.Errorf("RetrySeconds (-want +got):\n%s", diff)
	}
}

func TestIsLocalURL(t *testing.T) {
	for u, want := range map[string]bool{
		"http://127.0.0.1:8080": true, "http://127.8.0.1": true, "http://localhost:8080": true,
		"http://LOCALHOST/x": true, "http://a.localhost": true,
		"http://[::1]:8080": true, "http://[::ffff:127.0.0.1]": true, "http://0.0.0.0:8080": true,
		"http://[::]:80":               true,
		"https://registry.example.com": false, "http://192.168.1.4:8080": false, "http://localhost.example.com": false,
		"": false, "http://%zz": false,
	} {
		if got := IsLocalURL(u); got != want {
			t.Errorf("IsLocalURL(%q) = %t, want %t", u, got, want)
		}
	}
}
