package search

import (
	"slices"
)

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
			conditions[i] = newCursor(t.vals.list(tok))
		} else if i < n-1 || !p.prefix {
			return dst
		}
	}
	lo, hi := want[n-1], want[n-1]+1
	if p.prefix {
		lo, hi = t.vocab.withPrefix(p.words[n-1])
		conditions[n-1] = t.valuesBeginning(p.words[n-1], lo, hi, sc)
		defer sc.release(conditions[n-1].bitmap())
	}
	bySelectivity(conditions)
	for b := range blockCount(t.vals.numDocs()) {
		w := sc.block[:blockWidth(t.vals.numDocs(), b)]
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
		return newCursor(l)
	}
	all := allBlocks(t.vals.numDocs())
	w, n := sc.bitmap(t.vals.numDocs(), all), 0
	for tok := lo; tok < hi; tok++ {
		l := t.vals.list(tok)
		l.orInto(w, all)
		n += l.len()
	}
	return newBitmapCursor(w, n)
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

// matchWord appends the list of the documents with a word.
func (t *texts) matchWord(word string, dst []list) []list {
	if tok, ok := t.vocab.find(word); ok {
		dst = append(dst, t.docs.list(tok))
	}
	return dst
}

// precomputed returns the documents with a word or an ID that begins with a prefix, if their list is precomputed.
func (t *texts) precomputed(prefix string) (list, bool) { return t.begins.list(prefix) }

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

// field is one searched field of the documents. Value 0 is the empty string.
type field struct {
	len  int
	at   func(value uint32) string
	each func(doc uint32, put func(value uint32)) // puts the values of a document, each once, but not value 0
}

// textsBuilder makes a texts.
type textsBuilder struct {
	texts
	n      uint32
	fields []field
	ids    func(digits string) []uint32
	limit  int
	gather *gatherer
}

// buildTexts indexes the fields of n documents. ids returns the documents whose ID begins with some digits, in any order:
// a prefix matches those as well. Prefixes whose lists take longer than limit, in estimated nanoseconds, to unite are
// precomputed.
func buildTexts(n uint32, fields []field, ids func(digits string) []uint32, limit int) texts {
	b := &textsBuilder{n: n, fields: fields, ids: ids, limit: limit, gather: newGatherer(n)}
	b.readValues()
	b.postValues()
	b.fields = nil
	b.postWords()
	b.precomputePrefixes()
	b.beginVals = keepBeginnings(&b.vocab, &b.vals, limit/setShare)
	return b.texts
}

// readValues splits every value into words.
func (b *textsBuilder) readValues() {
	vocab := newInterner()
	b.off = []uint32{0}
	for _, f := range b.fields {
		b.base = append(b.base, uint32(len(b.off)-1))
		for i := range f.len {
			words(Fold(f.at(uint32(i))), func(w string) { b.seq = append(b.seq, vocab.id(w)) })
			b.off = append(b.off, uint32(len(b.seq)))
		}
	}
	b.base = append(b.base, uint32(len(b.off)-1))
	b.seq, b.off = exact(b.seq), exact(b.off)
	var number []uint32
	b.vocab, number = vocab.sorted()
	for i, old := range b.seq {
		b.seq[i] = number[old]
	}
}

// postValues makes the list of each value.
func (b *textsBuilder) postValues() {
	has := newPostingsBuilder(b.n, len(b.off)-1)
	for _, f := range b.fields {
		has.addGroups(groupBy(b.n, f.len, f.each))
	}
	b.has = has.postings()
}

// postWords makes the lists of each word: of values, and of the documents of these.
func (b *textsBuilder) postWords() {
	values := uint32(len(b.off) - 1)
	byWord := groupBy(values, b.vocab.len(), func(v uint32, put func(uint32)) { putDistinct(b.words(v), put) })
	vals := newPostingsBuilder(values, b.vocab.len())
	vals.addGroups(byWord)
	b.vals = vals.postings()
	docs := newPostingsBuilder(b.n, b.vocab.len())
	for tok := range uint32(b.vocab.len()) {
		for _, v := range byWord.at(tok) {
			b.gather.add(b.has.list(v))
		}
		b.gather.into(docs)
	}
	b.docs = docs.postings()
}

// precomputePrefixes unites the documents of every prefix for which that takes longer than the limit.
func (b *textsBuilder) precomputePrefixes() {
	sum := sums(b.vocab.len(), func(i int) int { return b.docs.list(uint32(i)).cost() })
	at := func(i int) string { return b.vocab.at(uint32(i)) }
	costly := b.costlyIDs("")
	walkPrefixes(b.vocab.len(), at, func(lo, hi, depth int) bool {
		prefix := ""
		if depth > 0 {
			prefix = at(lo)[:depth]
		}
		if sum[hi]-sum[lo]+b.idCost(prefix) <= b.limit {
			return false
		}
		if depth > 0 {
			costly = append(costly, prefix)
		}
		return true
	})
	slices.Sort(costly)
	k := newKeeper(b.n)
	for _, prefix := range slices.Compact(costly) {
		lo, hi := b.vocab.withPrefix(prefix)
		for tok := lo; tok < hi; tok++ {
			k.gather.add(b.docs.list(tok))
		}
		k.gather.add(listOf(slices.Sorted(slices.Values(b.ids(prefix)))))
		k.add(prefix)
	}
	b.begins = k.kept()
}

// idCost estimates, in nanoseconds, how long it takes to unite the IDs with a prefix.
func (b *textsBuilder) idCost(digits string) int { return 3 * len(b.ids(digits)) }

// costlyIDs returns the prefixes of IDs, longer than prefix, whose union alone takes longer than the limit.
func (b *textsBuilder) costlyIDs(prefix string) (costly []string) {
	for c := byte('0'); c <= '9'; c++ {
		if longer := prefix + string(c); b.idCost(longer) > b.limit {
			costly = append(append(costly, longer), b.costlyIDs(longer)...)
		}
	}
	return costly
}
