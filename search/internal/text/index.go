package text

import (
	"slices"

	"github.com/colaregistry/colaregistry/cola/vocabulary"
	"github.com/colaregistry/colaregistry/search/internal/codec"
	"github.com/colaregistry/colaregistry/search/internal/column"
	"github.com/colaregistry/colaregistry/search/internal/postings"
)

// Index is a full-text index over several fields. A value is a distinct string of a field: one or
// more sequences of words, and connectors (see analysis).
//
// A word, in any field, is looked up in its posting list of documents. Words with the same key, such
// as singular and plural, find each other; a query by such a word is the union of their lists. The
// words of a phrase must be next to each other in one value, so a phrase is matched against the
// values that have all its words.
type Index struct {
	vocab        column.Dict // all words, sorted
	base         []uint32    // the values of field f have the numbers in [base[f], base[f+1])
	off          []uint32    // value i has the sequence seq[off[i]:off[i+1]]
	seq          []uint32
	wordValues   postings.Lists // values with each word
	wordDocs     postings.Lists // documents with each word
	byValue      postings.Lists // documents with each value except the empty ones
	prefixDocs   unions         // documents with a word or ID that begins with a prefix
	prefixValues unions         // values with a word that begins with a prefix
	keys         keyIndex
	keyDocs      unions // documents with a word that has a key
	nameDocs     unions // documents whose name has a word that has a key
}

// keyIndex finds words by key.
type keyIndex struct {
	names column.Dict // all keys, sorted
	off   []uint32    // key i has the words words[off[i]:off[i+1]]
	words []uint32
}

// wordsLike returns the words with the same key as word.
func (x *keyIndex) wordsLike(word string) []uint32 {
	i, ok := x.names.Find(vocabulary.WordKey(word))
	if !ok {
		return nil
	}
	return x.words[x.off[i]:x.off[i+1]]
}

// DocsOf returns the documents that have the given value in the given field.
func (t *Index) DocsOf(field int, value uint32) postings.List {
	return t.byValue.At(t.base[field] + value)
}

// sequence returns the sequences of words of a value, with the empty word between them.
func (t *Index) sequence(value uint32) []uint32 { return t.seq[t.off[value]:t.off[value+1]] }

// position is the condition on a word of a phrase: it is one of the words, or in [lo, hi).
type position struct {
	words  []uint32
	lo, hi uint32
}

func (p *position) has(word uint32) bool {
	return p.lo <= word && word < p.hi || slices.Contains(p.words, word)
}

// positions returns the conditions of a phrase; ok is false if no word meets one of them.
func (t *Index) positions(p Phrase) (all []position, ok bool) {
	all = make([]position, len(p.Words))
	for i, w := range p.Words {
		at := &all[i]
		switch {
		case p.Prefix && i == len(p.Words)-1:
			at.lo, at.hi = t.vocab.PrefixRange(w)
		case !p.Exact:
			at.words = t.keys.wordsLike(w)
		default:
			if word, ok := t.vocab.Find(w); ok {
				at.words = []uint32{word}
			}
		}
		if at.lo == at.hi && len(at.words) == 0 {
			return nil, false
		}
	}
	return all, true
}

// MatchPhrase appends lists whose union is the documents that contain p, a phrase of several words.
func (t *Index) MatchPhrase(p Phrase, sc *postings.Scratch, dst []postings.List) []postings.List {
	if all, ok := t.positions(p); ok {
		t.matchPositions(all, p, 0, t.wordValues.NumDocs(), sc, func(v uint32) { dst = append(dst, t.byValue.At(v)) })
	}
	return dst
}

// MatchName appends lists whose union is the documents that contain p in the field of names.
func (t *Index) MatchName(p Phrase, sc *postings.Scratch, dst []postings.List) []postings.List {
	if len(p.Words) == 1 {
		if l, ok := t.nameDocs.find(vocabulary.WordKey(p.Words[0])); ok {
			return append(dst, l)
		}
	}
	if all, ok := t.positions(p); ok {
		field := uint32(nameField)
		t.matchPositions(all, p, t.base[field], t.base[field+1], sc, func(v uint32) { dst = append(dst, t.byValue.At(v)) })
	}
	return dst
}

