package dashboard

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/registrytest"
	"github.com/colaregistry/colaregistry/internal/stripetest"
)

func TestPlans(t *testing.T) {
	s := mustSite(t)
	open := s.by("").get("/plans")
	open.checkHTML(t)
	open.shows(t, http.StatusOK, "Free", "Starter", "Pro", "$39", "$99", "10,000", "1,000,000", "recommended",
		"Ask them for one.", `href="/sign-in?return=%2Fplans"`)
	if strings.Contains(open.body, "your plan</span>") {
		t.Error("signed-out visitor has a plan")
	}
	own := s.get("/plans")
	own.checkHTML(t)
	own.shows(t, http.StatusOK, `Pro <span class="state good">your plan</span></h2>`, `href="/usage"`, "/api/v1/usage'")
	if strings.Count(own.body, "your plan</span>") != 1 || strings.Contains(own.body, "recommended") {
		t.Error("want the account's plan marked, and no recommendation")
	}
	if len(buttons(own)) != 0 {
		t.Errorf("buttons %v on a server that doesn't sell plans", buttons(own))
	}
	s.handler = New(s.registry.Service, s.browsers, Options{
		PublicURL: registrytest.PublicURL, BillingURL: "https://billing.example/change?a=1&b=2",
		Logger: slog.New(slog.DiscardHandler), Now: s.registry.Now,
	})
	paid := s.get("/plans")
	paid.checkHTML(t)
	paid.shows(t, http.StatusOK, `<a class="button" href="https://billing.example/change?a=1&b=2">Change plan</a>`)
}

// TestPlansClosed checks that the page says who creates accounts, but only to visitors who can't
// create one.
func TestPlansClosed(t *testing.T) {
	s := mustSite(t)
	for name, tt := range map[string]struct {
		s    *site
		want bool
	}{
		"open":      {s.by("").withOptions(func(*Options) {}), false},
		"closed":    {s.by("").withOptions(func(o *Options) { o.Closed = true }), true},
		"signed in": {s.withOptions(func(o *Options) { o.Closed = true }), false},
	} {
		if got := strings.Contains(tt.s.get("/plans").body, `class="closed"`); got != tt.want {
			t.Errorf("%s: page says who creates accounts: %t, want %t", name, got, tt.want)
		}
	}
}

// TestPlansSignUp checks where each plan's button leads visitors who can create an account: to
// sign-up if that is how to get the plan, otherwise to the operator.
func TestPlansSignUp(t *testing.T) {
	link := regexp.MustCompile(`<a class="button[^"]*" href="([^"]+)">[^<]+<span class="unseen"> for (\w+)</span>`)
	const create, choose, contact = "/sign-in", "/sign-in?return=%2Fplans", "https://example.com/contact"
	for name, tt := range map[string]struct {
		change func(*Options)
		want   map[string]string
	}{
		"no sign-up":  {func(o *Options) { o.SignUp = false }, map[string]string{}},
		"no contact":  {func(*Options) {}, map[string]string{"Free": create}},
		"contact":     {func(o *Options) { o.Operator.Contact = contact }, map[string]string{"Free": create, "Starter": contact, "Pro": contact}},
		"sold":        {func(o *Options) { o.SellsPlans = true }, map[string]string{"Free": create, "Starter": choose, "Pro": choose}},
		"billing URL": {func(o *Options) { o.BillingURL = contact }, map[string]string{"Free": create, "Starter": choose, "Pro": choose}},
	} {
		t.Run(name, func(t *testing.T) {
			s := mustSite(t).withOptions(func(o *Options) { o.SignUp = true; tt.change(o) })
			page := s.by("").get("/plans")
			page.checkHTML(t)
			got := map[string]string{}
			for _, m := range link.FindAllStringSubmatch(page.body, -1) {
				got[m[2]] = m[1]
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("buttons (-want +got):\n%s", diff)
			}
			if own := s.get("/plans"); link.MatchString(own.body) {
				t.Error("signed-in visitor has a button to create an account")
			}
		})
	}
}

