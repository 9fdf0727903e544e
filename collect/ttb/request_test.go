package ttb

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/ingest/ttbpage"
	"github.com/colaregistry/colaregistry/internal/ttbsite"
)

// Pages of a fake site.
const (
	searchForm = `<html><form><input name="searchCriteria.dateCompletedFrom"></form></html>`
	formPage   = `<html><head><title>OMB No. 1513-0020</title></head><div class="label">TTB ID</div><div class="data">%s</div></html>`
	detailText = `<html><h1>COLA Detail</h1><strong>TTB ID:</strong> %s</html>`
	resultText = `<html><h1>Search Results: COLAs</h1>%s</html>`
)

const anID cola.TTBID = 24031001000007

// openPage serves the page that opens a session.
func openPage(w http.ResponseWriter) {
	http.SetCookie(w, &http.Cookie{Name: "JSESSIONID", Value: "1", Path: "/"})
	fmt.Fprint(w, searchForm)
}

// fake returns a client for a site that opens sessions and answers everything else with h.
func fake(t *testing.T, h http.HandlerFunc, o Options) *Client {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == ttbsite.Path+searchPage {
			openPage(w)
			return
		}
		h(w, r)
	}))
	t.Cleanup(server.Close)
	return mustClient(t, server, o)
}

func page(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, text)
	}
}

func status(code int, text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(code)
		fmt.Fprint(w, text)
	}
}

func redirect(to string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, to, http.StatusFound) }
}

// TestAnswers checks the error for each response to a request for a form.
func TestAnswers(t *testing.T) {
	good := fmt.Sprintf(formPage, anID)
	temporary := func(status int) func(error) bool {
		return func(err error) bool { return isTemporary(err, status, 0) }
	}
	permanent := func(err error) bool {
		var temporary *TemporaryError
		var blocked *BlockedError
		return err != nil && !errors.As(err, &temporary) && !errors.As(err, &blocked) &&
			!errors.Is(err, ErrNoLabel) && !errors.Is(err, ErrSessionExpired)
	}
	noLabel := func(err error) bool { return errors.Is(err, ErrNoLabel) }
	for name, test := range map[string]struct {
		answer http.HandlerFunc
		want   func(error) bool
	}{
		"good":                    {page(good), func(err error) bool { return err == nil }},
		"no HTML type":            {status(200, "\n\n"+good), func(err error) bool { return err == nil }},
		"wrong label":             {page(fmt.Sprintf(formPage, cola.TTBID(24031001000008))), temporary(200)},
		"no label ID":             {page(fmt.Sprintf(formPage, "")), temporary(200)},
		"detail page":             {page(fmt.Sprintf(detailText, anID)), temporary(200)},
		"cut off":                 {page(strings.TrimSuffix(good, "</html>")), temporary(200)},
		"other page":              {page("<html>Welcome</html>"), temporary(200)},
		"empty":                   {page(""), temporary(200)},
		"text":                    {status(200, "hello"), temporary(200)},
		"error page":              {page("<html><title>Error</title></html>"), temporary(200)},
		"system error":            {page("<html>Unable to process request. Call us.</html>"), noLabel},
		"404":                     {status(404, ""), noLabel},
		"410":                     {status(410, ""), noLabel},
		"400":                     {status(400, ""), temporary(400)},
		"204":                     {status(204, ""), temporary(204)},
		"403":                     {status(403, ""), func(err error) bool { return isBlocked(err, ttbpage.Blocked, "") }},
		"block page with 503":     {status(503, "<html>Support ID: 12</html>"), func(err error) bool { return isBlocked(err, ttbpage.Blocked, "12") }},
		"captcha with 429":        {status(429, `<html><div class="g-recaptcha"></div></html>`), func(err error) bool { return isBlocked(err, ttbpage.Captcha, "") }},
		"502":                     {status(502, "bad gateway"), temporary(502)},
		"redirect elsewhere":      {redirect("http://example.com/"), temporary(302)},
		"redirect to TLS":         {func(w http.ResponseWriter, r *http.Request) { redirect("https://"+r.Host+r.URL.Path)(w, r) }, temporary(302)},
		"redirect loop":           {redirect(ttbsite.Path + labelPage), temporary(0)},
		"redirect without target": {status(302, ""), temporary(302)},
		"sessions that end":       {redirect(searchPage), temporary(0)},
		"session in the address":  {redirect(searchPage + ";jsessionid=1"), temporary(0)},
		"session page":            {page("<html>Your session has expired.</html>"), temporary(0)},
		"search page":             {page(searchForm), temporary(0)},
		"too large":               {page(good + strings.Repeat(" ", maxPage)), permanent},
	} {
		t.Run(name, func(t *testing.T) {
			c := fake(t, test.answer, Options{})
			text, err := c.Form(t.Context(), anID)
			if !test.want(err) {
				t.Errorf("error = %v (%T)", err, err)
			}
			if (err == nil) != (len(text) > 0) || (err == nil) != (c.form != 0) {
				t.Errorf("%d bytes, error %v, form of %d", len(text), err, c.form)
			}
		})
	}
}

