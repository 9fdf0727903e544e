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
	"github.com/colaregistry/colaregistry/registry"
)

// mustDeliver runs a search, delivers the result with an optional fault, and returns the delivery
// to a destination.
func (s *site) mustDeliver(search, destination, fault string) cola.Delivery {
	s.t.Helper()
	s.mustRun(search)
	s.registry.Deliver(s.t, fault)
	list, _, err := s.registry.Deliveries(s.t.Context(), s.browsers.callers[s.as],
		cola.DeliveryListParams{Destination: strings.TrimPrefix(destination, "/destinations/")})
	for _, d := range list.Rows {
		if d.Event == cola.EventRan {
			return d
		}
	}
	s.t.Fatalf("no run delivery in %+v, %v", list, err)
	return cola.Delivery{}
}

// wideSearch matches some of the new labels.
func wideSearch() url.Values {
	return typedSearch("filters.type_malt_beverage", "true", "filters.abv_max", "99")
}

func TestDeliveries(t *testing.T) {
	s := mustSite(t)
	s.get("/deliveries").shows(t, http.StatusOK, `class="empty"`)
	search := s.mustSave(wideSearch())
	hookPath, _ := s.mustWebhook(typedWebhook("saved_search", search[16:]))
	delivery := s.mustDeliver(search, hookPath, "")
	page := s.get(fmt.Sprint("/deliveries/", delivery.ID))
	page.shows(t, http.StatusOK, "Run 1 · “All wine”", "delivered", hook, delivery.MessageID, "204", search+"/runs/1",
		fmt.Sprintf(`action="/deliveries/%d/replay"`, delivery.ID))
	page.checkHTML(t)
	s.get("/deliveries").shows(t, http.StatusOK, "Run 1 · “All wine”", hook, ann, "delivered")
	s.get(search).shows(t, http.StatusOK, "Run 1 · “All wine”", "/deliveries?saved_search=")
	for query, finds := range map[string]bool{
		"state=delivered": true, "state=Delivered": true, "state=failed": false, "destination=" +
			hookPath[14:]: true, "saved_search=" + search[16:]: true, "state=&destination=&saved_search=": true,
		"destination=0b9f8c0e-6a55-4f0e-9a39-2f1f0f9f6d11": false, "destination=" + hookPath[14:] +
			"&state=skipped": false,
	} {
		a := s.get("/deliveries?" + query)
		a.shows(t, http.StatusOK, "/api/v1/deliveries")
		if strings.Contains(a.text, "Delivery ") != finds {
			t.Errorf("%s: deliveries found: %t, want %t", query, !finds, finds)
		}
	}
	for _, wrong := range []string{
		"state=lost", "destination=x", "saved_search=%00", "page=0", "page=1000000000000",
		"state=failed&state=failed", "destination=%3Cscript%3E",
	} {
		a := s.get("/deliveries?" + wrong)
		a.shows(t, http.StatusBadRequest)
		if strings.Contains(a.body, "<script>") {
			t.Errorf("%s was not escaped", wrong)
		}
	}
}

