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

// typedWebhook returns the form for a webhook that gets the runs of all searches.
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
	s.get(path).lacks(s.t, "Confirm the endpoint")
	return path, secret
}

// mustPending adds a webhook with an unconfirmed endpoint.
func (s *site) mustPending(form url.Values) (path, secret string) {
	s.t.Helper()
	made := s.post("/destinations/new", form)
	made.shows(s.t, http.StatusCreated, "shown this once", "whsec_")
	made.wellMade(s.t)
	paths := s.destinationsOf(s.as)
	return paths[len(paths)-1], "whsec_" + cutOut(made.text, "<code>whsec_", "<")
}

func TestWebhook(t *testing.T) {
	s := mustSite(t)
	search := s.mustSaved(typedSearch())
	s.get("/destinations").shows(t, http.StatusOK, ann, "the account’s own", "1 of 20 destinations")
	s.get("/destinations/new?saved_search="+search[16:]).shows(t, http.StatusOK, `selected>All wine`)
	s.mustWebhook(typedWebhook("saved_search", search[16:], "send_empty", "true"))
	paths := s.destinationsOf(ann)
	if len(paths) != 2 {
		t.Fatalf("there are %v", paths)
	}
	page := s.get(paths[1])
	page.shows(t, http.StatusOK, hook, "active", "All wine", "are told, too", "How to verify")
	page.lacks(t, "whsec_", "Resume")
	page.wellMade(t)
	s.get("/destinations").shows(t, http.StatusOK, hook, "tells empty runs, too", "2 of 20")
	s.get(search).shows(t, http.StatusOK, hook, "for this search")
	s.mustWebhook(typedWebhook())
	if both := s.get(search); strings.Count(both.body, hook) != 1 {
		t.Errorf("the webhook of all searches is named beside that of the search, which takes its place:\n%s", both.body)
	}
	s.post("/destinations/new", typedWebhook("saved_search", search[16:])).shows(t, http.StatusConflict, "has this destination already", hook)
}

// TestSecretIsShownOnce checks that reloading the response creates no second secret and that no
// later page shows one.
func TestSecretIsShownOnce(t *testing.T) {
	s := mustSite(t)
	path, first := s.mustWebhook(typedWebhook())
	ask := s.get(path + "/secret")
	ask.shows(t, http.StatusOK, "Replace the secret of "+hook+"?", "24 hours")
	form := url.Values{"form": {cutOut(ask.body, `name="form" value="`, `"`)}}
	answer := s.post(path+"/secret", form)
	answer.shows(t, http.StatusOK, "The secret is replaced", "signature of the secret before as well")
	second := "whsec_" + cutOut(answer.text, "<code>whsec_", "<")
	if second == first || len(second) != len(first) {
		t.Errorf("%q replaces %q", second, first)
	}
	s.post(path+"/secret", form).leads(t)
	s.post(path+"/secret", url.Values{}).leads(t)
	again := s.get(path)
	again.shows(t, http.StatusOK, "This form was sent before, or is not one that is open for this account")
	again.lacks(t, first, second)
	id := path[len("/destinations/"):]
	kept, err := s.registry.Store.Destination(t.Context(), s.browsers.callers[ann].Account, id)
	if err != nil {
		t.Fatal(err)
	}
	if current, err := s.registry.Vault.Open(vault.Secret, id, kept.Secrets.Current); err != nil || current != second {
		t.Errorf("the secret that counts is not the one that was shown: %v", err)
	}
	ask = s.get(s.destinationsOf(ann)[0] + "/secret")
	form.Set("form", cutOut(ask.body, `name="form" value="`, `"`))
	s.post(s.destinationsOf(ann)[0]+"/secret", form).shows(t, http.StatusBadRequest, "only webhooks are signed")
}

