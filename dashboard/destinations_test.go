package dashboard

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/vault"
)

const hook = "https://hooks.example.com/labels"

// typedWebhook returns the form for a webhook that receives the runs of all searches, with some
// fields replaced.
func typedWebhook(fields ...string) url.Values {
	form := url.Values{"kind": {cola.KindWebhook}, "address": {hook}, "saved_search": {""}}
	for i := 0; i < len(fields); i += 2 {
		form.Set(fields[i], fields[i+1])
	}
	return form
}

// destinationsOf returns the paths of the account's destinations, oldest first. The account's own
// address is first.
func (s *site) destinationsOf(email string) (paths []string) {
	s.t.Helper()
	list, _, err := s.registry.Destinations(s.t.Context(), s.browsers.callers[email], cola.SavedSearchListParams{})
	if err != nil {
		s.t.Fatal(err)
	}
	for _, d := range list.Rows {
		paths = append(paths, "/destinations/"+d.UUID)
	}
	return paths
}

// mustWebhook adds a webhook, confirms its endpoint, and returns its page's path and its secret.
func (s *site) mustWebhook(form url.Values) (path, secret string) {
	s.t.Helper()
	path, secret = s.mustPending(form)
	s.registry.Deliver(s.t, "")
	s.get(path).lacks(s.t, path+"/confirm\"")
	return path, secret
}

// mustPending adds a webhook with an unconfirmed endpoint.
func (s *site) mustPending(form url.Values) (path, secret string) {
	s.t.Helper()
	created := s.post("/destinations/new", form)
	created.shows(s.t, http.StatusCreated, "whsec_")
	created.checkHTML(s.t)
	paths := s.destinationsOf(s.as)
	return paths[len(paths)-1], "whsec_" + cutOut(created.text, "<code>whsec_", "<")
}

func TestWebhook(t *testing.T) {
	s := mustSite(t)
	search := s.mustSave(typedSearch())
	s.get("/destinations").shows(t, http.StatusOK, ann, "your account email", "1 of 20 destinations")
	s.get("/destinations/new?saved_search="+search[16:]).shows(t, http.StatusOK, `selected>All wine`)
	s.mustWebhook(typedWebhook("saved_search", search[16:], "send_empty", "true"))
	paths := s.destinationsOf(ann)
	if len(paths) != 2 {
		t.Fatalf("destinations = %v, want 2", paths)
	}
	page := s.get(paths[1])
	page.shows(t, http.StatusOK, hook, "active", "All wine", `name="send_empty" value="false"`)
	page.lacks(t, "whsec_", "/resume")
	page.checkHTML(t)
	s.get("/destinations").shows(t, http.StatusOK, hook, "alerts even when there are no new labels", "2 of 20")
	s.get(search).shows(t, http.StatusOK, hook, "this search only")
	s.mustWebhook(typedWebhook())
	if both := s.get(search); strings.Count(both.body, hook) != 1 {
		t.Errorf("account-wide webhook is listed although the search's own webhook overrides it:\n%s", both.body)
	}
	s.post("/destinations/new", typedWebhook("saved_search", search[16:])).shows(t, http.StatusConflict, `role="alert"`,
		hook)
}

// TestWebhookHint checks that the forms describe the URLs that this server accepts.
func TestWebhookHint(t *testing.T) {
	for rules, want := range map[cola.DestinationRules]string{
		{}:                      "A public HTTPS URL",
		{PrivateWebhooks: true}: "An HTTP or HTTPS URL",
	} {
		destination, search := destinationForm{Rules: rules}, searchForm{Rules: rules}
		for _, hint := range []string{destination.Field("address").Hint, search.Field(alertAddressField).Hint} {
			if !strings.HasPrefix(hint, want) {
				t.Errorf("%+v: hint %q, want %q", rules, hint, want)
			}
		}
	}
}

