package registry

import (
	"context"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/cola/vocabulary"
)

// maxRecentColas is how many labels a permittee's detail embeds.
const maxRecentColas = 10

// PermitteePage is the answer to SearchPermittees.
type PermitteePage struct {
	Permittees []cola.PermitteeSummary
	Pagination cola.Pagination
}

// SearchPermittees returns a page of the permittees that match, most labels first. It costs a list
// record for each permittee returned. A page is cut to the list records that are left, and
// TruncatedByQuota says so.
func (s *Service) SearchPermittees(
	ctx context.Context, c cola.Caller, p cola.PermitteeParams,
) (PermitteePage, cola.QuotaState, error) {
	return s.SearchPermitteesFit(ctx, c, p, nil)
}

// SearchPermitteesFit is SearchPermittees for a response of limited size; it cuts the page to the
// rows that fit.
func (s *Service) SearchPermitteesFit(
	ctx context.Context, c cola.Caller, p cola.PermitteeParams, fit Fit[cola.PermitteeSummary],
) (PermitteePage, cola.QuotaState, error) {
	if state, err := s.precheck(c); err != nil {
		return PermitteePage{}, state, err
	}
	q, err := p.Normalize(s.now())
	if err != nil {
		state, err := s.Refuse(ctx, c, err)
		return PermitteePage{}, state, err
	}
	begun := time.Now()
	found := s.index.View().Permittees(q)
	s.metrics.observeSearch(permitteeSearch, begun)
	rows, fewer := fit.cut(found.Rows)
	found.Rows, found.HasMore = rows, found.HasMore || fewer
	grant, err := s.ledger.Charge(ctx, quotaRequest(c, cola.MeterListRecords, len(found.Rows)))
	if err != nil {
		return PermitteePage{}, grant.State, err
	}
	truncated := grant.Units < len(found.Rows)
	if truncated {
		found.Rows, found.HasMore = found.Rows[:grant.Units], true
	}
	return PermitteePage{Permittees: found.Rows, Pagination: cola.Pagination{
		Mode: "offset", Page: q.Page, PerPage: q.PerPage,
		Total: found.Total, Pages: pageCount(found.Total, q.PerPage), HasMore: found.HasMore,
		TruncatedByQuota: truncated,
	}}, grant.State, nil
}

// Permittee returns a permittee with its most recent labels. It costs a detail view; not finding
// it, or finding that the caller has it already by its ETag, is free.
func (s *Service) Permittee(
	ctx context.Context, c cola.Caller, number, ifNoneMatch string,
) (Tagged[cola.PermitteeDetail], cola.QuotaState, error) {
	return lookup(ctx, s, c, cola.MeterDetailViews, ifNoneMatch, func() (cola.PermitteeDetail, error) {
		begun := time.Now()
		detail, ok := s.index.View().Permittee(vocabulary.NormalizePermit(number), s.today(), maxRecentColas)
		s.metrics.observeSearch(permitteeDetails, begun)
		if !ok {
			return detail, cola.Errorf(cola.CodeNotFound, "No permittee has the permit number %s.", cola.Quoted(number))
		}
		return detail, nil
	})
}
