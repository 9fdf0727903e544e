package attack

import (
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/program"
)

// sendMessage sends a message to the MCP endpoint.
func (s *site) sendMessage(key, message string) response {
	s.t.Helper()
	return s.send(http.DefaultClient, http.MethodPost, "/mcp",
		http.Header{"X-Api-Key": {key}, "Content-Type": {"application/json"}}, message)
}

const ping = `{"jsonrpc":"2.0","id":1,"method":"ping"}`

// TestMessageFlood sends messages that the rate limit does not count, at full speed with one key.
// The flood must be rejected and another account served. Long messages, each of which counts as
// several, first use up most of the limit on messages, because one ledger commit per message would
// take too long on a slow disk.
func TestMessageFlood(t *testing.T) {
	onBoth(t, program.Options{}, func(t *testing.T, s *site) {
		attacker, other := s.account("attacker@example.com", cola.TierFree), s.account("other@example.com",
			cola.TierFree)
		long := `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":"` + strings.Repeat("x", 1_000_000) + `"}}`
		for range 30 {
			if a := s.sendMessage(attacker.Key.Reveal(), long); a.Status != http.StatusRequestEntityTooLarge {
				t.Fatalf("long ping: status %d, want 413: %s", a.Status, a.Body)
			}
		}
		var rejected atomic.Pointer[response]
		var flood sync.WaitGroup
		for range 8 {
			flood.Go(func() {
				for n := 0; n < 100 && rejected.Load() == nil; n++ {
					if a := s.sendMessage(attacker.Key.Reveal(), ping); a.Status != http.StatusOK {
						rejected.Store(&a)
					}
				}
			})
		}
		flood.Wait()
		a := rejected.Load()
		if a == nil {
			t.Fatal("800 messages were accepted, want a rejection")
		}
		data := a.JSON(t)["error"].(map[string]any)["data"].(map[string]any)["error"].(map[string]any)
		if a.Status != http.StatusTooManyRequests || a.Header.Get("Retry-After") == "" ||
			data["code"] != "quota_exceeded" ||
			data["details"].(map[string]any)["reason"] != "messages" {
			t.Errorf("flood: status %d, headers %v: %s", a.Status, a.Header, a.Body)
		}
		if a := s.sendMessage(other.Key.Reveal(), ping); a.Status != http.StatusOK {
			t.Errorf("another account: status %d, want 200: %s", a.Status, a.Body)
		}
		if a := s.rest(attacker.Key.Reveal(), http.MethodGet, "/usage", nil); a.Status != http.StatusOK {
			t.Errorf("the REST API with the same key: status %d, want 200: %s", a.Status, a.Body)
		}
	})
}

// TestHostileMessages sends MCP messages and a REST body that are costly to decode. BenchmarkParse
// in package mcp measures the cost of rejecting the messages.
func TestHostileMessages(t *testing.T) {
	onBoth(t, program.Options{}, func(t *testing.T, s *site) {
		key := s.account("attacker@example.com", cola.TierPro).Key.Reveal()
		members := strings.Repeat(`{"a":1},`, 90_000) + `{}`
		long := strings.Repeat("x", 512<<10)
		for name, tt := range map[string]struct {
			message string
			status  int
		}{
			"ping of 1 MB with 90,000 objects": {`{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":[` + members + `]}}`, http.StatusBadRequest},
			"call with 90,000 objects":         {`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get_usage","arguments":{"a":[` + members + `]}}}`, http.StatusBadRequest},
			"ping of 512 KB":                   {`{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":"` + long + `"}}`, http.StatusRequestEntityTooLarge},
			"list of 512 KB, method last":      {`{"jsonrpc":"2.0","id":1,"params":{"a":"` + long + `"},"method":"tools/list"}`, http.StatusRequestEntityTooLarge},
			"100,000 levels":                   {strings.Repeat(`{"a":`, 100_000), http.StatusBadRequest},
		} {
			if a := s.sendMessage(key, tt.message); a.Status != tt.status {
				t.Errorf("%s: status %d, want %d: %.300s", name, a.Status, tt.status, a.Body)
			}
		}
		many := `{"name":"a","filters":{` + strings.Repeat(`"a":1,`, 9_000) + `"b":1}}`
		if a := s.send(http.DefaultClient, http.MethodPost, "/api/v1/saved-searches", http.Header{
			"X-Api-Key": {key}, "Content-Type": {"application/json"},
		}, many); a.Status != http.StatusBadRequest || len(a.Body) > 4_000 {
			t.Errorf("REST body with 9,000 members: %d, %d bytes", a.Status, len(a.Body))
		}
	})
}