// TestWebhookSecret checks that resubmitting the form does not rotate the secret again, and that
// the webhook's page shows neither secret.
func TestWebhookSecret(t *testing.T) {
	s := mustSite(t)
	path, first := s.mustWebhook(typedWebhook())
	ask := s.get(path + "/secret")
	ask.shows(t, http.StatusOK, hook+"?</h1>", "24 hours")
	form := url.Values{"form": {cutOut(ask.body, `name="form" value="`, `"`)}}
	rotated := s.post(path+"/secret", form)
	rotated.shows(t, http.StatusOK, "24 hours")
	second := "whsec_" + cutOut(rotated.text, "<code>whsec_", "<")
	if second == first || len(second) != len(first) {
		t.Errorf("rotated %q to %q, want a different secret of the same length", first, second)
	}
	s.post(path+"/secret", form).redirects(t)
	s.post(path+"/secret", url.Values{}).redirects(t)
	page := s.get(path)
	page.shows(t, http.StatusOK, `class="notice"`)
	page.lacks(t, first, second)
	id := path[len("/destinations/"):]
	stored, err := s.registry.Store.Destination(t.Context(), s.browsers.callers[ann].Account, id)
	if err != nil {
		t.Fatal(err)
	}
	if current, err := s.registry.Vault.Open(vault.Secret, id, stored.Secrets.Current); err != nil || current != second {
		t.Errorf("stored secret = %q, %v; want the displayed one", current, err)
	}
	ask = s.get(s.destinationsOf(ann)[0] + "/secret")
	form.Set("form", cutOut(ask.body, `name="form" value="`, `"`))
	s.post(s.destinationsOf(ann)[0]+"/secret", form).shows(t, http.StatusBadRequest)
}

// TestTooManyCodes checks that the page asks for a new challenge after too many wrong codes.
func TestTooManyCodes(t *testing.T) {
	s := mustSite(t)
	path, _ := s.mustPending(typedWebhook())
	for range cola.MaxCodeTries {
		s.post(path+"/confirm", url.Values{"code": {"AAAA-AAAA"}})
	}
	s.post(path+"/confirm", url.Values{"code": {"AAAA-AAAA"}}).shows(t, http.StatusConflict, "Too many wrong codes",
		path+"/confirmation")
}

// TestSeveralProblems checks that a rejected form shows all its problems, not a random one.
func TestSeveralProblems(t *testing.T) {
	s := mustSite(t)
	path, _ := s.mustPending(typedWebhook())
	empty := url.Values{"code": {""}}
	rejected := s.post(path+"/confirm", empty)
	codeProblem := cutOut(rejected.body, `<p class="warning" role="alert">`, "</p>")
	empty.Set("kode", "AAAA-AAAA")
	rejected = s.post(path+"/confirm", empty)
	rejected.shows(t, http.StatusBadRequest, `<p class="warning" role="alert">`+codeProblem+" Unknown")
}

// TestConfirmEndpoint enters the challenge's code on the endpoint's page.
func TestConfirmEndpoint(t *testing.T) {
	s := mustSite(t)
	path, _ := s.mustPending(typedWebhook())
	page := s.get(path)
	page.shows(t, http.StatusOK, "pending", path+"/confirm", path+"/confirmation", "Endpoint challenge")
	page.lacks(t, path+"/test", path+"/resume")
	page.checkHTML(t)
	s.get("/destinations").shows(t, http.StatusOK, "pending", "waiting for the endpoint")
	for _, action := range []string{"/test", "/resume", "/replay"} {
		s.post(path+action, nil).shows(t, http.StatusConflict, `role="alert"`, path+"/confirmation")
	}
	for _, wrong := range []string{"", "AAAA-AAAA", `"><script>`} {
		rejected := s.post(path+"/confirm", url.Values{"code": {wrong}})
		rejected.shows(t, http.StatusBadRequest, `role="alert"`, `aria-invalid="true"`)
		rejected.checkHTML(t)
	}
	s.registry.Advance(time.Minute)
	s.post(path+"/confirmation", nil).redirects(t)
	code := s.registry.ConfirmationCode(t, s.browsers.callers[ann].Account, path[len("/destinations/"):])
	s.post(path+"/confirm", url.Values{"code": {strings.ToLower(code)}}).redirects(t)
	s.get(path).shows(t, http.StatusOK, "active", `class="notice"`, path+"/test")
}

