package dashboard

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/colaregistry/colaregistry/cola"
)

// hasAccess reports whether a caller's requests are accepted.
func (s *site) hasAccess(c cola.Caller) bool {
	s.t.Helper()
	_, err := s.registry.Standing(s.t.Context(), c)
	if err != nil && cola.CodeOf(err) != cola.CodeUnauthorized {
		s.t.Fatal(err)
	}
	return err == nil
}

func appPath(c cola.Caller, action string) string {
	return fmt.Sprintf("/apps/%d/%s", c.Credential.ID, action)
}

func TestConnectedApps(t *testing.T) {
	s := mustSite(t)
	s.get("/apps").shows(t, http.StatusOK, `class="empty"`)
	app := s.registry.App(t, s.browsers.callers[ann].Account, "Claude")
	s.spend(app, 3, 0)
	list := s.get("/apps")
	list.checkHTML(t)
	list.shows(t, http.StatusOK, "Claude", `<span class="state good">active</span>`, "https://issuer.example",
		"create, edit and delete saved searches", "Nov 20, 2026, 12:00 UTC", "<dd>1</dd>")
	confirm := s.get(appPath(app, "revoke"))
	confirm.checkHTML(t)
	confirm.shows(t, http.StatusOK, "Claude", `action="`+appPath(app, "revoke")+`"`)
	if !s.hasAccess(app) {
		t.Fatal("confirmation page revoked the app")
	}
	s.post(appPath(app, "revoke"), nil).redirects(t)
	if s.hasAccess(app) {
		t.Error("revoked app still has access")
	}
	revoked := s.get("/apps")
	revoked.checkHTML(t)
	revoked.shows(t, http.StatusOK, `class="notice"`, `<span class="state soft">revoked</span>`,
		`href="`+appPath(app, "restore")+`"`)
	s.get(appPath(app, "revoke")).redirects(t)
	s.post(appPath(app, "revoke"), nil).redirects(t)
	again := s.get(appPath(app, "restore"))
	again.checkHTML(t)
	again.shows(t, http.StatusOK, "Claude", `action="`+appPath(app, "restore")+`"`)
	if s.hasAccess(app) {
		t.Error("confirmation page restored access")
	}
	s.post(appPath(app, "restore"), nil).redirects(t)
	for deadline := time.Now().Add(10 * time.Second); !s.hasAccess(app); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) { // the ledger caches a rejection for a second
			t.Fatal("restored app has no access")
		}
	}
	s.get(appPath(app, "restore")).redirects(t)
}

func TestDisabledApps(t *testing.T) {
	s := mustSite(t)
	app := s.registry.App(t, s.browsers.callers[ann].Account, "Claude")
	apps, err := s.registry.Store.Apps(t.Context())
	if err != nil || len(apps) != 1 {
		t.Fatal(apps, err)
	}
	s.post(appPath(app, "revoke"), nil).redirects(t)
	if err := s.registry.Store.DisableApp(t.Context(), apps[0].ID); err != nil {
		t.Fatal(err)
	}
	list := s.get("/apps")
	list.shows(t, http.StatusOK, "disabled by the operator")
	if strings.Contains(list.body, "/restore") {
		t.Error("page offers to restore a disabled app")
	}
	s.get(appPath(app, "restore")).lacks(t, "<form method=\"post\" action=\"/apps/")
	s.post(appPath(app, "restore"), nil).shows(t, http.StatusConflict)
	if s.hasAccess(app) {
		t.Error("disabled app has access")
	}
}

// TestForeignApps checks that apps connected to another account are not found.
func TestForeignApps(t *testing.T) {
	s := mustSite(t)
	s.join(bob, cola.TierFree)
	app := s.registry.App(t, s.browsers.callers[ann].Account, "ann-agent")
	revoked := s.registry.App(t, s.browsers.callers[ann].Account, "ann-archiver")
	s.post(appPath(revoked, "revoke"), nil).redirects(t)
	for _, path := range []string{
		appPath(app, "revoke"), appPath(revoked, "restore"), "/apps/0/revoke",
		"/apps/x/revoke", "/apps/-1/restore", "/apps/99999999999999999999/restore", "/apps/%00/revoke",
	} {
		for _, a := range []response{s.by(bob).get(path), s.by(bob).post(path, nil)} {
			a.shows(t, http.StatusNotFound)
			if strings.Contains(a.body, "ann-a") {
				t.Errorf("%s reveals the app:\n%s", path, a.body)
			}
		}
	}
	if !s.hasAccess(app) || s.hasAccess(revoked) {
		t.Error("another account changed an app's access")
	}
}

