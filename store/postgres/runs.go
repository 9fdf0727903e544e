package postgres

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
	"github.com/colaregistry/colaregistry/store/records"
)

// A claim names the search's hold; everything that ends the claim counts the hold on, and so does, by a trigger, every change of what
// the search looks for or of its schedule.
//
// To avoid deadlocks, locks are taken in this order: an account, its searches by ascending ID, rows of daily allowances
// by ascending account. Recording, releasing and requesting runs lock no account; claiming does not wait for locks.

var claimDue = `UPDATE saved_searches s SET hold = hold + 1, held_until = coalesce($3::timestamptz, clock_timestamp()) + make_interval(secs => $4)
	WHERE id IN (
		SELECT id FROM saved_searches WHERE next_run_at <= $1 AND paused_because IS NULL AND (held_until IS NULL OR held_until <= coalesce($3::timestamptz, clock_timestamp()))
		ORDER BY next_run_at, id LIMIT $2 FOR NO KEY UPDATE SKIP LOCKED)
	RETURNING id, account_id, mark_at, mark_revision, hold, ` + savedSearchNames

const (
	lockClaimed = `SELECT u.n, s.id, s.account_id FROM unnest($1::text[], $2::bigint[]) WITH ORDINALITY AS u (uuid, hold, n)
		JOIN saved_searches s ON s.uuid = u.uuid COLLATE "C" AND s.hold = u.hold ORDER BY s.id FOR NO KEY UPDATE OF s`
	letGo        = `UPDATE saved_searches SET hold = hold + 1, held_until = NULL WHERE id = ANY($1)`
	countFailure = `UPDATE saved_searches SET failures = failures + 1 WHERE id = $1 RETURNING failures`
	holdOn       = `UPDATE saved_searches SET held_until = coalesce($2::timestamptz, clock_timestamp()) + make_interval(secs => $3) WHERE id = $1`
	selectDue    = `SELECT next_run_at FROM saved_searches WHERE next_run_at IS NOT NULL AND paused_because IS NULL ORDER BY next_run_at LIMIT 1`
	isPaused     = `SELECT paused_because IS NOT NULL, coalesce(next_run_at <= $3, FALSE) FROM saved_searches WHERE account_id = $1 AND uuid = $2 FOR NO KEY UPDATE`
	askRun       = `UPDATE saved_searches SET next_run_at = $3 WHERE account_id = $1 AND uuid = $2`
)

// ClaimDue implements store.Runs.
func (s *Store) ClaimDue(ctx context.Context, due time.Time, limit int, hold time.Duration) ([]store.DueSearch, error) {
	type claimed struct {
		store.DueSearch
		id  int64
		row records.SavedSearch
	}
	var list []claimed
	err := s.transact(ctx, "claim due searches", func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, claimDue, due, limit, s.clock(), hold.Seconds())
		list, err = collect(rows, err, func(c *claimed) fields {
			return append(fields{&c.id, &c.Account, &c.Mark.At, &c.Mark.Revision, &c.Hold}, savedSearchColumns(&c.row)...)
		})
		return err
	})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(list, func(a, b claimed) int {
		return cmp.Or(a.row.NextRunAt.Compare(b.row.NextRunAt), cmp.Compare(a.id, b.id))
	})
	searches := make([]store.DueSearch, len(list))
	for i := range list {
		searches[i] = list[i].DueSearch
		searches[i].Search, searches[i].Fault = list[i].row.Due()
	}
	return searches, nil
}

// ReleaseDue implements store.Runs.
func (s *Store) ReleaseDue(ctx context.Context, claimed []store.DueSearch) error {
	return s.transact(ctx, "let go of claimed searches", func(tx pgx.Tx) error {
		held, err := lockHeld(ctx, tx, claimed)
		if err != nil || len(held) == 0 {
			return err
		}
		ids := make([]int64, len(held))
		for i := range held {
			ids[i] = held[i].search
		}
		_, err = tx.Exec(ctx, letGo, ids)
		return err
	})
}

// heldSearch is a search that is still held under the n-th of some claims, counted from 0.
type heldSearch struct {
	n       int
	search  int64
	account cola.AccountID
}

// lockHeld locks those of the claimed searches that are still held, and returns them ascending by their ids. One that was asked for
// twice is returned once.
func lockHeld(ctx context.Context, tx pgx.Tx, claimed []store.DueSearch) ([]heldSearch, error) {
	uuids, holds := make([]string, len(claimed)), make([]int64, len(claimed))
	for i := range claimed {
		uuids[i], holds[i] = claimed[i].Search.UUID, claimed[i].Hold
	}
	rows, err := tx.Query(ctx, lockClaimed, uuids, holds)
	held, err := collect(rows, err, func(h *heldSearch) fields { return fields{&h.n, &h.search, &h.account} })
	for i := range held {
		held[i].n--
	}
	slices.SortFunc(held, func(a, b heldSearch) int { return cmp.Or(cmp.Compare(a.search, b.search), cmp.Compare(a.n, b.n)) })
	return slices.CompactFunc(held, func(a, b heldSearch) bool { return a.search == b.search }), err
}

// PutOff implements store.Runs.
func (s *Store) PutOff(ctx context.Context, failed store.DueSearch, wait func(failures int) time.Duration) (lasts time.Duration, err error) {
	err = s.transact(ctx, "put off a search", func(tx pgx.Tx) error {
		held, err := lockHeld(ctx, tx, []store.DueSearch{failed})
		if err == nil && len(held) == 0 {
			err = store.ErrNotFound
		}
		if err != nil {
			return noSuchText(err)
		}
		var failures int
		if err := tx.QueryRow(ctx, countFailure, held[0].search).Scan(fields{&failures}); err != nil {
			return err
		}
		lasts = wait(failures)
		_, err = tx.Exec(ctx, holdOn, held[0].search, s.clock(), lasts.Seconds())
		return err
	})
	return lasts, err
}

// NextDue implements store.Runs.
func (s *Store) NextDue(ctx context.Context) (due time.Time, err error) {
	err = s.read(ctx, "read what is due next", func() error {
		rows, err := s.general.Query(ctx, selectDue)
		list, err := collect(rows, err, func(at *time.Time) fields { return fields{at} })
		if len(list) > 0 {
			due = list[0]
		}
		return err
	})
	return due, err
}

// AskRun implements store.Runs. A held search is already due, so it and its claim stay unchanged.
func (s *Store) AskRun(ctx context.Context, account cola.AccountID, uuid string, due time.Time, limit int) (found cola.SavedSearch, err error) {
	err = s.transact(ctx, "ask for a run", func(tx pgx.Tx) error {
		type state struct{ paused, due bool }
		rows, err := tx.Query(ctx, isPaused, int64(account), uuid, due)
		now, err := one(rows, err, func(s *state) fields { return fields{&s.paused, &s.due} })
		switch {
		case err != nil:
			return noSuchText(err)
		case now.paused:
			return store.ErrNotActive
		case !now.due:
			if err := makeDue(ctx, tx, account, uuid, due, limit); err != nil {
				return err
			}
		}
		row, err := readSavedSearch(ctx, tx, account, uuid)
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
func makeDue(ctx context.Context, tx pgx.Tx, account cola.AccountID, uuid string, due time.Time, limit int) error {
	used, err := useAllowance(ctx, tx, store.AllowManualRuns, accountDate{account, cola.DateOf(due.UTC())}, 1)
	if err == nil && used > limit {
		err = store.LimitError{Limit: limit} // takes the count back
	}
	if err == nil {
		_, err = tx.Exec(ctx, askRun, int64(account), uuid, due)
	}
	return err
}
