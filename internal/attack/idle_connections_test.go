package attack

import (
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/program"
)

// TestIdleConnections opens more silent connections than the limit. Other clients and the admin
// listener's probe must still be served.
func TestIdleConnections(t *testing.T) {
	admin := program.Address(t)
	flags := []string{"--max-connections", "20", "--admin-listen", admin}
	onBoth(t, program.Options{Flags: flags}, func(t *testing.T, s *site) {
		key := s.account("holder@example.com", cola.TierPro).Key.Reveal()
		for range 30 {
			conn, err := net.Dial("tcp", strings.TrimPrefix(s.URL, "http://"))
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
		}
		if a := get(t, "http://"+admin+"/readyz"); a.Status != http.StatusOK {
			t.Errorf("/readyz for operators: %d %s", a.Status, a.Body)
		}
		if open := s.metric(admin, "colaregistry_http_connections"); open > 20 {
			t.Errorf("%v connections are open", open)
		}
		client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 2 * time.Minute}
		for range 3 {
			if a := s.send(client, http.MethodGet, "/api/v1/usage", http.Header{"X-Api-Key": {key}}, nil); a.Status != http.StatusOK {
				t.Errorf("a request beside idle connections: %d", a.Status)
			}
		}
	})
}

// get requests a URL outside the server under attack, such as its admin listener.
func get(t *testing.T, url string) answer {
	t.Helper()
	resp, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	return read(t, resp)
}
