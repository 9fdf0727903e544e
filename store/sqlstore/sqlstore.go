// Package sqlstore implements the control plane of a store, once for both databases. The control
// plane consists of accounts, credentials, sessions, saved searches, destinations, deliveries and
// the work of collectors. Each store embeds a Store and has its own implementation of the parts
// that differ for speed or correctness: the ledger, labels, bulk writes and migrations.
//
// # Dialect
//
// Statements are written for PostgreSQL. The SQLite store rewrites the patterns that differ when it
// prepares a statement (see dialect in store/sqlite/database.go). A Database runs the statements.
// It is used instead of database/sql because each store does more than run statements: PostgreSQL
// reads rows from their binary form, watches commits and retries transactions; SQLite has one
// connection that writes and a pool that reads.
//
// # Arguments and columns
//
// An argument is an int, int64, float64, string, []byte, bool, time.Time or cola.Date, a list of
// int64, string or []byte, or a pointer to a record's field, which is NULL if the field is unknown.
// A row is scanned into pointers to fields; NULL sets a field to its zero value.
//
// # Locks
//
// On PostgreSQL, a transaction locks rows in this order:
//
//  1. one account
//  2. its searches, in ascending order of ID
//  3. destinations, in ascending order of ID
//  4. deliveries
//
// SQLite has one writer at a time, so its statements lose their locking clauses, and Tx.LockRows
// and Tx.AdvisoryLock do nothing.
//
// # Deliveries
//
// A delivery is created for a run, a test, a confirmation request, or a notice that a destination
// was paused. Senders claim due deliveries and record each attempt:
//
//	                  ┌─────── retry ────────┐
//	                  ▼                      │
//	created ──► pending ──► claimed ──► attempt ──► delivered
//	               ▲           │             │
//	               │           │ hold        └────► failed
//	               ├───────────┘ expired, released
//	               │
//	               │ replay (from delivered, failed or skipped)
//
// A pending delivery becomes skipped if its destination is paused or disabled. A claim is not a
// state of its own: it is a hold number and a time until which no one else may claim the delivery.
package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
	"github.com/colaregistry/colaregistry/store/records"
)

// Database runs the statements of a Store. Its errors name the operation.
type Database interface {
	// Transact runs work in one durable transaction and commits it, unless work fails. It may run
	// work again after a conflict with another transaction.
	Transact(ctx context.Context, operation string, work func(ctx context.Context, tx Tx) error) error
	// TransactUnsynced is like Transact, but for data that may be lost in a crash: its commit
	// doesn't wait for the disk.
	TransactUnsynced(ctx context.Context, operation string, work func(ctx context.Context, tx Tx) error) error
	// TransactErasing is like Transact, but overwrites the freed space if the database can, so that
	// replaced secrets and erased addresses can't be read from the disk.
	TransactErasing(ctx context.Context, operation string, work func(ctx context.Context, tx Tx) error) error
	// Read runs a read-only operation. It may run read again after a lost connection.
	Read(ctx context.Context, operation string, read func(q Querier) error) error
	// View is like Read, but reads from one consistent snapshot of the database. read must not wait
	// for another connection.
	View(ctx context.Context, operation string, read func(q Querier) error) error
	// ChangeReferences plans a change to reference data and writes it, unless mode is DryRun. It
	// may plan again after a concurrent change.
	ChangeReferences(ctx context.Context, operation string, mode store.Mode,
		plan func(ctx context.Context, q Querier) (Change, error)) ([]store.Outcome, error)
	// Labels reads the existing labels with the given IDs.
	Labels(ctx context.Context, q Querier, ids []cola.TTBID) (map[cola.TTBID]*cola.Cola, error)
	// Failed wraps an error with an operation that failed before it reached the database.
	Failed(operation string, err error) error
	// IsDuplicate reports whether a row was rejected because its key exists.
	IsDuplicate(err error) bool
	// IsInvalidText reports whether an argument was rejected because it contains text that the
	// database can't store.
	IsInvalidText(err error) bool
}

// Querier runs queries.
type Querier interface {
	Query(ctx context.Context, query string, args ...any) (Rows, error)
}

// Tx is a transaction that writes.
type Tx interface {
	Querier
	// Exec runs a statement and returns how many rows it affected.
	Exec(ctx context.Context, query string, args ...any) (int, error)
	// ExecAll runs statements in order, in a few round trips, and returns how many rows each
	// affected.
	ExecAll(ctx context.Context, statements ...Statement) (counts []int, err error)
	// LockRows locks the rows that a statement selects or writes until the transaction ends.
	LockRows(ctx context.Context, query string, args ...any) error
	// AdvisoryLock takes an advisory lock until the transaction ends.
	AdvisoryLock(ctx context.Context, class, key int32) error
}

// Statement is an SQL statement and its arguments.
type Statement struct {
	Query string
	Args  []any
}

// Rows iterates over the result of a query.
type Rows interface {
	Next() bool
	Scan(into ...any) error
	Err() error
	Close()
}

// ErrConflict makes the database retry a transaction that conflicts with a concurrent one.
var ErrConflict = fmt.Errorf("concurrent changes to the same rows: %w", store.ErrUnavailable)

// Options configures a Store.
type Options struct {
	Now func() time.Time // default: the database server's clock
	// DeleteWithWrites is how many expired rows a write deletes for each row that it adds. If zero,
	// only DeleteExpired deletes them.
	DeleteWithWrites int
	// Grants is the table or subquery that holds the last minute's requests, with the columns
	// account_id, granted_at and requests.
	Grants string
	// MaxRows is the maximum number of rows that a transaction claims, releases or deletes. It
	// keeps other transactions from waiting long. Zero means no limit.
	MaxRows int
}

