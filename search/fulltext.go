package search

import (
	"slices"

	"github.com/colaregistry/colaregistry/cola/vocabulary"
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

// naming tells the names of the permittee with a permit number, in vocabulary.NormalizePermit's form; empty when it has none.
type naming func(permit string) (company, operating string)

// textsBuilder makes the texts of a table.
type textsBuilder struct {
	texts
	from      *table
	companies *interner   // recipients, under their own numbers, and then the names of permittees
	named     [][2]uint32 // companies that name each permit
	gather    *gatherer
}

func buildTexts(t *table, names naming, limit int) texts {
	b := &textsBuilder{from: t, gather: newGatherer(t.n)}
	b.nameCompanies(names)
	b.readValues()
	b.postValues()
	b.companies, b.named = nil, nil
	b.postWords()
	b.keepPrefixes(limit)
	b.beginVals = keepBeginnings(&b.vocab, &b.vals, limit/setShare)
	return b.texts
}

func (b *textsBuilder) nameCompanies(names naming) {
	b.companies = newInterner()
	recipients, permits := &b.from.text[colRecipient], &b.from.text[colPermit]
	for i := range recipients.len() {
		b.companies.id(recipients.at(uint32(i)))
	}
	b.named = make([][2]uint32, permits.len())
	for p := range b.named {
		company, operating := names(vocabulary.NormalizePermit(permits.at(uint32(p))))
		b.named[p] = [2]uint32{b.companies.id(company), b.companies.id(operating)}
	}
}

// readValues splits every value into words.
func (b *textsBuilder) readValues() {
	vocab := newInterner()
	b.off = []uint32{0}
	for f := 0; f <= lastSearched; f++ {
		b.base = append(b.base, uint32(len(b.off)-1))
		n, at := b.from.text[f].len(), b.from.text[f].at
		if f == colRecipient {
			n, at = b.companies.len(), b.companies.at
		}
		for i := range n {
			words(Fold(at(uint32(i))), func(w string) { b.seq = append(b.seq, vocab.id(w)) })
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
	has := newPostingsBuilder(b.from.n, len(b.off)-1)
	for f := range lastSearched {
		c := &b.from.text[f]
		has.addGroups(groupBy(b.from.n, c.len(), func(doc uint32, put func(uint32)) {
			if v := c.ids.at(doc); v != 0 {
				put(v)
			}
		}))
	}
	recipients, permits := &b.from.text[colRecipient].ids, &b.from.text[colPermit].ids
	has.addGroups(groupBy(b.from.n, b.companies.len(), func(doc uint32, put func(uint32)) {
		r, named := recipients.at(doc), b.named[permits.at(doc)]
		if r != 0 {
			put(r)
		}
		if named[0] != 0 && named[0] != r {
			put(named[0])
		}
		if named[1] != 0 && named[1] != r && named[1] != named[0] {
			put(named[1])
		}
	}))
	b.has = has.postings()
}

// postWords makes the lists of each word: of values, and of the documents of these.
func (b *textsBuilder) postWords() {
	values := uint32(len(b.off) - 1)
	byWord := groupBy(values, b.vocab.len(), func(v uint32, put func(uint32)) { putDistinct(b.words(v), put) })
	vals := newPostingsBuilder(values, b.vocab.len())
	vals.addGroups(byWord)
	b.vals = vals.postings()
	docs := newPostingsBuilder(b.from.n, b.vocab.len())
	for tok := range uint32(b.vocab.len()) {
		for _, v := range byWord.at(tok) {
			b.gather.add(b.has.list(v))
		}
		b.gather.into(docs)
	}
	b.docs = docs.postings()
}

// keepPrefixes keeps ready the documents of every prefix that would take longer to unite than the limit.
func (b *textsBuilder) keepPrefixes(limit int) {
	sum := sums(b.vocab.len(), func(i int) int { return b.docs.list(uint32(i)).cost() })
	at := func(i int) string { return b.vocab.at(uint32(i)) }
	costly := b.from.costlyIDs("", limit)
	walkPrefixes(b.vocab.len(), at, func(lo, hi, depth int) bool {
		prefix := ""
		if depth > 0 {
			prefix = at(lo)[:depth]
		}
		if sum[hi]-sum[lo]+b.from.idCost(prefix) <= limit {
			return false
		}
		if depth > 0 {
			costly = append(costly, prefix)
		}
		return true
	})
	slices.Sort(costly)
	k := newKeeper(b.from.n)
	for _, prefix := range slices.Compact(costly) {
		lo, hi := b.vocab.withPrefix(prefix)
		for tok := lo; tok < hi; tok++ {
			k.gather.add(b.docs.list(tok))
		}
		ids := slices.Sorted(slices.Values(b.from.idsWithPrefix(prefix)))
		k.gather.add(list{docs: ids, n: len(ids)})
		k.add(prefix)
	}
	b.begins = k.kept()
}
