package search

import (
	"slices"

	"github.com/colaregistry/colaregistry/cola"
)

// Subset is some of the labels of one view. It never changes; any number of goroutines may use it.
type Subset struct {
	docs [][]uint32 // of each layer, ascending
}

// Subset returns the labels with the ids, as far as the view has them.
func (v *View) Subset(ids []cola.TTBID) *Subset {
	s := &Subset{docs: make([][]uint32, len(v.layers))}
	for _, id := range ids {
		if i, doc, ok := v.find(id); ok {
			s.docs[i] = append(s.docs[i], doc)
		}
	}
	for i, docs := range s.docs {
		slices.Sort(docs)
		s.docs[i] = slices.Compact(docs)
	}
	return s
}

// Matches returns every label of a subset of the view that matches, as Search finds them and in the same order. A barcode that
// matches no label of the subset is looked for as text.
func (v *View) Matches(query cola.Query, among *Subset) []cola.Position {
	q, ok := v.resolve(&query)
	if !ok {
		return nil
	}
	found := v.matchesOf(q, among)
	if found == nil && q.barcode {
		found = v.matchesOf(q.asText(), among)
	}
	return found
}

// matchesOf returns the labels of a subset that match a query which has been worked out.
func (v *View) matchesOf(q query, among *Subset) []cola.Position {
	sc := v.scratches.get()
	defer v.scratches.put(sc)
	found := make([][]uint32, len(v.layers))
	total := 0
	for i := range v.layers {
		l := &v.layers[i]
		p := newPlan(&q, i, l, sc)
		if !p.never {
			p.docs(among.docs[i])
		}
		if !p.never {
			p.take = len(among.docs[i])
			_, found[i] = l.run(&p.selection, sc)
			total += len(found[i])
		}
		p.release()
	}
	return v.positions(found, total)
}

// positions merges what was found in each layer in result order.
func (v *View) positions(found [][]uint32, total int) []cola.Position {
	if total == 0 {
		return nil
	}
	positions := make([]cola.Position, 0, total)
	next := newMerger(v.layers, found)
	for range total {
		i, doc, _ := next.next()
		positions = append(positions, v.layers[i].t.position(doc))
	}
	return positions
}
