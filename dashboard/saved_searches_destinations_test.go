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

// TestSaveSearchWithDestination checks that a search and a destination are created together, that a
// webhook's secret is shown once, and that resubmitting the form creates nothing new.
func TestSaveSearchWithDestination(t *testing.T) {
	for _, tt := range []struct {
		address, all string
		secret       bool
	}{
		{hook, "", true}, {hook, "true", true}, {"buyer@example.org", "", false},
	} {
		s := mustSite(t)
		s.get("/saved-searches/new").shows(t, http.StatusOK, ann, `name="destination.address"`)
		form := typedSearch("destination.address", " "+tt.address+" ", "destination.all", tt.all, "once", "ABCDEFGH")
		saved := s.post("/saved-searches/new", form)
		var path string
		if tt.secret {
			saved.shows(t, http.StatusCreated, "whsec_")
			path = "/saved-searches/" + cutOut(saved.body, `class="button" href="/saved-searches/`, `"`)
		} else {
			path = saved.redirects(t)
		}
		if target := s.post("/saved-searches/new", form).redirects(t); target != path {
			t.Errorf("%s: resubmitting redirects to %s, want %s", tt.address, target, path)
		}
		destinations := s.destinationsOf(ann)
		if len(destinations) != 2 {
			t.Fatalf("%s: destinations %v, want 2", tt.address, destinations)
		}
		page := s.get(destinations[1])
		page.shows(t, http.StatusOK, tt.address)
		page.lacks(t, "whsec_")
		if forOne := strings.Contains(page.text, `href="`+path+`"`); forOne != (tt.all == "") {
			t.Errorf("%s, all = %q: page links to the search = %t, want %t", tt.address, tt.all, forOne, tt.all == "")
		}
		form.Set("destination.address", "https://other.example.com/")
		s.post("/saved-searches/new", form).shows(t, http.StatusConflict, "https://other.example.com/")
	}
}

// TestSharedDestination checks that a new search can use the destination of another search, without
// confirming it again, and with the same secret.
func TestSharedDestination(t *testing.T) {
	s := mustSite(t)
	first := s.mustSave(typedSearch())
	account := s.browsers.callers[ann].Account
	s.post("/destinations/new", typedWebhook("saved_search", first[16:])).shows(t, http.StatusCreated)
	pending := s.destinationsOf(ann)[1]
	s.get("/saved-searches/new").lacks(t, hook)
	s.post(pending+"/confirm", url.Values{"code": {s.registry.ConfirmationCode(t, account, pending[14:])}}).redirects(t)
	s.get("/saved-searches/new").shows(t, http.StatusOK, hook, `value="`+pending[14:]+`"`)
	checked := s.post("/saved-searches/new", typedSearch("name", "", "destinations", pending[14:]))
	checked.shows(t, http.StatusBadRequest, `value="`+pending[14:]+`" checked`)
	second := s.mustSave(typedSearch("name", "Second", "destinations", pending[14:]))
	shared := s.destinationsOf(ann)[2]
	s.get(shared).shows(t, http.StatusOK, hook, `href="`+second+`"`, `<span class="state good">active`)
	secrets := map[string]bool{}
	for _, path := range []string{pending, shared} {
		d, err := s.registry.Store.Destination(t.Context(), account, path[14:])
		if err != nil {
			t.Fatal(err)
		}
		secret, err := s.registry.Vault.Open(vault.Secret, d.UUID, d.Secrets.Current)
		secrets[secret] = err == nil
	}
	if len(secrets) != 1 {
		t.Error("the shared destination has a different secret")
	}
	// The form and the notice say that an email recipient must confirm for each search.
	const recipient = "buyer@example.org"
	email := s.registry.Destination(t, account, cola.KindEmail, recipient, first[16:])
	choices := cutOut(s.get("/saved-searches/new").body, `<fieldset id="destinations"`, "</form>")
	if n := strings.Count(choices, "must confirm for this search"); n != 1 || !strings.Contains(choices, `value="`+email+`"`) {
		t.Errorf("%d choices say that the recipient must confirm, want only the email address:\n%s", n, choices)
	}
	both := typedSearch("name", "Third", "destinations", email)
	both.Add("destinations", pending[14:])
	third := s.mustSave(both)
	s.get(third).shows(t, http.StatusOK, `class="notice"`, "Alerts to "+recipient+" start once")
	s.get(third).shows(t, http.StatusOK, recipient, cola.DestinationUnconfirmed)
	s.registry.Advance(25 * time.Hour) // past the limit on confirmations per address
	added := s.mustSave(typedSearch("name", "Fourth", "destinations", email, "destination.address", "other@example.org"))
	s.get(added).shows(t, http.StatusOK, `class="notice"`, "Alerts to 2 addresses")
	fifth := s.mustSave(typedSearch("name", "Fifth", "destinations", pending[14:]))
	s.get(fifth).lacks(t, "start once")
}

