package ttb

import (
	"bytes"
	"context"
	"encoding/csv"
	"errors"
	"image"
	_ "image/jpeg"
	_ "image/png"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/ingest/ttbpage"
	"github.com/colaregistry/colaregistry/internal/shareddata"
	"github.com/colaregistry/colaregistry/internal/ttbsite"
)

const userAgent = "collector/1.0 (ops@example.com)"

// mustSite starts a site and returns a client for it.
func mustSite(t *testing.T, o ttbsite.Options) (*ttbsite.Site, *Client) {
	t.Helper()
	site, err := ttbsite.New(o)
	if err != nil {
		t.Fatal(err)
	}
	server := site.Start()
	t.Cleanup(server.Close)
	return site, mustClient(t, server, Options{})
}

func mustClient(t *testing.T, server *httptest.Server, o Options) *Client {
	t.Helper()
	o.BaseURL, o.UserAgent = server.URL+ttbsite.Path, userAgent
	c, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.http.CloseIdleConnections)
	return c
}

func TestNew(t *testing.T) {
	for _, o := range []Options{
		{BaseURL: DefaultBaseURL},
		{BaseURL: DefaultBaseURL, UserAgent: " "},
		{BaseURL: "ftp://example.com/", UserAgent: userAgent},
		{BaseURL: "ttbonline.gov", UserAgent: userAgent},
		{BaseURL: "https:///colasonline/", UserAgent: userAgent},
		{BaseURL: "https://name:word@example.com/", UserAgent: userAgent},
		{BaseURL: "https://example.com/?a=b", UserAgent: userAgent},
		{BaseURL: "https://example.com:port/", UserAgent: userAgent},
	} {
		if _, err := New(o); err == nil {
			t.Errorf("New(%+v) succeeded", o)
		}
	}
	for base, want := range map[string]string{
		"":                      DefaultBaseURL + "viewColaDetails.do",
		"http://localhost:8/x":  "http://localhost:8/x/viewColaDetails.do",
		"http://localhost:8/x/": "http://localhost:8/x/viewColaDetails.do",
	} {
		c, err := New(Options{BaseURL: base, UserAgent: userAgent})
		if err != nil || c.address(labelPage, "").String() != want {
			t.Errorf("base URL %q: %v, %v, want %s", base, c, err, want)
		}
	}
}

// rowsOf returns the number of labels in an export, which puts their IDs in single quotes.
func rowsOf(export []byte) int { return bytes.Count(export, []byte("\n'")) }

// TestSearch checks the total and the export of every day, and the totals of the busiest day's
// parts by class.
func TestSearch(t *testing.T) {
	ctx := t.Context()
	site, c := mustSite(t, ttbsite.Options{Seed: 1, Labels: 400, Busy: 150, Limit: 100})
	perDay := map[cola.Date]int{}
	for _, l := range site.Labels() {
		perDay[l.Completed]++
	}
	busy := 0
	for d := cola.NewDate(2026, 1, 3); d <= cola.NewDate(2026, 1, 25); d = d.AddDays(1) {
		m, err := c.Search(ctx, Search{First: d, Last: d})
		if want := (Matches{perDay[d], min(perDay[d], 100)}); err != nil || m != want {
			t.Fatalf("%s: %+v, %v, want %+v", d, m, err, want)
		}
		if m.Total == 0 {
			continue
		}
		text, err := c.Export(ctx)
		if err != nil || rowsOf(text) != m.Listed {
			t.Errorf("%s: export of %d rows, %v, want %d", d, rowsOf(text), err, m.Listed)
		}
		if m.Total == 150 {
			busy = 0
			for _, part := range [][2]string{{"0", "799"}, {"80", "89Z"}, {"900", "999"}} {
				m, err := c.Search(ctx, Search{First: d, Last: d, ClassFrom: part[0], ClassTo: part[1]})
				if err != nil {
					t.Fatal(err)
				}
				busy += m.Total
			}
		}
	}
	if busy != 150 {
		t.Errorf("the parts of the busiest day have %d labels", busy)
	}
	sessions := 0
	for _, r := range site.Log() {
		if r.Kind == ttbsite.SearchPage {
			sessions++
		}
		if r.UserAgent != userAgent {
			t.Errorf("User-Agent = %q", r.UserAgent)
		}
	}
	if sessions != 1 {
		t.Errorf("%d sessions, want 1", sessions)
	}
}

// TestLabels requests the pages and images of generated labels.
func TestLabels(t *testing.T) {
	ctx := t.Context()
	site, c := mustSite(t, ttbsite.Options{Seed: 2, Labels: 60})
	checkLabels(t, c, site)
	for _, fetch := range []func(context.Context, cola.TTBID) ([]byte, error){c.Form, c.Detail} {
		if _, err := fetch(ctx, 10001001000001); !errors.Is(err, ErrNoLabel) {
			t.Errorf("unknown label: %v, want ErrNoLabel", err)
		}
	}
	if tally := site.Tally(); tally.Failed != 0 || tally.Extra() > 20 {
		t.Errorf("tally = %+v", tally)
	}
}

