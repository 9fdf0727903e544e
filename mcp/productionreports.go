package mcp

import (
	"context"
	"reflect"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/registry"
)

// reportArgs are the arguments of list_production_reports: the parameters of GET
// /production-reports and the size of the answer.
type reportArgs struct {
	cola.ProductionReportParams
	formatted
}

func productionReportTools() []tool {
	return []tool{newTool(tool{
		name: "list_production_reports", title: "List production reports",
		description: "Returns TTB's statistical production reports of beer, wine and spirits, newest first: one row per figure, such as a quantity produced, " +
			"removed or in stock. Use it for questions about the industry's volumes. The figures of one report share commodity, year and month. " +
			"A figure that TTB withheld has is_redacted true and no value.",
		cost:    free,
		output:  outputOf(true, besideSchema(pageMetaMember), reflect.TypeFor[cola.ProductionReport]()),
		example: `{"commodity":"beer","year":2019,"month":3,"per_page":2}`,
	}, listProductionReports)}
}

func listProductionReports(ctx context.Context, svc Service, c cola.Caller, p reportArgs) (a answer, state cola.QuotaState, err error) {
	v := view{p.detailed(&p.Problems)}
	page, state, err := svc.ProductionReports(ctx, c, p.ProductionReportParams)
	if err != nil {
		return a, state, err
	}
	putPage(&a, v, page, "list_production_reports")
	return a, state, nil
}

// putPage answers with as much of a page of a free list as the answer has room for. name is the
// tool that has the next page.
func putPage[T any](a *answer, v view, page registry.PageList[T], name string) {
	rows := rowFit[T]{view: v}
	kept := rows.fit(page.Rows)
	switch at := page.Meta; {
	case kept < len(page.Rows):
		a.note("The page was cut to %d of %d rows to keep the answer small. Set per_page to %d or less.", kept, len(page.Rows), max(1, kept))
	case at.HasMore && at.Page < cola.MaxPage:
		a.note("These are %d of %d rows. For more, call %s again with the same filters and page %d.", kept, at.Total, name, at.Page+1)
	}
	a.notes = append(a.notes, page.Notes...)
	a.put(v.append(nil, emptyRows(page.Rows[:kept])))
	a.add("meta", page.Meta)
}
