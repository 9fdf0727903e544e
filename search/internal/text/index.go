package text

import (
	"slices"

	"github.com/colaregistry/colaregistry/search/internal/codec"
	"github.com/colaregistry/colaregistry/search/internal/column"
	"github.com/colaregistry/colaregistry/search/internal/postings"
)

// Index answers full-text queries. Every distinct brand, product, class, permit number and company name is a value; a value
// is a sequence of words, and a document has values. A word's documents are kept ready, over all fields together. A phrase
// is looked for in the values, as its words must be in one field.
type Index struct {
	vocab        column.Dict // every word, sorted
	base         []uint32    // the values of searched field f are base[f] to below base[f+1]
	off          []uint32    // value i has the words seq[off[i]:off[i+1]]
	seq          []uint32
	wordValues   postings.Lists // values that have a word
	wordDocs     postings.Lists // documents that have a word
	byValue      postings.Lists // documents that have a value; none are listed for the empty ones
	prefixDocs   unions         // documents with a word, or an id, that begins with something
	prefixValues unions         // values with a word that begins with something
}

// DocsOf returns the documents that have a value of a field.
func (t *Index) DocsOf(field int, value uint32) postings.List {
	return t.byValue.At(t.base[field] + value)
}

func (t *Index) words(value uint32) []uint32 { return t.seq[t.off[value]:t.off[value+1]] }

// MatchPhrase appends lists that together hold the documents with a phrase of several words.
func (t *Index) MatchPhrase(p Phrase, sc *postings.Scratch, dst []postings.List) []postings.List {
	n := len(p.Words)
	want := make([]uint32, n) // the last one is not looked at when it is a prefix
	conditions := make([]postings.Cursor, n)
	for i, w := range p.Words {
		tok, ok := t.vocab.Find(w)
		if want[i] = tok; ok {
			conditions[i] = postings.NewCursor(t.wordValues.At(tok))
		} else if i < n-1 || !p.Prefix {
			return dst
		}
	}
	lo, hi := want[n-1], want[n-1]+1
	if p.Prefix {
		lo, hi = t.vocab.PrefixRange(p.Words[n-1])
		conditions[n-1] = t.valuesBeginning(p.Words[n-1], lo, hi, sc)
		defer sc.Release(conditions[n-1].Bitmap())
	}
	postings.SortBySelectivity(conditions)
	for b := range postings.BlockCount(t.wordValues.NumDocs()) {
		w := sc.Block[:postings.BlockWidth(t.wordValues.NumDocs(), b)]
		if sc.Intersect(b, w, conditions) {
			postings.EachBit(w, b<<postings.BlockShift, func(v uint32) bool {
				if adjacent(t.words(v), want[:n-1], lo, hi) {
					dst = append(dst, t.byValue.At(v))
				}
				return true
			})
		}
	}
	return dst
}

