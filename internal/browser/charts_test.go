package browser

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/registrytest"
)

// tip is the text of the chart's visible tooltip, or "".
const tip = `(document.querySelector(".tip:not([hidden])")?.textContent ?? "")`

// TestChartTooltips checks that tooltips, reached by pointer or keyboard, show the numbers in a
// chart's table, and that a screen reader announces them.
func TestChartTooltips(t *testing.T) {
	s := newSite(t)
	s.registry.Holder(t, ann, cola.TierFree)
	axe := mustAxe(t)
	b := s.signIn(ann)
	for _, v := range views() {
		b.setSize(v.width, v.scheme)
		s.registry.Advance(time.Minute)
		b.open(registrytest.PublicURL + "/trends?group_by=year&group_by=product_type&date_range=all")
		first := ask(b, chromedp.Evaluate[string](`document.querySelector("tbody tr").cells[0].textContent`))
		last := ask(b, chromedp.Evaluate[string](`[...document.querySelectorAll("tbody tr")].at(-1).cells[0].textContent`))
		total := ask(b, chromedp.Evaluate[string](`[...document.querySelector("tbody tr").cells].at(-1).textContent`))
		b.do(until(`document.querySelector(".pointer") !== null`))
		b.do(until(`(document.querySelector(".pointer").focus(), true)`), chromedp.KeyEvent(kb.Home))
		b.do(until(tip + `.startsWith("` + first + `")`))
		b.accessible("tooltip", axe)
		if got := ask(b, chromedp.Evaluate[string](tip)); !strings.HasSuffix(got, "Total"+total) {
			t.Errorf("tooltip = %q, want total %s", got, total)
		}
		if got := ask(b, chromedp.Evaluate[string](attribute+`("aria-valuetext")`)); !strings.HasPrefix(got, first+": ") ||
			!strings.HasSuffix(got, "Total "+total) {
			t.Errorf("announced %q, want %s with total %s", got, first, total)
		}
		b.do(chromedp.KeyEvent(kb.ArrowRight), chromedp.KeyEvent(kb.ArrowLeft), chromedp.KeyEvent(kb.End))
		b.do(until(tip + `.startsWith("` + last + `")`))
		if over := ask(b, chromedp.Evaluate[int](overflow)); over > 0 {
			t.Errorf("%d wide: tooltip overflows by %d pixels", v.width, over)
		}
		b.do(chromedp.KeyEvent(kb.Escape))
		b.do(until(tip + ` === ""`))
		const move = `(at => { const r = document.querySelector(".pointer").getBoundingClientRect();
			document.querySelector(".pointer").dispatchEvent(new PointerEvent("pointermove", {clientX: r.left + r.width * at, clientY: r.top + 20})); return true })`
		b.do(until(move + `(.125) && ` + tip + `.startsWith("` + first + `")`))
		b.do(until(move + `(.01) && ` + tip + ` === ""`))
		b.checkErrors("chart")
	}
}

// TestSparkline checks that the overview's chart, which has no axes, has the same tooltips,
// starting at its left edge.
func TestSparkline(t *testing.T) {
	s := newSite(t)
	s.holder = s.registry.Holder(t, ann, cola.TierFree)
	key := s.registry.Key(t, s.holder.Account, "Laptop")
	if _, _, err := s.registry.SearchColas(t.Context(), key, cola.SearchParams{PerPage: cola.Some(7)}); err != nil {
		t.Fatal(err)
	}
	b := s.signIn(ann)
	b.setSize(narrow, "light")
	b.open(registrytest.PublicURL + "/")
	b.do(until(`document.querySelector(".pointer") !== null`))
	b.do(until(`(document.querySelector(".pointer").focus(), true)`), chromedp.KeyEvent(kb.End))
	b.do(until(tip + ` === "Nov 20List records7"`))
	b.accessible("sparkline", mustAxe(t))
	const move = `(() => { const r = document.querySelector(".pointer").getBoundingClientRect();
		document.querySelector(".pointer").dispatchEvent(new PointerEvent("pointermove", {clientX: r.left + 2, clientY: r.top + 5})); return true })()`
	b.do(until(move + ` && ` + tip + ` === "Nov 1List records0"`))
	if over := ask(b, chromedp.Evaluate[int](overflow)); over > 0 {
		t.Errorf("tooltip overflows by %d pixels", over)
	}
	b.checkErrors("sparkline")
}

// TestCSVDownload checks that the browser saves a chart's table as CSV at no charge.
func TestCSVDownload(t *testing.T) {
	s := newSite(t)
	s.holder = s.registry.Holder(t, ann, cola.TierFree)
	b := s.signIn(ann)
	into := t.TempDir()
	b.do(command(browser.SetDownloadBehavior, browser.SetDownloadBehaviorParams{
		Behavior: browser.SetDownloadBehaviorBehaviorAllow, DownloadPath: into, BrowserContextID: chromedp.FromContext(b.ctx).BrowserContextID,
	}))
	b.open(registrytest.PublicURL + "/trends?group_by=permit&date_range=all")
	state, err := s.registry.Standing(t.Context(), s.holder)
	if err != nil {
		t.Fatal(err)
	}
	b.do(until(`(document.querySelector("a[download]").click(), true)`))
	var text []byte
	for range 100 {
		if text, err = os.ReadFile(filepath.Join(into, "labels-by-permittee.csv")); err == nil && len(text) > 0 {
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	if !strings.HasPrefix(string(text), "Permittee,Permit number,Labels\r\n") || strings.Count(string(text), "\r\n") != 31 {
		t.Errorf("downloaded %q, %v, want a header and 30 permittees", text, err)
	}
	after, err := s.registry.Standing(t.Context(), s.holder)
	if err != nil || after.Used != state.Used {
		t.Errorf("used %+v, then %+v, %v", state.Used, after.Used, err)
	}
	b.checkErrors("download")
}

// TestPrintedReport checks that a printed report has the results but no navigation or controls.
func TestPrintedReport(t *testing.T) {
	s := newSite(t)
	s.registry.Holder(t, ann, cola.TierFree)
	b := s.signIn(ann)
	b.setSize(700, "dark")
	b.open(registrytest.PublicURL + "/brands?q=Ridge")
	b.do(command(emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Media: "print"}))
	visible := ask(b, chromedp.Evaluate[string](`[...document.querySelectorAll("nav, form, button, input, .actions, .apicall, .top, td.do a")].filter(e => e.checkVisibility()).map(e => e.outerHTML.slice(0, 80)).join("\n")`))
	if visible != "" {
		t.Errorf("printed:\n%s", visible)
	}
	for _, part := range []string{"#report", ".report time", ".report .hint", ".report tbody tr th"} {
		if !ask(b, chromedp.Evaluate[bool](`document.querySelector("`+part+`").checkVisibility()`)) {
			t.Errorf("%s is not printed", part)
		}
	}
	if into := os.Getenv("COLAREGISTRY_SCREENSHOTS"); into != "" {
		mustWrite(t, filepath.Join(into, "brands-printed.png"), ask(b, chromedp.FullScreenshot(100)))
	}
}
