package httpapi

import (
	"context"
	"net/http"
	"reflect"
	"strconv"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/web"
)

func feedOperations(svc Service) []operation {
	type made struct {
		feed   cola.SavedSearchFeed
		search string
	}
	return []operation{
		{
			ID: "makeFeed", Method: http.MethodPost, Path: oneSavedSearchPath + "/feed", Tag: tagSearches, Summary: "Give a search a feed",
			Description: "Creates a private Atom feed of the latest runs with matches, and returns its address, once. Anyone with the address can read the feed for free, without a key. " +
				"The feed names at most 25 labels of scheduled runs in total, and gives counts and links for the rest. A previous address of the search stops working." + needsScope,
			PathParam: savedSearchID(), Makes: true,
			Response: reflect.TypeFor[dataOf[cola.SavedSearchFeed]](), Example: dataOf[cola.SavedSearchFeed]{exampleFeed()}, Cost: free,
			Errors: []string{"InsufficientScope"},
			call: one(svc, func(r *http.Request, c cola.Caller) (m made, state cola.QuotaState, err error) {
				m.search = pathValue(r, "uuid")
				m.feed, state, err = svc.MakeFeed(r.Context(), c, m.search)
				return m, state, err
			}, func(m made) answer { // the address is a secret, and headers are logged on the way
				return answer{body: plain(dataOf[cola.SavedSearchFeed]{m.feed}), created: basePath + savedSearchesPath + "/" + m.search + "/feed"}
			}),
		},
		{
			ID: "endFeed", Method: http.MethodDelete, Path: oneSavedSearchPath + "/feed", Tag: tagSearches, Summary: "End the feed of a search",
			Description: "Ends the address of the search's feed. It is no error when there is none." + needsScope,
			PathParam:   savedSearchID(), Cost: free, Errors: []string{"InsufficientScope"},
			call: one(svc, withUUID(func(ctx context.Context, c cola.Caller, id string) (struct{}, cola.QuotaState, error) {
				state, err := svc.EndFeed(ctx, c, id)
				return struct{}{}, state, err
			}), func(struct{}) answer { return answer{done: true} }),
		},
	}
}

// feedPolicy has nobody show anything that the feed holds but its text.
const feedPolicy = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; sandbox"

// feed answers with what a saved search has found lately, as Atom, to whoever has the token in the path.
func (a *api) feed(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("X-Robots-Tag", "noindex, nofollow")
	h.Set("Referrer-Policy", "no-referrer")
	feed, err := a.svc.Feed(r.Context(), pathValue(r, "token"))
	if err != nil {
		web.Fail(w, r, err)
		return
	}
	content, err := renderFeed(feed)
	if err != nil {
		web.Fail(w, r, err)
		return
	}
	tag := weakTag(content)
	h.Set("Etag", tag)
	h.Set("Cache-Control", "private, max-age=300")
	h.Set("Content-Security-Policy", feedPolicy)
	if tagMatches(ifNoneMatch(r), tag) {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	h.Set("Content-Type", "application/atom+xml; charset=utf-8")
	h.Set("Content-Length", strconv.Itoa(len(content)))
	w.Write(content)
}