// valuesBeginning returns the condition that a value has one of the words from lo to below hi, which are those that begin
// with the prefix.
func (t *Index) valuesBeginning(prefix string, lo, hi uint32, sc *postings.Scratch) postings.Cursor {
	if l, ok := t.prefixValues.find(prefix); ok {
		return postings.NewCursor(l)
	}
	all := postings.AllBlocks(t.wordValues.NumDocs())
	w, n := sc.Bitmap(t.wordValues.NumDocs(), all), 0
	for tok := lo; tok < hi; tok++ {
		l := t.wordValues.At(tok)
		l.OrInto(w, all)
		n += l.Len()
	}
	return postings.NewBitmapCursor(w, n)
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

// MatchWord appends the list of the documents with a word.
func (t *Index) MatchWord(word string, dst []postings.List) []postings.List {
	if tok, ok := t.vocab.Find(word); ok {
		dst = append(dst, t.wordDocs.At(tok))
	}
	return dst
}

// PrecomputedPrefix returns the documents with a word or an ID that begins with a prefix, if their list is precomputed.
func (t *Index) PrecomputedPrefix(prefix string) (postings.List, bool) {
	return t.prefixDocs.find(prefix)
}

// MatchPrefix appends lists that together hold the documents with a word that begins with s.
func (t *Index) MatchPrefix(s string, dst []postings.List) []postings.List {
	lo, hi := t.vocab.PrefixRange(s)
	for tok := lo; tok < hi; tok++ {
		dst = append(dst, t.wordDocs.At(tok))
	}
	return dst
}

func (t *Index) Serialize(c codec.Codec) {
	t.vocab.Serialize(c)
	codec.Slice(c, &t.base)
	codec.Slice(c, &t.off)
	codec.Slice(c, &t.seq)
	t.wordValues.Serialize(c)
	t.wordDocs.Serialize(c)
	t.byValue.Serialize(c)
	t.prefixDocs.Serialize(c)
	t.prefixValues.Serialize(c)
}

// Field is one searched field of the documents. Value 0 is the empty string.
type Field struct {
	Len  int
	At   func(value uint32) string
	Each func(doc uint32, put func(value uint32)) // puts the values of a document, each once, but not value 0
}

// indexBuilder makes a texts.
type indexBuilder struct {
	Index
	n      uint32
	fields []Field
	ids    func(digits string) []uint32
	limit  int
	union  *postings.Union
}

// BuildIndex indexes the fields of n documents. ids returns the documents whose ID begins with some digits, in any order:
// a prefix matches those as well. Prefixes whose lists take longer than limit, in estimated nanoseconds, to unite are
// precomputed.
func BuildIndex(n uint32, fields []Field, ids func(digits string) []uint32, limit int) Index {
	b := &indexBuilder{n: n, fields: fields, ids: ids, limit: limit, union: postings.NewUnion(n)}
	b.readValues()
	b.postValues()
	b.fields = nil
	b.postWords()
	b.precomputePrefixes()
	b.prefixValues = unitePrefixes(&b.vocab, &b.wordValues, limit/affixShare)
	return b.Index
}

// readValues splits every value into words.
func (b *indexBuilder) readValues() {
	vocab := column.NewInterner()
	b.off = []uint32{0}
	for _, f := range b.fields {
		b.base = append(b.base, uint32(len(b.off)-1))
		for i := range f.Len {
			words(Fold(f.At(uint32(i))), func(w string) { b.seq = append(b.seq, vocab.ID(w)) })
			b.off = append(b.off, uint32(len(b.seq)))
		}
	}
	b.base = append(b.base, uint32(len(b.off)-1))
	b.seq, b.off = codec.Shrink(b.seq), codec.Shrink(b.off)
	var number []uint32
	b.vocab, number = vocab.Sorted()
	for i, old := range b.seq {
		b.seq[i] = number[old]
	}
}

// postValues makes the list of each value.
func (b *indexBuilder) postValues() {
	has := postings.NewBuilder(b.n, len(b.off)-1)
	for _, f := range b.fields {
		has.AddGroups(postings.GroupBy(b.n, f.Len, f.Each))
	}
	b.byValue = has.Lists()
}

// postWords makes the lists of each word: of values, and of the documents of these.
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

// precomputePrefixes unites the documents of every prefix for which that takes longer than the limit.
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
	k := newUnionsBuilder(b.n)
	for _, prefix := range slices.Compact(costly) {
		lo, hi := b.vocab.PrefixRange(prefix)
		for tok := lo; tok < hi; tok++ {
			k.union.Add(b.wordDocs.At(tok))
		}
		k.union.Add(postings.Of(slices.Sorted(slices.Values(b.ids(prefix)))))
		k.add(prefix)
	}
	b.prefixDocs = k.unions()
}

// idCost estimates, in nanoseconds, how long it takes to unite the IDs with a prefix.
func (b *indexBuilder) idCost(digits string) int { return 3 * len(b.ids(digits)) }

// costlyIDs returns the prefixes of IDs, longer than prefix, whose union alone takes longer than the limit.
func (b *indexBuilder) costlyIDs(prefix string) (costly []string) {
	for c := byte('0'); c <= '9'; c++ {
		if longer := prefix + string(c); b.idCost(longer) > b.limit {
			costly = append(append(costly, longer), b.costlyIDs(longer)...)
		}
	}
	return costly
}
