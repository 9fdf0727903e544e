package httpapi

import (
	"reflect"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/registry"
)

// colaPage is the body of GET /colas.
type colaPage struct {
	Data            []cola.ColaSummary    `json:"data" nullable:"false" doc:"The labels of this page, newest approval first."`
	Pagination      cola.Pagination       `json:"pagination" doc:"Where this page stands."`
	DefaultsApplied *cola.DefaultsApplied `json:"defaults_applied,omitempty" doc:"Present only when the default date window narrowed the search."`
	Notes           []string              `json:"notes,omitempty" nullable:"false" doc:"How an ambiguous origin was read, and why no label was found; present only when there is something to say." example:"[\"DE was read as Delaware; for Germany use germany or DEU.\"]"`
}

func colaOperations(svc Service) []operation {
	return []operation{
		{
			ID: "searchColas", Path: "/colas", Tag: tagColas, Summary: "Search labels",
			Description: "Finds labels by any combination of filters, newest approval first. Filters narrow each " +
				"other; several values of one filter widen it. " +
				"Without an approval date the last 365 days are searched and `defaults_applied` says so, except when " +
				"`q` is an exact TTB id or `status` is expired, surrendered or revoked: those search all history. " +
				"Totals are exact. For results past page 100 follow `next_cursor`. `notes` explains an ambiguous " +
				"origin, and why a search found nothing.",
			Params: reflect.TypeFor[cola.SearchParams](), Sample: "q=oak&product_type=wine&per_page=2",
			Response: reflect.TypeFor[colaPage](), Example: exampleColas(),
			Meter: cola.MeterListRecords,
			Cost:  "One list record for each label returned. When fewer remain, the page is cut to what remains.",
			call: listCall(svc.SearchColas, func(p registry.ColaPage) result {
				return result{body: colaPage{p.Colas, p.Pagination, p.Defaults, p.Notes}}
			}),
		},
		{
			ID: "getCola", Path: "/colas/{ttb_id}", Tag: tagColas, Summary: "Get one label",
			Description: "Everything known of one label, with its images and barcodes.",
			PathParam: pathParam{Name: "ttb_id", Doc: "COLA identifier, 14 digits.", Example: "11054001000049",
				Placeholder: true},
			Response: reflect.TypeFor[dataOf[cola.Cola]](),
			Example:  dataOf[cola.Cola]{exampleLabel()},
			Meter:    cola.MeterDetailViews, Cost: "One detail view. Not found and not modified are free.",
			HasETag: true,
			call:    recordCall(svc, "ttb_id", svc.Cola),
		},
	}
}

// appendJSON writes the page as encoding/json would, without its cost: searches are the bulk of all
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
