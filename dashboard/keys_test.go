package dashboard

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/colaregistry/colaregistry/auth"
	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/registrytest"
	"github.com/colaregistry/colaregistry/registry"
)

const bob = "bob@example.com"

var (
	formToken = regexp.MustCompile(`name="form" value="([^"]*)"`)
	wholeKey  = regexp.MustCompile(`lar_[0-9A-Za-z]{36}`)
)

// token returns the form token of a page.
func (a response) token(t *testing.T) string {
	t.Helper()
	found := formToken.FindStringSubmatch(a.body)
	if found == nil || found[1] == "" {
		t.Fatalf("page has no form token:\n%s", a.body)
	}
	return found[1]
}

// makeKey submits the form for a new key.
func (s *site) makeKey(name, expires string) response {
	s.t.Helper()
	token := s.get("/keys/new").token(s.t)
	return s.post("/keys/new", url.Values{"form": {token}, "name": {name}, "expires": {expires}})
}

// secret returns the key that a page shows.
func (a response) secret(t *testing.T) string {
	t.Helper()
	a.shows(t, http.StatusOK)
	secret := wholeKey.FindString(a.body)
	if _, err := auth.ParseSecret(secret); err != nil {
		t.Fatalf("ParseSecret: %v:\n%s", err, a.body)
	}
	return secret
}

// keys returns the keys of the visitor's account, newest first.
func (s *site) keys() []registry.Key {
	s.t.Helper()
	keys, _, err := s.registry.Keys(s.t.Context(), s.browsers.callers[s.as])
	if err != nil {
		s.t.Fatal(err)
	}
	return keys
}

// accepts reports whether a request with a key is accepted.
func (s *site) accepts(secret string) bool {
	s.t.Helper()
	header := http.Header{"X-Api-Key": {secret}}
	c, err := auth.New(s.registry.Store, nil, nil).Authenticate(s.t.Context(), header, cola.ChannelREST)
	if err == nil {
		_, _, err = s.registry.Usage(s.t.Context(), c)
	}
	if err != nil && cola.CodeOf(err) != cola.CodeUnauthorized {
		s.t.Fatal(err)
	}
	return err == nil
}

func keyPath(k registry.Key, action string) string { return fmt.Sprintf("/keys/%d/%s", k.ID, action) }

func TestCreateKey(t *testing.T) {
	s := mustSite(t)
	s.get("/keys").shows(t, http.StatusOK, `class="empty"`, `href="/keys/new"`)
	form := s.get("/keys/new")
	form.shows(t, http.StatusOK)
	form.checkHTML(t)
	created := s.makeKey("price list job", "2027-05-31")
	created.checkHTML(t)
	secret := created.secret(t)
	created.shows(t, http.StatusOK, "price list job", "Jun 1, 2027, 00:00 UTC",
		`aria-label="API key"><code>`+secret+`</code></pre><button type="button" class="copy" data-copy`,
		"export API_KEY="+secret+"\n"+`curl -H "X-API-Key: $API_KEY" 'https://registry.example/api/v1/usage'`,
		"claude mcp add --transport http colaregistry 'https://registry.example/mcp' --header 'Authorization: Bearer "+secret+"'", `"env": { "API_KEY": "`+secret+`" }`, `"headers": { "Authorization": "Bearer `+secret+`" }`)
	if got := created.Header.Get("Cache-Control"); !strings.Contains(got, "no-store") {
		t.Errorf("Cache-Control = %q, want no-store", got)
	}
	if !s.accepts(secret) {
		t.Error("key is rejected, want it accepted")
	}
	list := s.get("/keys")
	list.checkHTML(t)
	list.shows(t, http.StatusOK, "price list job", secret[:8]+"…"+secret[len(secret)-4:], "Active until",
		"Jun 1, 2027, 00:00 UTC", "Nov 20, 2026, 12:00 UTC", `class="number">1<`)
}

