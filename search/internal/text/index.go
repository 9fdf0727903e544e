package text

import (
	"slices"

	"github.com/colaregistry/colaregistry/search/internal/codec"
	"github.com/colaregistry/colaregistry/search/internal/column"
	"github.com/colaregistry/colaregistry/search/internal/postings"
)

// Index is a full-text index over several fields. A value is a distinct string of a field, and a
// sequence of words.
//
// A word, in any field, is looked up in its posting list of documents. The words of a phrase must
// be next to each other in one value, so a phrase is matched against the values that have all its
// words.
type Index struct {
	vocab        column.Dict // all words, sorted
	base         []uint32    // the values of field f have the numbers in [base[f], base[f+1])
	off          []uint32    // value i has the words seq[off[i]:off[i+1]]
	seq          []uint32
	wordValues   postings.Lists // values with each word
	wordDocs     postings.Lists // documents with each word
	byValue      postings.Lists // documents with each value except the empty ones
	prefixDocs   unions         // documents with a word or ID that begins with a prefix
	prefixValues unions         // values with a word that begins with a prefix
}

// DocsOf returns the documents that have the given value in the given field.
func (t *Index) DocsOf(field int, value uint32) postings.List {
	return t.byValue.At(t.base[field] + value)
}

// words returns the words of a value.
func (t *Index) words(value uint32) []uint32 { return t.seq[t.off[value]:t.off[value+1]] }

// MatchPhrase appends lists whose union is the documents that contain p, a phrase of several words.
func (t *Index) MatchPhrase(p Phrase, sc *postings.Scratch, dst []postings.List) []postings.List {
	n := len(p.Words)
	want := make([]uint32, n) // the last one is unused if it is a prefix
	cursors := make([]postings.Cursor, n)
	for i, w := range p.Words {
		tok, ok := t.vocab.Find(w)
		if want[i] = tok; ok {
			cursors[i] = postings.NewCursor(t.wordValues.At(tok))
		} else if i < n-1 || !p.Prefix {
			return dst
		}
	}
	lo, hi := want[n-1], want[n-1]+1
	if p.Prefix {
		lo, hi = t.vocab.PrefixRange(p.Words[n-1])
		cursors[n-1] = t.valuesWithPrefix(p.Words[n-1], lo, hi, sc)
		defer sc.Release(cursors[n-1].Bitmap())
	}
	postings.SortBySelectivity(cursors)
	for b := range postings.BlockCount(t.wordValues.NumDocs()) {
		w := sc.Block[:postings.BlockWidth(t.wordValues.NumDocs(), b)]
		if sc.Intersect(b, w, cursors) {
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

// valuesWithPrefix returns the values with a word that begins with prefix. [lo, hi) is the range of
// those words.
func (t *Index) valuesWithPrefix(prefix string, lo, hi uint32, sc *postings.Scratch) postings.Cursor {
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

// adjacent reports whether seq contains words, immediately followed by a word in [lo, hi).
func adjacent(seq, words []uint32, lo, hi uint32) bool {
	for i := len(words); i < len(seq); i++ {
		if last := seq[i]; last >= lo && last < hi && slices.Equal(seq[i-len(words):i], words) {
			return true
		}
	}
	return false
}

// MatchWord appends the list of documents that contain word.
func (t *Index) MatchWord(word string, dst []postings.List) []postings.List {
	if tok, ok := t.vocab.Find(word); ok {
		dst = append(dst, t.wordDocs.At(tok))
	}
	return dst
}

// PrecomputedPrefix returns the documents with a word or ID that begins with prefix, if their list
// is precomputed.
func (t *Index) PrecomputedPrefix(prefix string) (postings.List, bool) {
	return t.prefixDocs.find(prefix)
}

// MatchPrefix appends lists whose union is the documents with a word that begins with s.
func (t *Index) MatchPrefix(s string, dst []postings.List) []postings.List {
	lo, hi := t.vocab.PrefixRange(s)
	for tok := lo; tok < hi; tok++ {
		dst = append(dst, t.wordDocs.At(tok))
	}
	return dst
}

// Serialize transfers the index.
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
}

// BuildIndex indexes the fields of n documents. ids returns the documents whose ID begins with
// digits, in any order; a prefix query also matches those. BuildIndex precomputes the unions whose
// estimated time exceeds limit, in nanoseconds.
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

// postValues builds the posting list of each value.
func (b *indexBuilder) postValues() {
	lists := postings.NewBuilder(b.n, len(b.off)-1)
	for _, f := range b.fields {
		lists.AddGroups(postings.GroupBy(b.n, f.Len, f.Each))
	}
	b.byValue = lists.Lists()
}

// postWords builds the posting lists of each word: the values with it, and their documents.
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

// precomputePrefixes precomputes the documents of costly prefixes.
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

// idCost estimates, in nanoseconds, how long it takes to add the documents whose ID begins with
// digits to a union.
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
