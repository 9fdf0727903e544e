package mcp

import (
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
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
			t.Errorf("%s: %d %s\nwant %s", path, got.StatusCode, got.body, want)
		}
		if got.Header.Get("Access-Control-Allow-Origin") != "*" || got.Header.Get("X-Request-Id") == "" {
			t.Errorf("%s: headers %v", path, got.Header)
		}
		before := get(t, h, "OPTIONS", path, map[string]string{
			"Origin": "https://anybody.example", "Access-Control-Request-Method": "GET", "Access-Control-Request-Headers": "mcp-protocol-version",
		})
		if before.Header.Get("Access-Control-Allow-Origin") != "*" || before.Header.Get("Access-Control-Allow-Headers") == "" {
			t.Errorf("%s: preflight %d %v", path, before.StatusCode, before.Header)
		}
		if got := get(t, h, "POST", path, nil); got.StatusCode != 405 || got.Header.Get("Allow") != "GET, HEAD" {
			t.Errorf("POST %s: %d %v", path, got.StatusCode, got.Header)
		}
	}
	if Handles("/.well-known/oauth-protected-resource/mcp/") || Handles("/.well-known/") {
		t.Error("Handles accepts other paths")
	}
}

// TestNoMetadataForKeysOnly checks that a server without an issuer has no metadata.
func TestNoMetadataForKeysOnly(t *testing.T) {
	h := oauthServer()
	if got := get(t, h, "GET", wellKnown+Path, nil); got.StatusCode != 404 {
		t.Errorf("%d %s", got.StatusCode, got.body)
	}
	got := mustReply(t, send(t, h, "POST", `{}`, "X-API-Key:"))
	if challenge := got.Header.Get("WWW-Authenticate"); got.StatusCode != 401 || challenge != `Bearer realm="colaregistry"` {
		t.Errorf("%d %q", got.StatusCode, challenge)
	}
}

// TestUnauthorizedNamesTheMetadata checks that the challenge links to the configured server's
// metadata.
func TestUnauthorizedNamesTheMetadata(t *testing.T) {
	got := mustReply(t, send(t, oauthServer("https://issuer.example"), "POST", `{}`, "X-API-Key:"))
	const want = `Bearer realm="colaregistry", resource_metadata="https://registry.example/.well-known/oauth-protected-resource/mcp"`
	if challenge := got.Header.Get("WWW-Authenticate"); got.StatusCode != 401 || challenge != want {
		t.Errorf("%d %q, want %q", got.StatusCode, challenge, want)
	}
}
