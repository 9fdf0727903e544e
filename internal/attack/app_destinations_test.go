package attack

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/program"
)

// hidden lists fragments of addresses and secrets that an app without the write scope must not see.
var hidden = []string{"T0SECRET", "B0SECRET", "carol@", "holder@", "whsec_", "/feeds/"}

// pathParameter matches a path parameter in the OpenAPI document.
var pathParameter = regexp.MustCompile(`\{[^}]*\}`)

// TestAppDestinations calls every REST operation on destinations, deliveries and saved searches,
// and the MCP methods that list tools, resources and prompts, as an app without the write scope. No
// response may reveal the address of a destination.
func TestAppDestinations(t *testing.T) {
	issuer := newIssuer(t)
	o := program.Options{Flags: append(issuer.flags(), "--smtp", "smtp://127.0.0.1:1",
		"--mail-from", "alerts@example.com", "--alerts", "off")}
	onBoth(t, o, func(t *testing.T, s *site) {
		a := s.account("holder@example.com", cola.TierPro)
		token := issuer.accessToken(person("holder", "holder@example.com"))
		ids := s.addDestinations(a.Key.Reveal())
		read := func(method, path string, body any) response {
			header := http.Header{"Authorization": {"Bearer " + token}, "Content-Type": {"application/json"}}
			return s.send(http.DefaultClient, method, path, header, body)
		}
		if got := read(http.MethodGet, "/api/v1/destinations", nil); !strings.Contains(string(got.Body), `"https://hooks.slack.com"`) {
			t.Errorf("destinations of an app's account: status %d, want 200 with the host: %s", got.Status, got.Body)
		}
		calls := 0
		for path, methods := range s.rest(a.Key.Reveal(), http.MethodGet, "/openapi.json", nil).JSON(t)["paths"].(map[string]any) {
			if !strings.HasPrefix(path, "/destinations") && !strings.HasPrefix(path, "/deliveries") &&
				!strings.HasPrefix(path, "/saved-searches") {
				continue
			}
			area, _, _ := strings.Cut(path[1:], "/")
			path = pathParameter.ReplaceAllLiteralString(path, ids[area])
			for method := range methods.(map[string]any) {
				method = strings.ToUpper(method)
				var body any
				if method == http.MethodPost || method == http.MethodPatch {
					body = map[string]any{}
				}
				got := read(method, "/api/v1"+path, body)
				if calls++; got.Status >= 500 || got.Status == http.StatusUnauthorized {
					t.Errorf("%s %s: status %d, want neither a server error nor 401: %s", method, path, got.Status, got.Body)
				}
				requireHidden(t, method+" "+path, got)
			}
		}
		if calls < 20 {
			t.Errorf("%d operations called, want at least 20", calls)
		}
		for _, message := range []string{"tools/list", "resources/list", "prompts/list"} {
			requireHidden(t, message,
				read(http.MethodPost, "/mcp", `{"jsonrpc":"2.0","id":1,"method":"`+message+`","params":{}}`))
		}
	})
}

// requireHidden checks that a response contains none of the hidden fragments.
func requireHidden(t *testing.T, operation string, got response) {
	t.Helper()
	for _, part := range hidden {
		if strings.Contains(string(got.Body), part) {
			t.Errorf("%s shows %s: %s", operation, part, got.Body)
		}
	}
}

// addDestinations adds a webhook, an email destination, a delivery and a saved search with a feed
// to an account. It returns one ID for each resource, keyed by the first path segment.
func (s *site) addDestinations(key string) map[string]string {
	s.t.Helper()
	create := func(path string, body any) map[string]any {
		got := s.rest(key, http.MethodPost, path, body)
		if got.Status != http.StatusCreated {
			s.t.Fatalf("%s: status %d, want 201: %s", path, got.Status, got.Body)
		}
		return got.JSON(s.t)["data"].(map[string]any)
	}
	search := create("/saved-searches",
		map[string]any{"name": "Herons", "filters": map[string]any{"brand_name": "heron"}})["uuid"].(string)
	create("/saved-searches/"+search+"/feed", nil)
	hook := create("/destinations",
		map[string]any{"kind": "webhook", "address": "https://hooks.slack.com/services/T0SECRET/B0SECRET"})
	create("/destinations", map[string]any{"kind": "email", "address": "carol@example.com"})
	list := s.rest(key, http.MethodGet, "/deliveries", nil).JSON(s.t)["data"].([]any)
	if len(list) == 0 {
		s.t.Fatal("no delivery")
	}
	return map[string]string{
		"destinations": hook["uuid"].(string), "saved-searches": search,
		"deliveries": fmt.Sprint(int(list[0].(map[string]any)["id"].(float64))),
	}
}
