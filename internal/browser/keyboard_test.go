package browser

import (
	"strings"
	"testing"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/registrytest"
)

// enter presses Enter and waits for the next page.
func (b *tab) enter() {
	b.t.Helper()
	if _, err := b.waitForPage(chromedp.KeyEvent(kb.Enter)); err != nil {
		b.t.Fatalf("%v\n%s", err, b.dump())
	}
}

// TestTimes checks that a relative time shows the exact time, in UTC and in the user's time zone,
// only on focus, and that Escape hides it.
func TestTimes(t *testing.T) {
	s := newSite(t)
	s.registry.Holder(t, ann, cola.TierFree)
	b := s.signIn(ann)
	b.open(registrytest.PublicURL + "/account")
	b.shows("just now")
	const width = `document.querySelector("main .when .exact").offsetWidth`
	if got := ask(b, chromedp.Evaluate[int](width)); got > 1 {
		t.Errorf("exact time is %d pixels wide before focus", got)
	}
	b.do(until(`(document.querySelector("main .when").focus(), true)`))
	exact := ask(b, chromedp.Evaluate[string](`document.querySelector("main .when .exact").innerText`))
	if !strings.Contains(exact, "Nov 20, 2026, 12:00 UTC") || !strings.Contains(exact, "7:00") || !strings.Contains(exact, "EST") {
		t.Errorf("exact time %q, want the time in UTC and in New York", exact)
	}
	if got := ask(b, chromedp.Evaluate[int](width)); got < 50 {
		t.Errorf("exact time is %d pixels wide on focus", got)
	}
	b.do(chromedp.KeyEvent(kb.Escape))
	if got := ask(b, chromedp.Evaluate[int](width)); got > 1 {
		t.Errorf("exact time is %d pixels wide after Escape", got)
	}
	b.setSize(narrow, "light")
	wide := ask(b, chromedp.Evaluate[int](`Math.max(...[...document.querySelectorAll("main .when")].map(e => (e.focus(), document.documentElement.scrollWidth)))`))
	if wide > narrow {
		t.Errorf("an exact time makes the page %d pixels wide on a phone, want %d", wide, narrow)
	}
}

// TestSlash checks that the slash key focuses a page's search field, or the docs search, and that a
// slash can still be typed in a field.
func TestSlash(t *testing.T) {
	s := newSite(t)
	s.registry.Holder(t, ann, cola.TierFree)
	b := s.signIn(ann)
	b.open(registrytest.PublicURL + "/explore")
	const press = `document.activeElement.dispatchEvent(new KeyboardEvent("keydown", { key: "/", bubbles: true, cancelable: true }))`
	if ask(b, chromedp.Evaluate[bool](press)) || !ask(b, chromedp.Evaluate[bool](`document.activeElement.id === "f-q"`)) {
		t.Error("the key doesn't focus the label search")
	}
	if !ask(b, chromedp.Evaluate[bool](press)) {
		t.Error("the key can't be typed in the field")
	}
	b.open(registrytest.PublicURL + "/keys")
	b.do(chromedp.KeyEvent("/"), until(`document.activeElement.matches(".find input")`))
}

// TestWithoutScript creates a key and previews a saved search with scripts disabled.
func TestWithoutScript(t *testing.T) {
	s := newSite(t)
	s.registry.Holder(t, ann, cola.TierFree)
	b := newTab(t, s.browser, true)
	b.disableScripts()
	b.open(s.link(ann))
	b.click("main form button")
	b.open(registrytest.PublicURL + "/keys/new")
	b.fill("[name=name]", "No script")
	b.click("main form .button")
	b.shows("No script", "lar_")
	if ask(b, chromedp.Evaluate[bool](showing("[data-use-key]")+" !== null")) {
		t.Error("page offers to use the key in the API reference, which needs scripts")
	}
	b.open(registrytest.PublicURL + "/saved-searches/new")
	b.fill("[name=name]", "No script")
	b.fill("[name='filters.query']", "red")
	b.click("[name=preview]")
	b.shows("in the last 30 days")
}

// TestFailedPreview checks that a failed preview replaces the previous count with an error, and
// that the next successful preview shows a count again.
func TestFailedPreview(t *testing.T) {
	s := newSite(t)
	s.registry.Holder(t, ann, cola.TierFree)
	b := s.signIn(ann)
	b.open(registrytest.PublicURL + "/saved-searches/new")
	counted := until(`document.getElementById("preview-said").innerText.includes("in the last 30 days")`)
	b.fill("[name='filters.query']", "red")
	b.do(counted)
	blocked := func(patterns ...*network.BlockPattern) {
		b.do(command(network.SetBlockedURLs, network.SetBlockedURLsParams{URLPatterns: patterns}))
	}
	blocked(&network.BlockPattern{URLPattern: registrytest.PublicURL + "/saved-searches/preview", Block: true})
	b.fill("[name='filters.query']", "white")
	b.do(until(`document.getElementById("preview-said").innerText.includes("load the preview")`),
		until(`!document.querySelector("#preview a")`))
	blocked()
	b.fill("[name='filters.query']", "red")
	b.do(counted, until(`!document.getElementById("preview").hasAttribute("aria-busy")`))
}
