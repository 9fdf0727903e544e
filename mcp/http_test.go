package mcp

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	protocol "github.com/mark3labs/mcp-go/mcp"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/web"
)

// modern returns the parameters of a message in the newest protocol version.
func modern(params string) string {
	meta := `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`
	if params == "{}" {
		return "{" + meta + "}"
	}
	return strings.TrimSuffix(params, "}") + "," + meta + "}"
}

// modernHeaders returns the headers that the newest protocol version requires for a message.
func modernHeaders(method, name string) []string {
	return []string{"Mcp-Protocol-Version: 2026-07-28", "Mcp-Method: " + method, "Mcp-Name: " + name}
}

func TestHandshake(t *testing.T) {
	h := mustServe(t, newFake(), io.Discard)
	for requested, want := range map[string]string{
		"2025-03-26": "2025-03-26", "2025-06-18": "2025-06-18", "2025-11-25": "2025-11-25",
		"2024-11-05": "2025-11-25", "1999-01-01": "2025-11-25", "2026-07-28": "2025-11-25", "2030-01-01": "2025-11-25",
	} {
		got := rpc(t, h, "initialize", `{"protocolVersion":"`+requested+`","capabilities":{},"clientInfo":{"name":"a","version":"1"}}`)
		if got.json.Result["protocolVersion"] != want {
			t.Errorf("%s: got %s", requested, got.body)
		}
		if got.Header.Get("Mcp-Session-Id") != "" {
			t.Error("server created a session")
		}
	}
	got := rpc(t, h, "server/discover", modern("{}"), modernHeaders("server/discover", "")...)
	if fmt.Sprint(got.json.Result["supportedVersions"]) != "[2026-07-28 2025-11-25 2025-06-18 2025-03-26]" || !strings.Contains(got.body, "list record per record") {
		t.Errorf("discovery: got %s", got.body)
	}
}

// TestEveryRevision calls a tool in each protocol version, with its header.
func TestEveryRevision(t *testing.T) {
	h := mustServe(t, newFake(), io.Discard)
	for _, revision := range protocolVersions[1:] {
		got := rpc(t, h, "tools/call", `{"name":"get_usage"}`, "Mcp-Protocol-Version: "+revision, "Mcp-Session-Id: kept-from-elsewhere")
		if got.StatusCode != 200 || got.json.Result["structuredContent"] == nil || got.json.Result["resultType"] != nil {
			t.Errorf("%s: %d %s", revision, got.StatusCode, got.body)
		}
	}
	got := rpc(t, h, "tools/call", modern(`{"name":"get_usage"}`), modernHeaders("tools/call", "get_usage")...)
	if got.StatusCode != 200 || got.json.Result["resultType"] != "complete" || got.json.Result["structuredContent"] == nil {
		t.Errorf("2026-07-28: %d %s", got.StatusCode, got.body)
	}
}

const usageCall = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get_usage"}}`

