package search

import (
	"slices"

	"github.com/colaregistry/colaregistry/cola/vocabulary"
)

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
