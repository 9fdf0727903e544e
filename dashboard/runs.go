package dashboard

import (
	"net/http"
	"net/url"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/registry"
)

// runPage is a run; viewing it is free.
type runPage struct {
	Search cola.SavedSearch
	Run    cola.SavedSearchRun
	Labels string // path of the list of its labels; viewing it is charged
	First  int    // number of labels on the first page of that list
}

func (req *request) searchRun() error {
	id, number := req.path("uuid"), req.path("run")
	s, err := req.savedSearch()
	if err != nil {
		return err
	}
	run, _, err := req.svc.SavedSearchRun(req.ctx(), req.caller, id, number)
	if err != nil {
		return err
	}
	p := runPage{
		Search: s, Run: run,
		Labels: runPath(s.UUID, number) + "/labels", First: min(run.MatchCount, cola.DefaultPerPage),
	}
	return req.show(http.StatusOK, "saved_search_run", page{
		Title: runTitle(s, number), Data: p,
		Call: req.call(http.MethodGet, searchPath(s.UUID)+"/runs", freeCost),
	})
}

// runLabelsPage is a page of a run's labels.
type runLabelsPage struct {
	Search cola.SavedSearch
	Run    string
	Rows   []runRow
	Pager  pager
	Cut    bool // shortened because the month's list records are used up
}

// runRow is one of a run's matches.
type runRow struct {
	registry.RunLabel
	Name string // brand and product, unless the label was deleted
	Met  string // matched filters
}

func (req *request) runLabels() error {
	if answered, err := req.guardCharge(runPrice()); answered {
		return err
	}
	id, run := req.path("uuid"), req.path("run")
	s, err := req.savedSearch()
	if err != nil {
		return err
	}
	list, state, err := req.svc.RunLabels(req.ctx(), req.caller, id, run, req.listParams())
	req.recordQuota(state)
	if err != nil {
		return err
	}
	req.allowBackCache()
	p := runLabelsPage{
		Search: s, Run: run,
		Pager: newPager(req.http.URL, list.Meta, len(list.Rows)),
		Cut:   list.Meta.TruncatedByQuota,
	}
	if p.Cut {
		p.Pager.Next = "" // the next page would skip the omitted labels
	}
	for _, l := range list.Rows {
		row := runRow{RunLabel: l, Met: filterWords(l.Met)}
		if l.Label != nil {
			row.Name = labelName(l.Label)
		}
		p.Rows = append(p.Rows, row)
	}
	call := req.listCall(runPath(s.UUID, run) + "/matches")
	call.Cost = "Costs one list record per match. Returns TTB IDs, late flags and matched filters, but no names."
	return req.show(http.StatusOK, "saved_search_run_labels", page{
		Title: "Labels · " + runTitle(s, run), Data: p, Call: call,
	})
}

// runPath returns the path of a saved search's run.
func runPath(uuid, run string) string { return searchPath(uuid) + "/runs/" + url.PathEscape(run) }

// runTitle returns the title of a run's page.
func runTitle(s cola.SavedSearch, run string) string {
	return "Run " + run + " · “" + s.Name + "”"
}
