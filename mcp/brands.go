package mcp

import (
	"context"
	"reflect"

	"github.com/colaregistry/colaregistry/cola"
)

// brandArgs are the arguments of check_brand: the parameters of GET /brands and the response
// format.
type brandArgs struct {
	cola.BrandParams
	formatArgs
}

func brandTools() []tool {
	return []tool{newTool(tool{
		name: "check_brand", title: "Check a brand name",
		description: "Find brands with names identical or similar to q, most similar first: same words, " +
			"plurals, names that sound like it or differ by a letter or two, and names that contain q or are part of it. " +
			"Use it to check whether a name is available; notes summarizes the result. Covers all dates and statuses. " +
			"It covers labels, not trademarks, and is not legal advice.\n\n" +
			"For a brand's labels, call search_colas with brand_name and date_range all; for its newest label, " +
			"get_cola with example_ttb_id.",
		cost: "1 list record per brand returned.", meter: cola.MeterListRecords,
		required: []string{"q"}, serviceValidates: true,
		undescribed: append(pageArguments, "q", "min_score"),
		output:      outputSchema(true, reflect.TypeFor[cola.BrandMatch]()),
		example:     `{"q":"Ravin and Oak","per_page":5}`,
	}, checkBrand)}
}

func checkBrand(
	ctx context.Context, svc Service, c cola.Caller, p brandArgs,
) (a toolResult, state cola.QuotaState, err error) {
	rows := rowLimiter[cola.BrandMatch]{view: view{p.detailed(&p.Problems)}}
	page, state, err := svc.SearchBrandsLimited(ctx, c, p.BrandParams, rows.rowLimit())
	if err != nil {
		return a, state, err
	}
	a.notes = append(a.notes, page.Notes...)
	rows.putPage(&a, page.Brands, page.Pagination, state, "brands", "check_brand with the same arguments")
	if page.DataAsOf != 0 {
		a.addMember("data_as_of", page.DataAsOf)
	}
	return a, state, nil
}
