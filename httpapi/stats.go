package httpapi

import (
	"reflect"
	"slices"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/web"
	"github.com/colaregistry/colaregistry/registry"
)

// colaCounts is the body of GET /colas/stats.
type colaCounts struct {
	Data             []cola.LabelGroup     `json:"data" nullable:"false" doc:"Groups of labels, in order."`
	Total            int                   `json:"total" minimum:"0" doc:"Number of matching labels, equal to pagination.total of GET /colas with the same filters. The counts in data and others add up to it." example:"4514"`
	Others           cola.OtherGroups      `json:"others" doc:"Groups omitted from data."`
	TruncatedByQuota bool                  `json:"truncated_by_quota" doc:"Whether groups were left out because the monthly quota of list records is used up." example:"false"`
	DefaultsApplied  *cola.DefaultsApplied `json:"defaults_applied,omitempty" doc:"Present only if the default date window was applied."`
	Notes            []string              `json:"notes,omitempty" nullable:"false" doc:"How an ambiguous origin was interpreted, or why few or no labels match. Omitted if empty." example:"[\"DE was interpreted as Delaware; for Germany, use germany or DEU.\"]"`
}

func countOperations(svc Service) []operation {
	return []operation{{
		ID: "countColas", Path: "/colas/stats", Tag: tagColas, Summary: "Count labels",
		Description: "Counts matching labels by one or two dimensions. Filters and the default date window are " +
			"the same as for `GET /colas`. Counts are exact.\n\n" +
			"Groups are sorted by the first dimension, then by the second: dates newest first, ranges of `abv` and " +
			"`volume` lowest first, and other values by their number of labels. If there are two dimensions and " +
			"neither is a date or range, groups are sorted by the number of labels instead. A dimension is null for labels without a value.\n\n" +
			"`top` limits the groups. If one dimension is a date or range, it limits the values of the other dimension instead. " +
			"`others` counts the rest.",
		Params: reflect.TypeFor[cola.CountParams](), Sample: "group_by=year&q=oak&date_range=all&top=2",
		Response: reflect.TypeFor[colaCounts](), Example: exampleCounts(),
		Rows: reflect.TypeFor[cola.LabelGroup](), RowFields: groupFields([]string{cola.ByYear}),
		Meter: cola.MeterListRecords,
		Cost: "One list record per 50 groups returned, rounded up. If you have too few list records left, the groups " +
			"they don't cover are left out.",
		call: listCall(svc.CountColas, renderCounts),
	}}
}

func renderCounts(c registry.ColaCounts) result {
	return result{
		body: jsonBody(colaCounts{nonNilRows(c.Groups), c.Total, c.Others, c.Truncated, c.Defaults, c.Notes}),
		list: list{
			rows: web.Table{Rows: c.Groups, Fields: groupFields(c.GroupBy)}, total: c.Total, truncated: c.Truncated, defaults: c.Defaults,
			notes: c.Notes, others: &c.Others,
		},
	}
}

// groupFields returns the members of a group with the given dimensions, in their order.
func groupFields(dimensions []string) (fields []string) {
	for _, dimension := range dimensions {
		if fields = append(fields, dimension); dimension == cola.ByPermit {
			fields = append(fields, "company_name")
		}
	}
	fields = append(fields, "count")
	if slices.ContainsFunc(dimensions, cola.IsPeriod) {
		fields = append(fields, "partial")
	}
	return fields
}
