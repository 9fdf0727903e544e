package registry

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/cola/vocabulary"
	"github.com/colaregistry/colaregistry/search"
	"github.com/colaregistry/colaregistry/store"
)

// ExploreResult is a ColaPage with facets and images.
type ExploreResult struct {
	ColaPage
	Facets           []cola.Facet
	Images           map[cola.TTBID]string // main image by label; missing if it can't be read in time
	RemovableFilters []Note                // if no labels match: filters to remove to get results
}

// Explore is SearchColas with facets. It costs the same.
//
// Facets and images are added after the charge, so that a rejected request does no more work than a
// search. They can't fail: facets are counted in memory, and images that can't be read are left
// out.
func (s *Service) Explore(
	ctx context.Context, c cola.Caller, p cola.SearchParams,
) (ExploreResult, cola.QuotaState, error) {
	found, state, err := s.searchColas(ctx, c, p, 0, nil)
	if err != nil {
		return ExploreResult{}, state, err
	}
	result := ExploreResult{ColaPage: found.ColaPage}
	start := time.Now()
	facets, err := p.FacetSearch(s.now())
	if err != nil {
		return ExploreResult{}, state, fmt.Errorf("count facets: %w", err)
	}
	result.Facets = found.view.Facets(facets)
	s.metrics.observeSearch(facetCounts, start)
	if found.Pagination.Total == 0 {
		result.RemovableFilters = removals(found.view, &p, &found.query)
	}
	result.Images = s.mainImages(ctx, found.Colas)
	return result, state, nil
}

// MaxExport is the maximum number of labels that ExportColas returns.
const MaxExport = 1000

// ExportColas returns the first labels that match, up to MaxExport, for a CSV file. It costs one
// list record per label, like SearchColas. It is only for the dashboard; API callers page through
// the results instead.
func (s *Service) ExportColas(
	ctx context.Context, c cola.Caller, p cola.SearchParams,
) (ColaPage, cola.QuotaState, error) {
	if c.Channel != cola.ChannelDashboard {
		state, err := s.Refuse(ctx, c, cola.Errorf(cola.CodeForbidden,
			"CSV downloads are available only in the dashboard. Page through the search results instead."))
		return ColaPage{}, state, err
	}
	p.Page, p.PerPage, p.Cursor = cola.Opt[int]{}, cola.Opt[int]{}, ""
	found, state, err := s.searchColas(ctx, c, p, MaxExport, nil)
	return found.ColaPage, state, err
}

// mainImages returns the URLs of labels' main images. If they can't be read in time, it logs a
// warning and returns nil.
func (s *Service) mainImages(ctx context.Context, labels []cola.ColaSummary) map[cola.TTBID]string {
	images, err := s.readMainImages(ctx, labels)
	if err != nil && ctx.Err() == nil {
		s.log.Warn("could not read label images; showing the page without them", "error", err)
	}
	return images
}

func (s *Service) readMainImages(ctx context.Context, labels []cola.ColaSummary) (map[cola.TTBID]string, error) {
	if len(labels) == 0 {
		return nil, nil
	}
	var images map[cola.TTBID]string
	ids := make([]cola.TTBID, len(labels))
	for i := range labels {
		ids[i] = labels[i].TTBID
	}
	err := withTimeout(ctx, readTimeout, func(ctx context.Context) (err error) {
		images, err = s.store.MainImages(ctx, ids)
		return err
	})
	if err != nil {
		return nil, err
	}
	for id, url := range images {
		images[id] = string(s.absoluteURL(cola.Text(url)))
	}
	return images, nil
}

// LabelPage is a label with related records.
type LabelPage struct {
	Label       cola.Cola
	Permittee   *cola.PermitteeSummary // nil if unknown
	BrandLabels int                    // labels of the brand, across all dates, including this one
	Chain       []ChainLink            // resubmissions, oldest first, including this label; empty if none
}

// ChainLink is a label in a chain of resubmissions.
type ChainLink struct {
	TTBID   cola.TTBID
	Summary *cola.ColaSummary // nil if the registry does not have the label
}

