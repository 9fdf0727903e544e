package browser

import (
	"fmt"
	"strings"
	"testing"

	permission "github.com/chromedp/cdproto/browser"
	"github.com/chromedp/chromedp"

	"github.com/colaregistry/colaregistry/auth"
)

// Limits on the work from the landing page to the first call.
const (
	maxClicks = 8
	maxPastes = 2
)

// stranger is a person in front of a browser and a terminal. It counts what it does by hand; typing a
// name and reading are free.
type stranger struct {
	*tab
	clicks, pastes int
}

// inView evaluates to whether the center of an element is on the screen.
const inView = `(e => {
	const r = e.getBoundingClientRect();
	return e.contains(document.elementFromPoint(r.x + r.width / 2, r.y + r.height / 2));
})`

// TestStranger makes the first call as a person who has never seen the service: it opens the landing
// page, runs a sample call, signs in with a link that the quickstart's command prints, creates a key,
// and sends a call from the API reference. It must not take more than maxClicks and maxPastes.
func TestStranger(t *testing.T) {
	p := startProgram(t)
	b := newTab(t, newChromium(t, ""), false)
	for _, use := range []string{"clipboard-read", "clipboard-write"} {
		b.do(command(permission.SetPermission, permission.SetPermissionParams{
			Permission: &permission.PermissionDescriptor{Name: use}, Setting: permission.PermissionSettingGranted,
		}))
	}
	s := &stranger{tab: b}

	s.open(p.base + "/")
	for _, shown := range []string{"h1", ".shelf img"} {
		if !ask(b, chromedp.Evaluate[bool](inView+fmt.Sprintf("(document.querySelector(%q))", shown))) {
			t.Errorf("%s is not on the first screen", shown)
		}
	}
	s.tap("[data-sample=search]")
	s.do(until(`document.querySelector("#sample-search [role=status]").textContent.startsWith("200 OK")`))
	s.follow("Read the quickstart")
	s.open(s.signInLink(p))
	s.follow("Sign in as demo@example.com")
	s.follow("Create key")
	s.write("First call")
	s.follow("Create key")
	key := ask(b, chromedp.Evaluate[string](`document.querySelector(".secret code").textContent.trim()`))
	s.follow("Try it in the API reference")
	if sample := ask(b, chromedp.Evaluate[string](`document.querySelector(".sample pre").textContent`)); !strings.Contains(sample, key) {
		t.Errorf("sample lacks the key:\n%s", sample)
	}
	s.tap(".try .button")
	s.do(until(tried + `.startsWith("200 ")`))
	if answer := ask(b, chromedp.Evaluate[string](tried)); !strings.Contains(answer, `"ttb_id": `) {
		t.Errorf("response has no label:\n%s", answer)
	}
	if s.clicks > maxClicks || s.pastes > maxPastes {
		t.Errorf("%d clicks and %d pastes, want at most %d and %d", s.clicks, s.pastes, maxClicks, maxPastes)
	}
	t.Logf("%d clicks, %d pastes", s.clicks, s.pastes)

	s.checkKept(key)
	s.open(p.base + "/")
	s.press("Sign out")
	if ask(b, chromedp.Evaluate[bool](`sessionStorage.getItem("key") !== null`)) {
		t.Error("the key is still in the tab after signing out")
	}
	s.checkErrors("the first call")
	if strings.Contains(p.Log(), key) {
		t.Error("log contains the key")
	}
}

// signInLink copies the command for a sign-in link from the quickstart, runs it in a terminal, and
// copies the link that it prints.
func (s *stranger) signInLink(p *server) string {
	s.t.Helper()
	const block = `[...document.querySelectorAll(".code")].find(e => e.innerText.includes("account link"))`
	s.do(until(fmt.Sprintf(`(e => e && (e.id = "link-command", true))(%s)`, block)))
	s.tap("#link-command .copy")
	s.do(until(`document.querySelector("#link-command .copy").textContent === "Copied"`))
	copied := ask(s.tab, chromedp.Evaluate[string]("navigator.clipboard.readText()", chromedp.EvalAwaitPromise))
	args, ok := strings.CutPrefix(copied, "go run ./cmd/colaregistry ")
	if !ok {
		s.t.Fatalf("quickstart prints the command %q", copied)
	}
	s.pastes++ // into the terminal
	link := printedLink.FindString(p.Run(strings.Fields(args)...))
	if !strings.HasPrefix(link, p.base+auth.SignInLinkPath) {
		s.t.Fatalf("command prints the link %q", link)
	}
	s.pastes++ // into the address bar
	return link
}

// tap clicks an element that doesn't lead to another page.
func (s *stranger) tap(selector string) {
	s.t.Helper()
	s.clicks++
	s.do(s.mouse(selector))
}

// follow clicks a link or button by its text, and waits for the next page.
func (s *stranger) follow(words string) {
	s.t.Helper()
	s.clicks++
	s.press(words)
}

// write types into the field that has the focus. Focusing a field by hand would take a click.
func (s *stranger) write(text string) {
	s.t.Helper()
	s.do(until(`document.activeElement.matches("input")`), chromedp.KeyEvent(text))
}
