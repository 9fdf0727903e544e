package postgres

import (
	"context"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
	"github.com/colaregistry/colaregistry/store/sqlstore"
)

// grants is a subquery for the grants in accounts' windows.
const grants = `(SELECT w.account_id, g.at AS granted_at, g.requests FROM burst_windows w, unnest(w.granted_at, w.requests) AS g (at, requests)) g`

// database runs the statements of the control plane on the general pool.
type database struct{ s *Store }

var _ sqlstore.Database = database{}

// Transact implements sqlstore.Database.
func (d database) Transact(ctx context.Context, operation string,
	work func(ctx context.Context, tx sqlstore.Tx) error) error {
	return d.s.transact(ctx, operation, func(t pgx.Tx) error { return work(ctx, tx{reader{t}, t}) })
}

// TransactUnsynced implements sqlstore.Database.
func (d database) TransactUnsynced(ctx context.Context, operation string,
	work func(ctx context.Context, tx sqlstore.Tx) error) error {
	return d.s.transactUnsynced(ctx, operation, func(t pgx.Tx) error { return work(ctx, tx{reader{t}, t}) })
}

// TransactErasing implements sqlstore.Database. Erasing freed storage is up to the server's
// operator.
func (d database) TransactErasing(ctx context.Context, operation string,
	work func(ctx context.Context, tx sqlstore.Tx) error) error {
	return d.Transact(ctx, operation, work)
}

// Read implements sqlstore.Database.
func (d database) Read(ctx context.Context, operation string, read func(q sqlstore.Querier) error) error {
	return d.s.read(ctx, operation, func() error { return read(reader{d.s.general}) })
}

// View implements sqlstore.Database.
func (d database) View(ctx context.Context, operation string, read func(q sqlstore.Querier) error) error {
	return d.s.read(ctx, operation, func() error {
		return d.s.view(ctx, func(q querier) error { return read(reader{q}) })
	})
}

// ChangeReferences implements sqlstore.Database.
func (d database) ChangeReferences(ctx context.Context, operation string, mode store.Mode,
	work func(ctx context.Context, q sqlstore.Querier) (sqlstore.Change, error)) ([]store.Outcome, error) {
	return d.s.upsert(ctx, operation, change{
		mode:      mode,
		reference: true,
		plan: func(ctx context.Context, q querier) (plan, error) {
			c, err := work(ctx, reader{q})
			p := plan{outcomes: c.Outcomes}
			if len(c.Statements) > 0 {
				p.write = func(ctx context.Context, t pgx.Tx, _ cola.Revision) error {
					_, err := tx{reader{t}, t}.ExecAll(ctx, c.Statements...)
					return err
				}
			}
			return p, err
		},
	})
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

// IsInvalidText implements sqlstore.Database.
func (d database) IsInvalidText(err error) bool { return sqlState(err) == notInEncoding }

// reader implements sqlstore.Querier.
type reader struct{ q querier }

// Query implements sqlstore.Querier.
func (r reader) Query(ctx context.Context, query string, args ...any) (sqlstore.Rows, error) {
	list, err := r.q.Query(ctx, query, arguments(args)...)
	if err != nil {
		return nil, err
	}
	return rows{list}, nil
}

// tx implements sqlstore.Tx.
type tx struct {
	reader
	tx pgx.Tx
}

// Exec implements sqlstore.Tx.
func (t tx) Exec(ctx context.Context, query string, args ...any) (int, error) {
	done, err := t.tx.Exec(ctx, query, arguments(args)...)
	return int(done.RowsAffected()), err
}

// ExecAll implements sqlstore.Tx.
func (t tx) ExecAll(ctx context.Context, statements ...sqlstore.Statement) (counts []int, err error) {
	for chunk := range slices.Chunk(statements, statementsPerBatch) {
		b := &pgx.Batch{}
		for _, s := range chunk {
			b.Queue(s.Query, arguments(s.Args)...).Exec(func(done pgconn.CommandTag) error {
				counts = append(counts, int(done.RowsAffected()))
				return nil
			})
		}
		if err := closeBatch(t.tx.SendBatch(ctx, b), nil); err != nil {
			return nil, err
		}
	}
	return counts, nil
}

// LockRows implements sqlstore.Tx.
func (t tx) LockRows(ctx context.Context, query string, args ...any) error {
	_, err := t.Exec(ctx, query, args...)
	return err
}

// AdvisoryLock implements sqlstore.Tx.
func (t tx) AdvisoryLock(ctx context.Context, class, key int32) error {
	_, err := t.tx.Exec(ctx, `SELECT pg_advisory_xact_lock($1, $2)`, class, key)
	return err
}

// rows implements sqlstore.Rows.
type rows struct{ pgx.Rows }

// Scan implements sqlstore.Rows.
func (r rows) Scan(into ...any) error { return r.Rows.Scan(fields(into)) }

// arguments encodes the arguments of an sqlstore statement in place.
func arguments(args []any) []any {
	for i, arg := range args {
		args[i] = argument(arg)
	}
	return args
}

func argument(arg any) any {
	switch v := arg.(type) {
	case nil, int, int64, float64, string, []byte, bool, time.Time, []int64, []string, [][]byte:
		return v
	case *time.Time:
		if v == nil {
			return nil
		}
	case cola.Date:
		return v.Time()
	}
	return encode(arg)
}
