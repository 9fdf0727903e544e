package browser

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// newEndpoint starts a webhook receiver that confirms itself.
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

// TestFirstAlert checks the way to the first alert on a server with demo data: save a search with a
// webhook in one form, run it, see its match, and see what was sent and how the endpoint responded.
func TestFirstAlert(t *testing.T) {
	endpoint := newEndpoint(t)
	p := startProgram(t, "--webhook-allow-private")
	b := newTab(t, newChromium(t, ""), false)
	b.open(p.link())
	b.press("Sign in as demo@example.com")
	b.press("Alerts")
	b.press("New saved search")
	b.fill("[name=name]", "New wines")
	b.do(b.mouse("[name='filters.type_wine']"))
	b.fill("[name='destination.address']", endpoint.URL+"/labels")
	b.press("Save search")
	b.shows("whsec_", "Verify messages")
	b.press("Done")
	b.shows("New wines", endpoint.URL)
	search := b.at()
	const active = `[...document.querySelectorAll("ul.rows li")].some(e => e.innerText.includes("Webhook") && e.querySelector(".state.good"))`
	for !ask(b, chromedp.Evaluate[bool](active)) {
		time.Sleep(300 * time.Millisecond) // stays under the page rate limit
		b.open(search)
	}
	b.press("Run now")
	b.shows("Running now")
	b.do(until(`document.querySelector("#found")`), // without reloading
		until(`document.querySelector("#live tr td:nth-child(3) .state.good")`),
		until(`!document.querySelector("#live").hasAttribute("hx-get")`))
	b.click("#found")
	b.shows("View")
	b.open(search)
	b.click("#live a[href^='/deliveries/']")
	b.accessible("delivery with its content", mustAxe(t))
	b.shows("saved_search.ran", "New wines", "<b>stored</b>", "status 200")
	if ask(b, chromedp.Evaluate[bool]("window.struck === true")) {
		t.Error("the response ran a script")
	}
	b.checkErrors("the first alert")
}
