package attack

import (
	"maps"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/colaregistry/colaregistry/auth"
	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/loadtest"
	"github.com/colaregistry/colaregistry/internal/program"
	"github.com/colaregistry/colaregistry/store"
)

// restrictedKey creates another key for an account.
func (s *site) restrictedKey(a *loadtest.Account, access store.KeyAccess) (key string, id int64) {
	s.t.Helper()
	secret := auth.NewSecret()
	k := secret.Key()
	k.AccountID, k.Name, k.KeyAccess = a.ID, "restricted", access
	k, err := s.Store.CreateKey(s.t.Context(), k, secret.Hash(), 0)
	if err != nil {
		s.t.Fatal(err)
	}
	return secret.Reveal(), k.ID
}

// operation is an operation in the OpenAPI document, with an existing resource if possible.
type operation struct{ method, path string }

// operations lists the operations of the REST API. ids maps the first segment of a path to the ID
// for its path parameter; the default is 1.
func (s *site) operations(key string, ids map[string]string) (list []operation) {
	s.t.Helper()
	for path, methods := range s.rest(key, http.MethodGet, "/openapi.json", nil).JSON(s.t)["paths"].(map[string]any) {
		area, _, _ := strings.Cut(path[1:], "/")
		path = pathParameter.ReplaceAllLiteralString(path, max(ids[area], "1"))
		for method := range methods.(map[string]any) {
			list = append(list, operation{strings.ToUpper(method), path})
		}
	}
	return list
}

// messages are MCP messages of every kind.
var messages = []string{
	`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"a","version":"1"}}}`,
	`{"jsonrpc":"2.0","id":1,"method":"ping"}`, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, `{"jsonrpc":"2.0","method":"notifications/initialized"}`,
	`{"jsonrpc":"2.0","id":1,"method":"resources/list"}`, `{"jsonrpc":"2.0","id":1,"method":"prompts/list"}`,
	`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get_usage"}}`,
	`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"search_colas","arguments":{"q":"oak"}}}`,
	`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"search_colas","arguments":{"per_page":"many"}}}`,
	`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"nothing"}}`,
	`{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"registry://reference/tiers"}}`,
	`{"jsonrpc":"2.0","id":1,"method":"prompts/get","params":{"name":"permittee_report","arguments":{"company":"x"}}}`,
	`{"jsonrpc":"2.0","id":1,"method":"completion/complete","params":{"ref":{"type":"ref/prompt","name":"watch_brand"},"argument":{"name":"origin","value":"f"}}}`,
	`[]`, `{`,
}

// TestKeyOutsideNetworks calls every REST operation and sends every kind of MCP message with a key
// from outside its networks, including after the account has reached its rate limit. All of them
// are rejected, reveal no quota, cost nothing and don't count as use of the key.
func TestKeyOutsideNetworks(t *testing.T) {
	onBoth(t, program.Options{Flags: []string{"--trusted-proxy", "127.0.0.0/8"}}, func(t *testing.T, s *site) {
		a := s.account("networks@example.com", cola.TierFree)
		var networks cola.Networks
		networks.SetString("203.0.113.0/24")
		key, id := s.restrictedKey(a, store.KeyAccess{Scopes: cola.Scopes(), Networks: networks})
		operations := s.operations(a.Key.Reveal(), nil)
		send := func(method, path, from string, body any) response {
			header := http.Header{
				"X-Api-Key": {key}, "X-Forwarded-For": {from}, "Content-Type": {"application/json"},
				"Accept": {"application/json, text/event-stream"},
			}
			return s.send(noRedirects, method, path, header, body)
		}
		check := func(what, from string, got response) {
			t.Helper()
			if got.Status != http.StatusForbidden || !strings.Contains(string(got.Body), cola.NetworkNotAllowed) ||
				got.Header.Get("X-Detail-Views-Remaining") != "" || got.Header.Get("RateLimit") != "" {
				t.Errorf("%s from %s: %d %v, want a 403 without quota headers: %s", what, from, got.Status, got.Header, got.Body)
			}
			if _, err := netip.ParseAddr(from); err == nil && !strings.Contains(string(got.Body), from) {
				t.Errorf("%s: response does not name %s: %s", what, from, got.Body)
			}
		}
		checkAll := func(from string) {
			t.Helper()
			for _, o := range operations {
				check(o.method+" "+o.path, from, send(o.method, "/api/v1"+o.path, from, map[string]any{}))
			}
			for _, message := range messages {
				check(message, from, send(http.MethodPost, "/mcp", from, message))
			}
		}
		checkAll("198.51.100.7")
		for _, from := range []string{"203.0.113.7, 198.51.100.7", "unknown", "", "203.0.113.7, unknown", "2001:db8::1"} {
			check("usage", from, send(http.MethodGet, "/api/v1/usage", from, nil))
		}
		keys, err := s.Store.Keys(t.Context(), a.ID)
		if err != nil {
			t.Fatal(err)
		}
		for _, k := range keys {
			if k.ID == id && !k.LastUsedAt.IsZero() {
				t.Errorf("key was used at %v, want never", k.LastUsedAt)
			}
		}
		for _, from := range []string{"203.0.113.7", "::ffff:203.0.113.7", "198.51.100.7, 203.0.113.7"} {
			if got := send(http.MethodGet, "/api/v1/usage", from, nil); got.Status != http.StatusOK {
				t.Errorf("usage from %s: status %d, want 200: %s", from, got.Status, got.Body)
			}
		}
		for send(http.MethodGet, "/api/v1/avas", "203.0.113.7", nil).Status != http.StatusTooManyRequests {
		}
		checkAll("198.51.100.8")
		if usage, err := s.Store.AccountUsage(t.Context(), a.ID); err != nil || usage.Used != (cola.Used{}) {
			t.Errorf("used %+v, %v, want no quota used", usage.Used, err)
		}
	})
	onBoth(t, program.Options{}, func(t *testing.T, s *site) { // without a trusted proxy, headers are ignored
		var networks cola.Networks
		networks.SetString("203.0.113.0/24")
		key, _ := s.restrictedKey(s.account("forged@example.com", cola.TierFree), store.KeyAccess{Networks: networks})
		for _, name := range []string{"X-Forwarded-For", "X-Real-Ip", "Forwarded", "Cf-Connecting-Ip"} {
			header := http.Header{"X-Api-Key": {key}, name: {"203.0.113.7"}}
			if got := s.send(http.DefaultClient, http.MethodGet, "/api/v1/usage", header, nil); got.Status != http.StatusForbidden {
				t.Errorf("forged %s: status %d, want 403", name, got.Status)
			}
		}
	})
}

