package sqlstore

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
	"github.com/colaregistry/colaregistry/store/records"
)

// A claim carries the search's hold number. Every event that ends a claim increments it, and a
// trigger increments it on every change to the search's filters or schedule.
//
// Recording, releasing and requesting runs lock searches in ascending order of ID, then
// daily-allowance rows in ascending order of account, but never account rows. Claiming doesn't wait
// for locks.

// claimable is the condition for searches that are due at $1 and not claimed. clock is the SQL
// parameter with the current time.
func claimable(clock string) string {
	return `next_run_at <= $1 AND paused_because IS NULL AND (held_until IS NULL OR held_until <= coalesce(` + clock + `::timestamptz, clock_timestamp()))`
}

var hasDue = `SELECT EXISTS (SELECT 1 FROM saved_searches WHERE ` + claimable("$2") + `)`

// claimDue selects the searches in a materialized CTE, because PostgreSQL may evaluate a subquery
// more than once and would then claim more than the limit.
var claimDue = `WITH due AS MATERIALIZED (
		SELECT id FROM saved_searches WHERE ` + claimable("$3") + `
		ORDER BY next_run_at, id LIMIT $2 FOR NO KEY UPDATE SKIP LOCKED)
	UPDATE saved_searches SET hold = hold + 1, held_until = coalesce($3::timestamptz, clock_timestamp()) + make_interval(secs => $4)
	WHERE id IN (SELECT id FROM due)
	RETURNING id, account_id, mark_at, mark_revision, hold, ` + savedSearchNames

const (
	lockClaimed       = `SELECT id FROM saved_searches WHERE uuid = ANY($1) ORDER BY id FOR NO KEY UPDATE`
	releaseSearch     = `UPDATE saved_searches SET hold = hold + 1, held_until = NULL WHERE uuid = $1 AND hold = $2`
	incrementFailures = `UPDATE saved_searches SET failures = failures + 1 WHERE uuid = $1 AND hold = $2 AND held_until IS NOT NULL RETURNING failures`
	extendClaim       = `UPDATE saved_searches SET held_until = coalesce($2::timestamptz, clock_timestamp()) + make_interval(secs => $3) WHERE uuid = $1`
	nextDue           = `SELECT next_run_at FROM saved_searches WHERE next_run_at IS NOT NULL AND paused_because IS NULL ORDER BY next_run_at LIMIT 1`
	lockRunState      = `SELECT paused_because IS NOT NULL, coalesce(next_run_at <= $3, FALSE) FROM saved_searches WHERE account_id = $1 AND uuid = $2 FOR NO KEY UPDATE`
	setDue            = `UPDATE saved_searches SET next_run_at = $3 WHERE account_id = $1 AND uuid = $2`
)

// claimedSearch is a search that was just claimed.
type claimedSearch struct {
	store.DueSearch
	id  int64
	row records.SavedSearch
}

// ClaimDue implements store.Runs.
func (s *Store) ClaimDue(ctx context.Context, due time.Time, limit int, hold time.Duration) ([]store.DueSearch, error) {
	return claimInChunks(s, limit, func(maxRows int) ([]store.DueSearch, error) {
		var all []claimedSearch
		err := s.db.Transact(ctx, "claim due searches", func(ctx context.Context, tx Tx) (err error) {
			all, err = list(ctx, tx, func(c *claimedSearch) []any {
				return append([]any{&c.id, &c.Account, &c.Mark.At, &c.Mark.Revision, &c.Hold},
					savedSearchColumns(&c.row)...)
			}, claimDue, due, maxRows, s.clock(), hold.Seconds())
			return err
		})
		slices.SortFunc(all, func(a, b claimedSearch) int {
			return cmp.Or(a.row.NextRunAt.Compare(b.row.NextRunAt), cmp.Compare(a.id, b.id))
		})
		searches := make([]store.DueSearch, len(all))
		for i := range all {
			searches[i] = all[i].DueSearch
			searches[i].Search, searches[i].Fault = all[i].row.Due()
		}
		return searches, err
	})
}

