package browser

import (
	"fmt"
	"strings"
	"testing"

	permission "github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
)

// maxClicks is the maximum number of clicks from the landing page to the first call: run a sample,
// open the quickstart, copy its first command, sign in, start and finish creating a key, open the
// API reference, and send the call. There are two pastes, both outside the page: the command into a
// terminal and the link into the address bar.
const maxClicks = 8

// countClicks is a script that counts the mouse clicks in a tab, across all pages. It doesn't count
// clicks by scripts, which fire no mousedown event.
const countClicks = `addEventListener("mousedown", () => { localStorage.clicks = 1 + Number(localStorage.clicks || 0); }, true)`

// inView is a script that reports whether the center of an element is on the screen.
const inView = `(e => {
	const r = e.getBoundingClientRect();
	return e.contains(document.elementFromPoint(r.x + r.width / 2, r.y + r.height / 2));
})`

// TestFirstCall makes a first call like someone who has never seen the service: it opens the
// landing page, runs a sample call, copies a command from the quickstart, signs in with the link
// that the server printed, creates a key, and sends a call from the API reference. It must not take
// more than maxClicks clicks.
func TestFirstCall(t *testing.T) {
	p := startProgram(t)
	b := newTab(t, newChromium(t, ""), false)
	for _, use := range []string{"clipboard-read", "clipboard-write"} {
		b.do(command(permission.SetPermission, permission.SetPermissionParams{
			Permission: &permission.PermissionDescriptor{Name: use}, Setting: permission.PermissionSettingGranted,
		}))
	}
	b.do(command(page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: countClicks}))

	b.open(p.base + "/")
	for _, shown := range []string{"h1", ".shelf img"} {
		if !ask(b, chromedp.Evaluate[bool](inView+fmt.Sprintf("(document.querySelector(%q))", shown))) {
			t.Errorf("%s is not on the first screen", shown)
		}
	}
	b.do(b.mouse("[data-sample=search]"))
	b.do(until(`document.querySelector("#sample-search [role=status]").textContent.startsWith("200 OK")`))
	b.press("Read the quickstart")
	const copyButton = ".prose .copy"
	b.do(until(fmt.Sprintf("document.querySelector(%q)", copyButton)), b.mouse(copyButton))
	b.do(until(fmt.Sprintf(`document.querySelector(%q).textContent === "Copied"`, copyButton)))
	copied := ask(b, chromedp.Evaluate[string]("navigator.clipboard.readText()", chromedp.EvalAwaitPromise))
	if !strings.HasPrefix(copied, "export API="+p.base+"/api/v1\n") {
		t.Errorf("quickstart copies %q", copied)
	}
	b.open(p.link())
	b.press("Sign in as demo@example.com")
	b.press("Create API key")
	// The field already has focus. Focusing it by hand would take a click.
	b.do(until(`document.activeElement.matches("input")`), chromedp.KeyEvent("First call"))
	b.press("Create key")
	key := ask(b, chromedp.Evaluate[string](`document.querySelector(".secret code").textContent.trim()`))
	b.press("Try it in the API reference")
	if sample := ask(b, chromedp.Evaluate[string](`document.querySelector(".sample pre").textContent`)); !strings.Contains(sample, key) {
		t.Errorf("sample lacks the key:\n%s", sample)
	}
	b.do(b.mouse(".try .button"))
	b.do(until(tried + `.startsWith("200 ")`))
	if answer := ask(b, chromedp.Evaluate[string](tried)); !strings.Contains(answer, `"ttb_id": `) {
		t.Errorf("response has no label:\n%s", answer)
	}
	if n := ask(b, chromedp.Evaluate[int](`Number(localStorage.clicks)`)); n > maxClicks || n == 0 {
		t.Errorf("%d clicks, want at most %d", n, maxClicks)
	}

	b.checkKept(key)
	b.open(p.base + "/")
	b.press("Sign out")
	if ask(b, chromedp.Evaluate[bool](`sessionStorage.getItem("key") !== null`)) {
		t.Error("the key is still in the tab after signing out")
	}
	b.checkErrors("the first call")
	if strings.Contains(p.Log(), key) {
		t.Error("log contains the key")
	}
}
