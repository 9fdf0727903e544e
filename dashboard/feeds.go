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

func (v *visit) makeFeed() error {
	id := v.path("uuid")
	typed, err := v.form()
	if err != nil {
		return err
	}
	found, _, err := v.svc.SavedSearch(v.ctx(), v.caller, id, "")
	if err != nil {
		return err
	}
	first, err := v.takeForm(typed.Get("form"))
	if err != nil {
		return err
	}
	if !first {
		return v.leadTo(searchPath(found.Value.UUID), shownBefore)
	}
	feed, state, err := v.svc.MakeFeed(v.ctx(), v.caller, id)
	v.asked(state)
	if err != nil {
		return err
	}
	return v.show(http.StatusCreated, "savedsearchfeed", page{
		Title: "Feed of “" + found.Value.Name + "”", Data: feedPage{found.Value, copied{"the address of the feed", feed.URL}},
		Call: v.call(http.MethodPost, searchPath(found.Value.UUID)+"/feed", freeAlways+" Each call makes a new address, and the one before stops."),
	})
}

func (v *visit) endFeed() error {
	id := v.path("uuid")
	state, err := v.svc.EndFeed(v.ctx(), v.caller, id)
	v.asked(state)
	if err != nil {
		return err
	}
	return v.leadTo(searchPath(id), "The search has no feed any more.")
}

func (v *visit) askMakeFeed() error {
	return v.askDanger("savedsearchfeedmake", "Make a feed of", http.MethodPost, "/feed")
}

func (v *visit) askEndFeed() error {
	return v.askDanger("savedsearchfeedend", "End the feed of", http.MethodDelete, "/feed")
}
