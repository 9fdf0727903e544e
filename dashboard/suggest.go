package dashboard

import (
	"net/http"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/params"
	"github.com/colaregistry/colaregistry/internal/web"
)

// suggestionsPath serves the suggestions for form fields to assets/suggest.js.
const suggestionsPath = explorePath + "/suggestions"

// suggestFields maps the parameters of a search to the kinds of values that their fields suggest,
// separated by spaces.
var suggestFields = map[string]string{
	"q":          cola.SuggestBrand + " " + cola.SuggestCompany,
	"brand_name": cola.SuggestBrand, "permit_number": cola.SuggestCompany, "derived_subcategory": cola.SuggestCategory,
	"class": cola.SuggestClass, "origin": cola.SuggestOrigin, "appellation": cola.SuggestAppellation,
	"grape": cola.SuggestGrape,
}

// suggestionList is the response from suggestionsPath, as in the API.
type suggestionList struct {
	Data []cola.Suggestion `json:"data"`
}

func (req *request) suggestions(reader *params.Reader[cola.SuggestParams]) error {
	found, state, err := req.svc.Suggest(req.ctx(), req.caller, reader.Read(reader.Fields(req.query()), nil))
	req.recordQuota(state)
	if err != nil {
		return err
	}
	body, err := cola.AppendJSON(nil, suggestionList{found.Values})
	if err != nil {
		return err
	}
	web.WriteJSON(req.w, http.StatusOK, body)
	return nil
}