func TestPauseAndDeleteDestination(t *testing.T) {
	s := mustSite(t)
	path, _ := s.mustWebhook(typedWebhook())
	s.post(path+"/pause", nil).redirects(t)
	paused := s.get(path)
	paused.shows(t, http.StatusOK, "paused", path+"/resume")
	paused.lacks(t, path+"/test")
	s.post(path+"/test", nil).shows(t, http.StatusConflict, `role="alert"`, "is paused")
	s.post(path+"/replay", nil).shows(t, http.StatusConflict, `role="alert"`)
	s.get("/destinations").shows(t, http.StatusOK, "paused by you")
	s.post(path+"/resume", nil).redirects(t)
	s.post(path+"/empty", url.Values{"send_empty": {"true"}}).redirects(t)
	s.get(path).shows(t, http.StatusOK, "active", `name="send_empty" value="false"`)
	s.post(path+"/empty", url.Values{"send_empty": {"<script>"}}).redirects(t)
	s.get(path).shows(t, http.StatusOK, `name="send_empty" value="true"`)
	s.get(path+"/delete").shows(t, http.StatusOK, "Delete "+hook+"?", "pause the destination")
	s.post(path+"/delete", nil).redirects(t)
	s.get(path).shows(t, http.StatusNotFound)
}

// TestOwnAddress checks that the account's own address can be paused but not deleted.
func TestOwnAddress(t *testing.T) {
	s := mustSite(t)
	own := s.destinationsOf(ann)[0]
	page := s.get(own)
	page.shows(t, http.StatusOK, ann, own+"/pause")
	page.lacks(t, own+"/delete", own+"/secret", own+"/confirmation")
	s.post(own+"/delete", nil).shows(t, http.StatusBadRequest)
	s.post(own+"/confirmation", nil).shows(t, http.StatusBadRequest)
	s.post(own+"/pause", nil).redirects(t)
	s.post(own+"/resume", nil).redirects(t)
	s.get(own).shows(t, http.StatusOK, "active")
}

// TestConfirmationByEmail checks that an email address other than the account's own gets a
// rate-limited confirmation request.
func TestConfirmationByEmail(t *testing.T) {
	s := mustSite(t)
	path := s.post("/destinations/new", url.Values{"kind": {"email"}, "address": {"team@example.com"}}).redirects(t)
	s.get(path).shows(t, http.StatusOK, `class="notice"`, "unconfirmed", path+"/confirmation", "Confirmation request")
	s.post(path+"/resume", nil).shows(t, http.StatusConflict, `role="alert"`, path+"/confirmation")
	s.post(path+"/test", nil).shows(t, http.StatusConflict, `role="alert"`, path+"/confirmation")
	resp := s.post(path+"/confirmation", nil)
	resp.shows(t, http.StatusTooManyRequests, `role="alert"`, "team@example.com")
	if resp.Header.Get("Retry-After") == "" {
		t.Error("no Retry-After")
	}
	s.post(path+"/delete", nil).redirects(t)
	resp = s.post("/destinations/new", url.Values{"kind": {"email"}, "address": {"team@example.com"}})
	resp.shows(t, http.StatusTooManyRequests, `role="alert"`, `value="team@example.com"`)
	if resp.Header.Get("Retry-After") == "" {
		t.Error("no Retry-After")
	}
	s.registry.Advance(2 * time.Hour)
	path = s.post("/destinations/new", url.Values{"kind": {"email"}, "address": {"team@example.com"}}).redirects(t)
	s.registry.Advance(2 * time.Hour)
	if to := s.post(path+"/confirmation", nil).redirects(t); !strings.HasPrefix(to, "/deliveries/") {
		t.Errorf("redirect to %s, want a delivery", to)
	}
}

