package postgres

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
	"github.com/colaregistry/colaregistry/store/records"
)

// To write records, a transaction first locks the meta table's only row until it commits, so
// revisions become visible in order and followers miss none. Under that lock it reads, merges and
// compares the records, and writes only the differences. Writers of records wait for each other;
// readers and the ledger never wait for them.

const (
	notifyChange       = `SELECT pg_notify('` + changesChannel + `', '')`
	statementsPerBatch = 1000 // maximum number of statements sent in one round trip
)

// plan is a planned write of records.
type plan struct {
	outcomes []store.Outcome                                               // one for each record
	write    func(ctx context.Context, tx pgx.Tx, rev cola.Revision) error // nil if nothing changes
}

// change describes a write of records.
type change struct {
	mode      store.Mode
	reference bool // reference data: also advances the reference revision
	// plan computes the plan. It may be called more than once.
	plan func(ctx context.Context, q querier) (plan, error)
}

// upsert implements the Store methods that write records: it applies c and wraps any error with the
// operation.
func (s *Store) upsert(ctx context.Context, operation string, c change) ([]store.Outcome, error) {
	if err := s.start(); err != nil {
		return nil, failed(operation, err)
	}
	defer s.done()
	outcomes, err := s.apply(ctx, c)
	return outcomes, s.failed(ctx, operation, err)
}

// apply plans and writes in one transaction, and returns the outcomes.
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

// carryOut plans and writes within a transaction. If nothing changes, it assigns no revision and
// sends no notification.
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
	return p, closeBatch(tx.SendBatch(ctx, b), nil)
}

// executeEach runs a statement for each list of arguments, in batches.
func executeEach(ctx context.Context, tx pgx.Tx, query string, count int, args func(i int) []any) error {
	for from := 0; from < count; from += statementsPerBatch {
		b := &pgx.Batch{}
		for i := from; i < min(from+statementsPerBatch, count); i++ {
			b.Queue(query, args(i)...)
		}
		if err := closeBatch(tx.SendBatch(ctx, b), nil); err != nil {
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
	_, err := tx.CopyFrom(ctx, pgx.Identifier{table}, columns,
		pgx.CopyFromSlice(count, func(i int) ([]any, error) { return row(i), nil }))
	return err
}

// revisionRetention is how long a revision is stored after a newer one replaces it as the latest.
const revisionRetention = 30 * 24 * time.Hour

const (
	lockRevision = `SELECT revision, coalesce($1, clock_timestamp()) FROM meta FOR UPDATE`
	setRevision  = `UPDATE meta SET revision = $1`
	setBoth      = `UPDATE meta SET revision = $1, reference_revision = $1`
	// deleteRevisions keeps the revision that was the latest at the start of the retention period.
	deleteRevisions = `DELETE FROM revisions WHERE revision < (SELECT max(revision) FROM revisions
		WHERE revision <= (extract(epoch FROM coalesce($1, clock_timestamp()) - make_interval(secs => $2)) * 1000000)::bigint)`
)

// nextRevision locks out other writers of records until the end of the transaction, and returns the
// latest and the next revision.
func (s *Store) nextRevision(ctx context.Context, tx pgx.Tx) (latest, next cola.Revision, err error) {
	var now time.Time
	err = tx.QueryRow(ctx, lockRevision, s.clock()).Scan(fields{&latest, &now})
	return latest, max(latest+1, cola.Revision(now.UnixMicro())), err
}

func (s *Store) deleteOldRevisions(ctx context.Context) error {
	_, err := s.general.Exec(ctx, deleteRevisions, s.clock(), revisionRetention.Seconds())
	return err
}

// UpsertPermittees implements store.Permittees in one transaction. Callers split large imports into
// several calls.
func (s *Store) UpsertPermittees(
	ctx context.Context, patches []cola.Patch[cola.Permittee], mode store.Mode,
) ([]store.Outcome, error) {
	return s.upsert(ctx, "upsert permittees",
		change{mode: mode, plan: func(ctx context.Context, q querier) (plan, error) {
			var known records.Permittees
			numbers := make([]string, len(patches))
			for i := range patches {
				numbers[i] = patches[i].Record.PermitNumber
			}
			if err := known.Load(ctx, stored{q}, numbers); err != nil {
				return plan{}, err
			}
			var p plan
			var changed []*records.Permittee
			for i := range patches {
				outcome, permittee := known.Merge(&patches[i])
				p.outcomes = append(p.outcomes, outcome)
				if permittee != nil {
					changed = append(changed, permittee)
				}
			}
			if len(changed) > 0 {
				p.write = func(ctx context.Context, tx pgx.Tx, rev cola.Revision) error {
					return writePermittees(ctx, tx, rev, changed)
				}
			}
			return p, nil
		}})
}

var (
	permitteeNames          = records.Names(records.PermitteeColumns(new(cola.Permittee)))
	permitteeList           = strings.Join(permitteeNames, ", ")
	selectPermittees        = `SELECT permit_number, from_labels, ` + permitteeList + ` FROM permittees WHERE permit_number = ANY($1)`
	selectChangedPermittees = `SELECT permit_number, ` + permitteeList + ` FROM permittees WHERE revision > $1`
	replacePermittee        = upsertRow("permittees",
		append([]string{"permit_number", "revision", "from_labels"}, permitteeNames...), 1)
)

func storedPermitteeColumns(p *store.StoredPermittee) fields {
	return append(fields{&p.PermitNumber, &p.FromLabels}, targets(records.PermitteeColumns(&p.Permittee))...)
}

// Permittees implements records.Reader.
func (s stored) Permittees(ctx context.Context, numbers []string, found func(records.Permittee)) error {
	rows, err := s.q.Query(ctx, selectPermittees, numbers)
	list, err := collect(rows, err,
		func(p *records.Permittee) fields { return storedPermitteeColumns(&p.StoredPermittee) })
	for _, p := range list {
		p.Exists = true
		found(p)
	}
	return err
}

func writePermittees(ctx context.Context, tx pgx.Tx, rev cola.Revision, list []*records.Permittee) error {
	return executeEach(ctx, tx, replacePermittee, len(list), func(i int) []any {
		p := list[i]
		return slices.Concat([]any{p.PermitNumber, int64(rev), p.FromLabels},
			values(records.PermitteeColumns(&p.Permittee)))
	})
}

// upsertRow returns a statement that inserts or replaces a row. The first keys columns are the key.
func upsertRow(table string, columns []string, keys int) string {
	var set []string
	for _, name := range columns[keys:] {
		set = append(set, name+" = excluded."+name)
	}
	return insertRow(table, columns) + ` ON CONFLICT (` + strings.Join(columns[:keys],
		", ") + `) DO UPDATE SET ` + strings.Join(set, ", ")
}

func insertRow(table string, columns []string) string {
	return `INSERT INTO ` + table + ` (` + strings.Join(columns, ", ") + `) VALUES (` + placeholders(len(columns)) + `)`
}

// placeholders returns "$1, $2, …" for n values.
func placeholders(n int) string {
	var b strings.Builder
	for i := range n {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString("$" + strconv.Itoa(i+1))
	}
	return b.String()
}
