package main

import (
	"encoding/json"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"
)

// TestDiscovery follows every link in the discovery documents, and checks that the values of the
// flags appear on the right pages.
func TestDiscovery(t *testing.T) {
	t.Parallel()
	s := startServer(t, embedded(t), "--contact", "ops@example.com", "--openai-apps-challenge", "token",
		"--mcp-registry-auth", "v=MCPv1; k=ed25519; p=x")
	root := strings.TrimSuffix(s.base, "/api/v1")
	read := func(address string) (status int, content string) {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return resp.StatusCode, string(body)
	}
	for path, want := range map[string]string{
		"/privacy": "mailto:ops@example.com", "/.well-known/openai-apps-challenge": "token",
		"/.well-known/mcp-registry-auth": "v=MCPv1; k=ed25519; p=x",
	} {
		if status, content := read(root + path); status != 200 || !strings.Contains(content, want) {
			t.Errorf("%s: %d %.300s, want %q", path, status, content, want)
		}
	}
	_, llms := read(root + "/llms.txt")
	links := regexp.MustCompile(`\]\(([^)]+)\)`).FindAllStringSubmatch(llms, -1)
	if len(links) < 5 {
		t.Errorf("llms.txt has %d links: %s", len(links), llms)
	}
	for _, link := range links {
		if status, _ := read(link[1]); status != 200 {
			t.Errorf("llms.txt: %s returns %d", link[1], status)
		}
	}
	var catalog struct{ Entries []struct{ URL string } }
	var card struct{ Remotes []struct{ URL string } }
	_, content := read(root + "/.well-known/ai-catalog.json")
	if err := json.Unmarshal([]byte(content), &catalog); err != nil {
		t.Fatal(err)
	}
	_, content = read(catalog.Entries[0].URL)
	if err := json.Unmarshal([]byte(content), &card); err != nil {
		t.Fatal(err)
	}
	mustConnect(t, card.Remotes[0].URL, s.key).call(t, "get_usage", nil)
}

func TestContactFlag(t *testing.T) {
	for contact, valid := range map[string]bool{
		"": true, "ops@example.com": true, "https://example.com/contact": true, "javascript:alert(1)": false, "ops": false,
	} {
		if err := (&discoveryFlags{Contact: contact}).checkLinks(); (err == nil) != valid {
			t.Errorf("%q: %v", contact, err)
		}
	}
}
