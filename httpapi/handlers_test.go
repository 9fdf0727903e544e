package httpapi

import (
	"bufio"
	"cmp"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/openapitest"
	"github.com/colaregistry/colaregistry/internal/web"
)

// TestRequestLog checks the log line of each kind of request.
func TestRequestLog(t *testing.T) {
	tests := []struct {
		method, target string
		key            bool
		want           map[string]any
	}{
		{"GET", "/api/v1/colas?q=sensitive", true, map[string]any{"route": "/api/v1/colas", "status": 200., "meter": "list_records", "units": 1., "account": 7., "credential": 3., "channel": "rest"}},
		{"GET", "/api/v1/colas/11054001000049", true, map[string]any{"route": "/api/v1/colas/{ttb_id}", "status": 200., "meter": "detail_views", "units": 1.}},
		{"HEAD", "/api/v1/permittees/NJ-I-721", true, map[string]any{"method": "HEAD", "route": "/api/v1/permittees/{permit_number}", "status": 200., "units": 1.}},
		{"GET", "/api/v1/colas/1", true, map[string]any{"status": 404., "units": 0., "code": "not_found"}},
		{"GET", "/api/v1/usage", true, map[string]any{"status": 200., "meter": nil, "units": 0., "code": nil}},
		{"GET", "/api/v1/usage", false, map[string]any{"status": 401., "account": nil, "units": nil, "code": "unauthorized", "channel": "rest"}},
		{"POST", "/api/v1/usage", true, map[string]any{"status": 405., "account": 7., "units": 0.}},
		{"BREW", "/api/v1/usage", true, map[string]any{"method": "other", "route": "/api/v1/usage", "status": 405., "account": 7., "channel": "rest"}},
		{"GET", "/api/v1/unknown", true, map[string]any{"route": "other", "status": 404., "account": 7., "credential": 3., "units": 0., "channel": "rest"}},
		{"GET", "/nothing", false, map[string]any{"route": "other", "status": 404., "channel": nil, "account": nil}},
		{"GET", "/healthz", false, map[string]any{"route": "/healthz", "status": 200., "channel": nil, "account": nil}},
	}
	for _, tt := range tests {
		t.Run(tt.method+tt.target, func(t *testing.T) {
			var log strings.Builder
			lines := []string{"X-Request-Id: seen"}
			if tt.key {
				lines = append(lines, "X-API-Key: "+testKey)
			}
			resp := send(t, mustServe(t, newFake(), &log), tt.method, tt.target, lines...)
			var event map[string]any
			if err := json.Unmarshal([]byte(log.String()), &event); err != nil {
				t.Fatalf("log is not one line of JSON: %s", log.String())
			}
			for name, value := range tt.want {
				if event[name] != value {
					t.Errorf("%s = %v, want %v", name, event[name], value)
				}
			}
			if event["request_id"] != "seen" || event["duration"] == nil || event["level"] != "INFO" {
				t.Errorf("event = %v", event)
			}
			body := mustRead(t, resp)
			if tt.method == "HEAD" {
				body = "" // removed by a real server but not by the recorder
			}
			if event["bytes"] != float64(len(body)) {
				t.Errorf("bytes = %v, want %d", event["bytes"], len(body))
			}
			if strings.Contains(log.String(), testKey) || strings.Contains(log.String(), "sensitive") {
				t.Errorf("log has a secret or a query: %s", log.String())
			}
		})
	}
}

func TestAbortHandler(t *testing.T) {
	f := newFake()
	f.panic = http.ErrAbortHandler
	var log strings.Builder
	defer func() {
		if p := recover(); p != http.ErrAbortHandler || strings.Count(log.String(), "\n") != 1 {
			t.Errorf("recovered %v, log %q; want ErrAbortHandler and one line", p, log.String())
		}
	}()
	get(t, mustServe(t, f, &log), "/api/v1/usage")
}

