package sqlite

import (
	"context"
	"fmt"

	"github.com/colaregistry/colaregistry/store"
	"github.com/colaregistry/colaregistry/store/records"
)

func dumpSearches(ctx context.Context, q querier, yield func(*store.Item) error) error {
	query := `SELECT id, account_id, mark_at, mark_revision, feed_hash, ` + savedSearchNames + ` FROM saved_searches ORDER BY id`
	return dumpRows(ctx, q, yield, store.ItemSearch, query, func(row scanner, i *store.Item) error {
		var r records.SavedSearch
		var hash []byte
		found := &i.Search
		err := row.Scan(append([]any{&found.ID, &found.Account, target{&found.Mark.At}, &found.Mark.Revision, &hash}, targets(r.Columns())...)...)
		if err == nil && hash != nil {
			found.Feed = new(store.FeedHash)
			if copy(found.Feed[:], hash) != len(hash) {
				err = fmt.Errorf("search %d: the hash of its feed has %d bytes", found.ID, len(hash))
			}
		}
		if err == nil {
			err = r.Store(found)
		}
		return err
	})
}

func dumpRuns(ctx context.Context, q querier, yield func(*store.Item) error) error {
	const query = `SELECT search_id, coalesce(upto, 0), named_labels, ` + runNames + ` FROM saved_search_runs ORDER BY id`
	return dumpRows(ctx, q, yield, store.ItemRun, query, func(row scanner, i *store.Item) error {
		r := &i.Run
		return row.Scan(append([]any{&r.Search, &r.UpTo, &r.Named}, runTargets(&r.SavedSearchRun)...)...)
	})
}

func dumpMatches(ctx context.Context, q querier, yield func(*store.Item) error) error {
	const query = `SELECT search_id, ` + matchNames + ` FROM saved_search_matches ORDER BY search_id, ttb_id`
	return dumpRows(ctx, q, yield, store.ItemMatch, query, func(row scanner, i *store.Item) error {
		m := &i.Match
		return row.Scan(append([]any{&m.Search}, matchTargets(&m.SavedSearchMatch)...)...)
	})
}

func dumpArrivals(ctx context.Context, q querier, yield func(*store.Item) error) error {
	const query = `SELECT ttb_id, revision, approval_date FROM cola_arrivals ORDER BY ttb_id`
	return dumpRows(ctx, q, yield, store.ItemArrival, query, func(row scanner, i *store.Item) error {
		a := &i.Arrival
		return row.Scan(target{&a.TTBID}, &a.At, target{&a.ApprovalDate})
	})
}

// fillRuns writes one item about what searches look for and have found.
func (s *Store) fillRuns(ctx context.Context, i *store.Item) error {
	w := s.records
	switch i.Kind {
	case store.ItemSearch:
		return s.fillSearch(ctx, &i.Search)
	case store.ItemRun:
		r := &i.Run
		return w.exec(ctx, `INSERT INTO saved_search_runs (search_id, upto, named_labels, `+runNames+`) VALUES (`+placeholders(10)+`)`,
			r.Search, orNull(int64(r.UpTo), r.UpTo != 0), r.Named, r.ID, int64(r.RanAt), encode(&r.DateFrom), encode(&r.DateTo),
			r.MatchCount, r.LateCount, bit(r.Manual))
	case store.ItemMatch:
		m := &i.Match
		return w.exec(ctx, `INSERT INTO saved_search_matches (search_id, `+matchNames+`) VALUES (?, ?, ?, ?, ?)`,
			m.Search, m.RunID, int64(m.TTBID), bit(m.Late), int64(m.Met))
	case store.ItemArrival:
		a := &i.Arrival
		return w.exec(ctx, insertArrival, int64(a.TTBID), int64(a.At), encode(&a.ApprovalDate))
	}
	return fmt.Errorf("no such kind of item: %q", i.Kind)
}

func (s *Store) fillSearch(ctx context.Context, i *store.StoredSearch) error {
	row, err := records.NewStoredSearch(i)
	if err != nil {
		return err
	}
	return s.records.exec(ctx, `INSERT INTO saved_searches (id, account_id, mark_at, mark_revision, feed_hash, `+savedSearchNames+`)
		VALUES (?, ?, ?, ?, ?, `+placeholders(len(row.Columns()))+`)`,
		append([]any{i.ID, int64(i.Account), encode(&i.Mark.At), int64(i.Mark.Revision), encodeHash(i.Feed)}, values(row.Columns())...)...)
}
