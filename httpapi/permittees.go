package httpapi

import (
	"reflect"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/registry"
)

// permitteePage is the body of GET /permittees.
type permitteePage struct {
	Data       []cola.PermitteeSummary `json:"data" nullable:"false" doc:"Permittees on this page, most labels first."`
	Pagination cola.Pagination         `json:"pagination" doc:"Position of this page."`
}

func permitteeOperations(svc Service) []operation {
	return []operation{
		{
			ID: "searchPermittees", Path: "/permittees", Tag: tagPermittees, Summary: "Search permittees",
			Description: "Finds permittees, most labels first. Counts are exact.",
			Params:      reflect.TypeFor[cola.PermitteeParams](), Sample: "q=vineyards&state=CA&per_page=2",
			Response: reflect.TypeFor[permitteePage](), Example: examplePermittees(),
			Meter: cola.MeterListRecords,
			Cost: "One list record per permittee returned. If your quota has fewer list records left, the page is " +
				"truncated to that number.",
			call: listCall(svc.SearchPermittees, func(p registry.PermitteePage) result {
				return result{body: jsonBody(permitteePage{nonNilRows(p.Permittees), p.Pagination})}
			}),
		},
		{
			ID: "getPermittee", Path: "/permittees/{permit_number}", Tag: tagPermittees, Summary: "Get one permittee",
			Description: "A permittee and its ten most recent labels. Write a slash in a permit number as %2F.",
			PathParam: pathParam{
				Name:        "permit_number",
				Doc:         "Permit number, any case.",
				Example:     "NJ-I-721",
				Placeholder: true,
			},
			Response: reflect.TypeFor[dataOf[cola.PermitteeDetail]](),
			Example:  dataOf[cola.PermitteeDetail]{examplePermittee()},
			Meter:    cola.MeterDetailViews, Cost: "One detail view. 304 and 404 responses are free.",
			HasETag: true,
			call:    recordCall(svc, "permit_number", svc.Permittee),
		},
	}
}
