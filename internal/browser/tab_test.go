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

// Steps ask scripts in the page, never the nodes that chromedp keeps of it: those may still be the ones of the page before when the browser is slow to tell
// of a new one, and every use of them fails then.

// ask has the tab do what gives a value.
func ask[T any](b *tab, a chromedp.Action[T]) T {
	b.t.Helper()
	v, err := try(b, a)
	if err != nil {
		b.t.Fatalf("%v\n%s", err, b.seen())
	}
	return v
}

func try[T any](b *tab, a chromedp.Action[T]) (T, error) {
	ctx, cancel := context.WithTimeout(b.ctx, stepWithin)
	defer cancel()
	return chromedp.Run(ctx, a)
}

// do does steps in the tab.
func (b *tab) do(steps ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	ask(b, chromedp.Steps(steps...))
}

// seen tells where the tab is and what is to be read there, to go with an error.
func (b *tab) seen() string {
	at, _ := try(b, chromedp.Location())
	text, _ := try(b, chromedp.Evaluate[string]("document.body.innerText"))
	return "at " + at + ":\n" + text
}

// open goes to an address and waits until it is there with all that it loads.
func (b *tab) open(url string) {
	b.t.Helper()
	b.do(chromedp.Navigate(url))
}

// openFromElsewhere follows a link of another site to an address.
func (b *tab) openFromElsewhere(url string) {
	b.t.Helper()
	b.open("data:text/html," + neturl.PathEscape(fmt.Sprintf(`<!doctype html><title>Elsewhere</title><a href="%s">Look</a>`, html.EscapeString(url))))
	b.click("a")
}

// eventually asks the page until an expression has a value there that is not null, over whatever pages come meanwhile.
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

// until waits until an expression holds in the page.
func until(expression string) chromedp.Action[chromedp.Void] {
	return func(ctx context.Context, t *chromedp.Target) (chromedp.Void, error) {
		_, err := eventually[bool]("("+expression+") ? true : null")(ctx, t)
		return chromedp.Void{}, err
	}
}

// showing is an expression of the first element that a selector finds, or null while there is none to see.
func showing(selector string) string {
	return fmt.Sprintf("(e => e && e.checkVisibility({visibilityProperty: true}) ? e : null)(document.querySelector(%q))", selector)
}

// visible waits until there is something to see that a selector finds.
func visible(selector string) chromedp.Action[chromedp.Void] { return until(showing(selector)) }

// click presses what a selector finds and waits for the page that comes.
func (b *tab) click(selector string) {
	b.t.Helper()
	const middle = `(e => {
		if (!e) return null;
		e.scrollIntoView({block: "center", inline: "center", behavior: "instant"});
		const r = e.getClientRects()[0];
		return {x: r.x + r.width / 2, y: r.y + r.height / 2};
	})(%s)`
	at := ask(b, eventually[struct {
		X float64 `json:"x"`
		Y float64 `json:"y"`
	}](fmt.Sprintf(middle, showing(selector))))
	if _, err := b.turning(chromedp.MouseClickXY(at.X, at.Y)); err != nil {
		b.t.Fatalf("click on %s: %v\n%s", selector, err, b.seen())
	}
}

// fill types into a field in place of what is there.
func (b *tab) fill(selector, text string) {
	b.t.Helper()
	b.do(until(fmt.Sprintf("(e => e && (e.focus(), e.select(), document.activeElement === e))(%s)", showing(selector))), chromedp.KeyEvent(text))
}

// choose picks a value of a list.
func (b *tab) choose(selector, value string) {
	b.t.Helper()
	b.do(until(fmt.Sprintf("(e => e && (e.value = %q, e.value === %[1]q))(%s)", value, showing(selector))))
}

// press presses a button or link by its words.
func (b *tab) press(words string) {
	b.t.Helper()
	const mark = `(words => {
		for (const e of document.querySelectorAll("main a, main button, nav a, nav button, form button, summary")) {
			if (e.innerText.trim() === words && e.checkVisibility()) { e.setAttribute("data-pressed", ""); return true; }
		}
		return false;
	})`
	if !ask(b, chromedp.Evaluate[bool](fmt.Sprintf("%s(%q)", mark, words))) {
		b.t.Fatalf("there is nothing to press that says %q\n%s", words, b.seen())
	}
	b.click("[data-pressed]")
}

// says fails the test unless the page says some things.
func (b *tab) says(words ...string) {
	b.t.Helper()
	text := ask(b, chromedp.Evaluate[string]("document.body.innerText"))
	for _, w := range words {
		if !strings.Contains(text, w) {
			b.t.Errorf("the page does not say %q\n%s", w, b.seen())
		}
	}
}

// at returns the address of the page.
func (b *tab) at() string {
	b.t.Helper()
	return ask(b, chromedp.Location())
}

// sized gives the page a width, in CSS pixels, and a colour scheme: light or dark.
func (b *tab) sized(width int64, scheme string) {
	b.t.Helper()
	b.do(command(emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{Width: width, Height: 900, DeviceScaleFactor: 1, Mobile: width < 500}),
		command(emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{
			{Name: "prefers-color-scheme", Value: scheme}, {Name: "prefers-reduced-motion", Value: "reduce"},
		}}))
}

// cookie returns the value of a cookie of the page, or nothing.
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

// setCookie gives the browser a cookie for a URL, as whoever has had it in hand before might.
func (b *tab) setCookie(url, name, value string) {
	b.t.Helper()
	b.do(command(network.SetCookie, network.SetCookieParams{Name: name, Value: value, URL: url, HTTPOnly: new(true)}))
}

// turning does what leads to another page, and waits for that.
func (b *tab) turning(steps ...chromedp.Action[chromedp.Void]) (*network.Response, error) {
	ctx, cancel := context.WithTimeout(b.ctx, stepWithin)
	defer cancel()
	return chromedp.RunResponse(ctx, steps...)
}

// scriptless has the tab run no scripts of pages.
func (b *tab) scriptless() {
	b.t.Helper()
	b.do(command(emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true}))
}
