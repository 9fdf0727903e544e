package text

import (
	"slices"

	"github.com/colaregistry/colaregistry/cola/vocabulary"
	"github.com/colaregistry/colaregistry/search/internal/codec"
	"github.com/colaregistry/colaregistry/search/internal/column"
	"github.com/colaregistry/colaregistry/search/internal/postings"
)

// Field is a field of the documents. Value 0 is the empty string.
type Field struct {
	Len int                       // number of values
	At  func(value uint32) string // the string of a value
	// Each calls put once for each distinct value of a document, except value 0.
	Each func(doc uint32, put func(value uint32))
}

// indexBuilder builds an Index.
type indexBuilder struct {
	Index
	n      uint32
	fields []Field
	ids    func(digits string) []uint32
	limit  int
	union  *postings.Union

	connectors    []uint32 // value i also has the words connectors[connectorsOff[i]:connectorsOff[i+1]]
	connectorsOff []uint32
}

// BuildIndex indexes the fields of n documents. The first field contains names. ids returns,
// in any order, the documents whose ID begins with digits; a prefix query also matches those.
// BuildIndex precomputes the unions with an estimated time above limit, in nanoseconds.
func BuildIndex(n uint32, fields []Field, ids func(digits string) []uint32, limit int) Index {
	b := &indexBuilder{n: n, fields: fields, ids: ids, limit: limit, union: postings.NewUnion(n)}
	b.readValues()
	b.postValues()
	b.fields = nil
	b.postWords()
	b.groupByKey()
	b.uniteKeys()
	b.precomputePrefixes()
	b.prefixValues = unitePrefixes(&b.vocab, &b.wordValues, limit/affixShare)
	return b.Index
}

// readValues splits every value into words.
func (b *indexBuilder) readValues() {
	vocab := column.NewInterner()
	b.off, b.connectorsOff = []uint32{0}, []uint32{0}
	var a analysis
	for _, f := range b.fields {
		b.base = append(b.base, uint32(len(b.off)-1))
		for i := range f.Len {
			a.split(f.At(uint32(i)))
			for _, w := range a.sequence {
				b.seq = append(b.seq, vocab.ID(w))
			}
			for _, w := range a.connectors {
				b.connectors = append(b.connectors, vocab.ID(w))
			}
			b.off, b.connectorsOff = append(b.off, uint32(len(b.seq))), append(b.connectorsOff, uint32(len(b.connectors)))
		}
	}
	b.base = append(b.base, uint32(len(b.off)-1))
	b.seq, b.off = codec.Shrink(b.seq), codec.Shrink(b.off)
	var number []uint32
	b.vocab, number = vocab.Sorted()
	for _, list := range [][]uint32{b.seq, b.connectors} {
		for i, old := range list {
			list[i] = number[old]
		}
	}
}

// words returns all words of a value.
func (b *indexBuilder) words(value uint32) []uint32 {
	connectors := b.connectors[b.connectorsOff[value]:b.connectorsOff[value+1]]
	if len(connectors) == 0 {
		return b.sequence(value)
	}
	return slices.Concat(b.sequence(value), connectors)
}

// postValues builds the posting list of each value.
func (b *indexBuilder) postValues() {
	lists := postings.NewBuilder(b.n, len(b.off)-1)
	for _, f := range b.fields {
		lists.AddGroups(postings.GroupBy(b.n, f.Len, f.Each))
	}
	b.byValue = lists.Lists()
}

// postWords builds the posting lists of each word: the values that contain it, and their documents.
func (b *indexBuilder) postWords() {
	values := uint32(len(b.off) - 1)
	byWord := postings.GroupBy(values, b.vocab.Len(), func(v uint32, put func(uint32)) { putDistinct(b.words(v), put) })
	vals := postings.NewBuilder(values, b.vocab.Len())
	vals.AddGroups(byWord)
	b.wordValues = vals.Lists()
	docs := postings.NewBuilder(b.n, b.vocab.Len())
	for tok := range uint32(b.vocab.Len()) {
		for _, v := range byWord.At(tok) {
			b.union.Add(b.byValue.At(v))
		}
		b.union.AppendTo(docs)
	}
	b.wordDocs = docs.Lists()
}

