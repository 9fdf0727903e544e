package sqlite

import (
	"context"
	"slices"
	"strings"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
	"github.com/colaregistry/colaregistry/store/records"
)

// UpsertPermittees implements store.Permittees. It is one transaction: callers with many permittees split them.
func (s *Store) UpsertPermittees(ctx context.Context, patches []cola.Patch[cola.Permittee], mode store.Mode) ([]store.Outcome, error) {
	return s.upsert(ctx, "upsert permittees", change{mode: mode,
		plan: func(ctx context.Context, q querier, _ int) (*plan, error) {
			var known records.Permittees
			numbers := make([]string, len(patches))
			for i := range patches {
				numbers[i] = patches[i].Record.PermitNumber
			}
			if err := known.Load(ctx, stored{q}, numbers); err != nil {
				return nil, err
			}
			p := &plan{}
			for i := range patches {
				outcome, changed := known.Merge(&patches[i])
				if changed == nil {
					p.add(outcome, nil)
					continue
				}
				p.add(outcome, permitteeStep(*changed))
			}
			return p, nil
		}})
}

var (
	permitteeNames   = strings.Join(records.Names(records.PermitteeColumns(new(cola.Permittee))), ", ")
	selectPermittees = `SELECT permit_number, from_labels, ` + permitteeNames + `
		FROM permittees WHERE permit_number IN (SELECT value FROM json_each(?))`
	selectChangedPermittees = `SELECT permit_number, ` + permitteeNames + ` FROM permittees WHERE revision > ?`
	replacePermittee        = `INSERT OR REPLACE INTO permittees (permit_number, revision, from_labels, ` + permitteeNames + `)
		VALUES (?, ?, ?, ` + placeholders(len(records.PermitteeColumns(new(cola.Permittee)))) + `)`
)

// Permittees implements records.Reader.
func (s stored) Permittees(ctx context.Context, numbers []string, found func(records.Permittee)) error {
	rows, err := s.q.query(ctx, selectPermittees, argument(numbers))
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		p := records.Permittee{Exists: true}
		into := append([]any{&p.PermitNumber, target{&p.FromLabels}}, targets(records.PermitteeColumns(&p.Permittee))...)
		if err := rows.Scan(into...); err != nil {
			return err
		}
		found(p)
	}
	return rows.Err()
}

// permitteeStep writes one permittee.
type permitteeStep records.Permittee

// write implements step.
func (p permitteeStep) write(ctx context.Context, w *writer, rev cola.Revision) error {
	args := slices.Concat([]any{p.PermitNumber, int64(rev), bit(p.FromLabels)}, values(records.PermitteeColumns(&p.Permittee)))
	return w.exec(ctx, replacePermittee, args...)
}