// invalidRequests are invalid requests and the expected responses.
var invalidRequests = []struct {
	name, method, body, lines string
	status                    int
	want                      string // part of the body
	spent                     int
}{
	{"no credentials", "POST", usageCall, "X-API-Key:", 401, `{"error":{"code":"unauthorized"`, 0},
	{"wrong credentials", "POST", usageCall, "X-API-Key: lar_wrong", 401, `{"error":{"code":"unauthorized"`, 0},
	{"no credentials and no message", "POST", "[", "X-API-Key:", 401, `"unauthorized"`, 0},
	{"GET without credentials", "GET", "", "X-API-Key:", 401, `"unauthorized"`, 0},
	{"GET", "GET", "", "", 405, `"method_not_allowed"`, 0},
	{"DELETE", "DELETE", "", "", 405, `"method_not_allowed"`, 0},
	{"HEAD", "HEAD", "", "", 405, `"method_not_allowed"`, 0},
	{"PUT", "PUT", usageCall, "", 405, `"method_not_allowed"`, 0},
	{"a form", "POST", usageCall, "Content-Type: application/x-www-form-urlencoded", 415, `"unsupported_media_type"`, 0},
	{"no content type", "POST", usageCall, "Content-Type:", 415, `"unsupported_media_type"`, 0},
	{"another charset", "POST", usageCall, "Content-Type: application/json; charset=utf-16", 415, `"unsupported_media_type"`, 0},
	{"compressed", "POST", usageCall, "Content-Encoding: gzip", 415, `"unsupported_media_type"`, 0},
	{"too large", "POST", `{"a":"` + strings.Repeat("x", maxMessageBytes) + `"}`, "", 413, `"payload_too_large"`, 0},
	{"empty", "POST", "", "", 400, `"code":-32700`, 0},
	{"not JSON", "POST", "{", "", 400, `"code":-32700`, 0},
	{"not UTF-8", "POST", "{\"a\":\"\xff\"}", "", 400, `"code":-32700`, 0},
	{"too deep", "POST", strings.Repeat("[", 100_000), "", 400, `"code":-32600`, 0},
	{"a batch", "POST", "[" + usageCall + "," + usageCall + "]", "", 400, `"code":-32600`, 0},
	{"a batch in the revision that allows batches", "POST", "[" + usageCall + "]", "Mcp-Protocol-Version: 2025-03-26", 400, `"code":-32600`, 0},
	{"a number", "POST", "1", "", 400, `"code":-32600`, 0},
	{"a response", "POST", `{"jsonrpc":"2.0","id":1,"result":{}}`, "", 400, `"code":-32600`, 0},
	{"JSON-RPC 1.0", "POST", `{"jsonrpc":"1.0","id":1,"method":"ping"}`, "", 400, `"code":-32600`, 0},
	{"two methods", "POST", `{"jsonrpc":"2.0","id":1,"method":"ping","method":"tools/call","params":{"name":"get_usage"}}`, "", 400, `\"method\"`, 0},
	{"a method in different case", "POST", `{"jsonrpc":"2.0","id":1,"method":"ping","Method":"tools/call","params":{"name":"get_usage"}}`, "", 400, `\"method\"`, 0},
	{"two names", "POST", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get_ava","name":"get_usage"}}`, "", 400, `\"name\"`, 0},
	{"a name in different case", "POST", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get_ava","ſname":1,"NAME":"get_usage"}}`, "", 400, `\"name\"`, 0},
	{"null as id", "POST", `{"jsonrpc":"2.0","id":null,"method":"tools/call","params":{"name":"get_usage"}}`, "", 400, `"code":-32600`, 0},
	{"an object as id", "POST", `{"jsonrpc":"2.0","id":{},"method":"ping"}`, "", 400, `"code":-32600`, 0},
	{"an old revision", "POST", usageCall, "Mcp-Protocol-Version: 2024-11-05", 400, `2025-03-26`, 0},
	{"an invalid revision", "POST", usageCall, "Mcp-Protocol-Version: latest", 400, ``, 1},
	{"an unknown tool", "POST", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get_usages"}}`, "", 200, `get_usage?`, 1},
	{"no tool", "POST", `{"jsonrpc":"2.0","id":1,"method":"tools/call"}`, "", 200, `"code":-32602`, 1},
	{"an unknown resource", "POST", `{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"registry://x"}}`, "", 200, `"code":-32002`, 1},
	{"an unknown prompt", "POST", `{"jsonrpc":"2.0","id":1,"method":"prompts/get","params":{"name":"x"}}`, "", 200, `"code":-32602`, 1},
	{"an unknown method", "POST", `{"jsonrpc":"2.0","id":1,"method":"tools/change"}`, "", 200, `"code":-32601`, 0},
	{"subscribing", "POST", `{"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{"uri":"registry://reference/tiers"}}`, "", 200, `"code":-32601`, 0},
	{"listening", "POST", `{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":` + modern("{}") + `}`, "", 404, `"code":-32601`, 0},
	{"a key in the URL", "POST?api_key=" + testKey, usageCall, "X-API-Key:", 401, `"unauthorized"`, 0},
}

// TestInvalidRequests checks that each kind of invalid request gets the expected status and does
// not reach a tool, and that only calls and reads count toward the rate limit.
func TestInvalidRequests(t *testing.T) {
	for _, tt := range invalidRequests {
		t.Run(tt.name, func(t *testing.T) {
			f := newFake()
			method, _, query := strings.Cut(tt.method, "?")
			h := mustServe(t, f, io.Discard)
			if query {
				inner := h
				h = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					r.URL.RawQuery = "api_key=" + testKey
					inner.ServeHTTP(w, r)
				})
			}
			got := mustReply(t, send(t, h, method, tt.body, tt.lines))
			if got.StatusCode != tt.status || !strings.Contains(got.body, tt.want) {
				t.Errorf("%d %s, want %d with %s", got.StatusCode, got.body, tt.status, tt.want)
			}
			if f.spent != tt.spent || f.used != (cola.Used{}) {
				t.Errorf("counted %d requests and used %+v, want %d requests", f.spent, f.used, tt.spent)
			}
			checkHeaders(t, got)
		})
	}
}

// checkHeaders checks the headers that every response has: quota headers if the credentials are
// valid, otherwise the challenge.
func checkHeaders(t *testing.T, got reply) {
	t.Helper()
	for _, name := range web.QuotaHeaders() {
		if (got.Header.Get(name) != "") != (got.StatusCode != 401) {
			t.Errorf("status %d: %s = %q", got.StatusCode, name, got.Header.Get(name))
		}
	}
	if (got.Header.Get("WWW-Authenticate") != "") != (got.StatusCode == 401) {
		t.Errorf("status %d: WWW-Authenticate = %q", got.StatusCode, got.Header.Get("WWW-Authenticate"))
	}
	if (got.Header.Get("Allow") == "POST") != (got.StatusCode == 405) {
		t.Errorf("status %d: Allow = %q", got.StatusCode, got.Header.Get("Allow"))
	}
	if got.Header.Get("Cache-Control") != "private, no-store" || got.Header.Get("X-Request-Id") == "" || got.Header.Get("X-Content-Type-Options") != "nosniff" {
		t.Errorf("headers: %v", got.Header)
	}
}

// TestModernErrors checks that the newest protocol version also reports errors in the HTTP status,
// and requires headers that match the body.
func TestModernErrors(t *testing.T) {
	tests := []struct {
		name, method, params string
		headers              []string
		status, code, spent  int
	}{
		{"an unknown tool", "tools/call", `{"name":"x"}`, modernHeaders("tools/call", "x"), 400, -32602, 1},
		{"an unknown label", "resources/read", `{"uri":"registry://colas/1"}`, modernHeaders("resources/read", "registry://colas/1"), 400, -32602, 1},
		{"an unknown method", "x", `{}`, modernHeaders("x", ""), 404, -32601, 0},
		{"a header for another tool", "tools/call", `{"name":"get_usage"}`, modernHeaders("tools/call", "get_ava"), 400, protocol.HEADER_MISMATCH, 1},
		{"an unknown resource", "resources/read", `{"uri":"x://y"}`, modernHeaders("resources/read", "x://y"), 400, -32602, 1},
		{"an unknown tool with a header for another method", "tools/call", `{"name":"x"}`, modernHeaders("ping", "x"), 400, protocol.HEADER_MISMATCH, 1},
		{"logging/setLevel, which was removed", "logging/setLevel", `{"level":"info"}`, modernHeaders("logging/setLevel", ""), 404, -32601, 0},
		{"a header for another method", "tools/call", `{"name":"get_usage"}`, modernHeaders("ping", "get_usage"), 400, protocol.HEADER_MISMATCH, 1},
		{"no headers", "tools/call", `{"name":"get_usage"}`, nil, 400, protocol.HEADER_MISMATCH, 1},
		{"a future revision", "tools/call", `{"name":"get_usage"}`, []string{"Mcp-Protocol-Version: 2027-01-01"}, 400, protocol.HEADER_MISMATCH, 1},
		{"a stream to resume", "tools/call", `{"name":"get_usage"}`, append(modernHeaders("tools/call", "get_usage"), "Last-Event-ID: 1"), 400, protocol.HEADER_MISMATCH, 1},
		{"no protocol version header", "tools/call", `{"name":"get_usage"}`, modernHeaders("tools/call", "get_usage")[1:], 400, protocol.HEADER_MISMATCH, 1},
		{"ping, which was removed", "ping", `{}`, modernHeaders("ping", ""), 404, -32601, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := newFake()
			got := rpc(t, mustServe(t, f, io.Discard), tt.method, modern(tt.params), tt.headers...)
			if got.StatusCode != tt.status || got.json.Error == nil || got.json.Error.Code != tt.code || f.spent != tt.spent || f.used != (cola.Used{}) {
				t.Errorf("%d %s, %d requests counted", got.StatusCode, got.body, f.spent)
			}
			checkHeaders(t, got)
		})
	}
}

