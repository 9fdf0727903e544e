package main

import (
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/colaregistry/colaregistry/cola"
)

var printedLink = regexp.MustCompile(`http://\S+/sign-in/link/\S+`)

// visitor returns a browser that stores cookies and does not follow redirects.
func visitor(t *testing.T) *http.Client {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	return &http.Client{
		Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// browse requests a page and returns its status and body.
func browse(t *testing.T, c *http.Client, method, url string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := c.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(text)
}

// TestAccountLink checks that a sign-in link from the command works once, on either of two
// processes, and is then invalid.
func TestAccountLink(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, h testRegistry) {
		st := mustOpen(t, h)
		mustAccount(t, st, "ann@example.com", cola.TierFree)
		if err := st.Close(); err != nil {
			t.Fatal(err)
		}
		command := append([]string{"account", "link", "--account", "ANN@example.com"}, h.flags()...)
		if link := mustRun(t, command...); !strings.HasPrefix(link, "http://127.0.0.1:8080/sign-in/link/") {
			t.Errorf("link without a server = %s, want one to the default address", link)
		}
		one, two := startServer(t, h), startServer(t, h)
		at := func(s *serverProcess) string { return strings.TrimSuffix(s.base, "/api/v1") }
		if link := mustRun(t, command...); !strings.HasPrefix(link, at(two)+"/sign-in/link/") {
			t.Errorf("link = %s, want one to the server that started last, at %s", link, at(two))
		}
		link := strings.TrimSpace(mustRun(t, append(command, "--public-url", at(one))...))
		b := visitor(t)
		for range 2 { // GET does not use up the link
			if status, text := browse(t, b, "GET", link); status != http.StatusOK ||
				!strings.Contains(text, "ann@example.com") {
				t.Fatalf("link: status %d, want 200 with ann@example.com: %s", status, text)
			}
		}
		if status, text := browse(t, b, "POST", link); status != http.StatusSeeOther {
			t.Fatalf("first use: status %d, want 303: %s", status, text)
		}
		if status, text := browse(t, b, "GET", at(one)+"/account"); status != http.StatusOK ||
			!strings.Contains(text, "ann@example.com") {
			t.Errorf("signed in: status %d, want 200 with ann@example.com: %s", status, text)
		}
		if status, text := browse(t, visitor(t), "POST", strings.Replace(link, at(one), at(two), 1)); status != http.StatusUnauthorized {
			t.Errorf("second use: status %d, want 401: %s", status, text)
		}
		if strings.Contains(one.err.String()+two.err.String(), link[len(link)-20:]) {
			t.Error("log contains the token of the link")
		}
	})
}

var formToken = regexp.MustCompile(`name="form" value="([^"]+)"`)

// TestKeyFormConcurrent submits the same form concurrently to two processes and checks that it
// creates one key.
func TestKeyFormConcurrent(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, h testRegistry) {
		st := mustOpen(t, h)
		account, _, _ := mustAccount(t, st, "ann@example.com", cola.TierFree)
		servers := []*serverProcess{startServer(t, h), startServer(t, h)}
		at := func(s *serverProcess) string { return strings.TrimSuffix(s.base, "/api/v1") }
		b := visitor(t)
		link := strings.TrimSpace(mustRun(t, append([]string{
			"account", "link", "--account", "ann@example.com", "--public-url", at(servers[0]),
		}, h.flags()...)...))
		browse(t, b, "POST", link)
		_, page := browse(t, b, "GET", at(servers[0])+"/keys/new")
		token := formToken.FindStringSubmatch(page)
		if token == nil {
			t.Fatalf("no form:\n%s", page)
		}
		var all sync.WaitGroup
		var shown atomic.Int32
		for i := range 8 {
			all.Go(func() {
				resp, err := b.PostForm(at(servers[i%2])+"/keys/new", url.Values{"form": {token[1]}, "name": {"once"}})
				if err != nil {
					t.Error(err)
					return
				}
				defer resp.Body.Close()
				if resp.StatusCode == http.StatusOK {
					shown.Add(1)
				}
			})
		}
		all.Wait()
		keys, err := st.Keys(t.Context(), account.ID)
		if err != nil || len(keys) != 2 || shown.Load() != 1 { // one key existed before
			t.Errorf("%d new keys, shown %d times, %v; want 1, shown once", len(keys)-1, shown.Load(), err)
		}
		if err := st.Close(); err != nil {
			t.Error(err)
		}
	})
}

