package mcp

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/strictjson"
)

const pingMessage = `{"jsonrpc":"2.0","id":1,"method":"ping"}`

// stopped is a clock that stands still, so that no message is regained during a test.
func stopped() time.Time { return time.Unix(1_700_000_000, 0) }

func TestMessageLimits(t *testing.T) {
	now := stopped()
	l := newMessageLimits(func() time.Time { return now })
	caller := func(account cola.AccountID, key int64) cola.Caller {
		return cola.Caller{Account: account, Credential: cola.Credential{Kind: cola.CredentialKey, ID: key}}
	}
	for n := range messagesPerMinute {
		if refusal := l.take(caller(1, 1), 100); refusal != nil {
			t.Fatalf("message %d: %v", n, refusal)
		}
	}
	refusal := l.take(caller(1, 1), 100)
	if refusal == nil || refusal.Code != cola.CodeQuotaExceeded || refusal.Details["reason"] != "messages" || refusal.RetryAfter <= 0 {
		t.Fatalf("the message after the limit: %+v", refusal)
	}
	if l.take(caller(2, 2), 100) != nil || l.take(caller(1, 3), 100) != nil {
		t.Error("another credential is held up")
	}
	now = now.Add(time.Minute / messagesPerMinute)
	if l.take(caller(1, 1), 100) != nil || l.take(caller(1, 1), 100) == nil {
		t.Error("a tenth of a second is not worth one message")
	}
}

// TestAccountMessageLimit checks that many keys of one account share a limit.
func TestAccountMessageLimit(t *testing.T) {
	l := newMessageLimits(stopped)
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

// TestLongMessagesCountMore checks that a message counts once for each 64 KiB that are to be read.
func TestLongMessagesCountMore(t *testing.T) {
	for length, units := range map[int64]int{0: 1, 1: 1, messageUnit: 1, messageUnit + 1: 2, maxMessageBytes: 16, maxMessageBytes + 1: 16, -1: 16} {
		l, passed := newMessageLimits(stopped), 0
		for l.take(cola.Caller{Account: 1}, length) == nil {
			passed++
		}
		if passed != messagesPerMinute/units {
			t.Errorf("%d messages of %d bytes passed, want %d", passed, length, messagesPerMinute/units)
		}
	}
}

// TestMessageFlood checks the answer at the limit over HTTP: nothing is asked of the service for it.
func TestMessageFlood(t *testing.T) {
	f := newFake()
	h := New(f, keys{}, Options{Logger: slog.New(slog.DiscardHandler), Hosts: []string{testHost}, Now: stopped})
	for range messagesPerMinute {
		if resp := send(t, h, http.MethodPost, pingMessage); resp.StatusCode != http.StatusOK {
			t.Fatal(resp.Status)
		}
	}
	f.err = cola.Unavailable() // of everything that is asked from here on
	got := mustReply(t, send(t, h, http.MethodPost, pingMessage))
	var answer struct {
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
	if err := json.Unmarshal([]byte(got.body), &answer); err != nil {
		t.Fatal(err)
	}
	if got.StatusCode != http.StatusTooManyRequests || got.Header.Get("Retry-After") != "1" || got.Header.Get("Connection") != "close" {
		t.Errorf("%d %v", got.StatusCode, got.Header)
	}
	if e := answer.Error; e.Code != refusedCode || e.Data.Error.Code != cola.CodeQuotaExceeded || e.Data.Error.Details.Reason != "messages" || answer.ID != nil {
		t.Errorf("answered with %s", got.body)
	}
	f.err = nil
	if resp := send(t, h, http.MethodPost, pingMessage, "Authorization: Bearer "+testToken, "X-API-Key:"); resp.StatusCode != http.StatusOK {
		t.Errorf("another credential: %s", resp.Status)
	}
}

// TestMessageBounds checks the limits on messages: only tool calls may be long, and no message may have
// too many values.
func TestMessageBounds(t *testing.T) {
	h := mustServe(t, newFake(), io.Discard)
	message := func(method, params string) string {
		return `{"jsonrpc":"2.0","id":1,"params":` + params + `,"method":"` + method + `"}`
	}
	long := strings.Repeat("x", maxPlainBytes)
	many := strings.Repeat(`{"a":1},`, 90_000) + "{}"
	for name, tt := range map[string]struct {
		body   string
		status int
		holds  string
	}{
		"ping of 64 KiB":     {message("ping", `{"a":"`+long[:maxPlainBytes-64]+`"}`), 200, `"result"`},
		"longer ping":        {message("ping", `{"a":"`+long+`"}`), 413, `"payload_too_large"`},
		"padded ping":        {message("ping", `{}`) + strings.Repeat(" ", maxPlainBytes), 413, `"payload_too_large"`},
		"longer tool call":   {message("tools/call", `{"name":"get_usage","_meta":{"a":"`+long+`"}}`), 200, `"result"`},
		"ping, many values":  {message("ping", `{"a":[`+many+`]}`), 400, `"code":-32600`},
		"call, many values":  {message("tools/call", `{"name":"get_usage","arguments":{"a":[`+many+`]}}`), 400, `"code":-32600`},
		"call, few values":   {message("tools/call", `{"name":"get_usage","_meta":{"a":[`+strings.Repeat("1,", strictjson.MaxValues-20)+`1]}}`), 200, `"result"`},
		"many values, batch": {"[" + many + "]", 400, `"code":-32600`},
	} {
		got := mustReply(t, send(t, h, http.MethodPost, tt.body))
		if got.StatusCode != tt.status || !strings.Contains(got.body, tt.holds) {
			t.Errorf("%s: %d %.200s", name, got.StatusCode, got.body)
		}
	}
}

// TestBridgeAtTheLimit checks that an assistant on standard input learns which of its messages was refused.
func TestBridgeAtTheLimit(t *testing.T) {
	h := New(newFake(), keys{}, Options{Logger: slog.New(slog.DiscardHandler), Hosts: []string{"localhost"}, Now: stopped})
	for range messagesPerMinute {
		send(t, h, http.MethodPost, pingMessage, "Host: localhost")
	}
	b := &Bridge{URL: "http://localhost/mcp", Key: testKey, Client: InProcess(h), Logger: slog.New(slog.DiscardHandler)}
	got := mustLines(t, b, `{"jsonrpc":"2.0","id":"last","method":"ping"}`, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	if len(got) != 1 || got[0].json.ID != "last" || got[0].json.Error == nil || got[0].json.Error.Data["error"].(map[string]any)["code"] != "quota_exceeded" {
		t.Errorf("answered with %v", got)
	}
}

// BenchmarkParse measures refusing hostile messages of 1 MiB, and parsing the longest accepted one.
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
