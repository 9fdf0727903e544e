package httpapi

import (
	"io"
	"log/slog"
	"net/http"
	"regexp"
	"strings"
	"testing"
)

// serveDiscovery returns the handler for an API at https://registry.example with these settings.
func serveDiscovery(d Discovery) http.Handler {
	return New(newFake(), keys{}, Options{
		PublicURL: "https://registry.example", Logger: slog.New(slog.DiscardHandler), Discovery: d,
	})
}

// TestLLMs checks the structure that llmstxt.org defines: a title, a summary, and sections that
// contain links.
func TestLLMs(t *testing.T) {
	resp := send(t, serveDiscovery(Discovery{}), "GET", "/llms.txt")
	text := mustRead(t, resp)
	if resp.StatusCode != 200 || resp.Header.Get("Content-Type") != "text/plain; charset=utf-8" {
		t.Errorf("response = %d %v", resp.StatusCode, resp.Header)
	}
	if !regexp.MustCompile(`\A# [^\n]+\n\n> [^\n]+\n`).MatchString(text) {
		t.Errorf("no title and summary: %s", text)
	}
	link := regexp.MustCompile(`^- \[[^\]]+\]\(https://registry\.example/[^)]+\): .+\n$`)
	section := ""
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "## ") {
			section = line
		}
		if strings.HasPrefix(line, "- ") && (section == "" || !link.MatchString(line)) {
			t.Errorf("line %q in section %q is not a link", line, section)
		}
	}
}

// TestChallenges checks that directories' challenges are served verbatim, and that paths without a
// challenge return 404.
func TestChallenges(t *testing.T) {
	set := serveDiscovery(Discovery{OpenAIChallenge: "token", RegistryAuth: "v=MCPv1; k=ed25519; p=x"})
	for path, want := range map[string]string{
		"/.well-known/openai-apps-challenge": "token", "/.well-known/mcp-registry-auth": "v=MCPv1; k=ed25519; p=x",
	} {
		resp := send(t, set, "GET", path)
		if got := mustRead(t, resp); resp.StatusCode != 200 || got != want || !strings.HasPrefix(resp.Header.Get("Content-Type"), "text/plain") {
			t.Errorf("%s: %d %q, want %q", path, resp.StatusCode, got, want)
		}
		if resp := send(t, mustServe(t, newFake(), io.Discard), "GET", path); resp.StatusCode != 404 {
			t.Errorf("%s without a challenge: %d, want 404", path, resp.StatusCode)
		}
	}
}
