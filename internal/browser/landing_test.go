package browser

import (
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/colaregistry/colaregistry/internal/registrytest"
)

// TestLandingCalls runs a sample call on the landing page, and selects another one with the keyboard
// and without JavaScript.
func TestLandingCalls(t *testing.T) {
	s := newSite(t)
	b := newTab(t, s.browser, true)
	b.open(registrytest.PublicURL + "/")
	b.do(until(`(document.querySelector("[data-sample=search]").click(), true)`),
		until(`document.querySelector("#sample-search [role=status]").textContent.startsWith("200 OK")`))
	answer := ask(b, chromedp.Evaluate[string](`document.querySelector("#sample-search .answer code").textContent`))
	if !strings.Contains(answer, `"pagination"`) {
		t.Errorf("answer = %s", answer)
	}
	b.checkErrors("run")

	b.do(command(emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true}))
	b.open(registrytest.PublicURL + "/")
	b.do(visible("#sample-search"), until(`(document.querySelector("#call-search").focus(), true)`),
		chromedp.KeyEvent(kb.ArrowRight), visible("#sample-brand"))
	for _, hidden := range []string{"#sample-search", "#sample-brand [data-sample]"} {
		if ask(b, chromedp.Evaluate[bool](`document.querySelector("`+hidden+`").checkVisibility()`)) {
			t.Errorf("without JavaScript, %s is visible", hidden)
		}
	}
}
