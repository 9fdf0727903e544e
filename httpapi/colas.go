package httpapi

import (
	"reflect"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/registry"
)

// colaPage is the body of GET /colas.
type colaPage struct {
	Data            []cola.ColaSummary    `json:"data" nullable:"false" doc:"Labels on this page, newest approval first."`
	Pagination      cola.Pagination       `json:"pagination" doc:"Position of this page."`
	DefaultsApplied *cola.DefaultsApplied `json:"defaults_applied,omitempty" doc:"Present only if the default date window was applied."`
	Notes           []string              `json:"notes,omitempty" nullable:"false" doc:"How an ambiguous origin was read, or why few or no labels match. Omitted if empty." example:"[\"DE was read as Delaware; for Germany use germany or DEU.\"]"`
}

func colaOperations(svc Service) []operation {
	return []operation{
		{
			ID: "searchColas", Path: "/colas", Tag: tagColas, Summary: "Search labels",
			Description: "Finds labels by any combination of filters, newest approval first. A label must match " +
				"every filter. If a filter has several values, matching any one is enough.\n\n" +
				"Without `approval_date_from` or `approval_date_to`, only the last 365 days are searched and " +
				"`defaults_applied` is set. A `q` that is a TTB ID, or a `status` of expired, surrendered or revoked, " +
				"searches all dates instead.\n\n" +
				"Totals are exact. For results past page 100, follow `next_cursor`. `notes` explains how an ambiguous " +
				"origin was read, or why few or no labels match.",
			Params: reflect.TypeFor[cola.SearchParams](), Sample: "q=oak&product_type=wine&per_page=2",
			Response: reflect.TypeFor[colaPage](), Example: exampleColas(),
			Meter: cola.MeterListRecords,
			Cost: "One list record per label returned. If your quota has fewer list records left, the page is " +
				"truncated to that number.",
			call: listCall(svc.SearchColas, func(p registry.ColaPage) result {
				return result{body: colaPage{p.Colas, p.Pagination, p.Defaults, p.Notes}}
			}),
		},
		{
			ID: "getCola", Path: "/colas/{ttb_id}", Tag: tagColas, Summary: "Get one label",
			Description: "All data about a label, including its images and barcodes.",
			PathParam: pathParam{
				Name:        "ttb_id",
				Doc:         "TTB ID of the label, 14 digits.",
				Example:     "11054001000049",
				Placeholder: true,
			},
			Response: reflect.TypeFor[dataOf[cola.Cola]](),
			Example:  dataOf[cola.Cola]{exampleLabel()},
			Meter:    cola.MeterDetailViews, Cost: "One detail view. 304 and 404 responses are free.",
			HasETag: true,
			call:    recordCall(svc, "ttb_id", svc.Cola),
		},
	}
}

// appendJSON appends the page as encoding/json would write it, but faster: searches are most of the
// traffic.
func (p colaPage) appendJSON(b []byte) ([]byte, error) {
	b = append(b, `{"data":[`...)
	for i := range p.Data {
		if i > 0 {
			b = append(b, ',')
		}
		b = p.Data[i].AppendJSON(b)
	}
	b = append(b, `],"pagination":`...)
	b = appendPagination(b, p.Pagination)
	if p.DefaultsApplied != nil {
		var err error
		b = append(b, `,"defaults_applied":`...)
		if b, err = cola.AppendJSON(b, p.DefaultsApplied); err != nil {
			return b, err
		}
	}
	if len(p.Notes) > 0 {
		var err error
		b = append(b, `,"notes":`...)
		if b, err = cola.AppendJSON(b, p.Notes); err != nil {
			return b, err
		}
	}
	return append(b, '}'), nil
}