// TestPlanAfterSignUp checks that a visitor who wants a paid plan, and creates an account with an
// emailed link, returns to the plans page.
func TestPlanAfterSignUp(t *testing.T) {
	s := mustSite(t).by("").withOptions(func(o *Options) { o.SignUp, o.SignInByEmail, o.SellsPlans = true, true, true })
	start := s.get("/sign-in?return=%2Fplans")
	start.shows(t, http.StatusOK, `name="return" value="/plans"`)
	cookies := start.Cookies()
	if len(cookies) != 1 {
		t.Fatalf("cookies = %v, want one", cookies)
	}
	if sent := s.post("/sign-in/email", url.Values{"email": {"new@example.com"}, "return": {"/plans"}}); len(sent.Cookies()) > 0 {
		t.Errorf("requesting the link changes the cookies to %v", sent.Cookies())
	}
	r := httptest.NewRequest(http.MethodPost, "/sign-in/link/new", nil)
	r.AddCookie(cookies[0])
	if to := s.send(r).redirects(t); to != plansPath {
		t.Errorf("the link redirects to %s, want %s", to, plansPath)
	}
}

var planButton = regexp.MustCompile(`action="(/plans(?:/billing)?)">.*?(?:name="plan" value="(\w+)">)?<button`)

// buttons returns the plans that a page has buttons for, and "billing" for the billing button.
func buttons(a response) (all []string) {
	for _, m := range planButton.FindAllStringSubmatch(a.body, -1) {
		if m[1] == billingPath {
			m[2] = "billing"
		}
		all = append(all, m[2])
	}
	return all
}

var refreshURL = regexp.MustCompile(`<meta http-equiv="refresh" content="0;url=([^"]+)">`)

// atStripe submits a form that opens a Stripe page, chooses an action there, and returns the path
// that Stripe redirects to.
func (s *site) atStripe(path, plan, action string) string {
	s.t.Helper()
	a := s.post(path, url.Values{"plan": {plan}})
	a.checkHTML(s.t)
	m := refreshURL.FindStringSubmatch(a.text)
	if a.StatusCode != http.StatusOK || m == nil {
		s.t.Fatalf("%s %s: status %d, no redirect\n%s", path, plan, a.StatusCode, a.body)
	}
	client := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := client.PostForm(m[1], url.Values{"action": {action}})
	if err != nil {
		s.t.Fatal(err)
	}
	resp.Body.Close()
	return strings.TrimPrefix(resp.Header.Get("Location"), registrytest.PublicURL)
}

// TestPlanLife subscribes, upgrades, misses a payment, pays, cancels, and subscribes again.
func TestPlanLife(t *testing.T) {
	s := mustSell(t)
	sub := func() stripetest.Subscription {
		all := s.registry.Stripe.Subscriptions(s.registry.Stripe.Customers()[0])
		return all[len(all)-1]
	}
	for _, step := range []struct {
		desc    string
		do      func() (target string)
		tier    cola.Tier
		shows   []string
		buttons string // buttons on the plans page
		banner  bool   // other pages show the banner
	}{
		{"new account", func() string { return "/plans" }, cola.TierFree, nil, "[starter pro]", false},
		{"subscribe", func() string { return s.atStripe("/plans", "starter", "pay") }, cola.TierStarter, []string{"renews"}, "[billing free pro]", false},
		{"upgrade", func() string { return s.atStripe("/plans", "pro", "confirm") }, cola.TierPro, []string{"renews"}, "[billing free starter]", false},
		{"payment fails", func() string { return s.atStripe("/plans/billing", "", "past_due") }, cola.TierPro, []string{"Nov 27, 2026"}, "[billing]", true},
		{"grace ends", func() string {
			s.registry.Advance(8 * 24 * time.Hour)
			return "/plans/return"
		}, cola.TierFree, nil, "[billing]", true},
		{"pay", func() string { return s.atStripe("/plans/billing", "", "active") }, cola.TierPro, []string{"renews"}, "[billing free starter]", false},
		{"cancel", func() string { return s.atStripe("/plans", "free", "cancel") }, cola.TierPro, []string{"canceled", "Dec 20, 2026"}, "[billing]", false},
		{"period ends", func() string {
			s.registry.Stripe.Change(sub().ID, stripetest.End(s.registry.Now()))
			return "/plans"
		}, cola.TierFree, nil, "[starter pro]", false},
		{"subscribe again", func() string { return s.atStripe("/plans", "pro", "pay") }, cola.TierPro, []string{"renews"}, "[billing free starter]", false},
	} {
		target := step.do()
		if strings.HasPrefix(target, planReturnPath) {
			if to := s.get(target).redirects(t); to != plansPath {
				t.Errorf("%s: returns to %s", step.desc, to)
			}
		}
		page := s.get("/plans")
		page.checkHTML(t)
		page.shows(t, http.StatusOK, append(step.shows, `<h2 id="plan-`+string(step.tier))...)
		if got := fmt.Sprint(buttons(page)); got != step.buttons {
			t.Errorf("%s: buttons %s, want %s", step.desc, got, step.buttons)
		}
		own := regexp.MustCompile(`class="plan own" aria-labelledby="plan-(\w+)"`).FindStringSubmatch(page.body)
		if own == nil || own[1] != string(step.tier) {
			t.Errorf("%s: own plan %v, want %s", step.desc, own, step.tier)
		}
		account := s.get("/account")
		account.checkHTML(t)
		if got := strings.Contains(account.body, `class="warning dunning"`); got != step.banner {
			t.Errorf("%s: banner %t, want %t", step.desc, got, step.banner)
		}
	}
	if n := len(s.registry.Stripe.Customers()); n != 1 {
		t.Errorf("%d customers, want 1", n)
	}
}

