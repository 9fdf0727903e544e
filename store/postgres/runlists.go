package postgres

import (
	"context"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

const (
	runNames      = `id, ran_at, date_from, date_to, match_count, late_count, manual`
	matchNames    = `run_id, ttb_id, late, met`
	searchID      = `SELECT id FROM saved_searches WHERE account_id = $1 AND uuid = $2`
	runOfSearch   = `SELECT id FROM saved_search_runs WHERE id = $1 AND search_id = $2`
	countRuns     = `SELECT count(*) FROM saved_search_runs WHERE search_id = $1`
	selectRun     = `SELECT ` + runNames + ` FROM saved_search_runs WHERE search_id = $1 AND id = $2`
	selectRuns    = `SELECT ` + runNames + ` FROM saved_search_runs WHERE search_id = $1 ORDER BY id DESC LIMIT $2 OFFSET $3`
	countFound    = `SELECT count(*) FROM saved_search_matches WHERE search_id = $1`
	selectFound   = `SELECT ` + matchNames + ` FROM saved_search_matches WHERE search_id = $1 ORDER BY run_id DESC, ttb_id LIMIT $2 OFFSET $3`
	countFoundBy  = `SELECT count(*) FROM saved_search_matches WHERE search_id = $1 AND run_id = $2`
	selectFoundBy = `SELECT ` + matchNames + ` FROM saved_search_matches WHERE search_id = $1 AND run_id = $2 ORDER BY ttb_id LIMIT $3 OFFSET $4`
)

// RunsOf implements store.Runs.
func (s *Store) RunsOf(ctx context.Context, account cola.AccountID, uuid string, page store.Slice) (list []cola.SavedSearchRun, total int, err error) {
	err = s.ofSearch(ctx, "list runs", account, uuid, func(q querier, search int64) (err error) {
		list, total, err = listPage(ctx, q, countRuns, selectRuns, []any{search}, page, runColumns)
		return err
	})
	return list, total, err
}

// RunOf implements store.Runs.
func (s *Store) RunOf(ctx context.Context, account cola.AccountID, uuid string, run int64) (found cola.SavedSearchRun, err error) {
	err = s.ofSearch(ctx, "read run", account, uuid, func(q querier, search int64) (err error) {
		rows, err := q.Query(ctx, selectRun, search, run)
		found, err = one(rows, err, runColumns)
		return err
	})
	return found, err
}

// MatchesOf implements store.Runs.
func (s *Store) MatchesOf(ctx context.Context, account cola.AccountID, uuid string, run int64, page store.Slice) (list []cola.SavedSearchMatch, total int, err error) {
	err = s.ofSearch(ctx, "list matches", account, uuid, func(q querier, search int64) (err error) {
		if run == 0 {
			list, total, err = listPage(ctx, q, countFound, selectFound, []any{search}, page, matchColumns)
			return err
		}
		rows, err := q.Query(ctx, runOfSearch, run, search)
		if _, err := one(rows, err, func(id *int64) fields { return fields{id} }); err != nil {
			return err
		}
		list, total, err = listPage(ctx, q, countFoundBy, selectFoundBy, []any{search, run}, page, matchColumns)
		return err
	})
	return list, total, err
}

// ofSearch runs a method that reads what belongs to an account's search, within one state.
func (s *Store) ofSearch(ctx context.Context, operation string, account cola.AccountID, uuid string, read func(q querier, search int64) error) error {
	return s.read(ctx, operation, func() error {
		return s.view(ctx, func(q querier) error {
			rows, err := q.Query(ctx, searchID, int64(account), uuid)
			search, err := one(rows, err, func(id *int64) fields { return fields{id} })
			if sqlState(err) == notInEncoding {
				return store.ErrNotFound
			}
			if err != nil {
				return err
			}
			return read(q, search)
		})
	})
}

// listPage reads a page of a list, and how long the list is.
func listPage[T any](ctx context.Context, q querier, count, query string, args []any, page store.Slice, columns func(*T) fields) ([]T, int, error) {
	var total int
	if err := q.QueryRow(ctx, count, args...).Scan(fields{&total}); err != nil {
		return nil, 0, err
	}
	rows, err := q.Query(ctx, query, append(args, page.Limit, page.Offset)...)
	list, err := collect(rows, err, columns)
	return list, total, err
}

func runColumns(r *cola.SavedSearchRun) fields {
	return fields{&r.ID, &r.RanAt, &r.DateFrom, &r.DateTo, &r.MatchCount, &r.LateCount, &r.Manual}
}

func matchColumns(m *cola.SavedSearchMatch) fields {
	return fields{&m.RunID, &m.TTBID, &m.Late, &m.Met}
}