// TestEditedDestinations checks that the form for an existing search links to its destinations and
// to the form to add one, even after an error, but not to the destinations of other searches.
func TestEditedDestinations(t *testing.T) {
	s := mustSite(t)
	search, other := s.mustSave(typedSearch()), s.mustSave(typedSearch("name", "Other"))
	s.mustWebhook(typedWebhook("saved_search", search[16:]))
	list := s.destinationsOf(ann)
	for path, hooked := range map[string]bool{search: true, other: false} {
		for _, page := range []response{s.get(path + "/edit"), s.post(path+"/edit", typedSearch("name", "", "was", "x"))} {
			page.checkHTML(t)
			form := cutOut(page.body, `<fieldset id="destinations"`, "</form>")
			for href, want := range map[string]bool{list[0]: true, list[1]: hooked, "/destinations/new?saved_search=" + path[16:]: true} {
				if strings.Contains(form, `href="`+href+`"`) != want {
					t.Errorf("%s: link to %s, want %t:\n%s", path, href, want, form)
				}
			}
		}
	}
}

// TestSharedChoices checks that an address that gets the alerts of all searches isn't offered again
// as another search's destination, whichever was added first.
func TestSharedChoices(t *testing.T) {
	for _, forAllFirst := range []bool{false, true} {
		s := mustSite(t)
		search := s.mustSave(typedSearch())
		var one string
		for _, forAll := range []bool{forAllFirst, !forAllFirst} {
			only := search[16:]
			if forAll {
				only = ""
			}
			destination := s.registry.Destination(t, s.browsers.callers[ann].Account, cola.KindWebhook, hook, only)
			if !forAll {
				one = destination
			}
		}
		s.get("/saved-searches/new").lacks(t, `value="`+one+`"`)
	}
}

// TestSaveSearchWithInvalidDestination checks that an error in either part is shown next to its
// field, keeps everything entered and creates nothing.
func TestSaveSearchWithInvalidDestination(t *testing.T) {
	s := mustSite(t)
	s.join("bob@example.com", cola.TierFree)
	foreign := s.by("bob@example.com").destinationsOf("bob@example.com")[0][14:]
	created := s.post("/destinations/new", typedWebhook())
	created.shows(t, http.StatusCreated)
	for _, tt := range []struct {
		name   string
		fields []string
		status int
		shows  []string
	}{
		{"http", []string{"destination.address", "http://hooks.example.com/"}, 400, []string{`href="#destination-address"`}},
		{"private", []string{"destination.address", "https://10.0.0.1/"}, 400, []string{`href="#destination-address"`}},
		{"not an address", []string{"destination.address", "<b>@"}, 400, []string{`href="#destination-address"`, `value="&lt;b&gt;@"`}},
		{"both parts", []string{"name", "", "destination.address", "x"}, 400, []string{`href="#name"`, `href="#destination-address"`}},
		{"search", []string{"filters.abv_min", "x", "destination.address", hook}, 400, []string{`href="#filters-abv_min"`}},
		{"too broad", []string{"name", "kept text", "filters.query", "", "filters.type_wine", "", "destination.address", hook}, 400, nil},
		{"exists", []string{"destination.address", hook, "destination.all", "true"}, 409, []string{`id="destination-all" name="destination.all" value="true" checked`}},
		{"another account's", []string{"destinations", foreign}, 400, []string{"Destinations"}},
		{"malformed ID", []string{"destinations", "x'"}, 400, nil},
	} {
		form := typedSearch(append([]string{"filters.query", "kept text"}, tt.fields...)...)
		answer := s.post("/saved-searches/new", form)
		answer.shows(t, tt.status, "kept text")
		answer.checkHTML(t)
		for _, want := range tt.shows {
			if !strings.Contains(answer.body, want) {
				t.Errorf("%s: lacks %s", tt.name, want)
			}
		}
		if n := len(s.destinationsOf(ann)); n != 2 {
			t.Errorf("%s: %d destinations, want 2", tt.name, n)
		}
		s.get("/saved-searches").shows(t, http.StatusOK, "No saved searches yet")
	}
	preview := s.post("/saved-searches/new", typedSearch("preview", "true", "destination.address", "https://kept.example.com/"))
	preview.shows(t, http.StatusOK, "https://kept.example.com/")
}