func TestDestinationProblems(t *testing.T) {
	s := mustSite(t)
	for name, tt := range map[string]struct {
		form url.Values
		says []string
	}{
		"empty":        {url.Values{}, []string{`href="#kind"`, `href="#address"`}},
		"unknown kind": {typedWebhook("kind", "fax"), []string{`"fax"`}},
		"private": {
			typedWebhook("address", "https://127.0.0.1/"),
			[]string{"https://127.0.0.1/", `aria-invalid="true"`},
		},
		"with a script": {
			typedWebhook("kind", "email", "address", `a@a.example"><script>alert(1)</script>`),
			[]string{`value="a@a.example"><script>`, `href="#address"`},
		},
		"NUL": {typedWebhook("address", "https://a.example/\x00"), []string{`href="#address"`}},
		"no such search": {
			typedWebhook("saved_search", "0b9f8c0e-6a55-4f0e-9a39-2f1f0f9f6d11"),
			[]string{`href="#saved_search"`},
		},
		"not an ID":     {typedWebhook("saved_search", "<script>"), []string{`href="#saved_search"`}},
		"not a boolean": {typedWebhook("send_empty", "perhaps"), []string{`href="#send_empty"`}},
		"unknown":       {typedWebhook("secret", "whsec_x"), []string{"<li>secret:"}},
		"URL as email":  {typedWebhook("kind", "email"), []string{`href="#address"`, hook}},
		"too long": {
			typedWebhook("address", "https://a.example/"+strings.Repeat("x", 2000)),
			[]string{`href="#address"`, "1000"},
		},
	} {
		a := s.post("/destinations/new", tt.form)
		t.Log(name)
		a.shows(t, http.StatusBadRequest, append(tt.says, `role="alert"`)...)
		a.checkHTML(t)
		if strings.Contains(a.body, "<script>") {
			t.Error("field was not escaped")
		}
	}
	for i := range cola.MaxDestinations - 1 {
		s.registry.Endpoint(t, s.browsers.callers[ann].Account, hook+"/"+string(rune('a'+i))+`"><script>x</script>`)
	}
	if list := s.get("/destinations"); strings.Contains(list.body, "<script>") {
		t.Error("address was not escaped")
	}
	s.post("/destinations/new", typedWebhook()).shows(t, http.StatusConflict, "limit of 20 destinations", hook)
}

// TestForeignDestinations checks that another account's destination is not found.
func TestForeignDestinations(t *testing.T) {
	s := mustSite(t)
	s.join("bob@example.com", cola.TierFree)
	path, _ := s.mustWebhook(typedWebhook())
	bob := s.by("bob@example.com")
	for _, id := range []string{
		path, "/destinations/0b9f8c0e-6a55-4f0e-9a39-2f1f0f9f6d11", "/destinations/x",
		"/destinations/%00", "/destinations/%ff",
	} {
		s.registry.Advance(time.Minute) // stays under the page rate limit
		for _, page := range []string{"", "/secret", "/delete"} {
			a := bob.get(id + page)
			a.shows(t, http.StatusNotFound)
			a.lacks(t, hook)
		}
		form := url.Values{
			"send_empty": {"true"}, "code": {"KX7Q-2MFA"},
			"form": {cutOut(bob.get(bob.destinationsOf("bob@example.com")[0]+"/secret").body, `name="form" value="`,
				`"`)},
		}
		for _, action := range []string{
			"/pause", "/resume", "/empty", "/test", "/confirmation", "/confirm", "/replay",
			"/secret", "/delete",
		} {
			bob.post(id+action, form).shows(t, http.StatusNotFound)
		}
	}
	s.get(path).shows(t, http.StatusOK, "active", `name="send_empty" value="true"`)
	search := s.mustSave(typedSearch())
	bob.post("/destinations/new", typedWebhook("saved_search", search[16:])).shows(t, http.StatusBadRequest,
		`href="#saved_search"`)
	bob.get("/destinations/new?saved_search="+search[16:]).lacks(t, "All wine")
}