// TestEndpointIsConfirmed enters the challenge's code on the endpoint's page.
func TestEndpointIsConfirmed(t *testing.T) {
	s := mustSite(t)
	path, _ := s.mustPending(typedWebhook())
	page := s.get(path)
	page.shows(t, http.StatusOK, "pending", "has not confirmed yet", "Confirm the endpoint", "Send another challenge", "Challenge to confirm the endpoint")
	page.lacks(t, "Send a test", "Resume")
	page.wellMade(t)
	s.get("/destinations").shows(t, http.StatusOK, "pending", "waiting for the endpoint to confirm")
	for _, action := range []string{"/test", "/resume", "/replay"} {
		s.post(path+action, nil).shows(t, http.StatusConflict, "has not confirmed yet")
	}
	for _, wrong := range []string{"", "AAAA-AAAA", `"><script>`} {
		refused := s.post(path+"/confirm", url.Values{"code": {wrong}})
		refused.shows(t, http.StatusBadRequest, `role="alert"`, `aria-invalid="true"`)
		refused.wellMade(t)
	}
	s.registry.Pass(time.Minute)
	s.post(path+"/confirmation", nil).leads(t)
	code := s.registry.Code(t, s.browsers.callers[ann].Account, path[len("/destinations/"):])
	s.post(path+"/confirm", url.Values{"code": {strings.ToLower(code)}}).leads(t)
	s.get(path).shows(t, http.StatusOK, "active", "confirmed", "Send a test")
}

func TestDestinationIsPausedAndDeleted(t *testing.T) {
	s := mustSite(t)
	path, _ := s.mustWebhook(typedWebhook())
	s.post(path+"/pause", nil).leads(t)
	paused := s.get(path)
	paused.shows(t, http.StatusOK, "You paused it", "Resume")
	paused.lacks(t, "Send a test")
	s.post(path+"/test", nil).shows(t, http.StatusConflict, "The destination is paused, so nothing is sent to it. Resume it first.")
	s.post(path+"/replay", nil).shows(t, http.StatusConflict, "Resume it first")
	s.get("/destinations").shows(t, http.StatusOK, "paused", "you paused it")
	s.post(path+"/resume", nil).leads(t)
	s.post(path+"/empty", url.Values{"send_empty": {"true"}}).leads(t)
	s.get(path).shows(t, http.StatusOK, "active", "are told, too")
	s.post(path+"/empty", url.Values{"send_empty": {"<script>"}}).leads(t)
	s.get(path).shows(t, http.StatusOK, "are not told")
	s.get(path+"/delete").shows(t, http.StatusOK, "Delete "+hook+"?", "pause it")
	s.post(path+"/delete", nil).leads(t)
	s.get(path).shows(t, http.StatusNotFound)
}

// TestOwnAddress checks that the account's own address can be paused but not deleted.
func TestOwnAddress(t *testing.T) {
	s := mustSite(t)
	own := s.destinationsOf(ann)[0]
	page := s.get(own)
	page.shows(t, http.StatusOK, ann, "your account’s own address, which stays")
	page.lacks(t, own+"/delete", own+"/secret", own+"/confirmation")
	s.post(own+"/delete", nil).shows(t, http.StatusBadRequest, "which stays")
	s.post(own+"/confirmation", nil).shows(t, http.StatusBadRequest)
	s.post(own+"/pause", nil).leads(t)
	s.post(own+"/resume", nil).leads(t)
	s.get(own).shows(t, http.StatusOK, "active")
}

// TestOthersAreAsked checks that an email address outside the account gets a rate-limited
// confirmation request.
func TestOthersAreAsked(t *testing.T) {
	s := mustSite(t)
	path := s.post("/destinations/new", url.Values{"kind": {"email"}, "address": {"team@example.com"}}).leads(t)
	s.get(path).shows(t, http.StatusOK, "asked by email to agree", "unconfirmed", "has not agreed", "Ask again", "Request to agree to messages")
	s.post(path+"/resume", nil).shows(t, http.StatusConflict, "has not agreed")
	s.post(path+"/test", nil).shows(t, http.StatusConflict, "has not agreed")
	again := s.post(path+"/confirmation", nil)
	again.shows(t, http.StatusTooManyRequests, "asked within the last hour", "team@example.com")
	if again.Header.Get("Retry-After") == "" {
		t.Error("it is not told when to try again")
	}
	s.post(path+"/delete", nil).leads(t)
	again = s.post("/destinations/new", url.Values{"kind": {"email"}, "address": {"team@example.com"}})
	again.shows(t, http.StatusTooManyRequests, "asked within the last hour", `value="team@example.com"`)
	if again.Header.Get("Retry-After") == "" {
		t.Error("it is not told when to try again")
	}
	s.registry.Pass(2 * time.Hour)
	path = s.post("/destinations/new", url.Values{"kind": {"email"}, "address": {"team@example.com"}}).leads(t)
	s.registry.Pass(2 * time.Hour)
	if to := s.post(path+"/confirmation", nil).leads(t); !strings.HasPrefix(to, "/deliveries/") {
		t.Errorf("leads to %s", to)
	}
}

