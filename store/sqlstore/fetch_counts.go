package sqlstore

import (
	"context"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

const countDays = `SELECT count(*) FILTER (WHERE state IN ('` + store.FetchPending + `', '` + store.FetchSplit + `')),
		count(*) FILTER (WHERE state = '` + store.FetchComplete + `'),
		count(*) FILTER (WHERE state = '` + store.FetchIncomplete + `'),
		count(*) FILTER (WHERE state = '` + store.FetchComplete + `' AND completed_at < least(settled_at, $3))
	FROM fetch_windows WHERE day BETWEEN $1 AND $2 AND ` + wholeDay

// CountWindows implements store.Fetches.
func (s *Store) CountWindows(ctx context.Context, first, last cola.Date, before time.Time) (store.WindowCounts, error) {
	first, last = max(first, 1), min(last, store.LastDay)
	return readOne(ctx, s, "count windows", func(n *store.WindowCounts) []any {
		return []any{&n.Pending, &n.Complete, &n.Incomplete, &n.Stale}
	}, countDays, first, last, before)
}
