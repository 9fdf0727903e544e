package dashboard

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/registrytest"
	"github.com/colaregistry/colaregistry/registry"
)

// mustOperatorSite returns a site as seen by its operator.
func mustOperatorSite(t *testing.T) *site {
	t.Helper()
	s := mustSite(t)
	c := s.join(registrytest.Operator, cola.TierFree)
	c.VerifiedEmail = strings.ToUpper(registrytest.Operator)
	s.browsers.callers[registrytest.Operator] = c
	return s.by(registrytest.Operator)
}

// mustCollect leaves an incomplete day and a failed label, both with hostile text as the failure.
func (s *site) mustCollect(last cola.Date) {
	s.t.Helper()
	s.registry.Collect(s.t, last, "<b>412\nof 414</b>\u202e", "500 <script>")
}

// collected returns the state of the collectors.
func (s *site) collected() registry.Collection {
	s.t.Helper()
	c, _, err := s.registry.Collection(s.t.Context(), s.browsers.callers[registrytest.Operator])
	if err != nil {
		s.t.Fatal(err)
	}
	return c
}

// collectionRequests returns the method and path of each operator route.
func collectionRequests() (requests [][2]string) {
	for _, r := range collectionRoutes() {
		requests = append(requests, [2]string{r.method, r.pattern})
	}
	return requests
}

// TestCollectionAccess checks that the pages exist for operators only. For other account holders,
// they look like an unknown page and change nothing.
func TestCollectionAccess(t *testing.T) {
	s := mustOperatorSite(t)
	s.mustCollect(cola.DateOf(s.registry.Now()))
	if err := s.registry.Store.BlockSite(t.Context(), "blocked"); err != nil {
		t.Fatal(err)
	}
	before := s.collected()
	unverified := s.browsers.callers[registrytest.Operator]
	unverified.VerifiedEmail = ""
	s.browsers.callers["unverified"] = unverified
	other := s.browsers.callers[ann]
	other.VerifiedEmail = registrytest.Operator // but the account has a different address
	s.browsers.callers["other"] = other
	for _, who := range []string{ann, "unverified", "other"} {
		s := s.by(who)
		if unknown, page := s.get("/collection/unknown"), s.get("/collection"); page.body != unknown.body || page.StatusCode != unknown.StatusCode {
			t.Errorf("%s: page differs from an unknown page:\n%s", who, page.body)
		}
		for _, request := range collectionRequests() {
			s.send(httptest.NewRequest(request[0], request[1], nil)).shows(t, http.StatusNotFound)
		}
		if strings.Contains(s.get("/coverage").body, "/collection") {
			t.Errorf("%s: navigation links to the page", who)
		}
	}
	signedOut := s.by("")
	if to := signedOut.get("/collection").redirects(t); to != "/sign-in?return=%2Fcollection" {
		t.Errorf("signed out: redirect to %s", to)
	}
	signedOut.post("/collection/resume", nil).shows(t, http.StatusUnauthorized)
	for _, request := range collectionRequests() {
		if request[0] != http.MethodPost {
			continue
		}
		r := httptest.NewRequest(request[0], request[1], nil)
		r.Header.Set("Sec-Fetch-Site", "cross-site")
		s.send(r).shows(t, http.StatusForbidden)
		s.post(request[1], url.Values{accountField: {"1000"}}).shows(t, http.StatusForbidden, "different account")
	}
	if after := s.collected(); after.Blocked == "" || after.LabelsFailed != 1 || after.DaysIncomplete != 1 {
		t.Errorf("status = %+v, want %+v", after, before)
	}
	s.get("/coverage").shows(t, http.StatusOK, `href="/collection"`)
}