// TestTotals checks that an unrecognized response to a search is an error, never zero labels.
func TestTotals(t *testing.T) {
	for text, want := range map[string]Matches{
		fmt.Sprintf(resultText, "1 to 20 of 1000 (Total Matching Records: 1310)"):                  {1310, 1000},
		fmt.Sprintf(resultText, "No results were found that match the search criteria specified."): {},
		"<html><b>No results were found that match the search criteria specified.</b></html>":      {},
		fmt.Sprintf(resultText, ""):                             {-1, 0},
		fmt.Sprintf(resultText, "0 to 0 of 0"):                  {-1, 0},
		"<html><h1>Search Results: COLAs</h1>No results were f": {-1, 0},
		"<html></html>": {-1, 0},
		"":              {-1, 0},
		"TTB ID,":       {-1, 0},
	} {
		c := fake(t, page(text), Options{})
		got, err := c.Search(t.Context(), Search{First: 1, Last: 1})
		if failed := want.Total < 0; failed != (err != nil) || !failed && got != want || failed && !isTemporary(err, 200, 0) || c.searched == failed {
			t.Errorf("search answered with %q = %+v, %v, want %+v", text, got, err, want)
		}
	}
}

// TestRequests checks the contents of the requests for a search, an export and an image.
func TestRequests(t *testing.T) {
	var got []*http.Request
	answers := []http.HandlerFunc{
		page(fmt.Sprintf(resultText, "1 to 1 of 1 (Total Matching Records: 1)")), status(200, "\ufeffTTB ID,Permit No.\n"),
		page(fmt.Sprintf(formPage, anID)), status(200, "image"),
	}
	c := fake(t, func(w http.ResponseWriter, r *http.Request) {
		_ = r.ParseForm()
		answers[len(got)](w, r)
		got = append(got, r)
	}, Options{})
	ctx := t.Context()
	if _, err := c.Search(ctx, Search{cola.NewDate(2026, 1, 5), cola.NewDate(2026, 1, 6), "80", "89"}); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Export(ctx); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Form(ctx, anID); err != nil {
		t.Fatal(err)
	}
	const name = `é & 50%+ "x"?.jpg`
	if _, err := c.Image(ctx, name); err != nil {
		t.Fatal(err)
	}
	for i, want := range []map[string]string{
		{"action": "search", "searchCriteria.dateCompletedFrom": "01/05/2026", "searchCriteria.dateCompletedTo": "01/06/2026",
			"searchCriteria.classTypeFrom": "80", "searchCriteria.classTypeTo": "89"},
		{"path": "/publicSearchColasBasicProcess"},
		{"action": "publicFormDisplay", "ttbid": anID.String()},
		{"filename": name, "filetype": "l"},
	} {
		for field, value := range want {
			if got[i].Form.Get(field) != value {
				t.Errorf("request %d: %s = %q, want %q", i, field, got[i].Form.Get(field), value)
			}
		}
		if cookie, err := got[i].Cookie("JSESSIONID"); err != nil || cookie.Value != "1" {
			t.Errorf("request %d: cookie %v, %v", i, cookie, err)
		}
		if got[i].UserAgent() != userAgent {
			t.Errorf("request %d: User-Agent %q", i, got[i].UserAgent())
		}
	}
	if got[0].Method != http.MethodPost || strings.Contains(got[3].URL.RawQuery, "+") ||
		!strings.HasSuffix(got[3].Referer(), "action=publicFormDisplay&ttbid="+anID.String()) {
		t.Errorf("requests = %v", got)
	}
}

