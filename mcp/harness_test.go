package mcp

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/colaregistry/colaregistry/cola"
)

// keys is an Authenticator with one valid key and one access token without scopes.
type keys struct{ err error }

const testToken = "token"

func (k keys) Authenticate(_ context.Context, h http.Header, ch cola.Channel) (cola.Caller, error) {
	if k.err != nil {
		return cola.Caller{}, k.err
	}
	if h.Get("Authorization") == "Bearer "+testToken {
		return cola.Caller{Account: 7, Credential: cola.Credential{Kind: cola.CredentialLink, ID: 1}, Channel: ch}, nil
	}
	if h.Get("X-Api-Key") != testKey && h.Get("Authorization") != "Bearer "+testKey {
		return cola.Caller{}, cola.Errorf(cola.CodeUnauthorized, "Unknown API key.")
	}
	return cola.Caller{Account: 7, Credential: cola.Credential{Kind: cola.CredentialKey, ID: 3}, Channel: ch, Scopes: cola.Scopes()}, nil
}

func mustServe(t testing.TB, svc Service, log io.Writer) http.Handler {
	t.Helper()
	return New(svc, keys{}, Options{
		PublicURL: "https://" + testHost, Version: "test", Logger: slog.New(slog.NewJSONHandler(log, nil)),
		Hosts: []string{testHost}, Origins: []string{"https://" + testHost, "https://app.example:8443"}, Timeout: 5 * time.Second,
	})
}

// send sends a request with the test key. Header lines ("Name: value") override the defaults.
func send(t testing.TB, h http.Handler, method, body string, lines ...string) *http.Response {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), method, "https://"+testHost+Path, strings.NewReader(body))
	r.Header.Set("X-API-Key", testKey)
	r.Header.Set("Content-Type", "application/json")
	for _, line := range lines {
		name, value, _ := strings.Cut(line, ":")
		value = strings.TrimSpace(value)
		if value == "" {
			r.Header.Del(name)
			continue
		}
		if name == "Host" {
			r.Host = value
			continue
		}
		r.Header.Set(name, value)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Result()
}

// reply is the response to a message.
type reply struct {
	*http.Response
	body string
	json struct {
		ID     any            `json:"id"`
		Result map[string]any `json:"result"`
		Error  *struct {
			Code    int            `json:"code"`
			Message string         `json:"message"`
			Data    map[string]any `json:"data"`
		} `json:"error"`
	}
}

func mustReply(t testing.TB, resp *http.Response) reply {
	t.Helper()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	r := reply{Response: resp, body: string(b)}
	_ = json.Unmarshal(b, &r.json) // fails for REST errors; their tests parse the body
	return r
}

// rpc sends a message with an ID.
func rpc(t testing.TB, h http.Handler, method, params string, lines ...string) reply {
	t.Helper()
	return mustReply(t, send(t, h, http.MethodPost, `{"jsonrpc":"2.0","id":1,"method":"`+method+`","params":`+params+`}`, lines...))
}

// called is the result of a tool call.
type called struct {
	reply
	failed  bool
	texts   []string
	content map[string]any // structured content
}

func call(t testing.TB, h http.Handler, name, arguments string) called {
	t.Helper()
	r := rpc(t, h, "tools/call", `{"name":"`+name+`","arguments":`+arguments+`}`)
	if r.json.Result == nil {
		t.Fatalf("%s %s: got %d %s", name, arguments, r.StatusCode, r.body)
	}
	c := called{reply: r}
	c.failed, _ = r.json.Result["isError"].(bool)
	c.content, _ = r.json.Result["structuredContent"].(map[string]any)
	for _, part := range r.json.Result["content"].([]any) {
		c.texts = append(c.texts, part.(map[string]any)["text"].(string))
	}
	return c
}

// code returns the error code of a failed call.
func (c called) code(t testing.TB) string {
	t.Helper()
	var envelope struct {
		Error struct{ Code string } `json:"error"`
	}
	if err := json.Unmarshal([]byte(c.texts[0]), &envelope); err != nil {
		t.Fatalf("%v in %s", err, c.texts[0])
	}
	return envelope.Error.Code
}

// problems returns the error details of a failed call.
func (c called) problems(t testing.TB) map[string]any {
	t.Helper()
	var envelope struct {
		Error struct{ Details map[string]any } `json:"error"`
	}
	if err := json.Unmarshal([]byte(c.texts[0]), &envelope); err != nil {
		t.Fatalf("%v in %s", err, c.texts[0])
	}
	return envelope.Error.Details
}