// groupByKey finds the words with each key.
func (b *indexBuilder) groupByKey() {
	interned := column.NewInterner()
	keyOf := make([]uint32, b.vocab.Len())
	for tok := range keyOf {
		keyOf[tok] = interned.ID(vocabulary.WordKey(b.vocab.At(uint32(tok))))
	}
	names, number := interned.Sorted()
	byKey := postings.GroupBy(uint32(len(keyOf)), names.Len(), func(tok uint32, put func(uint32)) { put(number[keyOf[tok]]) })
	b.keys.names, b.keys.off = names, []uint32{0}
	for key := range uint32(names.Len()) {
		b.keys.words = append(b.keys.words, byKey.At(key)...)
		b.keys.off = append(b.keys.off, uint32(len(b.keys.words)))
	}
}

// uniteKeys precomputes costly unions by key: the documents with a word of the key, if it has
// several words, and the documents whose name has a word of the key.
func (b *indexBuilder) uniteKeys() {
	docs, names := newUnionsBuilder(b.n), newUnionsBuilder(b.n)
	from, to := b.base[nameField], b.base[nameField+1]
	for key := range uint32(b.keys.names.Len()) {
		toks := b.keys.words[b.keys.off[key]:b.keys.off[key+1]]
		cost, nameCost := 0, 0
		eachName := func(yield func(l postings.List)) {
			for _, tok := range toks {
				b.wordValues.At(tok).Each(func(v uint32) bool {
					if v >= from && v < to {
						yield(b.byValue.At(v))
					}
					return v < to
				})
			}
		}
		for _, tok := range toks {
			cost += b.wordDocs.At(tok).Cost()
		}
		eachName(func(l postings.List) { nameCost += l.Cost() })
		if len(toks) > 1 && cost > b.limit {
			for _, tok := range toks {
				docs.union.Add(b.wordDocs.At(tok))
			}
			docs.add(b.keys.names.At(key))
		}
		if nameCost > b.limit {
			eachName(names.union.Add)
			names.add(b.keys.names.At(key))
		}
	}
	b.keyDocs, b.nameDocs = docs.unions(), names.unions()
}

// precomputePrefixes precomputes the documents for costly prefixes.
func (b *indexBuilder) precomputePrefixes() {
	sum := prefixSums(b.vocab.Len(), func(i int) int { return b.wordDocs.At(uint32(i)).Cost() })
	at := func(i int) string { return b.vocab.At(uint32(i)) }
	costly := b.costlyIDs("")
	walkPrefixes(b.vocab.Len(), at, func(lo, hi, depth int) bool {
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
	out := newUnionsBuilder(b.n)
	for _, prefix := range slices.Compact(costly) {
		lo, hi := b.vocab.PrefixRange(prefix)
		for tok := lo; tok < hi; tok++ {
			out.union.Add(b.wordDocs.At(tok))
		}
		out.union.Add(postings.Of(slices.Sorted(slices.Values(b.ids(prefix)))))
		out.add(prefix)
	}
	b.prefixDocs = out.unions()
}

// idCost estimates, in nanoseconds, how long it takes to add to a union the documents whose ID
// begins with digits.
func (b *indexBuilder) idCost(digits string) int { return 3 * len(b.ids(digits)) }

// costlyIDs returns the ID prefixes that extend prefix and whose documents take longer than the
// limit to add to a union.
func (b *indexBuilder) costlyIDs(prefix string) (costly []string) {
	for c := byte('0'); c <= '9'; c++ {
		if longer := prefix + string(c); b.idCost(longer) > b.limit {
			costly = append(append(costly, longer), b.costlyIDs(longer)...)
		}
	}
	return costly
}
