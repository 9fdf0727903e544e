package mcp

import (
	"context"
	"reflect"

	"github.com/colaregistry/colaregistry/cola"
)

// reportArgs are the arguments of list_production_reports: the parameters of GET /production-reports, and the size of the answer.
type reportArgs struct {
	cola.ProductionReportParams
	formatted
}

func productionReportTools() []tool {
	return []tool{newTool(tool{
		name: "list_production_reports", title: "List production reports",
		description: "TTB's statistical production reports of beer, wine and spirits, newest first: quantities produced, removed and in stock, a figure a row. Use it for questions about the industry's volumes. " +
			"Narrow it by commodity, year and month; the figures of one report share those. A figure that TTB withheld has is_redacted true and no value.",
		cost:     free,
		defaults: map[string]any{"per_page": perPage},
		output:   outputOf(true, besideSchema(pageMetaMember), reflect.TypeFor[cola.ProductionReport]()),
		example:  `{"commodity":"beer","year":2019,"month":3,"per_page":2}`,
	}, listProductionReports)}
}

func listProductionReports(ctx context.Context, svc Service, c cola.Caller, p reportArgs) (a answer, state cola.QuotaState, err error) {
	v := view{p.detailed(&p.Problems)}
	p.PerPage = pageSize(p.PerPage)
	page, state, err := svc.ProductionReports(ctx, c, p.ProductionReportParams)
	if err != nil {
		return a, state, err
	}
	rows := rowFit[cola.ProductionReport]{view: v}
	kept := rows.fit(page.Rows)
	switch at := page.Meta; {
	case kept < len(page.Rows):
		a.note("The page was cut to %d of %d rows to keep the answer small; ask for smaller pages, with per_page %d or less.", kept, len(page.Rows), max(1, kept))
	case at.HasMore && at.Page < cola.MaxPage:
		a.note("These are %d of %d rows. For the next ones call list_production_reports again with the same filters and page %d.", kept, at.Total, at.Page+1)
	}
	a.notes = append(a.notes, page.Notes...)
	a.put(v.append(nil, emptyRows(page.Rows[:kept])))
	a.add("meta", page.Meta)
	return a, state, nil
}
