package mcp

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/colaregistry/colaregistry/cola"
)

// mustBridge returns the replies to lines sent through a bridge to a service.
func mustBridge(t *testing.T, svc Service, lines ...string) []reply {
	t.Helper()
	h := New(svc, keys{}, Options{Logger: slog.New(slog.DiscardHandler), Hosts: []string{"localhost"}, Timeout: 5 * time.Second})
	return mustLines(t, &Bridge{URL: "http://localhost/mcp", Key: testKey, Client: InProcess(h), Logger: slog.New(slog.DiscardHandler)}, lines...)
}

// mustLines returns the replies to lines, in order of arrival.
func mustLines(t *testing.T, b *Bridge, lines ...string) (responses []reply) {
	t.Helper()
	var out strings.Builder
	if err := b.Serve(t.Context(), strings.NewReader(strings.Join(lines, "\n")+"\n"), &out); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(out.String()) {
		r := reply{body: line}
		if err := json.Unmarshal([]byte(line), &r.json); err != nil {
			t.Fatalf("%v in %s", err, line)
		}
		responses = append(responses, r)
	}
	return responses
}

func TestBridge(t *testing.T) {
	f := newFake()
	got := mustBridge(t, f,
		`{"jsonrpc":"2.0","id":"first","method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"a","version":"1"}}}`,
		``, `{"jsonrpc":"2.0","method":"notifications/initialized"}`,
		`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"get_cola","arguments":{"ttb_id":"11054001000049"}}}`,
		`{"jsonrpc":"2.0","id":3,"method":"server/discover","params":`+modern("{}")+`}`,
		`{"jsonrpc":"2.0","id":4,"method":"tools/call","params":`+modern(`{"name":"get_ava","arguments":{"ava_id":"alexander_valley"}}`)+`}`,
		`nonsense`, `{"a":"`+strings.Repeat("x", maxMessageBytes)+`"}`,
		`{"jsonrpc":"2.0","id":5,"method":"ping"}`,
	)
	byID := map[string]reply{}
	var noIDCodes []int
	for _, r := range got {
		if r.json.ID == nil {
			noIDCodes = append(noIDCodes, r.json.Error.Code)
			continue
		}
		byID[fmt.Sprint(r.json.ID)] = r
	}
	if byID["first"].json.Result["protocolVersion"] != "2025-06-18" || byID["2"].json.Result["structuredContent"] == nil || byID["5"].json.Result == nil {
		t.Errorf("responses = %v, want results for first, 2 and 5", got)
	}
	if byID["3"].json.Result["supportedVersions"] == nil || byID["4"].json.Result["resultType"] != "complete" {
		t.Errorf("in the newest version: %s and %s", byID["3"].body, byID["4"].body)
	}
	if len(byID) != 5 || len(noIDCodes) != 2 || noIDCodes[0]+noIDCodes[1] != -32700-32600 {
		t.Errorf("%d responses with an ID, want 5; error codes without an ID: %v, want two", len(byID), noIDCodes)
	}
	if f.used.DetailViews != 1 || f.spent != 2 {
		t.Errorf("%+v, %d requests counted", f.used, f.spent)
	}
}

// TestBridgeServerErrors checks that an HTTP error from the server becomes an error for the
// message, with its reason.
func TestBridgeServerErrors(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer "+testKey || r.Header.Get("Content-Type") != "application/json" || !strings.Contains(r.Header.Get("Accept"), "application/json") {
			t.Errorf("headers = %v, want the key and JSON types", r.Header)
		}
		switch r.URL.Path {
		case "/html":
			io.WriteString(w, "<p>hello")
		case "/moved":
			http.Redirect(w, r, "/html", http.StatusFound)
		default:
			f := newFake()
			f.err = cola.Errorf(cola.CodeUnauthorized, "The key has been revoked.")
			New(f, keys{}, Options{Logger: slog.New(slog.DiscardHandler), Hosts: []string{"127.0.0.1"}}).ServeHTTP(w, r)
		}
	}))
	t.Cleanup(server.Close)
	ping := `{"jsonrpc":"2.0","id":7,"method":"ping"}`
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	for path, want := range map[string]string{"/mcp": "The key has been revoked.", "/html": "Check the URL.", "/moved": "Check the URL."} {
		b := &Bridge{URL: server.URL + path, Key: testKey, Client: client, Logger: slog.New(slog.DiscardHandler)}
		got := mustLines(t, b, ping, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
		if len(got) != 1 || got[0].json.Error == nil || got[0].json.ID != 7. || !strings.Contains(got[0].json.Error.Message, want) {
			t.Errorf("%s: responses = %v, want one error with %q", path, got, want)
		}
	}
	b := &Bridge{URL: "http://127.0.0.1:1/mcp", Key: testKey, Client: client, Logger: slog.New(slog.DiscardHandler)}
	if got := mustLines(t, b, ping); len(got) != 1 || got[0].json.Error == nil || got[0].json.Error.Code != codeRefused {
		t.Errorf("no server: %v", got)
	}
}

// TestBridgeCancellation checks that a call canceled by the assistant is aborted without a reply
// and that other calls continue.
func TestBridgeCancellation(t *testing.T) {
	f := newFake()
	f.wait = true
	in, assistant := io.Pipe()
	out, responses := io.Pipe()
	h := New(f, keys{}, Options{Logger: slog.New(slog.DiscardHandler), Hosts: []string{"localhost"}, Timeout: time.Hour})
	b := &Bridge{URL: "http://localhost/mcp", Key: testKey, Client: InProcess(h), Logger: slog.New(slog.DiscardHandler)}
	ended := make(chan error, 1)
	go func() { ended <- b.Serve(t.Context(), in, responses) }()
	for _, line := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get_usage"}}`,
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`,
		`{"jsonrpc":"2.0","id":2,"method":"ping"}`,
	} {
		if _, err := io.WriteString(assistant, line+"\n"); err != nil {
			t.Fatal(err)
		}
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil || !strings.Contains(line, `"id":2`) {
		t.Errorf("first response is %q, %v", line, err)
	}
	assistant.Close()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// TestBridgeStops checks that Serve returns when its context is canceled, even if the input is
// still open, and when a response can't be written.
func TestBridgeStops(t *testing.T) {
	in, assistant := io.Pipe()
	defer assistant.Close()
	b := &Bridge{URL: "http://localhost/mcp", Key: testKey, Client: InProcess(http.NotFoundHandler()), Logger: slog.New(slog.DiscardHandler)}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := b.Serve(ctx, in, io.Discard); err != nil {
		t.Errorf("Serve = %v, want nil", err)
	}
	broken := errors.New("no reader")
	endless := io.MultiReader(strings.NewReader(strings.Repeat(`{"jsonrpc":"2.0","id":1,"method":"ping"}`+"\n", 1000)), in)
	out, responses := io.Pipe()
	out.CloseWithError(broken)
	if err := b.Serve(t.Context(), endless, responses); !errors.Is(err, broken) {
		t.Errorf("Serve = %v, want %v", err, broken)
	}
}
