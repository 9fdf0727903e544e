package dashboard

import (
	"net/http"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/registry"
)

// meter is what is used of a limit.
type meter struct {
	Name        string
	Used, Limit int
}

// metersOf returns the two meters of a month.
func metersOf(q cola.QuotaState) []meter {
	return []meter{
		{"Detail views", q.Used.DetailViews, q.Limits.DetailViews},
		{"List records", q.Used.ListRecords, q.Limits.ListRecords},
	}
}

// homePage is what an account holder sees first: what is used, what runs, and what is still to be set up.
type homePage struct {
	Meters   []meter
	Keys     int // that hold
	Searches []cola.SavedSearch
	Saved    int // searches in all
	Apps     int // that may act
}

// homeSearches is how many saved searches the first page names.
const homeSearches = 5

func (v *visit) home() error {
	p := homePage{Meters: metersOf(v.quota)}
	keys, state, err := v.svc.Keys(v.ctx(), v.caller)
	if err != nil {
		return err
	}
	v.asked(state)
	p.Keys = holding(keys, v.now)
	apps, _, err := v.svc.Connections(v.ctx(), v.caller)
	if err != nil {
		return err
	}
	for _, app := range apps {
		if app.RevokedAt.IsZero() && !app.Disabled {
			p.Apps++
		}
	}
	// The index may still be being built; everything else can be told all the same.
	list, _, err := v.svc.SavedSearches(v.ctx(), v.caller, cola.SavedSearchListParams{PerPage: cola.Some(homeSearches)})
	if err != nil && cola.CodeOf(err) != cola.CodeUnavailable {
		return err
	}
	p.Searches, p.Saved = list.Rows, list.Meta.Total
	return v.show(http.StatusOK, "home", page{Title: "Overview", Data: p, Call: v.call("GET", "/usage", "It is free.").forTool("get_usage", nil)})
}

// holding counts the keys that let requests in now.
func holding(keys []registry.Key, now cola.Clock) (n int) {
	for _, k := range keys {
		if k.Holds(now()) {
			n++
		}
	}
	return n
}
