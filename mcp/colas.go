package mcp

import (
	"context"
	"reflect"

	"github.com/colaregistry/colaregistry/cola"
)

// colaSearchArgs are the arguments of search_colas: the parameters of GET /colas and the size of
// the answer.
type colaSearchArgs struct {
	cola.SearchParams
	formatArgs
}

// colaArgs are the arguments of get_cola.
type colaArgs struct {
	cola.Decoded
	TTBID string `json:"ttb_id" pattern:"^[0-9]{14}$" doc:"COLA identifier: 14 digits, best sent as a string because some start with 0." example:"11054001000049"`
	formatArgs
}

const findColasHint = "search_colas finds labels and their ids."

func colaTools() []tool {
	return []tool{
		newTool(tool{
			name: "search_colas", title: "Search labels",
			description: "Searches label approvals (COLAs) of US wine, beer and spirits, newest approval first. " +
				"Returns labels in every status unless status is set: check application_status (approved, expired, " +
				"surrendered or revoked) before you call a label approved. Use it to check whether a name is taken, " +
				"what a company has had approved, or how many labels match: pagination.total is exact on any page. " +
				"Filters narrow each other; several values of one filter widen it.\n\n" +
				"Without approval_date_from or approval_date_to it covers the last 365 days, unless q is a TTB id or " +
				"status is expired, surrendered or revoked. For all history set approval_date_from to 2005-01-01. " +
				"For more rows call again with the same filters and cursor. Then: get_cola for everything about one " +
				"label, get_permittee for its permit holder, lookup_barcode for every label with a barcode.",
			cost: "one list record per label returned; no results is free.", meter: cola.MeterListRecords,
			output: outputSchema(true, extraSchemas(paginationMember, defaultsMember, chargedMember),
				reflect.TypeFor[cola.ColaRow]()),
			example: `{"q":"oak","product_type":["wine"],"approval_date_from":"2005-01-01","per_page":2}`,
		}, searchColas),
		newTool(tool{
			name: "get_cola", title: "Get one label",
			description: "Returns everything known about one label, by its TTB id: what is on it, who applied, " +
				"dates, ABV, contents, varietals or grains, tasting notes and a link to its image; with " +
				"response_format detailed also all images, barcodes and codes. Use it for labels that matter, after " +
				"search_colas or lookup_barcode found their ids. Then: get_permittee with its permit_number.",
			cost: "one detail view; not found is free.", meter: cola.MeterDetailViews,
			required: []string{"ttb_id"},
			output:   outputSchema(false, extraSchemas(chargedMember), reflect.TypeFor[cola.Cola]()),
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
	page, state, err := svc.SearchColasLimited(ctx, c, p.SearchParams, rows.registryFit())
	if err != nil {
		return a, state, err
	}
	if d := page.Defaults; d != nil {
		a.note("Only labels approved since %s were searched, because no date was given. For all history set "+
			"approval_date_from to 2005-01-01.", d.DateFrom)
		a.addMember("defaults_applied", d)
	}
	given := len(page.Colas)
	rows.noteTruncation(&a, given, state)
	if page.Pagination.HasMore && given > 0 {
		a.note("These are %d of %d labels. For more, call search_colas again with the same filters and cursor set to "+
			"pagination.next_cursor.",
			given, page.Pagination.Total)
	}
	a.notes = append(a.notes, page.Notes...)
	a.setData(v.append(nil, svc.Rows(page.Colas)))
	a.extra = append([]field{{"pagination", page.Pagination}}, a.extra...)
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

// noteTruncation says how many rows were left out of a page: for lack of quota or of room.
func (f *rowLimiter[T]) noteTruncation(a *toolResult, given int, state cola.QuotaState) {
	switch {
	case given < f.kept:
		a.note("The page was cut to %d of %d rows: this month's list records are used up. They reset on %s.", given,
			f.found, resetDay(state))
	case f.kept < f.found:
		a.note("The page was cut to %d of %d rows to keep the answer small. Only those were charged.", f.kept, f.found)
	}
}
