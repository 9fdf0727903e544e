package browser

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/registrytest"
)

// Expressions about the focused field and its suggestions.
const (
	attribute = `(name => document.activeElement.getAttribute(name))`
	options   = `[...document.getElementById(` + attribute + `("aria-controls")).children]`
	expanded  = attribute + `("aria-expanded") === "true" && ` + options + `.length > 0`
	closed    = attribute + `("aria-expanded") === "false" && ` + attribute + `("aria-activedescendant") === null && ` +
		`!` + options + `.some(o => o.checkVisibility())`
	// active is the index of the option that a screen reader announces, or -1.
	active = options + `.findIndex(o => o.id === ` + attribute + `("aria-activedescendant") && ` +
		`o.getAttribute("aria-selected") === "true")`
	announcement = `document.querySelector("main > [role=status].unseen").textContent`
)

// suggest opens the search form and types text into one of its fields.
func (s *site) suggest(b *tab, name, text string) {
	b.t.Helper()
	s.registry.Advance(time.Minute) // pages and suggestions are rate limited, and the clock is frozen
	b.open(registrytest.PublicURL + "/explore")
	b.do(until(`document.querySelector(".explore-form details").open = true`))
	b.fill(".explore-form [name="+name+"]", text)
}

// key presses keys and returns the text of the focused field and the index of its active option, or
// -1.
func (b *tab) key(keys string) (value string, option int) {
	b.t.Helper()
	b.do(chromedp.KeyEvent(keys))
	return b.state()
}

// accept presses Enter and returns the same values as key.
func (b *tab) accept() (value string, option int) {
	b.t.Helper()
	b.choose()
	return b.state()
}

// choose presses Enter. Unlike KeyEvent, it sends the key and its character as one event, so that a
// page that handles the key can reliably prevent form submission.
func (b *tab) choose() {
	b.t.Helper()
	down := input.DispatchKeyEventParams{
		Type: input.DispatchKeyEventTypeKeyDown, Key: "Enter", Code: "Enter", Text: kb.Enter, WindowsVirtualKeyCode: 13,
	}
	up := down
	up.Type, up.Text = input.DispatchKeyEventTypeKeyUp, ""
	b.do(command(input.DispatchKeyEvent, down), command(input.DispatchKeyEvent, up))
}

func (b *tab) state() (value string, option int) {
	b.t.Helper()
	return ask(b, chromedp.Evaluate[string](`document.activeElement.value`)), ask(b, chromedp.Evaluate[int](active))
}

// TestSuggestions checks that a field's suggestions work with the keyboard.
func TestSuggestions(t *testing.T) {
	s := newSite(t)
	s.registry.Holder(t, ann, cola.TierFree)
	axe := mustAxe(t)
	b := s.signIn(ann)
	for _, v := range []view{{wide, "light"}, {wide, "dark"}, {390, "light"}} {
		where := fmt.Sprintf("%d wide, %s", v.width, v.scheme)
		b.setSize(v.width, v.scheme)
		s.suggest(b, "origin", "o")
		b.do(until(expanded))
		b.accessible(where, axe)
		if over := ask(b, chromedp.Evaluate[int](overflow)); over > 0 {
			t.Errorf("%s: overflows horizontally by %d pixels", where, over)
		}
		if _, option := b.key(kb.ArrowDown); option != 0 {
			t.Errorf("%s: option %d is active after Down, want the first", where, option)
		}
		b.accessible(where+", active option", axe)
	}
	b.setSize(wide, "light")
	last := ask(b, chromedp.Evaluate[int](options+`.length`)) - 1
	announced := ask(b, chromedp.Evaluate[string](announcement))
	if !strings.HasPrefix(announced, fmt.Sprint(last+1)) || last < 1 {
		t.Errorf("announced %q, want the number of suggestions, %d", announced, last+1)
	}
	if _, option := b.key(kb.ArrowUp); option != last {
		t.Errorf("option %d is active after Up from the first, want the last, %d", option, last)
	}
	if value, option := b.key(kb.ArrowDown); option != 0 || value != "o" {
		t.Errorf("after Down from the last: option %d, field %q; want the first and o", option, value)
	}
	if value, _ := b.key(kb.Escape); value != "o" {
		t.Errorf("after Escape: field %q, want o", value)
	}
	b.do(until(closed), chromedp.KeyEvent(kb.ArrowDown), until(expanded+" && "+active+" === 0"))
	want := ask(b, chromedp.Evaluate[string](options+`[0].querySelector("bdi").textContent`))
	if value, _ := b.accept(); value != want || !strings.HasSuffix(b.at(), "/explore") {
		t.Errorf("after Enter: field %q at %s, want %q on the form", value, b.at(), want)
	}
	b.do(until(closed))
	b.enter() // the list is closed, so Enter searches
	b.shows("label")
	if !strings.Contains(b.at(), "origin=") {
		t.Errorf("search redirects to %s, want a URL with origin", b.at())
	}
	b.checkErrors("suggestions")
}

