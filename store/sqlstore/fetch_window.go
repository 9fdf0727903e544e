package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
	"github.com/colaregistry/colaregistry/store/records"
)

// A day's row has an empty class. If the day is split, it also has a row for each part; splitting a
// part replaces its row. So the parts of a day never overlap, and their totals must add up to the
// day's.
//
// On PostgreSQL, a transaction that ends a part locks the part, then its day, then the site.
// PlanWindows locks days before their parts, but only days without claimed parts.

const (
	fetchClock  = `coalesce($1::timestamptz, clock_timestamp())`
	due         = `due_at <= ` + fetchClock + ` AND (held_until IS NULL OR held_until <= ` + fetchClock + `)`
	endClaim    = `hold = NULL, held_until = NULL`
	wholeDay    = `class_from = '' AND class_to = ''`
	partOfDay   = `(class_from <> '' OR class_to <> '')`
	windowClaim = ` WHERE day = $2 AND class_from = $3 AND class_to = $4 AND hold = $5 AND held_until > ` + fetchClock
	// replannedWindows selects the days that PlanWindows makes pending again. Their totals don't
	// change, so FetchStatus.NewestDay still includes them.
	replannedWindows = ` WHERE day BETWEEN $1 AND $2 AND ` + wholeDay + `
		AND (state = '` + store.FetchIncomplete + `' OR state = '` + store.FetchComplete + `' AND completed_at < least(settled_at, $3))`

	lockReplanned = `SELECT day FROM fetch_windows` + replannedWindows + ` ORDER BY day FOR NO KEY UPDATE`
	// A complete window is history only if a process running an older version completed it.
	replanWindows = `UPDATE fetch_windows SET state = '` + store.FetchPending + `', attempts = 0,
		due_at = coalesce($4::timestamptz, clock_timestamp()), completed_at = NULL, failure = NULL,
		history = (history AND state <> '` + store.FetchComplete + `')` + replannedWindows + ` RETURNING day`
	deleteParts  = `DELETE FROM fetch_windows WHERE day = $1 AND ` + partOfDay
	plannedDays  = `SELECT day FROM fetch_windows WHERE day BETWEEN $1 AND $2 AND ` + wholeDay
	insertPart   = `INSERT INTO fetch_windows (day, class_from, class_to, due_at, settled_at, history) VALUES ($2, $3, $4, ` + fetchClock + `, $5, $6)`
	insertDay    = insertPart + ` ON CONFLICT (day, class_from, class_to) DO NOTHING` // plans may run concurrently
	markHistory  = `UPDATE fetch_windows SET history = TRUE WHERE day BETWEEN $1 AND $2 AND NOT history AND state <> '` + store.FetchComplete + `'`
	countPending = `SELECT count(*) FROM fetch_windows WHERE state = '` + store.FetchPending + `' AND day BETWEEN $1 AND $2`
	claimWindow  = `WITH due AS MATERIALIZED (
			SELECT day, class_from, class_to FROM fetch_windows WHERE state = '` + store.FetchPending + `' AND ` + due + ` AND day BETWEEN $2 AND $3
			ORDER BY day DESC, class_from, class_to LIMIT 1 FOR NO KEY UPDATE SKIP LOCKED)
		UPDATE fetch_windows SET hold = $4, held_until = ` + fetchClock + ` + make_interval(secs => $5)
		WHERE (day, class_from, class_to) IN (SELECT day, class_from, class_to FROM due)
		RETURNING day, class_from, class_to, history, attempts, hold`
	splitDay       = `UPDATE fetch_windows SET state = '` + store.FetchSplit + `', total = $6, failure = NULL, ` + endClaim + windowClaim + ` RETURNING history`
	deletePart     = `DELETE FROM fetch_windows` + windowClaim + ` RETURNING history`
	completeWindow = `UPDATE fetch_windows SET state = '` + store.FetchComplete + `', total = $6, completed_at = ` + fetchClock + `,
		failure = NULL, history = FALSE, ` + endClaim + windowClaim
	failWindow = `UPDATE fetch_windows SET state = $6, attempts = attempts + 1, due_at = ` + fetchClock + ` + make_interval(secs => $7),
		failure = $8, ` + endClaim + windowClaim
	releaseWindow = `UPDATE fetch_windows SET ` + endClaim + windowClaim
	extendWindow  = `UPDATE fetch_windows SET held_until = ` + fetchClock + ` + make_interval(secs => $6)` + windowClaim

	lockSplitDay = `SELECT total FROM fetch_windows WHERE day = $1 AND ` + wholeDay + ` AND state = '` + store.FetchSplit + `' FOR NO KEY UPDATE`
	sumParts     = `SELECT count(*) FILTER (WHERE state = '` + store.FetchPending + `'), count(*) FILTER (WHERE state = '` + store.FetchIncomplete + `'),
		coalesce(sum(total), 0), min(completed_at) FROM fetch_windows WHERE day = $1 AND ` + partOfDay
	endSplitDay = `UPDATE fetch_windows SET state = $2, completed_at = $3, failure = $4, history = (history AND $2 <> '` + store.FetchComplete + `')
		WHERE day = $1 AND ` + wholeDay
)

