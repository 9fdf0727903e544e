package browser

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/colaregistry/colaregistry/auth"
	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/cola/vocabulary"
	"github.com/colaregistry/colaregistry/dashboard"
	"github.com/colaregistry/colaregistry/httpapi"
	"github.com/colaregistry/colaregistry/internal/keyring"
	"github.com/colaregistry/colaregistry/internal/registrytest"
	"github.com/colaregistry/colaregistry/internal/web"
	"github.com/colaregistry/colaregistry/mcp"
	publicsite "github.com/colaregistry/colaregistry/site"
)

// allHistory is a date before the approval of any label.
var allHistory = cola.DateOf(time.Date(2005, time.January, 1, 0, 0, 0, 0, time.UTC))

// ann is the email address of a site's account holder.
const ann = "ann@example.com"

// site is a small registry with a dashboard and a REST API. The registry's clock is frozen, and the
// browser reaches the site at the public URL.
type site struct {
	t        *testing.T
	registry *registrytest.Registry
	browser  context.Context
	holder   cola.Caller // Ann
}

// newSite starts a site in front of a new registry.
func newSite(t *testing.T) *site {
	t.Helper()
	s := &site{t: t, registry: registrytest.NewSelling(t)}
	server := httptest.NewTLSServer(s.handler())
	t.Cleanup(server.Close)
	host := strings.TrimPrefix(registrytest.PublicURL, "https://")
	s.browser = newChromium(t, "MAP "+host+":443 "+strings.TrimPrefix(server.URL, "https://"))
	return s
}

// handler returns the program's handler.
func (s *site) handler() http.Handler {
	s.t.Helper()
	quiet := slog.New(slog.DiscardHandler)
	keys, err := keyring.Parse([]byte(keyring.NewKey()))
	if err != nil {
		s.t.Fatal(err)
	}
	browsers, err := auth.NewBrowsers(auth.BrowserOptions{
		Store: s.registry.Store, Attempts: keys.Box("sign-in attempt"), PublicURL: registrytest.PublicURL,
		Now: s.registry.Now, OnFault: dashboard.ShowSessionError,
		SendLink: func(context.Context, auth.LinkMail) error { return nil }, SignUp: true,
	})
	if err != nil {
		s.t.Fatal(err)
	}
	rest := httpapi.New(s.registry.Service, auth.New(s.registry.Store, nil, nil),
		httpapi.Options{PublicURL: registrytest.PublicURL, Logger: quiet})
	assistants := mcp.New(s.registry.Service, auth.New(s.registry.Store, nil, nil), mcp.Options{
		PublicURL: registrytest.PublicURL, Logger: quiet, Now: s.registry.Now,
		Hosts: []string{strings.TrimPrefix(registrytest.PublicURL, "https://")}, Origins: []string{registrytest.PublicURL},
	})
	operator := web.Operator{Name: "Example Inc.", Contact: "ops@example.com"}
	public := publicsite.New(publicsite.Options{
		PublicURL: registrytest.PublicURL, Reference: rest.Reference, Service: s.registry.Service, Answers: rest.Answers,
		Operator: operator, SignUp: true, Billing: true, RequestLogDays: 7, Logger: quiet, Now: s.registry.Now,
	})
	pages := dashboard.New(s.registry.Service, browsers, dashboard.Options{
		PublicURL: registrytest.PublicURL, API: rest.ServeAs, Landing: public.Landing, NotFound: public.NotFound, Frame: public.Frame, Operator: operator, SignInByEmail: true, SignUp: true, SellsPlans: true,
		Logger: quiet, Now: s.registry.Now,
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case publicsite.Handles(r.URL.Path):
			public.ServeHTTP(w, r)
		case mcp.Handles(r.URL.Path):
			assistants.ServeHTTP(w, r)
		case dashboard.Handles(r.URL.Path), !httpapi.Handles(r.URL.Path):
			pages.ServeHTTP(w, r)
		default:
			rest.ServeHTTP(w, r)
		}
	})
}

// link returns a sign-in link for an account.
func (s *site) link(email string) string {
	s.t.Helper()
	account, err := s.registry.Store.AccountByEmail(s.t.Context(), email)
	if err != nil {
		s.t.Fatal(err)
	}
	token, hash := auth.NewSignInLink()
	if err := s.registry.Store.CreateSignInLink(s.t.Context(), account.ID, hash, 15*time.Minute); err != nil {
		s.t.Fatal(err)
	}
	return registrytest.PublicURL + auth.SignInLinkPath + token
}

