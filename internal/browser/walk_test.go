package browser

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/colaregistry/colaregistry/auth"
	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/program"
	"github.com/colaregistry/colaregistry/internal/stripetest"
)

// walker is a new user on the free plan, operating the dashboard with a mouse, on a phone or by
// keyboard. Its methods use the names that users read, and wait for what they expect to see.
type walker struct {
	*tab
	hand     hand
	p        *server
	link     string // sign-in link
	stripe   string // URL of the local fake Stripe
	endpoint string // URL of a webhook receiver
	axe      string
	key      string // secret of the API key
}

// TestWalk takes a new user from the printed sign-in link to a paid plan: the first steps, a key, calls,
// the request log, usage, a saved search with a destination, its first alert and an upgrade. It does
// so with a mouse, on a phone and by keyboard.
func TestWalk(t *testing.T) {
	program.Path(t) // build the program once, before the walks start
	for name, newHand := range map[string]func(b *tab) hand{
		"mouse":    func(b *tab) hand { return pointer{b, false} },
		"phone":    newPhone,
		"keyboard": func(b *tab) hand { return keyboard{b} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // a walk spends most of its time waiting for deliveries
			w := newWalker(t, newHand)
			w.signIn()
			w.createKey()
			w.callAPI()
			w.findRequest()
			w.explore()
			w.saveSearch()
			w.getAlert()
			w.hitRateLimit()
			w.upgrade()
			w.finish()
		})
	}
}

// newWalker starts a server that sells plans, with an account on the free plan.
func newWalker(t *testing.T, newHand func(b *tab) hand) *walker {
	t.Helper()
	stripe, address := stripetest.Start(t), program.Address(t)
	stripe.Sink = stripetest.Address("http://" + address + "/stripe/webhook")
	p := startProgramAt(t, address, "--webhook-allow-private", "--stripe-api-url", stripe.URL,
		"--stripe-secret-key", stripetest.SecretKey, "--stripe-webhook-secret", stripetest.WebhookSecret)
	p.Run("account", "create", "--email", ann, "--tier", "free")
	b := newTab(t, newChromium(t, ""), false)
	return &walker{
		tab: b, hand: newHand(b), p: p, stripe: stripe.URL, endpoint: newEndpoint(t).URL + "/labels", axe: mustAxe(t),
		link: printedLink.FindString(p.Run("account", "link", "--account", ann, "--public-url", p.base)),
	}
}

// newEndpoint starts a webhook receiver that answers the confirmation challenge.
func newEndpoint(t *testing.T) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var message struct {
			Data struct{ Challenge string }
		}
		if err := json.NewDecoder(r.Body).Decode(&message); err != nil {
			t.Error(err)
		}
		if message.Data.Challenge != "" {
			fmt.Fprint(w, message.Data.Challenge)
			return
		}
		fmt.Fprint(w, "<b>stored</b> <script>window.struck = true</script>")
	}))
	t.Cleanup(s.Close)
	return s
}

// follow presses a link or button that leads to another page.
func (w *walker) follow(name string) {
	w.t.Helper()
	w.leave(func() { w.hand.press(named(buttons, name)) })
}

// visit opens a page from the menu.
func (w *walker) visit(entry string) {
	w.t.Helper()
	w.hand.openMenu()
	w.leave(func() { w.hand.press(named(entries, entry)) })
}

func (w *walker) fill(field, text string) { w.t.Helper(); w.hand.fill(named(fields, field), text) }
func (w *walker) choose(choice string)    { w.t.Helper(); w.hand.choose(named(choices, choice)) }

// leave runs an action that leads to another page, waits for that page, and checks that
// it needs no horizontal scrolling.
func (w *walker) leave(action func()) {
	w.t.Helper()
	w.do(until(`window.left = true`))
	action()
	const tooWide = `window.left || document.readyState !== "complete" ? null : document.documentElement.scrollWidth - document.documentElement.clientWidth`
	if n := ask(w.tab, eventually[int](tooWide)); *n > 0 {
		w.t.Errorf("%s is %d pixels too wide", w.at(), *n)
	}
}

// sees waits until the page contains all the given strings.
func (w *walker) sees(words ...string) {
	w.t.Helper()
	for _, text := range words {
		w.do(until(fmt.Sprintf(`document.readyState === "complete" && document.body.innerText.includes(%q)`, text)))
	}
}

