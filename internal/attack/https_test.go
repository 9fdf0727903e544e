package attack

import (
	"net/http"
	"strings"
	"testing"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/program"
)

// responses returns successful and failed responses from REST, MCP and the dashboard.
func (s *site) responses(key string) map[string]response {
	header, all := http.Header{"X-Api-Key": {key}}, map[string]response{}
	for _, target := range []string{
		"GET /api/v1/usage", "GET /api/v1/unknown", "POST /api/v1/usage", "GET /api/v1/colas?nothing=1",
		"OPTIONS /api/v1/colas", "HEAD /api/v1/usage",
		"GET /api/v1/openapi.json", "GET /docs", "GET /docs/nothing", "POST /docs", "GET /site/x/site.css", "GET /healthz", "GET /readyz", "GET /images/nothing",
		"GET /feeds/unknown", "GET /unsubscribe/nothing",
		"GET /unknown", "BREW /", "GET /", "GET /sign-in", "GET /keys", "GET /sign-in/link/nothing",
		"GET /assets/x/style.css", "POST /sign-out", "GET /mcp", "POST /mcp",
		"GET /.well-known/oauth-protected-resource",
	} {
		method, path, _ := strings.Cut(target, " ")
		all[target] = s.send(noRedirects, method, path, header, nil)
	}
	all["without a key"] = s.send(noRedirects, http.MethodGet, "/api/v1/usage", nil, nil)
	all["an embedded page"] = s.send(noRedirects, http.MethodGet, "/keys", http.Header{"Sec-Fetch-Dest": {"image"}}, nil)
	return all
}

// TestStrictTransport checks that every response has HSTS if the public URL is https, and that none
// has it otherwise.
func TestStrictTransport(t *testing.T) {
	for public, want := range map[string]string{
		"https://registry.example": "max-age=31536000",
		"http://registry.example":  "",
	} {
		onBoth(t, program.Options{Flags: []string{"--public-url", public}}, func(t *testing.T, s *site) {
			for request, got := range s.responses(s.account("holder@example.com", cola.TierPro).Key.Reveal()) {
				if header := got.Header.Get("Strict-Transport-Security"); header != want {
					t.Errorf("%s, %s: %d with Strict-Transport-Security %q, want %q", public, request, got.Status,
						header, want)
				}
			}
		})
	}
}

// TestPlainCookieWarnings checks that a server without an https public URL warns about cookies
// without the Secure attribute: at startup if it listens on every address, and once when a proxy
// reports an https request.
func TestPlainCookieWarnings(t *testing.T) {
	forwarded := http.Header{"X-Forwarded-Proto": {"https"}}
	for name, tt := range map[string]struct {
		flags           []string
		allAddresses    bool // listens on every address
		start, requests int  // expected warnings
	}{
		"loopback":           {nil, false, 0, 1},
		"everywhere":         {nil, true, 1, 1},
		"http everywhere":    {[]string{"--public-url", "http://registry.example"}, true, 1, 1},
		"https everywhere":   {[]string{"--public-url", "https://registry.example"}, true, 0, 0},
		"https and loopback": {[]string{"--public-url", "https://registry.example"}, false, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			o := program.Options{Flags: tt.flags}
			if tt.allAddresses {
				o.Address = strings.Replace(program.Address(t), "127.0.0.1", "0.0.0.0", 1)
			}
			s := startOnSQLite(t, o)
			count := func() int { return strings.Count(s.Log(), "cookies lack the Secure attribute") }
			if n := count(); n != tt.start {
				t.Errorf("%d warnings at startup, want %d", n, tt.start)
			}
			for range 3 {
				s.send(http.DefaultClient, http.MethodGet, "/sign-in", forwarded, nil)
			}
			if n := count() - tt.start; n != tt.requests {
				t.Errorf("%d warnings from requests, want %d", n, tt.requests)
			}
		})
	}
}
