package httpapi

import (
	"encoding/xml"
	"errors"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/cola/vocabulary"
	"github.com/colaregistry/colaregistry/internal/openapitest"
	"github.com/colaregistry/colaregistry/internal/web"
	"github.com/colaregistry/colaregistry/registry"
)

const feedTarget = "/feeds/" + exampleFeedToken

// readAtom parses a feed and checks it against RFC 4287: no required element is missing, and IDs
// are unique.
func readAtom(content []byte) (feed atomFeed, err error) {
	if err := xml.Unmarshal(content, &feed); err != nil {
		return feed, err
	}
	if feed.XMLName.Space != "http://www.w3.org/2005/Atom" || feed.ID == "" || feed.Author.Name == "" || len(feed.Links) != 2 || feed.Links[0].Rel != "self" {
		return feed, fmt.Errorf("feed lacks a required element: %+v", feed)
	}
	if _, err := time.Parse(time.RFC3339Nano, feed.Updated); err != nil {
		return feed, err
	}
	ids := map[string]bool{feed.ID: true}
	for _, e := range feed.Entries {
		_, published := time.Parse(time.RFC3339Nano, e.Published)
		_, updated := time.Parse(time.RFC3339Nano, e.Updated)
		switch {
		case published != nil || updated != nil:
			return feed, errors.Join(published, updated)
		case ids[e.ID] || !urn.MatchString(e.ID) || e.Title == "" || e.Content.Type != "html" || e.Link.Href == "":
			return feed, fmt.Errorf("entry lacks a required element, or its ID is invalid or a duplicate: %+v", e)
		}
		ids[e.ID] = true
	}
	return feed, nil
}