// newHold returns the hold number for a new claim. It is random because rows are deleted and added
// again: with a counter for each row, an outdated claim could match a new one.
func newHold() int64 { return rand.Int64N(math.MaxInt64) + 1 }

// claimOf returns the arguments for windowClaim. Call it within a transaction.
func (s *Store) claimOf(w store.FetchWindow, rest ...any) []any {
	return append([]any{s.clock(), w.Day, w.Class.From, w.Class.To, w.Hold}, rest...)
}

// PlanWindows implements store.Fetches.
func (s *Store) PlanWindows(
	ctx context.Context, first, last cola.Date, before time.Time, history bool,
) (pending int, err error) {
	const operation = "plan windows"
	if err := errors.Join(store.CheckDay(first), store.CheckDay(last)); err != nil {
		return 0, s.db.Failed(operation, err)
	}
	err = s.db.Transact(ctx, operation, func(ctx context.Context, tx Tx) error {
		if err := s.replanWindows(ctx, tx, first, last, before); err != nil {
			return err
		}
		if err := s.addWindows(ctx, tx, first, last); err != nil {
			return err
		}
		if history {
			if _, err := tx.Exec(ctx, markHistory, first, last); err != nil {
				return err
			}
		}
		pending, err = value[int](ctx, tx, countPending, first, last)
		return err
	})
	return pending, err
}

// replanWindows makes incomplete and outdated windows pending again. It locks days in ascending
// order, so that concurrent calls don't deadlock.
func (s *Store) replanWindows(ctx context.Context, tx Tx, first, last cola.Date, before time.Time) error {
	if err := tx.LockRows(ctx, lockReplanned, first, last, before); err != nil {
		return err
	}
	days, err := list(ctx, tx, column[cola.Date], replanWindows, first, last, before, s.clock())
	if err != nil {
		return err
	}
	var statements []Statement
	for _, day := range days {
		statements = append(statements, Statement{deleteParts, []any{day}})
	}
	_, err = tx.ExecAll(ctx, statements...)
	return err
}

// addWindows adds the missing windows of a range of days.
func (s *Store) addWindows(ctx context.Context, tx Tx, first, last cola.Date) error {
	days, err := list(ctx, tx, column[cola.Date], plannedDays, first, last)
	if err != nil {
		return err
	}
	planned := make(map[cola.Date]bool, len(days))
	for _, day := range days {
		planned[day] = true
	}
	var statements []Statement
	for day := first; day <= last; day++ {
		if !planned[day] {
			statements = append(statements, Statement{insertDay, s.newWindow(day, store.ClassRange{}, false)})
		}
	}
	_, err = tx.ExecAll(ctx, statements...)
	return err
}

// newWindow returns the arguments for insertPart and insertDay.
func (s *Store) newWindow(day cola.Date, class store.ClassRange, history bool) []any {
	return []any{s.clock(), day, class.From, class.To, store.FetchWindow{Day: day}.Settled(), history}
}

// ClaimWindow implements store.Fetches.
func (s *Store) ClaimWindow(ctx context.Context, first, last cola.Date,
	hold time.Duration) (w store.FetchWindow, err error) {
	first, last = max(first, 1), min(last, store.LastDay)
	err = s.db.Transact(ctx, "claim window", func(ctx context.Context, tx Tx) error {
		w, err = one(ctx, tx, func(w *store.FetchWindow) []any {
			return []any{&w.Day, &w.Class.From, &w.Class.To, &w.History, &w.Attempts, &w.Hold}
		}, claimWindow, s.clock(), first, last, newHold(), hold.Seconds())
		return err
	})
	return w, err
}

