package dashboard

import (
	"context"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/registrytest"
	"github.com/colaregistry/colaregistry/registry"
)

// TestOverview checks the overview of a new account and of one with exhausted quotas.
func TestOverview(t *testing.T) {
	s := mustSite(t)
	const bob = "bob@example.com"
	holder := s.join(bob, cola.TierFree)
	fresh := s.by(bob).get("/")
	fresh.shows(t, http.StatusOK, "0 of 200", "0 of 10,000", `data-empty="searches"`, "Dec 1, 2026, 00:00 UTC")
	fresh.lacks(t, `class="warning"`, `class="spark"`)
	fresh.checkHTML(t)

	key := s.registry.Key(t, holder.Account, "laptop")
	page, _, err := s.registry.SearchColas(t.Context(), key, cola.SearchParams{PerPage: cola.Some(1)})
	if err != nil {
		t.Fatal(err)
	}
	label := page.Colas[0].TTBID.String()
	for range 200 {
		s.registry.Advance(time.Minute)
		if _, _, err := s.registry.Cola(t.Context(), key, label, ""); err != nil {
			t.Fatal(err)
		}
	}
	used := s.by(bob).get("/")
	used.shows(t, http.StatusOK, "200 of 200", `class="warning"`, `href="/plans"`, `class="spark"`,
		"200 detail views in total; peak of 200 on Nov 20.", `<th scope="row">Nov 20</th><td>200</td>`)
	used.checkHTML(t)
}

// TestOverviewAfterDowngrade checks that usage from a larger plan is not shown as more than the
// limit.
func TestOverviewAfterDowngrade(t *testing.T) {
	s := mustSite(t)
	r := fullReport("x")
	r.State.Tier, r.State.Limits = cola.TierFree, cola.TierFree.Limits()
	r.State.Used.DetailViews, r.Days = 205, []registry.Usage{{DetailViews: 205}}
	s.setReport(r)
	for _, path := range []string{"/", "/usage"} {
		a := s.get(path)
		a.shows(t, http.StatusOK, "200 of 200", "5 more")
		a.lacks(t, "205 of 200")
		a.checkHTML(t)
	}
}

// TestFirstSteps checks that each step's link disappears once the step is done, and that the
// checklist disappears with the last one.
func TestFirstSteps(t *testing.T) {
	s := mustSite(t)
	links := map[string]bool{`href="/keys/new"`: true, `href="/setup"`: true, `href="/saved-searches/new"`: true}
	check := func(after string) {
		t.Helper()
		body := s.get("/").body
		_, steps, _ := strings.Cut(body, `class="steps"`)
		steps, _, _ = strings.Cut(steps, "</ol>")
		for link, want := range links {
			if got := strings.Contains(steps, link); got != want {
				t.Errorf("after %s: %s is a step: %t, want %t", after, link, got, want)
			}
		}
	}
	check("signing up")
	key := s.registry.Key(t, s.browsers.callers[ann].Account, "laptop")
	links[`href="/keys/new"`] = false
	check("creating a key")
	if _, err := s.registry.Admit(t.Context(), key); err != nil {
		t.Fatal(err)
	}
	links[`href="/setup"`] = false
	check("a call")
	s.mustSave(typedSearch())
	s.get("/").lacks(t, `class="steps"`)
}

// TestOverviewAlerts checks that the overview shows the latest matches and failing destinations,
// each with a link, and neither before there are any.
func TestOverviewAlerts(t *testing.T) {
	s := mustSite(t)
	account := s.browsers.callers[ann].Account
	hostile := `Oaks <script>alert(1)</script>`
	search := s.mustSave(typedSearch("name", hostile))
	endpoint := s.registry.Endpoint(t, account, "https://hooks.example.com/labels")
	s.get("/").shows(t, http.StatusOK, `data-empty="matches"`)
	s.get("/").lacks(t, `id="failing"`)

	run := s.mustRun(search)
	s.registry.Deliver(t, "The receiver responded with status 404.")
	a := s.get("/")
	a.checkHTML(t)
	a.shows(t, http.StatusOK, `id="failing"`, `href="/destinations/`+endpoint+`"`, hostile,
		plural(run.MatchCount, "new label", "new labels"), `href="`+search+`/runs/`)
	a.lacks(t, `data-empty="matches"`)
	if strings.Contains(a.body, "<script>alert") {
		t.Error("the name of a search is not escaped")
	}
	other := s.by("carl@example.com")
	other.join("carl@example.com", cola.TierFree)
	other.get("/").lacks(t, hostile, endpoint)
}