// TestReadOnlyKey calls every REST operation, the MCP tools that write, and dashboard forms with a
// read-only key. The key must not change anything or reveal where alerts are sent.
func TestReadOnlyKey(t *testing.T) {
	o := program.Options{Flags: []string{"--smtp", "smtp://127.0.0.1:1", "--mail-from", "alerts@example.com", "--alerts", "off"}}
	onBoth(t, o, func(t *testing.T, s *site) {
		a := s.account("holder@example.com", cola.TierPro)
		full := a.Key.Reveal()
		ids := s.addDestinations(full)
		key, _ := s.restrictedKey(a, store.KeyAccess{})
		state := func() string {
			t.Helper()
			var all []string
			for _, path := range []string{"/saved-searches", "/destinations", "/deliveries", "/saved-searches/" + ids["saved-searches"] + "/runs"} {
				all = append(all, string(s.rest(full, http.MethodGet, path, nil).Body))
			}
			return strings.Join(all, "\n")
		}
		before, writes := state(), 0
		for _, o := range s.operations(full, ids) {
			var body any
			if o.method != http.MethodGet {
				body = map[string]any{}
			}
			got := s.rest(key, o.method, o.path, body)
			requireHidden(t, o.method+" "+o.path, got)
			if o.method == http.MethodGet || strings.HasSuffix(o.path, "/preview") {
				if got.Status == http.StatusForbidden || got.Status == http.StatusUnauthorized {
					t.Errorf("%s %s: status %d, want neither 401 nor 403: %s", o.method, o.path, got.Status, got.Body)
				}
				continue
			}
			writes++
			requireScope(t, o.method+" "+o.path, got)
		}
		if writes < 12 {
			t.Errorf("%d write operations, want at least 12", writes)
		}
		for tool, arguments := range map[string]string{
			"create_saved_search": `{"name":"x","filters":{"brand_name":"oak"}}`,
			"update_saved_search": `{"uuid":"` + ids["saved-searches"] + `","name":"x"}`,
			"delete_saved_search": `{"uuid":"` + ids["saved-searches"] + `"}`,
		} {
			for _, arguments := range []string{arguments, `{}`, `{"unknown":1}`} {
				requireScope(t, tool+" "+arguments, s.sendMessage(key,
					`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"`+tool+`","arguments":`+arguments+`}}`))
			}
		}
		for _, page := range []string{
			"/saved-searches/new", "/saved-searches/" + ids["saved-searches"] + "/delete", "/destinations/new", "/keys/new", "/account/export",
		} {
			header := http.Header{"X-Api-Key": {key}, "Authorization": {"Bearer " + key}, "Content-Type": {"application/x-www-form-urlencoded"}}
			got := s.send(noRedirects, http.MethodPost, page, header, url.Values{"name": {"x"}}.Encode())
			if got.Status < 300 || got.Status >= 500 {
				t.Errorf("POST %s with a key: status %d, want a rejection", page, got.Status)
			}
		}
		if after := state(); after != before {
			t.Errorf("state changed:\n%s\n%s", before, after)
		}
	})
}

// requireScope checks that a response is the error for a missing scope.
func requireScope(t *testing.T, what string, got response) {
	t.Helper()
	if got.Status != http.StatusForbidden || !strings.Contains(string(got.Body), "insufficient_scope") ||
		!strings.Contains(got.Header.Get("Www-Authenticate"), `error="insufficient_scope"`) {
		t.Errorf("%s: %d %v, want a 403 with a challenge: %s", what, got.Status, slices.Sorted(maps.Keys(got.Header)), got.Body)
	}
}