// HasDue implements store.Runs.
func (s *Store) HasDue(ctx context.Context, due time.Time) (has bool, err error) {
	err = s.db.Read(ctx, "check for due searches", func(q Querier) (err error) {
		has, err = value[bool](ctx, q, hasDue, due, s.clock())
		return err
	})
	return has, err
}

// ReleaseDue implements store.Runs.
func (s *Store) ReleaseDue(ctx context.Context, claimed []store.DueSearch) error {
	for chunk := range slices.Chunk(claimed, s.opts.maxRows(max(1, len(claimed)))) {
		uuids, statements := make([]string, len(chunk)), make([]Statement, len(chunk))
		for i := range chunk {
			uuids[i] = chunk[i].Search.UUID
			statements[i] = Statement{releaseSearch, []any{chunk[i].Search.UUID, chunk[i].Hold}}
		}
		err := s.db.Transact(ctx, "release searches", func(ctx context.Context, tx Tx) error {
			if err := tx.LockRows(ctx, lockClaimed, uuids); err != nil {
				return err
			}
			_, err := tx.ExecAll(ctx, statements...)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// Postpone implements store.Runs.
func (s *Store) Postpone(ctx context.Context, failed store.DueSearch,
	wait func(failures int) time.Duration) (delay time.Duration, err error) {
	err = s.db.Transact(ctx, "postpone search", func(ctx context.Context, tx Tx) error {
		failures, err := value[int](ctx, tx, incrementFailures, failed.Search.UUID, failed.Hold)
		if err != nil {
			return s.notFoundIfInvalid(err)
		}
		delay = wait(failures)
		_, err = tx.Exec(ctx, extendClaim, failed.Search.UUID, s.clock(), delay.Seconds())
		return err
	})
	return delay, err
}

// NextDue implements store.Runs.
func (s *Store) NextDue(ctx context.Context) (due time.Time, err error) {
	err = s.db.Read(ctx, "find next due search", func(q Querier) error {
		due, err = value[time.Time](ctx, q, nextDue)
		if errors.Is(err, store.ErrNotFound) {
			err = nil
		}
		return err
	})
	return due, err
}

// RequestRun implements store.Runs. A claimed search is already due, so RequestRun changes neither
// the search nor its claim.
func (s *Store) RequestRun(ctx context.Context, account cola.AccountID, uuid string, due time.Time,
	limit int) (found cola.SavedSearch, err error) {
	err = s.db.Transact(ctx, "request run", func(ctx context.Context, tx Tx) error {
		type state struct{ paused, due bool }
		now, err := one(ctx, tx, func(s *state) []any { return []any{&s.paused, &s.due} },
			lockRunState, int64(account), uuid, due)
		switch {
		case err != nil:
			return s.notFoundIfInvalid(err)
		case now.paused:
			return store.ErrNotActive
		case !now.due:
			if err := s.makeDue(ctx, tx, account, uuid, due, limit); err != nil {
				return err
			}
		}
		row, err := s.readSearch(ctx, tx, account, uuid)
		if err == nil {
			found, err = row.Search()
		}
		return err
	})
	if err != nil {
		return cola.SavedSearch{}, err
	}
	return found, nil
}

// makeDue counts a manual run of a search and makes the search due.
func (s *Store) makeDue(ctx context.Context, tx Tx, account cola.AccountID, uuid string, due time.Time,
	limit int) error {
	used, err := UseAllowance(ctx, s, tx, account, cola.DateOf(due.UTC()), store.AllowManualRuns, 1)
	if err == nil && used > limit {
		err = store.LimitError{Limit: limit} // rolls back the count
	}
	if err == nil {
		_, err = tx.Exec(ctx, setDue, int64(account), uuid, due)
	}
	return err
}

const (
	runNames         = `id, ran_at, date_from, date_to, match_count, late_count, manual`
	matchNames       = `run_id, ttb_id, late, met`
	runsAfter        = `SELECT ` + runNames + ` FROM saved_search_runs WHERE search_id = $1 AND id > $2 ORDER BY id LIMIT $3`
	searchID         = `SELECT id FROM saved_searches WHERE account_id = $1 AND uuid = $2`
	runOfSearch      = `SELECT id FROM saved_search_runs WHERE id = $1 AND search_id = $2`
	countRuns        = `SELECT count(*) FROM saved_search_runs WHERE search_id = $1`
	selectRun        = `SELECT ` + runNames + ` FROM saved_search_runs WHERE search_id = $1 AND id = $2`
	selectRuns       = `SELECT ` + runNames + ` FROM saved_search_runs WHERE search_id = $1 ORDER BY id DESC LIMIT $2 OFFSET $3`
	countMatches     = `SELECT count(*) FROM saved_search_matches WHERE search_id = $1`
	selectMatches    = `SELECT ` + matchNames + ` FROM saved_search_matches WHERE search_id = $1 ORDER BY run_id DESC, ttb_id LIMIT $2 OFFSET $3`
	countRunMatches  = `SELECT count(*) FROM saved_search_matches WHERE search_id = $1 AND run_id = $2`
	selectRunMatches = `SELECT ` + matchNames + ` FROM saved_search_matches WHERE search_id = $1 AND run_id = $2 ORDER BY ttb_id LIMIT $3 OFFSET $4`
)

// latestMatches finds the runs through the index on matches, because most runs have no matches.
const latestMatches = `SELECT uuid, name, r.id, ran_at, date_from, date_to, match_count, late_count, manual
	FROM saved_searches s INNER JOIN saved_search_runs r ON r.id = (
		SELECT run_id FROM saved_search_matches WHERE search_id = s.id ORDER BY run_id DESC LIMIT 1)
	WHERE account_id = $1`

func runColumns(r *cola.SavedSearchRun) []any {
	return []any{&r.ID, &r.RanAt, &r.DateFrom, &r.DateTo, &r.MatchCount, &r.LateCount, &r.Manual}
}

func matchColumns(m *cola.SavedSearchMatch) []any {
	return []any{&m.RunID, &m.TTBID, &m.Late, &m.Met}
}

// RunsOf implements store.Runs.
func (s *Store) RunsOf(ctx context.Context, account cola.AccountID, uuid string,
	page store.Slice) (all []cola.SavedSearchRun, total int, err error) {
	err = s.ofSearch(ctx, "list runs", account, uuid, func(q Querier, search int64) (err error) {
		all, total, err = listPage(ctx, q, runColumns, countRuns, selectRuns, []any{search}, page)
		return err
	})
	return all, total, err
}

// RunsAfter implements store.Runs.
func (s *Store) RunsAfter(ctx context.Context, account cola.AccountID, uuid string, after int64,
	limit int) (all []cola.SavedSearchRun, err error) {
	err = s.ofSearch(ctx, "read runs", account, uuid, func(q Querier, search int64) (err error) {
		all, err = list(ctx, q, runColumns, runsAfter, search, after, max(limit, 0))
		return err
	})
	return all, err
}

// RunOf implements store.Runs.
func (s *Store) RunOf(ctx context.Context, account cola.AccountID, uuid string,
	run int64) (found cola.SavedSearchRun, err error) {
	err = s.ofSearch(ctx, "read run", account, uuid, func(q Querier, search int64) (err error) {
		found, err = one(ctx, q, runColumns, selectRun, search, run)
		return err
	})
	return found, err
}

// LatestMatches implements store.Runs.
func (s *Store) LatestMatches(ctx context.Context, account cola.AccountID, limit int) ([]store.MatchedRun, error) {
	all, err := readList(ctx, s, "list latest matches", func(m *store.MatchedRun) []any {
		return append([]any{&m.Search, &m.Name}, runColumns(&m.SavedSearchRun)...)
	}, latestMatches, int64(account))
	slices.SortFunc(all, func(a, b store.MatchedRun) int { return cmp.Compare(b.ID, a.ID) })
	return all[:min(len(all), max(limit, 0))], err
}

// MatchesOf implements store.Runs.
func (s *Store) MatchesOf(ctx context.Context, account cola.AccountID, uuid string, run int64,
	page store.Slice) (all []cola.SavedSearchMatch, total int, err error) {
	err = s.ofSearch(ctx, "list matches", account, uuid, func(q Querier, search int64) (err error) {
		if run == 0 {
			all, total, err = listPage(ctx, q, matchColumns, countMatches, selectMatches, []any{search}, page)
			return err
		}
		if _, err := value[int64](ctx, q, runOfSearch, run, search); err != nil {
			return err
		}
		all, total, err = listPage(ctx, q, matchColumns, countRunMatches, selectRunMatches, []any{search, run}, page)
		return err
	})
	return all, total, err
}

// ofSearch reads data about one of an account's searches from one consistent snapshot.
func (s *Store) ofSearch(ctx context.Context, operation string, account cola.AccountID, uuid string,
	read func(q Querier, search int64) error) error {
	return s.db.View(ctx, operation, func(q Querier) error {
		search, err := value[int64](ctx, q, searchID, int64(account), uuid)
		if err != nil {
			return s.notFoundIfInvalid(err)
		}
		return read(q, search)
	})
}

var searchWithMark = `SELECT id, mark_at, mark_revision, ` + savedSearchNames + ` FROM saved_searches WHERE account_id = $1 AND uuid = $2`

const (
	matchOfLabel = `SELECT ` + matchNames + ` FROM saved_search_matches WHERE search_id = $1 AND ttb_id = $2`
	arrivalOf    = `SELECT revision FROM cola_arrivals WHERE ttb_id = $1`
	firstRunFrom = `SELECT ran_at, date_from FROM saved_search_runs WHERE search_id = $1 AND upto >= $2 ORDER BY id LIMIT 1`
)

// Trace implements store.Runs.
func (s *Store) Trace(ctx context.Context, account cola.AccountID, uuid string,
	label cola.TTBID) (trace store.Trace, err error) {
	err = s.db.View(ctx, "trace label", func(q Querier) (err error) {
		trace, err = s.traceLabel(ctx, q, account, uuid, label)
		return err
	})
	if err != nil {
		return store.Trace{}, err
	}
	return trace, nil
}

func (s *Store) traceLabel(ctx context.Context, q Querier, account cola.AccountID, uuid string,
	label cola.TTBID) (t store.Trace, err error) {
	type marked struct {
		id   int64
		mark store.Mark
		row  records.SavedSearch
	}
	found, err := one(ctx, q, func(m *marked) []any {
		return append([]any{&m.id, &m.mark.At, &m.mark.Revision}, savedSearchColumns(&m.row)...)
	}, searchWithMark, int64(account), uuid)
	if err != nil {
		return t, s.notFoundIfInvalid(err)
	}
	t.Mark = found.mark
	if t.Search, err = found.row.Search(); err != nil {
		return t, err
	}
	match, err := one(ctx, q, matchColumns, matchOfLabel, found.id, int64(label))
	if err == nil {
		t.Match = &match
	} else if !errors.Is(err, store.ErrNotFound) {
		return t, err
	}
	t.Arrived, err = value[cola.Revision](ctx, q, arrivalOf, int64(label))
	if err == nil && t.Arrived > 0 {
		var run store.Trace
		run, err = one(ctx, q, func(t *store.Trace) []any { return []any{&t.Seen, &t.SeenFrom} },
			firstRunFrom, found.id, int64(t.Arrived))
		t.Seen, t.SeenFrom = run.Seen, run.SeenFrom
	}
	if errors.Is(err, store.ErrNotFound) {
		err = nil
	}
	return t, err
}
