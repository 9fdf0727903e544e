package search

import "slices"

// postingsBuilder writes postings list by list.
type postingsBuilder struct{ p postings }

func newPostingsBuilder(n uint32, lists int) *postingsBuilder {
	return &postingsBuilder{postings{n: n, off: append(make([]uint32, 0, lists+1), 0)}}
}

// add writes the next list: ascending, distinct documents.
func (b *postingsBuilder) add(docs []uint32) {
	p := &b.p
	if len(docs) <= sparseMost {
		p.docs = append(p.docs, docs...)
		b.end()
		return
	}
	b.begin(len(docs))
	for len(docs) > 0 {
		block := docs[0] >> blockShift
		k, _ := slices.BinarySearchFunc(docs, uint64(block+1)<<blockShift, func(d uint32, t uint64) int {
			if uint64(d) < t {
				return -1
			}
			return 1
		})
		b.container(block, docs[:k])
		docs = docs[k:]
	}
	b.end()
}

func (b *postingsBuilder) container(block uint32, docs []uint32) {
	p := &b.p
	if !dense(p.n, block, len(docs)) {
		b.head(block, len(docs), len(p.small))
		for _, d := range docs {
			p.small = append(p.small, uint16(d))
		}
		return
	}
	b.head(block, len(docs), len(p.words))
	at := len(p.words)
	p.words = append(p.words, make([]uint64, blockWidth(p.n, block))...)
	for _, d := range docs {
		setBit(p.words[at:], d&(blockDocs-1))
	}
}

// addBits writes the next list from a bitmap over all documents. Only the span's blocks are looked at.
func (b *postingsBuilder) addBits(w []uint64, s span) {
	p := &b.p
	end := min(int(s.last+1)*blockWords, len(w))
	total := popcount(w[int(s.first)*blockWords : end])
	if total <= sparseMost {
		for block := s.first; block <= s.last; block++ {
			at := int(block) * blockWords
			p.docs = appendBits(p.docs, w[at:min(at+blockWords, len(w))], block<<blockShift, 1<<62)
		}
		b.end()
		return
	}
	b.begin(total)
	for block := s.first; block <= s.last; block++ {
		at := int(block) * blockWords
		src := w[at : at+blockWidth(p.n, block)]
		switch card := popcount(src); {
		case card == 0:
		case dense(p.n, block, card):
			b.head(block, card, len(p.words))
			p.words = append(p.words, src...)
		default:
			b.head(block, card, len(p.small))
			eachBit(src, 0, func(d uint32) bool {
				p.small = append(p.small, uint16(d))
				return true
			})
		}
	}
	b.end()
}

func (b *postingsBuilder) begin(count int) {
	p := &b.p
	p.long = append(p.long, uint32(p.lists()))
	p.count = append(p.count, uint32(count))
	p.first = append(p.first, uint32(len(p.key)))
}

func (b *postingsBuilder) head(block uint32, card, at int) {
	p := &b.p
	p.key = append(p.key, uint16(block))
	p.card = append(p.card, uint16(card-1))
	p.at = append(p.at, uint32(at))
}

func (b *postingsBuilder) end() { b.p.off = append(b.p.off, uint32(len(b.p.docs))) }

// postings returns what was written; the builder is spent.
func (b *postingsBuilder) postings() postings {
	p := b.p
	p.first = append(p.first, uint32(len(p.key)))
	p.off, p.docs = exact(p.off), exact(p.docs)
	p.small, p.words = exact(p.small), exact(p.words)
	p.key, p.card, p.at = exact(p.key), exact(p.card), exact(p.at)
	b.p = postings{}
	return p
}

// groups holds for each value the documents that have it, ascending.
type groups struct{ off, docs []uint32 }

func (g *groups) at(v uint32) []uint32 { return g.docs[g.off[v]:g.off[v+1]] }

// groupBy turns documents with their values into values with their documents. each is called twice for every document and
// puts its values, each once.
func groupBy(n uint32, values int, each func(doc uint32, put func(value uint32))) groups {
	g := groups{off: make([]uint32, values+1)}
	doc := uint32(0)
	count := func(v uint32) { g.off[v+1]++ }
	for ; doc < n; doc++ {
		each(doc, count)
	}
	for v := range values {
		g.off[v+1] += g.off[v]
	}
	g.docs = make([]uint32, g.off[values])
	place := func(v uint32) {
		g.docs[g.off[v]] = doc
		g.off[v]++
	}
	for doc = 0; doc < n; doc++ {
		each(doc, place)
	}
	copy(g.off[1:], g.off) // each offset has moved to the end of its group, where the next begins
	g.off[0] = 0
	return g
}

// addGroups writes a list for each value.
func (b *postingsBuilder) addGroups(g groups) {
	for v := range len(g.off) - 1 {
		b.add(g.at(uint32(v)))
	}
}

// gatherer unites lists into the next list of a builder.
type gatherer struct {
	lists []list
	n     int // documents in lists, repetitions counted
	docs  []uint32
	words []uint64 // clear between uses
}

func newGatherer(n uint32) *gatherer {
	return &gatherer{words: make([]uint64, blockCount(n)*blockWords)}
}

// gatherBySort is the number of documents up to which sorting is quicker than a bitmap.
const gatherBySort = 1500

func (g *gatherer) add(l list) {
	if l.n > 0 {
		g.lists = append(g.lists, l)
		g.n += l.n
	}
}

// into writes the union and forgets it.
func (g *gatherer) into(b *postingsBuilder) {
	switch {
	case len(g.lists) == 1 && g.lists[0].p == nil:
		b.add(g.lists[0].docs)
	case g.n <= gatherBySort:
		g.docs = g.docs[:0]
		for _, l := range g.lists {
			l.each(func(d uint32) bool { g.docs = append(g.docs, d); return true })
		}
		slices.Sort(g.docs)
		b.add(slices.Compact(g.docs))
	default:
		all := allBlocks(b.p.n)
		for _, l := range g.lists {
			l.orInto(g.words, all)
		}
		b.addBits(g.words[:wordsFor(b.p.n)], all)
		clear(g.words)
	}
	g.lists, g.n = g.lists[:0], 0
}
