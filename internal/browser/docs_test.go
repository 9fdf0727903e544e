package browser

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/registrytest"
)

// TestPublicPages opens every page in the sitemap, and the other pages that visitors without an
// account can reach, on a phone in dark mode. TestPages opens the documentation search.
func TestPublicPages(t *testing.T) {
	s := newSite(t)
	axe := mustAxe(t)
	b := newTab(t, s.browser, true)
	b.open(registrytest.PublicURL + "/docs")
	paths := ask(b, chromedp.Evaluate[[]string](`fetch("/sitemap.xml").then(r => r.text()).then(text =>
		[...text.matchAll(/<loc>(.*?)<\/loc>/g)].map(m => new URL(m[1]).pathname))`, chromedp.EvalAwaitPromise))
	if len(paths) < 25 || !slices.Contains(paths, "/") {
		t.Fatalf("sitemap has %d pages: %q", len(paths), paths)
	}
	linked := ask(b, chromedp.Evaluate[[]string](`[...document.querySelectorAll(".side a")].map(a => a.pathname)`))
	for _, path := range linked {
		if !slices.Contains(paths, path) {
			t.Errorf("sitemap lacks %s, which the menu links to", path)
		}
	}
	b.setSize(narrow, "dark")
	paths = append(paths, "/sign-in", "/sign-in?return=/usage", "/sign-in/link/used", "/confirm/used", "/unsubscribe/used", "/missing")
	for _, path := range paths {
		t.Run(path, func(t *testing.T) {
			b := b.in(t)
			s.registry.Advance(time.Second) // pages are rate limited, and the clock is frozen
			b.open(registrytest.PublicURL + path)
			b.checkPublic(path, axe)
		})
	}
	for email, want := range map[string]int{"new@example.com": 200, "..new@example.com": 400} {
		b.open(registrytest.PublicURL + "/sign-in")
		b.fill("[name=email]", email)
		b.click("main form .button")
		if status := ask(b, chromedp.Evaluate[int](statusCode)); status != want {
			t.Errorf("sign-in as %s: status %d, want %d", email, status, want)
		}
		b.checkPublic("sign-in as "+email, axe)
	}
}

// loaded evaluates to the sizes in bytes of the page and its style sheets, scripts and fonts, before
// compression.
const loaded = `performance.getEntriesByType("navigation").concat(performance.getEntriesByType("resource").filter(
	e => /[.](css|js|woff2)$/.test(e.name))).map(e => e.decodedBodySize)`

// maxFiles is the maximum number of files that loaded counts. With the icon, which it doesn't count,
// that is TestLighthouse's limit.
const maxFiles = 5

// checkPublic checks a page that anyone can open.
func (b *tab) checkPublic(where, axe string) {
	b.t.Helper()
	ask(b, chromedp.Evaluate[bool](loadPictures, chromedp.EvalAwaitPromise)) // a missing picture is an error
	b.checkErrors(where)
	b.accessible(where, axe)
	if over := ask(b, chromedp.Evaluate[int](overflow)); over > 0 {
		b.t.Errorf("%s overflows horizontally by %d pixels: %s", where, over, ask(b, chromedp.Evaluate[string](widest)))
	}
	b.checkDocsSize(where)
}

// checkDocsSize checks the size of a public page and the number of its files.
func (b *tab) checkDocsSize(where string) {
	b.t.Helper()
	sizes, total := ask(b, chromedp.Evaluate[[]int](loaded)), 0
	for _, size := range sizes {
		total += size
	}
	if total > maxDocsPage || total == 0 || len(sizes) > maxFiles {
		b.t.Errorf("%s loads %d bytes in %d files, want at most %d in %d", where, total, len(sizes), maxDocsPage, maxFiles)
	}
}

// tried evaluates to the status and response shown by a reference page's first form for trying a
// call.
const tried = `(form => form.querySelector(".status").innerText + "\n" + form.querySelector("pre").innerText)(
	document.querySelector(".try"))`