// TestFutureRevision checks that an unsupported protocol version is rejected with the list of
// supported ones.
func TestFutureRevision(t *testing.T) {
	f := newFake()
	params := strings.Replace(modern(`{"name":"get_usage"}`), "2026-07-28", "2030-01-01", 1)
	headers := append(modernHeaders("tools/call", "get_usage")[1:], "Mcp-Protocol-Version: 2030-01-01")
	got := rpc(t, mustServe(t, f, io.Discard), "tools/call", params, headers...)
	if got.StatusCode != 400 || got.json.Error == nil || got.json.Error.Code != protocol.UNSUPPORTED_PROTOCOL_VERSION || f.used != (cola.Used{}) ||
		!strings.Contains(got.body, `"supported":["2026-07-28","2025-11-25","2025-06-18","2025-03-26"]`) {
		t.Errorf("%d %s", got.StatusCode, got.body)
	}
}

// TestCountedMessages checks that calls and reads count toward the rate limit, and that messages
// that clients send automatically do not.
func TestCountedMessages(t *testing.T) {
	for method, params := range map[string]string{
		"initialize": `{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"a","version":"1"}}`, "ping": "{}",
		"tools/list": "{}", "resources/list": "{}", "resources/templates/list": "{}", "prompts/list": "{}",
		"completion/complete": `{"ref":{"type":"ref/prompt","name":"brand_clearance"},"argument":{"name":"class","value":""}}`,
	} {
		f := newFake()
		got := rpc(t, mustServe(t, f, io.Discard), method, params)
		if got.json.Result == nil || f.spent != 0 || f.looks != 1 {
			t.Errorf("%s: %s, %d requests counted, %d lookups", method, got.body, f.spent, f.looks)
		}
		checkHeaders(t, got)
	}
	for method, params := range map[string]string{
		"tools/call": `{"name":"get_usage"}`, "resources/read": `{"uri":"registry://reference/tiers"}`, "prompts/get": `{"name":"brand_clearance","arguments":{"brand_name":"oak"}}`,
	} {
		f := newFake()
		got := rpc(t, mustServe(t, f, io.Discard), method, params)
		if got.json.Result == nil || f.spent != 1 || f.looks != 0 {
			t.Errorf("%s: %s, %d requests counted, %d lookups", method, got.body, f.spent, f.looks)
		}
		checkHeaders(t, got)
	}
}

