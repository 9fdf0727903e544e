package browser

import (
	"fmt"
	"path"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/registrytest"
)

// labelWithImages creates Ann's account, and returns the path of a label that has at least two
// images.
func (s *site) labelWithImages() string {
	s.t.Helper()
	s.holder = s.registry.Holder(s.t, ann, cola.TierPro)
	page, _, err := s.registry.SearchColas(s.t.Context(), s.holder, cola.SearchParams{DateRange: cola.AllDates})
	if err != nil {
		s.t.Fatal(err)
	}
	for _, label := range page.Colas {
		if label.ImageCount > 1 {
			return "/explore/" + label.TTBID.String()
		}
	}
	s.t.Fatal("no label has two images")
	return ""
}

// TestLabelImages opens a label's images by keyboard. The dialog must zoom, move to the next image,
// trap focus, return focus when closed, and have no axe violations.
func TestLabelImages(t *testing.T) {
	s := newSite(t)
	path := s.labelWithImages()
	b := s.signIn(ann)
	b.open(registrytest.PublicURL + path)
	const dialog, image = `document.querySelector("dialog.zoom")`, `document.querySelector(".zoom-stage img")`
	loaded := until(image + `?.naturalWidth > 0 && ` + image + `.clientWidth > 0`)
	width := func() float64 { return ask(b, chromedp.Evaluate[float64](image+`.getBoundingClientRect().width`)) }
	shown := func() string {
		return ask(b, chromedp.Evaluate[string](`new URL(`+image+`.src).pathname + " " + document.querySelector("#zoom-title").textContent`))
	}
	b.do(until(`(document.querySelector("a[data-zoom]").focus(), true)`), chromedp.KeyEvent(kb.Enter), until(dialog+".open"), loaded,
		chromedp.KeyEvent("0"))
	first, fit := shown(), width()
	if !strings.Contains(first, "1 of ") {
		t.Errorf("dialog shows %q, want the first image", first)
	}
	b.accessible("label images", mustAxe(t))
	b.do(chromedp.KeyEvent("+"), chromedp.KeyEvent("+")) // to twice the size
	if zoomed := width(); zoomed < 1.9*fit || zoomed > 2.1*fit {
		t.Errorf("zoomed to a width of %v, want twice %v", zoomed, fit)
	}
	const top = `document.querySelector(".zoom-stage").scrollTop`
	before := ask(b, chromedp.Evaluate[float64](top))
	b.do(chromedp.KeyEvent(kb.ArrowDown), chromedp.KeyEvent(kb.ArrowRight)) // scroll a zoomed image
	if after := ask(b, chromedp.Evaluate[float64](top)); after <= before {
		t.Errorf("arrow key scrolls a zoomed image from %v to %v", before, after)
	}
	if got := shown(); got != first {
		t.Errorf("arrow key in a zoomed image shows %q, want %q", got, first)
	}
	b.do(chromedp.KeyEvent("0"))
	if got := width(); got != fit {
		t.Errorf("reset to a width of %v, want %v", got, fit)
	}
	b.do(chromedp.KeyEvent(kb.ArrowRight), loaded)
	second := shown()
	if second == first || !strings.Contains(second, "2 of ") {
		t.Errorf("next image is %q after %q", second, first)
	}
	for range 12 {
		b.do(chromedp.KeyEvent(kb.Tab))
		if !ask(b, chromedp.Evaluate[bool](`document.activeElement === document.body || `+dialog+`.contains(document.activeElement)`)) {
			t.Fatalf("focus leaves the dialog:\n%s", b.dump())
		}
	}
	b.do(chromedp.KeyEvent(kb.Escape), until("!"+dialog+".open"),
		until(`document.activeElement === document.querySelector("a[data-zoom]")`))
	b.checkErrors("label images")
}

