package browser

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/colaregistry/colaregistry/auth"
)

// TestWalk acts as a new user: it opens the printed link, creates a key, makes calls, sees the
// usage grow, revokes the key, and creates and pauses a saved search. Then the first steps are done.
func TestWalk(t *testing.T) {
	p := startProgram(t)
	b := newTab(t, newChromium(t, ""), false)
	link := p.link()
	b.open(link)
	b.shows("demo@example.com")
	b.press("Sign in as demo@example.com")
	if at := b.at(); at != p.base+"/" {
		t.Errorf("link redirects to %s", at)
	}
	b.shows("Overview", "Get started", "Detail views", "0 of 10,000")

	replayed := newTab(t, b.ctx, true)
	replayed.open(link)
	replayed.shows("used")
	replayed.open(p.base + "/keys")
	if at := replayed.at(); !strings.HasPrefix(at, p.base+"/sign-in") {
		t.Errorf("used link signed in again: at %s", at)
	}

	key := walkKey(t, p, b)
	walkUsage(t, p, b, key)
	walkRevocation(t, p, b, key)
	walkSearch(t, p, b)
	b.open(p.base + "/")
	b.shows("27 of 1,000,000", "No matches yet")
	if strings.Contains(b.dump(), "Get started") {
		t.Errorf("first steps are not done\n%s", b.dump())
	}
	b.checkErrors("the walk")
	if logged := p.Log(); strings.Contains(logged, key) ||
		strings.Contains(logged, link[len(p.base+auth.SignInLinkPath):]) {
		t.Error("log contains a key or a sign-in link token")
	}
}

// walkKey creates a key and returns it.
func walkKey(t *testing.T, p *server, b *tab) string {
	t.Helper()
	b.press("API keys")
	b.press("Create key")
	b.fill("[name=name]", "Walker <script>window.struck = true</script>")
	b.click("main form .button")
	b.shows("Walker <script>", "be shown again")
	key := ""
	for _, text := range ask(b,
		chromedp.Evaluate[[]string](`[...document.querySelectorAll("pre code")].map(e => e.textContent.trim())`)) {
		if _, err := auth.ParseSecret(text); err == nil {
			key = text
		}
	}
	if key == "" {
		t.Fatalf("no key on the page\n%s", b.dump())
	}
	b.open(p.base + "/keys")
	b.shows("Walker <script>", key[:8], key[len(key)-4:])
	if strings.Contains(b.dump(), key) || ask(b, chromedp.Evaluate[bool]("window.struck === true")) {
		t.Error("list shows the key, or ran a script in its name")
	}
	return key
}

// walkUsage makes calls with the key and checks that the usage page counts them.
func walkUsage(t *testing.T, p *server, b *tab, key string) {
	t.Helper()
	status, page := p.call("GET", "/colas?per_page=7", key)
	if status != http.StatusOK {
		t.Fatalf("call with the key: status %d, want 200: %v", status, page)
	}
	label := page["data"].([]any)[0].(map[string]any)["ttb_id"].(string)
	if status, _ := p.call("GET", "/colas/"+label, key); status != http.StatusOK {
		t.Errorf("GET the label: status %d, want 200", status)
	}
	b.open(p.base + "/usage")
	b.shows("7 of 1,000,000", "1 of 10,000", "Walker <script>")
	b.open(p.base + "/explore?brand_name=a&product_type=wine")
	b.shows("20 list records")
	b.open(p.base + "/usage")
	b.shows("27 of 1,000,000")
}

// walkRevocation revokes the key and checks that the next call is rejected.
func walkRevocation(t *testing.T, p *server, b *tab, key string) {
	t.Helper()
	b.open(p.base + "/keys")
	revoke := ask(b,
		chromedp.Evaluate[string](`[...document.querySelectorAll("tr")].find(r => r.innerText.includes("Walker")).querySelector("a[href$=revoke]").getAttribute("href")`))
	b.open(p.base + revoke)
	b.shows("Walker <script>")
	b.click("main form .button")
	if status, body := p.call("GET", "/usage", key); status != http.StatusUnauthorized {
		t.Errorf("call with a revoked key: %d %v, want 401", status, body)
	}
	b.shows("revoked")
}

// walkSearch creates a saved search and pauses it.
func walkSearch(t *testing.T, p *server, b *tab) {
	t.Helper()
	b.open(p.base + "/saved-searches/new")
	b.fill("[name=name]", "Oak of the week")
	b.fill("[name='filters.brand_name']", "oak")
	b.do(until(`document.querySelector("#preview a[href^='/explore/']")`))
	b.choose("[name='schedule.cadence']", "daily")
	b.press("Save search")
	b.shows("Oak of the week", "Daily")
	search := strings.TrimPrefix(b.at(), p.base+"/saved-searches/")
	b.press("Pause")
	b.shows("Paused")
	key := p.Run("key", "create", "--account", "demo@example.com", "--name", "checks")
	_, body := p.call("GET", "/saved-searches/"+search, key)
	schedule, _ := body["data"].(map[string]any)["schedule"].(map[string]any)
	if schedule["active"] != false || schedule["cadence"] != "daily" {
		t.Errorf("paused search has schedule %v, want an inactive daily one", schedule)
	}
}

// TestForgedRequests checks that cross-site requests and fixated sessions have no effect.
func TestForgedRequests(t *testing.T) {
	p := startProgram(t)
	b := newTab(t, newChromium(t, ""), false)
	evil := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w,
			`<!doctype html><title>Win</title><form method="post" action="%s%s"><input name="name" value="forged"><input name="issuer" value="0"><button>Go</button></form>`, p.base, r.URL.Query().Get("to"))
	}))
	defer evil.Close()
	attacker := strings.Replace(evil.URL, "127.0.0.1", "localhost", 1) // another site

	const chosen = "c2Vzc2lvbiB0aGF0IHNvbWVib2R5IGVsc2UgaGFzIGNob3Nlbg"
	b.open(p.base + "/sign-in")
	b.setCookie(p.base, "colaregistry", chosen)
	b.open(p.link())
	b.click("main form .button")
	b.shows("Overview")
	if now := b.cookie("colaregistry"); now == chosen || now == "" {
		t.Errorf("session after sign-in = %q, want a new one", now)
	}

	for _, to := range []string{
		"/keys/new", "/keys", "/sign-out", "/saved-searches/new",
		"/account/sign-ins/end-others", "/sign-in",
	} {
		b.open(attacker + "/?to=" + to)
		b.click("button")
		b.shows("another site")
	}
	b.open(p.base + "/keys")
	if strings.Contains(b.dump(), "forged") || !strings.HasSuffix(b.at(), "/keys") {
		t.Errorf("forged form was accepted\n%s", b.dump())
	}
	b.open(p.base + "/")
	b.checkErrors("after forged forms")
}