// TestCompanySuggestions checks that choosing a company with the mouse fills in its permit number.
func TestCompanySuggestions(t *testing.T) {
	s := newSite(t)
	s.registry.Holder(t, ann, cola.TierFree)
	b := s.signIn(ann)
	s.suggest(b, "permit_number", "vin")
	b.do(until(expanded))
	want := ask(b, chromedp.Evaluate[string](options+`[1].querySelector(".soft").textContent`))
	at := ask(b, chromedp.Evaluate[struct {
		X float64 `json:"x"`
		Y float64 `json:"y"`
	}](`(r => ({x: r.x + r.width / 2, y: r.y + r.height / 2}))(`+options+`[1].getBoundingClientRect())`))
	b.do(chromedp.MouseClickXY(at.X, at.Y), until(closed))
	if got := ask(b, chromedp.Evaluate[string](`document.activeElement.value`)); got != want || want == "" {
		t.Errorf("the field has %q, want the permit number %q", got, want)
	}
	b.checkErrors("suggestions")
}

// TestSearchSuggestions checks that the main field suggests brands and companies, and that choosing
// one finds as many labels as its count says, across all dates unless the form has dates. Pressing
// Enter without choosing one searches for the text. In the brand field, choosing a suggestion only
// fills in the whole name, in quotes.
func TestSearchSuggestions(t *testing.T) {
	s := newSite(t)
	s.registry.Holder(t, ann, cola.TierFree)
	b := s.signIn(ann)
	s.suggest(b, "q", "r")
	b.do(until(expanded))
	details := ask(b, chromedp.Evaluate[string](options+`.map(o => o.querySelector(".soft").textContent).join()`))
	if !strings.HasPrefix(details, "Brand,") || strings.HasSuffix(details, "Brand") {
		t.Errorf("the suggestions are described as %s, want brands, then permits", details)
	}
	for key, param := range map[string]string{kb.ArrowDown: "q=%22", kb.ArrowUp: "permit_number="} { // the first brand, the last company
		s.suggest(b, "q", "r")
		b.do(until(expanded))
		_, option := b.key(key)
		count := ask(b, chromedp.Evaluate[string](fmt.Sprintf(`%s[%d].querySelector(".n").textContent`, options, option)))
		b.choose()
		b.do(until(fmt.Sprintf(`document.querySelector(".explore-head h2")?.textContent === %q`, count)))
		if at := b.at(); !strings.Contains(at, param) || !strings.Contains(at, "date_range=all") {
			t.Errorf("choosing option %d leads to %s, want %s and all dates", option, at, param)
		}
	}
	s.suggest(b, "q", "r")
	b.do(until(expanded))
	b.enter()
	if at := b.at(); !strings.HasSuffix(at, "/explore?q=r") {
		t.Errorf("Enter leads to %s, want a search for the text in the field", at)
	}
	s.suggest(b, "q", "r")
	b.do(until(expanded+` && (document.querySelector("[name=approval_date_from]").value = "2020-01-01")`), chromedp.KeyEvent(kb.ArrowDown))
	b.choose()
	b.do(until(`location.search.includes("approval_date_from=2020")`))
	if at := b.at(); strings.Contains(at, "date_range") {
		t.Errorf("choosing a brand for given dates leads to %s", at)
	}
	s.suggest(b, "brand_name", "r")
	b.do(until(expanded))
	want := ask(b, chromedp.Evaluate[string](options+`[0].querySelector("bdi").textContent`))
	if b.key(kb.ArrowDown); want == "" {
		t.Fatal("no name")
	}
	if got, option := b.accept(); got != `"`+want+`"` || option != -1 {
		t.Errorf("the brand field has %s with option %d, want the name %s in quotes", got, option, want)
	}
	b.enter()
	if !strings.Contains(b.at(), "brand_name=%22") {
		t.Errorf("the search is at %s", b.at())
	}
	b.checkErrors("suggestions")
}

// TestStaleSuggestions checks that suggestions match the latest text, that they disappear when the
// text is deleted or the field loses focus, and that the field works if they can't be loaded.
func TestStaleSuggestions(t *testing.T) {
	s := newSite(t)
	s.registry.Holder(t, ann, cola.TierFree)
	b := s.signIn(ann)
	s.suggest(b, "brand_name", "o")
	b.do(until(expanded))
	b.key("a")
	b.do(until(expanded + ` && ` + options + `.every(o => /(^|\W)oa/i.test(o.querySelector("bdi").textContent))`))
	b.key(kb.Backspace + kb.Backspace)
	b.do(until(closed))
	b.do(chromedp.KeyEvent("oak"), until(expanded), chromedp.KeyEvent(kb.Tab), // to the next field
		until(`document.querySelector("[name=brand_name]").getAttribute("aria-expanded") === "false"`))
	blocked := &network.BlockPattern{URLPattern: registrytest.PublicURL + "/explore/suggestions*", Block: true}
	b.fill("[name=brand_name]", "oa")
	b.do(until(expanded),
		command(network.SetBlockedURLs, network.SetBlockedURLsParams{URLPatterns: []*network.BlockPattern{blocked}}),
		chromedp.KeyEvent("k"), until(closed))
	b.errors.take() // the browser reports the blocked request
	b.enter()
	if !strings.Contains(b.at(), "brand_name=oak") {
		t.Errorf("search redirects to %s, want a URL with brand_name=oak", b.at())
	}
}
