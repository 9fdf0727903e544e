package registry

import (
	"context"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/search"
)

// ColaCounts is the result of CountColas.
type ColaCounts struct {
	GroupBy   []string // dimensions of the groups
	Groups    []cola.LabelGroup
	Total     int                   // labels that match
	Others    cola.OtherGroups      // groups left out
	Truncated bool                  // groups are left out because the monthly quota of list records is used up
	Defaults  *cola.DefaultsApplied // nil unless the default date window is active
	Notes     []string              // as in SearchColas, plus a note on ties
	Advice    []Note                // SearchColas's notes, with the searches that they suggest
	DataAsOf  cola.Date             // latest change in TTB's registry that the data includes
}

// CountColas counts the matching labels by one or two dimensions. It costs one list record per
// cola.GroupsPerRecord groups returned, rounded up. If fewer list records are left, groups are left
// out and Truncated is true. Reloading the same counts is free for a dashboard session (see
// pageKey).
func (s *Service) CountColas(
	ctx context.Context, c cola.Caller, p cola.CountParams,
) (ColaCounts, cola.QuotaState, error) {
	return s.CountColasLimited(ctx, c, p, nil)
}

// CountColasLimited is CountColas for a response of limited size; it leaves out the groups that do
// not fit.
func (s *Service) CountColasLimited(
	ctx context.Context, c cola.Caller, p cola.CountParams, limit RowLimit[cola.LabelGroup],
) (ColaCounts, cola.QuotaState, error) {
	if state, err := s.precheck(c); err != nil {
		return ColaCounts{}, state, err
	}
	q, err := p.Normalize(s.now())
	if err != nil {
		state, err := s.Refuse(ctx, c, err)
		return ColaCounts{}, state, err
	}
	start, view := time.Now(), s.index.View()
	found, tied := countGroups(view, q)
	s.metrics.observeSearch(labelCounts, start)
	groups, _ := limit.cut(found.Groups)
	request := quotaRequest(c, cola.MeterListRecords, recordsOf(len(groups)))
	if request.Page, err = pageKey(c, pageOf{"counts", p, view}, groups); err != nil {
		return ColaCounts{}, cola.QuotaState{}, err
	}
	grant, err := s.ledger.Charge(ctx, request)
	if err != nil {
		return ColaCounts{}, grant.State, err
	}
	counts := ColaCounts{
		GroupBy: q.GroupBy, Total: found.Total, Others: found.Others, Truncated: grant.Units < recordsOf(len(groups)),
		Advice: searchNotes(view, &p.SearchParams, &q.ColaSearch, found.Total), DataAsOf: view.DataAsOf(s.today()),
	}
	counts.Notes = noteTexts(counts.Advice)
	kept := min(len(groups), grant.Units*cola.GroupsPerRecord)
	counts.Groups = counts.Others.Omit(found.Groups, kept)
	if axis := q.Axis(); axis != "" {
		counts.Others.BreakDown(axis, found.AxisTotals, counts.Groups)
	}
	counts.markPartial(&q, s.today())
	if tied && kept == len(found.Groups) {
		counts.Notes = append(counts.Notes, "Other groups have the same number of labels as the last one. To see them, increase top.")
	}
	if q.DefaultWindow {
		counts.Defaults = &cola.DefaultsApplied{DateRange: true, DateFrom: q.From}
	}
	return counts, grant.State, nil
}

// markPartial marks the partial periods.
func (c *ColaCounts) markPartial(q *cola.CountSearch, today cola.Date) {
	for i := range c.Groups {
		c.Groups[i].Partial = q.IsPartial(&c.Groups[i], today)
	}
	for i := range c.Others.Breakdown {
		var g cola.LabelGroup
		g.Set(q.Axis(), c.Others.Breakdown[i].Value)
		c.Others.Breakdown[i].Partial = q.IsPartial(&g, today)
	}
}

// countGroups counts labels by group. tied reports whether the last group was chosen among several
// with the same number of labels.
func countGroups(view *search.View, q cola.CountSearch) (found search.GroupCounts, tied bool) {
	if !q.Ranked() {
		return view.CountGroups(q), false
	}
	top := q.Top
	q.Top++
	found = view.CountGroups(q)
	if len(found.Groups) <= top {
		return found, false
	}
	tied = found.Groups[top-1].Count == found.Groups[top].Count
	found.Groups = found.Others.Omit(found.Groups, top)
	return found, tied
}

// recordsOf returns the cost, in list records, of the given number of groups.
func recordsOf(groups int) int { return (groups + cola.GroupsPerRecord - 1) / cola.GroupsPerRecord }