// TestReplay checks that a failed delivery shows every attempt and is replayed under the same ID.
func TestReplay(t *testing.T) {
	s := mustSite(t)
	search := s.mustSave(wideSearch())
	hookPath, _ := s.mustWebhook(typedWebhook("saved_search", search[16:]))
	failed := s.mustDeliver(search, hookPath, "The receiver responded with status 404.")
	path := fmt.Sprint("/deliveries/", failed.ID)
	s.get(path).shows(t, http.StatusOK, "failed", "The receiver responded with status 404.", "404")
	s.get(hookPath).shows(t, http.StatusOK, "paused", hookPath+"/resume", "failed")
	s.get("/deliveries").shows(t, http.StatusOK, "Alerts paused for "+hook, ownAddressName)
	s.post(path+"/replay", nil).shows(t, http.StatusConflict, `role="alert"`, hookPath, "failed")
	s.post(hookPath+"/resume", nil).redirects(t)
	if next := s.post(path+"/replay", nil).redirects(t); next != path {
		t.Errorf("redirect to %s, want %s", next, path)
	}
	s.get(path).shows(t, http.StatusOK, `class="notice"`, "pending", failed.MessageID)
	s.registry.Deliver(t, "")
	s.get(path).shows(t, http.StatusOK, "delivered", failed.MessageID, "The receiver responded with status 404.")

	s.post(hookPath+"/replay", nil).redirects(t)
	s.get(hookPath).shows(t, http.StatusOK, `class="notice"`, "no missed messages")
	s.post(hookPath+"/pause", nil).redirects(t)
	skipped := s.mustRunAgain(search)
	if skipped == 0 {
		t.Fatal("no skipped deliveries")
	}
	s.post(hookPath+"/resume", nil).redirects(t)
	s.post(hookPath+"/replay", nil).redirects(t)
	s.get(hookPath).shows(t, http.StatusOK, `class="notice"`, "1 message.")
}

// mustRunAgain turns on messages about empty runs, runs a search, and returns the number of skipped
// deliveries.
func (s *site) mustRunAgain(search string) int {
	s.t.Helper()
	for _, d := range s.destinationsOf(s.as) {
		s.post(d+"/empty", url.Values{"send_empty": {"true"}}).redirects(s.t)
	}
	s.mustRun(search)
	list, _, err := s.registry.Deliveries(s.t.Context(), s.browsers.callers[s.as],
		cola.DeliveryListParams{State: cola.DeliverySkipped})
	if err != nil {
		s.t.Fatal(err)
	}
	return list.Meta.Total
}

func TestTestMessage(t *testing.T) {
	s := mustSite(t)
	path, _ := s.mustWebhook(typedWebhook())
	next := s.post(path+"/test", nil).redirects(t)
	s.get(next).shows(t, http.StatusOK, `class="notice"`, "Test message", "pending")
	s.registry.Deliver(t, "The receiver responded with status 404.")
	s.get(next).shows(t, http.StatusOK, "failed", "The receiver responded with status 404.")
}

// TestTooManyTestMessages checks that a destination's page explains the limit on test messages and
// when to retry.
func TestTooManyTestMessages(t *testing.T) {
	s := mustSite(t)
	path, _ := s.mustWebhook(typedWebhook())
	for range 10 {
		s.post(path+"/test", nil).redirects(t)
	}
	s.post(path+"/test", nil).shows(t, http.StatusTooManyRequests, `role="alert"`, "10", "6 seconds")
	s.registry.Advance(6 * time.Second)
	s.post(path+"/test", nil).redirects(t)
}

// TestForeignDeliveries checks that another account's delivery is not found.
func TestForeignDeliveries(t *testing.T) {
	s := mustSite(t)
	s.join("bob@example.com", cola.TierFree)
	path, _ := s.mustWebhook(typedWebhook())
	next := s.post(path+"/test", nil).redirects(t)
	bob := s.by("bob@example.com")
	for _, id := range []string{
		next, "/deliveries/0", "/deliveries/-1", "/deliveries/01", "/deliveries/x",
		"/deliveries/99999999999999999999", "/deliveries/%00",
	} {
		bob.get(id).shows(t, http.StatusNotFound)
		bob.post(id+"/replay", nil).shows(t, http.StatusNotFound)
	}
	bob.get("/deliveries?destination="+path[14:]).shows(t, http.StatusOK, `class="empty"`)
}

