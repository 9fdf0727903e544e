package dashboard

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/colaregistry/colaregistry/internal/registrytest"
)

func TestConnectWithKeys(t *testing.T) {
	s := mustSite(t)
	a := s.get("/connect")
	a.wellMade(t)
	a.shows(t, http.StatusOK, "https://registry.example/api/v1", "https://registry.example/mcp", "YOUR_KEY", "/keys/new", "read -rs KEY",
		"claude mcp add --transport http colaregistry 'https://registry.example/mcp' --header 'Authorization: Bearer YOUR_KEY'",
		"ChatGPT takes no keys", "Claude Desktop", "Cursor", "VS Code")
	if strings.Contains(a.text, "By signing in") || strings.Contains(a.text, "sign you in") {
		t.Error("there is nothing to sign in to")
	}
	s.by("").get("/connect").leads(t)
}

func TestConnectBySigningIn(t *testing.T) {
	s := mustSite(t)
	s.handler = New(s.registry.Service, s.browsers, Options{
		PublicURL: registrytest.PublicURL + "/", SignInForApps: true, Logger: slog.New(slog.DiscardHandler), Now: s.registry.Now,
	})
	a := s.get("/connect")
	a.wellMade(t)
	a.shows(t, http.StatusOK, "They sign you in", "claude mcp add --transport http colaregistry 'https://registry.example/mcp'</code>", "With a key", "create a connector with this URL")
	if strings.Contains(a.text, "example//") {
		t.Error("an address has two slashes")
	}
}

// TestSettingsCanBeRead checks that every JSON settings text is valid, and contains the URL, and
// the key if the app does not prompt for it.
func TestSettingsCanBeRead(t *testing.T) {
	v := &request{edge: &edge{opts: Options{PublicURL: "https://registry.example:8443"}}}
	const key = "lar_NAMEMCPKEYBASE"
	setups := append(v.setupsWithKey(key), v.assistantsSignedIn()...)
	read := 0
	for _, s := range setups {
		if !strings.Contains(s.Text, "https://registry.example:8443") {
			t.Errorf("%s has no address:\n%s", s.Name, s.Text)
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
			t.Errorf("%s is not filled in:\n%s", s.Name, s.Text)
		}
	}
	if read != 6 {
		t.Errorf("%d settings in JSON, want 6", read)
	}
	for _, s := range v.setupsWithKey(key) {
		if asks := s.ID == "vs-code"; strings.Contains(s.Text, key) == asks {
			t.Errorf("%s has the key, or has it not:\n%s", s.Name, s.Text)
		}
	}
}