// tryCall fills in the given name=value fields of the first form for trying a call, sends the call
// by keyboard, and waits until the page shows the given text.
func (b *tab) tryCall(shown string, fields ...string) {
	b.t.Helper()
	b.do(until(`document.querySelectorAll(".try details").forEach(e => e.open = true) ?? true`))
	for _, field := range fields {
		name, value, _ := strings.Cut(field, "=")
		b.fill(fmt.Sprintf(".try [name=%s]", name), value)
	}
	b.do(chromedp.KeyEvent(kb.Enter), until(fmt.Sprintf("%s.includes(%q)", tried, shown)))
}

// newKey creates a key on the dashboard and returns it.
func (b *tab) newKey() string {
	b.t.Helper()
	b.open(registrytest.PublicURL + "/keys/new")
	b.fill("[name=name]", "Docs")
	b.click("main form .button")
	return ask(b, chromedp.Evaluate[string](`document.querySelector(".secret code").textContent.trim()`))
}

// TestRestrictedBrowser opens a reference page in a browser that blocks site data and, as on plain
// HTTP, has no clipboard. The rest of the script must still work.
func TestRestrictedBrowser(t *testing.T) {
	s := newSite(t)
	b := newTab(t, s.browser, true)
	b.do(command(page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: `
		for (const name of ["localStorage", "sessionStorage"]) {
			Object.defineProperty(window, name, { get() { throw new DOMException("blocked", "SecurityError"); } });
		}
		Object.defineProperty(navigator, "clipboard", { value: undefined });`}))
	b.open(registrytest.PublicURL + "/docs/reference/labels")
	b.fill(".key [name=key]", "not a key")
	b.do(until(`(document.activeElement.blur(), document.dispatchEvent(new KeyboardEvent("keydown", { key: "/" })),
		document.activeElement.matches(".find input"))`))
	if ask(b, chromedp.Evaluate[bool](`document.querySelector(".copy") !== null`)) {
		t.Error("there are copy buttons without a clipboard")
	}
	b.checkErrors("the reference")
}

