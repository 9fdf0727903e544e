package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/strictjson"
)

// TestHosts checks that a request with an unknown Host is rejected before the service is called.
func TestHosts(t *testing.T) {
	for host, want := range map[string]int{
		testHost: 200, testHost + ":8443": 200, "REGISTRY.example.": 200,
		"evil.example": 403, "registry.example.evil.example": 403, "localhost": 403, "127.0.0.1:8080": 403, "[::1]": 403, "xregistry.example": 403,
	} {
		f := newFake()
		got := rpc(t, mustServe(t, f, io.Discard), "ping", "{}", "Host: "+host)
		if got.StatusCode != want || (want == 403) != strings.Contains(got.body, `"code":"forbidden"`) || (want == 403) != (f.looks == 0) {
			t.Errorf("host %s: status %d, want %d: %s", host, got.StatusCode, want, got.body)
		}
	}
}

// TestAddressAsHost checks that the connection's local address is accepted as the Host. A DNS
// rebinding attack would send a name instead.
func TestAddressAsHost(t *testing.T) {
	h := mustServe(t, newFake(), io.Discard)
	for host, want := range map[string]int{"192.0.2.7:8080": 202, "192.0.2.7": 202, "192.0.2.8": 403, "[::ffff:192.0.2.7]": 202} {
		r := httptest.NewRequest(http.MethodPost, "http://"+host+Path, strings.NewReader(`{"jsonrpc":"2.0","method":"notifications/initialized"}`))
		local := &net.TCPAddr{IP: net.IPv4(192, 0, 2, 7), Port: 8080}
		r = r.WithContext(context.WithValue(r.Context(), http.LocalAddrContextKey, net.Addr(local)))
		r.Header.Set("X-API-Key", testKey)
		r.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != want {
			t.Errorf("host %s: status %d, want %d: %s", host, w.Code, want, w.Body)
		}
	}
}

// TestOrigins checks that only listed origins are accepted, for every method.
func TestOrigins(t *testing.T) {
	for origin, allowed := range map[string]bool{
		"https://registry.example": true, "HTTPS://Registry.Example": true, "https://app.example:8443": true,
		"http://registry.example": false, "https://registry.example:444": false, "https://app.example": false, "null": false,
		"https://registry.example.evil.example": false, "https://evil.example": false, "*": false, "https://registry.example/": false,
	} {
		f := newFake()
		h := mustServe(t, f, io.Discard)
		for _, method := range []string{"POST", "GET", "DELETE", "OPTIONS", "PUT", "HEAD"} {
			got := send(t, h, method, `{"jsonrpc":"2.0","id":1,"method":"ping"}`, "Origin: "+origin)
			if rejected := got.StatusCode == http.StatusForbidden; rejected == allowed {
				t.Errorf("%s from %s: status %d; want origin allowed: %t", method, origin, got.StatusCode, allowed)
			}
			allowOrigin := got.Header.Get("Access-Control-Allow-Origin")
			if allowed && method == "POST" && allowOrigin != origin || !allowed && allowOrigin != "" {
				t.Errorf("%s from %s: readable by %q", method, origin, allowOrigin)
			}
		}
		if !allowed && f.looks+f.spent > 0 {
			t.Errorf("%s: account was looked up", origin)
		}
	}
}

// TestSeveralOrigins checks that a request with two Origin headers is rejected.
func TestSeveralOrigins(t *testing.T) {
	r := httptest.NewRequest(http.MethodPost, "https://"+testHost+Path, nil)
	r.Header["Origin"] = []string{"https://registry.example", "https://registry.example"}
	w := httptest.NewRecorder()
	mustServe(t, newFake(), io.Discard).ServeHTTP(w, r)
	if w.Code != http.StatusForbidden {
		t.Errorf("two origins: status %d, want 403", w.Code)
	}
}

// TestPreflight sends the preflight request that a browser sends before a script's first message.
func TestPreflight(t *testing.T) {
	f := newFake()
	got := send(t, mustServe(t, f, io.Discard), "OPTIONS", "", "X-API-Key:", "Origin: https://app.example:8443", "Access-Control-Request-Method: POST",
		"Access-Control-Request-Headers: authorization,content-type,mcp-protocol-version,mcp-method,mcp-name")
	if got.StatusCode != http.StatusOK || got.Header.Get("Access-Control-Allow-Origin") != "https://app.example:8443" ||
		got.Header.Get("Access-Control-Allow-Credentials") != "" || f.looks+f.spent > 0 {
		t.Errorf("preflight: status %d, headers %v", got.StatusCode, got.Header)
	}
	for _, name := range []string{"authorization", "mcp-name"} {
		if !strings.Contains(strings.ToLower(got.Header.Get("Access-Control-Allow-Headers")), name) {
			t.Errorf("header %s is not allowed: %v", name, got.Header)
		}
	}
}