// SplitWindow implements store.Fetches.
func (s *Store) SplitWindow(ctx context.Context, w store.FetchWindow, total int, parts []store.ClassRange) error {
	const operation = "split window"
	if err := w.CheckParts(parts); err != nil {
		return s.db.Failed(operation, err)
	}
	return s.db.Transact(ctx, operation, func(ctx context.Context, tx Tx) error {
		query, args := deletePart, s.claimOf(w)
		if w.Class == (store.ClassRange{}) {
			query, args = splitDay, s.claimOf(w, total)
		}
		history, err := value[bool](ctx, tx, query, args...)
		if err != nil {
			return s.notFoundIfInvalid(err)
		}
		statements := make([]Statement, len(parts))
		for i, class := range parts {
			statements[i] = Statement{insertPart, s.newWindow(w.Day, class, history)}
		}
		_, err = tx.ExecAll(ctx, statements...)
		if s.db.IsDuplicate(err) {
			err = fmt.Errorf("the day already has one of the parts: %w", store.ErrMalformed)
		}
		return err
	})
}

// CompleteWindow implements store.Fetches.
func (s *Store) CompleteWindow(ctx context.Context, w store.FetchWindow, total int) error {
	return s.db.Transact(ctx, "complete window", func(ctx context.Context, tx Tx) error {
		err := s.notFoundIfInvalid(execOne(ctx, tx, completeWindow, s.claimOf(w, total)...))
		if err != nil || w.Class == (store.ClassRange{}) {
			return err
		}
		return s.endSplitDay(ctx, tx, w.Day)
	})
}

// FailWindow implements store.Fetches.
func (s *Store) FailWindow(ctx context.Context, w store.FetchWindow, failure string, wait time.Duration) error {
	return s.db.Transact(ctx, "fail window", func(ctx context.Context, tx Tx) error {
		state := store.FetchPending
		if wait < 0 {
			state = store.FetchIncomplete
		}
		err := s.notFoundIfInvalid(execOne(ctx, tx, failWindow,
			s.claimOf(w, state, max(wait, 0).Seconds(), records.StorableText(failure))...))
		if err == nil && wait < 0 && w.Class != (store.ClassRange{}) {
			err = s.endSplitDay(ctx, tx, w.Day)
		}
		if err != nil {
			return err
		}
		return s.recordFailure(ctx, tx, failure)
	})
}

// endSplitDay completes a split day, or makes it incomplete, unless parts are pending. It locks the
// day before it reads the parts, so that if the last two parts end concurrently, one call sees
// both.
func (s *Store) endSplitDay(ctx context.Context, tx Tx, day cola.Date) error {
	total, err := value[int](ctx, tx, lockSplitDay, day)
	if err != nil {
		if errors.Is(err, store.ErrNotFound) {
			return fmt.Errorf("%v is not split", day)
		}
		return err
	}
	type sum struct {
		pending, incomplete, total int
		completedAt                time.Time // the earliest: the day is as current as its oldest part
	}
	parts, err := one(ctx, tx, func(p *sum) []any {
		return []any{&p.pending, &p.incomplete, &p.total, &p.completedAt}
	}, sumParts, day)
	switch {
	case err != nil || parts.pending > 0:
		return err
	case parts.incomplete > 0:
		_, err = tx.Exec(ctx, endSplitDay, day, store.FetchIncomplete, nil, nil)
	case parts.total != total:
		failure := fmt.Sprintf("the parts have %d labels in all, but the day has %d", parts.total, total)
		_, err = tx.Exec(ctx, endSplitDay, day, store.FetchIncomplete, nil, failure)
		if err == nil {
			err = s.recordFailure(ctx, tx, failure)
		}
	default:
		_, err = tx.Exec(ctx, endSplitDay, day, store.FetchComplete, parts.completedAt, nil)
	}
	return err
}

// ReleaseWindow implements store.Fetches.
func (s *Store) ReleaseWindow(ctx context.Context, w store.FetchWindow) error {
	return ignoreNotFound(s.db.Transact(ctx, "release window", func(ctx context.Context, tx Tx) error {
		return s.notFoundIfInvalid(execOne(ctx, tx, releaseWindow, s.claimOf(w)...))
	}))
}

// ExtendWindow implements store.Fetches.
func (s *Store) ExtendWindow(ctx context.Context, w store.FetchWindow, hold time.Duration) error {
	return s.db.Transact(ctx, "extend window claim", func(ctx context.Context, tx Tx) error {
		return s.notFoundIfInvalid(execOne(ctx, tx, extendWindow, s.claimOf(w, hold.Seconds())...))
	})
}

func ignoreNotFound(err error) error {
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	return err
}