// TestKeyInDocs pastes a key into a reference page. The key fills in the samples and authenticates
// calls, stays in the tab, and is sent only to the API.
func TestKeyInDocs(t *testing.T) {
	s := newSite(t)
	s.registry.Holder(t, ann, cola.TierStarter)
	axe := mustAxe(t)
	b := s.signIn(ann)
	key := b.newKey()
	// A Ctrl-click opens a new tab, which doesn't share this tab's storage.
	if ask(b, chromedp.Evaluate[bool](`(link => {
		addEventListener("click", (event) => event.preventDefault(), { once: true });
		link.dispatchEvent(new MouseEvent("click", { bubbles: true, cancelable: true, ctrlKey: true }));
		return sessionStorage.getItem("key") !== null;
	})(document.querySelector("[data-use-key]"))`)) {
		t.Error("a click that opens a new tab stores the key in this tab")
	}
	b.open(registrytest.PublicURL + "/docs/reference/labels")
	const samples = `[...document.querySelectorAll("#searchColas .sample pre")].map(e => e.textContent).join("\n")`
	printed := ask(b, chromedp.Evaluate[string](samples))
	b.fill(".key [name=key]", "not a key")
	if ask(b, chromedp.Evaluate[bool](`document.querySelector(".try button").checkVisibility()`)) {
		t.Error("with an invalid key, the page offers to send a call with the session")
	}
	if got := ask(b, chromedp.Evaluate[string](samples)); got != printed {
		t.Errorf("an invalid key changes the samples to %s", got)
	}
	b.fill(".key [name=key]", " "+key+" ")
	want := strings.NewReplacer("$API_KEY", key, `os.environ["API_KEY"]`, `"`+key+`"`, "process.env.API_KEY", `"`+key+`"`,
		`os.Getenv("API_KEY")`, `"`+key+`"`, "import os\n", "", "\t\"os\"\n", "").Replace(printed)
	if got := ask(b, chromedp.Evaluate[string](samples)); got != want || strings.Count(got, key) != 4 {
		t.Errorf("samples with the key:\n%s\nwant:\n%s", got, want)
	}

	const hint = `document.querySelector(".keyless").checkVisibility()`
	if ask(b, chromedp.Evaluate[bool](hint)) {
		t.Error("the page explains why samples lack the key, although they have it")
	}

	b.tryCall(`"per_page": [`, "q= a b&c ", "per_page=101")
	b.shows("GET /api/v1/colas?q=a+b%26c&product_type=wine&per_page=101", "400 validation_error", "No charge.")
	if marked := ask(b, chromedp.Evaluate[string](`[...document.querySelectorAll("[aria-invalid=true]")].map(e => e.name).join()`)); marked != "per_page" {
		t.Errorf("the error marks %q, want per_page", marked)
	}
	const problems = `[...document.querySelectorAll(".try .problem")].map(e => e.textContent && e.parentElement.querySelector("input").name).join()`
	if explained := ask(b, chromedp.Evaluate[string](problems)); explained != "per_page" {
		t.Errorf("the page explains problems with %q, want per_page", explained)
	}
	for language, call := range map[string]string{
		"curl": "?q=a+b%26c&product_type=wine&per_page=101\"", "Python": `"q": "a b&c", "product_type": "wine", "per_page": "101"`,
		"JavaScript": `q: "a b&c", product_type: "wine", per_page: "101"`, "Go": `"q": {"a b&c"}`,
	} {
		sample := fmt.Sprintf(`document.querySelector("#searchColas [data-language=%s] pre").textContent.replace(/\s+/g, " ")`, language)
		b.do(until(fmt.Sprintf("(s => s.includes(%q) && s.includes(%q))(%s)", call, key, sample)))
	}
	b.tryCall(`"ttb_id": `, "q=oak", "approval_date_from=01012000", "per_page=2")
	b.shows("GET /api/v1/colas?q=oak&product_type=wine&per_page=2&approval_date_from=2000-01-01",
		"200 OK", "Charged 2 list records; 99,998 of 100,000 left this month.")
	if explained := ask(b, chromedp.Evaluate[string](problems)); explained != "" {
		t.Errorf("after a successful call, the page explains problems with %q", explained)
	}
	id := ask(b, chromedp.Evaluate[string](`document.querySelector(".try .status a").search`))
	if shown := ask(b, chromedp.Evaluate[string](tried)); len(id) < 10 || !strings.Contains(shown, "Request ID "+strings.TrimPrefix(id, "?q=")) {
		t.Errorf("the request log is filtered by %s; the call says\n%s", id, shown)
	}
	for _, view := range views() {
		b.setSize(view.width, view.scheme)
		b.accessible(fmt.Sprintf("after a call, %d wide, %s", view.width, view.scheme), axe)
	}

	b.open(registrytest.PublicURL + "/docs/reference/account")
	const firstSample = `document.querySelector(".sample pre").textContent`
	if got := ask(b, chromedp.Evaluate[string](firstSample)); !strings.Contains(got, key) {
		t.Errorf("next page shows %s, want the key", got)
	}
	b.checkKept(key)
	b.do(until(`document.querySelector(".key .quiet").click() || document.querySelector(".key .quiet").hidden`))
	got := ask(b, chromedp.Evaluate[string](`sessionStorage.getItem("key") + `+firstSample))
	if !strings.HasPrefix(got, "null") || strings.Contains(got, key) {
		t.Errorf("after forgetting the key: %s", got)
	}
	b.open(registrytest.PublicURL + "/docs/reference/labels")
	b.do(until(hint))
	b.tryCall(`"ttb_id": `, "approval_date_from=01012000", "per_page=1") // with the session
	b.checkErrors("a key in the documentation")
}

// TestSignInFromDocs checks that readers who sign in from the docs return to them signed in.
func TestSignInFromDocs(t *testing.T) {
	s := newSite(t)
	s.holder = s.registry.Holder(t, ann, cola.TierFree)
	b := newTab(t, s.browser, true)
	b.open(registrytest.PublicURL + "/docs/reference/account")
	b.click(`.top .button[data-session=visitor]`)
	b.open(s.link(ann))
	b.click("main form button")
	b.do(until(`location.pathname === "/docs/reference/account"`), visible(`.top [data-session="account"]`), visible(".try button"))
	b.checkErrors("signing in from the docs")
}