// TestKeySecrecy checks that the whole key appears in one response and nowhere else, not even in
// the log.
func TestKeySecrecy(t *testing.T) {
	s := mustSite(t)
	var log bytes.Buffer
	s.handler = New(s.registry.Service, s.browsers, Options{
		PublicURL: registrytest.PublicURL, Logger: slog.New(slog.NewTextHandler(&log,
			&slog.HandlerOptions{Level: slog.LevelDebug})), Now: s.registry.Now,
	})
	token := s.get("/keys/new").token(t)
	form := url.Values{"form": {token}, "name": {"mine"}}
	created := s.post("/keys/new", form)
	first := created.secret(t)
	old := s.keys()[0]
	rotated := s.post(keyPath(old, "rotate"), url.Values{
		"form":    {s.get(keyPath(old, "rotate")).token(t)},
		"overlap": {"7 days"},
	})
	second := rotated.secret(t)
	if first == second {
		t.Fatal("new key is the same as the old one")
	}
	pages := map[string]response{"again": s.post("/keys/new", form), "rotated": rotated}
	for _, path := range []string{
		"/", "/keys", "/keys/new", "/keys/ended", keyPath(old, "rotate"),
		keyPath(old, "revoke"), "/usage", "/account", "/apps", "/setup", "/plans",
	} {
		pages[path] = s.get(path)
	}
	for name, a := range pages {
		for _, secret := range []string{first, second} {
			if strings.Contains(a.body, secret) && (name != "rotated" || secret == first) {
				t.Errorf("%s shows a key", name)
			}
			for header, values := range a.Header {
				if strings.Contains(strings.Join(values, " "), secret) {
					t.Errorf("%s has a key in the header %s", name, header)
				}
			}
		}
	}
	for name, text := range s.browsers.put {
		if wholeKey.MatchString(text) {
			t.Errorf("session has a key under %s", name)
		}
	}
	if log.Len() == 0 || wholeKey.MatchString(log.String()) {
		t.Errorf("log is empty or contains a key:\n%s", log.String())
	}
}

// TestKeyFormToken checks that reloading the response, or submitting the form without its
// token, creates no second key.
func TestKeyFormToken(t *testing.T) {
	s := mustSite(t)
	s.join(bob, cola.TierFree)
	form := url.Values{"form": {s.get("/keys/new").token(t)}, "name": {"mine"}}
	s.post("/keys/new", form).secret(t)
	if to := s.post("/keys/new", form).redirects(t); to != "/keys" {
		t.Errorf("redirect to %s, want /keys", to)
	}
	s.get("/keys").shows(t, http.StatusOK, `class="notice"`, formUsed)
	theirs := s.by(bob).get("/keys/new").token(t)
	for _, token := range []string{"", "x", "x y", theirs, strings.Repeat("A", 5000), "\x00"} {
		s.post("/keys/new", url.Values{"form": {token}, "name": {"another"}}).redirects(t)
	}
	key := s.keys()[0]
	rotation := url.Values{"form": {s.get(keyPath(key, "rotate")).token(t)}, "overlap": {"1 hour"}}
	s.post(keyPath(key, "rotate"), rotation).secret(t)
	s.post(keyPath(key, "rotate"), rotation).redirects(t)
	if got := len(s.keys()); got != 2 {
		t.Errorf("%d keys, want 2", got)
	}
	if got := len(s.by(bob).keys()); got != 0 {
		t.Errorf("another account has %d keys", got)
	}
}

// TestSeveralKeyForms checks that forms in several tabs each create a key.
func TestSeveralKeyForms(t *testing.T) {
	s := mustSite(t)
	var tokens []string
	for range 12 {
		tokens = append(tokens, s.get("/keys/new").token(t))
	}
	for _, token := range slices.Backward(tokens) {
		s.post("/keys/new", url.Values{"form": {token}, "name": {"tab"}}).secret(t)
		s.post("/keys/new", url.Values{"form": {token}, "name": {"tab"}}).redirects(t)
	}
}

