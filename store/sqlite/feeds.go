package sqlite

import (
	"context"
	"database/sql"
	"errors"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
	"github.com/colaregistry/colaregistry/store/records"
)

var (
	searchByFeed = `SELECT id, ` + savedSearchNames + ` FROM saved_searches
		WHERE feed_hash = ? AND EXISTS (SELECT 1 FROM accounts a WHERE a.id = account_id AND a.suspended_at IS NULL)`
	searchByID = `SELECT account_id, ` + savedSearchNames + ` FROM saved_searches WHERE id = ?`
)

const (
	hasFeed       = `SELECT feed_hash IS NOT NULL FROM saved_searches WHERE account_id = ? AND uuid = ?`
	runByID       = `SELECT search_id, named_labels, ` + runNames + ` FROM saved_search_runs WHERE id = ?`
	runsThatFound = `SELECT search_id, named_labels, ` + runNames + ` FROM saved_search_runs WHERE search_id = ? AND match_count > 0 ORDER BY id DESC LIMIT ?`
	labelsThatAre = `SELECT ` + matchNames + ` FROM saved_search_matches m CROSS JOIN colas c USING (ttb_id) WHERE search_id = ? AND run_id = ? ORDER BY ttb_id LIMIT ?`
)

// HasFeed implements store.Destinations.
func (s *Store) HasFeed(ctx context.Context, account cola.AccountID, uuid string) (has bool, err error) {
	const operation = "look for a feed"
	if err := s.start(); err != nil {
		return false, failed(operation, err)
	}
	defer s.done()
	err = s.read.row(ctx, hasFeed, int64(account), uuid).Scan(&has)
	if errors.Is(err, sql.ErrNoRows) {
		err = store.ErrNotFound
	}
	return has, failed(operation, err)
}

// Feed implements store.Destinations.
func (s *Store) Feed(ctx context.Context, hash store.FeedHash, runs, labels int) (feed store.Feed, err error) {
	const operation = "read feed"
	if err := s.start(); err != nil {
		return feed, failed(operation, err)
	}
	defer s.done()
	err = s.read.view(ctx, func(q querier) (err error) {
		var id int64
		if feed.Search, err = searchAfter(q.row(ctx, searchByFeed, hash[:]), &id); err != nil {
			return err
		}
		rows, err := q.query(ctx, runsThatFound, id, runs)
		latest, err := collect(rows, err, scanNamedRun)
		if err != nil {
			return err
		}
		feed.Runs, err = withLabels(ctx, q, latest, labels)
		return err
	})
	if err != nil {
		return store.Feed{}, failed(operation, err)
	}
	return feed, nil
}

// RunContent implements store.Deliveries.
func (s *Store) RunContent(ctx context.Context, run int64) (content store.RunContent, err error) {
	const operation = "read what a run found"
	if err := s.start(); err != nil {
		return content, failed(operation, err)
	}
	defer s.done()
	err = s.read.view(ctx, func(q querier) error {
		found, err := scanNamedRun(q.row(ctx, runByID, run))
		if errors.Is(err, sql.ErrNoRows) {
			err = store.ErrNotFound
		}
		if err != nil {
			return err
		}
		if content.Search, err = searchAfter(q.row(ctx, searchByID, found.Search), &content.Account); err != nil {
			return err
		}
		list, err := withLabels(ctx, q, []store.StoredRun{found}, found.Named)
		if err == nil {
			content.RunLabels = list[0]
		}
		return err
	})
	if err != nil {
		return store.RunContent{}, failed(operation, err)
	}
	return content, nil
}

// searchAfter reads a search whose row begins with another column, or fails with ErrNotFound.
func searchAfter(row scanner, first any) (cola.SavedSearch, error) {
	var r records.SavedSearch
	err := row.Scan(append([]any{first}, targets(r.Columns())...)...)
	if errors.Is(err, sql.ErrNoRows) {
		err = store.ErrNotFound
	}
	if err != nil {
		return cola.SavedSearch{}, err
	}
	return r.Search()
}

// scanNamedRun reads a run with the number of labels that messages name.
func scanNamedRun(row scanner) (r store.StoredRun, err error) {
	return r, row.Scan(append([]any{&r.Search, &r.Named}, runTargets(&r.SavedSearchRun)...)...)
}

// withLabels returns runs with the labels that messages name, at most most in total, without labels
// that are gone.
func withLabels(ctx context.Context, q querier, runs []store.StoredRun, most int) ([]store.RunLabels, error) {
	list := make([]store.RunLabels, len(runs))
	var ids []cola.TTBID
	for i := range runs {
		list[i].Run = runs[i].SavedSearchRun
		rows, err := q.query(ctx, labelsThatAre, runs[i].Search, runs[i].ID, min(runs[i].Named, most-len(ids)))
		matches, err := collect(rows, err, scanMatch)
		if err != nil {
			return nil, err
		}
		for _, m := range matches {
			list[i].Labels, ids = append(list[i].Labels, store.MatchedLabel{Match: m}), append(ids, m.TTBID)
		}
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