// TestGoSamplesWithKey checks that each Go sample imports the packages that it uses, and no others,
// once it contains a key: the compiler rejects unused imports.
func TestGoSamplesWithKey(t *testing.T) {
	b := newTab(t, newSite(t).browser, true)
	b.open(registrytest.PublicURL + "/docs/reference")
	pages := ask(b, chromedp.Evaluate[[]string](`[...document.querySelectorAll('.side a[href^="/docs/reference/"]')].map((a) => a.href)`))
	checked := 0
	for _, page := range pages {
		b.open(page)
		b.do(until(enterKey))
		for _, source := range ask(b, chromedp.Evaluate[[]string](`[...document.querySelectorAll("[data-language=Go] pre")].map((e) => e.textContent)`)) {
			file, err := parser.ParseFile(token.NewFileSet(), "sample.go", source, 0)
			if err != nil {
				t.Fatalf("%s: %v\n%s", page, err, source)
			}
			used := map[string]bool{}
			ast.Inspect(file, func(n ast.Node) bool {
				if s, ok := n.(*ast.SelectorExpr); ok {
					if x, ok := s.X.(*ast.Ident); ok && x.Obj == nil {
						used[x.Name] = true
					}
				}
				return true
			})
			imports := map[string]bool{}
			for _, imported := range file.Imports {
				p, _ := strconv.Unquote(imported.Path.Value)
				imports[path.Base(p)] = true
			}
			if !maps.Equal(used, imports) {
				t.Errorf("%s: uses %v, imports %v:\n%s", page, used, imports, source)
			}
			checked++
		}
	}
	if checked < 40 {
		t.Errorf("checked %d samples on %d pages", checked, len(pages))
	}
}

// used returns an account's usage.
func (s *site) used(holder cola.Caller) cola.Used {
	s.t.Helper()
	_, state, err := s.registry.Account(s.t.Context(), holder)
	if err != nil {
		s.t.Fatal(err)
	}
	return state.Used
}

// charge returns what the page must say about the usage between two points in time, and adds the
// charged unit to charged.
func charge(before, after cola.Used, charged map[string]bool) string {
	want := "No charge."
	for unit, n := range map[string]int{
		"detail view": after.DetailViews - before.DetailViews, "list record": after.ListRecords - before.ListRecords,
	} {
		if n > 0 {
			charged[unit] = true
			want = fmt.Sprintf("Charged %d %s", n, unit)
		}
	}
	return want
}

// TestTryCharge sends the example calls of three pages. The page must say what the ledger charged
// for each call, and this text must be visible in the window.
func TestTryCharge(t *testing.T) {
	s := newSite(t)
	holder := s.registry.Holder(t, ann, cola.TierPro)
	b := s.signIn(ann)
	charged := map[string]bool{}
	for _, page := range []string{"labels", "permittees", "reference-data"} {
		b.open(registrytest.PublicURL + "/docs/reference/" + page)
		b.do(visible(".try button"))
		for i := range ask(b, chromedp.Evaluate[int](`document.querySelectorAll(".try").length`)) {
			before := s.used(holder)
			form := fmt.Sprintf(`document.querySelectorAll(".try")[%d]`, i)
			b.do(until(form + `.requestSubmit() ?? true`))
			b.do(until(form + `.querySelector(".status").textContent.includes("Request ID")`))
			want := charge(before, s.used(holder), charged)
			if got := ask(b, chromedp.Evaluate[string](form+`.querySelector(".status").innerText`)); !strings.Contains(got, want) {
				t.Errorf("%s, form %d: %q, want %q", page, i, got, want)
			}
			b.do(until(`((status) => {
				const { left, top, bottom } = status.getBoundingClientRect();
				return bottom <= innerHeight && document.elementFromPoint(left + 5, (top + bottom) / 2) === status;
			})(` + form + `.querySelector(".status"))`))
		}
	}
	if len(charged) != 2 {
		t.Errorf("calls charged only %v", charged)
	}
}