func TestCompression(t *testing.T) {
	f := newFake()
	h := mustServe(t, f, io.Discard)
	want := mustRead(t, get(t, h, "/api/v1/colas/11054001000049"))
	if len(want) < 1024 {
		t.Fatalf("response of %d bytes is too short to be compressed", len(want))
	}
	readers := map[string]func(io.Reader) (io.Reader, error){
		"gzip": func(r io.Reader) (io.Reader, error) { return gzip.NewReader(r) },
		"zstd": func(r io.Reader) (io.Reader, error) { return zstd.NewReader(r) },
	}
	for encoding, open := range readers {
		resp := get(t, h, "/api/v1/colas/11054001000049", "Accept-Encoding: "+encoding)
		if got := resp.Header.Get("Content-Encoding"); got != encoding {
			t.Fatalf("Content-Encoding = %q, want %q", got, encoding)
		}
		compressed := mustRead(t, resp)
		length := cmp.Or(resp.Header.Get("Content-Length"), strconv.Itoa(len(compressed)))
		if !slices.Contains(resp.Header.Values("Vary"), "Accept-Encoding") || length != strconv.Itoa(len(compressed)) {
			t.Errorf("%s: headers = %v; want Vary: Accept-Encoding, and no Content-Length or %d", encoding, resp.Header,
				len(compressed))
		}
		r, err := open(strings.NewReader(compressed))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(r); err != nil || string(got) != want {
			t.Errorf("%s: body = %q, %v; want the uncompressed body", encoding, got, err)
		}
	}
	if got := get(t, h, "/api/v1/usage", "Accept-Encoding: gzip, zstd").Header.Get("Content-Encoding"); got != "" {
		t.Errorf("short response: Content-Encoding = %q, want none", got)
	}
	for _, refusal := range []string{"gzip;q=0, zstd;q=0", "identity", "br"} {
		if got := get(t, h, "/llms.txt", "Accept-Encoding: "+refusal).Header.Get("Content-Encoding"); got != "" {
			t.Errorf("Accept-Encoding %q: Content-Encoding = %q, want none", refusal, got)
		}
	}
}

// TestPreflight sends the requests that browsers send before a script may use a key.
func TestPreflight(t *testing.T) {
	f := newFake()
	resp := send(t, mustServe(t, f, io.Discard), "OPTIONS", "/api/v1/colas", "Origin: https://shop.example",
		"Access-Control-Request-Method: GET", "Access-Control-Request-Headers: x-api-key,authorization,x-cola-client,traceparent,baggage,sentry-trace")
	if resp.StatusCode != http.StatusOK || f.spent != 0 {
		t.Errorf("status = %d, %d requests spent; want 200, 0", resp.StatusCode, f.spent)
	}
	want := map[string]string{
		"Access-Control-Allow-Origin": "*", "Access-Control-Allow-Methods": "GET", "Access-Control-Max-Age": "3600",
		"Access-Control-Allow-Headers": "X-Api-Key, Authorization, X-Cola-Client, Traceparent, Baggage, Sentry-Trace",
	}
	for name, value := range want {
		if got := resp.Header.Get(name); !strings.EqualFold(got, value) {
			t.Errorf("%s = %q, want %q", name, got, value)
		}
	}
	if got := resp.Header.Get("Access-Control-Allow-Credentials"); got != "" {
		t.Errorf("Access-Control-Allow-Credentials = %q, want none", got)
	}
	for _, method := range []string{"PATCH", "DELETE", "PUT"} { // PUT returns a 405 that scripts can read
		allowed := send(t, mustServe(t, f, io.Discard), "OPTIONS", "/api/v1/saved-searches/"+exampleUUID, "Origin: https://shop.example",
			"Access-Control-Request-Method: "+method, "Access-Control-Request-Headers: content-type,x-api-key")
		if got := allowed.Header.Get("Access-Control-Allow-Methods"); got != method {
			t.Errorf("%s: Access-Control-Allow-Methods = %q", method, got)
		}
	}
}

