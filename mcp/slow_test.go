package mcp

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
)

// mustBegin sends the head of a message and a part of its body to a server that waits so long for the rest, and returns the answer.
func mustBegin(t *testing.T, h http.Handler, wait time.Duration, head string) reply {
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
	fmt.Fprintf(conn, "%s %s HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nContent-Length: 20\r\n\r\n{", head, Path, testHost)
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { resp.Body.Close() })
	return mustReply(t, resp)
}

// withKey serves requests with the test's key.
func withKey(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Header.Set("X-API-Key", testKey)
		h.ServeHTTP(w, r)
	})
}

// TestSlowMessages: a message that does not come in time is told so to the caller, who is still there.
func TestSlowMessages(t *testing.T) {
	f := newFake()
	got := mustBegin(t, withKey(mustServe(t, f, io.Discard)), 100*time.Millisecond, "POST")
	if got.StatusCode != http.StatusRequestTimeout || !strings.HasPrefix(got.body, `{"error":{"code":"request_timeout"`) || !got.Close || f.spent != 0 || f.looks != 1 {
		t.Errorf("%d %s, closing %t, %d spent, %d looks", got.StatusCode, got.body, got.Close, f.spent, f.looks)
	}
	checkHeaders(t, got)
}

// TestRefusedAtOnce: who is refused before the message counts is not kept waiting for it. These servers would wait for an hour.
func TestRefusedAtOnce(t *testing.T) {
	h := mustServe(t, newFake(), io.Discard)
	for name, tt := range map[string]struct {
		h      http.Handler
		method string
		status int
	}{"no credentials": {h, "POST", 401}, "another method": {withKey(h), "PUT", 405}} {
		if got := mustBegin(t, tt.h, time.Hour, tt.method); got.StatusCode != tt.status || !got.Close {
			t.Errorf("%s: %d, closing %t", name, got.StatusCode, got.Close)
		}
	}
}