// TestNotifications checks that messages without an ID are accepted and ignored.
func TestNotifications(t *testing.T) {
	for _, body := range []string{
		`{"jsonrpc":"2.0","method":"notifications/initialized"}`,
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`,
		`{"jsonrpc":"2.0","method":"tools/call","params":{"name":"get_usage"}}`,
	} {
		f := newFake()
		got := mustReply(t, send(t, mustServe(t, f, io.Discard), "POST", body))
		if got.StatusCode != http.StatusAccepted || got.body != "" || f.spent != 0 {
			t.Errorf("%s: got %d %q, %d requests counted", body, got.StatusCode, got.body, f.spent)
		}
		checkHeaders(t, got)
	}
}

// TestCancelAnotherClientsCall checks that a cancellation does not affect another client's call
// with the same ID. IDs are unique only within a client.
func TestCancelAnotherClientsCall(t *testing.T) {
	f := newFake()
	f.wait = true
	h := New(f, keys{}, Options{Logger: slog.New(slog.DiscardHandler), Hosts: []string{testHost}, Timeout: 300 * time.Millisecond})
	done := make(chan called)
	go func() { done <- call(t, h, "get_usage", "{}") }()
	for range 20 {
		send(t, h, "POST", `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`)
		time.Sleep(time.Millisecond)
	}
	if got := <-done; got.code(t) != "unavailable" || !strings.Contains(got.texts[0], "timed out") {
		t.Errorf("call with the canceled ID: got %s, want a timeout", got.texts[0])
	}
}

// TestRevokedDuringCall checks that every message gets an HTTP 401 if the key is revoked after it
// was authenticated.
func TestRevokedDuringCall(t *testing.T) {
	for _, message := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get_usage"}}`,
		`{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"registry://reference/tiers"}}`,
		`{"jsonrpc":"2.0","id":1,"method":"prompts/get","params":{"name":"permittee_report","arguments":{"company":"x"}}}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"nothing"}}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, `{"jsonrpc":"2.0","method":"notifications/initialized"}`, `[]`,
	} {
		f := newFake()
		f.err = cola.Errorf(cola.CodeUnauthorized, "The credential has been revoked or has expired.")
		got := mustReply(t, send(t, mustServe(t, f, io.Discard), "POST", message))
		if got.StatusCode != 401 || got.Header.Get("WWW-Authenticate") == "" || !strings.HasPrefix(got.body, `{"error":{"code":"unauthorized"`) {
			t.Errorf("%s: got %d %s", message, got.StatusCode, got.body)
		}
	}
}

// TestUnavailable checks that requests fail if metering is unavailable. The result of a tool call
// says when to retry, a read gets a JSON-RPC error, and messages that aren't counted get a 503. A
// failed credential lookup gets a 500 without the cause.
func TestUnavailable(t *testing.T) {
	f := newFake()
	f.err = cola.Unavailable()
	h := mustServe(t, f, io.Discard)
	if got := call(t, h, "search_colas", "{}"); got.code(t) != "unavailable" || !strings.Contains(got.texts[1], "Wait 5 seconds") {
		t.Errorf("tool call: %q", got.texts)
	}
	if got := rpc(t, h, "tools/list", "{}"); got.StatusCode != 503 || got.Header.Get("Retry-After") != "5" {
		t.Errorf("list: %d %v", got.StatusCode, got.Header)
	}
	f.err = cola.Overloaded(2 * time.Second)
	if got := call(t, h, "search_colas", "{}"); got.code(t) != "unavailable" || !strings.Contains(got.texts[1], "Wait 2 seconds") {
		t.Errorf("tool call while overloaded: %q", got.texts)
	}
	f.err = cola.Unavailable()
	if got := rpc(t, h, "resources/read", `{"uri":"registry://reference/tiers"}`); got.json.Error == nil || got.json.Error.Code != codeRefused {
		t.Errorf("read: %s", got.body)
	}
	f.err = fmt.Errorf("look up API key: %w", errBroken)
	if got := rpc(t, New(f, keys{f.err}, Options{Logger: slog.New(slog.DiscardHandler), Hosts: []string{testHost}}), "ping", "{}"); got.StatusCode != 500 || strings.Contains(got.body, "disk") {
		t.Errorf("credential lookup fails: got %d %s", got.StatusCode, got.body)
	}
}

// TestInternalErrors checks that a panic or database error appears only in the log, and that
// the response has the request ID.
func TestInternalErrors(t *testing.T) {
	for name, set := range map[string]func(*fake){
		"panic": func(f *fake) { f.panic = errBroken }, "error": func(f *fake) { f.err = fmt.Errorf("select: %w", errBroken) },
	} {
		for _, message := range []string{
			`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"search_colas"}}`,
			`{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"registry://colas/11054001000049"}}`,
			`{"jsonrpc":"2.0","id":1,"method":"prompts/get","params":{"name":"permittee_report","arguments":{"company":"x"}}}`,
		} {
			var log strings.Builder
			f := newFake()
			set(f)
			got := mustReply(t, send(t, mustServe(t, f, &log), "POST", message, "X-Request-Id: seen"))
			if got.StatusCode != 200 || strings.Contains(got.body, "disk") || !strings.Contains(got.body, "internal_error") || !strings.Contains(got.body, "seen") {
				t.Errorf("%s in %s: status %d, want 200 with internal_error and no details: %s", name, message, got.StatusCode, got.body)
			}
			if !strings.Contains(log.String(), "disk full of secrets") || strings.Contains(log.String(), `"stack"`) != (name == "panic") {
				t.Errorf("%s in %s: want the cause in the log: %s", name, message, log.String())
			}
		}
	}
}

// TestClientDisconnect checks that a caller that disconnects gets no response and causes no server
// error.
func TestClientDisconnect(t *testing.T) {
	f := newFake()
	f.wait = true
	var log strings.Builder
	ctx, cancel := context.WithCancel(t.Context())
	r := httptest.NewRequestWithContext(ctx, http.MethodPost, "https://"+testHost+Path, strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get_usage"}}`))
	r.Header.Set("X-API-Key", testKey)
	r.Header.Set("Content-Type", "application/json")
	time.AfterFunc(20*time.Millisecond, cancel)
	w := httptest.NewRecorder()
	mustServe(t, f, &log).ServeHTTP(w, r)
	if w.Code != web.StatusClientGone || w.Body.Len() != 0 || strings.Contains(log.String(), "ERROR") {
		t.Errorf("status %d, body %q; want 499, no body and no error in the log:\n%s", w.Code, w.Body, log.String())
	}
}