// reload reloads the page until an expression is true.
func (w *walker) reload(expression string) {
	w.t.Helper()
	deadline := time.Now().Add(stepTimeout)
	for at := w.at(); !ask(w.tab, chromedp.Evaluate[bool](expression)); w.open(at) {
		if time.Now().After(deadline) {
			w.t.Fatalf("expression never became true: %s\n%s", expression, w.dump())
		}
		time.Sleep(300 * time.Millisecond) // stays under the page rate limit
	}
}

// stepsDone checks which of the first steps are done or, without arguments, that the list is gone.
func (w *walker) stepsDone(want ...bool) {
	w.t.Helper()
	w.visit("Overview")
	got := ask(w.tab, chromedp.Evaluate[[]bool](`[...document.querySelectorAll(".steps li")].map(e => e.matches(".done"))`))
	if !slices.Equal(got, want) {
		w.t.Errorf("first steps are done: %v, want %v\n%s", got, want, w.dump())
	}
}

func (w *walker) signIn() {
	w.t.Helper()
	w.open(w.link)
	w.follow("Sign in as " + ann)
	w.sees("Overview", "0 of 200")
	if strings.Contains(w.dump(), "Failing deliveries") {
		w.t.Errorf("a new account has failing deliveries\n%s", w.dump())
	}
	w.stepsDone(false, false, false)
}

// createKey creates a key with a hostile name.
func (w *walker) createKey() {
	w.t.Helper()
	const name = "Walker <script>window.struck = true</script>"
	w.follow("Create key")
	w.fill("Name", name)
	w.follow("Create key")
	w.sees(name)
	w.key = ask(w.tab, chromedp.Evaluate[string](`document.querySelector(".secret code").textContent.trim()`))
	if _, err := auth.ParseSecret(w.key); err != nil {
		w.t.Fatalf("key %q: %v", w.key, err)
	}
	w.follow("Done")
	w.sees(name, w.key[:8], w.key[len(w.key)-4:])
	if strings.Contains(w.dump(), w.key) || ask(w.tab, chromedp.Evaluate[bool]("window.struck === true")) {
		w.t.Error("list shows the key, or ran a script in its name")
	}
	w.stepsDone(true, false, false)
}

// callAPI searches for labels and opens one.
func (w *walker) callAPI() {
	w.t.Helper()
	resp, page := w.p.send("GET", "/colas?per_page=7", w.key)
	w.checkLimits(resp, cola.TierFree)
	label := page["data"].([]any)[0].(map[string]any)["ttb_id"].(string)
	resp, _ = w.p.send("GET", "/colas/"+label, w.key)
	w.checkLimits(resp, cola.TierFree)
	w.stepsDone(true, true, false)
}

// checkLimits checks that a call succeeded with a tier's limits.
func (w *walker) checkLimits(resp *http.Response, tier cola.Tier) {
	w.t.Helper()
	want := tier.Limits()
	lists, views := resp.Header.Get("X-List-Records-Limit"), resp.Header.Get("X-Detail-Views-Limit")
	if resp.StatusCode != http.StatusOK || lists != fmt.Sprint(want.ListRecords) || views != fmt.Sprint(want.DetailViews) {
		w.t.Errorf("status %d, %s list records and %s detail views, want 200 and %+v", resp.StatusCode, lists, views, want)
	}
}

// findRequest finds the calls in the request log and on the usage page.
func (w *walker) findRequest() {
	w.t.Helper()
	w.visit("Requests")
	w.reload(named("a", "/api/v1/colas") + " !== null")
	w.sees("Walker <script>")
	w.follow("/api/v1/colas")
	w.sees("7 list records", "Walker <script>")
	w.visit("Usage")
	w.sees("7 of 10,000", "1 of 200", "Walker <script>")
}

// explore searches the registry, which costs list records.
func (w *walker) explore() {
	w.t.Helper()
	w.visit("Explore")
	w.fill("Search labels", "red")
	w.follow("Search")
	w.sees("20 list records")
	w.visit("Usage")
	w.sees("27 of 10,000")
}

// saveSearch saves a search and adds a webhook in the same form.
func (w *walker) saveSearch() {
	w.t.Helper()
	w.visit("Alerts")
	w.follow("New saved search")
	w.fill("Name", "New wines")
	w.choose("Wine")
	w.do(until(`document.querySelector("#preview a[href^='/explore/']")`))
	w.choose("Monthly")
	w.fill("Add a destination", w.endpoint)
	w.follow("Save search")
	w.sees("whsec_")
	w.follow("Done")
	w.sees("New wines", w.endpoint, "Monthly")
	w.stepsDone()
}