func TestKeyProblems(t *testing.T) {
	s := mustSite(t)
	created := 0
	for _, test := range []struct {
		name, key, expires, field string
	}{
		{"no name", "", "", "name"},
		{"blank", " \t ", "", "name"},
		{"NUL", "a\x00b", "", "name"},
		{"bidi control", "a\u202eb", "", "name"},
		{"not UTF-8", "a\xffb", "", "name"},
		{"long", strings.Repeat("é", 101), "", "name"},
		{"past", "mine", "2026-11-19", "expires"},
		{"today", "mine", "2026-11-20", "expires"},
		{"far", "mine", "2036-11-21", "expires"},
		{"no such day", "mine", "2027-02-30", "expires"},
		{"not a date", "mine", "<script>alert(1)</script>", "expires"},
		{"long date", "mine", strings.Repeat("9", 50_000), "expires"},
	} {
		t.Run(test.name, func(t *testing.T) {
			a := s.makeKey(test.key, test.expires)
			a.shows(t, http.StatusBadRequest, `href="#`+test.field+`"`, `class="problem"`, `role="alert"`,
				`aria-invalid="true"`)
			a.checkHTML(t)
			if typed := strings.TrimSpace(stripHidden(test.key)); !strings.Contains(a.text, typed) {
				t.Errorf("entered name %q is lost:\n%s", typed, a.body)
			}
			if len(s.keys()) != created {
				t.Error("key was created")
			}
			s.post("/keys/new", url.Values{"form": {a.token(t)}, "name": {"better"}}).secret(t)
			created++
		})
	}
}

func TestTooManyKeys(t *testing.T) {
	s := mustSite(t)
	for range registry.MaxKeys {
		s.registry.Key(t, s.browsers.callers[ann].Account, "one of many")
	}
	a := s.makeKey("one more", "")
	a.shows(t, http.StatusConflict, "100", `value="one more"`, `role="alert"`)
	a.checkHTML(t)
	for page, rows := range map[string]int{
		"": 25, "?page=4": 25, "?page=5": 25, "?page=0": 25, "?page=-1": 25,
		"?page=1000000000000": 25, "?page=x%00%ff&page=2": 25,
	} {
		list := s.get("/keys" + page)
		list.shows(t, http.StatusOK, "of 100")
		list.checkHTML(t)
		if got := strings.Count(list.body, ">Revoke<"); got != rows {
			t.Errorf("/keys%s has %d keys, want %d", page, got, rows)
		}
	}
	rotate := func(k registry.Key) response {
		return s.post(keyPath(k, "rotate"), url.Values{
			"form":    {s.get(keyPath(k, "rotate")).token(t)},
			"overlap": {"1 day"},
		})
	}
	keys := s.keys()
	rotate(keys[0]).secret(t) // the expiring old key does not count toward the limit
	rejected := rotate(keys[1])
	rejected.shows(t, http.StatusConflict, "100", `role="alert"`)
	rejected.checkHTML(t)
}

func TestRotateKey(t *testing.T) {
	for _, test := range []struct {
		overlap, says string
		until         time.Duration
	}{
		{"none", "no longer works", 0},
		{"1 hour", "works until Nov 20, 2026, 13:00 UTC", time.Hour},
		{"30 days", "works until Dec 20, 2026, 12:00 UTC", 30 * 24 * time.Hour},
	} {
		t.Run(test.overlap, func(t *testing.T) {
			s := mustSite(t)
			before := s.makeKey("laptop", "").secret(t)
			old := s.keys()[0]
			form := s.get(keyPath(old, "rotate"))
			form.checkHTML(t)
			form.shows(t, http.StatusOK, "laptop", before[:8]+"…", `value="none"`, `value="30 days"`)
			rotated := s.post(keyPath(old, "rotate"), url.Values{"form": {form.token(t)}, "overlap": {test.overlap}})
			rotated.checkHTML(t)
			after := rotated.secret(t)
			words := regexp.MustCompile(`<[^>]*>`).ReplaceAllString(rotated.text, "")
			if !strings.Contains(words, test.says) {
				t.Errorf("page lacks %q:\n%s", test.says, words)
			}
			s.registry.Advance(test.until - time.Second)
			if test.until > 0 && !s.accepts(before) {
				t.Error("old key is rejected before it expires")
			}
			s.registry.Advance(2 * time.Second)
			if s.accepts(before) || !s.accepts(after) {
				t.Errorf("old key accepted: %t, new key accepted: %t, want false, true", s.accepts(before),
					s.accepts(after))
			}
		})
	}
}

