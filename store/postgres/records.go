package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

// How records are written: a transaction locks the row of meta first and holds it to its commit, so that revisions become
// visible in order and whoever follows them skips nothing. Everything that the write is about is read behind that lock,
// merged and compared, and only what differs is written. Writers of records wait for each other; readers wait for nobody,
// and the ledger has rows of its own.

const (
	notifyChange   = `SELECT pg_notify('` + changesChannel + `', '')`
	statementsSent = 1000 // at a time, of a statement for each row
)

// plan is what is to become of some records: an outcome each, and what brings it about, nil where there is nothing to do.
type plan struct {
	outcomes []store.Outcome
	write    func(ctx context.Context, tx pgx.Tx, rev cola.Revision) error
}

// change describes a write of records.
type change struct {
	mode      store.Mode
	reference bool // reference data: moves its revision too
	// plan works out what becomes of the records. It may be asked again.
	plan func(ctx context.Context, q querier) (plan, error)
}

// upsert is apply as a whole method of the store.
func (s *Store) upsert(ctx context.Context, operation string, c change) ([]store.Outcome, error) {
	if err := s.start(); err != nil {
		return nil, failed(operation, err)
	}
	defer s.done()
	outcomes, err := s.apply(ctx, c)
	return outcomes, s.failed(ctx, operation, err)
}

// apply plans and writes in one transaction, and returns the outcomes of the records kept: all of them unless there is an
// error.
func (s *Store) apply(ctx context.Context, c change) ([]store.Outcome, error) {
	var p plan
	var err error
	if !c.mode.Writes() {
		err = s.view(ctx, func(q querier) error {
			p, err = c.plan(ctx, q)
			return err
		})
	} else {
		err = inTransaction(ctx, s.general, func(tx pgx.Tx) error {
			p, err = s.carryOut(ctx, tx, c)
			return err
		})
	}
	if err != nil {
		return nil, err
	}
	return p.outcomes, nil
}

// carryOut plans and writes within a transaction. Without anything to write it takes no revision and wakes nobody.
func (s *Store) carryOut(ctx context.Context, tx pgx.Tx, c change) (p plan, err error) {
	_, rev, err := s.nextRevision(ctx, tx)
	if err != nil {
		return p, err
	}
	if p, err = c.plan(ctx, tx); err != nil || p.write == nil {
		return p, err
	}
	if err := p.write(ctx, tx, rev); err != nil {
		return p, err
	}
	query := setRevision
	if c.reference {
		query = setBoth
	}
	b := &pgx.Batch{}
	b.Queue(query, int64(rev))
	b.Queue(notifyChange)
	return p, sent(tx.SendBatch(ctx, b), nil)
}

// executeEach runs a statement for each list of arguments. They travel together, so that no row waits for the answer to the
// one before.
func executeEach(ctx context.Context, tx pgx.Tx, query string, count int, args func(i int) []any) error {
	for from := 0; from < count; from += statementsSent {
		b := &pgx.Batch{}
		for i := from; i < min(from+statementsSent, count); i++ {
			b.Queue(query, args(i)...)
		}
		if err := sent(tx.SendBatch(ctx, b), nil); err != nil {
			return err
		}
	}
	return nil
}

// copyRows copies rows into a table.
func copyRows(ctx context.Context, tx pgx.Tx, table string, columns []string, count int, row func(i int) []any) error {
	if count == 0 {
		return nil
	}
	_, err := tx.CopyFrom(ctx, pgx.Identifier{table}, columns, pgx.CopyFromSlice(count, func(i int) ([]any, error) { return row(i), nil }))
	return err
}