// TestRealLabels requests the pages and images of the real labels.
func TestRealLabels(t *testing.T) {
	folder := shareddata.Folder(t)
	if folder == "" {
		t.Skip("no folder of real data")
	}
	site, c := mustSite(t, ttbsite.Options{Data: folder})
	checkLabels(t, c, site)
	m, err := c.Search(t.Context(), Search{First: cola.NewDate(2026, 1, 1), Last: cola.NewDate(2026, 1, 31)})
	if err != nil || m != (Matches{34, 34}) {
		t.Fatalf("%+v, %v", m, err)
	}
	text, err := c.Export(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if rows, err := csv.NewReader(bytes.NewReader(text)).ReadAll(); err != nil || len(rows) != 35 {
		t.Errorf("%d rows, %v", len(rows), err)
	}
}

func checkLabels(t *testing.T, c *Client, site *ttbsite.Site) {
	t.Helper()
	ctx := t.Context()
	missing := 0
	for _, l := range site.Labels() {
		if text, err := c.Detail(ctx, l.ID); err != nil || !bytes.Contains(text, []byte(l.ID.String())) {
			t.Fatalf("%s: detail page: %v", l.ID, err)
		}
		if _, err := c.Image(ctx, "front.jpg"); !errors.Is(err, ErrSessionExpired) {
			t.Fatalf("%s: image before the form: %v", l.ID, err)
		}
		text, err := c.Form(ctx, l.ID)
		if l.Paper {
			if !errors.Is(err, ErrNoLabel) {
				t.Errorf("%s: form: %v, want ErrNoLabel", l.ID, err)
			}
			continue
		}
		if err != nil {
			t.Fatalf("%s: form: %v", l.ID, err)
		}
		p, err := ttbpage.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		stated, err := p.Label()
		if err != nil || len(stated.Images) != len(l.Images) {
			t.Fatalf("%s: %+v, %v", l.ID, stated, err)
		}
		for i, listed := range stated.Images {
			if l.Images[i].Missing {
				missing++
				if _, err := c.Image(ctx, listed.FileName); !errors.Is(err, ErrSessionExpired) {
					t.Errorf("%s: missing image: %v", l.ID, err)
				}
				if _, err := c.Form(ctx, l.ID); err != nil {
					t.Fatal(err)
				}
				if _, err := c.Image(ctx, listed.FileName); !errors.Is(err, ErrNoImage) {
					t.Errorf("%s: missing image, again: %v", l.ID, err)
				}
				continue
			}
			data, err := c.Image(ctx, listed.FileName)
			if err != nil {
				t.Fatalf("%s: image %q: %v", l.ID, listed.FileName, err)
			}
			config, _, err := image.DecodeConfig(bytes.NewReader(data))
			if err != nil && !strings.Contains(err.Error(), "unsupported") {
				t.Errorf("%s: image %q: %v", l.ID, listed.FileName, err)
			}
			if want := l.Images[i].Width; want > 0 && config.Width != want {
				t.Errorf("%s: wrong image for %q: width %d, want %d", l.ID, listed.FileName, config.Width, want)
			}
		}
	}
	for _, r := range site.Log() {
		if r.Kind == ttbsite.Image && !r.Served && r.Fault == ttbsite.None {
			missing--
		}
	}
	if missing > 0 {
		t.Errorf("%d missing images were not requested", missing)
	}
}

// TestExpiredSessions checks that the client replaces an expired session, and that it reports the
// loss of search results and opened forms.
func TestExpiredSessions(t *testing.T) {
	ctx := t.Context()
	site, c := mustSite(t, ttbsite.Options{Seed: 3, Labels: 50})
	labels := site.Labels()
	withImage := labels[slices.IndexFunc(labels, func(l ttbsite.Label) bool { return len(l.Images) > 0 && !l.Images[0].Missing })]
	search := Search{First: withImage.Completed, Last: withImage.Completed}
	if _, err := c.Export(ctx); !errors.Is(err, ErrSessionExpired) {
		t.Errorf("export before a search: %v", err)
	}
	if n := len(site.Log()); n != 0 {
		t.Errorf("%d requests for an export without a search", n)
	}

	if _, err := c.Search(ctx, search); err != nil {
		t.Fatal(err)
	}
	site.EndSessions()
	if _, err := c.Export(ctx); !errors.Is(err, ErrSessionExpired) {
		t.Errorf("export in an expired session: %v", err)
	}
	if _, err := c.Search(ctx, search); err != nil {
		t.Errorf("search after an expired session: %v", err)
	}
	if _, err := c.Export(ctx); err != nil {
		t.Errorf("export in the new session: %v", err)
	}

	site.EndSessions()
	if _, err := c.Search(ctx, search); err != nil {
		t.Errorf("search in an expired session: %v", err)
	}
	kinds := func(n int) (last []ttbsite.Kind) {
		log := site.Log()
		for _, r := range log[len(log)-n:] {
			last = append(last, r.Kind)
		}
		return last
	}
	if got, want := kinds(3), []ttbsite.Kind{ttbsite.Search, ttbsite.SearchPage, ttbsite.Search}; !slices.Equal(got, want) {
		t.Errorf("requests = %v, want %v", got, want)
	}

	if _, err := c.Form(ctx, withImage.ID); err != nil {
		t.Fatal(err)
	}
	site.EndSessions()
	if _, err := c.Image(ctx, withImage.Images[0].FileName); !errors.Is(err, ErrSessionExpired) {
		t.Errorf("image in an expired session: %v", err)
	}
	if _, err := c.Form(ctx, withImage.ID); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Image(ctx, withImage.Images[0].FileName); err != nil {
		t.Errorf("image after the form was opened again: %v", err)
	}
	if _, err := c.Search(ctx, search); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Image(ctx, withImage.Images[0].FileName); !errors.Is(err, ErrSessionExpired) {
		t.Errorf("image after a search: %v", err)
	}
}

// TestFaults injects each failure into each kind of request.
func TestFaults(t *testing.T) {
	ctx := t.Context()
	site, c := mustSite(t, ttbsite.Options{Seed: 4, Labels: 50, Faults: ttbsite.Faults{RetryAfter: 7 * time.Second}})
	labels := site.Labels()
	l := labels[slices.IndexFunc(labels, func(l ttbsite.Label) bool { return len(l.Images) > 0 && !l.Images[0].Missing })]
	prepare := func() {
		c.failed = failedImage{}
		if _, err := c.Search(ctx, Search{First: l.Completed, Last: l.Completed}); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Form(ctx, l.ID); err != nil {
			t.Fatal(err)
		}
	}
	calls := map[string]func() error{
		"search": func() error {
			_, err := c.Search(ctx, Search{First: l.Completed, Last: l.Completed})
			return err
		},
		"export": func() error { _, err := c.Export(ctx); return err },
		"form":   func() error { _, err := c.Form(ctx, l.ID); return err },
		"detail": func() error { _, err := c.Detail(ctx, l.ID); return err },
		"image":  func() error { _, err := c.Image(ctx, l.Images[0].FileName); return err },
	}
	isFile := func(call string) bool { return call == "export" || call == "image" }
	for fault, wanted := range map[ttbsite.Fault]func(call string, err error) bool{
		ttbsite.None:        func(_ string, err error) bool { return err == nil },
		ttbsite.ServerError: func(_ string, err error) bool { return isTemporary(err, 500, 0) },
		ttbsite.Unavailable: func(_ string, err error) bool { return isTemporary(err, 503, 7*time.Second) },
		ttbsite.TooMany:     func(_ string, err error) bool { return isTemporary(err, 429, 7*time.Second) },
		ttbsite.Truncated:   func(_ string, err error) bool { return isTemporary(err, 0, 0) },
		ttbsite.Partial:     func(call string, err error) bool { return isFile(call) || isTemporary(err, 200, 0) },
		ttbsite.ErrorPage: func(call string, err error) bool {
			return isFile(call) && errors.Is(err, ErrSessionExpired) || isTemporary(err, 200, 0)
		},
		ttbsite.Block:     func(_ string, err error) bool { return isBlocked(err, ttbpage.Blocked, "4711471147114711") },
		ttbsite.Challenge: func(_ string, err error) bool { return isBlocked(err, ttbpage.Captcha, "") },
	} {
		for name, call := range calls {
			prepare()
			site.Inject(fault)
			if err := call(); !wanted(name, err) {
				t.Errorf("%s with %q: %v (%T)", name, fault, err, err)
			}
		}
	}
	prepare()
	site.Inject(ttbsite.ServerError)
	if err := calls["search"](); err == nil {
		t.Error("the search succeeded")
	}
	if err := calls["export"](); !errors.Is(err, ErrSessionExpired) {
		t.Errorf("export after a failed search: %v", err)
	}
	// Fail the request that opens a session.
	c.close()
	site.Inject(ttbsite.Unavailable)
	if err := calls["form"](); !isTemporary(err, 503, 7*time.Second) {
		t.Errorf("opening a session: %v", err)
	}
	if err := calls["form"](); err != nil {
		t.Errorf("form after the failure: %v", err)
	}
}

func isTemporary(err error, status int, after time.Duration) bool {
	var temporary *TemporaryError
	return errors.As(err, &temporary) && temporary.Status == status && temporary.After == after && temporary.Error() != ""
}

func isBlocked(err error, page ttbpage.Kind, id string) bool {
	var blocked *BlockedError
	return errors.As(err, &blocked) && blocked.Page == page && blocked.SupportID == id && strings.Contains(blocked.Error(), id)
}