// LabelPage returns a label with its permittee, the number of labels of its brand and its chain of
// resubmissions. It costs a detail view, like Cola; an unknown label is free.
func (s *Service) LabelPage(ctx context.Context, c cola.Caller, id string) (LabelPage, cola.QuotaState, error) {
	tagged, state, err := lookup(ctx, s, c, cola.MeterDetailViews, "", func() (LabelPage, error) {
		label, err := s.findCola(ctx, id)
		if err != nil {
			return LabelPage{}, err
		}
		view := s.index.View()
		page := LabelPage{Label: label, BrandLabels: s.brandLabels(view, label.BrandName)}
		if permittee, ok := view.Permittee(vocabulary.NormalizePermit(label.PermitNumber), s.today(), 0); ok {
			page.Permittee = &permittee.PermitteeSummary
		}
		page.Chain, err = s.chain(ctx, view, &label)
		return page, err
	})
	return tagged.Value, state, err
}

// brandLabels counts the labels of a brand across all dates, as a search for the brand would. It
// returns 0 for a brand that a search can't express. The count isn't charged separately, because
// free suggestions also include it.
func (s *Service) brandLabels(view *search.View, brand string) int {
	value, ok := cola.QuoteBrand(brand)
	if !ok {
		return 0
	}
	q, err := cola.SearchParams{BrandName: value, DateRange: cola.AllDates, PerPage: cola.Some(1)}.Normalize(s.now())
	if err != nil {
		return 0
	}
	return view.Search(q).Total
}

// PermitteeProfile is a permittee with the images of its latest labels.
type PermitteeProfile struct {
	cola.PermitteeDetail
	Images map[cola.TTBID]string // main image by label; missing if it can't be read in time
}

// PermitteeProfile is Permittee with images. It costs the same.
func (s *Service) PermitteeProfile(
	ctx context.Context, c cola.Caller, number string,
) (PermitteeProfile, cola.QuotaState, error) {
	found, state, err := s.Permittee(ctx, c, number, "")
	if err != nil {
		return PermitteeProfile{}, state, err
	}
	return PermitteeProfile{found.Value, s.mainImages(ctx, found.Value.RecentColas)}, state, nil
}

// maxChain limits a chain to the labels closest to the requested one.
const maxChain = 20

// chain returns the labels connected to a label by resubmissions, in either direction; empty if
// there are none.
func (s *Service) chain(ctx context.Context, view *search.View, label *cola.Cola) ([]ChainLink, error) {
	found := []cola.TTBID{label.TTBID}
	add := func(id cola.TTBID) {
		if id != 0 && len(found) < maxChain && !slices.Contains(found, id) {
			found = append(found, id)
		}
	}
	err := withTimeout(ctx, readTimeout, func(ctx context.Context) error {
		for i := 0; i < len(found) && len(found) < maxChain; i++ {
			before, after, err := s.neighbors(ctx, found[i], label)
			if err != nil {
				return err
			}
			add(before)
			for _, id := range after {
				add(id)
			}
		}
		return nil
	})
	if err != nil {
		return nil, storeError(err, "read resubmissions of COLA "+label.TTBID.String())
	}
	if len(found) == 1 {
		return nil, nil
	}
	return chainLinks(view, found), nil
}

// neighbors returns the label that id resubmits (0 if none) and the labels that resubmit id. known
// is a label that has already been read.
func (s *Service) neighbors(
	ctx context.Context, id cola.TTBID, known *cola.Cola,
) (before cola.TTBID, after []cola.TTBID, err error) {
	if id == known.TTBID {
		before = known.ForResubmissionTTBID
	} else {
		label, err := s.store.Cola(ctx, id)
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return 0, nil, err
		}
		before = label.ForResubmissionTTBID
	}
	after, err = s.store.Resubmissions(ctx, id)
	return before, after, err
}

// chainLinks returns labels as links in a chain, oldest first.
func chainLinks(view *search.View, ids []cola.TTBID) []ChainLink {
	slices.SortFunc(ids, func(a, b cola.TTBID) int { return cmp.Compare(chronological(a), chronological(b)) })
	chain := make([]ChainLink, len(ids))
	for i, id := range ids {
		chain[i].TTBID = id
		if summary, ok := view.Label(id); ok {
			chain[i].Summary = &summary
		}
	}
	return chain
}

// chronological maps an ID to a number that sorts by time. An ID starts with the two-digit year of
// receipt, so IDs from 99 (1999) would otherwise sort after those from 05 (2005).
func chronological(id cola.TTBID) cola.TTBID {
	const year, century = 1_000_000_000_000, 100_000_000_000_000
	if id/year < 70 { // TTB has no IDs from before 1970
		return id + century
	}
	return id
}