// TestLabelWithoutScript checks that without scripts, a label's image links open the images, a link
// expands collapsed facts, and no dead buttons are shown.
func TestLabelWithoutScript(t *testing.T) {
	s := newSite(t)
	path := s.labelWithImages()
	b := newTab(t, s.browser, true)
	b.disableScripts()
	b.open(s.link(ann))
	b.click("main form button")
	b.open(registrytest.PublicURL + path)
	if n := ask(b, chromedp.Evaluate[int](`[...document.querySelectorAll("main button, dialog")].filter(e => e.checkVisibility()).length`)); n != 0 {
		t.Errorf("%d buttons do nothing", n)
	}
	b.click(`a[href="#api-call"]`)
	b.do(visible("#api-call"))
	b.click("a[data-zoom]")
	if at := b.at(); !strings.Contains(at, "/images/") {
		t.Errorf("image link opens %s", at)
	}
}

// TestPrintedLabel checks that collapsed facts are printed.
func TestPrintedLabel(t *testing.T) {
	s := newSite(t)
	path := s.labelWithImages()
	b := s.signIn(ann)
	b.open(registrytest.PublicURL + path)
	const folded = `[...document.querySelectorAll(".fold > :not(summary)")].map(e => e.checkVisibility({contentVisibilityAuto: true}) && e.getBoundingClientRect().height > 0)`
	allShown := func(value bool) string {
		return fmt.Sprintf("(%s).length > 2 && (%[1]s).every(shown => shown === %v)", folded, value)
	}
	b.do(until(allShown(false)), command(emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Media: "print"}), until(allShown(true)))
	if ask(b, chromedp.Evaluate[bool](`document.querySelector(".cost").checkVisibility()`)) {
		t.Error("cost is printed")
	}
}

// TestLabelSteps checks that a label opened from a list links to its neighbors in the list and to
// the list itself, that following the links charges each label and the list once, and that the tab
// forgets the list before another user signs in. A permittee's page is charged each time, so its
// labels don't link back.
func TestLabelSteps(t *testing.T) {
	s := newSite(t)
	s.holder = s.registry.Holder(t, ann, cola.TierPro)
	b := s.signIn(ann)
	const list = registrytest.PublicURL + "/explore?date_range=all&page=2"
	b.open(list)
	paths := ask(b, chromedp.Evaluate[[]string](`[...document.querySelectorAll(".explore-results h3 a")].map(a => a.pathname)`))
	b.click(".explore-results li:nth-child(2) h3 a")
	b.shows("2 of 20", "Previous", "Next")
	b.click("[data-steps] [rel=next]")
	if at := b.at(); !strings.HasSuffix(at, paths[2]) {
		t.Errorf("next label is %s, want %s", at, paths[2])
	}
	b.click("[data-steps] a:not([rel=prev], [rel=next])")
	if at, want := b.at(), list+"#"+path.Base(paths[2]); at != want || !ask(b, chromedp.Evaluate[bool](`scrollY > 0`)) {
		t.Errorf("the link back leads to %s, want %s, scrolled to the label", at, want)
	}
	b.open(registrytest.PublicURL + paths[len(paths)-1])
	b.shows("20 of 20 on this page", "Previous")
	b.open(registrytest.PublicURL + paths[0])
	if previous := ask(b, chromedp.Evaluate[bool](`!!document.querySelector("[data-steps] [rel=prev]")`)); previous {
		t.Error("first label links to a previous one")
	}
	usage, _, err := s.registry.Usage(t.Context(), s.holder)
	if err != nil || usage.DetailViews.Used != 4 || usage.ListRecords.Used != len(paths) {
		t.Errorf("used %+v and %+v, %v; want one detail view for each of four labels, and one list record for each of %d",
			usage.DetailViews, usage.ListRecords, err, len(paths))
	}
	b.open(list)
	b.click(".meta a")
	b.click("th > a")
	b.do(visible("[data-steps]"))
	if back := ask(b, chromedp.Evaluate[bool](`!!document.querySelector("[data-steps] a:not([rel=prev], [rel=next])")`)); back {
		t.Error("a label links back to its permittee's page, which would be charged again")
	}
	b.click(".side form button")
	b.open(registrytest.PublicURL + "/sign-in")
	b.do(until(`sessionStorage.getItem("labels") === null`))
	b.checkErrors("steps")
}
