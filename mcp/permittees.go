package mcp

import (
	"context"
	"reflect"

	"github.com/colaregistry/colaregistry/cola"
)

// permitteeSearchArgs are the arguments of search_permittees: the parameters of GET /permittees and
// the size of the answer.
type permitteeSearchArgs struct {
	cola.PermitteeParams
	formatArgs
}

// permitteeArgs are the arguments of get_permittee.
type permitteeArgs struct {
	cola.Decoded
	PermitNumber string `json:"permit_number" doc:"Permit number, any case." example:"NJ-I-721"`
	formatArgs
}

// permitteeRecord is the result of get_permittee: a permit holder with its latest labels as rows.
type permitteeRecord struct {
	cola.PermitteeDetail
	RecentColas []cola.ColaRow `json:"recent_colas" nullable:"false"`
}

func permitteeTools() []tool {
	return []tool{
		newTool(tool{
			name: "search_permittees", title: "Search permit holders",
			description: "Finds wineries, breweries, distilleries, importers and other permit holders, most labels " +
				"first, with the number of their labels. " +
				"Use it to get from a company's name to its permit numbers; a company may hold several. " +
				"Then: get_permittee for one with its latest labels, or search_colas with permit_number for all of its labels.",
			cost: "one list record per permit holder returned; no results is free.", meter: cola.MeterListRecords,
			output: outputSchema(true, extraSchemas(paginationMember, chargedMember),
				reflect.TypeFor[cola.PermitteeSummary]()),
			example: `{"q":"vineyards","state":"CA","per_page":2}`,
		}, searchPermittees),
		newTool(tool{
			name: "get_permittee", title: "Get one permit holder",
			description: "Returns one permit holder, by permit number: name, place, kind, activity, label counts, " +
				"and its ten most recent labels in any status. " +
				"Use it after search_permittees, or for the permit_number of a label. Then: search_colas with " +
				"permit_number for more of its labels.",
			cost: "one detail view, labels included; not found is free.", meter: cola.MeterDetailViews,
			required: []string{"permit_number"},
			output:   outputSchema(false, extraSchemas(chargedMember), reflect.TypeFor[permitteeRecord]()),
			notFound: "search_permittees finds permit holders by name.",
			example:  `{"permit_number":"NJ-I-721"}`,
		}, getPermittee),
	}
}

func searchPermittees(
	ctx context.Context, svc Service, c cola.Caller, p permitteeSearchArgs,
) (a toolResult, state cola.QuotaState, err error) {
	v := view{p.detailed(&p.Problems)}
	rows := rowLimiter[cola.PermitteeSummary]{view: v}
	page, state, err := svc.SearchPermitteesLimited(ctx, c, p.PermitteeParams, rows.registryFit())
	if err != nil {
		return a, state, err
	}
	given := len(page.Permittees)
	rows.noteTruncation(&a, given, state)
	switch at := page.Pagination; {
	case rows.kept < rows.found && given == rows.kept:
		a.note("No later page of this size has the rows that were cut. Set per_page to %d or less.", max(1, rows.kept))
	case at.HasMore && given > 0 && given == rows.found:
		a.note(
			"These are %d of %d permit holders. For more, call search_permittees again with the same filters and page %d.",
			given, at.Total, at.Page+1)
	}
	a.setData(v.append(nil, nonNilRows(page.Permittees)))
	a.addMember("pagination", page.Pagination)
	return a, state, nil
}

func getPermittee(
	ctx context.Context, svc Service, c cola.Caller, p permitteeArgs,
) (a toolResult, state cola.QuotaState, err error) {
	v := view{p.detailed(&p.Problems)}
	if err := p.Problems.Err(); err != nil {
		state, err := svc.Refuse(ctx, c, err)
		return a, state, err
	}
	found, state, err := svc.Permittee(ctx, c, p.PermitNumber, "")
	if err != nil {
		return a, state, err
	}
	if found.Value.Colas > len(found.Value.RecentColas) {
		a.note("recent_colas has the latest %d of %d labels. For all of them call search_colas with this "+
			"permit_number and approval_date_from 2005-01-01.",
			len(found.Value.RecentColas), found.Value.Colas)
	}
	putRecord(&a, v, permitteeRecord{found.Value, svc.Rows(found.Value.RecentColas)})
	return a, state, nil
}
