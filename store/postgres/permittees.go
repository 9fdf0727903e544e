package postgres

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
	"github.com/colaregistry/colaregistry/store/records"
)

// UpsertPermittees implements store.Permittees. It is one transaction: callers with many permittees split them.
func (s *Store) UpsertPermittees(ctx context.Context, patches []cola.Patch[cola.Permittee], mode store.Mode) ([]store.Outcome, error) {
	return s.upsert(ctx, "upsert permittees", change{mode: mode, plan: func(ctx context.Context, q querier) (plan, error) {
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
	replacePermittee        = upsertRow("permittees", append([]string{"permit_number", "revision", "from_labels"}, permitteeNames...), 1)
)

func storedPermitteeColumns(p *store.StoredPermittee) fields {
	return append(fields{&p.PermitNumber, &p.FromLabels}, targets(records.PermitteeColumns(&p.Permittee))...)
}

// Permittees implements records.Reader.
func (s stored) Permittees(ctx context.Context, numbers []string, found func(records.Permittee)) error {
	rows, err := s.q.Query(ctx, selectPermittees, numbers)
	list, err := collect(rows, err, func(p *records.Permittee) fields { return storedPermitteeColumns(&p.StoredPermittee) })
	for _, p := range list {
		p.Exists = true
		found(p)
	}
	return err
}

func writePermittees(ctx context.Context, tx pgx.Tx, rev cola.Revision, list []*records.Permittee) error {
	return executeEach(ctx, tx, replacePermittee, len(list), func(i int) []any {
		p := list[i]
		return slices.Concat([]any{p.PermitNumber, int64(rev), p.FromLabels}, values(records.PermitteeColumns(&p.Permittee)))
	})
}

// upsertRow returns the statement that makes a row of a table or replaces the one that has its key, the first so many of
// the columns.
func upsertRow(table string, columns []string, keys int) string {
	var set []string
	for _, name := range columns[keys:] {
		set = append(set, name+" = excluded."+name)
	}
	return insertRow(table, columns) + ` ON CONFLICT (` + strings.Join(columns[:keys], ", ") + `) DO UPDATE SET ` + strings.Join(set, ", ")
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
