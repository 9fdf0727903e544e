package sqlite

import (
	"context"
	"database/sql"
	"errors"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

const (
	runNames      = `id, ran_at, date_from, date_to, match_count, late_count, manual`
	matchNames    = `run_id, ttb_id, late, met`
	searchID      = `SELECT id FROM saved_searches WHERE account_id = ? AND uuid = ?`
	runOfSearch   = `SELECT EXISTS (SELECT 1 FROM saved_search_runs WHERE id = ? AND search_id = ?)`
	countRuns     = `SELECT count(*) FROM saved_search_runs WHERE search_id = ?`
	selectRun     = `SELECT ` + runNames + ` FROM saved_search_runs WHERE search_id = ? AND id = ?`
	selectRuns    = `SELECT ` + runNames + ` FROM saved_search_runs WHERE search_id = ? ORDER BY id DESC LIMIT ? OFFSET ?`
	countFound    = `SELECT count(*) FROM saved_search_matches WHERE search_id = ?`
	selectFound   = `SELECT ` + matchNames + ` FROM saved_search_matches WHERE search_id = ? ORDER BY run_id DESC, ttb_id LIMIT ? OFFSET ?`
	countFoundBy  = `SELECT count(*) FROM saved_search_matches WHERE search_id = ? AND run_id = ?`
	selectFoundBy = `SELECT ` + matchNames + ` FROM saved_search_matches WHERE search_id = ? AND run_id = ? ORDER BY ttb_id LIMIT ? OFFSET ?`
)

// RunsOf implements store.Runs.
func (s *Store) RunsOf(ctx context.Context, account cola.AccountID, uuid string, page store.Slice) (list []cola.SavedSearchRun, total int, err error) {
	err = s.ofSearch(ctx, "list runs", account, uuid, func(q querier, search int64) (err error) {
		list, total, err = listPage(ctx, q, countRuns, selectRuns, []any{search}, page, scanRun)
		return err
	})
	return list, total, err
}

// RunOf implements store.Runs.
func (s *Store) RunOf(ctx context.Context, account cola.AccountID, uuid string, run int64) (found cola.SavedSearchRun, err error) {
	err = s.ofSearch(ctx, "read run", account, uuid, func(q querier, search int64) (err error) {
		if found, err = scanRun(q.row(ctx, selectRun, search, run)); errors.Is(err, sql.ErrNoRows) {
			err = store.ErrNotFound
		}
		return err
	})
	return found, err
}

// MatchesOf implements store.Runs.
func (s *Store) MatchesOf(ctx context.Context, account cola.AccountID, uuid string, run int64, page store.Slice) (list []cola.SavedSearchMatch, total int, err error) {
	err = s.ofSearch(ctx, "list matches", account, uuid, func(q querier, search int64) (err error) {
		if run == 0 {
			list, total, err = listPage(ctx, q, countFound, selectFound, []any{search}, page, scanMatch)
			return err
		}
		var known bool
		if err := q.row(ctx, runOfSearch, run, search).Scan(&known); err != nil {
			return err
		}
		if !known {
			return store.ErrNotFound
		}
		list, total, err = listPage(ctx, q, countFoundBy, selectFoundBy, []any{search, run}, page, scanMatch)
		return err
	})
	return list, total, err
}

// ofSearch runs a method that reads what belongs to an account's search, within one state.
func (s *Store) ofSearch(ctx context.Context, operation string, account cola.AccountID, uuid string, read func(q querier, search int64) error) error {
	if err := s.start(); err != nil {
		return failed(operation, err)
	}
	defer s.done()
	return failed(operation, s.read.view(ctx, func(q querier) error {
		var search int64
		err := q.row(ctx, searchID, int64(account), uuid).Scan(&search)
		if errors.Is(err, sql.ErrNoRows) {
			err = store.ErrNotFound
		}
		if err != nil {
			return err
		}
		return read(q, search)
	}))
}

// listPage reads a page of a list, and how long the list is.
func listPage[T any](ctx context.Context, q querier, count, query string, args []any, page store.Slice, scan func(scanner) (T, error)) ([]T, int, error) {
	var total int
	if err := q.row(ctx, count, args...).Scan(&total); err != nil {
		return nil, 0, err
	}
	rows, err := q.query(ctx, query, append(args, page.Limit, page.Offset)...)
	list, err := collect(rows, err, scan)
	return list, total, err
}

func scanRun(row scanner) (r cola.SavedSearchRun, err error) { return r, row.Scan(runTargets(&r)...) }

func scanMatch(row scanner) (m cola.SavedSearchMatch, err error) {
	return m, row.Scan(matchTargets(&m)...)
}

func runTargets(r *cola.SavedSearchRun) []any {
	return []any{&r.ID, &r.RanAt, target{&r.DateFrom}, target{&r.DateTo}, &r.MatchCount, &r.LateCount, target{&r.Manual}}
}

func matchTargets(m *cola.SavedSearchMatch) []any {
	return []any{&m.RunID, target{&m.TTBID}, target{&m.Late}, &m.Met}
}
