package postgres

import (
	"context"
	"encoding/binary"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
	"github.com/colaregistry/colaregistry/store/sqlstore"
)

const (
	// deletedPerStatement is the maximum number of batches that one statement deletes.
	deletedPerStatement = 5000
	// batchLocks is the first half of the advisory lock key of a batch. The second half is derived
	// from the batch's ID.
	batchLocks int32 = 0x434f4c41
)

const (
	beginBatch = `BEGIN ISOLATION LEVEL READ COMMITTED`
	// lockBatch waits for other transactions on the same batch. The lock lasts until the end of the
	// transaction.
	lockBatch = `SELECT pg_advisory_xact_lock($1, $2)`
	// selectBatch locks the row so that the following commit is a write. The server acknowledges
	// such a commit only when it and everything before it are as durable as the operator requires.
	// A row may be visible before that.
	selectBatch   = `SELECT settled_at, voided FROM ledger_batches WHERE id = $1 FOR NO KEY UPDATE`
	insertBatch   = `INSERT INTO ledger_batches (id, settled_at, voided) VALUES ($1, $2, $3)`
	voidUnknown   = `INSERT INTO ledger_batches (id, settled_at, voided) VALUES ($1, coalesce($2, clock_timestamp()), TRUE)`
	voidKnown     = `UPDATE ledger_batches SET voided = TRUE WHERE id = $1`
	deleteBatches = `WITH old AS MATERIALIZED (SELECT id FROM ledger_batches
			WHERE settled_at < coalesce($1, clock_timestamp()) - make_interval(secs => $2)
			ORDER BY settled_at LIMIT $3 FOR UPDATE SKIP LOCKED)
		DELETE FROM ledger_batches WHERE id IN (SELECT id FROM old)`
)

// batchState is the stored state of a batch.
type batchState struct {
	known     bool
	settledAt time.Time
	voided    bool
}

// queueAttempt starts a transaction on a batch, waits for others on the same batch, and reads the
// batch's state.
func queueAttempt(b *pgx.Batch, id store.BatchID) {
	b.Queue(beginBatch)
	queueBatch(b, id)
}

func queueBatch(b *pgx.Batch, id store.BatchID) {
	var half uint32
	for i := 0; i < len(id); i += 4 {
		half ^= binary.BigEndian.Uint32(id[i:])
	}
	b.Queue(lockBatch, batchLocks, int32(half))
	b.Queue(selectBatch, [16]byte(id))
}

// readAttempt reads the results of queueAttempt.
func readAttempt(results pgx.BatchResults) (batchState, error) {
	if _, err := results.Exec(); err != nil {
		return batchState{}, err
	}
	return readBatch(results)
}

func readBatch(results pgx.BatchResults) (batchState, error) {
	if _, err := results.Exec(); err != nil {
		return batchState{}, err
	}
	rows, err := results.Query()
	list, err := collect(rows, err, func(b *batchState) fields { return fields{&b.settledAt, &b.voided} })
	if err != nil || len(list) == 0 {
		return batchState{}, err
	}
	list[0].known = true
	return list[0], nil
}

// confirm makes the stored state of a batch durable, and returns it as an error.
func (b batchState) confirm(ctx context.Context, conn *pgxpool.Conn) error {
	ending := watchCommit(conn.Conn())
	if _, err := conn.Exec(ctx, `COMMIT`); ending.result(err) != nil {
		return ending.result(err)
	}
	if b.voided {
		return store.ErrVoid
	}
	return store.ErrExists
}

// readBatchInTx reads the state of a batch within a transaction.
func readBatchInTx(ctx context.Context, tx pgx.Tx, id store.BatchID) (batchState, error) {
	b := &pgx.Batch{}
	queueBatch(b, id)
	results := tx.SendBatch(ctx, b)
	state, err := readBatch(results)
	return state, closeBatch(results, err)
}

// Void implements store.Ledger.
func (s *Store) Void(ctx context.Context, id store.BatchID, entries []store.Entry) error {
	const operation = "void batch"
	if err := s.start(); err != nil {
		return failed(operation, err)
	}
	defer s.done()
	return s.failed(ctx, operation, inTransaction(ctx, s.ledger, func(tx pgx.Tx) error {
		b, err := readBatchInTx(ctx, tx, id)
		switch {
		case err != nil || b.voided:
			return err
		case !b.known:
			_, err := tx.Exec(ctx, voidUnknown, [16]byte(id), s.clock())
			return err
		}
		if err := revertEntries(ctx, tx, id, entries, b.settledAt); err != nil {
			return err
		}
		_, err = tx.Exec(ctx, voidKnown, [16]byte(id))
		return err
	}))
}

// revertEntries undoes the entries of a batch that was settled at the given time.
func revertEntries(ctx context.Context, tx pgx.Tx, id store.BatchID, entries []store.Entry, at time.Time) error {
	accounts := make([]cola.AccountID, len(entries))
	for i, e := range entries {
		accounts[i] = e.Account
	}
	slices.Sort(accounts)
	if _, err := tx.Exec(ctx, lockAccounts, accountIDs(accounts)); err != nil {
		return err
	}
	entries, err := voidPages(ctx, tx, id, entries)
	if err != nil {
		return err
	}
	l, err := sqlstore.NewReversal(entries, at)
	if err != nil {
		return err
	}
	b := &pgx.Batch{}
	queueUsage(b, l)
	if b.Len() > 0 {
		if err := closeBatch(tx.SendBatch(ctx, b), nil); err != nil {
			return err
		}
	}
	return revertGrants(ctx, tx, l)
}

// deleteOldBatches deletes old batches in chunks.
func (s *Store) deleteOldBatches(ctx context.Context) error {
	for {
		done, err := s.general.Exec(ctx, deleteBatches, s.clock(), sqlstore.BatchRetention.Seconds(), deletedPerStatement)
		if err != nil || done.RowsAffected() < deletedPerStatement {
			return err
		}
	}
}