// nameField is the field that MatchName searches.
const nameField = 0

// matchPositions calls yield with each value in [from, to) that has words that meet all conditions in
// sequence, or a word that meets the only one.
func (t *Index) matchPositions(
	all []position, p Phrase, from, to uint32, sc *postings.Scratch, yield func(value uint32),
) {
	cursors := make([]postings.Cursor, len(all))
	for i := range all {
		cursors[i] = t.valuesWith(&all[i], p.Words[i], sc)
		if w := cursors[i].Bitmap(); w != nil {
			defer sc.Release(w)
		}
	}
	postings.SortBySelectivity(cursors)
	for b := from >> postings.BlockShift; b<<postings.BlockShift < to; b++ {
		w := sc.Block[:postings.BlockWidth(t.wordValues.NumDocs(), b)]
		if sc.Intersect(b, w, cursors) {
			postings.EachBit(w, b<<postings.BlockShift, func(v uint32) bool {
				if v >= from && v < to && (len(all) == 1 || inSequence(t.sequence(v), all)) {
					yield(v)
				}
				return v < to
			})
		}
	}
}

// valuesWith returns the values with a word that meets a condition. word is the word of the phrase.
func (t *Index) valuesWith(p *position, word string, sc *postings.Scratch) postings.Cursor {
	if len(p.words) == 1 {
		return postings.NewCursor(t.wordValues.At(p.words[0]))
	}
	if l, ok := t.prefixValues.find(word); ok && p.lo < p.hi {
		return postings.NewCursor(l)
	}
	all := postings.AllBlocks(t.wordValues.NumDocs())
	w, n := sc.Bitmap(t.wordValues.NumDocs(), all), 0
	add := func(tok uint32) {
		l := t.wordValues.At(tok)
		l.OrInto(w, all)
		n += l.Len()
	}
	for tok := p.lo; tok < p.hi; tok++ {
		add(tok)
	}
	for _, tok := range p.words {
		add(tok)
	}
	return postings.NewBitmapCursor(w, n)
}

// inSequence reports whether words that meet the conditions follow one another in seq.
func inSequence(seq []uint32, all []position) bool {
	for i := 0; i+len(all) <= len(seq); i++ {
		n := 0
		for n < len(all) && all[n].has(seq[i+n]) {
			n++
		}
		if n == len(all) {
			return true
		}
	}
	return false
}

// MatchWord appends lists whose union is the documents that contain p, a phrase of one word without
// a prefix.
func (t *Index) MatchWord(p Phrase, dst []postings.List) []postings.List {
	if p.Also != "" {
		dst = t.MatchWord(Phrase{Words: []string{p.Also}}, dst)
	}
	word := p.Words[0]
	if p.Exact {
		if tok, ok := t.vocab.Find(word); ok {
			dst = append(dst, t.wordDocs.At(tok))
		}
		return dst
	}
	if l, ok := t.keyDocs.find(vocabulary.WordKey(word)); ok {
		return append(dst, l)
	}
	for _, tok := range t.keys.wordsLike(word) {
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
	t.keys.names.Serialize(c)
	codec.Slice(c, &t.keys.off)
	codec.Slice(c, &t.keys.words)
	t.keyDocs.Serialize(c)
	t.nameDocs.Serialize(c)
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

	connectors    []uint32 // value i also has the words connectors[connectorsOff[i]:connectorsOff[i+1]]
	connectorsOff []uint32
}

// BuildIndex indexes the fields of n documents. The first field has names. ids returns the documents whose ID begins with
// digits, in any order; a prefix query also matches those. BuildIndex precomputes the unions whose
// estimated time exceeds limit, in nanoseconds.
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

// uniteKeys precomputes the documents of keys with several costly words, and the documents whose
// names have words of a key.
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
