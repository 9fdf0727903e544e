package search

import "slices"

// texts answers full-text queries. Every distinct brand, product, class, permit number and company name is a value; a value
// is a sequence of words, and a document has values. A word's documents are kept ready, over all fields together. A phrase
// is looked for in the values, as its words must be in one field.
type texts struct {
	vocab  dict     // every word, sorted
	base   []uint32 // the values of searched field f are base[f] to below base[f+1]
	off    []uint32 // value i has the words seq[off[i]:off[i+1]]
	seq    []uint32
	vals   postings // values that have a word
	docs   postings // documents that have a word
	has    postings // documents that have a value; none are listed for the empty ones
	begins kept     // documents with a word, or an id, that begins with something
}

// docsOf returns the documents that have a value of a field.
func (t *texts) docsOf(field int, value uint32) list { return t.has.list(t.base[field] + value) }

func (t *texts) words(value uint32) []uint32 { return t.seq[t.off[value]:t.off[value+1]] }

// match appends lists that together hold the documents with a phrase of several words.
func (t *texts) match(p phrase, sc *scratch, dst []list) []list {
	n := len(p.words)
	want := make([]uint32, 0, n) // words that must be there exactly
	for _, w := range p.words[:n-1] {
		tok, ok := t.vocab.find(w)
		if !ok {
			return dst
		}
		want = append(want, tok)
	}
	lo, hi := t.vocab.withPrefix(p.words[n-1])
	if !p.prefix {
		tok, ok := t.vocab.find(p.words[n-1])
		if !ok {
			return dst
		}
		lo, hi = tok, tok+1
		want = append(want, tok)
	}
	t.candidates(want, sc, func(v uint32) {
		if adjacent(t.words(v), want[:n-1], lo, hi) {
			dst = append(dst, t.has.list(v))
		}
	})
	return dst
}

// candidates calls yield with each value that has all the words.
func (t *texts) candidates(toks []uint32, sc *scratch, yield func(v uint32)) {
	lists := make([]list, len(toks))
	for i, tok := range toks {
		lists[i] = t.vals.list(tok)
	}
	slices.SortFunc(lists, func(a, b list) int { return a.n - b.n })
	cursors := make([]cursor, len(lists))
	for i, l := range lists {
		cursors[i] = cursor{list: l}
	}
	for b := range blockCount(t.vals.n) {
		w := sc.block[:blockWidth(t.vals.n, b)]
		if sc.intersect(b, w, cursors) {
			eachBit(w, b<<blockShift, func(v uint32) bool { yield(v); return true })
		}
	}
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
}
