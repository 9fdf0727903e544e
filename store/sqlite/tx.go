package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/colaregistry/colaregistry/internal/filelock"
)

// querier runs queries: on the pool, in a read transaction, or in a write transaction.
type querier interface {
	query(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	row(ctx context.Context, query string, args ...any) *sql.Row
}

// writer is the connection for one kind of write. All writers in all processes queue on a fair
// lock, where they wait in the kernel, in order; SQLite's own write lock would make them poll.
type writer struct {
	log   *slog.Logger
	gate  *filelock.FairLock
	db    *sql.DB
	conn  *sql.Conn            // the only connection of db
	stmts map[string]*sql.Stmt // guarded by the gate
	args  []any                // reused by rowWrite; guarded by the gate
}

// slowCommit is the minimum duration of a commit that is logged as slow. Nearly all of that time is
// spent waiting for the disk.
const slowCommit = 100 * time.Millisecond

// transact runs work in a write transaction and commits it, unless work fails or panics. It fails
// if the context ends before the transaction begins, and ignores the context afterward: the work is
// short, and the outcome of an interrupted commit would be unknown.
func (w *writer) transact(ctx context.Context, work func(ctx context.Context) error) error {
	if err := w.gate.Lock(ctx); err != nil {
		return err
	}
	defer w.gate.Unlock()
	ctx = context.WithoutCancel(ctx)
	if err := w.exec(ctx, "BEGIN IMMEDIATE"); err != nil {
		return err
	}
	open := true
	defer func() {
		if open {
			_ = w.exec(ctx, "ROLLBACK") // fails only if SQLite has rolled back already
		}
	}()
	if err := work(ctx); err != nil {
		return err
	}
	start := time.Now()
	if err := w.exec(ctx, "COMMIT"); err != nil {
		return err
	}
	open = false
	if took := time.Since(start); took >= slowCommit {
		w.log.Debug("slow commit", "took", took)
	}
	return nil
}

// exec runs a statement. Call it only within transact.
func (w *writer) exec(ctx context.Context, query string, args ...any) error {
	_, err := w.affect(ctx, query, args...)
	return err
}

// affect runs a statement and returns the number of affected rows. Call it only within transact.
func (w *writer) affect(ctx context.Context, query string, args ...any) (int64, error) {
	stmt, err := w.prepared(ctx, query)
	if err != nil {
		return 0, err
	}
	result, err := stmt.ExecContext(ctx, args...)
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

// setPragma changes a setting of the connection. Call it only within transact.
func (w *writer) setPragma(ctx context.Context, setting string) error {
	_, err := w.conn.ExecContext(ctx, "PRAGMA "+setting)
	return err
}

// query reads within transact.
func (w *writer) query(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	stmt, err := w.prepared(ctx, query)
	if err != nil {
		return nil, err
	}
	return stmt.QueryContext(ctx, args...)
}

// row reads one row within transact.
func (w *writer) row(ctx context.Context, query string, args ...any) *sql.Row {
	stmt, err := w.prepared(ctx, query)
	if err != nil {
		return w.conn.QueryRowContext(ctx, rewritten(query), args...) // returns the same error
	}
	return stmt.QueryRowContext(ctx, args...)
}

func (w *writer) prepared(ctx context.Context, query string) (*sql.Stmt, error) {
	if stmt, ok := w.stmts[query]; ok {
		return stmt, nil
	}
	stmt, err := w.conn.PrepareContext(ctx, rewritten(query))
	if err != nil {
		return nil, err
	}
	w.stmts[query] = stmt
	return stmt, nil
}

// close closes the statements first. A connection with open statements would stay open, and the
// last connection would then not checkpoint the WAL.
func (w *writer) close() error {
	var errs []error
	for _, stmt := range w.stmts {
		errs = append(errs, stmt.Close())
	}
	return errors.Join(append(errs, w.conn.Close(), w.db.Close(), w.gate.Close())...)
}

// rowWrite is a statement that writes any number of rows, 1 to 64 at a time. Its rows are
// parameters, which SQLite reads several times faster than a JSON array.
type rowWrite struct {
	columns    int
	statements [len(rowCounts)]string
}

// rowCounts are the numbers of rows that a statement may have. Unused rows are NULL.
var rowCounts = [...]int{1, 4, 16, 64}

// newRowWrite returns a statement that inserts rows. into is the table with its columns. values
// lists expressions over the row parameters, which are named new.column1, new.column2, and so on.
// The first parameter of a row must not be NULL, because that marks an unused row.
func newRowWrite(into string, columns int, values, conflict string) *rowWrite {
	w := &rowWrite{columns: columns}
	row := "(" + placeholders(columns) + ")"
	for i, n := range rowCounts {
		rows := strings.TrimSuffix(strings.Repeat(row+", ", n), ", ")
		w.statements[i] = "INSERT INTO " + into + " SELECT " + values + " FROM (VALUES " + rows + ") AS new" +
			" WHERE new.column1 IS NOT NULL ON CONFLICT " + conflict
	}
	return w
}

// split returns the statement that writes the first chunk of n rows, and the number of rows in that
// statement, which may exceed n.
func (w *rowWrite) split(n int) (statement string, rows int) {
	for i, count := range rowCounts {
		last := i == len(rowCounts)-1
		if last || count >= n && count <= 2*n || rowCounts[i+1] > 2*n {
			return w.statements[i], count
		}
	}
	panic("unreachable")
}

// exec writes rows within transact. common holds the parameters used in the statement's values
// expression; they precede the row parameters.
func (w *rowWrite) exec(ctx context.Context, to *writer, common, values []any) error {
	for len(values) > 0 {
		statement, rows := w.split(len(values) / w.columns)
		size, n := len(common)+rows*w.columns, min(rows*w.columns, len(values))
		args := append(append(to.args[:0], common...), values[:n]...)
		args = append(args, make([]any, size-len(args))...)
		to.args = args
		if err := to.exec(ctx, statement, args...); err != nil {
			return err
		}
		values = values[n:]
	}
	return nil
}

// readers is the pool of read-only connections. Readers and writers never wait for each other.
type readers struct {
	db    *sql.DB
	stmts sync.Map // query → *sql.Stmt, prepared once per pool
}

// view runs read on one consistent snapshot of the database.
func (r *readers) view(ctx context.Context, read func(q querier) error) error {
	tx, err := r.db.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return err
	}
	v := &view{pool: r, tx: tx}
	defer v.end(ctx)
	return read(v)
}

// view is a querier over one read transaction. It holds a connection, so it must not wait for
// another one: the pool could deadlock.
type view struct {
	pool  *readers
	tx    *sql.Tx
	fresh []string // queries to prepare when the connection is free again
}

// prepared returns a query's statement on the view's connection, if the pool has prepared it.
func (v *view) prepared(ctx context.Context, query string) (*sql.Stmt, bool) {
	stmt, ok := v.pool.stmts.Load(query)
	if !ok {
		v.fresh = append(v.fresh, query)
		return nil, false
	}
	return v.tx.StmtContext(ctx, stmt.(*sql.Stmt)), true
}

func (v *view) query(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	if stmt, ok := v.prepared(ctx, query); ok {
		return stmt.QueryContext(ctx, args...)
	}
	return v.tx.QueryContext(ctx, rewritten(query), args...)
}

func (v *view) row(ctx context.Context, query string, args ...any) *sql.Row {
	if stmt, ok := v.prepared(ctx, query); ok {
		return stmt.QueryRowContext(ctx, args...)
	}
	return v.tx.QueryRowContext(ctx, rewritten(query), args...)
}

// end returns the connection to the pool.
func (v *view) end(ctx context.Context) {
	_ = v.tx.Rollback() // read-only
	for _, query := range v.fresh {
		_, _ = v.pool.prepared(ctx, query) // on failure, the next view tries again
	}
}

func (r *readers) query(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	stmt, err := r.prepared(ctx, query)
	if err != nil {
		return nil, err
	}
	return stmt.QueryContext(ctx, args...)
}

func (r *readers) row(ctx context.Context, query string, args ...any) *sql.Row {
	stmt, err := r.prepared(ctx, query)
	if err != nil {
		return r.db.QueryRowContext(ctx, rewritten(query), args...) // returns the same error
	}
	return stmt.QueryRowContext(ctx, args...)
}

// close closes the statements first, as writer.close does.
func (r *readers) close() error {
	var errs []error
	r.stmts.Range(func(_, stmt any) bool {
		errs = append(errs, stmt.(*sql.Stmt).Close())
		return true
	})
	return errors.Join(append(errs, r.db.Close())...)
}

func (r *readers) prepared(ctx context.Context, query string) (*sql.Stmt, error) {
	if stmt, ok := r.stmts.Load(query); ok {
		return stmt.(*sql.Stmt), nil
	}
	stmt, err := r.db.PrepareContext(ctx, rewritten(query))
	if err != nil {
		return nil, err
	}
	if first, loaded := r.stmts.LoadOrStore(query, stmt); loaded {
		_ = stmt.Close() // another goroutine was first
		return first.(*sql.Stmt), nil
	}
	return stmt, nil
}

// scanner is a row, or the current row of a result.
type scanner interface{ Scan(into ...any) error }

// collect reads all rows of a result and closes it.
func collect[T any](rows *sql.Rows, err error, scan func(scanner) (T, error)) ([]T, error) {
	return collectInto(nil, rows, err, scan)
}

// collectInto is like collect, but appends to an empty list with room for the expected rows.
func collectInto[T any](list []T, rows *sql.Rows, err error, scan func(scanner) (T, error)) ([]T, error) {
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		row, err := scan(rows)
		if err != nil {
			return nil, err
		}
		list = append(list, row)
	}
	return list, rows.Err()
}