// TestLogLines checks the log line of each kind of message. Its labels come from fixed lists, and
// it never contains the arguments.
func TestLogLines(t *testing.T) {
	tests := []struct {
		body string
		want []string
	}{
		{
			`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"search_colas","arguments":{"q":"raven"}}}`,
			[]string{`"route":"/mcp"`, `"status":200`, `"channel":"mcp"`, `"account":7`, `"credential":3`, `"units":3`, `"meter":"list_records"`, `"mcp_method":"tools/call"`, `"mcp_tool":"search_colas"`},
		},
		{`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"sensitive"}}`, []string{`"mcp_tool":"other"`, `"code":"not_found"`, `"units":0`}},
		{`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get_ava","arguments":{"ava_id":"sensitive"}}}`, []string{`"mcp_tool":"get_ava"`, `"code":"not_found"`}},
		{`{"jsonrpc":"2.0","id":1,"method":"sensitive"}`, []string{`"mcp_method":"other"`}},
		{`{"jsonrpc":"2.0","method":"notifications/sensitive"}`, []string{`"mcp_method":"notification"`, `"status":202`}},
		{`{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"registry://colas/11054001000049"}}`, []string{`"mcp_method":"resources/read"`, `"meter":"detail_views"`, `"units":1`}},
		{`[`, []string{`"status":400`, `"code":"validation_error"`}},
	}
	for _, tt := range tests {
		var log strings.Builder
		send(t, mustServe(t, newFake(), &log), "POST", tt.body)
		if strings.Count(log.String(), "\n") != 1 || strings.Contains(log.String(), "sensitive") || strings.Contains(log.String(), "raven") || strings.Contains(log.String(), testKey) {
			t.Errorf("%s: want one log line without arguments or keys: %s", tt.body, log.String())
		}
		for _, want := range tt.want {
			if !strings.Contains(log.String(), want) {
				t.Errorf("%s: log line lacks %s: %s", tt.body, want, log.String())
			}
		}
	}
}

