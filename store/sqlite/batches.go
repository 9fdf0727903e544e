package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/colaregistry/colaregistry/store"
	"github.com/colaregistry/colaregistry/store/sqlstore"
)

const (
	selectBatch = `SELECT settled_at, voided FROM ledger_batches WHERE id = ?`
	insertBatch = `INSERT INTO ledger_batches (id, settled_at, voided) VALUES (?, ?, ?)`
	// deleteOldBatches reads only the oldest few.
	deleteOldBatches = `DELETE FROM ledger_batches WHERE number IN (
		SELECT number FROM (SELECT number, settled_at FROM ledger_batches ORDER BY number LIMIT 8) WHERE settled_at < ?)`
)

// batchState is the stored state of a batch.
type batchState struct {
	known     bool
	settledAt time.Time
	voided    bool
}

func readBatch(ctx context.Context, q querier, id store.BatchID) (b batchState, err error) {
	err = q.row(ctx, selectBatch, id[:]).Scan(target{&b.settledAt}, target{&b.voided})
	if errors.Is(err, sql.ErrNoRows) {
		return b, nil
	}
	b.known = err == nil
	return b, err
}

// Void implements store.Ledger.
func (s *Store) Void(ctx context.Context, id store.BatchID, entries []store.Entry) error {
	return s.transact(ctx, "void batch", func(ctx context.Context) error {
		b, err := readBatch(ctx, s.ledger, id)
		switch {
		case err != nil || b.voided:
			return err
		case !b.known:
			return s.ledger.exec(ctx, insertBatch, id[:], s.currentTime().UnixMicro(), true)
		}
		entries, err := s.voidPages(ctx, id, entries)
		if err != nil {
			return err
		}
		if err := s.revert(ctx, entries, b.settledAt); err != nil {
			return err
		}
		return s.ledger.exec(ctx, `UPDATE ledger_batches SET voided = 1 WHERE id = ?`, id[:])
	})
}

// recordBatch records that a batch is settled, and deletes a few old batches: more than one, so
// that they don't pile up, but few enough to be cheap.
func (s *Store) recordBatch(ctx context.Context, id store.BatchID, now time.Time) error {
	b, err := readBatch(ctx, s.ledger, id)
	switch {
	case err != nil:
		return err
	case b.voided:
		return store.ErrVoid
	case b.known:
		return store.ErrExists
	}
	if err := s.ledger.exec(ctx, insertBatch, id[:], now.UnixMicro(), false); err != nil {
		return err
	}
	return s.ledger.exec(ctx, deleteOldBatches, now.Add(-sqlstore.BatchRetention).UnixMicro())
}

// revert undoes the entries of a batch that was settled at the given time.
func (s *Store) revert(ctx context.Context, entries []store.Entry, at time.Time) error {
	l, err := sqlstore.NewReversal(entries, at)
	if err != nil {
		return err
	}
	if err := s.writeUsage(ctx, l); err != nil {
		return err
	}
	windows, err := s.readWindows(ctx, l.Requests.Keys)
	if err != nil {
		return err
	}
	var reverted []sqlstore.AccountRow
	for _, w := range windows {
		if w.Revert(at, -l.Requests.Values[w.Account.ID]) {
			reverted = append(reverted, w)
		}
	}
	return s.writeWindows(ctx, reverted)
}
