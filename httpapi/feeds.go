package httpapi

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/xml"
	"fmt"
	"html/template"
	"net/http"
	"reflect"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/google/uuid"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/cola/vocabulary"
	"github.com/colaregistry/colaregistry/internal/web"
	"github.com/colaregistry/colaregistry/registry"
)

func feedOperations(svc Service) []operation {
	type createdFeed struct {
		feed   cola.SavedSearchFeed
		search string
	}
	return []operation{
		{
			ID: "createFeed", Method: http.MethodPost, Path: oneSavedSearchPath + "/feed", Tag: tagRuns,
			Summary: "Create a feed",
			Description: "Creates a private Atom feed of the search's latest runs with matches, and returns its URL, " +
				"which is shown only once. Anyone with the URL can read the feed for free, without a key. " +
				"The feed shows at most 25 labels across all runs and links to the rest. For manual runs, it shows " +
				"only the count. The search's previous feed URL stops working." + needsScope,
			PathParam: savedSearchID(), Creates: true,
			Response: reflect.TypeFor[dataOf[cola.SavedSearchFeed]](),
			Example:  dataOf[cola.SavedSearchFeed]{exampleFeed()}, Cost: free,
			Errors: []string{"InsufficientScope"},
			call: bareCall(svc, func(r *http.Request, c cola.Caller) (f createdFeed, state cola.QuotaState, err error) {
				f.search = pathValue(r, "uuid")
				f.feed, state, err = svc.CreateFeed(r.Context(), c, f.search)
				return f, state, err
			}, func(f createdFeed) result { // Location omits the URL's token: it is a secret, and proxies log headers
				return result{
					body:     jsonBody(dataOf[cola.SavedSearchFeed]{f.feed}),
					location: basePath + savedSearchesPath + "/" + f.search + "/feed",
				}
			}),
		},
		{
			ID: "deleteFeed", Method: http.MethodDelete, Path: oneSavedSearchPath + "/feed", Tag: tagRuns,
			Summary:     "Delete a feed",
			Description: "Deletes the search's feed; its URL stops working. Also succeeds if the search has no feed." + needsScope,
			PathParam:   savedSearchID(), Cost: free, Errors: []string{"InsufficientScope"},
			call: bareCall(svc,
				withUUID(func(ctx context.Context, c cola.Caller, id string) (struct{}, cola.QuotaState, error) {
					state, err := svc.DeleteFeed(ctx, c, id)
					return struct{}{}, state, err
				}), func(struct{}) result { return result{empty: true} }),
		},
	}
}

// feedPolicy blocks everything in a feed except its text.
const feedPolicy = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; sandbox"

