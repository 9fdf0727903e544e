package mcp

import (
	"context"
	"reflect"
	"slices"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/registry"
)

// timesArgs are the arguments of get_processing_times: the parameters of the three lists of REST, and which of them is meant.
type timesArgs struct {
	Kind string `json:"kind" enum:"cola,formula,registration" default:"cola" doc:"What takes the time: label approval (cola), formula approval, or an original permit (registration)." example:"cola"`
	cola.FormulaProcessingTimeParams
	Category        string `json:"category" doc:"Category, any case; of kind registration." maxLength:"200" example:"Alcohol"`
	ApplicationType string `json:"application_type" doc:"Kind of permit, any case; of kind registration." maxLength:"200" example:"Brewery"`
	formatted
}

var timesKinds = []string{"cola", "formula", "registration"}

// timesFilters names the filters of each kind.
var timesFilters = map[string][]string{
	"cola": {"commodity"}, "formula": {"formula_type", "commodity"}, "registration": {"category", "application_type"},
}

func processingTimeTools() []tool {
	return []tool{newTool(tool{
		name: "get_processing_times", title: "Get TTB processing times",
		description: "How long TTB takes: median days for label applications (kind cola), formula applications (formula) or original permits (registration), newest figures first. " +
			"Use it for questions about waiting times. Filters: commodity (cola, formula), formula_type (formula), category and application_type (registration).",
		cost:     free,
		output:   outputOf(true, besideSchema(metaMember), reflect.TypeFor[cola.ProcessingTime](), reflect.TypeFor[cola.FormulaProcessingTime](), reflect.TypeFor[cola.RegistrationProcessingTime]()),
		defaults: map[string]any{"kind": "cola"},
		example:  `{"kind":"cola","commodity":"wine"}`,
	}, getProcessingTimes)}
}

func getProcessingTimes(ctx context.Context, svc Service, c cola.Caller, p timesArgs) (a answer, state cola.QuotaState, err error) {
	v := view{p.detailed(&p.Problems)}
	kind := p.Problems.Choice("kind", p.Kind, timesKinds)
	if kind == "" {
		kind = timesKinds[0]
	}
	p.checkFilters(kind)
	switch kind {
	case "formula":
		var rows registry.List[cola.FormulaProcessingTime]
		rows, state, err = svc.FormulaProcessingTimes(ctx, c, p.FormulaProcessingTimeParams)
		a = putList(v, rows, "a commodity or formula_type")
	case "registration":
		var rows registry.List[cola.RegistrationProcessingTime]
		rows, state, err = svc.RegistrationProcessingTimes(ctx, c, cola.RegistrationProcessingTimeParams{Decoded: p.Decoded, Category: p.Category, ApplicationType: p.ApplicationType})
		a = putList(v, rows, "a category or application_type")
	default:
		var rows registry.List[cola.ProcessingTime]
		rows, state, err = svc.ProcessingTimes(ctx, c, cola.ProcessingTimeParams{Decoded: p.Decoded, Commodity: p.Commodity})
		a = putList(v, rows, "a commodity")
	}
	return a, state, err
}

// values returns the filters, by name.
func (p *timesArgs) values() map[string]string {
	return map[string]string{
		"commodity": p.Commodity, "formula_type": p.FormulaType, "category": p.Category, "application_type": p.ApplicationType,
	}
}

// checkFilters notes filters that the kind does not have: left out silently, they would seem to have been applied.
func (p *timesArgs) checkFilters(kind string) {
	for name, value := range p.values() {
		if value == "" || slices.Contains(timesFilters[kind], name) {
			continue
		}
		for _, other := range timesKinds {
			if slices.Contains(timesFilters[other], name) {
				p.Problems.Add(name, "It is no filter of kind %s but of kind %s; leave it out, or ask for that kind.", kind, other)
				break
			}
		}
	}
}

// conciseRows is how many rows of a list without pages the concise size has.
const conciseRows = 30

// putList answers with a list that has no pages in REST: as much of it as the size has room for, its beginning first.
func putList[T any](v view, list registry.List[T], narrow string) (a answer) {
	rows := rowFit[T]{view: v}
	kept := rows.fit(list.Rows)
	if !v.detailed {
		kept = min(kept, conciseRows)
	}
	switch total := list.Meta.Total; {
	case kept < total && !v.detailed:
		a.note("These are the first %d of %d rows. Narrow the list with %s, or ask with response_format detailed for more.", kept, total, narrow)
	case kept < total:
		a.note("These are the first %d of %d rows, as many as an answer holds. Narrow the list with %s.", kept, total, narrow)
	}
	a.notes = append(a.notes, list.Notes...)
	a.put(v.append(nil, emptyRows(list.Rows[:kept])))
	a.add("meta", list.Meta)
	return a
}
