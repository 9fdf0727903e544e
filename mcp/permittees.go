package mcp

import (
	"context"
	"reflect"

	"github.com/colaregistry/colaregistry/cola"
)

// permitteeSearchArgs are the arguments of search_permittees: the parameters of GET /permittees and
// the response format.
type permitteeSearchArgs struct {
	cola.PermitteeParams
	formatArgs
}

// permitteeArgs are the arguments of get_permittee.
type permitteeArgs struct {
	cola.Decoded
	PermitNumber string `json:"permit_number" doc:"Permit number." example:"NJ-I-721"`
	formatArgs
}

// permitteeRecord is the result of get_permittee: a permittee with its latest labels as rows.
type permitteeRecord struct {
	cola.PermitteeDetail
	RecentColas []cola.ColaRow `json:"recent_colas" nullable:"false"`
}

func permitteeTools() []tool {
	return []tool{
		newTool(tool{
			name: "search_permittees", title: "Search permittees",
			description: "Search permittees (wineries, breweries, distilleries, importers and other TTB permit " +
				"holders), most labels first. Use it to find a company's permit numbers; a company may " +
				"have several. For details, call get_permittee; for all labels, search_colas with " +
				"permit_number.",
			cost: "1 list record per permittee returned.", meter: cola.MeterListRecords,
			undescribed: pageArguments,
			output:      outputSchema(true, reflect.TypeFor[cola.PermitteeSummary]()),
			example:     `{"q":"vineyards","state":"CA","per_page":2}`,
		}, searchPermittees),
		newTool(tool{
			name: "get_permittee", title: "Get one permittee",
			description: "Get one permittee by permit number: name, location, permit type, whether it is active, " +
				"label counts and its ten newest labels in any status. Find permit numbers with " +
				"search_permittees or on a label. For its other labels, call search_colas with " +
				"permit_number.",
			cost: "1 detail view, including its labels; free if not found.", meter: cola.MeterDetailViews,
			required: []string{"permit_number"},
			notFound: "Find permittees by name with search_permittees.",
			example:  `{"permit_number":"NJ-I-721"}`,
		}, getPermittee),
	}
}

func searchPermittees(
	ctx context.Context, svc Service, c cola.Caller, p permitteeSearchArgs,
) (a toolResult, state cola.QuotaState, err error) {
	rows := rowLimiter[cola.PermitteeSummary]{view: view{p.detailed(&p.Problems)}}
	page, state, err := svc.SearchPermitteesLimited(ctx, c, p.PermitteeParams, rows.rowLimit())
	if err != nil {
		return a, state, err
	}
	a.notes = append(a.notes, page.Notes...)
	rows.putPage(&a, page.Permittees, page.Pagination, state, "permittees", "search_permittees with the same filters")
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
		a.note("recent_colas has the newest %d of %d labels. For all, call search_colas with this "+
			"permit_number and date_range all.",
			len(found.Value.RecentColas), found.Value.Colas)
	}
	putRecord(&a, v, permitteeRecord{found.Value, svc.Rows(found.Value.RecentColas)})
	return a, state, nil
}