// TestAppNameEscaping checks that app names, which apps choose, are escaped.
func TestAppNameEscaping(t *testing.T) {
	s := mustSite(t)
	hostile := "<script>alert(1)</script>\" onclick=x\u202e\u200b{{.}}"
	seen := "<script>alert(1)</script>\" onclick=x{{.}}"
	app := s.registry.App(t, s.browsers.callers[ann].Account, hostile)
	for _, target := range []string{"/apps", appPath(app, "revoke"), "revoked", "/apps", appPath(app, "restore")} {
		if target == "revoked" {
			s.post(appPath(app, "revoke"), nil).redirects(t)
			continue
		}
		a := s.get(target)
		a.checkHTML(t)
		a.shows(t, http.StatusOK, seen)
		if strings.ContainsAny(a.body, "\u202e\u200b") {
			t.Errorf("%s has hidden characters", target)
		}
	}
}

func endPath(c cola.Caller) string { return fmt.Sprintf("/account/sign-ins/%d/end", c.Credential.ID) }

func TestSignIns(t *testing.T) {
	s := mustSite(t)
	account := s.browsers.callers[ann].Account
	phone := s.registry.SignIn(t, account,
		"Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.0 Mobile/15E148 Safari/604.1", "https://issuer.example")
	strange := s.registry.SignIn(t, account, "<script>alert(1)</script>\u202e", "")
	a := s.get("/account")
	a.checkHTML(t)
	a.shows(t, http.StatusOK, ann, "Pro", "Nov 20, 2026, 12:00 UTC", "Up to 10 ", "Safari on iPhone",
		"https://issuer.example", "Sign-in link", "Test browser", "<script>alert(1)</script>", "Nov 20, 2027, 12:00 UTC",
		"2 other sessions")
	// "current" appears twice: in the badge and in the button's text.
	if strings.Count(a.body, "current</span>") != 2 || strings.Contains(a.body, "\u202e") {
		t.Errorf("current session is not marked exactly once, or hidden characters are shown:\n%s", a.body)
	}
	if to := s.post(endPath(phone), nil).redirects(t); to != "/account" {
		t.Errorf("redirect to %s, want /account", to)
	}
	if s.hasAccess(phone) || !s.hasAccess(strange) {
		t.Error("wrong session was signed out")
	}
	s.get("/account").shows(t, http.StatusOK, `class="notice"`, "1 other session<")
	s.post("/account/sign-ins/end-others", nil).redirects(t)
	if s.hasAccess(strange) || !s.hasAccess(s.browsers.callers[ann]) {
		t.Error("other sessions are not signed out, or the current one is")
	}
	alone := s.get("/account")
	alone.checkHTML(t)
	alone.shows(t, http.StatusOK, `class="notice" role="status">1 `)
	if strings.Contains(alone.body, "end-others") {
		t.Error("page offers to sign out other sessions; there are none")
	}
}

// TestSignOutCurrentSession checks that ending the current session signs the browser out.
func TestSignOutCurrentSession(t *testing.T) {
	s := mustSite(t)
	if to := s.post(endPath(s.browsers.callers[ann]), nil).redirects(t); to != "/sign-in" {
		t.Errorf("redirect to %s, want /sign-in", to)
	}
	if len(s.browsers.ended) != 1 || s.browsers.ended[0] != ann {
		t.Errorf("ended sessions of %q, want only ann", s.browsers.ended)
	}
}