// TestUpgradeLimits checks that the limits of a new plan apply from a key's next request.
func TestUpgradeLimits(t *testing.T) {
	s := mustSell(t)
	key := s.registry.Key(t, s.browsers.callers[ann].Account, "script")
	search := func() (cola.QuotaState, error) {
		_, state, err := s.registry.SearchColas(t.Context(), key, cola.SearchParams{})
		return state, err
	}
	for range cola.TierFree.Limits().PerMinute {
		if _, err := search(); err != nil {
			t.Fatal(err)
		}
	}
	s.atStripe("/plans", "starter", "pay")
	if state, err := search(); err != nil || state.Limits != cola.TierStarter.Limits() {
		t.Errorf("after the upgrade: limits %v, %v", state.Limits, err)
	}
}

// TestPlanReturn opens the return page before the payment is confirmed, and while Stripe is down.
func TestPlanReturn(t *testing.T) {
	s := mustSell(t)
	s.get("/plans/return?plan=pro").shows(t, http.StatusNotFound) // no customer
	s.post("/plans", url.Values{"plan": {"pro"}})
	wait := func(path, next string) {
		t.Helper()
		a := s.get(path)
		a.checkHTML(t)
		a.shows(t, http.StatusOK, `role="status"`)
		if got := a.Header.Get("Refresh"); got != next {
			t.Errorf("%s: Refresh %q, want %q", path, got, next)
		}
	}
	wait("/plans/return?plan=pro", "3;url=/plans/return?plan=pro&check=1")
	wait("/plans/return?plan=pro&check=9", "3;url=/plans/return?plan=pro&check=10")
	wait("/plans/return?plan=pro&check=10", "")
	wait("/plans/return?plan=pro&check=-1", "")
	s.registry.Stripe.Fault = func(*http.Request) int { return 503 }
	s.registry.Advance(time.Hour)
	wait("/plans/return?plan=pro", "3;url=/plans/return?plan=pro&check=1")
	wait("/plans/return?plan=%0a%22%3e", "3;url=/plans/return?plan=&check=1")
	s.registry.Stripe.Fault = nil
	if to := s.get("/plans/return?plan=%0a%22%3e").redirects(t); to != plansPath {
		t.Errorf("unknown plan returns to %s", to)
	}
}

// TestPlanErrors submits the forms of the plans page in cases where they must fail.
func TestPlanErrors(t *testing.T) {
	s := mustSell(t)
	s.post("/plans", url.Values{"plan": {"platinum"}}).shows(t, http.StatusBadRequest)
	s.post("/plans/billing", nil).shows(t, http.StatusNotFound)
	s.post("/plans", url.Values{"plan": {"pro"}, accountField: {"999"}}).shows(t, http.StatusForbidden)
	s.by("").post("/plans", url.Values{"plan": {"pro"}}).shows(t, http.StatusUnauthorized)
	s.registry.Stripe.Fault = func(*http.Request) int { return 500 }
	a := s.post("/plans", url.Values{"plan": {"pro"}})
	a.shows(t, http.StatusServiceUnavailable)
	a.checkHTML(t)
	if n := len(s.registry.Stripe.Customers()); n != 0 {
		t.Errorf("%d customers after failures, want 0", n)
	}
	other := mustSite(t)
	for _, path := range []string{"/plans", "/plans/billing"} {
		other.post(path, url.Values{"plan": {"pro"}}).shows(t, http.StatusNotFound)
	}
	other.get("/plans/return").shows(t, http.StatusNotFound)
}

