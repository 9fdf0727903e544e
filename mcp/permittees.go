package mcp

import (
	"context"
	"reflect"

	"github.com/colaregistry/colaregistry/cola"
)

// holderSearchArgs are the arguments of search_permittees: the parameters of GET /permittees, and the size of the answer.
type holderSearchArgs struct {
	cola.PermitteeParams
	formatted
}

// holderArgs are the arguments of get_permittee.
type holderArgs struct {
	cola.Decoded
	PermitNumber string `json:"permit_number" doc:"Permit number, any case." example:"NJ-I-721"`
	formatted
}

func permitteeTools() []tool {
	return []tool{
		newTool(tool{
			name: "search_permittees", title: "Search permit holders",
			description: "Finds wineries, breweries, distilleries, importers and other permit holders by name, state, kind of permit and activity, those with the most labels first, each with " +
				"its number of labels. Use it to get from a company's name to its permit numbers; one company may hold several. " +
				"Then: get_permittee for one with its latest labels, or search_colas with permit_number for all of its labels.",
			cost: "one list record for each permit holder returned; per_page is 10 unless set, and none found is free.", meter: cola.MeterListRecords,
			defaults: map[string]any{"per_page": perPage},
			output:   outputOf(true, besideSchema(paginationMember, chargedMember), reflect.TypeFor[cola.PermitteeSummary]()),
			example:  `{"q":"vineyards","state":"CA","per_page":2}`,
		}, searchPermittees),
		newTool(tool{
			name: "get_permittee", title: "Get one permit holder",
			description: "One permit holder, by its permit number: name, place, kind, activity, numbers of labels, and its ten most recent labels. Use it after search_permittees, or for the " +
				"permit_number of a label. Then: search_colas with permit_number for more of its labels.",
			cost: "one detail view, the labels included; not found is free.", meter: cola.MeterDetailViews,
			required: []string{"permit_number"},
			output:   outputOf(false, besideSchema(chargedMember), reflect.TypeFor[cola.PermitteeDetail]()),
			notFound: "search_permittees finds permit holders by name.",
			example:  `{"permit_number":"NJ-I-721"}`,
		}, getPermittee),
	}
}

func searchPermittees(ctx context.Context, svc Service, c cola.Caller, p holderSearchArgs) (a answer, state cola.QuotaState, err error) {
	v := view{p.detailed(&p.Problems)}
	p.PerPage = pageSize(p.PerPage)
	rows := rowFit[cola.PermitteeSummary]{view: v}
	page, state, err := svc.SearchPermitteesFit(ctx, c, p.PermitteeParams, rows.asFit())
	if err != nil {
		return a, state, err
	}
	given := len(page.Permittees)
	rows.noteCut(&a, given, state)
	switch at := page.Pagination; {
	case rows.kept < rows.found && given == rows.kept:
		a.note("The rows that were cut are on no later page of this size: ask for smaller pages, with per_page %d or less.", max(1, rows.kept))
	case at.HasMore && given > 0 && given == rows.found:
		a.note("These are %d of %d permit holders. For the next ones call search_permittees again with the same filters and page %d.", given, at.Total, at.Page+1)
	}
	a.put(v.append(nil, emptyRows(page.Permittees)))
	a.add("pagination", page.Pagination)
	return a, state, nil
}

func getPermittee(ctx context.Context, svc Service, c cola.Caller, p holderArgs) (a answer, state cola.QuotaState, err error) {
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
		a.note("recent_colas are the latest %d of %d labels. search_colas with this permit_number and approval_date_from 2005-01-01 finds those of all years.",
			len(found.Value.RecentColas), found.Value.Colas)
	}
	putRecord(&a, v, found.Value)
	return a, state, nil
}