// TestErrorCORSHeaders checks that pages from allowed origins, and no others, can read every error
// response.
func TestErrorCORSHeaders(t *testing.T) {
	const body = `{"jsonrpc":"2.0","id":1,"method":"ping"}`
	for _, origin := range []string{"https://app.example:8443", "https://evil.example"} {
		allowed := origin == "https://app.example:8443"
		for _, tt := range []struct {
			method, body string
			more         []string
			status       int
			header       string
		}{
			{"GET", "", nil, 405, "Allow"},
			{"DELETE", "", nil, 405, "Allow"},
			{"PUT", "", nil, 405, "Allow"},
			{"POST", body, []string{"X-API-Key: wrong"}, 401, "Www-Authenticate"},
			{"POST", body, []string{"Host: evil.example"}, 403, "X-Request-Id"},
			{"POST", body, []string{"Content-Type: text/plain"}, 415, "X-Request-Id"},
			{"POST", "[]", nil, 400, "X-Request-Id"},
		} {
			h := mustServe(t, newFake(), io.Discard)
			got := send(t, h, tt.method, tt.body, append(tt.more, "Origin: "+origin)...)
			allowOrigin := got.Header.Get("Access-Control-Allow-Origin")
			if allowed && (got.StatusCode != tt.status || allowOrigin != origin) || !allowed && (got.StatusCode != 403 || allowOrigin != "") {
				t.Errorf("%s with %v from %s: %d, readable by %q", tt.method, tt.more, origin, got.StatusCode, allowOrigin)
			}
			exposed := strings.Split(got.Header.Get("Access-Control-Expose-Headers"), ", ")
			if allowed && (got.Header.Get(tt.header) == "" || !slices.Contains(exposed, tt.header)) {
				t.Errorf("%s with %v: %s is missing or hidden: %v", tt.method, tt.more, tt.header, got.Header)
			}
			if vary := strings.Join(got.Header.Values("Vary"), ","); !strings.Contains(vary, "Origin") {
				t.Errorf("%s with %v: Vary is %q", tt.method, tt.more, vary)
			}
			preflight := send(t, h, "OPTIONS", "", "X-API-Key:", "Origin: "+origin, "Access-Control-Request-Method: "+tt.method,
				"Access-Control-Request-Headers: authorization,traceparent")
			if ok := preflight.StatusCode == http.StatusOK && preflight.Header.Get("Access-Control-Allow-Headers") != ""; ok != allowed {
				t.Errorf("preflight for %s from %s: %d %v", tt.method, origin, preflight.StatusCode, preflight.Header)
			}
		}
	}
}

const pingMessage = `{"jsonrpc":"2.0","id":1,"method":"ping"}`

// stopped is a stopped clock, so that the message limit does not refill during a test.
func stopped() time.Time { return time.Unix(1_700_000_000, 0) }

func TestMessageLimits(t *testing.T) {
	now := stopped()
	l := newMessageLimiter(func() time.Time { return now })
	caller := func(account cola.AccountID, key int64) cola.Caller {
		return cola.Caller{Account: account, Credential: cola.Credential{Kind: cola.CredentialKey, ID: key}}
	}
	for n := range messagesPerMinute {
		if got := l.take(caller(1, 1), 100); got != nil {
			t.Fatalf("take(message %d) = %v, want nil", n, got)
		}
	}
	got := l.take(caller(1, 1), 100)
	if got == nil || got.Code != cola.CodeQuotaExceeded || got.Details["reason"] != "messages" || got.RetryAfter <= 0 {
		t.Fatalf("take over the limit = %+v, want quota_exceeded for messages", got)
	}
	if l.take(caller(2, 2), 100) != nil || l.take(caller(1, 3), 100) != nil {
		t.Error("another credential is limited")
	}
	now = now.Add(time.Minute / messagesPerMinute)
	if l.take(caller(1, 1), 100) != nil || l.take(caller(1, 1), 100) == nil {
		t.Error("want exactly one more message allowed after a tenth of a second")
	}
}

// TestAccountMessageLimit checks that many keys of one account share a limit.
func TestAccountMessageLimit(t *testing.T) {
	l := newMessageLimiter(stopped)
	passed := 0
	for key := range int64(100) {
		for range messagesPerMinute / 10 {
			c := cola.Caller{Account: 1, Credential: cola.Credential{Kind: cola.CredentialKey, ID: key}}
			if l.take(c, 100) == nil {
				passed++
			}
		}
	}
	if passed != accountMessagesPerMinute {
		t.Errorf("%d messages passed, want %d", passed, accountMessagesPerMinute)
	}
}

// TestLongMessages checks that a message counts once per 64 KiB.
func TestLongMessages(t *testing.T) {
	for length, units := range map[int64]int{0: 1, 1: 1, messageUnit: 1, messageUnit + 1: 2, maxMessageBytes: 16, maxMessageBytes + 1: 16, -1: 16} {
		l, passed := newMessageLimiter(stopped), 0
		for l.take(cola.Caller{Account: 1}, length) == nil {
			passed++
		}
		if passed != messagesPerMinute/units {
			t.Errorf("%d messages of %d bytes passed, want %d", passed, length, messagesPerMinute/units)
		}
	}
}