// TestIdentities checks that identities are listed and can be removed, except other accounts'
// identities and the only identity of an account without an email address.
func TestIdentities(t *testing.T) {
	s := mustSite(t)
	other, account := s.join(bob, cola.TierFree), s.browsers.callers[ann].Account
	const subject = `auth0|<b>"x"&y=1`
	link := func(account cola.AccountID, subject string) string {
		t.Helper()
		s.registry.Identity(t, account, "https://issuer.example/t", subject)
		return "/account/identities/remove?" + url.Values{"issuer": {"https://issuer.example/t"}, "subject": {subject}}.Encode()
	}
	page, foreign := link(account, subject), link(other.Account, "bob")
	phone := s.registry.SignIn(t, account, "Phone", "https://issuer.example/t")
	a := s.get("/account")
	a.checkHTML(t)
	a.shows(t, http.StatusOK, ">issuer.example<", subject)
	if href := regexp.MustCompile(`href="(/account/identities/remove[^"]*)"`).FindStringSubmatch(a.text); href == nil {
		t.Error("page doesn't offer to remove the identity")
	} else {
		s.get(href[1]).shows(t, http.StatusOK, `name="subject" value="`+subject)
	}
	for _, missing := range []string{foreign, "/account/identities/remove", "/account/identities/remove?issuer=%00&subject=%ff"} {
		s.get(missing).shows(t, http.StatusNotFound)
		query := ""
		if _, q, ok := strings.Cut(missing, "?"); ok {
			query = q
		}
		form, err := url.ParseQuery(query)
		if err != nil {
			t.Fatal(err)
		}
		s.post("/account/identities/remove", form).shows(t, http.StatusNotFound)
	}
	confirm := s.get(page)
	confirm.checkHTML(t)
	confirm.shows(t, http.StatusOK, `name="subject" value="`+subject)
	form := url.Values{"issuer": {"https://issuer.example/t"}, "subject": {subject}}
	if to := s.post("/account/identities/remove", form).redirects(t); to != "/account" {
		t.Errorf("redirect to %s, want /account", to)
	}
	if s.hasAccess(phone) || !s.hasAccess(s.browsers.callers[ann]) {
		t.Error("the other session with the provider still works, or the current one was ended")
	}
	if strings.Contains(s.get("/account").text, "Sign-in methods") {
		t.Error("page lists sign-in methods; there are none")
	}
	s.post("/account/identities/remove", form).shows(t, http.StatusNotFound)

	nameless := s.registry.Identity(t, 0, "https://issuer.example/t", "only")
	s.browsers.callers["only"] = s.registry.SignIn(t, nameless, "Phone", "https://issuer.example/t")
	only := s.by("only")
	if profile := only.get("/account"); strings.Contains(profile.body, "identities/remove") {
		t.Error("page offers to remove the only way to sign in")
	}
	only.post("/account/identities/remove", url.Values{"issuer": {"https://issuer.example/t"}, "subject": {"only"}}).shows(t, http.StatusForbidden)
}

func TestForeignSignIns(t *testing.T) {
	s := mustSite(t)
	other := s.join(bob, cola.TierFree)
	for _, path := range []string{
		endPath(other), "/account/sign-ins/0/end", "/account/sign-ins/x/end",
		"/account/sign-ins/%00/end", "/account/sign-ins/99999999999999999999/end",
	} {
		s.post(path, nil).shows(t, http.StatusNotFound)
	}
	s.post("/account/sign-ins/end-others", nil).redirects(t)
	if !s.hasAccess(other) {
		t.Error("session of another account was signed out")
	}
	if strings.Contains(s.get("/account").body, bob) {
		t.Error("page shows another account")
	}
}

func TestSignInPages(t *testing.T) {
	s := mustSite(t)
	for range 60 {
		s.registry.SignIn(t, s.browsers.callers[ann].Account, "x", "")
	}
	for page, want := range map[string]string{
		"": "1 to 25 of 61", "?page=3": "51 to 61 of 61",
		"?page=9": "51 to 61 of 61", "?page=-1": "1 to 25 of 61", "?page=1&page=2": "1 to 25 of 61",
	} {
		a := s.get("/account" + page)
		a.shows(t, http.StatusOK, want)
		a.checkHTML(t)
	}
}

func TestCrossSiteForms(t *testing.T) {
	s := mustSite(t)
	app := s.registry.App(t, s.browsers.callers[ann].Account, "Claude")
	for _, path := range []string{appPath(app, "revoke"), "/account/sign-ins/end-others", "/keys/new"} {
		r := httptest.NewRequest(http.MethodPost, path, nil)
		r.Header.Set("Sec-Fetch-Site", "cross-site")
		s.send(r).shows(t, http.StatusForbidden)
	}
	if !s.hasAccess(app) {
		t.Error("cross-site form revoked an app")
	}
}

func TestBrowserName(t *testing.T) {
	for agent, want := range map[string]string{
		"Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36":                   "Chrome on Windows",
		"Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36 Edg/140.0":         "Edge on Windows",
		"Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.3 Safari/605.1.15":             "Safari on Mac",
		"Mozilla/5.0 (iPad; CPU OS 18_0 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) CriOS/140.0 Mobile/15E148 Safari/604.1":     "Chrome on iPad",
		"Mozilla/5.0 (Linux; Android 15; SM-S918B) AppleWebKit/537.36 (KHTML, like Gecko) SamsungBrowser/27.0 Chrome/125.0 Mobile Safari/1": "Samsung Internet on Android",
		"Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0":                                                            "Firefox on Linux",
		"Mozilla/5.0 (X11; CrOS x86_64 14541.0.0) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0 Safari/537.36":                        "Chrome on ChromeOS",
		"curl/8.5.0":  "curl/8.5.0",
		"":            "Unknown browser",
		"\u202e\x00 ": "Unknown browser",
		"\xff":        "\uFFFD",
	} {
		if got := browserName(agent); got != want {
			t.Errorf("browserName(%q) = %q, want %q", agent, got, want)
		}
	}
}