// TestExposedHeaders checks that a script on another origin can read responses of every kind,
// including errors, with all headers that are relevant to callers.
func TestExposedHeaders(t *testing.T) {
	// The first line lists the headers that browsers always expose. Browsers consume the others
	// themselves.
	known := []string{"Cache-Control", "Content-Length", "Content-Type",
		"Access-Control-Allow-Origin", "Access-Control-Expose-Headers", "Content-Encoding", "Content-Security-Policy",
		"Referrer-Policy", "Vary", "X-Content-Type-Options", "X-Robots-Tag"}
	h := mustServe(t, newFake(), io.Discard)
	for _, tt := range []struct {
		method, target, body string
		more                 []string
		status               int
		header               string // header that the response must have
	}{
		{"GET", "/api/v1/colas", "", nil, 200, "X-Quota-Reset"},
		{"GET", "/api/v1/colas/11054001000049", "", nil, 200, "Etag"},
		{"GET", "/api/v1/colas/11054001000049", "", []string{`If-None-Match: W/"one"`}, 304, "Etag"},
		{"POST", createPath, goodBody, nil, 201, "Location"},
		{"GET", "/api/v1/colas?surely_unknown=1", "", nil, 400, "X-Request-Id"},
		{"GET", "/api/v1/colas", "", []string{"X-API-Key: "}, 401, "Www-Authenticate"},
		{"GET", "/api/v1/unknown", "", nil, 404, "X-Request-Id"},
		{"PUT", "/api/v1/colas", "", nil, 405, "Allow"},
		{"GET", "/healthz", "", nil, 200, "X-Request-Id"},
		{"GET", "/images/11054001000049-1", "", nil, 200, "Etag"},
	} {
		resp := write(t, h, tt.method, tt.target, tt.body, append(tt.more, "Origin: https://shop.example")...)
		if resp.StatusCode != tt.status || resp.Header.Get(tt.header) == "" || resp.Header.Get("Access-Control-Allow-Origin") != "*" {
			t.Errorf("%s %s: response = %d %v, want %d and header %s", tt.method, tt.target, resp.StatusCode, resp.Header, tt.status, tt.header)
		}
		exposed := strings.Split(resp.Header.Get("Access-Control-Expose-Headers"), ", ")
		for name := range resp.Header {
			if !slices.Contains(exposed, name) && !slices.Contains(known, name) {
				t.Errorf("%s %s: header %s is not exposed; exposed: %s", tt.method, tt.target, name, exposed)
			}
		}
	}
}

// slow is a service whose Usage blocks until the context ends.
type slow struct{ *fake }

func (slow) Usage(ctx context.Context, _ cola.Caller) (cola.UsageStats, cola.QuotaState, error) {
	<-ctx.Done()
	return cola.UsageStats{}, cola.QuotaState{}, ctx.Err()
}

func TestTimeout(t *testing.T) {
	var log strings.Builder
	h := New(slow{newFake()}, keys{}, Options{Logger: slog.New(slog.NewJSONHandler(&log, nil)), Timeout: time.Millisecond})
	resp := get(t, h, "/api/v1/usage")
	if resp.StatusCode != http.StatusServiceUnavailable || resp.Header.Get("Retry-After") != "5" {
		t.Errorf("status = %d, Retry-After = %q; want 503, 5", resp.StatusCode, resp.Header.Get("Retry-After"))
	}
	if !strings.Contains(log.String(), "ERROR") {
		t.Errorf("timeout is not logged as an error: %s", log.String())
	}
}

// TestUntrustedHost checks that a forged Host appears nowhere in a response.
func TestUntrustedHost(t *testing.T) {
	h := mustServe(t, newFake(), io.Discard)
	for _, target := range []string{"/llms.txt", "/api/v1/openapi.json", "/api/v1/colas/11054001000049", "/api/v1/unknown"} {
		r := httptest.NewRequest("GET", target, nil)
		r.Host = "evil.example"
		r.Header.Set("X-Api-Key", testKey)
		r.Header.Set("X-Forwarded-Host", "evil.example")
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		var all strings.Builder
		if err := w.Result().Header.Write(&all); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(all.String()+w.Body.String(), "evil.example") {
			t.Errorf("%s: response contains the Host header", target)
		}
	}
}

