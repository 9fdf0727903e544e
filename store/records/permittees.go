package records

import (
	"context"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/cola/vocabulary"
	"github.com/colaregistry/colaregistry/store"
)

// Permittee is a permittee as it stands.
type Permittee struct {
	store.StoredPermittee
	Exists bool
}

// Permittees are those looked at so far, by permit number. The zero value has looked at nothing.
type Permittees struct{ known map[string]Permittee }

// Load reads the permittees with the given numbers that have not been looked at.
func (ps *Permittees) Load(ctx context.Context, r Reader, numbers []string) error {
	if ps.known == nil {
		ps.known = map[string]Permittee{}
	}
	var missing []string
	for _, n := range numbers {
		if _, looked := ps.known[n]; !looked {
			ps.known[n] = Permittee{StoredPermittee: store.StoredPermittee{Permittee: cola.Permittee{PermitNumber: n}}}
			missing = append(missing, n)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	return r.Permittees(ctx, missing, func(p Permittee) { ps.known[p.PermitNumber] = p })
}

// Merge works out what a patch does to its permittee, which has been looked at. The permittee is nil when there is nothing
// to write. What a list says is no longer open to labels.
func (ps *Permittees) Merge(patch *cola.Patch[cola.Permittee]) (store.Outcome, *Permittee) {
	old := ps.known[patch.Record.PermitNumber]
	p := old
	p.Exists, p.FromLabels = true, false
	patch.Apply(&p.Permittee)
	p.PermitNumber = patch.Record.PermitNumber
	p.Listed = old.Listed || patch.Record.Listed
	if p == old {
		return store.Unchanged, nil
	}
	ps.known[p.PermitNumber] = p
	if !old.Exists {
		return store.Added, &p
	}
	return store.Changed, &p
}

// SeenOn works out what a label tells of its permittee, which has been looked at, and returns the permittee when it is new
// or changed.
func (ps *Permittees) SeenOn(c *cola.Cola) *Permittee {
	old := ps.known[c.PermitNumber]
	if old.Exists && !old.FromLabels {
		return nil
	}
	p := old
	if !old.Exists {
		p.Exists, p.FromLabels = true, true
		p.PermitteeType = cola.Text(vocabulary.PermitteeTypeOf(c.PermitNumber))
	}
	fill(&p.CompanyName, c.AddressRecipient)
	fill(&p.CompanyState, c.AddressState)
	fill(&p.CompanyZipCode, c.AddressZipCode)
	if p == old {
		return nil
	}
	ps.known[c.PermitNumber] = p
	return &p
}

// fill sets a text that is unknown.
func fill(t *cola.Text, from cola.Text) {
	if *t == "" {
		*t = from
	}
}
