package browser

import (
	"embed"
	"encoding/json"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
	"github.com/google/go-cmp/cmp"

	"github.com/colaregistry/colaregistry/auth"
	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/dashboard"
	"github.com/colaregistry/colaregistry/internal/nodetest"
	"github.com/colaregistry/colaregistry/internal/program"
	"github.com/colaregistry/colaregistry/internal/registrytest"
	docs "github.com/colaregistry/colaregistry/site"
)

// committed contains package.json, its lock file and the issuer.
//
//go:embed kit
var committed embed.FS

var installed struct {
	once sync.Once
	kit  *nodetest.Kit
	err  error
}

// mustKit returns the installed packages.
func mustKit(t *testing.T) *nodetest.Kit {
	t.Helper()
	installed.once.Do(func() {
		files, err := fs.Sub(committed, "kit")
		if err == nil {
			installed.kit, err = nodetest.Install(t.Context(),
				nodetest.Options{Files: files, Name: "colaregistry-browser", Dir: filepath.Join(folder, "kit")})
		}
		installed.err = err
	})
	if installed.err != nil {
		t.Fatal(installed.err)
	}
	return installed.kit
}

// folder contains the files that tests share. It is removed after the last test.
var folder string

func TestMain(m *testing.M) {
	var err error
	if folder, err = os.MkdirTemp("", "colaregistry-browser"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := program.Main(m.Run)
	os.RemoveAll(folder)
	os.Exit(code)
}

// TestPins checks that packages have exact versions and that the lock files name no registry.
func TestPins(t *testing.T) {
	for name, kit := range map[string]embed.FS{"kit": committed, "lighthouse": lighthouseKit} {
		files, err := fs.Sub(kit, name)
		if err != nil {
			t.Fatal(err)
		}
		if err := nodetest.CheckPins(files); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

const (
	wide   = 1280
	narrow = 360
	phone  = 390
	// maxPage is the maximum size of a dashboard page in bytes, before compression. maxDocsPage is
	// the maximum for a public page with its style sheets, scripts and fonts.
	maxPage     = 60_000
	maxDocsPage = 150 << 10
)

// TestPages opens every page at several sizes and in several color schemes. It checks that the page
// has no axe violations, needs no horizontal scrolling, causes no browser errors, is small, and
// matches its committed screenshots.
func TestPages(t *testing.T) {
	s := newSite(t)
	ids := s.addHistory()
	axe := mustAxe(t)
	looks := newLooks(t)
	b := s.signIn(ann)
	stranger := newTab(t, s.browser, true)
	s.registry.Holder(t, registrytest.Operator, cola.TierFree)
	operator := s.signIn(registrytest.Operator)
	total := 0
	for _, visitor := range []struct {
		b       *tab
		open    func(b *tab, url string)
		pages   []namedPage
		arrange func() // runs before the pages are opened; may be nil
	}{
		{b, (*tab).open, ids.pages(), nil},
		{stranger, (*tab).open, docsPages(), nil},
		{b, (*tab).openFromOtherSite, ids.pagesFromOtherSite(), nil},
		{stranger, (*tab).open, []namedPage{
			{"landing", "/", 200}, {"sign-in", "/sign-in", 200},
			{"sign-in-link", strings.TrimPrefix(s.link(ann), registrytest.PublicURL), 200}, {"link-used", "/sign-in/link/used", 401},
			{"plans-open", "/plans", 200}, {"privacy", "/privacy", 200},
		}, nil},
		// Last, because simulateCollection advances the clock beyond the lifetime of sign-in links.
		{operator, (*tab).open, []namedPage{{"overview-new", "/", 200}, {"collection-never", "/collection", 200}}, nil},
		{operator, (*tab).open, []namedPage{{"collection", "/collection", 200}}, s.simulateCollection},
		{operator, (*tab).open, blockedCollectionPages(), s.blockCollectors},
	} {
		total += len(visitor.pages) * len(views())
		if visitor.arrange != nil {
			visitor.arrange()
		}
		for _, p := range visitor.pages {
			t.Run(p.name, func(t *testing.T) {
				s.try(visitor.b.in(t), p, visitor.open, axe, looks)
			})
		}
	}
	looks.finish(total)
}

// TestEveryPage checks that TestPages opens every page that requires a session.
func TestEveryPage(t *testing.T) {
	named := recordIDs{"1", "1", "1", "1", "1", "1", "1", "1", "1", "1"}.pages()
	named = append(named, blockedCollectionPages()...)
	for _, pattern := range dashboard.Pages() {
		if strings.HasPrefix(pattern, auth.SignInPath) {
			continue // tested without a session
		}
		if pattern == "/explore/suggestions" || pattern == "/explore/labels.csv" {
			continue // not pages
		}
		if pattern == "/quickstart" || pattern == "/connect" {
			continue // redirect to /setup
		}
		if pattern == "/account/export" {
			continue // a file; see TestExportDownload in package dashboard
		}
		shape := regexp.MustCompile("^" + regexp.MustCompile(`\{\w+\}|\*`).ReplaceAllString(pattern,
			`[^/]+`) + `(\?.*)?$`)
		if !slices.ContainsFunc(named, func(p namedPage) bool { return shape.MatchString(p.path) }) {
			t.Errorf("page %s is not tested", pattern)
		}
	}
}

// TestFormResponses checks the accessibility of rejected forms and of pages that show a secret.
func TestFormResponses(t *testing.T) {
	s := newSite(t)
	ids := s.addHistory()
	axe := mustAxe(t)
	b := s.signIn(ann)
	for name, tt := range map[string]struct {
		path   string
		fields map[string]string
		press  string
		status int
		says   string
	}{
		"a key without a name": {
			"/keys/new", map[string]string{"[name=name]": " "}, "main form .button", 400,
			`href="#name"`,
		},
		"a key": {
			"/keys/new", map[string]string{"[name=name]": "Axe"}, "main form .button", 200,
			"lar_",
		},
		"a rotated key": {"/keys/" + ids.Key + "/rotate", nil, "main form .button", 200, "lar_"},
		"a search without filters": {
			"/saved-searches/new", map[string]string{"[name=name]": "All"},
			"main form .button:not(.small)", 400, "Too broad",
		},
		"a webhook to nowhere": {
			"/destinations/new", map[string]string{"[name=address]": "nowhere"},
			"main form .button", 400, "nowhere",
		},
		"a label search with an invalid date": {"/explore?approval_date_from=soon", nil, "", 400, "approval"},
		"a feed":                              {"/saved-searches/" + ids.Search + "/feed", nil, "main form .button", 201, "/feeds/"},
	} {
		t.Run(name, func(t *testing.T) {
			b := b.in(t)
			b.open(registrytest.PublicURL + tt.path)
			for field, text := range tt.fields {
				b.fill(field, text)
			}
			if tt.press != "" {
				b.click(tt.press)
			}
			if status := ask(b, chromedp.Evaluate[int](statusCode)); status != tt.status {
				t.Errorf("status %d, want %d\n%s", status, tt.status, b.dump())
			}
			page := ask(b, chromedp.Evaluate[string]("document.documentElement.outerHTML"))
			if !strings.Contains(page, tt.says) {
				t.Errorf("page lacks %q\n%s", tt.says, b.dump())
			}
			for _, view := range views() {
				b.setSize(view.width, view.scheme)
				b.accessible(fmt.Sprintf("%s, %d wide, %s", name, view.width, view.scheme), axe)
			}
			b.checkErrors(name)
		})
	}
}

// TestSignedOutForm checks that a form submitted after the session has ended keeps its input, and
// that it can be submitted again after signing in.
func TestSignedOutForm(t *testing.T) {
	s := newSite(t)
	s.registry.Holder(t, ann, cola.TierFree)
	axe := mustAxe(t)
	b := s.signIn(ann)
	b.open(registrytest.PublicURL + "/keys/new")
	b.fill("[name=name]", "Typed before")
	b.do(command(network.ClearBrowserCookies, cdp.Empty{}))
	b.click("main form .button")
	if status := ask(b, chromedp.Evaluate[int](statusCode)); status != 401 {
		t.Errorf("form submitted after the session ended: status %d, want 401", status)
	}
	b.shows("Submit again")
	for _, view := range views() {
		b.setSize(view.width, view.scheme)
		b.accessible(fmt.Sprintf("signed out, %d wide, %s", view.width, view.scheme), axe)
	}
	b.checkErrors("form submitted after the session ended")
	meanwhile := newTab(t, b.ctx, false)
	meanwhile.open(s.link(ann))
	meanwhile.click("main form button")
	b.click("main form .button")
	b.shows("Typed before", "lar_")
}

// view is a window width and a color scheme.
type view struct {
	width  int64 // CSS pixels
	scheme string
}

func views() []view { return []view{{wide, "light"}, {wide, "dark"}, {narrow, "light"}} }

// try opens one page in every view and checks it.
func (s *site) try(b *tab, p namedPage, open func(b *tab, url string), axe string, looks *looks) {
	b.t.Helper()
	for _, view := range views() {
		where := fmt.Sprintf("%s, %d wide, %s", p.name, view.width, view.scheme)
		b.setSize(view.width, view.scheme)
		s.registry.Advance(time.Second) // pages are rate limited, and the clock is frozen
		open(b, registrytest.PublicURL+p.path)
		if status := ask(b, chromedp.Evaluate[int](statusCode)); status != p.status {
			b.t.Errorf("%s: status %d, want %d", where, status, p.status)
		}
		b.checkErrors(where)
		b.accessible(where, axe)
		if over := ask(b, chromedp.Evaluate[int](overflow)); over > 0 {
			b.t.Errorf("%s: overflows horizontally by %d pixels: %s", where, over,
				ask(b, chromedp.Evaluate[string](widest)))
		}
		if docs.Handles(p.path) {
			b.checkDocsSize(where)
		} else if n := ask(b, chromedp.Evaluate[int](pageSize)); n > maxPage || n == 0 {
			b.t.Errorf("%s: %d bytes, want at most %d", where, n, maxPage)
		}
		looks.compare(b, fmt.Sprintf("%s-%d-%s", p.name, view.width, view.scheme))
	}
}

// Expressions about the page.
const (
	statusCode = `performance.getEntriesByType("navigation")[0].responseStatus`
	pageSize   = `performance.getEntriesByType("navigation")[0].decodedBodySize`
	overflow   = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
)

// widest finds elements that extend past the right edge of the page.
const widest = `(() => {
	const edge = document.documentElement.clientWidth;
	return [...document.querySelectorAll("body *")].filter(e => e.getBoundingClientRect().right > edge + 1 && !e.closest(".scroll"))
		.slice(-3).map(e => e.outerHTML.slice(0, 200)).join("\n");
})()`

// mustAxe returns the script of the axe accessibility checker.
func mustAxe(t *testing.T) string {
	t.Helper()
	script, err := os.ReadFile(mustKit(t).Script("node_modules", "axe-core", "axe.min.js"))
	if err != nil {
		t.Fatal(err)
	}
	return string(script)
}

// violation is a violated accessibility rule.
type violation struct {
	Rule, Help string
	At         []string // elements
}

// accessible fails the test for every WCAG 2.2 AA or best-practice rule that the page violates.
func (b *tab) accessible(where, axe string) {
	b.t.Helper()
	for _, v := range b.violations(axe) {
		b.t.Errorf("%s: %s (%s):\n\t%s", where, v.Help, v.Rule, strings.Join(v.At, "\n\t"))
	}
}

// violations returns the rules that the page violates.
func (b *tab) violations(axe string) (violations []violation) {
	b.t.Helper()
	// By default, axe skips target-size, its only rule for WCAG 2.2.
	const run = `axe.run(document, {resultTypes: ["violations"], rules: {"target-size": {enabled: true}}}).then(r => JSON.stringify(r.violations.map(v =>
		({rule: v.id, help: v.help, at: v.nodes.map(n => n.html.slice(0, 300) + " " + (n.any[0] || n.all[0] || n.none[0] || {message: ""}).message)}))))`
	ask(b, chromedp.Evaluate[bool](axe+";true"))
	printed := ask(b, chromedp.Evaluate[string](run, chromedp.EvalAwaitPromise))
	if err := json.Unmarshal([]byte(printed), &violations); err != nil {
		b.t.Fatal(err)
	}
	return violations
}

// TestViolations checks that WCAG 2.0, WCAG 2.2 and best-practice rules are applied.
func TestViolations(t *testing.T) {
	b := newTab(t, newChromium(t, ""), false)
	b.open("data:text/html," + url.PathEscape(`<!doctype html><html lang="en"><title>Page</title><main>
		<img src="data:,"><style>button { width: 9px; height: 9px; padding: 0; border: 0 }</style>
		<button aria-label="A"></button><button aria-label="B"></button></main>`))
	var rules []string
	for _, v := range b.violations(mustAxe(t)) {
		rules = append(rules, v.Rule)
	}
	slices.Sort(rules)
	if diff := cmp.Diff([]string{"image-alt", "page-has-heading-one", "target-size"}, rules); diff != "" {
		t.Errorf("violated rules (-want +got):\n%s", diff)
	}
}
