package browser

import (
	"fmt"
	"os"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/registrytest"
)

// TestDeleteAndKeepAccount deletes an account and keeps it. It checks the pages in several
// sizes and color schemes.
func TestDeleteAndKeepAccount(t *testing.T) {
	s := newSite(t)
	s.registry.Holder(t, ann, cola.TierFree)
	axe := mustAxe(t)
	b := s.signIn(ann)
	look := func(name string) {
		t.Helper()
		for _, v := range views() {
			b.setSize(v.width, v.scheme)
			b.accessible(name, axe)
			if dir := os.Getenv("COLAREGISTRY_SCREENSHOTS"); dir != "" {
				mustWrite(t, fmt.Sprintf("%s/%s-%s-%d.png", dir, name, v.scheme, v.width), ask(b, chromedp.CaptureScreenshot()))
			}
		}
	}
	b.open(registrytest.PublicURL + "/account")
	b.press("Delete account")
	look("account-delete")
	b.fill("[name=confirmation]", "bob@example.com")
	b.click("main form .button")
	b.shows("match")
	look("account-delete-wrong")
	b.errors.take() // the browser reports the status
	b.fill("[name=confirmation]", ann)
	b.click("main form .button")
	b.shows("will be deleted", "Keep my account")
	look("account-leaving")
	b.open(registrytest.PublicURL + "/keys")
	b.press("Keep my account")
	b.shows("was canceled", "Overview")
	b.checkErrors("deleting and keeping an account")
}
