package browser

import (
	"fmt"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// hand operates a page as one kind of user does. Controls are JavaScript expressions, such as those
// that named returns. Methods wait until the control is visible.
type hand interface {
	reach(control string) // brings the control under the pointer, or gives it focus
	press(control string)
	choose(control string) // selects a radio button or a checkbox
	fill(control, text string)
	openMenu() // makes the dashboard's menu entries visible
}

// named returns an expression for the first visible element that matches a selector and has the
// given name, which is the text that users read: its label or, without a label, its own text. The
// expression is null while there is no such element. Controls in the main part of a page come
// first.
func named(selector, name string) string {
	const find = `((selector, name) => {
		const said = (e) => (e.labels?.[0]?.querySelector(":scope > span") ?? e.labels?.[0] ?? e).innerText.replace(/\s+/g, " ").trim();
		const all = [...document.querySelectorAll(selector)];
		all.sort((a, b) => !!b.closest("main") - !!a.closest("main"));
		return all.find((e) => said(e) === name && e.checkVisibility({visibilityProperty: true})) ?? null;
	})(%q, %q)`
	return fmt.Sprintf(find, selector, name)
}

const (
	buttons = "a, button, summary"
	fields  = "input:not([type=radio], [type=checkbox], [type=hidden]), select, textarea"
	choices = "input[type=radio], input[type=checkbox]"
	entries = "nav[aria-label=Dashboard] :is(a, button)"
)

// pointer operates a page with a mouse, or with a finger if touch is set.
type pointer struct {
	*tab
	touch bool
}

func (p pointer) reach(control string) { p.middle(control) }

func (p pointer) press(control string) {
	p.t.Helper()
	x, y := p.middle(control)
	if p.touch {
		p.do(command(input.DispatchTouchEvent, input.DispatchTouchEventParams{
			Type: input.DispatchTouchEventTypeTouchStart, TouchPoints: []*input.TouchPoint{{X: x, Y: y}},
		}), command(input.DispatchTouchEvent, input.DispatchTouchEventParams{
			Type: input.DispatchTouchEventTypeTouchEnd, TouchPoints: []*input.TouchPoint{},
		}))
		return
	}
	p.do(chromedp.MouseClickXY(x, y))
}

func (p pointer) choose(control string) { p.press(control) }

func (p pointer) fill(control, text string) {
	p.t.Helper()
	p.press(control)
	p.do(until("document.activeElement === "+control), chromedp.KeyEvent(text))
}

func (p pointer) openMenu() {
	p.t.Helper()
	if p.touch {
		p.press(named("summary", "Menu"))
	}
}

// newPhone makes a tab emulate a phone.
func newPhone(b *tab) hand {
	b.t.Helper()
	b.setSize(phone, "light")
	b.do(command(emulation.SetTouchEmulationEnabled, emulation.SetTouchEmulationEnabledParams{Enabled: true}))
	return pointer{b, true}
}

// keyboard operates a page without a pointer.
type keyboard struct{ *tab }

// maxTabs is the maximum number of times that Tab is pressed to reach a control. No page has that
// many controls.
const maxTabs = 250

// maxParts is the maximum number of times that Tab stays within a control, such as a date field
// with several parts.
const maxParts = 8

// focused is the format of a script that describes the focused element. Its argument is an
// expression for the control to reach.
const focused = `(() => {
	const e = document.activeElement, target = %s;
	window.kept = e === window.last ? window.kept + 1 : 0;
	window.last = e;
	if (e === document.body) return {name: "", reached: false, visible: true, covered: false, kept: 0};
	const s = getComputedStyle(e), r = e.getClientRects()[0], small = r.height < innerHeight;
	const hit = document.elementFromPoint(r.x + r.width / 2, r.y + r.height / 2);
	return {
		name: e.innerText?.trim().slice(0, 60) || e.name || e.tagName,
		reached: e === target || (e.type === "radio" && e.name === target?.name),
		inMain: !!target?.closest("main"),
		visible: s.outlineStyle !== "none" && parseFloat(s.outlineWidth) > 0 && r.width > 0 && r.right > 0,
		kept: window.kept,
		covered: small && !e.contains(hit) && !hit?.contains(e) && ![...e.labels ?? []].some((l) => l.contains(hit)),
	};
})()`

// reach presses Tab until the control, or a radio button in its group, has focus. Every element on
// the way must show that it has focus and must not trap it. To reach a control in the main part of
// the page, it follows the link that skips the menu.
func (k keyboard) reach(control string) {
	k.t.Helper()
	k.do(until(control))
	var way []string
	last := ""
	for range maxTabs {
		k.do(chromedp.KeyEvent(kb.Tab))
		at := ask(k.tab, chromedp.Evaluate[struct {
			Name    string `json:"name"`
			Reached bool   `json:"reached"`
			InMain  bool   `json:"inMain"`
			Visible bool   `json:"visible"`
			Covered bool   `json:"covered"`
			Kept    int    `json:"kept"`
		}](fmt.Sprintf(focused, control)))
		if !at.Visible || at.Covered {
			k.t.Errorf("focus of %q: visible %t, covered %t\n%s", at.Name, at.Visible, at.Covered, k.at())
		}
		if at.Reached {
			return
		}
		if at.Kept > maxParts {
			k.t.Fatalf("Tab does not leave %q\n%s", at.Name, k.dump())
		}
		if at.Name == "Skip to content" && at.InMain && last != at.Name {
			k.do(chromedp.KeyEvent(kb.Enter))
		}
		last = at.Name
		way = append(way, at.Name)
	}
	k.t.Fatalf("Tab does not reach %s, only %q\n%s", control, way, k.dump())
}

// press presses Space on buttons, and Enter on other controls.
func (k keyboard) press(control string) {
	k.t.Helper()
	k.reach(control)
	key := kb.Enter
	if ask(k.tab, chromedp.Evaluate[bool](`document.activeElement.matches("button")`)) {
		key = " "
	}
	k.do(chromedp.KeyEvent(key))
}

// choose presses Space on a checkbox, and the arrow keys in a group of radio buttons.
func (k keyboard) choose(control string) {
	k.t.Helper()
	k.reach(control)
	if ask(k.tab, chromedp.Evaluate[bool](`document.activeElement.type === "checkbox"`)) {
		k.do(chromedp.KeyEvent(" "))
	}
	for range maxTabs {
		if ask(k.tab, chromedp.Evaluate[bool]("document.activeElement === "+control)) {
			return
		}
		k.do(chromedp.KeyEvent(kb.ArrowDown))
	}
	k.t.Fatalf("arrow keys do not reach %s\n%s", control, k.dump())
}

func (k keyboard) fill(control, text string) {
	k.t.Helper()
	if !ask(k.tab, chromedp.Evaluate[bool]("document.activeElement === "+control)) {
		k.reach(control)
	}
	k.do(chromedp.KeyEvent(text))
}

func (k keyboard) openMenu() {}
