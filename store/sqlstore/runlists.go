package sqlstore

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

func runColumns(r *cola.SavedSearchRun) []any {
	return []any{&r.ID, &r.RanAt, &r.DateFrom, &r.DateTo, &r.MatchCount, &r.LateCount, &r.Manual}
}

func matchColumns(m *cola.SavedSearchMatch) []any {
	return []any{&m.RunID, &m.TTBID, &m.Late, &m.Met}
}

// RunsOf implements store.Runs.
func (s *Store) RunsOf(ctx context.Context, account cola.AccountID, uuid string, page store.Slice) (all []cola.SavedSearchRun, total int, err error) {
	err = s.ofSearch(ctx, "list runs", account, uuid, func(q Querier, search int64) (err error) {
		all, total, err = listPage(ctx, q, runColumns, countRuns, selectRuns, []any{search}, page)
		return err
	})
	return all, total, err
}

// RunOf implements store.Runs.
func (s *Store) RunOf(ctx context.Context, account cola.AccountID, uuid string, run int64) (found cola.SavedSearchRun, err error) {
	err = s.ofSearch(ctx, "read run", account, uuid, func(q Querier, search int64) (err error) {
		found, err = one(ctx, q, runColumns, selectRun, search, run)
		return err
	})
	return found, err
}

// MatchesOf implements store.Runs.
func (s *Store) MatchesOf(ctx context.Context, account cola.AccountID, uuid string, run int64, page store.Slice) (all []cola.SavedSearchMatch, total int, err error) {
	err = s.ofSearch(ctx, "list matches", account, uuid, func(q Querier, search int64) (err error) {
		if run == 0 {
			all, total, err = listPage(ctx, q, matchColumns, countFound, selectFound, []any{search}, page)
			return err
		}
		if _, err := value[int64](ctx, q, runOfSearch, run, search); err != nil {
			return err
		}
		all, total, err = listPage(ctx, q, matchColumns, countFoundBy, selectFoundBy, []any{search, run}, page)
		return err
	})
	return all, total, err
}

// ofSearch runs a method that reads what belongs to an account's search, within one state.
func (s *Store) ofSearch(ctx context.Context, operation string, account cola.AccountID, uuid string, read func(q Querier, search int64) error) error {
	return s.db.View(ctx, operation, func(q Querier) error {
		search, err := value[int64](ctx, q, searchID, int64(account), uuid)
		if err != nil {
			return s.noSuchText(err)
		}
		return read(q, search)
	})
}