// maxRows returns how many of n rows a transaction may process.
func (o Options) maxRows(n int) int {
	if o.MaxRows == 0 {
		return n
	}
	return min(o.MaxRows, n)
}

// Store implements the control plane of store.Store.
type Store struct {
	db   Database
	opts Options
}

// New returns a Store over a database.
func New(db Database, opts Options) *Store { return &Store{db: db, opts: opts} }

// clock returns the current time, or nil to make the statement use the server's clock.
func (s *Store) clock() *time.Time {
	if s.opts.Now == nil {
		return nil
	}
	now := s.opts.Now().UTC().Truncate(time.Microsecond)
	return &now
}

// currentTime returns the current time. Call it after the transaction has taken its locks.
func (s *Store) currentTime(ctx context.Context, q Querier) (time.Time, error) {
	if now := s.clock(); now != nil {
		return *now, nil
	}
	return value[time.Time](ctx, q, `SELECT clock_timestamp()`)
}

// affectOne runs one statement that writes to one row, and fails with ErrNotFound if there is none.
func (s *Store) affectOne(ctx context.Context, operation, query string, args ...any) error {
	return s.db.Transact(ctx, operation, func(ctx context.Context, tx Tx) error {
		return s.notFoundIfInvalid(execOne(ctx, tx, query, resolveClocks(args)...))
	})
}

// resolveClocks replaces any clocks among the arguments with the current time. Call it within the
// transaction, which on SQLite holds the write lock.
func resolveClocks(args []any) []any {
	args = slices.Clone(args)
	for i, arg := range args {
		if clock, ok := arg.(func() *time.Time); ok {
			args[i] = clock()
		}
	}
	return args
}

// notFoundIfInvalid replaces the error for text that the database can't store with ErrNotFound,
// since no row can contain such text.
func (s *Store) notFoundIfInvalid(err error) error {
	if s.db.IsInvalidText(err) {
		return store.ErrNotFound
	}
	return err
}

// execOne runs a statement, and fails with ErrNotFound if it affects no rows.
func execOne(ctx context.Context, tx Tx, query string, args ...any) error {
	n, err := tx.Exec(ctx, query, args...)
	if err == nil && n == 0 {
		err = store.ErrNotFound
	}
	return err
}

// list reads all rows of a query.
func list[T any](ctx context.Context, q Querier, columns func(*T) []any, query string, args ...any) ([]T, error) {
	rows, err := q.Query(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var all []T
	var row T // each row overwrites all columns of the previous one
	into := columns(&row)
	for rows.Next() {
		if err := rows.Scan(into...); err != nil {
			return nil, err
		}
		all = append(all, row)
	}
	return all, rows.Err()
}

// one reads the first row of a query, or fails with ErrNotFound.
func one[T any](ctx context.Context, q Querier, columns func(*T) []any, query string, args ...any) (row T, err error) {
	rows, err := q.Query(ctx, query, args...)
	if err != nil {
		return row, err
	}
	found := rows.Next()
	if found {
		err = rows.Scan(columns(&row)...)
	}
	rows.Close()
	if err == nil {
		err = rows.Err()
	}
	if err == nil && !found {
		err = store.ErrNotFound
	}
	return row, err
}

// value is like one, but for queries with a single column.
func value[T any](ctx context.Context, q Querier, query string, args ...any) (T, error) {
	return one(ctx, q, column[T], query, args...)
}

func column[T any](v *T) []any { return []any{v} }

// readOne reads the single row of a query as one store operation. It fails with ErrNotFound if
// there is none.
func readOne[T any](ctx context.Context, s *Store, operation string, columns func(*T) []any, query string,
	args ...any) (row T, err error) {
	err = s.db.Read(ctx, operation, func(q Querier) (err error) {
		row, err = one(ctx, q, columns, query, args...)
		return s.notFoundIfInvalid(err)
	})
	return row, err
}

// readList reads all rows of a query as one store operation.
func readList[T any](ctx context.Context, s *Store, operation string, columns func(*T) []any, query string,
	args ...any) (all []T, err error) {
	err = s.db.Read(ctx, operation, func(q Querier) (err error) {
		all, err = list(ctx, q, columns, query, args...)
		return err
	})
	return all, err
}

// ofAccount restricts a query to one account, unless the account is zero. column must be indexed.
func ofAccount(query, column string, account cola.AccountID) (string, []any) {
	if account == 0 {
		return query, nil
	}
	return query + ` WHERE ` + column + ` = $1`, []any{int64(account)}
}

// targets returns pointers to the fields of columns, for use as statement arguments or scan
// destinations.
func targets(columns []records.Column) []any {
	into := make([]any, len(columns))
	for i, c := range columns {
		into[i] = c.Field
	}
	return into
}

// parameters lists n parameters, starting at $first.
func parameters(first, n int) string {
	all := make([]string, n)
	for i := range all {
		all[i] = fmt.Sprintf("$%d", first+i)
	}
	return strings.Join(all, ", ")
}

// assignments lists columns with their parameters, starting at $first.
func assignments(columns []records.Column, first int) string {
	all := records.Names(columns)
	for i := range all {
		all[i] += fmt.Sprintf(" = $%d", first+i)
	}
	return strings.Join(all, ", ")
}

// unwrapRefusal returns the error that a records.Refusal wraps, which comes from the caller's
// change function, and other errors unchanged.
func unwrapRefusal(err error) error {
	if refusal, ok := errors.AsType[records.Refusal](err); ok {
		return refusal.Reason
	}
	return err
}
