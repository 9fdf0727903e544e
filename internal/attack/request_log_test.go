package attack

import (
	"bytes"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/program"
)

// TestRequestLogSecrets sends keys wherever a client might put them by mistake. The requests must
// appear in the request log, but the keys must not appear anywhere in the database. A request with
// a revoked key is rejected and recorded; a request with an unknown key is not recorded.
func TestRequestLogSecrets(t *testing.T) {
	onBoth(t, program.Options{}, func(t *testing.T, s *site) {
		holder := s.account("holder@example.com", cola.TierPro)
		key, other := holder.Key.Reveal(), s.account("other@example.com", cola.TierPro).Key.Reveal()
		escaped := strings.ReplaceAll(key, "_", "%5f")
		for _, path := range []string{
			"/colas?api_key=" + key, "/colas?q=" + other, "/colas?" + escaped + "=1", "/colas?q=%zz" + key, "/" + key, "/colas/" + escaped,
			"/permittees/" + url.PathEscape("x "+other+"/y"), "/colas?q=oak&access_token=" + other, "/colas?q=" + strings.ReplaceAll(escaped, "%", "%25"),
		} {
			s.rest(key, http.MethodGet, path, nil)
		}
		s.rest(key, http.MethodPost, "/saved-searches", map[string]any{"name": key, other: key, "filters": map[string]any{"query": key}})
		for _, params := range []map[string]any{
			{"name": "search_colas", "arguments": map[string]any{"q": key, other: other, "api_key": key}},
			{"name": "get_cola", "arguments": map[string]any{"ttb_id": []any{other, map[string]any{"token": key}}}},
			{"name": other}, {"name": "x", "arguments": key},
		} {
			s.send(http.DefaultClient, http.MethodPost, "/mcp",
				http.Header{"Authorization": {"Bearer " + key}, "Content-Type": {"application/json"}}, map[string]any{"jsonrpc": "2.0", "id": key, "method": "tools/call", "params": params})
		}
		s.send(http.DefaultClient, http.MethodPost, "/mcp", http.Header{"X-Api-Key": {key}, "Content-Type": {"application/json"}},
			map[string]any{"jsonrpc": "2.0", "id": 1, "method": other})
		s.rest("lar_"+strings.Repeat("0", 36), http.MethodGet, "/colas?q=never-recorded", nil)
		s.rest(key, http.MethodGet, "/colas?q=before-revocation", nil)
		s.revoke(holder.Key.String())
		if refused := s.rest(key, http.MethodGet, "/colas?q=after-revocation", nil); refused.Status != http.StatusUnauthorized {
			t.Fatalf("revoked key: status %d", refused.Status)
		}
		awaitTrue(t, "the request log", func() bool { return bytes.Contains(s.stolen(), []byte("q=after-revocation")) })
		s.requireNoneOf(map[string]string{
			"key": key[8:], "other key": other[8:], "request with an unknown key": "never-recorded",
		})
		if content := s.stolen(); !bytes.Contains(content, []byte("q=before-revocation")) || !bytes.Contains(content, []byte("REMOVED")) ||
			!bytes.Contains(content, []byte("tools/call")) {
			t.Error("the request log lacks requests")
		}
	})
}

// revoke revokes the key with the given prefix.
func (s *site) revoke(prefix string) {
	s.t.Helper()
	for line := range strings.Lines(s.Run("key", "list")) {
		if fields := strings.Fields(line); strings.Contains(line, strings.TrimSuffix(prefix, "…")) {
			s.Run("key", "revoke", fields[0])
			return
		}
	}
	s.t.Fatalf("no key %s", prefix)
}
