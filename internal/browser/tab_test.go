package browser

import (
	"context"
	"errors"
	"fmt"
	"html"
	neturl "net/url"
	"strings"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
)

// Steps run scripts in the page and never use chromedp's cached nodes. If the browser is slow to
// report a new page, those nodes may still belong to the old one, and every use of them fails.

// ask runs a step in the tab and returns its value.
func ask[T any](b *tab, a chromedp.Action[T]) T {
	b.t.Helper()
	v, err := try(b, a)
	if err != nil {
		b.t.Fatalf("%v\n%s", err, b.dump())
	}
	return v
}

func try[T any](b *tab, a chromedp.Action[T]) (T, error) {
	ctx, cancel := context.WithTimeout(b.ctx, stepTimeout)
	defer cancel()
	return chromedp.Run(ctx, a)
}

// do runs steps in the tab.
func (b *tab) do(steps ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	ask(b, chromedp.Steps(steps...))
}

// dump returns the tab's URL and text, for error messages.
func (b *tab) dump() string {
	at, _ := try(b, chromedp.Location())
	text, _ := try(b, chromedp.Evaluate[string]("document.body.innerText"))
	return "at " + at + ":\n" + text
}

// open navigates to a URL and waits until the page and its resources are loaded.
func (b *tab) open(url string) {
	b.t.Helper()
	b.do(chromedp.Navigate(url))
}

// openFromOtherSite follows a cross-site link to a URL.
func (b *tab) openFromOtherSite(url string) {
	b.t.Helper()
	b.open("data:text/html," +
		neturl.PathEscape(fmt.Sprintf(`<!doctype html><title>Other site</title><a href="%s">Look</a>`,
			html.EscapeString(url))))
	b.click("a")
}

// eventually polls the page until an expression is not null, even across navigations.
func eventually[T any](expression string) chromedp.Action[*T] {
	return func(ctx context.Context, t *chromedp.Target) (*T, error) {
		for {
			value, err := chromedp.Evaluate[*T](expression)(ctx, t)
			if thrown := (*chromedp.ExceptionError)(nil); value != nil || errors.As(err, &thrown) {
				return value, err
			}
			select {
			case <-ctx.Done():
				return nil, fmt.Errorf("waiting for %s: %w", expression, errors.Join(ctx.Err(), err))
			case <-time.After(10 * time.Millisecond):
			}
		}
	}
}

// until waits until an expression is true in the page.
func until(expression string) chromedp.Action[chromedp.Void] {
	return func(ctx context.Context, t *chromedp.Target) (chromedp.Void, error) {
		_, err := eventually[bool]("("+expression+") ? true : null")(ctx, t)
		return chromedp.Void{}, err
	}
}

// showing returns an expression for the first element that a selector matches. It evaluates to null
// while the element is not visible.
func showing(selector string) string {
	return fmt.Sprintf("(e => e && e.checkVisibility({visibilityProperty: true}) ? e : null)(document.querySelector(%q))", selector)
}

// visible waits until an element that a selector matches is visible.
func visible(selector string) chromedp.Action[chromedp.Void] { return until(showing(selector)) }

// click clicks the element that a selector matches and waits for the next page.
func (b *tab) click(selector string) {
	b.t.Helper()
	if _, err := b.waitForPage(b.mouse(selector)); err != nil {
		b.t.Fatalf("click on %s: %v\n%s", selector, err, b.dump())
	}
}

// mouse waits for an element and returns the step that clicks it.
func (b *tab) mouse(selector string) chromedp.Action[chromedp.Void] {
	b.t.Helper()
	return chromedp.MouseClickXY(b.middle(showing(selector)))
}

// middle scrolls to the element that an expression evaluates to and returns the element's center.
// It waits until the expression isn't null and nothing covers the element.
func (b *tab) middle(expression string) (x, y float64) {
	b.t.Helper()
	const middle = `(e => {
		if (!e) return null;
		e.scrollIntoView({block: "center", inline: "center", behavior: "instant"});
		const r = e.getClientRects()[0], x = r.x + r.width / 2, y = r.y + r.height / 2;
		return e.contains(document.elementFromPoint(x, y)) ? {x, y} : null; // a person couldn't click a covered element
	})(%s)`
	at := ask(b, eventually[struct {
		X float64 `json:"x"`
		Y float64 `json:"y"`
	}](fmt.Sprintf(middle, expression)))
	return at.X, at.Y
}

// fill replaces the text in a field.
func (b *tab) fill(selector, text string) {
	b.t.Helper()
	b.do(until(fmt.Sprintf("(e => e && (e.focus(), e.select(), document.activeElement === e))(%s)", showing(selector))),
		chromedp.KeyEvent(text))
}

// press clicks a button or link by its text and waits for the next page.
func (b *tab) press(words string) {
	b.t.Helper()
	if _, err := b.waitForPage(chromedp.MouseClickXY(b.middle(named(buttons, words)))); err != nil {
		b.t.Fatalf("press %s: %v\n%s", words, err, b.dump())
	}
}

// shows fails the test unless the page contains all the given strings.
func (b *tab) shows(words ...string) {
	b.t.Helper()
	text := ask(b, chromedp.Evaluate[string]("document.body.innerText"))
	for _, w := range words {
		if !strings.Contains(text, w) {
			b.t.Errorf("page lacks %q\n%s", w, b.dump())
		}
	}
}

// at returns the URL of the page.
func (b *tab) at() string {
	b.t.Helper()
	return ask(b, chromedp.Location())
}

// setSize sets the page width in CSS pixels and the color scheme: light or dark.
func (b *tab) setSize(width int64, scheme string) {
	b.t.Helper()
	b.do(
		command(emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{
			Width:             width,
			Height:            900,
			DeviceScaleFactor: 1,
			Mobile:            width < 500,
		}),
		command(emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{
			{Name: "prefers-color-scheme", Value: scheme}, {Name: "prefers-reduced-motion", Value: "reduce"},
		}}),
	)
}

// cookie returns the value of one of the page's cookies, or "".
func (b *tab) cookie(name string) (value string) {
	b.t.Helper()
	b.do(chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		got, err := cdp.Call(ctx, t, network.GetCookies, network.GetCookiesParams{})
		for _, c := range got.Cookies {
			if c.Name == name {
				value = c.Value
			}
		}
		return err
	}))
	return value
}

// setCookie plants a cookie for a URL, as someone with earlier access to the browser might.
func (b *tab) setCookie(url, name, value string) {
	b.t.Helper()
	b.do(command(network.SetCookie, network.SetCookieParams{Name: name, Value: value, URL: url, HTTPOnly: new(true)}))
}

// waitForPage runs steps that lead to another page, and waits for that page.
func (b *tab) waitForPage(steps ...chromedp.Action[chromedp.Void]) (*network.Response, error) {
	ctx, cancel := context.WithTimeout(b.ctx, stepTimeout)
	defer cancel()
	return chromedp.RunResponse(ctx, steps...)
}

// disableScripts disables page scripts in the tab.
func (b *tab) disableScripts() {
	b.t.Helper()
	b.do(command(emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true}))
}