// signIn opens a tab in a separate browser context, signed in to an account.
func (s *site) signIn(email string) *tab {
	s.t.Helper()
	b := newTab(s.t, s.browser, true)
	b.open(s.link(email))
	b.click("main form button")
	if at := b.at(); at != registrytest.PublicURL+"/" {
		s.t.Fatalf("link redirects to %s", at)
	}
	return b
}

// recordIDs are the IDs of the records in page paths.
type recordIDs struct {
	Key, Label, Permittee, Search, Run, Destination, Delivery, App, EndedApp, Request string
}

// addHistory gives Ann an account with a history: keys, apps, usage over several months, a search
// with a run, a destination, a subscription, and refused requests.
func (s *site) addHistory() (ids recordIDs) {
	t, r := s.t, s.registry
	t.Helper()
	r.Advance(-75 * 24 * time.Hour)
	s.holder = r.Holder(t, ann, cola.TierStarter)
	r.Identity(t, s.holder.Account, "https://issuer.example", "ann")
	laptop, nightly := r.Key(t, s.holder.Account, "Laptop"), r.Key(t, s.holder.Account, "Nightly import")
	app := r.App(t, s.holder.Account, "Label watcher")
	ids.Key, ids.App = fmt.Sprint(laptop.Credential.ID), fmt.Sprint(app.Credential.ID)
	for range 3 {
		if _, err := r.RevokeKey(t.Context(), s.holder, r.Key(t, s.holder.Account, "Trial").Credential.ID); err != nil {
			t.Fatal(err)
		}
	}
	endedApp := r.App(t, s.holder.Account, "Price list")
	if _, err := r.RevokeConnection(t.Context(), s.holder, endedApp.Credential.ID); err != nil {
		t.Fatal(err)
	}
	ids.EndedApp = fmt.Sprint(endedApp.Credential.ID)

	search := s.mustSave("New wines from France", cola.SavedSearchFilters{
		TypeWine:       cola.Some(true),
		OriginImported: cola.Some(true),
	}, true)
	ids.Search = search.UUID
	s.mustSave("Lagers in cans", cola.SavedSearchFilters{Query: "lager", ContainerCan: cola.Some(true)}, false)
	ids.Destination = r.Endpoint(t, s.holder.Account, "https://hooks.example.com/labels")

	label := s.use(laptop, nightly, app)
	ids.Label, ids.Permittee = label.TTBID.String(), label.PermitNumber
	r.AddNewLabels(t, 120)
	r.RunDue(t)
	s.readResults(ids.Search, &ids)
	s.recordImports()
	s.subscribe()
	ids.Request = s.recordRequests(laptop, app)
	return ids
}

// subscribe gives Ann a subscription to her plan.
func (s *site) subscribe() {
	s.t.Helper()
	if _, _, err := s.registry.ChangePlan(s.t.Context(), s.holder, cola.TierStarter); err != nil {
		s.t.Fatal(err)
	}
	s.registry.Stripe.Subscribe(s.registry.Stripe.Customers()[0], "starter_monthly")
}

// recordRequests records a few requests, counts further requests as left out, and returns the ID of
// an invalid request.
func (s *site) recordRequests(key, app cola.Caller) (invalid string) {
	s.t.Helper()
	list := cola.LoggedRequest{
		RequestID: "SPGUJBKPOA2LWOBRJHX3B4BTQC", Method: "GET", Target: "/api/v1/colas", Input: "q=cabernet&origin=france&per_page=20",
		Status: 200, Duration: 3_400 * time.Microsecond, Meter: cola.MeterListRecords, Units: 20,
	}
	rejected := list
	rejected.Input, rejected.Status, rejected.Code, rejected.Meter, rejected.Units = "orign=france&per_page=500", 400, cola.CodeValidation, cola.MeterNone, 0
	rejected.Answer = `{"error":{"code":"validation_error","message":"Invalid parameters: orign, per_page. See details.",` +
		`"details":{"orign":["Unknown parameter; did you mean origin?"],"per_page":["500 is too large; use 1 to 100."]}}}`
	call := list
	call.Method, call.Target, call.Input, call.Meter, call.Units = "tools/call", "get_cola", `{"ttb_id":"26201001000902"}`, cola.MeterDetailViews, 1
	for range 3 {
		s.registry.RecordRequest(s.t, key, list)
		s.registry.RecordRequest(s.t, app, call)
		invalid = fmt.Sprint(s.registry.RecordRequest(s.t, key, rejected))
	}
	s.registry.LeaveOut(s.t, s.holder.Account, 1_204, 3)
	return invalid
}

