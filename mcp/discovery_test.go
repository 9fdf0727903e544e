package mcp

import (
	"encoding/json"
	"io"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// parsedDescription is the decoded form of a Server Card or a server.json.
type parsedDescription struct {
	Schema, Name, Title, Description, Version, WebsiteURL string
	Remotes                                               []remote
}

// TestDescriptions checks the members that the schemas of Server Cards and server.json require, and
// that they agree with the protocol's own description of the server.
func TestDescriptions(t *testing.T) {
	h := mustServe(t, newFake(), io.Discard)
	info := rpc(t, h, "initialize", `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"test","version":"1"}}`).json.Result["serverInfo"].(map[string]any)
	for path, schema := range map[string]string{serverCardPath: serverCardSchema, serverJSONPath: serverJSONSchema} {
		got := get(t, h, "GET", path, map[string]string{"Origin": "https://anybody.example"})
		var d parsedDescription
		if err := json.Unmarshal([]byte(strings.Replace(got.body, `"$schema"`, `"schema"`, 1)), &d); err != nil || got.StatusCode != 200 {
			t.Fatalf("%s: %d %s, %v", path, got.StatusCode, got.body, err)
		}
		want := parsedDescription{
			schema, "example.registry/colaregistry", info["title"].(string), serverDescription, info["version"].(string),
			"https://registry.example/docs", d.Remotes,
		}
		if diff := cmp.Diff(want, d); diff != "" {
			t.Errorf("%s (-want +got):\n%s", path, diff)
		}
		if n := len(d.Description); n == 0 || n > 100 || !regexp.MustCompile(`^[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+$`).MatchString(d.Name) {
			t.Errorf("%s: name %q or description of %d characters is invalid", path, d.Name, n)
		}
		if len(d.Remotes) != 1 || d.Remotes[0].Type != "streamable-http" || d.Remotes[0].URL != "https://registry.example/mcp" || !d.Remotes[0].Headers[0].IsRequired {
			t.Errorf("%s: remotes = %+v", path, d.Remotes)
		}
		if versions := d.Remotes[0].Versions != nil; versions != (path == serverCardPath) {
			t.Errorf("%s: protocol versions present: %t", path, versions)
		}
		if got.Header.Get("Access-Control-Allow-Origin") != "*" || !Handles(path) {
			t.Errorf("%s: handled %t, headers %v", path, Handles(path), got.Header)
		}
	}
}

// TestCatalog checks that the catalog points to the Server Card.
func TestCatalog(t *testing.T) {
	h := oauthServer("https://issuer.example")
	got := get(t, h, "GET", catalogPath, nil)
	want := `{"specVersion":"1.0","entries":[{"identifier":"urn:air:registry.example:mcp:colaregistry",` +
		`"type":"application/mcp-server-card+json","url":"https://registry.example/mcp/server-card"}]}`
	if got.body != want || got.Header.Get("Content-Type") != "application/ai-catalog+json" || !Handles(catalogPath) {
		t.Errorf("catalog = %s %s", got.Header, got.body)
	}
	card := get(t, h, "GET", serverCardPath, nil)
	if card.Header.Get("Content-Type") != "application/mcp-server-card+json" || !strings.Contains(card.body, `"isRequired":false`) {
		t.Errorf("card = %s %s; want an optional key, because apps can sign in", card.Header, card.body)
	}
}

func TestReverseDNS(t *testing.T) {
	for publicURL, want := range map[string]string{
		"https://Registry.Example.com": "com.example.registry", "http://127.0.0.1:8080": "localhost", "http://[::1]:8080": "localhost",
		"http://localhost:8080": "localhost", "": "localhost",
	} {
		if got := reverseDNS(publicHost(publicURL)); got != want {
			t.Errorf("%q: %q, want %q", publicURL, got, want)
		}
	}
}
