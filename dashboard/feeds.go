package dashboard

import (
	"net/http"

	"github.com/colaregistry/colaregistry/cola"
)

// feedPage shows the address of a feed, this once.
type feedPage struct {
	Search cola.SavedSearch
	URL    copied
}

func (req *request) makeFeed() error {
	id := req.path("uuid")
	typed, err := req.form()
	if err != nil {
		return err
	}
	s, err := req.savedSearch()
	if err != nil {
		return err
	}
	first, err := req.useFormToken(typed.Get("form"))
	if err != nil {
		return err
	}
	if !first {
		return req.redirect(searchPath(s.UUID), formUsedSecret)
	}
	feed, state, err := req.svc.CreateFeed(req.ctx(), req.caller, id)
	req.recordQuota(state)
	if err != nil {
		return err
	}
	return req.show(http.StatusCreated, "saved_search_feed", page{
		Title: "Feed of “" + s.Name + "”",
		Data:  feedPage{s, copied{"the address of the feed", feed.URL}},
		Call: req.call(http.MethodPost, searchPath(s.UUID)+"/feed",
			freeCost+" Each call makes a new address, and the one before stops."),
	})
}

func (req *request) endFeed() error {
	id := req.path("uuid")
	state, err := req.svc.DeleteFeed(req.ctx(), req.caller, id)
	req.recordQuota(state)
	if err != nil {
		return err
	}
	return req.redirect(searchPath(id), "The search has no feed any more.")
}

func (req *request) confirmMakeFeed() error {
	return req.confirmSearchAction("saved_search_feed_create", "Make a feed of", http.MethodPost, "/feed")
}

func (req *request) confirmEndFeed() error {
	return req.confirmSearchAction("saved_search_feed_end", "End the feed of", http.MethodDelete, "/feed")
}
