package dashboard

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/colaregistry/colaregistry/cola"
)

// explainPage tells why a search finds a label, or does not.
type explainPage struct {
	Search cola.SavedSearch
	cola.Explanation
	Name    string // brand and product
	Said    string // the verdict
	Filters []explainedFilter
}

// explainedFilter is what one filter makes of a label.
type explainedFilter struct {
	Word, Sought string
	Met          bool
}

func (v *visit) explainSearch() error {
	id, label := v.path("uuid"), strings.TrimSpace(v.query().Get("ttb_id"))
	if label != "" {
		if answered, err := v.beforeCharge(explanationPrice()); answered {
			return err
		}
	}
	found, state, err := v.svc.SavedSearch(v.ctx(), v.caller, id, "")
	if err != nil {
		return err
	}
	v.asked(state)
	if label == "" {
		return v.leadTo(searchPath(id), "Type the TTB id of a label, to see why it was found or not.")
	}
	e, state, err := v.svc.ExplainSavedSearch(v.ctx(), v.caller, id, label)
	v.asked(state)
	if err != nil {
		return err
	}
	v.keepForBack()
	p := explainPage{Search: found.Value, Explanation: e, Name: labelName(&e.Label), Said: inFieldWords(e.Message)}
	for _, f := range e.Filters {
		p.Filters = append(p.Filters, explainedFilter{met(cola.FilterSetOf(f.Filter)), soughtText(f), f.Met})
	}
	return v.show(http.StatusOK, "savedsearchexplain", page{
		Title: "Why a label was found, or not", Data: p,
		Call: v.call(http.MethodGet, searchPath(found.Value.UUID)+"/explain/"+url.PathEscape(e.TTBID.String()), "It costs a list record."),
	})
}

// soughtText says what a filter looks for.
func soughtText(f cola.FilterFinding) string {
	if f.Sought == true {
		return "any such label"
	}
	text := legible(plainValue(f.Sought))
	filter, _, ok := cola.SavedFilter(f.Filter)
	switch {
	case ok && filter.Kind == cola.MinFilter:
		return "at least " + text
	case ok && filter.Kind == cola.MaxFilter:
		return "at most " + text
	}
	return text
}

// inFieldWords says a sentence that names filters as the API does with the words of pages.
func inFieldWords(sentence string) string {
	words := strings.Fields(sentence)
	for i, word := range words {
		bare := strings.TrimRight(word, ",.")
		if set := cola.FilterSetOf(bare); set != 0 {
			words[i] = met(set) + word[len(bare):]
		}
	}
	return strings.Join(words, " ")
}