// mustBegin sends the head of a request and part of its body to a server with a read timeout, and
// returns the response.
func mustBegin(t *testing.T, h http.Handler, wait time.Duration, head string) *http.Response {
	t.Helper()
	server := httptest.NewUnstartedServer(h)
	server.Config.ReadTimeout = wait
	server.Start()
	t.Cleanup(server.Close)
	conn, err := net.Dial("tcp", server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() }) // before closing the server, which waits for the connection
	conn.SetReadDeadline(time.Now().Add(time.Minute))
	part := "{"
	if strings.Contains(head, "chunked") {
		part = "14\r\n{"
	}
	fmt.Fprintf(conn, "%s\r\nHost: x\r\nContent-Type: application/json\r\n\r\n%s", head, part)
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { resp.Body.Close() })
	return resp
}

// TestSlowBodies checks that a request with a slow body gets a timeout response and counts as a
// request.
func TestSlowBodies(t *testing.T) {
	spec := openapitest.Load(t, goldenOpenAPI)
	for _, length := range []string{"Content-Length: 20", "Transfer-Encoding: chunked"} {
		f := newFake()
		var log strings.Builder
		resp := mustBegin(t, mustServe(t, f, &log), 100*time.Millisecond, "POST "+createPath+" HTTP/1.1\r\nX-API-Key: "+testKey+"\r\n"+length)
		spec.Validate(t, httptest.NewRequest(http.MethodPost, createPath, nil), resp)
		got := mustDecode(t, resp)
		if resp.StatusCode != http.StatusRequestTimeout || got.Error.Code != "request_timeout" || f.spent != 1 || f.created.Name != "" {
			t.Errorf("%s: response = %d %+v, %d requests spent; want 408 request_timeout, 1", length, resp.StatusCode, got, f.spent)
		}
		if !resp.Close || resp.Header.Get(web.QuotaHeaders()[0]) == "" {
			t.Errorf("%s: close = %t, headers = %v; want the connection closed, with quota headers", length, resp.Close, resp.Header)
		}
	}
}

// TestImmediateRejection checks that a request rejected because of its headers is answered without
// waiting for its body. The server's read timeout is one hour.
func TestImmediateRejection(t *testing.T) {
	for head, status := range map[string]int{
		"POST " + createPath + " HTTP/1.1\r\nContent-Length: 20":                                                        401,
		"POST " + createPath + " HTTP/1.1\r\nX-API-Key: wrong\r\nTransfer-Encoding: chunked":                            401,
		"GET " + createPath + " HTTP/1.1\r\nContent-Length: 20":                                                         401,
		"PUT " + createPath + " HTTP/1.1\r\nX-API-Key: " + testKey + "\r\nContent-Length: 20":                           405,
		"POST " + createPath + " HTTP/1.1\r\nX-API-Key: " + testKey + "\r\nContent-Length: 70000":                       413,
		"POST " + createPath + " HTTP/1.1\r\nX-API-Key: " + testKey + "\r\nContent-Encoding: gzip\r\nContent-Length: 9": 415,
	} {
		resp := mustBegin(t, mustServe(t, newFake(), io.Discard), time.Hour, head)
		if resp.StatusCode != status || !resp.Close {
			t.Errorf("%q: status = %d, close = %t; want %d, true", head, resp.StatusCode, resp.Close, status)
		}
	}
}

// TestKeepAlive checks that a connection is reused if the request body was read or is empty.
func TestKeepAlive(t *testing.T) {
	server := httptest.NewServer(mustServe(t, newFake(), io.Discard))
	defer server.Close()
	for _, body := range []string{"", "{}"} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL+createPath, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("X-API-Key", testKey)
		r.Header.Set("Content-Type", "application/json")
		resp, err := server.Client().Do(r)
		if err != nil {
			t.Fatal(err)
		}
		if mustRead(t, resp); resp.Close {
			t.Errorf("connection closed after status %d for body %q", resp.StatusCode, body)
		}
	}
}
