package sqlstore

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/colaregistry/colaregistry/store"
	"github.com/colaregistry/colaregistry/store/records"
)

const (
	labelClaim = ` WHERE ttb_id = $2 AND hold = $3 AND held_until > ` + fetchClock

	queueLabel = `INSERT INTO fetch_labels (ttb_id, completed, images, history, due_at) VALUES ($2, $3, $4, $5, ` + fetchClock + `)
		ON CONFLICT (ttb_id) DO UPDATE SET completed = coalesce(excluded.completed, fetch_labels.completed),
			images = fetch_labels.images OR excluded.images, history = fetch_labels.history OR excluded.history,
			state = '` + store.FetchPending + `', attempts = 0, due_at = excluded.due_at, failure = NULL, ` + endClaim
	retryLabels = `UPDATE fetch_labels SET state = '` + store.FetchPending + `', attempts = 0, due_at = ` + fetchClock + `, failure = NULL
		WHERE state = '` + store.FetchFailed + `'`
	claimLabel = `WITH due AS MATERIALIZED (
			SELECT ttb_id FROM fetch_labels WHERE state = $4 AND ` + due + ` ORDER BY completed DESC NULLS LAST, ttb_id DESC LIMIT 1 FOR NO KEY UPDATE SKIP LOCKED)
		UPDATE fetch_labels SET hold = $2, held_until = ` + fetchClock + ` + make_interval(secs => $3)
		WHERE ttb_id IN (SELECT ttb_id FROM due) RETURNING ttb_id, completed, images, history, attempts, hold`
	finishLabel    = `DELETE FROM fetch_labels` + labelClaim
	postponeImages = `UPDATE fetch_labels SET state = '` + store.FetchImages + `', images = TRUE, attempts = 0, failure = NULL,
		due_at = ` + fetchClock + ` + make_interval(secs => $4), ` + endClaim + labelClaim
	failLabel = `UPDATE fetch_labels SET state = $4, attempts = attempts + 1, due_at = ` + fetchClock + ` + make_interval(secs => $5),
		failure = $6, ` + endClaim + labelClaim
	releaseLabel = `UPDATE fetch_labels SET ` + endClaim + labelClaim
	extendLabel  = `UPDATE fetch_labels SET held_until = ` + fetchClock + ` + make_interval(secs => $4)` + labelClaim
)

// QueueLabels implements store.Fetches. It locks labels in ascending order of ID.
func (s *Store) QueueLabels(ctx context.Context, labels []store.FetchLabel) error {
	const operation = "queue labels"
	for _, l := range labels {
		if err := l.Check(); err != nil {
			return s.db.Failed(operation, err)
		}
	}
	labels = slices.SortedFunc(slices.Values(labels),
		func(a, b store.FetchLabel) int { return cmp.Compare(a.TTBID, b.TTBID) })
	return s.db.Transact(ctx, operation, func(ctx context.Context, tx Tx) error {
		statements := make([]Statement, len(labels))
		for i := range labels {
			l := &labels[i]
			statements[i] = Statement{queueLabel, []any{s.clock(), int64(l.TTBID), &l.Completed, l.Images, l.History}}
		}
		_, err := tx.ExecAll(ctx, statements...)
		return err
	})
}

// RetryFailedLabels implements store.Fetches. It locks labels in no particular order. That is safe
// because Transact runs it again after a deadlock with QueueLabels.
func (s *Store) RetryFailedLabels(ctx context.Context) error {
	return s.db.Transact(ctx, "retry failed labels", func(ctx context.Context, tx Tx) error {
		_, err := tx.Exec(ctx, retryLabels, s.clock())
		return err
	})
}

// ClaimLabel implements store.Fetches.
func (s *Store) ClaimLabel(ctx context.Context, images bool, hold time.Duration) (l store.FetchLabel, err error) {
	claim := func(ctx context.Context, tx Tx, state string) (store.FetchLabel, error) {
		return one(ctx, tx, func(l *store.FetchLabel) []any {
			return []any{&l.TTBID, &l.Completed, &l.Images, &l.History, &l.Attempts, &l.Hold}
		}, claimLabel, s.clock(), newHold(), hold.Seconds(), state)
	}
	err = s.db.Transact(ctx, "claim label", func(ctx context.Context, tx Tx) error {
		l, err = claim(ctx, tx, store.FetchPending)
		if images && errors.Is(err, store.ErrNotFound) {
			l, err = claim(ctx, tx, store.FetchImages)
		}
		return err
	})
	return l, err
}

// FinishLabel implements store.Fetches.
func (s *Store) FinishLabel(ctx context.Context, l store.FetchLabel) error {
	return s.affectOne(ctx, "finish label", finishLabel, s.clock, int64(l.TTBID), l.Hold)
}

// PostponeImages implements store.Fetches.
func (s *Store) PostponeImages(ctx context.Context, l store.FetchLabel, wait time.Duration) error {
	return s.affectOne(ctx, "postpone images", postponeImages, s.clock, int64(l.TTBID), l.Hold, wait.Seconds())
}

// FailLabel implements store.Fetches.
func (s *Store) FailLabel(ctx context.Context, l store.FetchLabel, failure string, wait time.Duration) error {
	return s.db.Transact(ctx, "fail label", func(ctx context.Context, tx Tx) error {
		state := store.FetchPending
		if wait < 0 {
			state = store.FetchFailed
		}
		err := execOne(ctx, tx, failLabel, s.clock(), int64(l.TTBID), l.Hold, state, max(wait, 0).Seconds(),
			records.StorableText(failure))
		if err != nil {
			return err
		}
		return s.recordFailure(ctx, tx, failure)
	})
}

// ReleaseLabel implements store.Fetches.
func (s *Store) ReleaseLabel(ctx context.Context, l store.FetchLabel) error {
	return ignoreNotFound(s.affectOne(ctx, "release label", releaseLabel, s.clock, int64(l.TTBID), l.Hold))
}

// ExtendLabel implements store.Fetches.
func (s *Store) ExtendLabel(ctx context.Context, l store.FetchLabel, hold time.Duration) error {
	return s.affectOne(ctx, "extend label claim", extendLabel, s.clock, int64(l.TTBID), l.Hold, hold.Seconds())
}