// TestDeliveryFilterLimit checks that a filter that omits some searches says so, explains how to
// reach the others, and keeps an omitted one selected.
func TestDeliveryFilterLimit(t *testing.T) {
	s := mustSite(t)
	var last string
	save := func(name string) {
		p := cola.SavedSearchParams{Name: name, Filters: &cola.SavedSearchFilters{}}
		created, _, err := s.registry.CreateSavedSearch(t.Context(), s.browsers.callers[s.as], p)
		if err != nil {
			t.Fatal(err)
		}
		s.registry.Advance(time.Second) // avoids the rate limit; searches are listed oldest first
		last = created.Search.UUID
	}
	for i := range maxSearchOptions {
		save(fmt.Sprint("Search ", i))
	}
	s.get("/deliveries").lacks(t, `id="saved_search-hint"`)
	save("Beyond")
	save("Further beyond")
	page := s.get("/deliveries")
	page.shows(t, http.StatusOK, `id="saved_search-hint"`, `aria-describedby="saved_search-hint"`, "Search 99<")
	page.lacks(t, "eyond<")
	page.checkHTML(t)
	own := searchPath(last)
	s.get(own).shows(t, http.StatusOK, `href="/deliveries?saved_search=`+last+`"`)
	chosen := s.get("/deliveries?saved_search=" + strings.ToUpper(last))
	chosen.shows(t, http.StatusOK, `<option value="`+last+`" selected>Further beyond<`, `id="saved_search-hint"`,
		`class="empty"`)
	chosen.lacks(t, ">Beyond<")
	chosen.checkHTML(t)
}

// noMail wraps a Service and reports that email isn't set up.
type noMail struct{ Service }

func (noMail) DestinationRules() cola.DestinationRules { return cola.DestinationRules{} }

// TestWithoutEmail checks that without email, no page promises an email attempt, and that
// webhook deliveries are unaffected.
func TestWithoutEmail(t *testing.T) {
	s := mustSite(t)
	search := s.mustSave(wideSearch())
	hookPath, _ := s.mustWebhook(typedWebhook("saved_search", search[16:]))
	s.mustRun(search)
	list, _, err := s.registry.Deliveries(t.Context(), s.browsers.callers[ann],
		cola.DeliveryListParams{State: cola.DeliveryPending})
	if err != nil || len(list.Rows) != 2 {
		t.Fatalf("Deliveries = %+v, %v; want 2", list, err)
	}
	const scheduled, withoutMail = "scheduled ", "email isn’t set up"
	for _, sends := range []bool{true, false} {
		if !sends {
			s.handler = New(noMail{s.registry.Service}, s.browsers,
				Options{PublicURL: registrytest.PublicURL, Logger: slog.New(slog.DiscardHandler), Now: s.registry.Now})
		}
		for _, d := range list.Rows {
			want, other := withoutMail, scheduled
			if sends || d.Kind == cola.KindWebhook {
				want, other = scheduled, withoutMail
			}
			table := s.get("/deliveries?destination=" + d.Destination)
			table.shows(t, http.StatusOK, want)
			table.lacks(t, other)
			page := s.get(fmt.Sprint("/deliveries/", d.ID))
			page.shows(t, http.StatusOK, "Next attempt", "pending")
			if strings.Contains(page.text, "None: email isn’t set up") != (want == withoutMail) {
				t.Errorf("%s, email set up: %t:\n%s", d.Kind, sends, page.body)
			}
		}
		for path, stuck := range map[string]bool{search: !sends, hookPath: false} {
			table := cutOut(s.get(path).text, "Recent deliveries", "</table>")
			if strings.Contains(table, withoutMail) != stuck {
				t.Errorf("%s, email set up: %t:\n%s", path, sends, table)
			}
		}
	}
}

// TestUnservedDestinations checks that a destination that the server doesn't send to is marked on
// every page and offers no action that would send, and that the form doesn't offer email.
func TestUnservedDestinations(t *testing.T) {
	s := mustSite(t)
	search := s.mustSave(wideSearch())
	own := s.destinationsOf(ann)[0]
	s.get("/destinations").lacks(t, "unavailable")
	s.get(own).shows(t, http.StatusOK, own+"/test", own+"/replay")
	s.handler = New(noMail{s.registry.Service}, s.browsers,
		Options{PublicURL: registrytest.PublicURL, Logger: slog.New(slog.DiscardHandler), Now: s.registry.Now})
	for _, page := range []string{"/destinations", own, search} {
		s.get(page).shows(t, http.StatusOK, `<span class="state bad">unavailable`)
	}
	s.get(own).lacks(t, own+"/test", own+"/replay")
	s.get("/").lacks(t, `id="failing"`)
	s.get("/destinations/new").shows(t, http.StatusOK, `value="email" disabled`)
}

