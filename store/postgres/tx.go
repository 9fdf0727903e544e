package postgres

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/colaregistry/colaregistry/store"
)

const (
	// commitTimeout is the time limit for a commit. A commit continues after its caller is gone,
	// since canceling it would leave its outcome unknown. With synchronous replication, it waits
	// for a standby.
	commitTimeout = 30 * time.Second
	// fillTimeout is the time limit for committing a whole database, most of which a standby may
	// still have to write.
	fillTimeout = 15 * time.Minute
	// rollbackTimeout is the time limit for rolling back a failed transaction.
	rollbackTimeout = 5 * time.Second
	// attempts is the maximum number of attempts for a transaction that conflicts with others.
	attempts = 6
)

// querier reads from a pool or within a transaction.
type querier interface {
	Query(ctx context.Context, query string, args ...any) (pgx.Rows, error)
	QueryRow(ctx context.Context, query string, args ...any) pgx.Row
	SendBatch(ctx context.Context, b *pgx.Batch) pgx.BatchResults
}

// starter begins transactions on a pool or a connection.
type starter interface {
	BeginTx(ctx context.Context, o pgx.TxOptions) (pgx.Tx, error)
}

// The isolation level does not depend on database or role defaults. Whether writes are allowed
// does: an operator may disable writes for a while.
var (
	writing = pgx.TxOptions{IsoLevel: pgx.ReadCommitted}
	reading = pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}
)

// transact implements a Store method that runs in one transaction: it wraps any error with the
// operation.
func (s *Store) transact(ctx context.Context, operation string, work func(tx pgx.Tx) error) error {
	if err := s.start(); err != nil {
		return failed(operation, err)
	}
	defer s.done()
	return s.failed(ctx, operation, inTransaction(ctx, s.general, work))
}

// transactUnsynced is like transact, but for data that may be lost if the server fails: its commit
// waits neither for the disk nor for a standby.
func (s *Store) transactUnsynced(ctx context.Context, operation string, work func(tx pgx.Tx) error) error {
	return s.transact(ctx, operation, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `SET LOCAL synchronous_commit TO off`); err != nil {
			return err
		}
		return work(tx)
	})
}

// inTransaction runs work in a transaction and commits it, unless work fails or panics, or the
// context ends first. It retries conflicts with concurrent transactions.
func inTransaction(ctx context.Context, from starter, work func(tx pgx.Tx) error) (err error) {
	for n := range attempts {
		if err = inTransactionOnce(ctx, from, commitTimeout, work); !isRetryable(err) {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(rand.N(time.Duration(n+1) * 10 * time.Millisecond)):
		}
	}
	return err
}

func inTransactionOnce(ctx context.Context, from starter, timeout time.Duration, work func(tx pgx.Tx) error) error {
	tx, err := from.BeginTx(ctx, writing)
	if err != nil {
		return err
	}
	defer rollback(ctx, tx)
	if err := work(tx); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	ctx, cancel := commitContext(ctx, timeout)
	defer cancel()
	ending := watchCommit(tx.Conn())
	return ending.result(inDoubt(tx.Commit(ctx)))
}

// rollback rolls back a transaction, or closes its connection if that fails.
func rollback(ctx context.Context, tx pgx.Tx) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), rollbackTimeout)
	defer cancel()
	_ = tx.Rollback(ctx) // the transaction or its connection may have ended
}

// read calls do, which reads from the general pool. If the connection is lost, for example because
// a server or proxy restarts, read calls it once more, on a new connection. Therefore, do must not
// pass results to the caller before it succeeds.
func (s *Store) read(ctx context.Context, operation string, do func() error) error {
	if err := s.start(); err != nil {
		return failed(operation, err)
	}
	defer s.done()
	err := do()
	if err != nil && ctx.Err() == nil && isConnectionLost(err) {
		s.reconnect()
		err = do()
	}
	return s.failed(ctx, operation, err)
}

// view runs read on one consistent snapshot of the database.
func (s *Store) view(ctx context.Context, read func(q querier) error) error {
	tx, err := s.general.BeginTx(ctx, reading)
	if err != nil {
		return err
	}
	defer rollback(ctx, tx) // nothing was written
	return read(tx)
}

// collect reads all rows of a result and closes it.
func collect[T any](rows pgx.Rows, err error, columns func(*T) fields) ([]T, error) {
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var list []T
	var row T // scanning overwrites every column
	into := columns(&row)
	for rows.Next() {
		if err := rows.Scan(into); err != nil {
			return nil, err
		}
		list = append(list, row)
	}
	return list, rows.Err()
}

// closeBatch closes the results of a batch. It returns err or, if err is nil, the error from
// closing, which includes errors of unread statements.
func closeBatch(results pgx.BatchResults, err error) error {
	if closeErr := results.Close(); err == nil {
		err = closeErr
	}
	return err
}

// A commit that waits for a standby is already durable on the server, so it cannot be undone. Until
// the wait ends, the commit holds its locks and is invisible. statement_timeout does not apply. The
// wait ends in one of three ways:
//
//  1. The standby confirms. The commit succeeds.
//  2. The commit's context ends. The driver asks the server to cancel the wait. If that succeeds,
//     the transaction becomes visible and releases its locks, although the standby may not have it.
//     Otherwise the wait goes on until the standby is back or the server notices that the client is
//     gone. Either way the outcome is unknown.
//  3. An operator cancels the wait. The commit succeeds with a warning that it may be local
//     only. A failover would lose it, so the outcome is unknown, too.
//
// The ledger resolves an unknown outcome by the batch's ID. The transaction that reads the batch
// locks its row, so its own commit waits until the standby has everything before it. A batch that
// is finally reported as settled or voided therefore survives the loss of the primary.

// errNotReplicated means that a commit is durable on this server, but maybe not on a standby.
var errNotReplicated = fmt.Errorf("%w: wait for the standby was canceled", store.ErrUnavailable)

// commitWatch watches for the server's warnings about one commit.
type commitWatch struct{ notReplicated bool }

// watchedCommit is the key under which a connection's custom data holds the latest commitWatch.
const watchedCommit = "colaregistry.commit"

// watchCommit starts watching the next commit on a connection.
func watchCommit(conn *pgx.Conn) *commitWatch {
	w := &commitWatch{}
	conn.PgConn().CustomData()[watchedCommit] = w
	return w
}

// onNotice handles the notices of a connection.
func onNotice(conn *pgconn.PgConn, n *pgconn.Notice) {
	// The message is localized; the routine name is not.
	cutShort := n.Code == "01000" &&
		(n.Routine == "SyncRepWaitForLSN" || strings.Contains(n.Message, "synchronous replication"))
	if w, ok := conn.CustomData()[watchedCommit].(*commitWatch); ok && cutShort {
		w.notReplicated = true
	}
}

// result returns the outcome of a commit that returned err.
func (w *commitWatch) result(err error) error {
	if err == nil && w.notReplicated {
		return errNotReplicated
	}
	return err
}

// commitContext returns a context for a commit. The context ends after the given timeout, or
// commitTimeout after ctx ends, whichever comes first.
func commitContext(ctx context.Context, timeout time.Duration) (context.Context, context.CancelFunc) {
	detached, cancel := context.WithTimeout(context.WithoutCancel(ctx), timeout)
	stop := context.AfterFunc(ctx, func() {
		select {
		case <-time.After(commitTimeout):
			cancel()
		case <-detached.Done():
		}
	})
	return detached, func() {
		stop()
		cancel()
	}
}
