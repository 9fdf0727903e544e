package mcp

import (
	"cmp"
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/registry"
)

// processingTimesArgs are the arguments of get_processing_times: the parameters of the three
// REST lists, and the kind of list.
type processingTimesArgs struct {
	Kind string `json:"kind" enum:"cola,formula,registration" default:"cola" doc:"cola: label approval. formula: formula approval. registration: original permits." example:"cola"`
	cola.Decoded
	FormulaType     string         `json:"formula_type" doc:"For kind formula: formula type." maxLength:"200" example:"Formula Approval"`
	Commodity       string         `json:"commodity" doc:"For kinds cola and formula: commodity." maxLength:"200" example:"Wine"`
	Category        string         `json:"category" doc:"For kind registration: category." maxLength:"200" example:"Alcohol"`
	ApplicationType string         `json:"application_type" doc:"For kind registration: permit type." maxLength:"200" example:"Brewery"`
	Latest          cola.Opt[bool] `json:"latest" doc:"true: only the newest figures per commodity, formula type or permit type." example:"true"`
	formatArgs
}

var processingTimesKinds = []string{"cola", "formula", "registration"}

// processingTimesFilters names the filters of each kind.
var processingTimesFilters = map[string][]string{
	"cola": {"commodity"}, "formula": {"formula_type", "commodity"}, "registration": {"category", "application_type"},
}

func processingTimeTools() []tool {
	return []tool{newTool(tool{
		name: "get_processing_times", title: "Get TTB processing times",
		description: "Get TTB's median processing times in days, newest first: label applications (kind " +
			"cola), formula applications (formula) or original permits (registration). Set latest to true for " +
			"the newest figures only.",
		cost: free,
		output: outputSchema(true, reflect.TypeFor[cola.ProcessingTime](),
			reflect.TypeFor[cola.FormulaProcessingTime](), reflect.TypeFor[cola.RegistrationProcessingTime]()),
		example: `{"kind":"cola","commodity":"wine","latest":true}`,
	}, getProcessingTimes)}
}

func getProcessingTimes(
	ctx context.Context, svc Service, c cola.Caller, p processingTimesArgs,
) (a toolResult, state cola.QuotaState, err error) {
	v := view{p.detailed(&p.Problems)}
	kind := cmp.Or(p.Problems.Choice("kind", p.Kind, processingTimesKinds), processingTimesKinds[0])
	p.checkFilters(kind)
	filters := p.filters(processingTimesFilters[kind])
	switch kind {
	case "formula":
		var rows registry.List[cola.FormulaProcessingTime]
		rows, state, err = svc.FormulaProcessingTimes(ctx, c, cola.FormulaProcessingTimeParams{
			Decoded: p.Decoded, FormulaType: p.FormulaType, Commodity: p.Commodity, Latest: p.Latest,
		})
		a = putList(v, rows, append(filters, p.latest()))
	case "registration":
		var rows registry.List[cola.RegistrationProcessingTime]
		rows, state, err = svc.RegistrationProcessingTimes(ctx, c, cola.RegistrationProcessingTimeParams{
			Decoded: p.Decoded, Category: p.Category, ApplicationType: p.ApplicationType, Latest: p.Latest,
		})
		a = putList(v, rows, append(filters, p.latest()))
	default:
		var rows registry.List[cola.ProcessingTime]
		rows, state, err = svc.ProcessingTimes(ctx, c,
			cola.ProcessingTimeParams{Decoded: p.Decoded, Commodity: p.Commodity, Latest: p.Latest})
		a = putList(v, rows, append(filters, p.latest()))
	}
	return a, state, err
}

// values returns the filters by name.
func (p *processingTimesArgs) values() map[string]string {
	return map[string]string{
		"commodity": p.Commodity, "formula_type": p.FormulaType, "category": p.Category,
		"application_type": p.ApplicationType,
	}
}

// filterValue is a filter of a reference list and its value.
type filterValue struct{ filter, value string }

// filters returns the named filters with their values, in order.
func (p *processingTimesArgs) filters(names []string) (list []filterValue) {
	values := p.values()
	for _, name := range names {
		list = append(list, filterValue{name, values[name]})
	}
	return list
}