// failingKeys is a registry whose key reads fail after the given number of calls.
type failingKeys struct {
	*registry.Service
	left int
}

func (f *failingKeys) Keys(ctx context.Context, c cola.Caller) ([]registry.Key, cola.QuotaState, error) {
	if f.left--; f.left < 0 {
		return nil, cola.QuotaState{}, cola.Unavailable()
	}
	return f.Service.Keys(ctx, c)
}

// TestNewKeyInOutage checks that a new key is shown even if the database fails right
// after its creation.
func TestNewKeyInOutage(t *testing.T) {
	s := mustSite(t)
	s.makeKey("laptop", "")
	key := s.keys()[0]
	s.handler = New(&failingKeys{s.registry.Service, 2}, s.browsers,
		Options{PublicURL: registrytest.PublicURL, Logger: slog.New(slog.DiscardHandler), Now: s.registry.Now})
	token := s.get(keyPath(key, "rotate")).token(t)
	rotated := s.post(keyPath(key, "rotate"), url.Values{"form": {token}, "overlap": {"1 day"}})
	rotated.checkHTML(t)
	if secret := rotated.secret(t); !s.accepts(secret) {
		t.Error("key is rejected, want it accepted")
	}
	rotated.shows(t, http.StatusOK, `class="warning"`)
	s.get("/keys").shows(t, http.StatusServiceUnavailable)
}

func TestOverlapLabels(t *testing.T) {
	if got, want := len(overlapLabels()), len(registry.KeyOverlaps()); got != want {
		t.Errorf("%d labels, want %d", got, want)
	}
}

func TestRotationProblems(t *testing.T) {
	s := mustSite(t)
	s.makeKey("mine", "")
	key := s.keys()[0]
	for _, overlap := range []string{"", "2 years", "<script>", "\x00"} {
		a := s.post(keyPath(key, "rotate"), url.Values{
			"form":    {s.get(keyPath(key, "rotate")).token(t)},
			"overlap": {overlap},
		})
		a.shows(t, http.StatusBadRequest, `href="#overlap"`, `role="alert"`)
		a.checkHTML(t)
	}
	token := s.get(keyPath(key, "rotate")).token(t)
	s.post(keyPath(key, "revoke"), nil).redirects(t)
	s.get(keyPath(key, "rotate")).shows(t, http.StatusConflict)
	s.post(keyPath(key, "rotate"), url.Values{"form": {token}, "overlap": {"1 day"}}).shows(t, http.StatusConflict)
	if got := len(s.keys()); got != 1 {
		t.Errorf("%d keys, want 1", got)
	}
}

func TestRevokeKey(t *testing.T) {
	s := mustSite(t)
	secret := s.makeKey("laptop", "").secret(t)
	key := s.keys()[0]
	if !s.accepts(secret) {
		t.Fatal("key is rejected, want it accepted")
	}
	confirm := s.get(keyPath(key, "revoke"))
	confirm.checkHTML(t)
	confirm.shows(t, http.StatusOK, "laptop", "Nov 20, 2026, 12:00 UTC", "<dd>1</dd>", keyPath(key, "rotate"))
	if !s.accepts(secret) {
		t.Error("confirmation page revoked the key")
	}
	if to := s.post(keyPath(key, "revoke"), nil).redirects(t); to != "/keys" {
		t.Errorf("redirect to %s, want /keys", to)
	}
	if s.accepts(secret) {
		t.Error("revoked key is accepted")
	}
	list := s.get("/keys")
	list.checkHTML(t)
	list.shows(t, http.StatusOK, `class="notice"`, "“laptop”", "1 inactive key<", `class="empty"`)
	s.get(keyPath(key, "revoke")).redirects(t)
	s.post(keyPath(key, "revoke"), nil).redirects(t)
}