// TestFiles checks the error for each response to a request for an export or an image.
func TestFiles(t *testing.T) {
	for name, test := range map[string]struct {
		answer        http.HandlerFunc
		export, image func(error) bool
	}{
		"empty":       {status(200, ""), func(err error) bool { return isTemporary(err, 200, 0) }, is(ErrNoImage)},
		"other text":  {status(200, "no results"), func(err error) bool { return isTemporary(err, 200, 0) }, is(nil)},
		"other page":  {page("<html>Welcome</html>"), is(ErrSessionExpired), is(ErrSessionExpired)},
		"search page": {page(searchForm), is(ErrSessionExpired), is(ErrSessionExpired)},
		"redirect":    {redirect(searchPage), is(ErrSessionExpired), is(ErrSessionExpired)},
		"not found":   {status(404, ""), is(errNotFound), is(ErrNoImage)},
		"CSV":         {status(200, "TTB ID,x\n"), is(nil), is(nil)},
		"CSV as HTML": {page("TTB ID,x\n"), is(ErrSessionExpired), is(ErrSessionExpired)},
		"large file":  {status(200, "TTB ID,"+strings.Repeat(" ", 2*maxPage)), is(nil), is(nil)},
	} {
		t.Run(name, func(t *testing.T) {
			c := fake(t, test.answer, Options{})
			c.open, c.searched, c.form = true, true, anID
			if _, err := c.Export(t.Context()); !test.export(err) {
				t.Errorf("export: %v", err)
			} else if c.open == errors.Is(err, ErrSessionExpired) {
				t.Errorf("export: %v, with a session: %t", err, c.open)
			}
			c.open, c.searched, c.form = true, true, anID
			if _, err := c.Image(t.Context(), "a.jpg"); !test.image(err) {
				t.Errorf("image: %v", err)
			} else if c.open == errors.Is(err, ErrSessionExpired) {
				t.Errorf("image: %v, with a session: %t", err, c.open)
			}
		})
	}
}

func is(target error) func(error) bool {
	return func(err error) bool { return errors.Is(err, target) }
}

// TestLimits checks that files over the size limits are rejected.
func TestLimits(t *testing.T) {
	c := fake(t, func(w http.ResponseWriter, _ *http.Request) {
		part := []byte(strings.Repeat("TTB ID, ", 1<<17))
		for range maxImage/len(part) + 1 {
			if _, err := w.Write(part); err != nil {
				return
			}
		}
	}, Options{})
	c.open, c.searched, c.form = true, true, anID
	if _, err := c.Export(t.Context()); !errors.Is(err, errTooLarge) {
		t.Errorf("export: %v", err)
	}
	if _, err := c.Image(t.Context(), "a.jpg"); !errors.Is(err, errTooLarge) {
		t.Errorf("image: %v", err)
	}
}

// TestNoSession checks responses that don't open a session.
func TestNoSession(t *testing.T) {
	for name, answer := range map[string]http.HandlerFunc{
		"no cookie":  page(searchForm),
		"other page": page("<html>Welcome</html>"),
		"cut off":    page(strings.TrimSuffix(searchForm, "</html>")),
		"404":        status(404, ""),
		"elsewhere":  redirect("http://example.com/"),
	} {
		requests := 0
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { requests++; answer(w, r) }))
		defer server.Close()
		c := mustClient(t, server, Options{})
		_, err := c.Form(t.Context(), anID)
		if temporary := (*TemporaryError)(nil); !errors.As(err, &temporary) || errors.Is(err, ErrNoLabel) || requests != 1 || c.open {
			t.Errorf("%s: %v after %d requests, want a temporary error", name, err, requests)
		}
	}
}

