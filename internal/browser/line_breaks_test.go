package browser

import (
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/colaregistry/colaregistry/internal/registrytest"
)

// unfold opens all samples and collapsed parts of a page.
const unfold = `document.querySelectorAll("details").forEach((e) => { e.removeAttribute("name"); e.open = true; }) ?? true`

// misplaced evaluates to the places where code wraps after a hyphen, or before a backslash at the
// end of a line: the characters around each break.
const misplaced = `[...document.querySelectorAll("main :is(pre, code:not(pre code))")].filter((e) => e.checkVisibility()).flatMap((code) => {
	const characters = [];
	const nodes = document.createTreeWalker(code, NodeFilter.SHOW_TEXT);
	while (nodes.nextNode()) {
		for (let i = 0; i < nodes.currentNode.length; i++) characters.push([nodes.currentNode, i]);
	}
	const bottom = ([node, i]) => {
		const range = document.createRange();
		range.setStart(node, i);
		range.setEnd(node, i + 1);
		return [...range.getClientRects()].at(-1)?.bottom;
	};
	const text = code.textContent;
	return [...text.matchAll(/-(?=[^\s-])|\S(?= \\$)/gm)]
		.filter(({ index }) => bottom(characters[index + (text[index + 1] === " " ? 2 : 1)]) - bottom(characters[index]) > 5)
		.map(({ index }) => text.slice(Math.max(0, index - 20), index + 10));
})`

// wideCode evaluates to the beginnings of the blocks of code that are wider than their boxes.
const wideCode = `[...document.querySelectorAll("main pre")].filter((e) => e.scrollWidth > e.clientWidth).map((e) => e.textContent.slice(0, 60))`

// invisible evaluates to the number of blocks of code whose text, which readers copy, has invisible
// characters.
const invisible = `[...document.querySelectorAll("main pre")].filter((e) => /[\u00ad\u200b-\u200d\u2060\ufeff]/.test(e.textContent)).length`

// enterKey enters a key on a reference page.
const enterKey = `(() => {
	const field = document.querySelector(".key input");
	if (field) Object.assign(field, { value: "lar_" + "W".repeat(36) }).dispatchEvent(new Event("input"));
	return true;
})()`

// TestLineBreaks checks that lines of code don't break after hyphens or before backslashes, fit on a
// phone, and keep the text that readers copy.
func TestLineBreaks(t *testing.T) {
	b := newTab(t, newSite(t).browser, true)
	for _, width := range []int64{wide, phone, narrow} {
		b.setSize(width, "light")
		for _, page := range []string{"assistants", "alerts", "reference/saved-searches", "reference/labels", "tools/saved-searches"} {
			b.open(registrytest.PublicURL + "/docs/" + page)
			b.do(until(unfold))
			for _, prepare := range []string{"true", enterKey} {
				b.do(until(prepare))
				if broken := ask(b, chromedp.Evaluate[[]string](misplaced)); len(broken) > 0 {
					t.Errorf("%s, %d wide: %d breaks after hyphens or before backslashes: %q", page, width, len(broken), broken[:min(9, len(broken))])
				}
			}
			if over := ask(b, chromedp.Evaluate[[]string](wideCode)); len(over) > 0 {
				t.Errorf("%s, %d wide: code overflows: %q", page, width, over)
			}
			if n := ask(b, chromedp.Evaluate[int](invisible)); n > 0 {
				t.Errorf("%s: %d blocks of code contain invisible characters", page, n)
			}
		}
	}
}
