package attack

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/program"
	"github.com/colaregistry/colaregistry/internal/web"
)

// TestIdleConnections opens more silent connections than the limit allows. Other clients and the
// admin listener's probe must still be served.
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
			t.Errorf("/readyz on the admin listener: status %d, want 200: %s", a.Status, a.Body)
		}
		if open := s.metric(admin, "colaregistry_http_connections"); open > 20 {
			t.Errorf("%v open connections, want at most 20", open)
		}
		client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 2 * time.Minute}
		for range 3 {
			if a := s.send(client, http.MethodGet, "/api/v1/usage", http.Header{"X-Api-Key": {key}}, nil); a.Status != http.StatusOK {
				t.Errorf("request with idle connections: status %d, want 200", a.Status)
			}
		}
	})
}

// TestSlowBodies opens more connections than the limit allows and sends a request body over each of
// them byte by byte. Other clients must still be served, and clients without credentials must get
// little time to send a form.
func TestSlowBodies(t *testing.T) {
	const fast = 25 * time.Second // below the general limit of 30 s for a body
	admin := program.Address(t)
	flags := []string{"--max-connections", "20", "--admin-listen", admin}
	onBoth(t, program.Options{Flags: flags}, func(t *testing.T, s *site) {
		key := s.account("holder@example.com", cola.TierPro).Key.Reveal()
		address := strings.TrimPrefix(s.URL, "http://")
		slow := func(head string) net.Conn {
			conn, err := net.Dial("tcp", address)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { conn.Close() })
			fmt.Fprintf(conn, "POST %s\r\nHost: %s\r\nContent-Length: 1000\r\n\r\n{", head, address)
			return conn
		}
		stop := make(chan struct{})
		var sending sync.WaitGroup
		for range 30 {
			conn := slow("/api/v1/saved-searches HTTP/1.1\r\nContent-Type: application/json\r\nX-Api-Key: " + key)
			sending.Go(func() {
				for {
					select {
					case <-stop:
						conn.Close()
						return
					case <-time.After(200 * time.Millisecond):
						fmt.Fprint(conn, " ") // fails once the server has closed the connection
					}
				}
			})
		}
		if open := s.metric(admin, "colaregistry_http_connections"); open > 20 {
			t.Errorf("%v open connections, want at most 20", open)
		}
		client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 2 * time.Minute}
		for range 3 {
			started := time.Now()
			a := s.send(client, http.MethodGet, "/api/v1/usage", http.Header{"X-Api-Key": {key}}, nil)
			if took := time.Since(started); a.Status != http.StatusOK || took > fast {
				t.Errorf("request with slow connections: status %d after %v, want 200 within %v", a.Status, took, fast)
			}
		}
		close(stop)
		sending.Wait()
		var forms sync.WaitGroup
		for path, status := range map[string]int{
			"/sign-in":  http.StatusRequestTimeout,
			"/sign-out": http.StatusSeeOther, "/keys": http.StatusMethodNotAllowed,
			"/unsubscribe/" + wrongToken(1): web.StatusClientGone, "/confirm/" + wrongToken(2): http.StatusNotFound,
		} {
			conn, started := slow(path+" HTTP/1.1\r\nContent-Type: application/x-www-form-urlencoded"), time.Now()
			forms.Go(func() {
				_ = conn.SetReadDeadline(time.Now().Add(time.Minute))
				answered, err := http.ReadResponse(bufio.NewReader(conn), nil)
				if err != nil {
					t.Error(path, err)
					return
				}
				answered.Body.Close()
				if took := time.Since(started); took > fast || answered.StatusCode != status {
					t.Errorf("slow form to %s: %s after %v, want status %d", path, answered.Status, took, status)
				}
			})
		}
		forms.Wait()
	})
}

// get requests an absolute URL, such as one on the admin listener.
func get(t *testing.T, url string) response {
	t.Helper()
	resp, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	return read(t, resp)
}