// withoutDestinations is a registry whose destinations can't be read in time.
type withoutDestinations struct{ *registry.Service }

func (withoutDestinations) Destinations(
	context.Context, cola.Caller, cola.SavedSearchListParams,
) (registry.PageList[cola.Destination], cola.QuotaState, error) {
	return registry.PageList[cola.Destination]{}, cola.QuotaState{}, cola.Unavailable()
}

// TestOverviewWithoutAlerts checks that the overview reports that it can't read alerts, instead of
// showing an account without any.
func TestOverviewWithoutAlerts(t *testing.T) {
	s := mustSite(t)
	s.mustSave(typedSearch())
	s.get("/").lacks(t, `id="no-alerts"`)
	s.handler = New(withoutDestinations{s.registry.Service}, s.browsers,
		Options{PublicURL: registrytest.PublicURL, Logger: quiet, Now: s.registry.Now})
	a := s.get("/")
	a.checkHTML(t)
	a.shows(t, http.StatusOK, `id="no-alerts"`, `href="/saved-searches"`, `href="/usage"`)
	a.lacks(t, `data-empty=`, `href="/saved-searches/new"`)
}

// TestOverviewFree checks that the overview costs nothing, although it shows labels: they are the
// landing page's, even if the registry has newer ones.
func TestOverviewFree(t *testing.T) {
	s := mustSite(t)
	samples, err := s.registry.Samples(t.Context())
	if err != nil || len(samples.Labels) == 0 {
		t.Fatalf("%d sample labels, %v", len(samples.Labels), err)
	}
	s.registry.AddNewLabels(t, 60)
	before := s.requests()
	a := s.get("/")
	if n := strings.Count(a.body, `<li><a href="/explore/`); n != len(samples.Labels) {
		t.Errorf("%d labels, want the landing page's %d", n, len(samples.Labels))
	}
	for _, l := range samples.Labels {
		a.shows(t, http.StatusOK, l.Image+"?", `href="/explore/`+l.TTBID.String()+`"`)
	}
	if after := s.requests(); after != before {
		t.Errorf("the overview counted as %d requests", after-before)
	}
	if q, err := s.registry.Standing(t.Context(), s.browsers.callers[ann]); err != nil || q.Used != (cola.Used{}) {
		t.Errorf("used %+v, %v; want no usage", q.Used, err)
	}
}

// TestSuspended checks that pages that need a sign-in show a suspended visitor the reason and let
// them sign out, and that public pages stay available.
func TestSuspended(t *testing.T) {
	s := mustSite(t)
	account := s.browsers.callers[ann].Account
	if err := s.registry.Store.Suspend(t.Context(), account, "The October invoice is unpaid."); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/", "/keys", "/usage", "/explore?q=oak", "/saved-searches/new"} {
		a := s.get(path)
		a.shows(t, http.StatusForbidden, "The October invoice is unpaid.", "Sign out")
		a.checkHTML(t)
	}
	s.post("/keys/new", nil).shows(t, http.StatusForbidden, "The October invoice is unpaid.")
	s.get("/plans").shows(t, http.StatusOK)
	if to := s.post("/sign-out", nil).redirects(t); to != signInPath || len(s.browsers.ended) != 1 {
		t.Errorf("signing out redirected to %s and ended %v", to, s.browsers.ended)
	}
}

// TestDemoFooter checks that pages don't present demo labels as real ones.
func TestDemoFooter(t *testing.T) {
	s := mustSite(t)
	for _, demo := range []bool{false, true} {
		s.handler = New(s.registry.Service, s.browsers, Options{
			PublicURL: registrytest.PublicURL, Logger: slog.New(slog.DiscardHandler), Now: s.registry.Now, Demo: demo,
		})
		page := s.get("/keys")
		page.shows(t, http.StatusOK)
		if strings.Contains(page.text, "Demonstration data") != demo || strings.Contains(page.text, "Public records") == demo {
			t.Errorf("with Demo %t: page is marked as a demo: %t", demo, !demo)
		}
	}
}