var urn = regexp.MustCompile(`^urn:uuid:[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)

func TestFeed(t *testing.T) {
	spec := openapitest.Load(t, goldenOpenAPI)
	f := newFake()
	f.sending.feed.Runs[0].Run.MatchCount = 1_203
	f.sending.feed.Runs[1].Labels[0].ApplicationStatus = vocabulary.StatusSurrendered
	resp := send(t, mustServe(t, f, io.Discard), "GET", feedTarget+"?utm_source=reader")
	spec.Validate(t, httptest.NewRequest("GET", feedTarget, nil), resp)
	content := mustRead(t, resp)
	feed, err := readAtom([]byte(content))
	if err != nil {
		t.Fatalf("readAtom: %v\n%s", err, content)
	}
	search, run := exampleSavedSearch(), exampleRuns().Data[0]
	want := atomFeed{
		XMLName: feed.XMLName, ID: "urn:uuid:" + search.UUID, Title: search.Name, Updated: run.RanAt.Time().Format(time.RFC3339Nano),
		Author: atomPerson{"Label approval registry"}, Generator: "colaregistry",
		Links: []atomLink{
			{"self", "application/atom+xml", "http://127.0.0.1:8080" + feedTarget}, {"alternate", "text/html", search.ManageURL},
		},
		Entries: feed.Entries,
	}
	if diff := cmp.Diff(want, feed); diff != "" || len(feed.Entries) != 2 {
		t.Errorf("feed has %d entries, want 2 (-want +got):\n%s", len(feed.Entries), diff)
	}
	first := feed.Entries[0]
	if first.Title != "1,203 new labels: Wines called oak" || first.Updated != want.Updated || feed.Entries[1].Title != "2 new labels: Wines called oak" {
		t.Errorf("titles = %q, %q", first.Title, feed.Entries[1].Title)
	}
	for _, text := range []string{"Approved from " + run.DateFrom.String() + " to " + run.DateTo.String() + ". 1 label is late", "<strong>RAVEN &amp; OAK</strong> PINOT NOIR", "approved 2026-11-04", ">26266001000016</a>", "1202 more: <a href=\"https://example.com/saved-searches/0b9f8c0e-6a55-4f0e-9a39-2f1f0f9f6d11/runs/1841\">", search.ManageURL} {
		if !strings.Contains(first.Content.Text, text) {
			t.Errorf("first entry does not contain %q:\n%s", text, first.Content.Text)
		}
	}
	if strings.Contains(first.Content.Text, "now ") {
		t.Errorf("first entry reports a changed status:\n%s", first.Content.Text)
	}
	if second := feed.Entries[1].Content.Text; !strings.Contains(second, "approved 2026-10-14 (late); now surrendered;") || strings.Contains(first.Content.Text, "(late)") {
		t.Errorf("want a label marked as late in the second entry only:\n%s", second)
	}
	h := resp.Header
	if h.Get("Content-Type") != "application/atom+xml; charset=utf-8" || !strings.HasPrefix(h.Get("Cache-Control"), "private, max-age=") || h.Get("X-Robots-Tag") != "noindex, nofollow" || h.Get("Referrer-Policy") != "no-referrer" || f.spent != 0 {
		t.Errorf("headers = %v", h)
	}
}

// TestFeedETag checks that a reader with the current ETag gets a 304 until the feed changes.
func TestFeedETag(t *testing.T) {
	spec := openapitest.Load(t, goldenOpenAPI)
	f := newFake()
	h := mustServe(t, f, io.Discard)
	tag := send(t, h, "GET", feedTarget).Header.Get("Etag")
	for _, method := range []string{"GET", "HEAD"} {
		resp := send(t, h, method, feedTarget, "If-None-Match: "+tag)
		spec.Validate(t, httptest.NewRequest(method, feedTarget, nil), resp)
		if resp.StatusCode != http.StatusNotModified || mustRead(t, resp) != "" || resp.Header.Get("Etag") != tag || tag == "" {
			t.Errorf("%s with If-None-Match: response = %d %v, want 304", method, resp.StatusCode, resp.Header)
		}
	}
	before, err := readAtom([]byte(mustRead(t, send(t, h, "GET", feedTarget))))
	if err != nil {
		t.Fatal(err)
	}
	newer := f.sending.feed.Runs[0]
	newer.Run.ID++
	newer.Run.RanAt += cola.Timestamp(time.Hour / time.Microsecond)
	f.sending.feed.Runs = append([]registry.FeedRun{newer}, f.sending.feed.Runs...)
	resp := send(t, h, "GET", feedTarget, "If-None-Match: "+tag)
	after, err := readAtom([]byte(mustRead(t, resp)))
	if err != nil || resp.Header.Get("Etag") == tag || len(after.Entries) != 3 || after.Updated == before.Updated {
		t.Fatalf("after another run: status = %d, %d entries, %v; want a new ETag and 3 entries", resp.StatusCode, len(after.Entries), err)
	}
	if diff := cmp.Diff(before.Entries, after.Entries[1:]); diff != "" {
		t.Errorf("previous entries changed (-before +after):\n%s", diff)
	}
	f.sending.feed.Runs = nil
	empty, err := readAtom([]byte(mustRead(t, send(t, h, "GET", feedTarget))))
	if err != nil || len(empty.Entries) != 0 || empty.Updated != "2026-11-20T13:14:15Z" {
		t.Errorf("without runs: feed = %+v, %v; want no entries", empty, err)
	}
}

func TestFeedErrors(t *testing.T) {
	spec := openapitest.Load(t, goldenOpenAPI)
	for _, tt := range []struct {
		target string
		err    error
		status int
	}{
		{"/feeds/unknown", nil, 404}, {feedTarget + "x", nil, 404}, {feedTarget, cola.Unavailable(), 503}, {feedTarget, errBroken, 500},
	} {
		f := newFake()
		f.sending.err = tt.err
		resp := send(t, mustServe(t, f, io.Discard), "GET", tt.target)
		spec.Validate(t, httptest.NewRequest("GET", tt.target, nil), resp)
		if body := mustRead(t, resp); resp.StatusCode != tt.status || strings.Contains(body, "secrets") || resp.Header.Get("Cache-Control") != "private, no-store" || resp.Header.Get("X-Robots-Tag") == "" {
			t.Errorf("%s: response = %d %s, want %d", tt.target, resp.StatusCode, body, tt.status)
		}
	}
}

// TestHostileFeedNames checks that arbitrary label and search names produce a valid feed and appear
// as text.
func TestHostileFeedNames(t *testing.T) {
	for _, name := range []string{
		`<script>alert(1)</script>`, `]]>`, `<![CDATA[ x ]]>`, `&lt;b&gt;`, `"><img src=x onerror=alert(1)>`, "</content></entry></feed>", `<!--`, `{{.}}`, "a\x00b\x08c\x1bd", "\uFFFE\uFFFF", "a\r\n\tb", "\u202Egnp.exe", "é 酒 🍷",
	} {
		feed, content := hostile(t, name)
		if got := feed.Title; got != xmlText(name) {
			t.Errorf("name %q: title = %q", name, got)
		}
		text := feed.Entries[0].Content.Text
		if !strings.Contains(html.UnescapeString(text), "<strong>"+entryText(name)+"</strong>") {
			t.Errorf("name %q: entry =\n%s", name, text)
		}
		for _, tag := range regexp.MustCompile(`<[^>]*>`).FindAllString(text, -1) {
			switch tag {
			case "<p>", "</p>", "<ul>", "</ul>", "<li>", "</li>", "<strong>", "</strong>", "<br>", toLabel, "</a>":
			default:
				t.Errorf("name %q adds element %s\n%s", name, tag, content)
			}
		}
	}
}