func TestDestinationProblems(t *testing.T) {
	s := mustSite(t)
	for name, tt := range map[string]struct {
		form url.Values
		says []string
	}{
		"nothing":        {url.Values{}, []string{"A kind is required", `href="#address"`}},
		"another kind":   {typedWebhook("kind", "fax"), []string{`"fax" is not allowed`}},
		"private":        {typedWebhook("address", "https://127.0.0.1/"), []string{"https://127.0.0.1/", `aria-invalid="true"`}},
		"with a script":  {typedWebhook("kind", "email", "address", `a@a.example"><script>alert(1)</script>`), []string{`value="a@a.example"><script>`, "is not an email address"}},
		"NUL":            {typedWebhook("address", "https://a.example/\x00"), []string{"control character"}},
		"no such search": {typedWebhook("saved_search", "0b9f8c0e-6a55-4f0e-9a39-2f1f0f9f6d11"), []string{"has no saved search with the id", `href="#saved_search"`}},
		"no id":          {typedWebhook("saved_search", "<script>"), []string{"is not a UUID"}},
		"no box":         {typedWebhook("send_empty", "perhaps"), []string{"write true or false"}},
		"unknown":        {typedWebhook("secret", "whsec_x"), []string{"There is no such parameter"}},
		"email or a URL": {typedWebhook("kind", "email"), []string{"is not an email address", hook}},
		"endless":        {typedWebhook("address", "https://a.example/"+strings.Repeat("x", 2000)), []string{"at most 1000"}},
	} {
		a := s.post("/destinations/new", tt.form)
		t.Log(name)
		a.shows(t, http.StatusBadRequest, append(tt.says, `role="alert"`)...)
		a.wellMade(t)
		if strings.Contains(a.body, "<script>") {
			t.Error("something that was typed has become markup")
		}
	}
	for i := range cola.MaxDestinations - 1 {
		s.registry.Endpoint(t, s.browsers.callers[ann].Account, hook+"/"+string(rune('a'+i))+`"><script>x</script>`)
	}
	if list := s.get("/destinations"); strings.Contains(list.body, "<script>") {
		t.Error("an address has become markup")
	}
	s.post("/destinations/new", typedWebhook()).shows(t, http.StatusConflict, "as many destinations as it may: 20", hook)
}

// TestDestinationsOfOthers checks that another account's destination is not found.
func TestDestinationsOfOthers(t *testing.T) {
	s := mustSite(t)
	s.join("bob@example.com", cola.TierFree)
	path, _ := s.mustWebhook(typedWebhook())
	bob := s.by("bob@example.com")
	for _, id := range []string{path, "/destinations/0b9f8c0e-6a55-4f0e-9a39-2f1f0f9f6d11", "/destinations/x", "/destinations/%00", "/destinations/%ff"} {
		s.registry.Pass(time.Minute) // stays under the page rate limit
		for _, page := range []string{"", "/secret", "/delete"} {
			a := bob.get(id + page)
			a.shows(t, http.StatusNotFound)
			a.lacks(t, hook)
		}
		form := url.Values{"send_empty": {"true"}, "code": {"KX7Q-2MFA"}, "form": {cutOut(bob.get(bob.destinationsOf("bob@example.com")[0]+"/secret").body, `name="form" value="`, `"`)}}
		for _, action := range []string{"/pause", "/resume", "/empty", "/test", "/confirmation", "/confirm", "/replay", "/secret", "/delete"} {
			bob.post(id+action, form).shows(t, http.StatusNotFound)
		}
	}
	s.get(path).shows(t, http.StatusOK, "active", "are not told")
	search := s.mustSaved(typedSearch())
	bob.post("/destinations/new", typedWebhook("saved_search", search[16:])).shows(t, http.StatusBadRequest, "has no saved search with the id")
	bob.get("/destinations/new?saved_search="+search[16:]).lacks(t, "All wine")
}