// getAlert runs the search, and sees its match and its delivery on the same page.
func (w *walker) getAlert() {
	w.t.Helper()
	w.visit("Alerts")
	w.follow("New wines")
	w.reload(`[...document.querySelectorAll("ul.rows li")].some(e => e.innerText.includes("Webhook") && e.querySelector(".state.good"))`)
	w.follow("Run now")
	search := w.at()
	w.do(until(`window.here = true`))
	w.hand.reach(named("a", "Refresh"))
	had := ask(w.tab, chromedp.Evaluate[bool](`document.activeElement !== document.body`))
	w.do(visible("#found"), visible("#live tr td:nth-child(3) .state.good"), until(`!document.querySelector("#live").hasAttribute("hx-get")`))
	if has := ask(w.tab, chromedp.Evaluate[bool](`document.activeElement !== document.body`)); had && !has {
		w.t.Error("an update took focus away")
	}
	if !ask(w.tab, chromedp.Evaluate[bool](`window.here === true`)) {
		w.t.Error("the page was reloaded")
	}
	w.accessible("saved search after a run", w.axe)
	w.leave(func() { w.hand.press(showing("#found")) })
	w.sees("Approval dates")
	w.visit("Alerts")
	w.follow("New wines")
	if at := w.at(); at != search {
		w.t.Errorf("at %s, want %s", at, search)
	}
	w.leave(func() { w.hand.press(showing("#live a[href^='/deliveries/']")) })
	w.sees("saved_search.ran", "New wines", "<b>stored</b>", "status 200")
	w.accessible("delivery with its content", w.axe)
	if ask(w.tab, chromedp.Evaluate[bool]("window.struck === true")) {
		w.t.Error("the response ran a script")
	}
}

// hitRateLimit makes calls until the free plan's rate limit rejects one.
func (w *walker) hitRateLimit() {
	w.t.Helper()
	for range 5 * cola.TierFree.Limits().PerMinute {
		if status, _ := w.p.call("GET", "/usage", w.key); status == http.StatusTooManyRequests {
			return
		}
	}
	w.t.Error("the free plan has no rate limit")
}

// upgrade buys a plan and checks that its limits apply at once.
func (w *walker) upgrade() {
	w.t.Helper()
	w.visit("Plans")
	w.follow("Upgrade to Starter")
	w.do(until(fmt.Sprintf("location.origin === %q", w.stripe)))
	w.follow("Subscribe")
	w.sees("You’re on the Starter plan")
	for { // a process may repeat a rejection for a second
		resp, _ := w.p.send("GET", "/usage", w.key)
		if resp.StatusCode != http.StatusTooManyRequests {
			break
		}
		time.Sleep(100 * time.Millisecond)
	}
	for range cola.TierFree.Limits().PerMinute + 1 {
		resp, _ := w.p.send("GET", "/usage", w.key)
		w.checkLimits(resp, cola.TierStarter)
	}
	w.visit("Usage")
	w.sees("27 of 100,000", "1 of 2,000")
}

// finish pauses the search and revokes the key.
func (w *walker) finish() {
	w.t.Helper()
	w.stepsDone()
	w.sees("New wines")
	w.visit("Alerts")
	w.follow("New wines")
	w.follow("Pause")
	w.sees("Paused")
	search := strings.TrimPrefix(w.at(), w.p.base+"/saved-searches/")
	_, body := w.p.call("GET", "/saved-searches/"+search, w.key)
	schedule, _ := body["data"].(map[string]any)["schedule"].(map[string]any)
	if schedule["active"] != false || schedule["cadence"] != "monthly" {
		w.t.Errorf("paused search has schedule %v, want an inactive monthly one", schedule)
	}
	w.visit("API keys")
	w.leave(func() { w.hand.press(showing(`td a[href$="/revoke"]`)) })
	w.follow("Revoke key")
	if status, body := w.p.call("GET", "/usage", w.key); status != http.StatusUnauthorized {
		w.t.Errorf("call with a revoked key: %d %v, want 401", status, body)
	}
	w.checkErrors("the walk")
	if logged := w.p.Log(); strings.Contains(logged, w.key) ||
		strings.Contains(logged, w.link[len(w.p.base+auth.SignInLinkPath):]) {
		w.t.Error("log contains the key or the token of the sign-in link")
	}
}