// recordImports records a complete import, and one that failed after an earlier success.
func (s *site) recordImports() {
	s.t.Helper()
	at := cola.TimestampOf(s.registry.Now().Add(-6 * time.Hour))
	permits := cola.Import{Kind: "permittees", StartedAt: at - 8e6, FinishedAt: at, Read: 21_480, Changed: 12, Unchanged: 21_468}
	failed := permits
	failed.StartedAt, failed.FinishedAt, failed.Failed = at+60e6, at+61e6, true
	failed.Read, failed.Changed, failed.Unchanged = 300, 0, 300
	for _, i := range []cola.Import{
		{Kind: "colas", StartedAt: at - 40e6, FinishedAt: at, Read: 427, Added: 424, Unchanged: 1, Rejected: 2}, permits, failed,
	} {
		if err := s.registry.Store.RecordImport(s.t.Context(), i); err != nil {
			s.t.Fatal(err)
		}
	}
}

// mustSave creates a saved search for Ann.
func (s *site) mustSave(name string, filters cola.SavedSearchFilters, active bool) cola.SavedSearch {
	s.t.Helper()
	search, _, err := s.registry.CreateSavedSearch(s.t.Context(), s.holder, cola.SavedSearchParams{
		Name: name, Filters: &filters, Schedule: &cola.ScheduleParams{
			Cadence: cola.CadenceDaily,
			Active:  cola.Some(active),
		},
	})
	if err != nil {
		s.t.Fatal(err)
	}
	return search.Search
}

// use makes the callers request labels every day until registrytest.StartTime, makes nightly exceed
// the rate limit, and returns a label.
func (s *site) use(laptop, nightly, app cola.Caller) (label cola.ColaSummary) {
	t, r := s.t, s.registry
	t.Helper()
	list := func(c cola.Caller, n int) {
		page, _, err := r.SearchColas(t.Context(), c, cola.SearchParams{
			Status:           vocabulary.StatusApproved,
			ApprovalDateFrom: allHistory,
			PerPage:          cola.Some(n),
		})
		if err != nil && cola.CodeOf(err) != cola.CodeQuotaExceeded {
			t.Fatal(err)
		}
		if len(page.Colas) > 0 {
			label = page.Colas[0]
		}
	}
	for day := 0; r.Now().Before(registrytest.StartTime); day++ {
		list(laptop, 10+day*7%60)
		if day%2 == 0 {
			list(nightly, 100)
		}
		for range day % 4 {
			if _, _, err := r.Cola(t.Context(), app, label.TTBID.String(), ""); err != nil {
				t.Fatal(err)
			}
		}
		r.Advance(24 * time.Hour)
	}
	for range cola.TierStarter.Limits().PerMinute + 3 {
		list(nightly, 1)
	}
	r.Advance(2 * time.Minute)
	return label
}

// readResults stores the IDs of the search's latest run and delivery.
func (s *site) readResults(search string, ids *recordIDs) {
	s.t.Helper()
	runs, _, err := s.registry.SavedSearchRuns(s.t.Context(), s.holder, search, cola.SavedSearchListParams{})
	if err != nil || len(runs.Rows) == 0 {
		s.t.Fatalf("%d runs, %v", len(runs.Rows), err)
	}
	deliveries, _, err := s.registry.Deliveries(s.t.Context(), s.holder, cola.DeliveryListParams{})
	if err != nil || len(deliveries.Rows) == 0 {
		s.t.Fatalf("%d deliveries, %v", len(deliveries.Rows), err)
	}
	ids.Run, ids.Delivery = fmt.Sprint(runs.Rows[0].ID), fmt.Sprint(deliveries.Rows[0].ID)
}

