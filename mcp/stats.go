package mcp

import (
	"context"

	"github.com/colaregistry/colaregistry/cola"
)

// searchArguments returns the names of the arguments that search_colas describes.
func searchArguments() (names []string) {
	for _, f := range cola.FieldsOf[cola.SearchParams]() {
		names = append(names, f.Name)
	}
	return names
}

func countTools() []tool {
	filters := searchArguments()
	return []tool{newTool(tool{
		name: "count_labels", title: "Count labels",
		description: "Get exact label counts by one or two dimensions, such as labels per year, the companies (permit) or brands " +
			"with the most gin labels, or status by product type. Use it for trends, shares and rankings instead of " +
			"repeated searches. It takes the same filters as search_colas and also defaults to the last 365 days. Dates are sorted " +
			"newest first, abv and volume lowest first, everything else by number of labels. A null group holds labels " +
			"without a value. The field others counts the groups beyond top.",
		cost: "1 list record per 50 groups returned.", meter: cola.MeterListRecords,
		required: []string{"group_by"}, serviceValidates: true, describedElsewhere: filters,
		undescribed: append(filters, "group_by"),
		example:     `{"group_by":["year","product_type"],"top":4,"q":"oak","date_range":"all"}`,
	}, countLabels)}
}

func countLabels(
	ctx context.Context, svc Service, c cola.Caller, p cola.CountParams,
) (a toolResult, state cola.QuotaState, err error) {
	v := view{}
	rows := rowLimiter[cola.LabelGroup]{view: v}
	counts, state, err := svc.CountColasLimited(ctx, c, p, rows.rowLimit())
	if err != nil {
		return a, state, err
	}
	if d := counts.Defaults; d != nil {
		a.note("No date was given, so this covers labels approved since %s. For all dates, set "+
			"date_range to all.", d.DateFrom)
		a.addMember("defaults_applied", d)
	}
	rows.noteTruncation(&a, len(counts.Groups), state)
	a.notes = append(a.notes, counts.Notes...)
	a.setData(v.append(nil, nonNilRows(counts.Groups)))
	a.extra = append([]field{{"total", counts.Total}, {"others", counts.Others}}, a.extra...)
	if counts.DataAsOf != 0 {
		a.addMember("data_as_of", counts.DataAsOf)
	}
	return a, state, nil
}
