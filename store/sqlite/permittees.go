package sqlite

import (
	"context"
	"slices"
	"strings"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

// UpsertPermittees implements store.Permittees. It is one transaction: callers with many permittees split them.
func (s *Store) UpsertPermittees(ctx context.Context, patches []cola.Patch[cola.Permittee], mode store.Mode) ([]store.Outcome, error) {
	return s.upsert(ctx, "upsert permittees", change{mode: mode,
		plan: func(ctx context.Context, q querier, done int) (*plan, error) {
			known := knownPermittees{}
			numbers := make([]string, len(patches))
			for i := range patches {
				numbers[i] = patches[i].Record.PermitNumber
			}
			if err := known.load(ctx, q, numbers); err != nil {
				return nil, err
			}
			p := &plan{}
			for i := range patches {
				p.add(known.merge(&patches[i]))
			}
			return p, nil
		}})
}

// permitteeState is a permittee as it stands.
type permitteeState struct {
	cola.Permittee
	exists     bool
	fromLabels bool // only ever seen on labels
}

// knownPermittees are those looked at so far, by permit number.
type knownPermittees map[string]permitteeState

var (
	permitteeNames   = strings.Join(names(permitteeColumns(new(cola.Permittee))), ", ")
	selectPermittees = `SELECT permit_number, from_labels, ` + permitteeNames + `
		FROM permittees WHERE permit_number IN (SELECT value FROM json_each(?))`
	selectChangedPermittees = `SELECT permit_number, ` + permitteeNames + ` FROM permittees WHERE revision > ?`
	replacePermittee        = `INSERT OR REPLACE INTO permittees (permit_number, revision, from_labels, ` + permitteeNames + `)
		VALUES (?, ?, ?, ` + placeholders(len(permitteeColumns(new(cola.Permittee)))) + `)`
)

// load reads the permittees with the given numbers that have not been looked at.
func (known knownPermittees) load(ctx context.Context, q querier, numbers []string) error {
	var missing []string
	for _, n := range numbers {
		if _, looked := known[n]; !looked {
			known[n] = permitteeState{Permittee: cola.Permittee{PermitNumber: n}}
			missing = append(missing, n)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	rows, err := q.query(ctx, selectPermittees, encodeList(missing))
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		p := permitteeState{exists: true}
		into := append([]any{&p.PermitNumber, target{&p.fromLabels}}, targets(permitteeColumns(&p.Permittee))...)
		if err := rows.Scan(into...); err != nil {
			return err
		}
		known[p.PermitNumber] = p
	}
	return rows.Err()
}

// merge works out what a patch does to its permittee. What a list says is no longer open to labels.
func (known knownPermittees) merge(patch *cola.Patch[cola.Permittee]) (store.Outcome, step) {
	old := known[patch.Record.PermitNumber]
	p := permitteeState{Permittee: old.Permittee, exists: true}
	patch.Apply(&p.Permittee)
	p.PermitNumber = patch.Record.PermitNumber
	p.Listed = old.Listed || patch.Record.Listed
	if p == old {
		return store.Unchanged, nil
	}
	known[p.PermitNumber] = p
	if !old.exists {
		return store.Added, &p
	}
	return store.Changed, &p
}

// seenOn works out what a label tells of its permittee and returns the permittee when it is new or changed.
func (known knownPermittees) seenOn(c *cola.Cola) *permitteeState {
	old := known[c.PermitNumber]
	if old.exists && !old.fromLabels {
		return nil
	}
	p := old
	if !old.exists {
		p = permitteeState{exists: true, fromLabels: true}
		p.PermitNumber = c.PermitNumber
		p.PermitteeType = cola.Text(cola.PermitteeTypeOf(c.PermitNumber))
	}
	fill(&p.CompanyName, c.AddressRecipient)
	fill(&p.CompanyState, c.AddressState)
	fill(&p.CompanyZipCode, c.AddressZipCode)
	if p == old {
		return nil
	}
	known[c.PermitNumber] = p
	return &p
}

// fill sets a text that is unknown.
func fill(t *cola.Text, from cola.Text) {
	if *t == "" {
		*t = from
	}
}

// write implements step.
func (p *permitteeState) write(ctx context.Context, w *writer, rev cola.Revision) error {
	args := slices.Concat([]any{p.PermitNumber, int64(rev), bit(p.fromLabels)}, values(permitteeColumns(&p.Permittee)))
	return w.exec(ctx, replacePermittee, args...)
}
