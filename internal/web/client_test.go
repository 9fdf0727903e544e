package web

import (
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"

	"github.com/colaregistry/colaregistry/cola"
)

func clientOf(p Proxies, peer string, forwarded ...string) string {
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	r.RemoteAddr = peer
	for _, line := range forwarded {
		r.Header.Add("X-Forwarded-For", line)
	}
	var client netip.Addr
	h := p.Identify(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		client = cola.ClientFrom(r.Context())
	}))
	h.ServeHTTP(httptest.NewRecorder(), r)
	return client.String()
}

func TestClient(t *testing.T) {
	trusted := Proxies{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("2001:db8:1::/48")}
	tests := []struct {
		name      string
		proxies   Proxies
		peer      string
		forwarded []string
		want      string
	}{
		{"peer", nil, "203.0.113.7:4000", nil, "203.0.113.7"},
		{"no proxy is trusted", nil, "10.0.0.1:4000", []string{"198.51.100.1"}, "10.0.0.1"},
		{"peer that is not trusted", trusted, "203.0.113.7:4000", []string{"198.51.100.1"}, "203.0.113.7"},
		{"trusted peer", trusted, "10.0.0.1:4000", []string{"198.51.100.1"}, "198.51.100.1"},
		{"trusted peer without the header", trusted, "10.0.0.1:4000", nil, "10.0.0.1"},
		{"made-up entries", trusted, "10.0.0.1:4000", []string{"192.0.2.1, 10.9.9.9,198.51.100.1"}, "198.51.100.1"},
		{"two proxies", trusted, "10.0.0.1:4000", []string{"192.0.2.1, 198.51.100.1, 10.0.0.2"}, "198.51.100.1"},
		{"several lines", trusted, "10.0.0.1:4000", []string{"192.0.2.1", "198.51.100.1", "10.0.0.2"}, "198.51.100.1"},
		{"only proxies", trusted, "10.0.0.1:4000", []string{"10.0.0.3, 10.0.0.2"}, "10.0.0.3"},
		{"not an address", trusted, "10.0.0.1:4000", []string{"192.0.2.1, unknown"}, "10.0.0.1"},
		{"not an address, behind another proxy", trusted, "10.0.0.1:4000", []string{"192.0.2.1", "_hidden, 10.0.0.2"}, "10.0.0.2"},
		{"empty", trusted, "10.0.0.1:4000", []string{""}, "10.0.0.1"},
		{"port", trusted, "10.0.0.1:4000", []string{"198.51.100.1:5000"}, "198.51.100.1"},
		{"IPv6", trusted, "[2001:db8:1::1]:4000", []string{"2001:db8:2::7"}, "2001:db8:2::7"},
		{"IPv6 and port", trusted, "[2001:db8:1::1]:4000", []string{"[2001:db8:2::7]:5000"}, "2001:db8:2::7"},
		{"mapped IPv4", trusted, "[::ffff:10.0.0.1]:4000", []string{"::ffff:198.51.100.1"}, "198.51.100.1"},
		{"zone", trusted, "[fe80::1%eth0]:4000", nil, "fe80::1"},
		{"no peer", trusted, "@", []string{"198.51.100.1"}, "invalid IP"},
	}
	for _, tt := range tests {
		if got := clientOf(tt.proxies, tt.peer, tt.forwarded...); got != tt.want {
			t.Errorf("%s: client = %s, want %s", tt.name, got, tt.want)
		}
	}
}

// FuzzClient checks that a client can't change its address through X-Forwarded-For, directly or
// behind a trusted proxy that appends its peer.
func FuzzClient(f *testing.F) {
	for _, seed := range []string{"", "10.0.0.1", "1.2.3.4, ", ",,", "unknown", "[::1]:8", "::ffff:10.0.0.1%x"} {
		f.Add(seed)
	}
	trusted := Proxies{netip.MustParsePrefix("10.0.0.0/8")}
	f.Fuzz(func(t *testing.T, written string) {
		if strings.ContainsAny(written, "\r\n\x00") {
			return
		}
		const client = "203.0.113.7"
		for _, got := range []string{
			clientOf(trusted, client+":4000", written), clientOf(trusted, "10.0.0.1:4000", written+", "+client),
			clientOf(trusted, "10.0.0.1:4000", written, client),
		} {
			if got != client {
				t.Errorf("X-Forwarded-For %q: client = %s, want %s", written, got, client)
			}
		}
	})
}
