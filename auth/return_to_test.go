package auth

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
)

// TestLocalPage: a sign-in leads back to pages of this service and nowhere else.
func TestLocalPage(t *testing.T) {
	for _, good := range []string{"/", "/keys", "/keys?page=2&q=a%20b", "/saved-searches/1/runs?x=//y", "/explore?q=100%25", "/a/..b", "/colas/1#image"} {
		if got := localPage(good); got != good {
			t.Errorf("%q leads to %q", good, got)
		}
	}
	for _, bad := range hostileReturns() {
		if got := localPage(bad); got != "/" {
			t.Errorf("%q leads to %q", bad, got)
		}
	}
}

func hostileReturns() []string {
	return []string{
		"", "keys", "//evil.example", "/\\evil.example", "\\/evil.example", "//", "//?x", "///evil.example", "/\t/evil.example", "/\n/evil.example", "\t//evil.example",
		" //evil.example", "https://evil.example", "https:evil.example", "javascript:alert(1)", "/%2f/evil.example", "/%2fevil.example", "/%5cevil.example",
		"/%5Cevil.example", "/a//evil.example", "/./\\evil", "/.//evil.example", "/x/..//evil.example", "/../evil", "/%2e%2e//evil.example", "/%09/evil.example",
		"/a%00b", "/a\x00b", "/a\u2028b", "/é", "/%zz", "/" + strings.Repeat("a", 1000), "/a b", "/%0d%0aSet-Cookie:x", "?x", "#x", "@evil.example", "/:@evil\\x",
	}
}

// FuzzLocalPage: wherever a sign-in leads, a browser that reads the address as liberally as they do stays on this host.
func FuzzLocalPage(f *testing.F) {
	for _, s := range append(hostileReturns(), "/keys?page=2") {
		f.Add(s)
	}
	base, _ := url.Parse(ourURL)
	f.Fuzz(func(t *testing.T, given string) {
		page := localPage(given)
		if page != given && page != "/" {
			t.Fatalf("%q became %q", given, page)
		}
		w := httptest.NewRecorder()
		http.Redirect(w, httptest.NewRequest(http.MethodGet, "/sign-in/callback", nil), page, http.StatusSeeOther)
		for _, address := range []string{page, w.Header().Get("Location")} {
			// What browsers make of an address before they read it.
			liberal := strings.NewReplacer("\t", "", "\n", "", "\r", "", "\\", "/").Replace(strings.TrimFunc(address, func(r rune) bool { return r <= ' ' }))
			for _, a := range []string{address, liberal} {
				u, err := base.Parse(a)
				if err != nil || u.Scheme != "https" || u.Host != "cola.example.com" || u.User != nil || strings.HasPrefix(a, "//") {
					t.Fatalf("%q leads to %q: %v, %v", given, a, u, err)
				}
			}
		}
	})
}
