package registry

import (
	"context"

	"github.com/colaregistry/colaregistry/cola"
)

// maxPreviewLabels is how many labels a preview shows at most, whatever is asked for.
const maxPreviewLabels = 5

// forPages refuses whoever is not in the dashboard: elsewhere the labels that these answers show cost list records.
const forPages = "Labels in previews and runs are shown in the dashboard. Elsewhere count with POST /saved-searches/preview, list matches, and look labels up as ever."

// PreviewPage is a preview with the first of the labels that it counts, newest first.
type PreviewPage struct {
	cola.SavedSearchPreview
	Labels []cola.ColaSummary
}

// PreviewLabels is PreviewSavedSearch with the first of the labels that it counts: so many as are asked for, and five at most. Both are of one state of the
// registry. It is free, and for the dashboard alone: it fails with CodeForbidden for callers of other channels.
func (s *Service) PreviewLabels(ctx context.Context, c cola.Caller, p cola.PreviewParams, most int) (PreviewPage, cola.QuotaState, error) {
	if state, err := s.begin(c); err != nil {
		return PreviewPage{}, state, err
	}
	filters, invalid := p.Normalize()
	state, err := s.freeForPages(ctx, c, invalid)
	if err != nil {
		return PreviewPage{}, state, err
	}
	view := s.index.View()
	q, preview := s.preview(view, filters)
	page := PreviewPage{SavedSearchPreview: preview}
	if most = min(most, maxPreviewLabels); most > 0 {
		page.Labels = view.Search(cola.ColaSearch{Query: q, Page: 1, PerPage: most}).Rows
	}
	return page, state, nil
}

// freeForPages admits a free request of the dashboard, unless invalid says what is wrong with it.
func (s *Service) freeForPages(ctx context.Context, c cola.Caller, invalid error) (cola.QuotaState, error) {
	if c.Channel != cola.ChannelDashboard {
		invalid = cola.Errorf(cola.CodeForbidden, forPages)
	}
	return s.free(ctx, c, invalid)
}

// RunLabel is a label that a run found. Label is as it is now; nil when it is not among the first 100 of the run, which are those that messages show,
// or is gone.
type RunLabel struct {
	cola.SavedSearchMatch
	Label *cola.ColaSummary
}

// RunLabels is RunMatches with the labels, as far as messages show them: the first 100 of a run. It is free, and for the dashboard alone: it fails
// with CodeForbidden for callers of other channels.
func (s *Service) RunLabels(ctx context.Context, c cola.Caller, id, run string, p cola.SavedSearchListParams) (PageList[RunLabel], cola.QuotaState, error) {
	none := PageList[RunLabel]{}
	if c.Channel != cola.ChannelDashboard {
		state, err := s.freeForPages(ctx, c, nil)
		return none, state, err
	}
	found, state, err := s.RunMatches(ctx, c, id, run, p)
	if err != nil {
		return none, state, err
	}
	list := PageList[RunLabel]{Meta: found.Meta, Rows: make([]RunLabel, len(found.Rows))}
	view, before := s.index.View(), (found.Meta.Page-1)*found.Meta.PerPage
	for i, match := range found.Rows {
		list.Rows[i].SavedSearchMatch = match
		if before+i >= feedLabels {
			continue
		}
		if label, ok := view.Label(match.TTBID); ok {
			list.Rows[i].Label = &label
		}
	}
	return list, state, nil
}

// SearchRoll is what is known of all saved searches of an account at once.
type SearchRoll struct {
	Names  []SearchName // oldest first
	Active int          // searches with an active schedule, those that are held back for a reason of the account's included
}

// SearchName is what a saved search is called.
type SearchName struct{ UUID, Name string }

// SearchRoll returns the names of all searches that the caller's account keeps, and how many of them have an active schedule. It is free.
func (s *Service) SearchRoll(ctx context.Context, c cola.Caller) (SearchRoll, cola.QuotaState, error) {
	if state, err := s.begin(c); err != nil {
		return SearchRoll{}, state, err
	}
	state, err := s.free(ctx, c, nil)
	if err != nil {
		return SearchRoll{}, state, err
	}
	var kept []cola.SavedSearch
	err = within(ctx, readWithin, func(ctx context.Context) (err error) {
		kept, _, err = s.store.SavedSearches(ctx, c.Account, 0, cola.MaxSavedSearches)
		return err
	})
	if err != nil {
		return SearchRoll{}, state, storeError(err, "list saved searches")
	}
	roll := SearchRoll{Names: make([]SearchName, len(kept))}
	for i := range kept {
		roll.Names[i] = SearchName{kept[i].UUID, kept[i].Name}
		if plan := kept[i].Schedule; plan != nil && plan.Active {
			roll.Active++
		}
	}
	return roll, state, nil
}

// SendsMail reports whether messages to e-mail addresses are sent, by this process or another one.
func (s *Service) SendsMail() bool { return s.sends.SendsMail }
