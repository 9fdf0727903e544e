package dashboard

import (
	"net/http"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/registry"
)

// meter is a limit and how much of it is used.
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

// homePage is the overview: usage, access and saved searches.
type homePage struct {
	Meters   []meter
	Keys     int // active
	Searches []cola.SavedSearch
	Saved    int // total number of saved searches
	Apps     int // active
}

// homeSearches is the number of saved searches on the overview.
const homeSearches = 5

func (req *request) home() error {
	p := homePage{Meters: metersOf(req.quota)}
	keys, state, err := req.svc.Keys(req.ctx(), req.caller)
	if err != nil {
		return err
	}
	req.recordQuota(state)
	p.Keys = countActive(keys, req.now)
	apps, _, err := req.svc.Connections(req.ctx(), req.caller)
	if err != nil {
		return err
	}
	for _, app := range apps {
		if app.RevokedAt.IsZero() && !app.Disabled {
			p.Apps++
		}
	}
	// While the index is being built, the page shows everything else.
	list, _, err := req.svc.SavedSearches(req.ctx(), req.caller,
		cola.SavedSearchListParams{PerPage: cola.Some(homeSearches)})
	if err != nil && cola.CodeOf(err) != cola.CodeUnavailable {
		return err
	}
	p.Searches, p.Saved = list.Rows, list.Meta.Total
	return req.show(http.StatusOK, "home", page{
		Title: "Overview",
		Data:  p,
		Call:  req.call("GET", "/usage", freeCost).forTool("get_usage", nil),
	})
}

// countActive counts the active keys.
func countActive(keys []registry.Key, now cola.Clock) (n int) {
	for _, k := range keys {
		if k.IsActive(now()) {
			n++
		}
	}
	return n
}
