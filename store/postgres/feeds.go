package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

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
	hasFeed       = `SELECT feed_hash IS NOT NULL FROM saved_searches WHERE account_id = $1 AND uuid = $2`
	runByID       = `SELECT search_id, named_labels, ` + runNames + ` FROM saved_search_runs WHERE id = $1`
	runsThatFound = `SELECT search_id, named_labels, ` + runNames + ` FROM saved_search_runs WHERE search_id = $1 AND match_count > 0 ORDER BY id DESC LIMIT $2`
	labelsThatAre = `SELECT ` + matchNames + ` FROM saved_search_matches m JOIN colas c USING (ttb_id) WHERE search_id = $1 AND run_id = $2 ORDER BY ttb_id LIMIT $3`
)

// HasFeed implements store.Destinations.
func (s *Store) HasFeed(ctx context.Context, account cola.AccountID, uuid string) (has bool, err error) {
	err = s.read(ctx, "look for a feed", func() error {
		rows, err := s.general.Query(ctx, hasFeed, int64(account), uuid)
		has, err = one(rows, err, func(has *bool) fields { return fields{has} })
		return err
	})
	return has, err
}

// Feed implements store.Destinations.
func (s *Store) Feed(ctx context.Context, hash store.FeedHash, runs, labels int) (feed store.Feed, err error) {
	err = s.read(ctx, "read feed", func() error {
		return s.view(ctx, func(q querier) error {
			found, err := readOwned(ctx, q, searchByFeed, hash[:])
			if err != nil {
				return err
			}
			if feed.Search, err = found.row.Search(); err != nil {
				return err
			}
			rows, err := q.Query(ctx, runsThatFound, found.id, runs)
			latest, err := collect(rows, err, namedRunColumns)
			if err != nil {
				return err
			}
			feed.Runs, err = withLabels(ctx, q, latest, labels)
			return err
		})
	})
	if err != nil {
		return store.Feed{}, err
	}
	return feed, nil
}

// RunContent implements store.Deliveries.
func (s *Store) RunContent(ctx context.Context, run int64) (content store.RunContent, err error) {
	err = s.read(ctx, "read what a run found", func() error {
		return s.view(ctx, func(q querier) error {
			rows, err := q.Query(ctx, runByID, run)
			ran, err := one(rows, err, namedRunColumns)
			if err != nil {
				return err
			}
			found, err := readOwned(ctx, q, searchByID, ran.Search)
			if err != nil {
				return err
			}
			content.Account = found.account
			if content.Search, err = found.row.Search(); err != nil {
				return err
			}
			list, err := withLabels(ctx, q, []store.StoredRun{ran}, ran.Named)
			if err == nil {
				content.RunLabels = list[0]
			}
			return err
		})
	})
	if err != nil {
		return store.RunContent{}, err
	}
	return content, nil
}

// ownedSearch is a search with its id and account.
type ownedSearch struct {
	id      int64
	account cola.AccountID
	row     records.SavedSearch
}

func readOwned(ctx context.Context, q querier, query string, args ...any) (ownedSearch, error) {
	rows, err := q.Query(ctx, query, args...)
	return one(rows, err, func(s *ownedSearch) fields { return append(fields{&s.id, &s.account}, savedSearchColumns(&s.row)...) })
}

// namedRunColumns are the columns of a run with the number of labels that messages name.
func namedRunColumns(r *store.StoredRun) fields {
	return append(fields{&r.Search, &r.Named}, runColumns(&r.SavedSearchRun)...)
}

// withLabels returns runs with the labels that messages name, at most most in total, without labels
// that are gone.
func withLabels(ctx context.Context, q querier, runs []store.StoredRun, most int) ([]store.RunLabels, error) {
	b := &pgx.Batch{}
	for _, r := range runs {
		b.Queue(labelsThatAre, r.Search, r.ID, min(r.Named, most))
	}
	list := make([]store.RunLabels, len(runs))
	var ids []cola.TTBID
	results := q.SendBatch(ctx, b)
	for i := range runs {
		rows, err := results.Query()
		matches, err := collect(rows, err, matchColumns)
		if err != nil {
			return nil, sent(results, err)
		}
		list[i].Run = runs[i].SavedSearchRun
		for _, m := range matches[:min(len(matches), most-len(ids))] {
			list[i].Labels, ids = append(list[i].Labels, store.MatchedLabel{Match: m}), append(ids, m.TTBID)
		}
	}
	if err := sent(results, nil); err != nil {
		return nil, err
	}
	known := make(map[cola.TTBID]*cola.Cola, len(ids))
	if err := loadColas(ctx, q, ids, known); err != nil {
		return nil, err
	}
	for i := range list {
		for n := range list[i].Labels {
			found := &list[i].Labels[n]
			found.Label = known[found.Match.TTBID].ColaSummary
		}
	}
	return list, nil
}
