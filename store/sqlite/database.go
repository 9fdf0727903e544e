package sqlite

import (
	"context"
	"database/sql"
	"encoding/hex"
	"regexp"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
	"github.com/colaregistry/colaregistry/store/sqlstore"
)

const (
	// deletedWithWrites is the number of expired rows that a write deletes per added row: more than
	// one, so that they don't pile up.
	deletedWithWrites = 8
	// maxRows is the maximum number of searches or deliveries that one transaction claims, releases
	// or deletes. It keeps a charge from waiting longer than it would for an import.
	maxRows = 100
)

// database runs the statements of the control plane. It runs durable transactions on the ledger's
// connection, and unsynced ones on the connection for records.
type database struct{ s *Store }

var _ sqlstore.Database = database{}

// Transact implements sqlstore.Database.
func (d database) Transact(ctx context.Context, operation string,
	work func(ctx context.Context, tx sqlstore.Tx) error) error {
	return d.s.transact(ctx, operation,
		func(ctx context.Context) error { return work(ctx, tx{reader{d.s.ledger}, d.s.ledger}) })
}

// TransactUnsynced implements sqlstore.Database.
func (d database) TransactUnsynced(ctx context.Context, operation string,
	work func(ctx context.Context, tx sqlstore.Tx) error) error {
	return d.s.transactUnsynced(ctx, operation,
		func(ctx context.Context) error { return work(ctx, tx{reader{d.s.records}, d.s.records}) })
}

// TransactErasing implements sqlstore.Database.
func (d database) TransactErasing(ctx context.Context, operation string,
	work func(ctx context.Context, tx sqlstore.Tx) error) error {
	return d.s.transactErasing(ctx, operation,
		func(ctx context.Context) error { return work(ctx, tx{reader{d.s.ledger}, d.s.ledger}) })
}

// Read implements sqlstore.Database.
func (d database) Read(_ context.Context, operation string, read func(q sqlstore.Querier) error) error {
	if err := d.s.start(); err != nil {
		return failed(operation, err)
	}
	defer d.s.done()
	return failed(operation, read(reader{d.s.read}))
}

// View implements sqlstore.Database.
func (d database) View(ctx context.Context, operation string, read func(q sqlstore.Querier) error) error {
	if err := d.s.start(); err != nil {
		return failed(operation, err)
	}
	defer d.s.done()
	return failed(operation, d.s.read.view(ctx, func(q querier) error { return read(reader{q}) }))
}

// ChangeReferences implements sqlstore.Database.
func (d database) ChangeReferences(ctx context.Context, operation string, mode store.Mode,
	work func(ctx context.Context, q sqlstore.Querier) (sqlstore.Change, error)) ([]store.Outcome, error) {
	return d.s.upsert(ctx, operation, change{
		mode:      mode,
		reference: true,
		plan: func(ctx context.Context, q querier, _ int) (*plan, error) {
			c, err := work(ctx, reader{q})
			p := &plan{outcomes: c.Outcomes}
			if len(c.Statements) > 0 {
				p.steps = []step{statements(c.Statements)}
			}
			return p, err
		},
	})
}

// statements is a step of a plan.
type statements []sqlstore.Statement

func (s statements) write(ctx context.Context, w *writer, _ cola.Revision) error {
	_, err := tx{reader{w}, w}.ExecAll(ctx, s...)
	return err
}

// Labels implements sqlstore.Database.
func (d database) Labels(ctx context.Context, q sqlstore.Querier, ids []cola.TTBID) (map[cola.TTBID]*cola.Cola, error) {
	known := make(map[cola.TTBID]*cola.Cola, len(ids))
	return known, loadColas(ctx, q.(reader).q, ids, known)
}

// Failed implements sqlstore.Database.
func (d database) Failed(operation string, err error) error { return failed(operation, err) }

// IsDuplicate implements sqlstore.Database.
func (d database) IsDuplicate(err error) bool { return isDuplicate(err) }

// IsInvalidText implements sqlstore.Database. SQLite can store any text.
func (d database) IsInvalidText(error) bool { return false }

// reader implements sqlstore.Querier.
type reader struct{ q querier }

// Query implements sqlstore.Querier.
func (r reader) Query(ctx context.Context, query string, args ...any) (sqlstore.Rows, error) {
	list, err := r.q.query(ctx, query, arguments(args)...)
	if err != nil {
		return nil, err
	}
	return &rows{Rows: list}, nil
}

