package dashboard

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/registrytest"
)

// mustSent runs a search, delivers the result with an optional fault, and returns the delivery to a
// destination.
func (s *site) mustSent(search, destination, fault string) cola.Delivery {
	s.t.Helper()
	s.mustRun(search)
	s.registry.Deliver(s.t, fault)
	list, _, err := s.registry.Deliveries(s.t.Context(), s.browsers.callers[s.as], cola.DeliveryListParams{Destination: strings.TrimPrefix(destination, "/destinations/")})
	for _, d := range list.Rows {
		if d.Event == cola.EventRan {
			return d
		}
	}
	s.t.Fatalf("%+v, %v", list, err)
	return cola.Delivery{}
}

// wideSearch matches some of the arriving labels.
func wideSearch() url.Values {
	return typedSearch("filters.type_malt_beverage", "true", "filters.abv_max", "99")
}

func TestDeliveries(t *testing.T) {
	s := mustSite(t)
	s.get("/deliveries").shows(t, http.StatusOK, "Nothing was sent yet")
	search := s.mustSaved(wideSearch())
	hookPath, _ := s.mustWebhook(typedWebhook("saved_search", search[16:]))
	sent := s.mustSent(search, hookPath, "")
	page := s.get(fmt.Sprint("/deliveries/", sent.ID))
	page.shows(t, http.StatusOK, "Run 1 of “All wine”", "delivered", hook, sent.MessageID, "204", "taken", "what run 1 found", "Send it again")
	page.wellMade(t)
	s.get("/deliveries").shows(t, http.StatusOK, "Run 1 of “All wine”", hook, ann, "delivered")
	s.get(search).shows(t, http.StatusOK, "Run 1 of “All wine”", "All deliveries of this search")
	for query, finds := range map[string]bool{
		"state=delivered": true, "state=Delivered": true, "state=failed": false, "destination=" + hookPath[14:]: true, "saved_search=" + search[16:]: true, "state=&destination=&saved_search=": true,
		"destination=0b9f8c0e-6a55-4f0e-9a39-2f1f0f9f6d11": false, "destination=" + hookPath[14:] + "&state=skipped": false,
	} {
		a := s.get("/deliveries?" + query)
		if a.shows(t, http.StatusOK, "/api/v1/deliveries"); strings.Contains(a.text, "Delivery ") != finds {
			t.Errorf("%s finds deliveries: %t", query, !finds)
		}
	}
	for _, wrong := range []string{"state=lost", "destination=x", "saved_search=%00", "page=0", "page=1000000000000", "state=failed&state=failed", "destination=%3Cscript%3E"} {
		a := s.get("/deliveries?" + wrong)
		if a.shows(t, http.StatusBadRequest); strings.Contains(a.body, "<script>") {
			t.Errorf("%s has become markup", wrong)
		}
	}
}

// TestReplay checks that a failed delivery shows every attempt and is replayed under the same ID.
func TestReplay(t *testing.T) {
	s := mustSite(t)
	search := s.mustSaved(wideSearch())
	hookPath, _ := s.mustWebhook(typedWebhook("saved_search", search[16:]))
	failed := s.mustSent(search, hookPath, "The receiver answered 404.")
	path := fmt.Sprint("/deliveries/", failed.ID)
	s.get(path).shows(t, http.StatusOK, "failed", "The receiver answered 404.", "404")
	s.get(hookPath).shows(t, http.StatusOK, "paused", "could not be delivered", "Resume", "failed")
	s.get("/deliveries").shows(t, http.StatusOK, "Notice that "+hook+" is not sent to any more", "the account’s own address")
	s.post(path+"/replay", nil).shows(t, http.StatusConflict, "Nothing is sent to the destination of this message now", "failed")
	s.post(hookPath+"/resume", nil).leads(t)
	if next := s.post(path+"/replay", nil).leads(t); next != path {
		t.Errorf("leads to %s", next)
	}
	s.get(path).shows(t, http.StatusOK, "sent again", "pending", failed.MessageID)
	s.registry.Deliver(t, "")
	s.get(path).shows(t, http.StatusOK, "delivered", failed.MessageID, "The receiver answered 404.", "taken")

	s.post(hookPath+"/replay", nil).leads(t)
	s.get(hookPath).shows(t, http.StatusOK, "Nothing was missed")
	s.post(hookPath+"/pause", nil).leads(t)
	skipped := s.mustRunAgain(search)
	if skipped == 0 {
		t.Fatal("nothing was skipped")
	}
	s.post(hookPath+"/resume", nil).leads(t)
	s.post(hookPath+"/replay", nil).leads(t)
	s.get(hookPath).shows(t, http.StatusOK, "1 message is sent again.")
}

// mustRunAgain runs a search with empty runs enabled and returns the number of skipped deliveries.
func (s *site) mustRunAgain(search string) int {
	s.t.Helper()
	for _, d := range s.destinationsOf(s.as) {
		s.post(d+"/empty", url.Values{"send_empty": {"true"}}).leads(s.t)
	}
	s.mustRun(search)
	list, _, err := s.registry.Deliveries(s.t.Context(), s.browsers.callers[s.as], cola.DeliveryListParams{State: cola.DeliverySkipped})
	if err != nil {
		s.t.Fatal(err)
	}
	return list.Meta.Total
}