// TestForeignKeys checks that another account's key is not found.
func TestForeignKeys(t *testing.T) {
	s := mustSite(t)
	s.join(bob, cola.TierFree)
	secret := s.makeKey("ann-laptop", "").secret(t)
	key := s.keys()[0]
	theirs := s.by(bob)
	unknown := theirs.get("/keys/999999/revoke")
	for _, id := range []string{
		fmt.Sprint(key.ID), "0", "-1", "x", "1e3", "99999999999999999999", "%00", "1%2f2",
		"%ff",
	} {
		s.registry.Advance(time.Minute) // stays under the page rate limit
		for _, action := range []string{"edit", "rotate", "revoke"} {
			for _, a := range []response{
				theirs.get("/keys/" + id + "/" + action),
				theirs.post("/keys/"+id+"/"+action, url.Values{
					"form":    {theirs.get("/keys/new").token(t)},
					"overlap": {"none"}, "name": {"theirs"}, "scope": {"read"},
				}),
			} {
				a.shows(t, http.StatusNotFound)
				if strings.Contains(a.body, "ann-laptop") {
					t.Errorf("response for %s reveals the key:\n%s", id, a.body)
				}
			}
		}
	}
	unknown.shows(t, http.StatusNotFound)
	if !s.accepts(secret) {
		t.Error("another account revoked the key")
	}
	if strings.Contains(theirs.get("/keys").body, "ann-laptop") {
		t.Error("another account sees the key")
	}
	for _, target := range []string{"/keys", "/keys/new", keyPath(key, "revoke")} {
		if to := s.by("").get(target).redirects(t); !strings.HasPrefix(to, "/sign-in?return=") {
			t.Errorf("%s redirects a signed-out visitor to %s", target, to)
		}
	}
	s.by("").post(keyPath(key, "revoke"), nil).shows(t, http.StatusUnauthorized)
	if !s.accepts(secret) {
		t.Error("signed-out visitor revoked the key")
	}
}

func TestKeyNameEscaping(t *testing.T) {
	s := mustSite(t)
	hostile := `"><script>alert(1)</script><img src=x onerror=alert(1)>{{.}}`
	s.makeKey(hostile, "").shows(t, http.StatusOK, hostile)
	key := s.keys()[0]
	for _, target := range []string{"/keys", keyPath(key, "edit"), keyPath(key, "rotate"), keyPath(key, "revoke")} {
		a := s.get(target)
		a.shows(t, http.StatusOK, hostile)
		a.checkHTML(t)
	}
	s.post(keyPath(key, "revoke"), nil).redirects(t)
	a := s.get("/keys")
	a.shows(t, http.StatusOK, "“"+hostile)
	a.checkHTML(t)
	s.get("/keys/ended").shows(t, http.StatusOK, hostile)
}

func TestInactiveKeyPages(t *testing.T) {
	s := mustSite(t)
	for i := range 30 {
		c := s.registry.Key(t, s.browsers.callers[ann].Account, fmt.Sprintf("old %02d", i))
		if _, err := s.registry.RevokeKey(t.Context(), s.browsers.callers[ann], c.Credential.ID); err != nil {
			t.Fatal(err)
		}
	}
	list := s.get("/keys")
	list.shows(t, http.StatusOK, "30 inactive keys<", "View all 30", "old 29", "old 25")
	if strings.Contains(list.body, "old 24") {
		t.Error("list shows more than the five newest inactive keys")
	}
	s.get("/keys/ended").shows(t, http.StatusOK, "1 to 25 of 30", "old 05")
	last := s.get("/keys/ended?page=2")
	last.shows(t, http.StatusOK, "26 to 30 of 30", "old 00")
	last.checkHTML(t)
}