// TestDeletionWithPlan requests account deletion with an open Checkout page, with an active plan,
// with a canceled plan that was resumed without an event, and with a canceled plan that is resumed
// before the deletion is due.
func TestDeletionWithPlan(t *testing.T) {
	s := mustSell(t)
	confirmed := url.Values{"confirmation": {ann}}
	s.post("/plans", url.Values{"plan": {"pro"}})
	customer := s.registry.Stripe.Customers()[0]
	if to := s.post("/account/delete", confirmed).redirects(t); to != deletionPath {
		t.Fatalf("redirect to %s, want %s", to, deletionPath)
	}
	if open := s.registry.Stripe.OpenSession(customer); open != "" {
		t.Errorf("Checkout page %s can still be paid", open)
	}
	s.get("/account/delete").lacks(t, billingPath)
	s.post("/account/keep", nil).redirects(t)

	s.atStripe("/plans", "pro", "pay")
	s.post("/account/delete", confirmed).shows(t, http.StatusBadRequest, `aria-invalid="true"`)
	s.get("/account/delete").shows(t, http.StatusOK, `href="/plans"`)
	s.atStripe("/plans", "free", "cancel")
	sub := s.registry.Stripe.Subscriptions(customer)[0]
	sink := s.registry.Stripe.Sink
	s.registry.Stripe.Sink = nil // the event is lost
	s.registry.Stripe.Change(sub.ID, func(sub *stripetest.Subscription) { sub.CancelAtPeriodEnd = false })
	s.post("/account/delete", confirmed).shows(t, http.StatusBadRequest)
	s.registry.Stripe.Sink = sink
	s.atStripe("/plans", "free", "cancel")
	s.registry.Stripe.Fault = func(*http.Request) int { return 503 }
	s.post("/account/delete", confirmed).shows(t, http.StatusServiceUnavailable)
	s.registry.Stripe.Fault = nil
	if to := s.post("/account/delete", confirmed).redirects(t); to != deletionPath {
		t.Fatalf("redirect to %s, want %s", to, deletionPath)
	}

	leaving := s.get("/account/delete")
	leaving.shows(t, http.StatusOK, `action="/plans/billing"`, `action="/account/keep"`)
	leaving.checkHTML(t)
	if to := s.atStripe("/plans/billing", "", "keep"); to != planReturnPath {
		t.Errorf("portal returns to %s", to)
	}
	if to := s.get(planReturnPath).redirects(t); to != deletionPath {
		t.Errorf("return page redirects to %s, want %s", to, deletionPath)
	}
	if to := s.post("/plans", url.Values{"plan": {"starter"}}).redirects(t); to != deletionPath {
		t.Errorf("changing the plan redirects to %s, want %s", to, deletionPath)
	}
	s.atStripe("/plans/billing", "", "past_due")
	s.get("/account/delete").shows(t, http.StatusOK, `action="/plans/billing"`)
	s.get("/account/delete").lacks(t, "dunning")
}

// TestSuspendedBilling checks that a suspended account, which Stripe still bills, can cancel.
func TestSuspendedBilling(t *testing.T) {
	s := mustSell(t)
	if err := s.registry.Store.Suspend(t.Context(), s.browsers.callers[ann].Account, "Test."); err != nil {
		t.Fatal(err)
	}
	s.get("/keys").lacks(t, billingPath) // never subscribed
	if err := s.registry.Store.Restore(t.Context(), s.browsers.callers[ann].Account); err != nil {
		t.Fatal(err)
	}
	s.atStripe("/plans", "pro", "pay")
	if err := s.registry.Store.Suspend(t.Context(), s.browsers.callers[ann].Account, "Test."); err != nil {
		t.Fatal(err)
	}
	page := s.get("/keys")
	page.shows(t, http.StatusForbidden, `action="/plans/billing"`)
	page.checkHTML(t)
	s.atStripe("/plans/billing", "", "cancel")
	sub := s.registry.Stripe.Subscriptions(s.registry.Stripe.Customers()[0])[0]
	if !sub.CancelAtPeriodEnd {
		t.Error("the subscription still renews")
	}
	s.post("/plans", url.Values{"plan": {"starter"}}).shows(t, http.StatusForbidden)
	s.get("/account/export").shows(t, http.StatusForbidden)
}
