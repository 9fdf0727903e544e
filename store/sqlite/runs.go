package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"slices"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
	"github.com/colaregistry/colaregistry/store/records"
)

// Claims and runs go through the ledger's connection, since a label that was found must not be found again after the power was lost,
// and in turns, since 100,000 of them are due at the same hour: a turn ends as soon as it has lasted a while and somebody waits, so
// that no charge waits longer than for an import. A claim names the search's hold; everything that ends the claim counts the hold on,
// and so does, by a trigger, every change of what the search looks for or of its schedule.

// claimsAtOnce is how many searches are claimed, or let go, in one turn.
const claimsAtOnce = 100

var claimDue = `UPDATE saved_searches SET hold = hold + 1, held_until = ?4 WHERE id IN (
		SELECT id FROM saved_searches WHERE next_run_at <= ?1 AND paused_because IS NULL AND (held_until IS NULL OR held_until <= ?3)
		ORDER BY next_run_at, id LIMIT ?2)
	RETURNING id, account_id, mark_at, mark_revision, hold, ` + savedSearchNames

const (
	letGo        = `UPDATE saved_searches SET hold = hold + 1, held_until = NULL WHERE uuid = ? AND hold = ?`
	countFailure = `UPDATE saved_searches SET failures = failures + 1 WHERE uuid = ? AND hold = ? AND held_until IS NOT NULL RETURNING failures`
	holdOn       = `UPDATE saved_searches SET held_until = ?2 WHERE uuid = ?1`
	selectDue    = `SELECT next_run_at FROM saved_searches WHERE next_run_at IS NOT NULL AND paused_because IS NULL ORDER BY next_run_at LIMIT 1`
	isPaused     = `SELECT paused_because IS NOT NULL, coalesce(next_run_at <= ?3, FALSE) FROM saved_searches WHERE account_id = ?1 AND uuid = ?2`
	askRun       = `UPDATE saved_searches SET next_run_at = ?3 WHERE account_id = ?1 AND uuid = ?2`
)

// ClaimDue implements store.Runs.
func (s *Store) ClaimDue(ctx context.Context, due time.Time, limit int, hold time.Duration) ([]store.DueSearch, error) {
	const operation = "claim due searches"
	if err := s.start(); err != nil {
		return nil, failed(operation, err)
	}
	defer s.done()
	defer s.upkeep.noteWrite()
	var list []store.DueSearch
	for len(list) < limit {
		most := min(claimsAtOnce, limit-len(list))
		var some []claimed
		err := s.ledger.transact(ctx, func(ctx context.Context) (err error) {
			now := s.instant()
			rows, err := s.ledger.query(ctx, claimDue, due.UnixMicro(), most, now.UnixMicro(), now.Add(hold).UnixMicro())
			some, err = collect(rows, err, scanClaimed)
			return err
		})
		if err != nil {
			return nil, failed(operation, err) // what is held is free again when its hold has passed
		}
		slices.SortFunc(some, func(a, b claimed) int { return cmp.Or(a.next.Compare(b.next), cmp.Compare(a.id, b.id)) })
		for i := range some {
			list = append(list, some[i].DueSearch)
		}
		if len(some) < most {
			break
		}
	}
	return list, nil
}

// claimed is a search that was just claimed, with what tells its place among others.
type claimed struct {
	id   int64
	next time.Time
	store.DueSearch
}

func scanClaimed(row scanner) (c claimed, err error) {
	var r records.SavedSearch
	err = row.Scan(append([]any{&c.id, &c.Account, target{&c.Mark.At}, &c.Mark.Revision, &c.Hold}, targets(r.Columns())...)...)
	if err == nil {
		c.Search, c.Fault = r.Due()
		c.next = r.NextRunAt
	}
	return c, err
}

// ReleaseDue implements store.Runs.
func (s *Store) ReleaseDue(ctx context.Context, claimed []store.DueSearch) error {
	for some := range slices.Chunk(claimed, claimsAtOnce) {
		err := s.transact(ctx, "let go of claimed searches", func(ctx context.Context) error {
			for i := range some {
				if err := s.ledger.exec(ctx, letGo, some[i].Search.UUID, some[i].Hold); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// PutOff implements store.Runs.
func (s *Store) PutOff(ctx context.Context, failed store.DueSearch, wait func(failures int) time.Duration) (lasts time.Duration, err error) {
	err = s.transact(ctx, "put off a search", func(ctx context.Context) error {
		var failures int
		err := s.ledger.row(ctx, countFailure, failed.Search.UUID, failed.Hold).Scan(&failures)
		if errors.Is(err, sql.ErrNoRows) {
			return store.ErrNotFound
		}
		if err != nil {
			return err
		}
		lasts = wait(failures)
		return s.ledger.exec(ctx, holdOn, failed.Search.UUID, s.instant().Add(lasts).UnixMicro())
	})
	return lasts, err
}

// NextDue implements store.Runs.
func (s *Store) NextDue(ctx context.Context) (due time.Time, err error) {
	const operation = "read what is due next"
	if err := s.start(); err != nil {
		return due, failed(operation, err)
	}
	defer s.done()
	err = s.read.row(ctx, selectDue).Scan(target{&due})
	if errors.Is(err, sql.ErrNoRows) {
		err = nil
	}
	return due, failed(operation, err)
}

// AskRun implements store.Runs. A held search is already due, so it and its claim stay unchanged.
func (s *Store) AskRun(ctx context.Context, account cola.AccountID, uuid string, due time.Time, limit int) (found cola.SavedSearch, err error) {
	err = s.transact(ctx, "ask for a run", func(ctx context.Context) error {
		var paused, already bool
		err := s.ledger.row(ctx, isPaused, int64(account), uuid, due.UnixMicro()).Scan(target{&paused}, target{&already})
		switch {
		case errors.Is(err, sql.ErrNoRows):
			err = store.ErrNotFound
		case err == nil && paused:
			err = store.ErrNotActive
		case err == nil && !already:
			err = s.makeDue(ctx, account, uuid, due, limit)
		}
		if err == nil {
			found, err = scanSavedSearch(s.ledger.row(ctx, selectSearch, int64(account), uuid))
		}
		return err
	})
	if err != nil {
		return cola.SavedSearch{}, err
	}
	return found, nil
}

// makeDue counts a manual run of a search and makes the search due.
func (s *Store) makeDue(ctx context.Context, account cola.AccountID, uuid string, due time.Time, limit int) error {
	used, err := s.useAllowance(ctx, account, cola.DateOf(due.UTC()), store.AllowManualRuns, 1)
	if err == nil && used > limit {
		err = store.LimitError{Limit: limit} // takes the count back
	}
	if err != nil {
		return err
	}
	return s.ledger.exec(ctx, askRun, int64(account), uuid, due.UnixMicro())
}
