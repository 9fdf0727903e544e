package httpapi

import (
	"reflect"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/web"
	"github.com/colaregistry/colaregistry/registry"
)

// permitteePage is the body of GET /permittees.
type permitteePage struct {
	Data       []cola.PermitteeSummary `json:"data" nullable:"false" doc:"Permittees on this page, most labels first."`
	Pagination cola.Pagination         `json:"pagination" doc:"Pagination details."`
	Notes      []string                `json:"notes,omitempty" nullable:"false" doc:"Why no permittee matches. Omitted if empty." example:"[\"No permittee has the name \\\"ambre\\\". Did you mean amber (3)?\"]"`

	fields []string // members of the rows to send; nil for all
}

// permitteeParams are the parameters of GET /permittees: the search and the members to return.
type permitteeParams struct {
	cola.PermitteeParams
	Fields []string `json:"fields" enum:"permit_number,company_name,operating_name,company_state,company_zip_code,permittee_type,is_active,active_reason,colas,colas_approved,last_cola_application_date" doc:"Fields to return in each row, instead of all of them. All others are omitted, even those marked required." example:"permit_number,company_name,colas"`
}

func permitteeOperations(svc Service) []operation {
	return []operation{
		{
			ID: "searchPermittees", Path: "/permittees", Tag: tagPermittees, Summary: "Search permittees",
			Description: "Finds permittees, most labels first. Counts are exact.",
			Params:      reflect.TypeFor[permitteeParams](), Sample: "q=vineyards&state=CA&per_page=2",
			Response: reflect.TypeFor[permitteePage](), Example: examplePermittees(),
			Rows:  reflect.TypeFor[cola.PermitteeSummary](),
			Meter: cola.MeterListRecords,
			Cost: "One list record per permittee returned. If you have too few list records left, the page is truncated to " +
				"the number you have left.",
			call: sparseCall(reflect.TypeFor[cola.PermitteeSummary](),
				func(p *permitteeParams) (*cola.PermitteeParams, *cola.Problems, []string) {
					return &p.PermitteeParams, &p.Problems, p.Fields
				}, svc.SearchPermittees, renderPermittees),
		},
		{
			ID: "getPermittee", Path: "/permittees/{permit_number}", Tag: tagPermittees, Summary: "Get one permittee",
			Description: "A permittee and its ten most recent labels. Write a slash in a permit number as %2F.",
			PathParam: pathParam{
				Name:        "permit_number",
				Doc:         "Permit number.",
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

// renderPermittees renders a page of permittees with the given members of the rows, or all if
// fields is nil.
func renderPermittees(p registry.PermitteePage, fields []string) result {
	return result{
		body: permitteePage{p.Permittees, p.Pagination, p.Notes, fields},
		list: pageOfList(web.Table{Rows: p.Permittees, Fields: fields}, p.Pagination, p.Notes),
	}
}

// appendJSON appends the same JSON as encoding/json.
func (p permitteePage) appendJSON(b []byte) ([]byte, error) {
	b, err := web.Table{Rows: p.Data, Fields: p.fields}.AppendArray(append(b, `{"data":`...))
	if err != nil {
		return b, err
	}
	b, err = appendNotes(appendPagination(append(b, `,"pagination":`...), p.Pagination), p.Notes)
	return append(b, '}'), err
}
