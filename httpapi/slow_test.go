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
	"time"

	"github.com/colaregistry/colaregistry/internal/openapitest"
	"github.com/colaregistry/colaregistry/internal/web"
)

// mustBegin sends the head of a request and a part of its body to a server that waits so long for the rest, and returns the answer.
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
	t.Cleanup(func() { conn.Close() }) // before the server is closed, which waits for it
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

// TestSlowBodies: a body that does not come in time is told so to the caller, who is still there, and counts as a request.
func TestSlowBodies(t *testing.T) {
	spec := openapitest.Load(t, goldenOpenAPI)
	for _, length := range []string{"Content-Length: 20", "Transfer-Encoding: chunked"} {
		f := newFake()
		var log strings.Builder
		resp := mustBegin(t, mustServe(t, f, &log), 100*time.Millisecond, "POST "+createPath+" HTTP/1.1\r\nX-API-Key: "+testKey+"\r\n"+length)
		spec.Validate(t, httptest.NewRequest(http.MethodPost, createPath, nil), resp)
		got := mustDecode(t, resp)
		if resp.StatusCode != http.StatusRequestTimeout || got.Error.Code != "request_timeout" || f.spent != 1 || f.created.Name != "" {
			t.Errorf("%s: %d %+v, %d requests spent", length, resp.StatusCode, got, f.spent)
		}
		if !resp.Close || resp.Header.Get(web.QuotaHeaders()[0]) == "" {
			t.Errorf("%s: closing %t, headers %v", length, resp.Close, resp.Header)
		}
	}
}

// TestRefusedAtOnce: who is refused before the body counts is not kept waiting for it. This server would wait for an hour.
func TestRefusedAtOnce(t *testing.T) {
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
			t.Errorf("%q is answered with %d, closing %t", head, resp.StatusCode, resp.Close)
		}
	}
}

// TestConnectionsAreKept where the body was read, or there is none.
func TestConnectionsAreKept(t *testing.T) {
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
			t.Errorf("the connection is closed after %d to %q", resp.StatusCode, body)
		}
	}
}