// pages lists an account's pages with the names of their screenshots.
func (h recordIDs) pages() []namedPage {
	permittee := "/explore/permittees/" + url.PathEscape(h.Permittee)
	search, destination := "/saved-searches/"+h.Search, "/destinations/"+h.Destination
	return []namedPage{
		{"overview", "/", 200}, {"keys", "/keys", 200}, {"key-new", "/keys/new", 200},
		{"key-edit", "/keys/" + h.Key + "/edit", 200},
		{"key-rotate", "/keys/" + h.Key + "/rotate", 200}, {"key-revoke", "/keys/" + h.Key + "/revoke", 200},
		{"usage", "/usage", 200}, {"usage-year", "/usage?unit=requests&group_by=source&range=12m", 200}, {"coverage", "/coverage", 200}, {"plans", "/plans", 200}, {"plan-return", "/plans/return?plan=pro&check=10", 200}, {"apps", "/apps", 200},
		{"account-delete", "/account/delete", 200},
		{"identity-remove", "/account/identities/remove?issuer=https%3A%2F%2Fissuer.example&subject=ann", 200},
		{"app-revoke", "/apps/" + h.App + "/revoke", 200}, {"account", "/account", 200}, {"setup", "/setup", 200},
		{"searches", "/saved-searches", 200}, {"search-new", "/saved-searches/new", 200}, {"search", search, 200},
		{"search-edit", search + "/edit", 200}, {"search-delete", search + "/delete", 200},
		{"run", search + "/runs/" + h.Run, 200},
		{"run-labels", search + "/runs/" + h.Run + "/labels", 200}, {"destinations", "/destinations", 200}, {"destination-new", "/destinations/new", 200},
		{"destination", destination, 200}, {"deliveries", "/deliveries", 200},
		{"delivery", "/deliveries/" + h.Delivery, 200},
		{"explore", "/explore", 200},
		{"explore-found", "/explore?product_type=wine&date_range=all", 200}, {"label", "/explore/" + h.Label, 200}, {"permittee", permittee, 200},
		{"brands", "/brands", 200}, {"brands-found", "/brands?q=Ridge", 200}, {"trends", "/trends", 200},
		{"trends-bars", "/trends?group_by=year&group_by=product_type&date_range=all", 200},
		{"trends-lines", "/trends?group_by=month&group_by=product_type&date_range=all", 200},
		{"trends-ranking", "/trends?group_by=permit&group_by=product_type&date_range=all", 200},
		{"explore-note", "/explore?q=rvers&origin=frrance", 200}, {"explore-gallery", "/explore?date_range=all&view=gallery", 200},
		{"permittees", "/explore/permittees?q=", 200}, {"barcodes", "/explore/barcodes", 200}, {"avas", "/explore/avas?state=CA", 200},
		{"reports", "/explore/production-reports", 200}, {"times", "/explore/processing-times", 200},
		{"times-formula", "/explore/processing-times/formula", 200}, {"times-registration", "/explore/processing-times/registration", 200},
		{"keys-ended", "/keys/ended", 200}, {"usage-refusals", "/usage/refusals", 200},
		{"requests", "/requests", 200}, {"request", "/requests/" + h.Request, 200},
		{"app-restore", "/apps/" + h.EndedApp + "/restore", 200},
		{"search-feed", search + "/feed", 200}, {"search-feed-end", search + "/feed/end", 200},
		{"search-explain", search + "/explain?ttb_id=" + h.Label, 200},
		{"destination-secret", destination + "/secret", 200}, {"destination-delete", destination + "/delete", 200},
		{"not-found", "/keys/999999/revoke", 404},
	}
}

// docsPages lists one documentation page of each kind. TestPublicPages opens all of them.
func docsPages() []namedPage {
	return []namedPage{
		{"docs", "/docs", 200}, {"docs-guide", "/docs/search", 200}, {"docs-reference", "/docs/reference", 200},
		{"docs-section", "/docs/reference/permittees", 200}, {"docs-tools", "/docs/tools/permittees", 200},
		{"docs-find", "/docs/find?q=cursor", 200},
		{"docs-find-nothing", "/docs/find?q=xyzzy", 200}, {"docs-missing", "/docs/missing", 404},
	}
}

// pagesFromOtherSite lists charged pages to open through cross-site links. These pages ask for
// confirmation first.
func (h recordIDs) pagesFromOtherSite() []namedPage {
	return []namedPage{
		{"explore-ask", "/explore?q=red&product_type=wine", 200}, {"label-ask", "/explore/" + h.Label, 200},
	}
}

// namedPage is a page with the name of its screenshots and its expected status.
type namedPage struct {
	name, path string
	status     int
}
