package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

// batchRetention is how long the outcome of a batch is stored.
const batchRetention = 2 * time.Hour

const (
	selectBatch = `SELECT settled_at, voided FROM ledger_batches WHERE id = ?`
	insertBatch = `INSERT INTO ledger_batches (id, settled_at, voided) VALUES (?, ?, ?)`
	// deleteOldBatches only reads the oldest few.
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
		for _, e := range entries {
			if err := s.revertCharge(ctx, e, b.settledAt); err != nil {
				return fmt.Errorf("revert charge of account %d: %w", e.Account, err)
			}
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
	return s.ledger.exec(ctx, deleteOldBatches, now.Add(-batchRetention).UnixMicro())
}

// revertCharge reverts a charge of a batch that was settled at the given time.
func (s *Store) revertCharge(ctx context.Context, e store.Entry, at time.Time) error {
	account := int64(e.Account)
	if err := s.revertGrant(ctx, account, e.Requests, at); err != nil {
		return err
	}
	var used cola.Used
	for _, u := range e.Units {
		used.Add(u.Meter, u.Units)
		err := s.ledger.exec(ctx, `UPDATE usage_days SET units = units - ?, requests = requests - ?
			WHERE account_id = ? AND day = ? AND channel = ? AND credential_kind = ? AND credential_id = ? AND meter = ?`,
			u.Units, u.Requests, account, cola.DateOf(at).String(), string(u.Channel), string(u.Credential.Kind),
			u.Credential.ID, string(u.Meter))
		if err != nil {
			return err
		}
	}
	return s.ledger.exec(ctx, `UPDATE usage_months SET detail_views = detail_views - ?, list_records = list_records - ?
		WHERE account_id = ? AND period = ?`, used.DetailViews, used.ListRecords, account, cola.PeriodOf(at).String())
}

// revertGrant removes requests from the grant of a given time, if it is still in the window.
func (s *Store) revertGrant(ctx context.Context, account int64, requests int, at time.Time) error {
	err := s.ledger.exec(ctx, `UPDATE burst_grants SET requests = requests - ? WHERE account_id = ? AND granted_at = ?`,
		requests, account, at.UnixMicro())
	if err != nil {
		return err
	}
	return s.ledger.exec(ctx, `DELETE FROM burst_grants WHERE account_id = ? AND granted_at = ? AND requests <= 0`,
		account, at.UnixMicro())
}