// tx implements sqlstore.Tx. There is one at a time, so it needs no locks.
type tx struct {
	reader
	w *writer
}

// Exec implements sqlstore.Tx.
func (t tx) Exec(ctx context.Context, query string, args ...any) (int, error) {
	n, err := t.w.affect(ctx, query, arguments(args)...)
	return int(n), err
}

// ExecAll implements sqlstore.Tx.
func (t tx) ExecAll(ctx context.Context, statements ...sqlstore.Statement) (counts []int, err error) {
	for _, s := range statements {
		n, err := t.Exec(ctx, s.Query, s.Args...)
		if err != nil {
			return nil, err
		}
		counts = append(counts, n)
	}
	return counts, nil
}

// LockRows implements sqlstore.Tx.
func (t tx) LockRows(context.Context, string, ...any) error { return nil }

// AdvisoryLock implements sqlstore.Tx.
func (t tx) AdvisoryLock(context.Context, int32, int32) error { return nil }

// rows implements sqlstore.Rows.
type rows struct {
	*sql.Rows
	targets []target
	into    []any // pointers to the elements of targets
}

// Scan implements sqlstore.Rows.
func (r *rows) Scan(into ...any) error {
	if len(r.targets) != len(into) {
		r.targets, r.into = make([]target, len(into)), make([]any, len(into))
		for i := range r.targets {
			r.into[i] = &r.targets[i]
		}
	}
	for i := range into {
		r.targets[i].field = into[i]
	}
	return r.Rows.Scan(r.into...)
}

// Close implements sqlstore.Rows.
func (r *rows) Close() { _ = r.Rows.Close() } // Err has reported the error

// arguments encodes the arguments of an sqlstore statement in place.
func arguments(args []any) []any {
	for i, arg := range args {
		args[i] = argument(arg)
	}
	return args
}

func argument(arg any) any {
	switch v := arg.(type) {
	case nil, int, int64, float64, string, []byte:
		return v
	case bool:
		return bit(v)
	case time.Time:
		return v.UnixMicro()
	case *time.Time:
		if v == nil {
			return nil
		}
	case cola.Date:
		return v.String()
	case []int64:
		return idList(v)
	case []string:
		return jsonList(v, func(s string) string { return s })
	case [][]byte:
		return jsonList(v, hex.EncodeToString)
	}
	return encode(arg)
}

// jsonList returns a list as JSON, for rewritten statements.
func jsonList[T any](list []T, text func(T) string) string {
	b := []byte{'['}
	for i, v := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = cola.AppendJSONString(b, text(v))
	}
	return string(append(b, ']'))
}

// dialect lists the replacements that turn a PostgreSQL statement into one for SQLite, in the order
// in which they apply. INNER JOIN marks tables that SQLite must read in the order of the statement.
var dialect = []struct {
	from *regexp.Regexp
	to   string
}{
	{regexp.MustCompile(`= ANY\((\$\d+)::bytea\[\]\)`), `IN (SELECT unhex(value) FROM json_each($1))`},
	{regexp.MustCompile(`= ANY\((\$\d+)\)`), `IN (SELECT value FROM json_each($1))`},
	{regexp.MustCompile(`make_interval\(secs => (\$\d+)\)`), `CAST(round($1 * 1e6) AS INTEGER)`},
	{regexp.MustCompile(`\$(\d+)`), `?$1`},
	{regexp.MustCompile(`::\w+`), ``},
	{regexp.MustCompile(`\sFOR (NO KEY UPDATE|UPDATE|KEY SHARE|SHARE)( OF \w+)?( SKIP LOCKED)?`), ``},
	{regexp.MustCompile(`clock_timestamp\(\)`), `NULL`},
	{regexp.MustCompile(` COLLATE "C"`), ``},
	{regexp.MustCompile(`\bleast\(`), `min(`},
	{regexp.MustCompile(`\bgreatest\(`), `max(`},
	{regexp.MustCompile(`\bINNER JOIN\b`), `CROSS JOIN`},
}

// rewritten translates a statement to SQLite's dialect. Statements written for SQLite match no
// pattern and are left unchanged.
func rewritten(query string) string {
	for _, d := range dialect {
		query = d.from.ReplaceAllString(query, d.to)
	}
	return query
}
