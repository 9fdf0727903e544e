package search

import "github.com/colaregistry/colaregistry/cola"

// merger walks the documents found in several layers in result order.
type merger struct {
	layers []layer
	heads  []head
}

// head is where the walk stands in one layer.
type head struct {
	layer int
	docs  []uint32
	at    cola.Position // of docs[0]
}

func newMerger(layers []layer, found [][]uint32) *merger {
	m := &merger{layers: layers}
	for i, docs := range found {
		if len(docs) > 0 {
			m.heads = append(m.heads, head{i, docs, layers[i].t.position(docs[0])})
		}
	}
	return m
}

// skip leaves out the next n documents. The first n/h documents of whichever of h layers ends soonest with them are among
// the next n, so that they are left out at once.
func (m *merger) skip(n int) {
	for n > 0 && len(m.heads) > 0 {
		step := max(1, n/len(m.heads))
		soonest, end := 0, cola.Position{}
		for i, h := range m.heads {
			last := m.layers[h.layer].t.position(h.docs[min(step, len(h.docs))-1])
			if i == 0 || before(last, end) {
				soonest, end = i, last
			}
		}
		left := min(step, len(m.heads[soonest].docs))
		m.drop(soonest, left)
		n -= left
	}
}

// drop leaves out the first documents of one layer.
func (m *merger) drop(i, n int) {
	h := &m.heads[i]
	if h.docs = h.docs[n:]; len(h.docs) == 0 {
		m.heads = append(m.heads[:i], m.heads[i+1:]...)
	} else if len(m.heads) > 1 {
		h.at = m.layers[h.layer].t.position(h.docs[0])
	}
}

// next returns the next document.
func (m *merger) next() (layer int, doc uint32, ok bool) {
	if len(m.heads) == 0 {
		return 0, 0, false
	}
	first := 0
	for i := 1; i < len(m.heads); i++ {
		if before(m.heads[i].at, m.heads[first].at) {
			first = i
		}
	}
	h := &m.heads[first]
	layer, doc = h.layer, h.docs[0]
	m.drop(first, 1)
	return layer, doc, true
}
