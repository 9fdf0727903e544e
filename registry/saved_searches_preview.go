package registry

import (
	"context"
	"slices"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/search"
)

// dashboardLabelsOnly is the error for callers outside the dashboard who ask for labels.
const dashboardLabelsOnly = "Only the dashboard shows labels in previews and runs. Use POST /saved-searches/preview for counts, or list matches and look up labels."

// PreviewPage is a preview with the newest labels that it counts.
type PreviewPage struct {
	cola.SavedSearchPreview
	Labels   []cola.ColaSummary
	Withheld string // why labels are missing: one of the constants below; empty if complete
}

// Reasons why a preview omits labels.
const (
	WithheldDailyLimit  = "daily_limit" // previews have shown the account cola.MaxDailyPreviewLabels labels this UTC day
	WithheldUnavailable = "unavailable" // the store could not count them toward the limit
)

// PreviewLabels is PreviewSavedSearch with the first maxLabels matching labels, or
// cola.MaxPreviewLabels if that is fewer. It is free, and for the dashboard only: it fails with
// CodeForbidden for callers on other channels.
//
// An account's previews together name at most cola.MaxDailyPreviewLabels distinct labels per UTC
// day. Beyond that, a preview omits labels that were not shown earlier that day and sets Withheld.
// It doesn't fail, because forms request a preview on every pause in typing.
func (s *Service) PreviewLabels(
	ctx context.Context, c cola.Caller, p cola.PreviewParams, maxLabels int,
) (PreviewPage, cola.QuotaState, error) {
	if state, err := s.precheck(c); err != nil {
		return PreviewPage{}, state, err
	}
	filters, invalid := p.Normalize()
	state, err := s.admitDashboard(ctx, c, dashboardLabelsOnly, invalid)
	if err != nil {
		return PreviewPage{}, state, err
	}
	view := s.index.View()
	q, preview := s.preview(view, filters)
	page := PreviewPage{SavedSearchPreview: preview}
	maxLabels = min(maxLabels, cola.MaxPreviewLabels)
	if maxLabels > 0 && preview.Total > 0 {
		found := view.Search(cola.ColaSearch{Query: q, Page: 1, PerPage: maxLabels}).Rows
		page.Labels, page.Withheld = s.takeAllowance(ctx, c, found)
	}
	return page, state, nil
}

// takeAllowance returns the labels that a preview may show the caller's account, and why the
// remaining ones are withheld.
func (s *Service) takeAllowance(
	ctx context.Context, c cola.Caller, found []cola.ColaSummary,
) (named []cola.ColaSummary, withheld string) {
	ids := make([]cola.TTBID, len(found))
	for i := range found {
		ids[i] = found[i].TTBID
	}
	err := withTimeout(ctx, readTimeout, func(ctx context.Context) (err error) {
		ids, err = s.store.NamePreviewLabels(ctx, c.Account, s.today(), ids, cola.MaxDailyPreviewLabels)
		return err
	})
	if err != nil {
		if ctx.Err() == nil {
			s.log.Warn("could not count preview labels; showing counts only", "account", c.Account, "error", err)
		}
		return nil, WithheldUnavailable
	}
	for _, label := range found {
		if slices.Contains(ids, label.TTBID) {
			named = append(named, label)
		}
	}
	if len(named) < len(found) {
		withheld = WithheldDailyLimit
	}
	return named, withheld
}

// admitDashboard admits a free request from the dashboard, or rejects it with invalid if invalid is
// not nil. Callers on other channels get a CodeForbidden error with the message forbidden.
func (s *Service) admitDashboard(
	ctx context.Context, c cola.Caller, forbidden string, invalid error,
) (cola.QuotaState, error) {
	if c.Channel != cola.ChannelDashboard {
		invalid = cola.Errorf(cola.CodeForbidden, "%s", forbidden)
	}
	return s.admitFree(ctx, c, invalid)
}

// SavedSearchNames holds the names of all of an account's saved searches.
type SavedSearchNames struct {
	Names  []SearchName // oldest first
	Active int          // searches with an active schedule, including those on hold
}

// SearchName is the name of a saved search.
type SearchName struct{ UUID, Name string }

// SavedSearchNames returns the names of all saved searches in the caller's account, and how many
// have an active schedule. It is free.
func (s *Service) SavedSearchNames(ctx context.Context, c cola.Caller) (SavedSearchNames, cola.QuotaState, error) {
	if state, err := s.precheck(c); err != nil {
		return SavedSearchNames{}, state, err
	}
	state, err := s.admitFree(ctx, c, nil)
	if err != nil {
		return SavedSearchNames{}, state, err
	}
	var searches []cola.SavedSearch
	err = withTimeout(ctx, readTimeout, func(ctx context.Context) (err error) {
		searches, _, err = s.store.SavedSearches(ctx, c.Account, 0, cola.MaxSavedSearches)
		return err
	})
	if err != nil {
		return SavedSearchNames{}, state, storeError(err, "list saved searches")
	}
	list := SavedSearchNames{Names: make([]SearchName, len(searches))}
	for i := range searches {
		list.Names[i] = SearchName{searches[i].UUID, searches[i].Name}
		if plan := searches[i].Schedule; plan != nil && plan.Active {
			list.Active++
		}
	}
	return list, state, nil
}

// DestinationRules describes the destinations that the server sends messages to.
func (s *Service) DestinationRules() cola.DestinationRules { return s.sends }

// PreviewSavedSearch counts the labels that filters match for each of the last cola.PreviewDays
// days, today first. It is free.
func (s *Service) PreviewSavedSearch(
	ctx context.Context, c cola.Caller, p cola.PreviewParams,
) (cola.SavedSearchPreview, cola.QuotaState, error) {
	if state, err := s.precheck(c); err != nil {
		return cola.SavedSearchPreview{}, state, err
	}
	filters, err := p.Normalize()
	if err != nil {
		state, err := s.Refuse(ctx, c, err)
		return cola.SavedSearchPreview{}, state, err
	}
	state, err := s.Admit(ctx, c)
	if err != nil {
		return cola.SavedSearchPreview{}, state, err
	}
	_, preview := s.preview(s.index.View(), filters)
	return preview, state, nil
}

// preview counts the recent labels that filters match, and returns the query.
func (s *Service) preview(view *search.View, filters cola.SavedSearchFilters) (cola.Query, cola.SavedSearchPreview) {
	q := filters.AsQuery()
	q.To = s.today()
	q.From = q.To.AddDays(1 - cola.PreviewDays)
	counts := view.CountByDay(q)
	preview := cola.SavedSearchPreview{Days: make([]cola.PreviewDay, len(counts)), TooBroad: !filters.Narrow()}
	for i, n := range counts {
		preview.Days[i] = cola.PreviewDay{Date: q.To.AddDays(-i), Count: n}
		preview.Total += n
	}
	return q, preview
}