// TestMessageFlood checks the HTTP response at the message limit, and that the service is not
// called.
func TestMessageFlood(t *testing.T) {
	f := newFake()
	h := New(f, keys{}, Options{Logger: slog.New(slog.DiscardHandler), Hosts: []string{testHost}, Now: stopped})
	for range messagesPerMinute {
		if resp := send(t, h, http.MethodPost, pingMessage); resp.StatusCode != http.StatusOK {
			t.Fatal(resp.Status)
		}
	}
	f.err = cola.Unavailable() // for every call from here on
	got := mustReply(t, send(t, h, http.MethodPost, pingMessage))
	var response struct {
		ID    any
		Error struct {
			Code int
			Data struct {
				Error struct {
					Code    cola.Code
					Details struct{ Reason string }
				}
			}
		}
	}
	if err := json.Unmarshal([]byte(got.body), &response); err != nil {
		t.Fatal(err)
	}
	if got.StatusCode != http.StatusTooManyRequests || got.Header.Get("Retry-After") != "1" || got.Header.Get("Connection") != "close" {
		t.Errorf("status %d, headers %v; want 429 with Retry-After: 1 and Connection: close", got.StatusCode, got.Header)
	}
	if e := response.Error; e.Code != codeRefused || e.Data.Error.Code != cola.CodeQuotaExceeded || e.Data.Error.Details.Reason != "messages" || response.ID != nil {
		t.Errorf("want quota_exceeded for messages: %s", got.body)
	}
	f.err = nil
	if resp := send(t, h, http.MethodPost, pingMessage, "Authorization: Bearer "+testToken, "X-API-Key:"); resp.StatusCode != http.StatusOK {
		t.Errorf("with another credential: status %s, want 200", resp.Status)
	}
}

// TestMessageBounds checks the limits on messages. Only tool calls may be long, and no message may
// have too many values.
func TestMessageBounds(t *testing.T) {
	h := mustServe(t, newFake(), io.Discard)
	message := func(method, params string) string {
		return `{"jsonrpc":"2.0","id":1,"params":` + params + `,"method":"` + method + `"}`
	}
	long := strings.Repeat("x", maxOtherBytes)
	many := strings.Repeat(`{"a":1},`, 90_000) + "{}"
	for name, tt := range map[string]struct {
		body     string
		status   int
		contains string
	}{
		"ping of 64 KiB":     {message("ping", `{"a":"`+long[:maxOtherBytes-64]+`"}`), 200, `"result"`},
		"longer ping":        {message("ping", `{"a":"`+long+`"}`), 413, `"payload_too_large"`},
		"padded ping":        {message("ping", `{}`) + strings.Repeat(" ", maxOtherBytes), 413, `"payload_too_large"`},
		"longer tool call":   {message("tools/call", `{"name":"get_usage","_meta":{"a":"`+long+`"}}`), 200, `"result"`},
		"ping, many values":  {message("ping", `{"a":[`+many+`]}`), 400, `"code":-32600`},
		"call, many values":  {message("tools/call", `{"name":"get_usage","arguments":{"a":[`+many+`]}}`), 400, `"code":-32600`},
		"call, few values":   {message("tools/call", `{"name":"get_usage","_meta":{"a":[`+strings.Repeat("1,", strictjson.MaxValues-20)+`1]}}`), 200, `"result"`},
		"many values, batch": {"[" + many + "]", 400, `"code":-32600`},
	} {
		got := mustReply(t, send(t, h, http.MethodPost, tt.body))
		if got.StatusCode != tt.status || !strings.Contains(got.body, tt.contains) {
			t.Errorf("%s: status %d, want %d with %q: %.200s", name, got.StatusCode, tt.status, tt.contains, got.body)
		}
	}
}

// TestBridgeLimit checks that an error at the message limit has the ID of the rejected message when
// it reaches an assistant over stdio.
func TestBridgeLimit(t *testing.T) {
	h := New(newFake(), keys{}, Options{Logger: slog.New(slog.DiscardHandler), Hosts: []string{"localhost"}, Now: stopped})
	for range messagesPerMinute {
		send(t, h, http.MethodPost, pingMessage, "Host: localhost")
	}
	b := &Bridge{URL: "http://localhost/mcp", Key: testKey, Client: InProcess(h), Logger: slog.New(slog.DiscardHandler)}
	got := mustLines(t, b, `{"jsonrpc":"2.0","id":"last","method":"ping"}`, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	if len(got) != 1 || got[0].json.ID != "last" || got[0].json.Error == nil || got[0].json.Error.Data["error"].(map[string]any)["code"] != "quota_exceeded" {
		t.Errorf("responses = %v, want one quota_exceeded for the last message", got)
	}
}

// BenchmarkParse measures rejecting a hostile message of about 1 MiB, and parsing the longest
// accepted message.
func BenchmarkParse(b *testing.B) {
	for name, body := range map[string]string{
		"members": `{"jsonrpc":"2.0","id":1,"method":"ping","params":{` + strings.Repeat(`"a":0,`, 90_000) + `"b":"` + strings.Repeat("x", 500_000) + `"}}`,
		"call":    fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get_usage","arguments":{"a":%q}}}`, strings.Repeat("x", 1<<20-200)),
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				_, _ = parse([]byte(body))
			}
		})
	}
}
