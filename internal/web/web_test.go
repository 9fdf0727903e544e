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

// TestPanicBeforeResponse checks that the response to a panic contains only the request ID and that
// the log has the stack.
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

// TestPanicDuringResponse checks that a panic during a response closes the connection, because the
// response is incomplete.
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
	var wg sync.WaitGroup
	for range goroutines {
		wg.Go(func() {
			for i := range each {
				m.startRequest()
				m.finishRequest("/a", outcome{"GET", 200 + i%10}, 0, 1, false)
			}
		})
	}
	wg.Wait()
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

// TestRequestLog checks which requests are recorded, and what each record contains.
func TestRequestLog(t *testing.T) {
	caller := cola.Caller{Account: 7, Credential: cola.Credential{Kind: cola.CredentialKey, ID: 3}}
	var got []cola.LoggedRequest
	rec := NewRecorder(slog.New(slog.DiscardHandler), nil, []string{"/"}, func(*http.Request) string { return "/" }).
		WithRequestLog(func(account cola.AccountID, failed bool, describe func() cola.LoggedRequest) {
			r := describe()
			if account != 7 || failed != r.Failed() || r.Duration < 0 {
				t.Errorf("account %d, failed %t: %+v", account, failed, r)
			}
			r.Duration = 0
			got = append(got, r)
		})
	send := func(target string, serve func(w http.ResponseWriter, r *http.Request, e *Event)) {
		h := RequestID(rec.Record(Recover(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			e := EventOf(r.Context())
			e.Channel, e.Caller, e.Logged = cola.ChannelREST, caller, true
			serve(w, r, e)
		}))))
		r := httptest.NewRequest(http.MethodGet, target, nil)
		r.Header.Set("X-Request-Id", "id")
		r.Header.Set("X-API-Key", aKey)
		h.ServeHTTP(httptest.NewRecorder(), r)
	}
	send("/a?q=1", func(w http.ResponseWriter, _ *http.Request, e *Event) {
		e.Meter, e.Units = cola.MeterListRecords, 5
		w.WriteHeader(http.StatusOK)
	})
	send("/free", func(_ http.ResponseWriter, _ *http.Request, e *Event) { e.Meter = cola.MeterListRecords })
	send("/b/"+aKey, func(w http.ResponseWriter, r *http.Request, _ *Event) {
		Fail(w, r, cola.Errorf(cola.CodeNotFound, "No %s <b>.", aKey))
	})
	send("/panic", func(http.ResponseWriter, *http.Request, *Event) { panic("secret") })
	send("/mcp", func(w http.ResponseWriter, r *http.Request, e *Event) {
		e.Call = &Call{Method: "tools/call", Target: "t", Input: []byte(`{"q":"` + aKey + `"}`)}
		e.Code, e.Answer = cola.CodeValidation, ErrorBody{Error: ErrorInfo{Message: strings.Repeat("ü", 10_000)}}
	})
	send("/visitor", func(_ http.ResponseWriter, _ *http.Request, e *Event) { e.Caller = cola.Caller{} })
	send("/not-logged", func(_ http.ResponseWriter, _ *http.Request, e *Event) { e.Logged = false })
	if len(got) == 5 && (!strings.HasSuffix(got[4].Answer, "ü…") || len(got[4].Answer) > maxLoggedAnswer) {
		t.Errorf("long answer has %d bytes", len(got[4].Answer))
	}
	of := func(method, target string, status int) cola.LoggedRequest {
		return cola.LoggedRequest{
			RequestID: "id", Channel: cola.ChannelREST, Credential: caller.Credential, Method: method, Target: target, Status: status,
		}
	}
	want := []cola.LoggedRequest{
		of("GET", "/a", 200), of("GET", "/free", 200), of("GET", "/b/REMOVED", 404), of("GET", "/panic", 500), of("tools/call", "t", 400),
	}
	want[0].Input, want[0].Meter, want[0].Units = "q=1", cola.MeterListRecords, 5
	want[2].Code, want[2].Answer = cola.CodeNotFound, `{"error":{"code":"not_found","message":"No REMOVED <b>.","details":{}}}`
	want[3].Code, want[3].Answer = cola.CodeInternal, got[3].Answer
	want[4].Code, want[4].Input, want[4].Answer = cola.CodeValidation, `{"q":"REMOVED"}`, got[4].Answer
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("recorded (-want +got):\n%s", diff)
	}
	if !strings.Contains(got[3].Answer, "request_id") || strings.Contains(got[3].Answer, "secret") {
		t.Errorf("answer after a panic: %s", got[3].Answer)
	}
}

// TestForwarded checks that a request that one Recorder forwards to another is logged and measured
// once.
func TestForwarded(t *testing.T) {
	var out strings.Builder
	registry := prometheus.NewRegistry()
	inner := withMiddleware(&out, registry, "/inner", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) })
	get(withMiddleware(&out, registry, "/outer", func(w http.ResponseWriter, r *http.Request) {
		EventOf(r.Context()).Forwarded = true
		inner.ServeHTTP(w, r)
	}), "the-id")
	if strings.Count(out.String(), `"request_id":"the-id"`) != 1 || !strings.Contains(out.String(), `"route":"/inner"`) {
		t.Errorf("log:\n%s", out.String())
	}
	const want = `
		# HELP colaregistry_http_requests_in_flight Requests in flight.
		# TYPE colaregistry_http_requests_in_flight gauge
		colaregistry_http_requests_in_flight 0
		# HELP colaregistry_http_requests_total Requests by route pattern and status. Status 499: the client disconnected; 0: no response.
		# TYPE colaregistry_http_requests_total counter
		colaregistry_http_requests_total{method="GET",route="/inner",status="200"} 1
	`
	err := testutil.GatherAndCompare(registry, strings.NewReader(want),
		"colaregistry_http_requests_in_flight", "colaregistry_http_requests_total")
	if err != nil {
		t.Error(err)
	}
}
