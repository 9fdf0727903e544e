package browser

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// stepTimeout is the timeout of a single step, long enough for a busy machine.
const stepTimeout = 60 * time.Second

// mustChromium returns the path of Chromium, which make tools installs. If it is missing, the test
// fails in CI and is skipped elsewhere.
func mustChromium(t *testing.T) string {
	t.Helper()
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	if os.Getenv("CI") != "" {
		t.Fatal("Chromium is missing; run make tools")
	}
	t.Skip("Chromium is missing; run make tools")
	return ""
}

// fonts makes the browser use the same fonts on every machine, so that screenshots are comparable.
const fonts = `<?xml version="1.0"?><!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig><dir>/usr/share/fonts/truetype/liberation</dir><cachedir>%s</cachedir>
<match target="pattern"><test name="family"><string>ui-monospace</string></test><edit name="family" mode="assign" binding="strong"><string>Liberation Mono</string></edit></match>
<match target="pattern"><test name="family"><string>monospace</string></test><edit name="family" mode="assign" binding="strong"><string>Liberation Mono</string></edit></match>
<match target="pattern"><test qual="all" name="family" compare="not_eq"><string>Liberation Mono</string></test><edit name="family" mode="append_last"><string>Liberation Sans</string></edit></match>
</fontconfig>`

// newChromium starts a headless browser and returns the context for opening tabs. resolve maps host
// names to addresses in the format of Chromium's --host-resolver-rules. The browser does not check
// certificates.
func newChromium(t *testing.T, resolve string) context.Context {
	t.Helper()
	dir := t.TempDir()
	config := filepath.Join(dir, "fonts.conf")
	if err := os.WriteFile(config, fmt.Appendf(nil, fonts, filepath.Join(dir, "fonts")), 0o600); err != nil {
		t.Fatal(err)
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(mustChromium(t)), chromedp.NoSandbox,
		chromedp.DisableGPU, chromedp.UserDataDir(filepath.Join(dir, "profile")), chromedp.Env("TZ=America/New_York",
			"LANG=en_US.UTF-8", "FONTCONFIG_FILE="+config), chromedp.IgnoreCertErrors,
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-component-update", true),
		chromedp.Flag("hide-scrollbars", true), chromedp.Flag("force-color-profile", "srgb"),
		chromedp.Flag("font-render-hinting", "none"), chromedp.Flag("lang", "en-US"))
	if resolve != "" {
		options = append(options, chromedp.Flag("host-resolver-rules", resolve))
	}
	allocated, cancel := chromedp.NewExecAllocator(context.Background(), options...)
	t.Cleanup(cancel)
	ctx, cancel := chromedp.NewContext(allocated)
	t.Cleanup(func() {
		if err := chromedp.Cancel(ctx); err != nil { // wait for Chromium to exit, so that its profile can be removed
			t.Logf("Chromium: %v", err)
		}
		cancel()
	})
	if err := chromedp.Do(ctx); err != nil {
		t.Fatalf("start Chromium: %v", err)
	}
	return ctx
}

// tab is a browser tab.
type tab struct {
	t   *testing.T
	ctx context.Context

	errors *errorLog
}

// errorLog collects a tab's script errors and content security policy violations.
type errorLog struct {
	mu   sync.Mutex
	list []string
}

func (c *errorLog) add(message string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.list = append(c.list, message)
}

// take returns and clears the errors.
func (c *errorLog) take() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	list := c.list
	c.list = nil
	return list
}

// in returns the tab for use in another test, such as a subtest.
func (b *tab) in(t *testing.T) *tab { return &tab{t, b.ctx, b.errors} }

// watching is a script that logs every content security policy violation as an error.
const watching = `document.addEventListener("securitypolicyviolation", e => console.error("content security policy: " + e.violatedDirective + " " + e.blockedURI + " " + e.sample));`

// newTab opens a tab. If separate is set, the tab has its own cookies, as in another browser.
func newTab(t *testing.T, from context.Context, separate bool) *tab {
	t.Helper()
	var options []chromedp.ContextOption
	if separate {
		options = append(options, chromedp.WithNewBrowserContext())
	}
	ctx, cancel := chromedp.NewContext(from, options...)
	t.Cleanup(cancel)
	if err := chromedp.Do(ctx); err != nil { // a timeout on the first step would apply to the whole tab
		t.Fatal(err)
	}
	b := &tab{t, ctx, &errorLog{}}
	if err := chromedp.Listen(ctx, b.listen); err != nil {
		t.Fatal(err)
	}
	b.do(command(page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: watching}))
	b.setSize(wide, "light")
	return b
}

// command returns a step that sends a command to the browser.
func command[P, R any](c cdp.Command[P, R], params P) chromedp.Action[chromedp.Void] {
	return chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, c, params)
		return err
	})
}

// partOfPage matches the URLs of scripts, style sheets and images.
var partOfPage = regexp.MustCompile(`^https?://[^/]+/(site|assets|images|docs/images|favicon\.ico)\b`)

func (b *tab) listen(event any) {
	var message string
	switch e := event.(type) {
	case *log.EventEntryAdded:
		// Some tests make requests that fail on purpose.
		onPurpose := strings.Contains(e.Entry.Text, "the server responded with a status of") && !partOfPage.MatchString(e.Entry.URL)
		if e.Entry.Level == log.EntryLevelError && !onPurpose {
			message = e.Entry.Text + " " + e.Entry.URL
		}
	case *runtime.EventExceptionThrown:
		message = e.ExceptionDetails.Text
		if e.ExceptionDetails.Exception != nil {
			message += " " + e.ExceptionDetails.Exception.Description
		}
	case *runtime.EventConsoleAPICalled:
		if e.Type == runtime.ConsoleAPICalledTypeError || e.Type == runtime.ConsoleAPICalledTypeWarning {
			for _, a := range e.Args {
				message += " " + string(a.Value)
			}
		}
	}
	if message != "" {
		b.errors.add(message)
	}
}

// checkErrors fails the test if the browser reported errors.
func (b *tab) checkErrors(where string) {
	b.t.Helper()
	for _, c := range b.errors.take() {
		b.t.Errorf("%s: browser error: %s", where, c)
	}
}

// TestErrors checks that violations of the content security policy, missing images and script errors
// are reported.
func TestErrors(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/" {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Security-Policy", "default-src 'self'")
		fmt.Fprint(w, `<!doctype html><title>Page</title><p style="color: red">Text</p><img src="/images/missing">`)
	}))
	defer server.Close()
	b := newTab(t, newChromium(t, ""), false)
	b.open(server.URL)
	b.do(until(`(setTimeout(() => { throw new Error("broken") }), true)`), until(`true`))
	reported := strings.Join(b.errors.take(), "\n")
	for _, want := range []string{"style-src", "/images/missing", "broken"} {
		if !strings.Contains(reported, want) {
			t.Errorf("errors lack %q:\n%s", want, reported)
		}
	}
}
