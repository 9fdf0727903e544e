package mcp

import (
	"context"
	"reflect"

	"github.com/colaregistry/colaregistry/cola"
)

func suggestTools() []tool {
	return []tool{newTool(tool{
		name: "suggest_values", title: "Suggest values",
		description: "List a filter's values that begin with q, or contain a word that does, each with its number of " +
			"labels or report rows. If q seems misspelled, a note names the text used instead. Use it before a " +
			"search if you are unsure how a brand, company, category, appellation, origin, class or grape is " +
			"spelled, or to list the values in use.",
		cost:             "free.",
		required:         []string{"field"},
		serviceValidates: true,
		output:           outputSchema(true, reflect.TypeFor[cola.Suggestion]()),
		example:          `{"field":"brand","q":"oak","limit":5}`,
	}, suggestValues)}
}

func suggestValues(
	ctx context.Context, svc Service, c cola.Caller, p cola.SuggestParams,
) (a toolResult, state cola.QuotaState, err error) {
	found, state, err := svc.Suggest(ctx, c, p)
	if err != nil {
		return a, state, err
	}
	a.notes = append(a.notes, found.Notes...)
	a.setData(view{detailed: true}.append(nil, found.Values))
	return a, state, nil
}
