package sqlstore

import (
	"context"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
	"github.com/colaregistry/colaregistry/store/records"
)

var (
	searchByFeed = `SELECT id, account_id, ` + savedSearchNames + ` FROM saved_searches
		WHERE feed_hash = $1 AND EXISTS (SELECT 1 FROM accounts a WHERE a.id = account_id AND a.suspended_at IS NULL)`
	searchByID = `SELECT id, account_id, ` + savedSearchNames + ` FROM saved_searches WHERE id = $1`
)

const (
	hasFeed         = `SELECT feed_hash IS NOT NULL FROM saved_searches WHERE account_id = $1 AND uuid = $2`
	runByID         = `SELECT search_id, named_labels, ` + runNames + ` FROM saved_search_runs WHERE id = $1`
	runsWithMatches = `SELECT search_id, named_labels, ` + runNames + ` FROM saved_search_runs WHERE search_id = $1 AND match_count > 0 ORDER BY id DESC LIMIT $2`
	labelsOfRun     = `SELECT ` + matchNames + ` FROM saved_search_matches m INNER JOIN colas c USING (ttb_id) WHERE search_id = $1 AND run_id = $2 ORDER BY ttb_id LIMIT $3`
)

// HasFeed implements store.Destinations.
func (s *Store) HasFeed(ctx context.Context, account cola.AccountID, uuid string) (bool, error) {
	return readOne(ctx, s, "check for feed", column[bool], hasFeed, int64(account), uuid)
}

// Feed implements store.Destinations.
func (s *Store) Feed(ctx context.Context, hash store.FeedHash, runs, labels int) (feed store.Feed, err error) {
	err = s.db.View(ctx, "read feed", func(q Querier) error {
		found, err := one(ctx, q, ownedSearchColumns, searchByFeed, hash[:])
		if err != nil {
			return err
		}
		if feed.Search, err = found.row.Search(); err != nil {
			return err
		}
		latest, err := list(ctx, q, namedRunColumns, runsWithMatches, found.id, runs)
		if err != nil {
			return err
		}
		feed.Runs, err = s.withLabels(ctx, q, latest, labels)
		return err
	})
	if err != nil {
		return store.Feed{}, err
	}
	return feed, nil
}

// RunContent implements store.Deliveries.
func (s *Store) RunContent(ctx context.Context, run int64) (content store.RunContent, err error) {
	err = s.db.View(ctx, "read run content", func(q Querier) error {
		ran, err := one(ctx, q, namedRunColumns, runByID, run)
		if err != nil {
			return err
		}
		found, err := one(ctx, q, ownedSearchColumns, searchByID, ran.Search)
		if err != nil {
			return err
		}
		content.Account = found.account
		if content.Search, err = found.row.Search(); err != nil {
			return err
		}
		all, err := s.withLabels(ctx, q, []store.StoredRun{ran}, ran.Named)
		if err == nil {
			content.RunLabels = all[0]
		}
		return err
	})
	if err != nil {
		return store.RunContent{}, err
	}
	return content, nil
}

// ownedSearch is a search with its ID and account.
type ownedSearch struct {
	id      int64
	account cola.AccountID
	row     records.SavedSearch
}

func ownedSearchColumns(s *ownedSearch) []any {
	return append([]any{&s.id, &s.account}, savedSearchColumns(&s.row)...)
}

// namedRunColumns returns the scan targets for a run, its search and the number of labels that
// messages list.
func namedRunColumns(r *store.StoredRun) []any {
	return append([]any{&r.Search, &r.Named}, runColumns(&r.SavedSearchRun)...)
}

// withLabels returns runs with the labels that messages list, at most maxLabels in total, excluding
// deleted labels.
func (s *Store) withLabels(ctx context.Context, q Querier, runs []store.StoredRun,
	maxLabels int) ([]store.RunLabels, error) {
	all := make([]store.RunLabels, len(runs))
	var ids []cola.TTBID
	for i, r := range runs {
		all[i].Run = r.SavedSearchRun
		if r.Named == 0 || len(ids) == maxLabels {
			continue
		}
		matches, err := list(ctx, q, matchColumns, labelsOfRun, r.Search, r.ID, min(r.Named, maxLabels-len(ids)))
		if err != nil {
			return nil, err
		}
		for _, m := range matches {
			all[i].Labels, ids = append(all[i].Labels, store.MatchedLabel{Match: m}), append(ids, m.TTBID)
		}
	}
	known, err := s.db.Labels(ctx, q, ids)
	if err != nil {
		return nil, err
	}
	for i := range all {
		for n := range all[i].Labels {
			found := &all[i].Labels[n]
			found.Label = known[found.Match.TTBID].ColaSummary
		}
	}
	return all, nil
}
