package httpapi

import (
	"net/http"
	"reflect"

	"github.com/colaregistry/colaregistry/cola"
)

func explainSavedSearch(svc Service) operation {
	return operation{
		ID: "explainSavedSearch", Path: oneSavedSearchPath + "/explain/{ttb_id}", Tag: tagSearches, Summary: "Explain why a search finds a label",
		Description: "Tells, filter by filter, whether a label meets the search as both are now, and why a run has found it, will find it, or will not: `verdict` is one word, " +
			"`message` a sentence or two. A label meets the search when it meets every filter without a group, and one of each group.",
		PathParam:  savedSearchID(),
		InnerParam: pathParam{Name: "ttb_id", Doc: "COLA identifier, 14 digits.", Example: exampleMatches().Data[0].TTBID.String()},
		Response:   reflect.TypeFor[dataOf[cola.Explanation]](),
		Example:    dataOf[cola.Explanation]{exampleExplanation()},
		Meter:      cola.MeterListRecords,
		Cost:       "One list record, for the label. An unknown search or label is free.",
		call: one(svc, func(r *http.Request, caller cola.Caller) (cola.Explanation, cola.QuotaState, error) {
			return svc.ExplainSavedSearch(r.Context(), caller, pathValue(r, "uuid"), pathValue(r, "ttb_id"))
		}, func(e cola.Explanation) answer { return answer{body: plain(dataOf[cola.Explanation]{e})} }),
	}
}

// exampleExplanation is of a label that exampleColas shows and exampleMatches has.
func exampleExplanation() cola.Explanation {
	match, label := exampleMatches().Data[0], exampleColas().Data[1]
	e := cola.Explanation{
		TTBID: label.TTBID, Label: label, Matches: true, Found: &match, Verdict: cola.VerdictFound,
		Message: "Run 1841 found it, late: it was approved before the days that the run looked at, and came since the run before.",
	}
	for _, p := range exampleSavedSearch().Filters.Parts() {
		e.Filters = append(e.Filters, cola.FilterFinding{Filter: p.Filter, Group: cola.Opt[string]{V: p.Group, OK: p.Group != ""}, Sought: p.Sought, Met: true})
	}
	return e
}