// TestDemoLink checks that each start with the demo account prints a sign-in link, unless
// other sign-in methods are configured.
func TestDemoLink(t *testing.T) {
	t.Parallel()
	h := seeded(t)
	for range 2 {
		s := startServer(t, h)
		link := printedLink.FindString(s.out.String())
		if status, text := browse(t, visitor(t), "POST", link); link == "" || status != http.StatusSeeOther {
			t.Errorf("printed link %q: status %d, want 303: %s", link, status, text)
		}
		s.stop(t)
	}
	for name, flags := range map[string][]string{
		"never":  {"--demo", "never"},
		"issuer": {"--sign-in-issuer", "http://127.0.0.1:1", "--sign-in-client-id", "dashboard"},
	} {
		if s := startServer(t, h, flags...); printedLink.MatchString(s.out.String()) {
			t.Errorf("%s: want no link in the output:\n%s", name, s.out.String())
		}
	}
}

// TestUnknownAddress checks that browsers get an HTML page for an unknown URL. Other clients, and
// all clients of the API, get a JSON error.
func TestUnknownAddress(t *testing.T) {
	t.Parallel()
	s := startServer(t, seeded(t))
	public := strings.TrimSuffix(s.base, "/api/v1")
	for _, tt := range []struct{ accept, path, kind string }{
		{"text/html,application/xhtml+xml,*/*;q=0.8", "/nothing-here", "text/html; charset=utf-8"},
		{"text/html", "/api/v1/unknown", "application/json"},
		{"text/html", "/.well-known/nothing", "text/html; charset=utf-8"},
		{"*/*", "/nothing-here", "application/json"},
	} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, public+tt.path, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Accept", tt.accept)
		req.Header.Set("X-API-Key", s.key)
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if got := resp.Header.Get("Content-Type"); resp.StatusCode != http.StatusNotFound || got != tt.kind {
			t.Errorf("%s for %s: status %d, %s; want 404, %s", tt.path, tt.accept, resp.StatusCode, got, tt.kind)
		}
	}
}

// TestSignInFlags checks that invalid and incomplete sign-in flags are rejected at startup.
func TestSignInFlags(t *testing.T) {
	for name, tt := range map[string]struct {
		flags []string
		want  string
	}{
		"issuer without a client": {
			[]string{"--sign-in-issuer", "https://a.example"},
			"--sign-in-client-id: 0 given for 1",
		},
		"client without an issuer": {[]string{"--sign-in-client-id", "a"}, "--sign-in-client-id: 1 given for 0"},
		"two issuers, one secret": {
			[]string{
				"--sign-in-issuer", "https://a.example,https://b.example",
				"--sign-in-client-id", "a,b", "--sign-in-client-secret", "s",
			}, "--sign-in-client-secret: 1 given for 2",
		},
		"invalid issuer": {
			[]string{"--sign-in-issuer", "a.example", "--sign-in-client-id", "a"},
			"--sign-in-issuer",
		},
		"issuer without https": {
			[]string{"--sign-in-issuer", "http://a.example", "--sign-in-client-id", "a"},
			"--sign-in-issuer",
		},
		"invalid operator":    {[]string{"--operator", "ops"}, "--operator"},
		"invalid billing URL": {[]string{"--billing-url", "shop"}, "--billing-url"},
	} {
		c := command(append([]string{"serve", "--listen", "127.0.0.1:0", "--data-dir", t.TempDir(), "--demo", "never"},
			tt.flags...)...)
		out, err := c.CombinedOutput()
		if err == nil || !strings.Contains(string(out), tt.want) {
			t.Errorf("%s: error %v, want output with %q:\n%s", name, err, tt.want, out)
		}
	}
}
