package registry

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/search"
	"github.com/colaregistry/colaregistry/store"
)

// ColaPage is the result of SearchColas.
type ColaPage struct {
	Colas      []cola.ColaSummary
	Pagination cola.Pagination
	Defaults   *cola.DefaultsApplied // nil unless the default date window is active
	Notes      []string              // how an ambiguous origin was read, and why few or no labels match
	DataAsOf   cola.Date             // latest change in TTB's registry that the data includes
}

// SearchColas returns a page of the labels that match, in the requested order. It costs one list
// record per label returned. If fewer list records are left, the page is cut and
// TruncatedByQuota is true.
func (s *Service) SearchColas(
	ctx context.Context, c cola.Caller, p cola.SearchParams,
) (ColaPage, cola.QuotaState, error) {
	return s.SearchColasLimited(ctx, c, p, nil)
}

// SearchColasLimited is SearchColas for a response of limited size; it cuts the page to the rows
// that fit.
func (s *Service) SearchColasLimited(
	ctx context.Context, c cola.Caller, p cola.SearchParams, limit RowLimit[cola.ColaSummary],
) (ColaPage, cola.QuotaState, error) {
	page, _, state, err := s.searchColas(ctx, c, p, limit)
	return page, state, err
}

// searchColas searches and charges. It returns the results with the view of the index that they
// come from.
func (s *Service) searchColas(
	ctx context.Context, c cola.Caller, p cola.SearchParams, limit RowLimit[cola.ColaSummary],
) (ColaPage, *search.View, cola.QuotaState, error) {
	if state, err := s.precheck(c); err != nil {
		return ColaPage{}, nil, state, err
	}
	q, err := p.Normalize(s.now())
	if err != nil {
		state, err := s.Refuse(ctx, c, err)
		return ColaPage{}, nil, state, err
	}
	start, view := time.Now(), s.index.View()
	found := view.Search(q)
	s.metrics.observeSearch(classifyQuery(&q.Query), start)
	rows, fewer := limit.cut(found.Rows)
	found.Rows, found.HasMore = rows, found.HasMore || fewer
	grant, err := s.ledger.Charge(ctx, quotaRequest(c, cola.MeterListRecords, len(found.Rows)))
	if err != nil {
		return ColaPage{}, nil, grant.State, err
	}
	truncated := grant.Units < len(found.Rows)
	if truncated {
		found.Rows, found.HasMore = found.Rows[:grant.Units], true
	}
	page := colaPage(q, found.Rows, found.Total, found.HasMore)
	page.Pagination.TruncatedByQuota = truncated
	page.DataAsOf = view.DataAsOf(s.today())
	page.Notes = searchNotes(view, &p, &q, found.Total)
	return page, view, grant.State, nil
}

func colaPage(q cola.ColaSearch, rows []cola.ColaSummary, total int, more bool) ColaPage {
	page := ColaPage{Colas: rows, Pagination: cola.Pagination{
		Mode: "offset", Page: q.Page, PerPage: q.PerPage,
		Total: total, Pages: pageCount(total, q.PerPage), HasMore: more,
	}}
	if q.CursorMode {
		page.Pagination.Mode = "cursor"
	}
	if more && len(rows) > 0 {
		last := rows[len(rows)-1]
		page.Pagination.NextCursor = q.CursorAfter(search.PositionOf(&last, q.Sort))
	}
	if q.DefaultWindow {
		page.Defaults = &cola.DefaultsApplied{DateRange: true, DateFrom: q.From}
	}
	return page
}

// Rows returns labels as list rows. It is free: call it only for labels that the caller was charged
// for.
func (s *Service) Rows(labels []cola.ColaSummary) []cola.ColaRow { return s.index.View().Rows(labels) }

// Cola returns all data about a label. White space around the ID is ignored. It costs a detail
// view; it is free if the label does not exist or the caller has the current version.
func (s *Service) Cola(
	ctx context.Context, c cola.Caller, id, ifNoneMatch string,
) (Tagged[cola.Cola], cola.QuotaState, error) {
	return lookup(ctx, s, c, cola.MeterDetailViews, ifNoneMatch,
		func() (cola.Cola, error) { return s.findCola(ctx, id) })
}

// findCola reads a label as responses show it: with its effective category path and absolute image
// URLs.
func (s *Service) findCola(ctx context.Context, id string) (cola.Cola, error) {
	id = strings.TrimSpace(id)
	ttbID, ok := cola.ParseTTBID(id)
	if !ok {
		return cola.Cola{}, colaNotFound(id)
	}
	label, err := s.label(ctx, ttbID)
	if errors.Is(err, store.ErrNotFound) {
		return cola.Cola{}, colaNotFound(id)
	}
	if err != nil {
		return cola.Cola{}, storeError(err, "read COLA "+ttbID.String())
	}
	label.LLMCategoryPath = cola.Text(label.EffectiveCategory())
	s.absoluteURLs(&label)
	return label, nil
}

// colaNotFound returns the error for an unknown label. It describes the format of IDs if id does
// not have it.
func colaNotFound(id string) error {
	hint := " A TTB ID has 14 digits."
	if len(id) == len("11054001000049") && strings.Trim(id, "0123456789") == "" {
		hint = ""
	}
	return cola.Errorf(cola.CodeNotFound, "No label has the TTB ID %s.%s", cola.Quoted(id), hint)
}

// readTimeout limits reads before a charge.
const readTimeout = 3 * time.Second

// label reads a label from the store, within readTimeout.
func (s *Service) label(ctx context.Context, id cola.TTBID) (label cola.Cola, err error) {
	err = withTimeout(ctx, readTimeout, func(ctx context.Context) error {
		label, err = s.store.Cola(ctx, id)
		return err
	})
	return label, err
}

// imagesPath is the prefix of the stored URL of an image that this server draws.
const imagesPath = "/images/"

// absoluteURLs makes the URLs of images that this server draws absolute.
func (s *Service) absoluteURLs(label *cola.Cola) {
	label.MainImageURL = s.absoluteURL(label.MainImageURL)
	for i := range label.Images {
		label.Images[i].ImageURL = s.absoluteURL(label.Images[i].ImageURL)
	}
}

// absoluteURL returns the absolute URL of an image that this server draws, and any other URL
// unchanged.
func (s *Service) absoluteURL(u cola.Text) cola.Text {
	if strings.HasPrefix(string(u), imagesPath) {
		return cola.Text(s.publicURL) + u
	}
	return u
}

// RowLimit returns how many of the rows, from the first, fit into a response. It is called before
// the charge, so that only returned rows are charged. A nil RowLimit has no limit.
type RowLimit[T any] func(rows []T) int

// cut returns the rows that fit, and whether that is fewer than all.
func (limit RowLimit[T]) cut(rows []T) (kept []T, fewer bool) {
	if limit == nil {
		return rows, false
	}
	n := min(limit(rows), len(rows))
	return rows[:n], n < len(rows)
}