// TestTryTools sends the example call of every read-only tool with a key. The page must say what
// the ledger charged, and show a tool's error.
func TestTryTools(t *testing.T) {
	s := newSite(t)
	holder := s.registry.Holder(t, ann, cola.TierPro)
	b := s.signIn(ann)
	key := b.newKey()
	charged := map[string]bool{}
	for _, page := range []string{"labels", "permittees", "account", "reference-data", "chatgpt"} {
		b.open(registrytest.PublicURL + "/docs/tools/" + page)
		b.fill(".key [name=key]", key)
		for i := range ask(b, chromedp.Evaluate[int](`document.querySelectorAll(".try").length`)) {
			s.registry.Advance(time.Second)
			before := s.used(holder)
			form := fmt.Sprintf(`document.querySelectorAll(".try")[%d]`, i)
			b.do(until(form + `.requestSubmit() ?? true`))
			b.do(until(form + `.querySelector(".status").textContent.includes("Request ID")`))
			want := charge(before, s.used(holder), charged)
			if got := ask(b, chromedp.Evaluate[string](form+`.querySelector(".status").innerText`)); !strings.HasPrefix(got, "200 OK") || !strings.Contains(got, want) {
				t.Errorf("%s, form %d: %q, want %q", page, i, got, want)
			}
		}
	}
	if len(charged) != 2 {
		t.Errorf("calls charged %v only", charged)
	}
	b.open(registrytest.PublicURL + "/docs/tools/labels")
	b.tryCall(`"per_page": [`, "q=a 'b'", "product_type=wine, malt beverage", "per_page=101")
	b.shows("Error validation_error", "No charge.")
	for _, sample := range []string{`"q": "a 'b'"`, `"per_page": 101`, "\"wine\",\n      \"malt beverage\"\n"} {
		b.do(until(fmt.Sprintf(`document.querySelector("[data-language=Arguments] pre").textContent.includes(%q)`, sample)))
	}
	b.checkErrors("tools")
}

// TestTryWithoutKey checks that signed-out visitors see the forms for trying calls, with a link to
// the key field in place of the button, and that Enter sends nothing.
func TestTryWithoutKey(t *testing.T) {
	b := newTab(t, newSite(t).browser, true)
	for _, page := range []string{"reference/labels", "tools/labels"} {
		b.open(registrytest.PublicURL + "/docs/" + page)
		b.do(visible(`.try [href="#key"]`))
		b.fill(".try [name=q]", "oak")
		b.do(chromedp.KeyEvent(kb.Enter), until(`document.activeElement.id === "key"`))
		if got := ask(b, chromedp.Evaluate[string](`document.querySelector(".try .status").textContent`)); got != "" {
			t.Errorf("%s: a call without a key says %q", page, got)
		}
		b.do(until(`document.activeElement.blur() ?? true`), b.mouse(`.try [href="#key"]`), until(`document.activeElement.id === "key"`))
		b.fill(".key [name=key]", "lar_"+strings.Repeat("a", 36))
		b.do(visible(".try button"), until(showing(`.try [href="#key"]`)+" === null"))
		b.do(until(`document.activeElement === document.querySelector(".try button")`)) // not at the top of the page
		b.do(until(`document.querySelector(".try").requestSubmit() ?? true`), until(tried+`.includes("No charge.")`))
		b.do(until(`document.activeElement === document.querySelector(".try button")`))
		if links := ask(b, chromedp.Evaluate[[]string](`[...document.querySelectorAll(".try .status a")].map((a) => a.pathname)`)); !slices.Equal(links, []string{"/docs/errors"}) {
			t.Errorf("%s: a signed-out visitor's rejected call links to %q, want the guide to errors", page, links)
		}
		b.do(until(`document.querySelector(".key .quiet").click() ?? true`)) // the next page starts without the key
	}
	b.checkErrors("try without a key")
}

