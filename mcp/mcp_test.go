package mcp

import (
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
)

func oauthServer(issuers ...string) http.Handler {
	return New(newFake(), keys{}, Options{
		PublicURL: "https://" + testHost, Version: "test", Logger: slog.New(slog.NewJSONHandler(io.Discard, nil)), Hosts: []string{testHost},
		Resource: Resource("https://"+testHost, issuers, nil),
	})
}

func get(t *testing.T, h http.Handler, method, path string, lines map[string]string) reply {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), method, "https://"+testHost+path, nil)
	for name, value := range lines {
		r.Header.Set(name, value)
	}
	r.Host = "elsewhere.example" // the response does not depend on the Host
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return mustReply(t, w.Result())
}

// TestMetadata checks that both well-known paths return the same metadata to any origin, without
// credentials.
func TestMetadata(t *testing.T) {
	h := oauthServer("https://issuer.example", "https://other.example/")
	const want = `{"resource":"https://registry.example/mcp","authorization_servers":["https://issuer.example","https://other.example/"],` +
		`"bearer_methods_supported":["header"],"resource_name":"Label approval registry","resource_documentation":"https://registry.example/docs"}`
	for _, path := range []string{"/.well-known/oauth-protected-resource", "/.well-known/oauth-protected-resource/mcp"} {
		if !Handles(path) {
			t.Errorf("%s is not handled", path)
		}
		got := get(t, h, "GET", path, map[string]string{"Origin": "https://anybody.example"})
		if got.StatusCode != 200 || got.body != want || got.Header.Get("Content-Type") != "application/json" {
			t.Errorf("%s: status %d %s\nwant 200 %s", path, got.StatusCode, got.body, want)
		}
		if got.Header.Get("Access-Control-Allow-Origin") != "*" || got.Header.Get("X-Request-Id") == "" {
			t.Errorf("%s: headers %v, want CORS for any origin and a request ID", path, got.Header)
		}
		before := get(t, h, "OPTIONS", path, map[string]string{
			"Origin": "https://anybody.example", "Access-Control-Request-Method": "GET", "Access-Control-Request-Headers": "mcp-protocol-version",
		})
		if before.Header.Get("Access-Control-Allow-Origin") != "*" || before.Header.Get("Access-Control-Allow-Headers") == "" {
			t.Errorf("%s: preflight status %d, headers %v; want CORS for any origin", path, before.StatusCode, before.Header)
		}
		if got := get(t, h, "POST", path, nil); got.StatusCode != 405 || got.Header.Get("Allow") != "GET, HEAD" {
			t.Errorf("POST %s: status %d, headers %v; want 405 with Allow: GET, HEAD", path, got.StatusCode, got.Header)
		}
	}
	if Handles("/.well-known/oauth-protected-resource/mcp/") || Handles("/.well-known/") {
		t.Error("Handles accepts other paths")
	}
}

// TestNoMetadata checks that a server without an issuer has no metadata.
func TestNoMetadata(t *testing.T) {
	h := oauthServer()
	if got := get(t, h, "GET", wellKnown+Path, nil); got.StatusCode != 404 {
		t.Errorf("status %d, want 404: %s", got.StatusCode, got.body)
	}
	got := mustReply(t, send(t, h, "POST", `{}`, "X-API-Key:"))
	if challenge := got.Header.Get("WWW-Authenticate"); got.StatusCode != 401 || challenge != `Bearer realm="colaregistry"` {
		t.Errorf("status %d, challenge %q; want 401 without metadata", got.StatusCode, challenge)
	}
}

// TestChallenge checks that the challenge links to the metadata at the public URL.
func TestChallenge(t *testing.T) {
	got := mustReply(t, send(t, oauthServer("https://issuer.example"), "POST", `{}`, "X-API-Key:"))
	const want = `Bearer realm="colaregistry", resource_metadata="https://registry.example/.well-known/oauth-protected-resource/mcp"`
	if challenge := got.Header.Get("WWW-Authenticate"); got.StatusCode != 401 || challenge != want {
		t.Errorf("status %d, challenge %q; want 401, %q", got.StatusCode, challenge, want)
	}
}

// at returns a handler that changes the path of every request before passing it to h.
func at(path string, h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.URL.Path = path
		h.ServeHTTP(w, r)
	})
}

// TestReadOnly checks that the read-only endpoint offers every tool and prompt except those that
// change data, and rejects calls to those tools.
func TestReadOnly(t *testing.T) {
	h := at(ReadOnlyPath, mustServe(t, newFake(), io.Discard))
	listed := rpc(t, h, "tools/list", "{}")
	var got, want []string
	for _, tool := range listed.json.Result["tools"].([]any) {
		got = append(got, tool.(map[string]any)["name"].(string))
	}
	for _, tool := range tools() {
		if tool.effect == reads {
			want = append(want, tool.name)
			continue
		}
		refused := rpc(t, h, "tools/call", `{"name":"`+tool.name+`","arguments":{}}`)
		if refused.json.Error == nil || refused.json.Error.Code != -32602 {
			t.Errorf("%s: %s, want an error for an unknown tool", tool.name, refused.body)
		}
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) || len(want) == len(tools()) {
		t.Errorf("tools = %q, want %q", got, want)
	}
	if prompts := rpc(t, h, "prompts/list", "{}").json.Result["prompts"].([]any); len(prompts) != 2 {
		t.Errorf("%d prompts, want 2", len(prompts))
	}
	if got := call(t, h, "get_usage", "{}"); got.failed {
		t.Errorf("get_usage failed: %s", got.body)
	}
	if got := mustReply(t, send(t, h, http.MethodGet, "")); got.StatusCode != 405 || !strings.Contains(got.body, ReadOnlyPath) {
		t.Errorf("GET: status %d, %s", got.StatusCode, got.body)
	}
}

// TestReadOnlyResource checks that OAuth clients find the identifier of the read-only endpoint.
func TestReadOnlyResource(t *testing.T) {
	h := oauthServer("https://issuer.example")
	const id, metadata = "https://registry.example/mcp/readonly", "/.well-known/oauth-protected-resource/mcp/readonly"
	got := mustReply(t, send(t, at(ReadOnlyPath, h), "POST", `{}`, "X-API-Key:"))
	want := `Bearer realm="colaregistry", resource_metadata="https://registry.example` + metadata + `"`
	if challenge := got.Header.Get("WWW-Authenticate"); got.StatusCode != 401 || challenge != want {
		t.Errorf("status %d, challenge %q; want 401, %q", got.StatusCode, challenge, want)
	}
	if got := get(t, h, "GET", metadata, nil); got.StatusCode != 200 || !strings.Contains(got.body, `"resource":"`+id+`"`) {
		t.Errorf("metadata: status %d, %s", got.StatusCode, got.body)
	}
	if audiences := Audiences(Resource("https://registry.example", []string{"https://issuer.example"}, nil)); !slices.Contains(audiences, id) {
		t.Errorf("audiences = %q", audiences)
	}
}