func TestCountedMethods(t *testing.T) {
	for _, m := range countedMethods {
		if !slices.Contains(servedMethods, m) {
			t.Errorf("%s is counted but not served", m)
		}
	}
}

// TestLogLevels checks that a client can set a log level for free, although no log messages are
// sent.
func TestLogLevels(t *testing.T) {
	f := newFake()
	h := mustServe(t, f, io.Discard)
	for _, level := range logLevels {
		got := rpc(t, h, "logging/setLevel", `{"level":"`+level+`"}`)
		if got.StatusCode != 200 || got.json.Error != nil || got.json.Result == nil || len(got.json.Result) != 0 {
			t.Errorf("level %s: status %d, want 200 with an empty result: %s", level, got.StatusCode, got.body)
		}
		checkHeaders(t, got)
	}
	for params, code := range map[string]int{`{"level":"loud"}`: -32602, `{}`: -32602, `{"level":1}`: -32602, `{"Level":"info"}`: -32600} {
		got := rpc(t, h, "logging/setLevel", params)
		if got.json.Error == nil || got.json.Error.Code != code {
			t.Errorf("%s: status %d, want error code %d: %s", params, got.StatusCode, code, got.body)
		}
	}
	if f.spent != 0 {
		t.Errorf("%d requests counted", f.spent)
	}
	listed := rpc(t, h, "initialize", `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"a","version":"1"}}`)
	if capabilities := listed.json.Result["capabilities"].(map[string]any); capabilities["tools"] == nil || capabilities["logging"] != nil {
		t.Errorf("capabilities = %v, want tools and no logging", capabilities)
	}
}