// TestLongTryForm checks that the button of a form with all its fields shown stays in the window.
func TestLongTryForm(t *testing.T) {
	b := newTab(t, newSite(t).browser, true)
	for _, width := range []int64{wide, phone} {
		b.setSize(width, "light")
		b.open(registrytest.PublicURL + "/docs/reference/labels")
		b.do(visible(`.try [href="#key"]`), until(`(form => {
			form.querySelector("details").open = true;
			form.scrollIntoView({ block: "start", behavior: "instant" });
			const button = form.querySelector('[href="#key"]').getBoundingClientRect();
			const { height } = form.getBoundingClientRect();
			return height > innerHeight && button.top > 0 && button.bottom <= innerHeight;
		})(document.querySelector(".try"))`))
	}
}

// TestKeyAfterSession checks that a tab forgets the key when the session has been ended elsewhere,
// and when the tab opens the sign-in page.
func TestKeyAfterSession(t *testing.T) {
	s := newSite(t)
	s.registry.Holder(t, ann, cola.TierStarter)
	b := s.signIn(ann)
	key := b.newKey()
	b.press("Try it in the API reference")
	b.checkKept(key)

	other := s.signIn(ann)
	other.open(registrytest.PublicURL + "/account")
	other.click(`form[action$="/end-others"] button`)
	b.open(registrytest.PublicURL + "/docs/reference/labels")
	const forgotten = `sessionStorage.getItem("key") === null && document.querySelector(".try button").hidden`
	b.do(until(forgotten))
	if sample := ask(b, chromedp.Evaluate[string](`document.querySelector(".sample pre").textContent`)); strings.Contains(sample, key) {
		t.Errorf("sample still has the key:\n%s", sample)
	}

	b.fill(".key [name=key]", key) // a key also works without a session
	b.do(until(`sessionStorage.getItem("key") !== null`))
	b.open(registrytest.PublicURL + "/docs/reference/account")
	b.checkKept(key)
	b.open(registrytest.PublicURL + "/sign-in")
	b.do(until(`sessionStorage.getItem("key") === null`))
	b.checkErrors("a key after the session")
}

// checkKept checks that a key is in the tab's storage and nowhere else.
func (b *tab) checkKept(key string) {
	b.t.Helper()
	if kept := ask(b, chromedp.Evaluate[string](`sessionStorage.getItem("key")`)); kept != key {
		b.t.Errorf("tab keeps %q, want the key", kept)
	}
	if leaked := ask(b, chromedp.Evaluate[bool](fmt.Sprintf(`JSON.stringify([location, document.referrer, localStorage,
		document.cookie, performance.getEntriesByType("resource").map(e => e.name)]).includes(%q)`, key))); leaked {
		b.t.Error("the key is in a URL, a cookie or persistent storage")
	}
}

// TestGuideLayout checks that flags in guides stay on one line on a wide screen, and that drawings
// stay legible on a phone.
func TestGuideLayout(t *testing.T) {
	b := newTab(t, newSite(t).browser, true)
	b.setSize(wide, "light")
	for _, guide := range []string{"configuration", "operations"} {
		b.open(registrytest.PublicURL + "/docs/" + guide)
		broken := ask(b, chromedp.Evaluate[[]string](`[...document.querySelectorAll(".prose code")].filter((e) => /^--\S+$/.test(e.textContent))
			.filter((e) => [...e.getClientRects()].length !== 1 || e.offsetHeight > 30).map((e) => e.textContent)`))
		if len(broken) > 0 {
			t.Errorf("%s breaks the flags %q", guide, broken)
		}
	}
	b.setSize(phone, "light")
	for _, guide := range []string{"alerts", "search"} {
		b.open(registrytest.PublicURL + "/docs/" + guide)
		if scale := ask(b, chromedp.Evaluate[float64](`(e => e.clientWidth / e.naturalWidth)(document.querySelector(".prose img"))`)); scale < .8 {
			t.Errorf("the drawing in the %s guide is shown at %.0f%% of its size, want at least 80%%", guide, scale*100)
		}
	}
	b.open(registrytest.PublicURL + "/docs/alerts")
	if hidden := ask(b, chromedp.Evaluate[int](`(e => e.scrollWidth - e.clientWidth)(document.querySelector(".prose img").parentElement)`)); hidden > 0 {
		t.Errorf("a phone cuts off the last %d pixels of the drawing in the alerts guide", hidden)
	}
	b.do(until(`([...document.querySelectorAll(".menu summary")].find((e) => e.textContent === "On this page")?.click(), true)`),
		visible(`.menu [href="#scheduling"]`))
}

