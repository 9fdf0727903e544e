package dashboard

import (
	"encoding/json"
	"html"
	"log/slog"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/colaregistry/colaregistry/internal/registrytest"
)

func TestSetupWithKeys(t *testing.T) {
	s := mustSite(t)
	a := s.get("/setup")
	a.checkHTML(t)
	a.shows(t, http.StatusOK, "https://registry.example/api/v1", "https://registry.example/mcp", "YOUR_KEY",
		"/keys/new", "read -rs API_KEY",
		"claude mcp add --transport http colaregistry 'https://registry.example/mcp' --header 'Authorization: Bearer YOUR_KEY'", `id="chatgpt"`, "Claude Desktop", `"X-API-Key:${API_KEY}"`, `href="/docs/reference/labels"`, "Cursor", "VS Code")
	if strings.Contains(a.text, "By signing in") || strings.Contains(a.body, `href="/apps">connected apps`) {
		t.Error("page offers sign-in, which is not set up")
	}
	s.by("").get("/setup").redirects(t)
	for _, former := range []string{"/quickstart", "/connect"} {
		old := s.by(ann).get(former)
		if got := old.Header.Get("Location"); old.StatusCode != http.StatusMovedPermanently || got != "/setup" {
			t.Errorf("%s: %d to %q, want 301 to /setup", former, old.StatusCode, got)
		}
	}
}

func TestSetupBySigningIn(t *testing.T) {
	s := mustSite(t)
	s.handler = New(s.registry.Service, s.browsers, Options{
		PublicURL: registrytest.PublicURL +
			"/", SignInForApps: true, Logger: slog.New(slog.DiscardHandler), Now: s.registry.Now,
	})
	a := s.get("/setup")
	a.checkHTML(t)
	a.shows(t, http.StatusOK, `href="/apps">connected apps`,
		"claude mcp add --transport http colaregistry 'https://registry.example/mcp'</code>", "With a key",
		"https://registry.example/mcp</code>", "https://registry.example/mcp/chatgpt</code>", `id="chatgpt"`)
	if strings.Contains(a.text, "example//") {
		t.Error("URL has a double slash")
	}
}

// TestPrompt pastes the command that prompts for a key into a shell, as a terminal without
// bracketed paste would: the shell reads the lines one by one.
func TestPrompt(t *testing.T) {
	m := regexp.MustCompile(`printf &#39;.*export API_KEY`).FindString(mustSite(t).get("/setup").body)
	bash := exec.CommandContext(t.Context(), "bash")
	bash.Stdin = strings.NewReader(html.UnescapeString(m) + "\nlar_key\nprintenv API_KEY\n")
	if out, err := bash.Output(); err != nil || string(out) != "API key: \nlar_key\n" {
		t.Errorf("%s: %q, %v", m, out, err)
	}
}

// TestSettings checks that all JSON settings are valid, that all settings contain the URL, and that
// settings with a key contain the key unless the app prompts for it.
func TestSettings(t *testing.T) {
	v := &request{edge: &edge{opts: Options{PublicURL: "https://registry.example:8443"}}}
	const key = "lar_NAMEMCPKEYBASE"
	setups := append(v.setupsWithKey(key), v.assistantsSignedIn()...)
	read := 0
	for _, s := range setups {
		if !strings.Contains(s.Text, "https://registry.example:8443") {
			t.Errorf("%s lacks the URL:\n%s", s.Name, s.Text)
		}
		if !strings.HasPrefix(s.Text, "{") {
			continue
		}
		read++
		var settings map[string]any
		if err := json.Unmarshal([]byte(s.Text), &settings); err != nil {
			t.Errorf("%s: %v\n%s", s.Name, err, s.Text)
		}
		if strings.Contains(s.Text, "NAME\"") || strings.Contains(s.Text, "\"MCP") {
			t.Errorf("%s has a placeholder:\n%s", s.Name, s.Text)
		}
	}
	if read != 6 {
		t.Errorf("%d JSON settings, want 6", read)
	}
	for _, s := range v.setupsWithKey(key) {
		if asks := s.ID == "vs-code"; strings.Contains(s.Text, key) == asks {
			t.Errorf("%s: contains the key: %t, want %t:\n%s", s.Name, asks, !asks, s.Text)
		}
	}
}

// TestSettingsInGuide checks that the assistants guide has the same settings as the dashboard.
func TestSettingsInGuide(t *testing.T) {
	guide, err := os.ReadFile("../docs/ASSISTANTS.md")
	if err != nil {
		t.Fatal(err)
	}
	req := &request{edge: &edge{opts: Options{PublicURL: "http://127.0.0.1:8080"}}}
	text := strings.NewReplacer("'", "", `"`, "").Replace(string(guide)) // quoted differently in the shell
	for _, s := range req.assistantsWithKey("<secret>") {
		if !slices.ContainsFunc([]string{"$API_KEY", "lar_…", "${env:API_KEY}"}, func(secret string) bool {
			return strings.Contains(text, strings.NewReplacer("'", "", `"`, "", "<secret>", secret).Replace(s.Text))
		}) {
			t.Errorf("the guide lacks the settings for %s:\n%s", s.Name, s.Text)
		}
	}
}
