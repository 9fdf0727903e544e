package browser

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/registrytest"
)

// TestLandingCalls runs a sample call on the landing page. With JavaScript disabled, it selects
// another one with the keyboard.
func TestLandingCalls(t *testing.T) {
	s := newSite(t)
	b := newTab(t, s.browser, true)
	b.open(registrytest.PublicURL + "/")
	b.do(until(`(document.querySelector("[data-sample=search]").click(), true)`),
		until(`document.querySelector("#sample-search [role=status]").textContent.startsWith("200 OK")`))
	answer := ask(b, chromedp.Evaluate[string](`document.querySelector("#sample-search .answer code").textContent`))
	if !strings.Contains(answer, `"pagination"`) {
		t.Errorf("answer = %s", answer)
	}
	b.checkErrors("run")
	const colored = `{
  <i class="n">"a"</i>: <i>"b\": 1"</i>,
  <i class="n">"c"</i>: [
    <i class="v">-1.5</i>,
    <i class="v">null</i>
  ]
}`
	b.do(until(`fetch = () => Promise.resolve(Response.json({ a: 'b": 1', c: [-1.5, null] }))`),
		until(`(document.querySelector("[data-sample=search]").click(), true)`),
		until(fmt.Sprintf(`document.querySelector("#sample-search .answer code").innerHTML === %q`, colored)))
	b.do(until(`fetch = () => Promise.resolve(Response.json({ error: { message: "Wait a minute." } }, { status: 429 }))`),
		until(`(document.querySelector("[data-sample=search]").click(), true)`),
		until(`document.querySelector("#sample-search [role=status]").textContent === "Wait a minute."`))

	b.do(command(emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true}))
	b.open(registrytest.PublicURL + "/")
	b.do(visible("#sample-search"), until(`(document.querySelector("#call-search").focus(), true)`),
		chromedp.KeyEvent(kb.ArrowRight), visible("#sample-brand"))
	for _, hidden := range []string{"#sample-search", "#sample-brand [data-sample]"} {
		if ask(b, chromedp.Evaluate[bool](`document.querySelector("`+hidden+`").checkVisibility()`)) {
			t.Errorf("without JavaScript, %s is visible", hidden)
		}
	}
}

// TestShelf checks that captions follow label pictures without a gap on a phone, even if the labels
// aren't links because accounts need an invitation, and that a long caption doesn't leave a gap below
// the others.
func TestShelf(t *testing.T) {
	b := newTab(t, newSite(t).browser, true)
	b.setSize(phone, "light")
	b.open(registrytest.PublicURL + "/")
	const gap = `Math.max(...[...document.querySelectorAll(".shelf li")].map((label) =>
		label.querySelector("strong").getBoundingClientRect().top - label.querySelector("img").getBoundingClientRect().bottom))`
	const below = `(shelf => {
		shelf.querySelector("li:last-child strong").textContent = "A very long name ".repeat(9);
		return shelf.getBoundingClientRect().bottom - shelf.querySelector("li > * > :last-child").getBoundingClientRect().bottom;
	})(document.querySelector(".shelf"))`
	const unlink = `document.querySelectorAll(".shelf a").forEach((a) => {
		const tile = document.createElement("div");
		tile.append(...a.childNodes);
		a.replaceWith(tile);
	}) ?? document.querySelectorAll(".shelf div").length > 0`
	for _, step := range []string{"true", unlink} {
		b.do(until(step))
		if got := ask(b, chromedp.Evaluate[float64](gap)); got > 20 {
			t.Errorf("%.0f pixels between picture and caption, want at most 20", got)
		}
		if got := ask(b, chromedp.Evaluate[float64](below)); got > 70 {
			t.Errorf("%.0f pixels below the first caption, want at most 70", got)
		}
	}
}

// TestTypefaces checks that public pages and the dashboard use the same fonts: the serif for headings and
// prices, and the sans for plan names.
func TestTypefaces(t *testing.T) {
	s := newSite(t)
	s.registry.Holder(t, ann, cola.TierFree)
	visitor := newTab(t, s.browser, true)
	for _, page := range []struct {
		b    *tab
		path string
	}{{visitor, "/"}, {visitor, "/plans"}, {s.signIn(ann), "/plans"}} {
		page.b.open(registrytest.PublicURL + page.path)
		for selector, want := range map[string]string{
			"h1": "Newsreader 600", "h2:not(.plan *)": "Newsreader 600", ".plan .price": "Newsreader 600", ".plan :is(h2, h3)": "system-ui 650",
		} {
			got := ask(page.b, chromedp.Evaluate[string](fmt.Sprintf(
				`(s => s.fontFamily.split(",")[0] + " " + s.fontWeight)(getComputedStyle(document.querySelector(%q)))`, selector)))
			if got != want {
				t.Errorf("%s of %s: %s, want %s", selector, page.path, got, want)
			}
		}
		if !ask(page.b, chromedp.Evaluate[bool](`document.fonts.ready.then(() => document.fonts.check("600 1em Newsreader"))`, chromedp.EvalAwaitPromise)) {
			t.Errorf("%s doesn't load the serif", page.path)
		}
		page.b.checkErrors(page.path)
	}
}