// TestEditKey checks that a key's name, access and networks can be changed without a new secret,
// and that a rejected form keeps its input.
func TestEditKey(t *testing.T) {
	s := mustSite(t)
	token := s.get("/keys/new").token(t)
	created := s.post("/keys/new", url.Values{
		"form": {token}, "name": {"report"}, "scope": {"read"}, "networks": {"203.0.113.7/24\r\n2001:db8::1\r\n198.51.100.1"},
	})
	created.checkHTML(t)
	created.shows(t, http.StatusOK, "Read-only", "from 203.0.113.0/24, 2001:db8::1, and 1 more")
	secret, key := created.secret(t), s.keys()[0]
	if key.Scope() != registry.ReadOnly || len(key.Networks) != 3 {
		t.Fatalf("created key = %+v, want a read-only key with three networks", key)
	}
	list := s.get("/keys")
	list.checkHTML(t)
	list.shows(t, http.StatusOK, "Read-only", "203.0.113.0/24, 2001:db8::1, and 1 more", keyPath(key, "edit"))
	form := s.get(keyPath(key, "edit"))
	form.checkHTML(t)
	form.shows(t, http.StatusOK, `value="report"`, "203.0.113.0/24\n2001:db8::1\n198.51.100.1</textarea>", `value="read" checked`)

	hostile := "<script>alert(1)</script></textarea>"
	rejected := s.post(keyPath(key, "edit"), url.Values{"name": {""}, "scope": {"admin"}, "networks": {hostile}})
	rejected.checkHTML(t)
	rejected.shows(t, http.StatusBadRequest, `href="#name"`, `href="#scope"`, `href="#networks"`, `role="alert"`, hostile)
	missing := s.post(keyPath(key, "edit"), url.Values{"name": {"x"}})
	missing.shows(t, http.StatusBadRequest, `href="#scope"`)
	if got := s.keys()[0]; got.Name != "report" || got.Scope() != registry.ReadOnly || len(got.Networks) != 3 {
		t.Errorf("key after rejected changes = %+v", got)
	}

	if to := s.post(keyPath(key, "edit"), url.Values{"name": {"deploy"}, "scope": {"saved_searches:write"}}).redirects(t); to != "/keys" {
		t.Errorf("redirect to %s, want /keys", to)
	}
	got := s.keys()[0]
	if got.Name != "deploy" || got.Scope() == registry.ReadOnly || len(got.Networks) != 0 || !s.accepts(secret) {
		t.Errorf("changed key = %+v, want the same secret without restrictions", got)
	}
	s.get("/keys").shows(t, http.StatusOK, `class="notice"`, "deploy", "Read and write", "any network")

	s.post(keyPath(key, "revoke"), nil).redirects(t)
	s.get(keyPath(key, "edit")).shows(t, http.StatusConflict)
	s.post(keyPath(key, "edit"), url.Values{"name": {"n"}, "scope": {"read"}}).shows(t, http.StatusConflict)
}

// TestNewKeyNetworks checks that a new key's page warns if the key doesn't work from the browser's
// address.
func TestNewKeyNetworks(t *testing.T) {
	s := mustSite(t)
	const warning = "doesn’t work from your current address, <code>198.51.100.7</code>"
	for networks, warns := range map[string]bool{"203.0.113.0/24": true, "198.51.100.0/24": false, "": false} {
		form := url.Values{"form": {s.get("/keys/new").token(t)}, "name": {"report"}, "scope": {"read"}, "networks": {networks}}
		r := httptest.NewRequest(http.MethodPost, "/keys/new", strings.NewReader(form.Encode()))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		created := s.send(r.WithContext(cola.WithClient(r.Context(), netip.MustParseAddr("198.51.100.7"))))
		created.checkHTML(t)
		created.shows(t, http.StatusOK, "API key created")
		if strings.Contains(created.text, warning) != warns {
			t.Errorf("networks %q: warning %t, want %t", networks, !warns, warns)
		}
	}
}

// TestRotateRestrictedKey checks that a rotation keeps the key's access, and that the form shows
// it.
func TestRotateRestrictedKey(t *testing.T) {
	s := mustSite(t)
	s.post("/keys/new", url.Values{
		"form": {s.get("/keys/new").token(t)}, "name": {"report"}, "scope": {"read"}, "networks": {"203.0.113.7"},
	}).secret(t)
	key := s.keys()[0]
	form := s.get(keyPath(key, "rotate"))
	form.shows(t, http.StatusOK, "Read-only, from 203.0.113.7")
	s.post(keyPath(key, "rotate"), url.Values{"form": {form.token(t)}, "overlap": {"none"}}).secret(t)
	if got := s.keys()[0]; got.ID == key.ID || got.Scope() != registry.ReadOnly || got.Networks.String() != "203.0.113.7" {
		t.Errorf("new key = %+v, want the same access", got)
	}
}
