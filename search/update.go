package search

import (
	"context"
	"fmt"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/cola/vocabulary"
)

// Update collects changes that are published together. It is not safe for concurrent use, and must be ended by Commit or
// Abort.
type Update struct {
	index      *Index // nil once the update has ended
	rows       *rows
	tables     []*table // rows that were set aside, oldest first
	permittees map[string]cola.Permittee
	aliases    []vocabulary.CategoryAlias
	aliased    bool
}

// rowsAside is how many labels are collected before they are set aside in a compact form.
const rowsAside = 1 << 18

// Begin starts an update. It waits until no other is under way.
func (x *Index) Begin() *Update {
	x.updating.Lock()
	return &Update{index: x, rows: newRows(), permittees: map[string]cola.Permittee{}}
}

// Label adds a label, or replaces the one with its id. It copies what it keeps.
func (u *Update) Label(r *cola.IndexRecord) {
	u.rows.add(r)
	if u.rows.t.n == rowsAside {
		u.setAside()
	}
}

func (u *Update) setAside() {
	if u.rows.t.n > 0 {
		u.tables = append(u.tables, u.rows.table())
		u.rows = newRows()
	}
}

// Permittee adds a permittee, or replaces the one with its permit number. It copies what it keeps.
func (u *Update) Permittee(p *cola.Permittee) {
	number := vocabulary.NormalizePermit(p.PermitNumber)
	u.permittees[number] = copyPermittee(p, number)
}

// Aliases replaces the published transitions of category paths.
func (u *Update) Aliases(a []vocabulary.CategoryAlias) {
	u.aliases, u.aliased = append([]vocabulary.CategoryAlias(nil), a...), true
}

// Abort ends the update without publishing anything. After Commit, or a second time, it does nothing.
func (u *Update) Abort() {
	if u.index != nil {
		x := u.index
		*u = Update{}
		x.updating.Unlock()
	}
}

// Commit publishes the changes, all at once, and ends the update. When it fails nothing has changed.
func (u *Update) Commit(m Marks) error {
	if u.index == nil {
		return fmt.Errorf("search: the update has ended")
	}
	x := u.index
	defer u.Abort()
	u.setAside()
	var collected uint32
	for _, t := range u.tables {
		collected += t.n
	}
	x.publishing.Lock()
	defer x.publishing.Unlock()
	next, err := u.apply(x.view.Load())
	if err != nil {
		return fmt.Errorf("index changes: %w", err)
	}
	next.marks = m
	x.view.Store(next)
	x.foldSoon()
	releaseMemory(collected)
	return nil
}

// apply returns the view that follows from another by the update.
func (u *Update) apply(v *View) (*View, error) {
	next := *v
	if u.aliased {
		next.published, next.aliases = u.aliases, vocabulary.AliasTable(u.aliases)
		next.layers = realias(v.layers, next.aliases)
	}
	if len(u.tables) == 0 && len(u.permittees) == 0 {
		return &next, nil
	}
	edit := v.holders.edit()
	for number := range u.permittees {
		p := u.permittees[number]
		edit.put(&p)
	}
	parts := renamedLabels(next.layers, edit)
	for _, t := range u.tables {
		parts = append(parts, part{t: t})
	}
	u.tables = nil
	if len(parts) > 0 {
		if err := next.addLayer(parts, edit); err != nil {
			return nil, err
		}
	}
	next.holders = edit.finish(next.layers)
	return &next, nil
}

// renamedLabels returns the living labels whose permittee has another name now: they have to be indexed anew.
func renamedLabels(layers []layer, edit *holdersEdit) (parts []part) {
	for i := range layers {
		l := &layers[i]
		var live []uint64
		for h := range edit.renamed {
			for _, of := range l.permit(edit.next.recs[h].PermitNumber, nil) {
				if live == nil {
					live = make([]uint64, blockCount(l.t.n)*blockWords)
				}
				of.orInto(live, allBlocks(l.t.n))
			}
		}
		if live != nil {
			if l.dead != nil {
				andNotWords(live, l.dead)
			}
			parts = append(parts, part{t: l.t, live: live})
		}
	}
	return parts
}

// addLayer puts the parts into a new segment, and the labels they replace out of their old ones.
func (v *View) addLayer(parts []part, edit *holdersEdit) error {
	ctx := context.Background()
	t, err := merge(ctx, parts)
	if err != nil || t.n == 0 {
		return err
	}
	clear(parts)
	s, err := buildSegment(ctx, t, edit.names)
	if err != nil {
		return err
	}
	v.layers = bury(v.layers, t.ids, func(l *layer, docs []uint32) {
		edit.count(l.segment, func(yield func(uint32)) {
			for _, doc := range docs {
				yield(doc)
			}
		}, -1)
	})
	edit.count(s, func(yield func(uint32)) {
		for doc := range t.n {
			yield(doc)
		}
	}, +1)
	added := layer{segment: s}
	added.resolve(v.aliases)
	v.layers = append(v.layers, added)
	return nil
}

// bury returns the layers with the labels dead, and without those in which no label lives. It tells what died where.
func bury(layers []layer, ids []uint64, tell func(l *layer, docs []uint32)) []layer {
	left := make([]layer, 0, len(layers)+1)
	for i := range layers {
		l := &layers[i]
		var docs []uint32
		for _, id := range ids {
			if doc, ok := l.t.doc(cola.TTBID(id)); ok && l.alive(doc) {
				docs = append(docs, doc)
			}
		}
		tell(l, docs)
		if b := l.bury(docs); b.living() > 0 {
			left = append(left, b)
		}
	}
	return left
}

// realias returns the layers under other transitions.
func realias(layers []layer, aliases map[string]string) []layer {
	next := append([]layer(nil), layers...)
	for i := range next {
		next[i].resolve(aliases)
	}
	return next
}
