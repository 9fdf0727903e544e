package mcp

import (
	"bufio"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/colaregistry/colaregistry/cola"
)

// mustBegin sends a message's headers and part of its body to a server with a read timeout, and
// returns the response.
func mustBegin(t *testing.T, h http.Handler, wait time.Duration, method string) reply {
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
	fmt.Fprintf(conn, "%s %s HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nContent-Length: 20\r\n\r\n{", method, Path, testHost)
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { resp.Body.Close() })
	return mustReply(t, resp)
}

// withKey returns a handler that adds the test key to requests.
func withKey(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Header.Set("X-API-Key", testKey)
		h.ServeHTTP(w, r)
	})
}

// TestSlowMessages checks that a slow message gets a timeout response.
func TestSlowMessages(t *testing.T) {
	f := newFake()
	got := mustBegin(t, withKey(mustServe(t, f, io.Discard)), 100*time.Millisecond, "POST")
	if got.StatusCode != http.StatusRequestTimeout || !strings.HasPrefix(got.body, `{"error":{"code":"request_timeout"`) || !got.Close || f.spent != 0 || f.looks != 1 {
		t.Errorf("%d %s, closing %t, %d requests counted, %d lookups", got.StatusCode, got.body, got.Close, f.spent, f.looks)
	}
	checkHeaders(t, got)
}

// TestEarlyRejection checks that a request rejected because of its headers is answered without
// waiting for its body. The servers' read timeout is one hour.
func TestEarlyRejection(t *testing.T) {
	h := mustServe(t, newFake(), io.Discard)
	for name, tt := range map[string]struct {
		h      http.Handler
		method string
		status int
	}{"no credentials": {h, "POST", 401}, "another method": {withKey(h), "PUT", 405}} {
		if got := mustBegin(t, tt.h, time.Hour, tt.method); got.StatusCode != tt.status || !got.Close {
			t.Errorf("%s: status %d, closing %t; want %d, true", name, got.StatusCode, got.Close, tt.status)
		}
	}
}

// suspended is the error for a suspended account.
func suspended() *cola.Error {
	return &cola.Error{
		Code: cola.CodeAccountSuspended, Message: "The account is suspended: Unpaid. Contact the operator. Your data is kept.",
		Details: map[string]any{"reason": "Unpaid."},
	}
}

// TestSuspendedAccount checks that a suspended account gets an HTTP error, in a handshake and
// during a call, without a challenge, because other credentials would not help.
func TestSuspendedAccount(t *testing.T) {
	for _, message := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"a","version":"1"}}}`,
		`{"jsonrpc":"2.0","id":1,"method":"ping"}`, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, `{"jsonrpc":"2.0","method":"notifications/initialized"}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get_usage"}}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"search_colas","arguments":{"per_page":"many"}}}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"create_saved_search","arguments":` + goodSearch + `}}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"nothing"}}`,
		`{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"registry://reference/tiers"}}`,
		`{"jsonrpc":"2.0","id":1,"method":"prompts/get","params":{"name":"permittee_report","arguments":{"company":"x"}}}`,
		`{"jsonrpc":"2.0","id":1,"method":"completion/complete","params":{"ref":{"type":"ref/prompt","name":"watch_brand"},"argument":{"name":"origin","value":"f"}}}`,
		`[]`,
	} {
		for _, credential := range []string{"X-API-Key: " + testKey, "Authorization: Bearer " + testToken} {
			f := newFake()
			f.err = suspended()
			h := New(f, keys{}, Options{
				Logger: slog.New(slog.DiscardHandler), Hosts: []string{testHost}, Resource: Resource("https://"+testHost, []string{"https://issuer.example"}, nil),
			})
			got := mustReply(t, send(t, h, http.MethodPost, message, "X-API-Key:", credential))
			if got.StatusCode != http.StatusForbidden || !strings.HasPrefix(got.body, `{"error":{"code":"account_suspended"`) || !strings.Contains(got.body, `"details":{"reason":"Unpaid."}`) {
				t.Errorf("%s: status %d, want 403 with account_suspended and the reason: %s", message, got.StatusCode, got.body)
			}
			checkHeaders(t, got)
			if f.created.Name != "" && credential == "Authorization: Bearer "+testToken {
				t.Errorf("service was called with %+v", f.created)
			}
		}
	}
}

// TestSuspendedOverStdio checks that an assistant connected over stdio gets the error for a
// suspended account.
func TestSuspendedOverStdio(t *testing.T) {
	f := newFake()
	f.err = suspended()
	got := mustBridge(t, f, `{"jsonrpc":"2.0","id":1,"method":"ping"}`, `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"get_usage"}}`)
	if len(got) != 2 {
		t.Fatalf("%d responses to two messages", len(got))
	}
	for _, r := range got {
		if r.json.Error == nil || r.json.Error.Code != codeRefused || r.json.Error.Message != suspended().Message {
			t.Errorf("want the error for a suspended account: %s", r.body)
		}
	}
}