// TestSearchNotFound checks that status 404 is a temporary error for a search.
func TestSearchNotFound(t *testing.T) {
	c := fake(t, status(404, ""), Options{})
	if _, err := c.Search(t.Context(), Search{First: 1, Last: 1}); !isTemporary(err, 404, 0) {
		t.Errorf("Search: %v, want a temporary error", err)
	}
}

// TestWait checks that each request to the site waits first, redirects included, and that an error
// from Wait ends the call.
func TestWait(t *testing.T) {
	waits, requests := 0, 0
	limit := 99
	errStop := errors.New("stop")
	c := fake(t, func(w http.ResponseWriter, r *http.Request) {
		requests++
		if r.URL.Query().Get("again") == "" {
			redirect("viewColaDetails.do?again=1")(w, r)
			return
		}
		page(fmt.Sprintf(formPage, anID))(w, r)
	}, Options{Wait: func(context.Context) error {
		waits++
		if waits > limit {
			return errStop
		}
		return nil
	}})
	if _, err := c.Form(t.Context(), anID); err != nil || waits != 3 || requests != 2 {
		t.Errorf("%v after %d waits and %d requests", err, waits, requests)
	}
	limit = 3
	if _, err := c.Form(t.Context(), anID); !errors.Is(err, errStop) || requests != 2 {
		t.Errorf("error = %v after %d requests", err, requests)
	}
}

// TestContext checks that a canceled call returns the context's error.
func TestContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	c := fake(t, func(_ http.ResponseWriter, r *http.Request) { cancel(); <-r.Context().Done() }, Options{})
	_, err := c.Form(ctx, anID)
	var temporary *TemporaryError
	if !errors.Is(err, context.Canceled) || errors.As(err, &temporary) {
		t.Errorf("error = %v, want context.Canceled, not in a TemporaryError", err)
	}
}

// TestStalled checks that the client abandons a response that stops arriving.
func TestStalled(t *testing.T) {
	c := fake(t, func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, "<html>")
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	}, Options{})
	c.idle = 10 * time.Millisecond
	for range 3 { // first without a session, then in one
		if _, err := c.Form(t.Context(), anID); !errors.Is(err, errStalled) || !isTemporary(err, 0, 0) {
			t.Errorf("error = %v, want errStalled in a TemporaryError", err)
		}
	}
}

// TestUnreachable checks the error for a site that refuses connections.
func TestUnreachable(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	c := mustClient(t, server, Options{})
	server.Close()
	if _, err := c.Form(t.Context(), anID); !isTemporary(err, 0, 0) {
		t.Errorf("error = %v, want a TemporaryError", err)
	}
}

// TestRetryAfter checks that an invalid or excessive Retry-After doesn't stop the client for long.
func TestRetryAfter(t *testing.T) {
	for text, want := range map[string]time.Duration{"30": 30 * time.Second, "soon": 0, "2000000000": maxRetryAfter} {
		c := fake(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", text)
			w.WriteHeader(http.StatusServiceUnavailable)
		}, Options{})
		if _, err := c.Form(t.Context(), anID); !isTemporary(err, http.StatusServiceUnavailable, want) {
			t.Errorf("Retry-After %q: error = %v", text, err)
		}
	}
}

// TestRedirectedSearch checks that the client follows a redirect to the results with a GET.
func TestRedirectedSearch(t *testing.T) {
	c := fake(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			redirect("publicPageBasicCola.do")(w, r)
			return
		}
		page(fmt.Sprintf(resultText, "1 to 2 of 2 (Total Matching Records: 2)"))(w, r)
	}, Options{})
	if m, err := c.Search(t.Context(), Search{First: 1, Last: 1}); err != nil || m != (Matches{2, 2}) {
		t.Errorf("%+v, %v", m, err)
	}
}
