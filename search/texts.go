package search

import "slices"

// texts answers full-text queries. Every distinct brand, product, class, permit number and company name is a value; a value
// is a sequence of words, and a document has values. A word's documents are kept ready, over all fields together. A phrase
// is looked for in the values, as its words must be in one field.
type texts struct {
	vocab     dict     // every word, sorted
	base      []uint32 // the values of searched field f are base[f] to below base[f+1]
	off       []uint32 // value i has the words seq[off[i]:off[i+1]]
	seq       []uint32
	vals      postings // values that have a word
	docs      postings // documents that have a word
	has       postings // documents that have a value; none are listed for the empty ones
	begins    kept     // documents with a word, or an id, that begins with something
	beginVals kept     // values with a word that begins with something
}

// docsOf returns the documents that have a value of a field.
func (t *texts) docsOf(field int, value uint32) list { return t.has.list(t.base[field] + value) }

func (t *texts) words(value uint32) []uint32 { return t.seq[t.off[value]:t.off[value+1]] }

// match appends lists that together hold the documents with a phrase of several words.
func (t *texts) match(p phrase, sc *scratch, dst []list) []list {
	n := len(p.words)
	want := make([]uint32, n) // the last one is not looked at when it is a prefix
	conditions := make([]cursor, n)
	for i, w := range p.words {
		tok, ok := t.vocab.find(w)
		if want[i] = tok; ok {
			conditions[i].list = t.vals.list(tok)
		} else if i < n-1 || !p.prefix {
			return dst
		}
	}
	lo, hi := want[n-1], want[n-1]+1
	if p.prefix {
		lo, hi = t.vocab.withPrefix(p.words[n-1])
		conditions[n-1] = t.valuesBeginning(p.words[n-1], lo, hi, sc)
		defer sc.release(conditions[n-1].bits)
	}
	bySelectivity(conditions)
	for b := range blockCount(t.vals.n) {
		w := sc.block[:blockWidth(t.vals.n, b)]
		if sc.intersect(b, w, conditions) {
			eachBit(w, b<<blockShift, func(v uint32) bool {
				if adjacent(t.words(v), want[:n-1], lo, hi) {
					dst = append(dst, t.has.list(v))
				}
				return true
			})
		}
	}
	return dst
}

// valuesBeginning returns the condition that a value has one of the words from lo to below hi, which are those that begin
// with the prefix.
func (t *texts) valuesBeginning(prefix string, lo, hi uint32, sc *scratch) cursor {
	if l, ok := t.beginVals.list(prefix); ok {
		return cursor{list: l}
	}
	all := span{0, blockCount(t.vals.n) - 1}
	c := cursor{bits: sc.bitmap(t.vals.n, all)}
	for tok := lo; tok < hi; tok++ {
		l := t.vals.list(tok)
		l.orInto(c.bits, all)
		c.n += l.n
	}
	return c
}

// adjacent reports whether the words before stand in seq right before one from lo to below hi.
func adjacent(seq, words []uint32, lo, hi uint32) bool {
	for i := len(words); i < len(seq); i++ {
		if last := seq[i]; last >= lo && last < hi && slices.Equal(seq[i-len(words):i], words) {
			return true
		}
	}
	return false
}

// matchPrefix appends lists that together hold the documents with a word that begins with s.
func (t *texts) matchPrefix(s string, dst []list) []list {
	lo, hi := t.vocab.withPrefix(s)
	for tok := lo; tok < hi; tok++ {
		dst = append(dst, t.docs.list(tok))
	}
	return dst
}

func (t *texts) carry(c carrier) {
	t.vocab.carry(c)
	carry(c, &t.base)
	carry(c, &t.off)
	carry(c, &t.seq)
	t.vals.carry(c)
	t.docs.carry(c)
	t.has.carry(c)
	t.begins.carry(c)
	t.beginVals.carry(c)
}
