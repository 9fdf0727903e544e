package registry

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
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
	Notes      []string              // how the search was interpreted, and why few or no labels match
	Advice     []Note                // the same notes, with the searches that they suggest
	DataAsOf   cola.Date             // latest change in TTB's registry that the data includes
}

// SearchColas returns a page of the labels that match, in the requested order. It costs one list
// record per label returned. If fewer list records are left, the page is truncated and
// TruncatedByQuota is true.
func (s *Service) SearchColas(
	ctx context.Context, c cola.Caller, p cola.SearchParams,
) (ColaPage, cola.QuotaState, error) {
	return s.SearchColasLimited(ctx, c, p, nil)
}

// SearchColasLimited is SearchColas for a response of limited size; it truncates the page to the
// rows that fit.
func (s *Service) SearchColasLimited(
	ctx context.Context, c cola.Caller, p cola.SearchParams, limit RowLimit[cola.ColaSummary],
) (ColaPage, cola.QuotaState, error) {
	found, state, err := s.searchColas(ctx, c, p, 0, limit)
	return found.ColaPage, state, err
}

// colaSearch is a charged page of labels with the search that found it.
type colaSearch struct {
	ColaPage
	view  *search.View // view of the index that was searched
	query cola.ColaSearch
}

// searchColas searches and charges. perPage replaces the number of rows in p unless it is 0.
func (s *Service) searchColas(
	ctx context.Context, c cola.Caller, p cola.SearchParams, perPage int, limit RowLimit[cola.ColaSummary],
) (colaSearch, cola.QuotaState, error) {
	if state, err := s.precheck(c); err != nil {
		return colaSearch{}, state, err
	}
	q, err := p.Normalize(s.now())
	if err != nil {
		state, err := s.Refuse(ctx, c, err)
		return colaSearch{}, state, err
	}
	q.PerPage = cmp.Or(perPage, q.PerPage)
	operation := "labels"
	if perPage > 0 {
		operation = "export"
	}
	start, view := time.Now(), s.index.View()
	found := view.Search(q)
	s.metrics.observeSearch(classifyQuery(&q.Query), start)
	charged, state, err := chargeRows(ctx, s, c, pageOf{operation, &p, view}, found.Rows, found.HasMore, limit)
	if err != nil {
		return colaSearch{}, state, err
	}
	page := colaPage(q, charged, found.Total)
	page.DataAsOf = view.DataAsOf(s.today())
	page.Advice = searchNotes(view, &p, &q, found.Total)
	page.Notes = noteTexts(page.Advice)
	return colaSearch{page, view, q}, state, nil
}

func colaPage(q cola.ColaSearch, charged chargedRows[cola.ColaSummary], total int) ColaPage {
	page := ColaPage{Colas: charged.rows, Pagination: charged.pagination(q.Page, q.PerPage, total)}
	if q.CursorMode {
		page.Pagination.Mode = "cursor"
	}
	if n := len(charged.rows); charged.more && n > 0 {
		last := charged.rows[n-1]
		page.Pagination.NextCursor = q.CursorAfter(search.PositionOf(&last, q.Sort))
	}
	if q.DefaultWindow {
		page.Defaults = &cola.DefaultsApplied{DateRange: true, DateFrom: q.From}
	}
	return page
}

// Rows returns labels as list rows. It charges nothing, so call it only for labels that the caller
// has already been charged for.
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

// colaNotFound returns the error for an unknown label. If id is malformed, the error describes the
// format.
func colaNotFound(id string) error {
	hint := " A TTB ID has 14 digits."
	if len(id) == len("11054001000049") && strings.Trim(id, "0123456789") == "" {
		hint = ""
	}
	return cola.Errorf(cola.CodeNotFound, "No label has the TTB ID %s.%s", cola.Quoted(id), hint)
}

// readTimeout is the time limit for a read from the database.
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

// absoluteURLs converts the URLs of images that this server draws to absolute URLs.
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

// RowLimit returns how many rows, counting from the first, fit in a response. It is called before
// the charge, so that only returned rows are charged. A nil RowLimit has no limit.
type RowLimit[T any] func(rows []T) int

// cut returns the rows that fit, and whether it left any out.
func (limit RowLimit[T]) cut(rows []T) (kept []T, fewer bool) {
	if limit == nil {
		return rows, false
	}
	n := min(limit(rows), len(rows))
	return rows[:n], n < len(rows)
}

// chargedRows are the rows of a page that fit into the response and have been charged.
type chargedRows[T any] struct {
	rows      []T
	more      bool // whether more rows follow
	truncated bool // whether the quota truncated the page
}

// chargeRows charges for the rows of a page, one list record each. more reports whether more rows
// follow the page. A dashboard session can reload a page of the same search and index view for free
// (see pageKey).
func chargeRows[T any](
	ctx context.Context, s *Service, c cola.Caller, of pageOf, rows []T, more bool, limit RowLimit[T],
) (chargedRows[T], cola.QuotaState, error) {
	rows, fewer := limit.cut(rows)
	request := quotaRequest(c, cola.MeterListRecords, len(rows))
	var err error
	if request.Page, err = pageKey(c, of, rows); err != nil {
		return chargedRows[T]{}, cola.QuotaState{}, err
	}
	grant, err := s.ledger.Charge(ctx, request)
	if err != nil {
		return chargedRows[T]{}, grant.State, err
	}
	truncated := grant.Units < len(rows)
	return chargedRows[T]{rows[:grant.Units], more || fewer || truncated, truncated}, grant.State, nil
}

// pageOf identifies a page of rows: the search, and the view of the index that it used.
type pageOf struct {
	operation string
	params    any
	view      *search.View
}

// pageKey returns the hash that the ledger uses to recognize a page that a dashboard session
// reloads. It covers everything that the rows depend on: the parameters, the revision of the index,
// and the rows themselves. It is empty for other callers and for empty pages.
func pageKey[T any](c cola.Caller, of pageOf, rows []T) (string, error) {
	if c.Channel != cola.ChannelDashboard || c.Credential.Kind != cola.CredentialSignIn || len(rows) == 0 {
		return "", nil
	}
	h := sha256.New()
	if err := json.NewEncoder(h).Encode([]any{of.operation, of.params, of.view.Marks(), rows}); err != nil {
		return "", fmt.Errorf("hash a page: %w", err)
	}
	return hex.EncodeToString(h.Sum(nil)[:16]), nil
}

// pagination returns the position of the page in a list with total rows.
func (r *chargedRows[T]) pagination(page, perPage, total int) cola.Pagination {
	return cola.Pagination{
		Mode: "offset", Page: page, PerPage: perPage, Total: total, Pages: pageCount(total, perPage), HasMore: r.more,
		TruncatedByQuota: r.truncated,
	}
}
