package registry

import (
	"context"
	"fmt"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/cola/vocabulary"
	"github.com/colaregistry/colaregistry/search"
)

// maxRecentColas is the maximum number of labels in a permittee's details.
const maxRecentColas = 10

// PermitteePage is the result of SearchPermittees.
type PermitteePage struct {
	Permittees []cola.PermitteeSummary
	Pagination cola.Pagination
	Notes      []string // reasons why no permittee matches
}

// SearchPermittees returns a page of the permittees that match, most labels first. It costs one
// list record per permittee returned. If fewer list records are left, the page is truncated and
// TruncatedByQuota is true.
func (s *Service) SearchPermittees(
	ctx context.Context, c cola.Caller, p cola.PermitteeParams,
) (PermitteePage, cola.QuotaState, error) {
	return s.SearchPermitteesLimited(ctx, c, p, nil)
}

// SearchPermitteesLimited is SearchPermittees for a response of limited size; it truncates the
// page to the rows that fit.
func (s *Service) SearchPermitteesLimited(
	ctx context.Context, c cola.Caller, p cola.PermitteeParams, limit RowLimit[cola.PermitteeSummary],
) (PermitteePage, cola.QuotaState, error) {
	if state, err := s.precheck(c); err != nil {
		return PermitteePage{}, state, err
	}
	q, err := p.Normalize(s.now())
	if err != nil {
		state, err := s.Refuse(ctx, c, err)
		return PermitteePage{}, state, err
	}
	start := time.Now()
	view := s.index.View()
	found := view.Permittees(q)
	s.metrics.observeSearch(permitteeSearch, start)
	page, state, err := chargeRows(ctx, s, c, pageOf{"permittees", p, view}, found.Rows, found.HasMore, limit)
	if err != nil {
		return PermitteePage{}, state, err
	}
	return PermitteePage{
		Permittees: page.rows, Pagination: page.pagination(q.Page, q.PerPage, found.Total),
		Notes: permitteeNotes(view, q, found.Total),
	}, state, nil
}

// permitteeNotes suggests a similar name if no permittee has the requested one. Otherwise, it
// counts the permittees that only the other filters exclude.
func permitteeNotes(view *search.View, q cola.PermitteeSearch, total int) []string {
	if total > 0 || !hasWord(q.Name) {
		return nil
	}
	count := func(name string) int {
		return view.Permittees(cola.PermitteeSearch{Name: name, Today: q.Today, Page: 1}).Total
	}
	if n := count(q.Name); n > 0 {
		return []string{fmt.Sprintf("Permittees that match the name but not the other filters: %d.", n)}
	}
	note := fmt.Sprintf("No permittee name contains %s.", cola.Quoted(q.Name))
	if near := view.Correct(cola.SuggestCompany, q.Name); near != "" && count(near) > 0 {
		q.Name, q.Page = near, 1
		if n := view.Permittees(q).Total; n > 0 {
			near = fmt.Sprintf("%s (%d)", near, n)
		}
		note += didYouMean(near, true)
	}
	return []string{note}
}

// Permittee returns a permittee with its most recent labels. It costs a detail view; it is free if
// the permittee does not exist or the caller has the current version.
func (s *Service) Permittee(
	ctx context.Context, c cola.Caller, number, ifNoneMatch string,
) (Tagged[cola.PermitteeDetail], cola.QuotaState, error) {
	return lookup(ctx, s, c, cola.MeterDetailViews, ifNoneMatch, func() (cola.PermitteeDetail, error) {
		start := time.Now()
		detail, ok := s.index.View().Permittee(vocabulary.NormalizePermit(number), s.today(), maxRecentColas)
		s.metrics.observeSearch(permitteeDetails, start)
		if !ok {
			return detail, cola.Errorf(cola.CodeNotFound, "No permittee has the permit number %s.", cola.Quoted(number))
		}
		return detail, nil
	})
}
