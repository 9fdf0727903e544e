package browser

import (
	"os"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/registrytest"
)

// TestPhoneMenu checks that opening the menu on a phone doesn't move its button or the page, that
// the menu contains the docs search, that its last entry can be reached, and that the button stays
// in view when the page scrolls.
func TestPhoneMenu(t *testing.T) {
	s := newSite(t)
	s.registry.Holder(t, ann, cola.TierFree)
	b := s.signIn(ann)
	b.setSize(narrow, "light")
	b.open(registrytest.PublicURL + "/plans")
	const places = `JSON.stringify([".menu summary", "h1"].map(e => document.querySelector(e).getBoundingClientRect()))`
	const toggle = `(document.querySelector(".menu summary").click(), true)`
	before := ask(b, chromedp.Evaluate[string](places))
	ask(b, chromedp.Evaluate[bool](toggle))
	if after := ask(b, chromedp.Evaluate[string](places)); after != before {
		t.Errorf("the menu moved the page from %s to %s", before, after)
	}
	if dir := os.Getenv("COLAREGISTRY_SCREENSHOTS"); dir != "" {
		mustWrite(t, dir+"/menu.png", ask(b, chromedp.CaptureScreenshot()))
	}
	b.do(visible(".menu .find input"))
	last := ask(b, chromedp.Evaluate[bool](`(() => {
		const entry = document.querySelector(".menu nav form button");
		entry.scrollIntoView({block: "nearest"});
		const r = entry.getBoundingClientRect();
		return document.elementFromPoint(r.x + 5, r.y + r.height / 2) === entry;
	})()`))
	if !last {
		t.Error("the last menu entry is out of reach")
	}
	ask(b, chromedp.Evaluate[bool](toggle))
	ask(b, chromedp.Evaluate[bool](`(scrollTo(0, document.body.scrollHeight), true)`))
	if top := ask(b, chromedp.Evaluate[float64](`document.querySelector(".menu summary").getBoundingClientRect().top`)); top < 0 || top > 40 {
		t.Errorf("after scrolling, the button is at %v", top)
	}
}

// TestPhoneTabs checks that the last tab is in view on its page, and that the first results of a
// search begin on the first screen.
func TestPhoneTabs(t *testing.T) {
	s := newSite(t)
	s.registry.Holder(t, ann, cola.TierFree)
	b := s.signIn(ann)
	b.setSize(phone, "light")
	b.open(registrytest.PublicURL + "/explore/processing-times")
	b.do(until(`document.querySelector(".tabs [aria-current]").getBoundingClientRect().right <= innerWidth && scrollY === 0`))
	b.open(registrytest.PublicURL + "/explore?product_type=wine")
	b.do(until(`document.querySelector(".explore-labels").getBoundingClientRect().top < 700`))
}
