package httpapi

import (
	"reflect"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/registry"
)

// suggestionList is the body of GET /suggest.
type suggestionList struct {
	Data  []cola.Suggestion `json:"data" nullable:"false" doc:"Values that begin with q, then values with another word that begins with q; most frequent first in each group."`
	Notes []string          `json:"notes,omitempty" nullable:"false" doc:"If no value matches q, the similar text that was used instead. Otherwise omitted." example:"[\"No value has a word that begins with \\\"ravin\\\". These are the values for \\\"raven\\\".\"]"`
}

func suggestOperations(svc Service) []operation {
	return []operation{{
		ID: "suggestValues", Path: "/suggest", Tag: tagReference, Summary: "Suggest values",
		Description: "Lists a filter's values that begin with the given text, or contain a word that does, each with the number " +
			"of labels or report rows. Use it to complete form fields as the user types.",
		Params: reflect.TypeFor[cola.SuggestParams](), Sample: "field=brand&q=oak&limit=5",
		Response: reflect.TypeFor[suggestionList](), Example: exampleSuggestions(),
		Cost: "Free; does not count toward the rate limit. Limited to 20 requests a second per account, with bursts " +
			"of up to 60.",
		call: listCall(svc.Suggest, func(found registry.Suggestions) result {
			return result{body: jsonBody(suggestionList{nonNilRows(found.Values), found.Notes})}
		}),
	}}
}
