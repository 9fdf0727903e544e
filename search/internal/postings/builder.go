package postings

import (
	"slices"

	"github.com/colaregistry/colaregistry/search/internal/codec"
)

// Builder builds Lists one list at a time.
type Builder struct{ p Lists }

// NewBuilder returns a builder for lists of documents numbered below n. lists is the expected
// number of lists.
func NewBuilder(n uint32, lists int) *Builder {
	return &Builder{Lists{n: n, off: append(make([]uint32, 0, lists+1), 0)}}
}

// Add appends a list of ascending, distinct documents.
func (b *Builder) Add(docs []uint32) {
	p := &b.p
	if len(docs) <= maxShort {
		p.docs = append(p.docs, docs...)
		b.endList()
		return
	}
	b.beginLong(len(docs))
	for len(docs) > 0 {
		block := docs[0] >> BlockShift
		k, _ := slices.BinarySearchFunc(docs, uint64(block+1)<<BlockShift, func(d uint32, t uint64) int {
			if uint64(d) < t {
				return -1
			}
			return 1
		})
		b.addContainer(block, docs[:k])
		docs = docs[k:]
	}
	b.endList()
}

// addContainer appends the documents of one block to a long list.
func (b *Builder) addContainer(block uint32, docs []uint32) {
	p := &b.p
	if !dense(p.n, block, len(docs)) {
		b.addHeader(block, len(docs), len(p.small))
		for _, d := range docs {
			p.small = append(p.small, uint16(d))
		}
		return
	}
	b.addHeader(block, len(docs), len(p.words))
	at := len(p.words)
	p.words = append(p.words, make([]uint64, BlockWidth(p.n, block))...)
	for _, d := range docs {
		SetBit(p.words[at:], d&(BlockDocs-1))
	}
}

// addBits appends a list from a bitmap over all documents. It reads only the blocks in the span.
func (b *Builder) addBits(w []uint64, s Span) {
	p := &b.p
	end := min(int(s.last+1)*BlockWords, len(w))
	total := PopCount(w[int(s.first)*BlockWords : end])
	if total <= maxShort {
		for block := s.first; block <= s.last; block++ {
			at := int(block) * BlockWords
			p.docs = AppendBits(p.docs, w[at:min(at+BlockWords, len(w))], block<<BlockShift, 1<<62)
		}
		b.endList()
		return
	}
	b.beginLong(total)
	for block := s.first; block <= s.last; block++ {
		at := int(block) * BlockWords
		src := w[at : at+BlockWidth(p.n, block)]
		switch card := PopCount(src); {
		case card == 0:
		case dense(p.n, block, card):
			b.addHeader(block, card, len(p.words))
			p.words = append(p.words, src...)
		default:
			b.addHeader(block, card, len(p.small))
			EachBit(src, 0, func(d uint32) bool {
				p.small = append(p.small, uint16(d))
				return true
			})
		}
	}
	b.endList()
}

// beginLong begins a long list of count documents.
func (b *Builder) beginLong(count int) {
	p := &b.p
	p.long = append(p.long, uint32(p.Len()))
	p.count = append(p.count, uint32(count))
	p.first = append(p.first, uint32(len(p.key)))
}

// addHeader appends the header of a container whose content begins at index at.
func (b *Builder) addHeader(block uint32, card, at int) {
	p := &b.p
	p.key = append(p.key, uint16(block))
	p.card = append(p.card, uint16(card-1))
	p.at = append(p.at, uint32(at))
}

func (b *Builder) endList() { b.p.off = append(b.p.off, uint32(len(b.p.docs))) }

// Lists returns the lists. The builder must not be used afterward.
func (b *Builder) Lists() Lists {
	p := b.p
	p.first = append(p.first, uint32(len(p.key)))
	p.off, p.docs = codec.Shrink(p.off), codec.Shrink(p.docs)
	p.small, p.words = codec.Shrink(p.small), codec.Shrink(p.words)
	p.key, p.card, p.at = codec.Shrink(p.key), codec.Shrink(p.card), codec.Shrink(p.at)
	b.p = Lists{}
	return p
}

// Groups holds the documents of each value in ascending order.
type Groups struct{ off, docs []uint32 }

// At returns the documents of a value.
func (g *Groups) At(v uint32) []uint32 { return g.docs[g.off[v]:g.off[v+1]] }

// GroupBy groups n documents by value. each is called twice for every document; it must call put
// once for each distinct value of the document.
func GroupBy(n uint32, values int, each func(doc uint32, put func(value uint32))) Groups {
	g := Groups{off: make([]uint32, values+1)}
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
	copy(g.off[1:], g.off) // placing moved each offset to the end of its group, where the next one begins
	g.off[0] = 0
	return g
}

// AddGroups appends a list for each value.
func (b *Builder) AddGroups(g Groups) {
	for v := range len(g.off) - 1 {
		b.Add(g.At(uint32(v)))
	}
}

// Union collects lists and appends their union to a Builder. It can be reused.
type Union struct {
	lists []List
	n     int // documents in the lists, including duplicates
	docs  []uint32
	words []uint64 // bitmap over all documents, clear between uses
}

// NewUnion returns an empty union of lists of documents numbered below n.
func NewUnion(n uint32) *Union {
	return &Union{words: make([]uint64, BlockCount(n)*BlockWords)}
}

// maxSortedUnion is the number of documents up to which sorting is faster than a bitmap.
const maxSortedUnion = 1500

// Add adds a list.
func (u *Union) Add(l List) {
	if l.n > 0 {
		u.lists = append(u.lists, l)
		u.n += l.n
	}
}

// AppendTo appends the union to b and resets u.
func (u *Union) AppendTo(b *Builder) {
	switch {
	case len(u.lists) == 1 && u.lists[0].p == nil:
		b.Add(u.lists[0].docs)
	case u.n <= maxSortedUnion:
		u.docs = u.docs[:0]
		for _, l := range u.lists {
			l.Each(func(d uint32) bool { u.docs = append(u.docs, d); return true })
		}
		slices.Sort(u.docs)
		b.Add(slices.Compact(u.docs))
	default:
		all := AllBlocks(b.p.n)
		for _, l := range u.lists {
			l.OrInto(u.words, all)
		}
		b.addBits(u.words[:WordsFor(b.p.n)], all)
		clear(u.words)
	}
	u.lists, u.n = u.lists[:0], 0
}