// feed returns the latest runs of a saved search as Atom. The token in the path is the credential.
func (a *api) feed(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("X-Robots-Tag", "noindex, nofollow")
	h.Set("Referrer-Policy", "no-referrer")
	feed, err := a.svc.Feed(r.Context(), pathValue(r, "token"))
	if err != nil {
		web.Fail(w, r, err)
		return
	}
	content, err := renderFeed(feed, a.opts.SiteName)
	if err != nil {
		web.Fail(w, r, err)
		return
	}
	tag := weakETag(content)
	h.Set("Etag", tag)
	h.Set("Cache-Control", "private, max-age=300")
	h.Set("Content-Security-Policy", feedPolicy)
	if etagMatches(ifNoneMatch(r), tag) {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	h.Set("Content-Type", "application/atom+xml; charset=utf-8")
	h.Set("Content-Length", strconv.Itoa(len(content)))
	w.Write(content)
}

// atomFeed is an Atom feed (RFC 4287).
type atomFeed struct {
	XMLName   xml.Name    `xml:"http://www.w3.org/2005/Atom feed"`
	ID        string      `xml:"id"`
	Title     string      `xml:"title"`
	Updated   string      `xml:"updated"`
	Author    atomPerson  `xml:"author"`
	Generator string      `xml:"generator"`
	Links     []atomLink  `xml:"link"`
	Entries   []atomEntry `xml:"entry"`
}

type atomPerson struct {
	Name string `xml:"name"`
}

type atomLink struct {
	Rel  string `xml:"rel,attr"`
	Type string `xml:"type,attr"`
	Href string `xml:"href,attr"`
}

type atomEntry struct {
	ID        string   `xml:"id"`
	Title     string   `xml:"title"`
	Published string   `xml:"published"`
	Updated   string   `xml:"updated"`
	Link      atomLink `xml:"link"`
	Content   atomHTML `xml:"content"`
}

// atomHTML is HTML, escaped as text.
type atomHTML struct {
	Type string `xml:"type,attr"`
	Text string `xml:",chardata"`
}

//go:embed feed_entry.html
var feedEntrySource string

// feedEntry renders the content of an entry. Label text is untrusted: the template escapes it for
// HTML. encoding/xml escapes the result for XML, and replaces characters that XML can't represent.
var feedEntry = template.Must(template.New("entry").Parse(feedEntrySource))

// renderFeed renders a feed whose author is the service. A run's entry keeps its ID and dates, but
// shows the current records of its labels.
func renderFeed(feed registry.Feed, siteName string) ([]byte, error) {
	page := atomLink{Rel: "alternate", Type: "text/html", Href: feed.Search.ManageURL}
	out := atomFeed{
		ID: "urn:uuid:" + feed.Search.UUID, Title: feed.Search.Name, Updated: atomTime(feed.Search.CreatedAt),
		Author: atomPerson{siteName}, Generator: "colaregistry",
		Links: []atomLink{{Rel: "self", Type: "application/atom+xml", Href: feed.URL}, page},
	}
	for i := range feed.Runs {
		run := &feed.Runs[i]
		content, err := entryContent(run, fmt.Sprintf("%s/runs/%d", page.Href, run.Run.ID))
		if err != nil {
			return nil, err
		}
		ran := atomTime(run.Run.RanAt)
		out.Entries = append(out.Entries, atomEntry{
			ID: entryID(feed.Search.UUID, run.Run.ID), Title: entryTitle(&run.Run, feed.Search.Name), Published: ran,
			Updated: ran,
			Link:    page, Content: atomHTML{"html", content},
		})
	}
	if len(out.Entries) > 0 {
		out.Updated = out.Entries[0].Updated
	}
	b, err := xml.Marshal(out)
	if err != nil {
		return nil, fmt.Errorf("render feed: %w", err)
	}
	return append([]byte(xml.Header), b...), nil
}

// stripHidden removes hidden characters, such as bidirectional controls, but keeps white space.
func stripHidden(text string) string {
	return strings.Map(func(r rune) rune {
		if vocabulary.IsInvisible(r) && !unicode.IsSpace(r) {
			return -1
		}
		return r
	}, text)
}

func atomTime(t cola.Timestamp) string { return t.Time().Format(time.RFC3339Nano) }

// entryID returns a permanent, globally unique ID for a run's entry. Run numbers are unique only
// within a registry, so the ID includes the search's UUID.
func entryID(search string, run int64) string {
	space, err := uuid.Parse(search)
	if err != nil {
		space = uuid.NameSpaceURL // unreachable: searches have UUIDs
	}
	return "urn:uuid:" + uuid.NewSHA1(space, []byte("run "+strconv.FormatInt(run, 10))).String()
}

func entryTitle(run *cola.SavedSearchRun, search string) string {
	if run.MatchCount == 1 {
		return "1 new label: " + search
	}
	return web.Thousands(run.MatchCount) + " new labels: " + search
}

// entryContent renders the labels of a run; page is the URL of the full list.
func entryContent(run *registry.FeedRun, page string) (string, error) {
	var b bytes.Buffer
	err := feedEntry.Execute(&b, map[string]any{
		"Run": run.Run, "Labels": run.Labels, "More": max(0, run.Run.MatchCount-len(run.Labels)), "Page": page,
	})
	if err != nil {
		return "", fmt.Errorf("render feed entry: %w", err)
	}
	return stripHidden(b.String()), nil
}