// TestCollection checks the page in each state of the collectors.
func TestCollection(t *testing.T) {
	s := mustOperatorSite(t)
	page := func(texts ...string) string {
		t.Helper()
		a := s.get("/collection")
		a.checkHTML(t)
		a.shows(t, http.StatusOK, texts...)
		return a.text
	}
	page("No collector has run yet", "fetch ttb --follow", "300 labels")

	today := cola.DateOf(s.registry.Now())
	s.mustCollect(today)
	text := page(">idle<", "Nov 19, 2026", "<b>412 of 414</b>", "500 <script>", "0 stored labels", `href="/explore/26001001000001"`, "0.5 per second")
	if strings.Contains(text, "\u202e") || strings.Contains(s.get("/collection").body, "<b>412") {
		t.Error("TTB's responses are not shown as plain text")
	}

	s.registry.QueueLabel(t, 26_001_001_000_002)
	page(">running<", "the queued labels", "a minute")
	s.registry.Advance(11 * time.Minute)
	page(">stopped<", "Nov 20, 2026, 12:00 UTC", "fetch ttb --follow")
	if err := s.registry.Store.PauseRequests(t.Context(), time.Hour); err != nil {
		t.Fatal(err)
	}
	if text := page(">paused<", "Nov 20, 2026, 13:11 UTC"); strings.Contains(text, "out of date") {
		t.Error("page is marked out of date on the day of the newest labels")
	}
	s.registry.Advance(6 * 24 * time.Hour) // Thursday; the newest labels are from the previous Friday
	page("out of date", "the newest completion date is")
	if err := s.registry.Store.BlockSite(t.Context(), "a page\nwith <b>ID</b>"); err != nil {
		t.Fatal(err)
	}
	page("Blocked by TTB", "a page with <b>ID</b>", "Nov 26, 2026, 12:11 UTC", `href="/collection/resume"`)
}

// TestCollectionUpdates checks that an open page updates itself for a while, and that it shows
// when the session has ended.
func TestCollectionUpdates(t *testing.T) {
	s := mustOperatorSite(t)
	update := func(path string) response {
		r := httptest.NewRequest(http.MethodGet, path, nil)
		r.Header.Set("Hx-Request", "true")
		return s.send(r)
	}
	s.get("/collection").shows(t, http.StatusOK, "<h1>", "</nav>", `hx-get="/collection?updates=120"`)
	a := update("/collection?updates=120")
	a.shows(t, http.StatusOK, `hx-get="/collection?updates=119"`)
	if strings.Contains(a.body, "</nav>") {
		t.Error("update contains the navigation")
	}
	for _, last := range []string{"1", "0", "-5", "x", ""} {
		if a := update("/collection?updates=" + last); a.StatusCode != http.StatusOK || strings.Contains(a.body, "hx-get") {
			t.Errorf("after update %q: %s", last, a.body)
		}
	}
	update("/collection?updates=9999999").shows(t, http.StatusOK, `hx-get="/collection?updates=120"`)
	s = s.by("")
	update("/collection?updates=9").shows(t, http.StatusOK, "You’re signed out")
}

// TestCollectionActions checks that the operator can resume requests, and retry days and labels.
func TestCollectionActions(t *testing.T) {
	s := mustOperatorSite(t)
	s.mustCollect(cola.DateOf(s.registry.Now()))
	if to := s.get("/collection/resume").redirects(t); to != "/collection" {
		t.Errorf("without a block: redirect to %s", to)
	}
	if err := s.registry.Store.BlockSite(t.Context(), "support ID 47"); err != nil {
		t.Fatal(err)
	}
	a := s.get("/collection/resume")
	a.checkHTML(t)
	a.shows(t, http.StatusOK, "support ID 47", "permanent", "Resume requests")
	if s.collected().Blocked == "" {
		t.Error("the confirmation page cleared the block")
	}
	for _, action := range []string{"resume", "retry-days", "retry-labels"} {
		if to := s.post("/collection/"+action, nil).redirects(t); to != "/collection" {
			t.Errorf("%s: redirect to %s", action, to)
		}
		s.get("/collection").shows(t, http.StatusOK, `role="status"`)
	}
	c := s.collected()
	if c.Blocked != "" || c.DaysIncomplete != 0 || c.DaysPending != 1 || c.DaysComplete != 1 || c.LabelsFailed != 0 || c.LabelsQueued != 1 {
		t.Errorf("state = %+v, want no block, and a pending day and label", c)
	}
}

func TestAboutDuration(t *testing.T) {
	for d, want := range map[time.Duration]string{
		time.Second: "a minute", 119 * time.Second: "a minute", 2 * time.Minute: "2 minutes", 119 * time.Minute: "119 minutes",
		150 * time.Minute: "3 hours", 47 * time.Hour: "47 hours", 60 * time.Hour: "3 days", 1200 * 24 * time.Hour: "1,200 days",
	} {
		if got := aboutDuration(d); got != want {
			t.Errorf("aboutDuration(%v) = %q, want %q", d, got, want)
		}
	}
}
