package httpapi

import (
	"reflect"
	"slices"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/web"
	"github.com/colaregistry/colaregistry/registry"
)

// colaPage is the body of GET /colas.
type colaPage struct {
	Data            []cola.ColaSummary    `json:"data" nullable:"false" doc:"Labels on this page, in sort order."`
	Pagination      cola.Pagination       `json:"pagination" doc:"Pagination details."`
	DefaultsApplied *cola.DefaultsApplied `json:"defaults_applied,omitempty" doc:"Present only if the default date window was applied."`
	Notes           []string              `json:"notes,omitempty" nullable:"false" doc:"How an ambiguous origin was interpreted, or why few or no labels match. Omitted if empty." example:"[\"DE was interpreted as Delaware; for Germany, use germany or DEU.\"]"`

	fields   []string       // members of the rows to send; nil for all of Data
	extended []cola.ColaRow // the rows of Data with the optional members, if fields includes any of them; otherwise nil
}

// colaParams are the parameters of GET /colas: the search and the members to return.
type colaParams struct {
	cola.SearchParams
	Fields []string `json:"fields" enum:"ttb_id,brand_name,product_name,product_type,class_name,origin_name,permit_number,application_status,approval_date,approval_date_estimate,date_is_estimated,image_count,has_barcode,company_name,abv,volume_ml" doc:"Fields to return in each row, instead of the default set. All others are omitted, even those marked required. company_name, abv (percent) and volume_ml (milliliters) are only returned if selected; null if unknown. You can change fields while following a cursor." example:"ttb_id,brand_name,approval_date"`
}

func colaOperations(svc Service) []operation {
	return []operation{
		{
			ID: "searchColas", Path: "/colas", Tag: tagColas, Summary: "Search labels",
			Description: "Finds labels by any combination of filters, newest approval first unless `sort` is set. A label " +
				"must match every filter. If a filter has multiple values, matching any one is enough.\n\n" +
				"Without `approval_date_from` or `approval_date_to`, only the last 365 days are searched and " +
				"`defaults_applied` is set. A `q` that is a TTB ID, or a `status` of expired, surrendered or revoked, " +
				"searches all dates instead.\n\n" +
				"Totals are exact. For results past page 100, follow `next_cursor`. `notes` explains how an ambiguous " +
				"origin was interpreted, or why few or no labels match.",
			Params: reflect.TypeFor[colaParams](), Sample: "q=oak&product_type=wine&per_page=2",
			Response: reflect.TypeFor[colaPage](), Example: exampleColas(), Rows: reflect.TypeFor[cola.ColaSummary](),
			Meter: cola.MeterListRecords,
			Cost: "One list record per label returned. If you have too few list records left, the page is truncated to " +
				"the number you have left.",
			call: sparseCall(reflect.TypeFor[cola.ColaRow](),
				func(p *colaParams) (*cola.SearchParams, *cola.Problems, []string) {
					return &p.SearchParams, &p.Problems, p.Fields
				}, svc.SearchColas, func(p registry.ColaPage, fields []string) result { return renderColas(svc, p, fields) }),
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

// renderColas renders a page of labels. Its rows have the members named in fields, or those of
// cola.ColaSummary if fields is nil.
func renderColas(svc Service, p registry.ColaPage, fields []string) result {
	next := nextPage{cursor: p.Pagination.NextCursor}
	page := colaPage{Data: p.Colas, Pagination: p.Pagination, DefaultsApplied: p.Defaults, Notes: p.Notes, fields: fields}
	if len(fields) > 0 {
		summary := web.MemberNames(reflect.TypeFor[cola.ColaSummary]())
		if slices.ContainsFunc(fields, func(name string) bool { return !slices.Contains(summary, name) }) {
			page.extended = svc.Rows(p.Colas)
		}
	}
	return result{
		body: page,
		list: list{
			rows: page.rows(), total: p.Pagination.Total, next: next, defaults: p.Defaults, notes: p.Notes,
			truncated: p.Pagination.TruncatedByQuota,
		},
	}
}

// rows returns the rows to send.
func (p colaPage) rows() web.Table {
	if p.extended != nil {
		return web.Table{Rows: p.extended, Fields: p.fields}
	}
	return web.Table{Rows: p.Data, Fields: p.fields}
}

// appendJSON appends the same JSON as encoding/json, but faster. The speed matters because most
// requests are searches.
func (p colaPage) appendJSON(b []byte) ([]byte, error) {
	b, err := p.rows().AppendArray(append(b, `{"data":`...))
	if err != nil {
		return b, err
	}
	b = appendPagination(append(b, `,"pagination":`...), p.Pagination)
	if p.DefaultsApplied != nil {
		b = append(b, `,"defaults_applied":`...)
		if b, err = cola.AppendJSON(b, p.DefaultsApplied); err != nil {
			return b, err
		}
	}
	b, err = appendNotes(b, p.Notes)
	return append(b, '}'), err
}

// appendNotes appends the "notes" member, unless it would be empty.
func appendNotes(b []byte, notes []string) ([]byte, error) {
	if len(notes) == 0 {
		return b, nil
	}
	return cola.AppendJSON(append(b, `,"notes":`...), notes)
}