// TestSampleLanguage checks that a chosen language applies to all samples on a page and on the next
// one, and that clicking the open tab leaves it open, even without scripts.
func TestSampleLanguage(t *testing.T) {
	s := newSite(t)
	b := newTab(t, s.browser, true)
	b.setSize(wide, "light")
	const open = `[...new Set([...document.querySelectorAll(".sample[open]")].map((e) => e.dataset.language))].join()`
	const groups = `[...document.querySelectorAll(".tabs:has(.sample)")].every((e) => e.querySelectorAll(".sample[open]").length === 1)`
	for _, page := range []string{"reference/labels", "quickstart"} {
		b.open(registrytest.PublicURL + "/docs/" + page)
		for _, language := range []string{"Python", "Go"} {
			// Twice: the second click is on the open tab.
			b.do(until(fmt.Sprintf(`[1, 2].forEach(() => document.querySelector(".sample[data-language=%s] summary").click()) ?? true`, language)))
			if got := ask(b, chromedp.Evaluate[string](open)); got != language || !ask(b, chromedp.Evaluate[bool](groups)) {
				t.Errorf("/docs/%s shows samples in %s after %s was chosen twice", page, got, language)
			}
		}
	}
	b.open(registrytest.PublicURL + "/docs/reference/permittees")
	if got := ask(b, chromedp.Evaluate[string](open)); got != "Go" {
		t.Errorf("the next page shows samples in %s, want Go", got)
	}
	b.checkErrors("languages")

	plain := newTab(t, s.browser, true)
	plain.disableScripts()
	plain.open(registrytest.PublicURL + "/docs/quickstart")
	at := ask(plain, chromedp.Evaluate[[]float64](`(e => {
		e.scrollIntoView({ block: "center", behavior: "instant" });
		const { x, y } = e.getBoundingClientRect();
		return [x + 5, y + 5];
	})(document.querySelector(".sample[open] summary"))`))
	plain.do(chromedp.MouseClickXY(at[0], at[1]))
	if !ask(plain, chromedp.Evaluate[bool](groups)) {
		t.Error("without scripts, a click on the open tab hides the sample")
	}
}

// TestMenuPosition checks that a page's menus scroll to the current page and section.
func TestMenuPosition(t *testing.T) {
	b := newTab(t, newSite(t).browser, true)
	b.setSize(wide, "light")
	shown := func(menu string) string {
		return fmt.Sprintf(`(menu => {
			const box = menu.getBoundingClientRect(), link = menu.querySelector("[aria-current]").getBoundingClientRect();
			return link.top >= box.top && link.bottom <= Math.min(box.bottom, innerHeight);
		})(document.querySelector(%q))`, menu)
	}
	for _, page := range []string{"operations", "tools/reference-data", "reference/objects/labels"} {
		b.open(registrytest.PublicURL + "/docs/" + page)
		if !ask(b, chromedp.Evaluate[bool](shown(".side"))) {
			t.Errorf("/docs/%s: the menu doesn't show the page", page)
		}
	}
	b.open(registrytest.PublicURL + "/docs/operations#troubleshooting")
	b.do(until(shown(".contents")))
}