// toLabel is the link to the only label in a hostile feed.
const toLabel = `<a href="https://ttbonline.gov/colasonline/viewColaDetails.do?action=publicDisplaySearchBasic&amp;ttbid=26266001000016">`

// entryText returns text as a run's entry shows it, without invisible characters or characters that
// are invalid in HTML or XML.
func entryText(text string) string {
	return xmlText(strings.NewReplacer("\u202e", "", "\x08", "", "\x1b", "", "\x00", "\uFFFD").Replace(text))
}

// hostile returns a feed in which every user-supplied text is name.
func hostile(t testing.TB, name string) (atomFeed, string) {
	f := exampleShownFeed()
	f.Search.Name, f.Runs = name, f.Runs[:1]
	f.Runs[0].Run.MatchCount = 1
	l := &f.Runs[0].Labels[0]
	l.BrandName, l.ProductName, l.ClassName, l.OriginName, l.PermitNumber = name, cola.Text(name), cola.Text(name), cola.Text(name), name
	content, err := renderFeed(f, web.DefaultSiteName)
	if err != nil {
		t.Fatal(err)
	}
	if !utf8.Valid(content) {
		t.Fatalf("feed is not UTF-8: %q", content)
	}
	feed, err := readAtom(content)
	if err != nil {
		t.Fatalf("name %q: %v\n%s", name, err, content)
	}
	return feed, string(content)
}

// xmlText replaces the characters that are invalid in XML.
func xmlText(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' && r != '\t' && r != '\n' && r != '\r' || r == 0xFFFE || r == 0xFFFF {
			return utf8.RuneError
		}
		return r
	}, text)
}

// TestFeedRandomNames checks that random names produce a valid feed with one entry.
func TestFeedRandomNames(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		name := rapid.String().Draw(rt, "name")
		if rapid.Bool().Draw(rt, "bytes") {
			name = string(rapid.SliceOf(rapid.Byte()).Draw(rt, "raw"))
		}
		if feed, content := hostile(t, name); strings.Count(content, "<entry>") != 1 || utf8.ValidString(name) && feed.Title != xmlText(name) {
			rt.Fatalf("name %q: feed =\n%s", name, content)
		}
	})
}

// TestEntryIDs checks that an entry's ID depends only on its search and run.
func TestEntryIDs(t *testing.T) {
	if got := entryID(exampleUUID, 1841); got != entryID(exampleUUID, 1841) || !urn.MatchString(got) {
		t.Errorf("entryID is unstable or not a URN: %s", got)
	}
	if entryID(exampleUUID, 1841) == entryID(exampleUUID, 1842) || entryID(exampleUUID, 1841) == entryID(exampleDestinationUUID, 1841) {
		t.Error("different runs have the same entry ID")
	}
}
