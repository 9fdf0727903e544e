package mcp

import (
	"context"
	"reflect"

	"github.com/colaregistry/colaregistry/cola"
)

// colaSearchArgs are the arguments of search_colas: the parameters of GET /colas and the response
// format.
type colaSearchArgs struct {
	cola.SearchParams
	formatArgs
}

// colaArgs are the arguments of get_cola.
type colaArgs struct {
	cola.Decoded
	TTBID string `json:"ttb_id" pattern:"^[0-9]{14}$" doc:"TTB ID of the label: 14 digits. Send it as a string; some start with 0." example:"11054001000049"`
	formatArgs
}

const findColasHint = "Find TTB IDs with search_colas."

func colaTools() []tool {
	return []tool{
		newTool(tool{
			name: "search_colas", title: "Search labels",
			description: "Search US alcohol label approvals (COLAs), newest first by default. Use it to list a brand's or " +
				"company's labels; to count labels, use count_labels. pagination.total is exact. Filters combine with AND; multiple values of one filter combine with OR. Without dates, " +
				"it covers the last 365 days; set date_range to all for all dates. " +
				"Searches by TTB ID, or by status expired, surrendered or revoked, cover all dates. " +
				"Results include every status: check application_status before calling a label " +
				"approved. If the approval date is unknown, approval_date_estimate replaces it.\n\n" +
				"Next page: the same filters and sort plus cursor. Brand name check: check_brand. Details: get_cola. " +
				"Permittee: get_permittee. Labels with a barcode: lookup_barcode.",
			cost: "1 list record per label returned.", meter: cola.MeterListRecords,
			docs: map[string]string{
				"approval_date_from": "Earliest approval date, known or estimated.",
				"cursor":             "next_cursor of the previous page.",
				"date_range":         "all: search all dates, including undated labels. Don't combine with approval_date_from or approval_date_to.",
				"sort":               "-approval_date: newest first. approval_date: oldest first. brand: A to Z. Undated labels come last.",
			},
			undescribed: []string{
				"product_type", "domestic_or_imported", "approval_date_to", "abv_max", "volume_max", "container_type", "per_page",
			},
			output:  outputSchema(true, reflect.TypeFor[cola.ColaRow]()),
			example: `{"q":"oak","product_type":["wine"],"date_range":"all","per_page":2}`,
		}, searchColas),
		newTool(tool{
			name: "get_cola", title: "Get one label",
			description: "Get one label by TTB ID: brand, class, origin, applicant, dates, ABV, net contents, " +
				"grapes or grains, tasting notes and a link to its image. response_format detailed " +
				"adds all images, barcodes and codes. Find IDs with search_colas or lookup_barcode. " +
				"For the permittee, pass permit_number to get_permittee.",
			cost: "1 detail view; free if not found.", meter: cola.MeterDetailViews,
			required: []string{"ttb_id"},
			notFound: findColasHint,
			example:  `{"ttb_id":"11054001000049"}`,
		}, getCola),
	}
}

func searchColas(
	ctx context.Context, svc Service, c cola.Caller, p colaSearchArgs,
) (a toolResult, state cola.QuotaState, err error) {
	v := view{p.detailed(&p.Problems)}
	rows := newLabelLimiter(v, svc)
	page, state, err := svc.SearchColasLimited(ctx, c, p.SearchParams, rows.rowLimit())
	if err != nil {
		return a, state, err
	}
	if d := page.Defaults; d != nil {
		a.note("No date was given, so this covers labels approved since %s. For all dates, set "+
			"date_range to all.", d.DateFrom)
		a.addMember("defaults_applied", d)
	}
	returned := len(page.Colas)
	rows.noteTruncation(&a, returned, state)
	if page.Pagination.HasMore && returned > 0 {
		a.note("Showing %d of %d labels. For more, call search_colas with the same filters and sort, and cursor set to "+
			"pagination.next_cursor.",
			returned, page.Pagination.Total)
	}
	a.notes = append(a.notes, page.Notes...)
	a.setData(v.append(nil, svc.Rows(page.Colas)))
	a.extra = append([]field{{"pagination", page.Pagination}}, a.extra...)
	if page.DataAsOf != 0 {
		a.addMember("data_as_of", page.DataAsOf)
	}
	return a, state, nil
}

func getCola(
	ctx context.Context, svc Service, c cola.Caller, p colaArgs,
) (a toolResult, state cola.QuotaState, err error) {
	v := view{p.detailed(&p.Problems)}
	if err := p.Problems.Err(); err != nil {
		state, err := svc.Refuse(ctx, c, err)
		return a, state, err
	}
	found, state, err := svc.Cola(ctx, c, p.TTBID, "")
	if err != nil {
		return a, state, err
	}
	putRecord(&a, v, found.Value)
	return a, state, nil
}
