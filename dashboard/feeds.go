package dashboard

import (
	"net/http"

	"github.com/colaregistry/colaregistry/cola"
)

// feedPage shows the URL of a new feed, once.
type feedPage struct {
	Search cola.SavedSearch
	URL    copied
}

func (req *request) createFeed() error {
	id := req.path("uuid")
	form, err := req.form()
	if err != nil {
		return err
	}
	s, err := req.savedSearch()
	if err != nil {
		return err
	}
	first, err := req.useFormToken(form.Get("form"))
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
		Title: "Feed for “" + s.Name + "”",
		Data:  feedPage{s, copied{"feed URL", feed.URL}},
		Call: req.call(http.MethodPost, searchPath(s.UUID)+"/feed",
			freeCost+" Each call creates a new URL and disables the previous one."),
	})
}

func (req *request) deleteFeed() error {
	id := req.path("uuid")
	state, err := req.svc.DeleteFeed(req.ctx(), req.caller, id)
	req.recordQuota(state)
	if err != nil {
		return err
	}
	return req.redirect(searchPath(id), "Feed deleted.")
}

func (req *request) confirmMakeFeed() error {
	exists, _, err := req.svc.HasFeed(req.ctx(), req.caller, req.path("uuid"))
	if err != nil {
		return err
	}
	title := "Create a feed for"
	if exists {
		title = "Replace the feed URL for"
	}
	return req.confirmSearchAction(searchAction{
		template: "saved_search_feed_create",
		title:    title,
		method:   http.MethodPost,
		path:     "/feed",
		hasFeed:  exists,
	})
}

func (req *request) confirmEndFeed() error {
	return req.confirmSearchAction(searchAction{
		template: "saved_search_feed_end",
		title:    "Delete the feed for",
		method:   http.MethodDelete,
		path:     "/feed",
	})
}