func TestTestMessage(t *testing.T) {
	s := mustSite(t)
	path, _ := s.mustWebhook(typedWebhook())
	sent := s.post(path+"/test", nil).leads(t)
	s.get(sent).shows(t, http.StatusOK, "A test message is on its way", "Test message", "pending", "None yet")
	s.registry.Deliver(t, "The receiver answered 404.")
	s.get(sent).shows(t, http.StatusOK, "failed", "The receiver answered 404.")
}

// TestTooManyTestMessages checks that a destination's page explains the limit on test messages and
// when to retry.
func TestTooManyTestMessages(t *testing.T) {
	s := mustSite(t)
	path, _ := s.mustWebhook(typedWebhook())
	for range 10 {
		s.post(path+"/test", nil).leads(t)
	}
	s.post(path+"/test", nil).shows(t, http.StatusTooManyRequests, "limited to 10 test messages a minute", "Try again in 6 seconds")
	s.registry.Pass(6 * time.Second)
	s.post(path+"/test", nil).leads(t)
}

// TestDeliveriesOfOthers checks that another account's delivery is not found.
func TestDeliveriesOfOthers(t *testing.T) {
	s := mustSite(t)
	s.join("bob@example.com", cola.TierFree)
	path, _ := s.mustWebhook(typedWebhook())
	sent := s.post(path+"/test", nil).leads(t)
	bob := s.by("bob@example.com")
	for _, id := range []string{sent, "/deliveries/0", "/deliveries/-1", "/deliveries/01", "/deliveries/x", "/deliveries/99999999999999999999", "/deliveries/%00"} {
		bob.get(id).shows(t, http.StatusNotFound)
		bob.post(id+"/replay", nil).shows(t, http.StatusNotFound)
	}
	bob.get("/deliveries?destination="+path[14:]).shows(t, http.StatusOK, "No delivery is so")
}

// TestDeliveriesOfManySearches checks that a filter that omits some searches says so and how to
// reach the others, and that an omitted one stays selected.
func TestDeliveriesOfManySearches(t *testing.T) {
	s := mustSite(t)
	var last string
	save := func(name string) {
		p := cola.SavedSearchParams{Name: name, Filters: &cola.SavedSearchFilters{}}
		made, _, err := s.registry.CreateSavedSearch(t.Context(), s.browsers.callers[s.as], p)
		if err != nil {
			t.Fatal(err)
		}
		s.registry.Pass(time.Second) // avoids the rate limit; searches are listed oldest first
		last = made.Search.UUID
	}
	for i := range maxSearchOptions {
		save(fmt.Sprint("Search ", i))
	}
	s.get("/deliveries").lacks(t, "to choose from are the first of yours")
	save("Beyond")
	save("Further beyond")
	page := s.get("/deliveries")
	page.shows(t, http.StatusOK, "The saved searches to choose from are the first of yours", `aria-describedby="saved_search-hint"`, "Search 99<")
	page.lacks(t, "eyond<")
	page.wellMade(t)
	own := searchPath(last)
	s.get(own).shows(t, http.StatusOK, "Nothing was sent yet", `href="/deliveries?saved_search=`+last+`">All deliveries of this search`)
	chosen := s.get("/deliveries?saved_search=" + strings.ToUpper(last))
	chosen.shows(t, http.StatusOK, `<option value="`+last+`" selected>Further beyond<`, "The saved searches to choose from are the first of yours", "No delivery is so")
	chosen.lacks(t, ">Beyond<")
	chosen.wellMade(t)
}

// mailless is a service without email over a registry that has it.
type mailless struct{ Service }

func (mailless) SendsMail() bool { return false }

// TestNoMailIsSentHere checks that without email, no page promises an email attempt, and that
// webhook deliveries are unaffected.
func TestNoMailIsSentHere(t *testing.T) {
	s := mustSite(t)
	search := s.mustSaved(wideSearch())
	hookPath, _ := s.mustWebhook(typedWebhook("saved_search", search[16:]))
	s.mustRun(search)
	list, _, err := s.registry.Deliveries(t.Context(), s.browsers.callers[ann], cola.DeliveryListParams{State: cola.DeliveryPending})
	if err != nil || len(list.Rows) != 2 {
		t.Fatalf("%+v, %v", list, err)
	}
	due := map[bool]string{true: "due ", false: "no email is sent here"}
	for _, sends := range []bool{true, false} {
		if !sends {
			s.handler = New(mailless{s.registry.Service}, s.browsers, Options{PublicURL: registrytest.PublicURL, Logger: slog.New(slog.DiscardHandler), Now: s.registry.Now})
		}
		for _, d := range list.Rows {
			said := due[sends || d.Kind == cola.KindWebhook]
			table := s.get("/deliveries?destination=" + d.Destination)
			table.shows(t, http.StatusOK, said)
			table.lacks(t, due[said != "due "])
			page := s.get(fmt.Sprint("/deliveries/", d.ID))
			page.shows(t, http.StatusOK, "Next attempt", "pending")
			if strings.Contains(page.text, "none: no email is sent here") != (said != "due ") {
				t.Errorf("of the %s the page says:\n%s", d.Kind, page.body)
			}
		}
		for path, stuck := range map[string]bool{search: !sends, hookPath: false} {
			if table := cutOut(s.get(path).text, "Latest deliveries", "</table>"); strings.Contains(table, "no email is sent here") != stuck {
				t.Errorf("%s where email is sent: %t:\n%s", path, sends, table)
			}
		}
	}
}
