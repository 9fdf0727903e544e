package auth

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

// TestSignInSequences lets two browsers start and finish sign-ins, use links, sign out, and use
// each other's responses and earlier cookies in any order. A browser is always signed in to the
// account that last authenticated in it, and to no account before that or after signing out.
func TestSignInSequences(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		d := newBrowserFixture(t, nil)
		w := &walk{browserFixture: d, t: t}
		for range 2 {
			w.browsers = append(w.browsers, &walker{browser: d.browser()})
		}
		r.Repeat(map[string]func(*rapid.T){
			"begin":    w.begin,
			"answer":   w.answer,
			"link":     w.link,
			"sign out": func(r *rapid.T) { b := w.one(r); b.signOut(t); b.account = 0 },
			"old cookie": func(r *rapid.T) { // returns with an earlier cookie, as a thief would
				b := w.one(r)
				if now := b.cookie(); len(b.old) > 0 && now != "" {
					thief := d.browser()
					thief.cookies["x"] = b.cookies["__Host-colaregistry"]
					old := *thief.cookies["x"]
					old.Value = rapid.SampledFrom(b.old).Draw(r, "cookie")
					thief.cookies["x"] = &old
					if old.Value != now && thief.caller().Account != 0 {
						r.Fatalf("earlier cookie is signed in as %+v", thief.caller())
					}
				}
			},
			"": w.check,
		})
	})
}

// walk holds two browsers, and all responses and links that an attacker who sees everything could
// send to either of them.
type walk struct {
	*browserFixture
	t        *testing.T
	browsers []*walker
	answers  []sentAnswer
	links    []sentLink
}

type walker struct {
	*browser
	account cola.AccountID // zero if signed out
	old     []string       // earlier session cookies
}

type sentAnswer struct {
	query   url.Values
	by      *walker // the browser that started the attempt
	subject string
	issuer  string
	used    bool
}

type sentLink struct {
	token   string
	account cola.AccountID
	used    bool
}

func (w *walk) one(r *rapid.T) *walker { return rapid.SampledFrom(w.browsers).Draw(r, "browser") }

func (w *walk) begin(r *rapid.T) {
	b, p := w.one(r), w.provider
	key := rapid.SampledFrom([]string{"0", "1"}).Draw(r, "issuer")
	if key == "1" {
		p = w.other
	}
	subject := rapid.SampledFrom([]string{"ann", "bob"}).Draw(r, "subject")
	w.answers = append(w.answers, sentAnswer{p.approve(w.t, b.begin(w.t, key, "/"), subject, ""), b, subject, p.url, false})
}

// answer sends a browser a response, or a mixture of two.
func (w *walk) answer(r *rapid.T) {
	if len(w.answers) == 0 {
		return
	}
	b := w.one(r)
	a := &w.answers[rapid.IntRange(0, len(w.answers)-1).Draw(r, "answer")]
	code := &w.answers[rapid.IntRange(0, len(w.answers)-1).Draw(r, "code")]
	_, err := b.finish(with(a.query, "code", code.query.Get("code")))
	good := a == code && a.by == b && !a.used
	if a.by == b {
		a.used = true // whether it succeeded or not
	}
	if a.issuer == code.issuer && a.by == b {
		code.used = code.used || err == nil
	}
	if err == nil && !good {
		r.Fatalf("Finish accepted a used, mixed or foreign response")
	}
	if err == nil {
		b.account = w.store.accounts[store.Identity{Issuer: a.issuer, Subject: a.subject}].ID
	}
}

func (w *walk) link(r *rapid.T) {
	if len(w.links) == 0 || rapid.Bool().Draw(r, "new") {
		account := store.Account{ID: cola.AccountID(70 + len(w.links)), Email: "x@example.com"}
		w.links = append(w.links, sentLink{token: w.store.link(account), account: account.ID})
	}
	b, l := w.one(r), &w.links[rapid.IntRange(0, len(w.links)-1).Draw(r, "link")]
	if err := b.use(l.token); (err == nil) == l.used {
		r.Fatalf("UseLink = %v, link used before = %v", err, l.used)
	} else if err == nil {
		b.account, l.used = l.account, true
	}
}

// check compares each browser's account with the one that last authenticated in it.
func (w *walk) check(r *rapid.T) {
	for n, b := range w.browsers {
		if got := b.caller().Account; got != b.account {
			r.Fatalf("browser %d is signed in to account %d, want %d", n, got, b.account)
		}
		if c := b.cookie(); c != "" {
			b.old = append(b.old, c)
		}
	}
}

// TestLocalPage checks that a sign-in returns only to pages of this service.
func TestLocalPage(t *testing.T) {
	for _, good := range []string{"/", "/keys", "/keys?page=2&q=a%20b", "/saved-searches/1/runs?x=//y", "/explore?q=100%25", "/a/..b", "/colas/1#image"} {
		if got := LocalPage(good); got != good {
			t.Errorf("LocalPage(%q) = %q, want it unchanged", good, got)
		}
	}
	for _, bad := range hostileReturns() {
		if got := LocalPage(bad); got != "/" {
			t.Errorf("LocalPage(%q) = %q, want /", bad, got)
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

// FuzzLocalPage checks that the return URL stays on this host when parsed as leniently as browsers
// do.
func FuzzLocalPage(f *testing.F) {
	for _, s := range append(hostileReturns(), "/keys?page=2") {
		f.Add(s)
	}
	base, _ := url.Parse(ourURL)
	f.Fuzz(func(t *testing.T, returnTo string) {
		page := LocalPage(returnTo)
		if page != returnTo && page != "/" {
			t.Fatalf("LocalPage(%q) = %q, want it unchanged or /", returnTo, page)
		}
		w := httptest.NewRecorder()
		http.Redirect(w, httptest.NewRequest(http.MethodGet, "/sign-in/callback", nil), page, http.StatusSeeOther)
		for _, address := range []string{page, w.Header().Get("Location")} {
			// Browsers normalize a URL like this before parsing it.
			liberal := strings.NewReplacer("\t", "", "\n", "", "\r", "", "\\", "/").Replace(strings.TrimFunc(address, func(r rune) bool { return r <= ' ' }))
			for _, a := range []string{address, liberal} {
				u, err := base.Parse(a)
				if err != nil || u.Scheme != "https" || u.Host != "cola.example.com" || u.User != nil || strings.HasPrefix(a, "//") {
					t.Fatalf("LocalPage(%q) leads to %q, parsed as %v, %v", returnTo, a, u, err)
				}
			}
		}
	})
}
