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
	Labels string // page with its labels, which is charged
	First  int    // labels on the first page there
}

func (v *visit) searchRun() error {
	id, number := v.path("uuid"), v.path("run")
	found, state, err := v.svc.SavedSearch(v.ctx(), v.caller, id, "")
	if err != nil {
		return err
	}
	v.asked(state)
	run, _, err := v.svc.SavedSearchRun(v.ctx(), v.caller, id, number)
	if err != nil {
		return err
	}
	p := runPage{
		Search: found.Value, Run: run,
		Labels: runPath(found.Value.UUID, number) + "/labels", First: min(run.MatchCount, cola.DefaultPerPage),
	}
	return v.show(http.StatusOK, "savedsearchrun", page{
		Title: runTitle(found.Value, number), Data: p,
		Call: v.call(http.MethodGet, searchPath(found.Value.UUID)+"/runs", freeAlways),
	})
}

// runLabelsPage is a page of the labels of a run.
type runLabelsPage struct {
	Search cola.SavedSearch
	Run    string
	Rows   []runRow
	Pager  pager
	Cut    bool // fewer labels than the page has room for: the month's list records are used up
}

// runRow is a label that a run found.
type runRow struct {
	registry.RunLabel
	Name string // brand and product; empty if the label is gone
	Met  string
}

func (v *visit) runLabels() error {
	if answered, err := v.beforeCharge(runPrice()); answered {
		return err
	}
	id, run := v.path("uuid"), v.path("run")
	found, state, err := v.svc.SavedSearch(v.ctx(), v.caller, id, "")
	if err != nil {
		return err
	}
	v.asked(state)
	list, state, err := v.svc.RunLabels(v.ctx(), v.caller, id, run, v.listed())
	v.asked(state)
	if err != nil {
		return err
	}
	v.keepForBack()
	p := runLabelsPage{
		Search: found.Value, Run: run,
		Pager: pageAt(v.r.URL, list.Meta.Page, list.Meta.PerPage, list.Meta.Total, len(list.Rows)),
		Cut:   list.Meta.TruncatedByQuota,
	}
	if p.Cut {
		p.Pager.Next = "" // it would skip the labels that were cut
	}
	for _, l := range list.Rows {
		row := runRow{RunLabel: l, Met: met(l.Met)}
		if l.Label != nil {
			row.Name = labelName(l.Label)
		}
		p.Rows = append(p.Rows, row)
	}
	call := v.listCall(runPath(found.Value.UUID, run) + "/matches")
	call.Cost = "It costs one list record per match, like this page. " +
		"It returns TTB IDs, late flags and filters; look up labels by ID."
	return v.show(http.StatusOK, "savedsearchrunlabels", page{
		Title: "Labels · " + runTitle(found.Value, run), Data: p, Call: call,
	})
}

// runPath returns the path of a run of a saved search.
func runPath(uuid, run string) string { return searchPath(uuid) + "/runs/" + url.PathEscape(run) }

// runTitle returns the title of a run's page.
func runTitle(s cola.SavedSearch, run string) string {
	return "Run " + run + " of “" + s.Name + "”"
}