// latest returns the "latest" argument as a filter.
func (p *processingTimesArgs) latest() filterValue {
	if p.Latest.V {
		return filterValue{"latest", "true"}
	}
	return filterValue{filter: "latest"}
}

// checkFilters reports filters that the kind does not have. Ignoring them would suggest that they
// were applied.
func (p *processingTimesArgs) checkFilters(kind string) {
	for name, value := range p.values() {
		if value == "" || slices.Contains(processingTimesFilters[kind], name) {
			continue
		}
		for _, other := range processingTimesKinds {
			if slices.Contains(processingTimesFilters[other], name) {
				p.Problems.Add(name, "Not a filter for kind %s. Omit it, or use kind %s.",
					kind, other)
				break
			}
		}
	}
}

// maxConciseRows is the maximum number of rows of an unpaginated list in the concise format.
const maxConciseRows = 30

// putList writes as many rows of an unpaginated list as fit. If rows are omitted, a note suggests
// the filters that were not set.
func putList[T any](v view, list registry.List[T], filters []filterValue) (a toolResult) {
	rows := rowLimiter[T]{view: v}
	count := rows.limit(list.Rows)
	if !v.detailed {
		count = min(count, maxConciseRows)
	}
	if total := list.Meta.Total; count < total {
		var ways []string
		for _, f := range filters {
			if f.value == "" {
				ways = append(ways, "set "+f.filter)
			}
		}
		if !v.detailed {
			ways = append(ways, "set response_format to detailed")
		}
		note := fmt.Sprintf("Showing the first %d of %d rows.", count, total)
		if len(ways) > 0 {
			note += " To see others, " + strings.Join(ways, " or ") + "."
		}
		a.notes = append(a.notes, note)
	}
	a.notes = append(a.notes, list.Notes...)
	a.setData(v.append(nil, nonNilRows(list.Rows[:count])))
	a.addMember("meta", list.Meta)
	return a
}

// productionReportArgs are the arguments of list_production_reports: the parameters of GET
// /production-reports and the response format.
type productionReportArgs struct {
	cola.ProductionReportParams
	formatArgs
}

func productionReportTools() []tool {
	return []tool{newTool(tool{
		name: "list_production_reports", title: "List production reports",
		description: "List TTB's statistical reports on beer, wine and spirits, newest first: one row per " +
			"figure, such as a quantity produced, removed or in stock. Rows from the same report share a " +
			"commodity, year and month. A withheld figure has is_redacted true and no value.\n\n" +
			"A year's national production is the sum of its monthly rows: for beer, those with statistical_group Barrels " +
			"Produced and statistical_detail Production. Yearly reports are mostly by state.",
		cost:        free,
		output:      outputSchema(true, reflect.TypeFor[cola.ProductionReport]()),
		undescribed: append(pageArguments, "year", "month"),
		example:     `{"year":2019,"month":3,"commodity":"beer","per_page":2}`,
	}, listProductionReports)}
}

func listProductionReports(
	ctx context.Context, svc Service, c cola.Caller, p productionReportArgs,
) (a toolResult, state cola.QuotaState, err error) {
	v := view{p.detailed(&p.Problems)}
	page, state, err := svc.ProductionReports(ctx, c, p.ProductionReportParams)
	if err != nil {
		return a, state, err
	}
	putPage(&a, v, page, "list_production_reports")
	return a, state, nil
}

// putPage writes as many rows of a free list's page as fit. name is the tool that returns the next
// page.
func putPage[T any](a *toolResult, v view, page registry.PageList[T], name string) {
	rows := rowLimiter[T]{view: v}
	count := rows.limit(page.Rows)
	switch at := page.Meta; {
	case count < len(page.Rows):
		a.note("Showing %d of %d rows to limit the response size. Set per_page to %d or less.", count,
			len(page.Rows), max(1, count))
	case at.HasMore && at.Page < cola.MaxPage:
		a.note("Showing %d of %d rows. For more, call %s with the same filters and page %d.", count, at.Total,
			name, at.Page+1)
	}
	a.notes = append(a.notes, page.Notes...)
	a.setData(v.append(nil, nonNilRows(page.Rows[:count])))
	a.addMember("meta", page.Meta)
}