// TestTruncatedDelivery checks that a delivery's page says whether the message is complete,
// wherever the recorded part ends.
func TestTruncatedDelivery(t *testing.T) {
	for sent, truncated := range map[string]bool{
		strings.Repeat("é", registrytest.MaxSent/2):               false,
		strings.Repeat("é", registrytest.MaxSent/2) + "x":         true,
		"x" + strings.Repeat("é", registrytest.MaxSent/2):         true,
		"x" + strings.Repeat("é", registrytest.MaxSent/2-1):       false,
		"xx" + strings.Repeat("\U0001F377", registrytest.MaxSent): true,
	} {
		s := mustSite(t)
		search := s.mustSave(wideSearch())
		s.mustRun(search)
		s.registry.Exchange = registry.Exchange{Sent: sent}
		s.registry.Deliver(t, "")
		list, _, err := s.registry.Deliveries(t.Context(), s.browsers.callers[ann], cola.DeliveryListParams{})
		if err != nil || len(list.Rows) != 1 {
			t.Fatalf("Deliveries = %+v, %v, want 1", list, err)
		}
		page := s.get(fmt.Sprint("/deliveries/", list.Rows[0].ID))
		if says := strings.Contains(page.body, "Only the start was recorded"); says != truncated {
			t.Errorf("%d bytes: page says that the message is truncated: %t", len(sent), says)
		}
	}
}

// TestDeliveryContent checks that a delivery's page shows what was sent and received, formatted and
// escaped.
func TestDeliveryContent(t *testing.T) {
	s := mustSite(t)
	search := s.mustSave(wideSearch())
	s.mustWebhook(typedWebhook("saved_search", search[16:]))
	s.mustRun(search)
	const evil = "<script>window.struck = true</script>\u202e"
	payload := `{"type":"saved_search.ran","name":"\u003c/code\u003e` + evil + `"}`
	s.registry.Exchange = registry.Exchange{Subject: "Subject " + evil, Sent: payload, Headers: "Server: " + evil, Response: "body " + evil}
	list, _, err := s.registry.Deliveries(t.Context(), s.browsers.callers[ann], cola.DeliveryListParams{State: cola.DeliveryPending})
	if err != nil || len(list.Rows) != 2 {
		t.Fatalf("Deliveries = %+v, %v, want 2", list, err)
	}
	for _, d := range list.Rows {
		path := fmt.Sprint("/deliveries/", d.ID)
		s.get(path).shows(t, http.StatusOK, path+"?updates=150")
		s.update(path+"?updates=1").lacks(t, "hx-get", "<html")
	}
	s.registry.Deliver(t, "")
	for _, d := range list.Rows {
		page := s.get(fmt.Sprint("/deliveries/", d.ID))
		page.checkHTML(t)
		page.shows(t, http.StatusOK, "Server: ", "body ")
		page.lacks(t, "hx-get")
		if strings.Contains(page.body, "<script>window") {
			t.Errorf("%s: not escaped:\n%s", d.Kind, page.body)
		}
		formatted := strings.Contains(page.text, "\n  &quot;type&quot;") || strings.Contains(page.text, "\n  \"type\"")
		if webhook := d.Kind == cola.KindWebhook; formatted != webhook || strings.Contains(page.text, payload) != webhook ||
			strings.Contains(page.text, "Subject <") == webhook {
			t.Errorf("%s: formatted %t:\n%s", d.Kind, formatted, page.text)
		}
	}
}