// TestDocsByKeyboard searches the documentation by keyboard, and without scripts.
func TestDocsByKeyboard(t *testing.T) {
	s := newSite(t)
	b := newTab(t, s.browser, true)
	b.open(registrytest.PublicURL + "/docs/quickstart")
	b.do(chromedp.KeyEvent("/"), until(`document.activeElement.name === "q"`))
	b.fill(".find [name=q]", "get usage")
	b.enter()
	keyboard{b}.reach(named("a", "Get usage"))
	b.enter()
	if at := b.at(); at != registrytest.PublicURL+"/docs/reference/account#getUsage" {
		t.Errorf("the first result leads to %s", at)
	}
	b.checkErrors("keyboard")

	plain := newTab(t, s.browser, true)
	plain.disableScripts()
	plain.open(registrytest.PublicURL + "/docs#searchColas")
	plain.click("#searchColas a")
	plain.shows("Search labels", "curl")
	plain.fill(".find [name=q]", "webhook")
	plain.enter()
	plain.shows("Webhooks")
	for _, hidden := range []string{".key", ".try"} {
		plain.open(registrytest.PublicURL + "/docs/reference/labels")
		if ask(plain, chromedp.Evaluate[bool](showing(hidden)+" !== null")) {
			t.Errorf("%s is shown without scripts", hidden)
		}
	}
}

// TestInstantResults checks that the keyboard works in the search results that appear as the user
// types.
func TestInstantResults(t *testing.T) {
	s := newSite(t)
	axe := mustAxe(t)
	b := newTab(t, s.browser, true)
	const announcement = `document.querySelector(".find [role=status]").textContent`
	for _, v := range []view{{wide, "light"}, {wide, "dark"}, {narrow, "light"}} {
		where := fmt.Sprintf("%d wide, %s", v.width, v.scheme)
		b.setSize(v.width, v.scheme)
		b.open(registrytest.PublicURL + "/docs/quickstart")
		b.fill(".find [name=q]", "how do I verify a webhook signature")
		b.do(until(expanded))
		b.accessible(where, axe)
		if _, option := b.key(kb.ArrowDown); option != 0 {
			t.Errorf("%s: option %d is active after Down, want the first", where, option)
		}
		b.accessible(where+", active option", axe)
		if over := ask(b, chromedp.Evaluate[int](overflow)); over > 0 {
			t.Errorf("%s: overflows horizontally by %d pixels", where, over)
		}
	}
	n := ask(b, chromedp.Evaluate[int](options+`.length`))
	if got, want := ask(b, chromedp.Evaluate[string](announcement)), fmt.Sprint("Results: ", n); got != want {
		t.Errorf("announced %q, want %q", got, want)
	}
	if _, option := b.key(kb.ArrowUp); option != n-1 {
		t.Errorf("option %d is active after Up from the first, want the last, %d", option, n-1)
	}
	if value, _ := b.key(kb.Escape); value != "how do I verify a webhook signature" {
		t.Errorf("after Escape: field %q", value)
	}
	b.do(until(attribute+`("aria-expanded") === "false"`), chromedp.KeyEvent(" "), until(expanded), chromedp.KeyEvent(kb.ArrowDown))
	b.choose()
	b.do(until(`location.pathname + location.hash === "/docs/webhooks#signature"`), until(`document.readyState === "complete"`))

	b.fill(".find [name=q]", "xyzzyplugh")
	b.do(until(announcement + ` === "No results" && document.querySelector(".find [role=status]").offsetHeight > 20`))
	b.fill(".find [name=q]", "feeds")
	b.do(until(expanded))
	b.do(chromedp.KeyEvent(kb.ArrowDown), chromedp.KeyEvent(" "))
	if active := ask(b, chromedp.Evaluate[bool](attribute+`("aria-activedescendant") !== null`)); active {
		t.Error("an option for the previous text stays active while typing")
	}
	b.enter() // without an active option
	b.shows("Results for “feeds”")
	b.checkErrors("instant results")

	b.open(registrytest.PublicURL + "/docs/webhooks")
	b.fill(".find [name=q]", "verify webhook signature")
	b.do(until(expanded))
	b.do(b.mouse("#found a:first-child")) // the result is on the same page
	b.do(until(`location.hash === "#signature" && document.querySelector("#found").hidden`))
	b.checkErrors("a result on the same page")
}
