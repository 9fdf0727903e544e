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
// Each word has a posting list of the documents that contain it in any field. A query for a word
// finds all words with the same key, such as singular and plural, and takes the union of their
// lists. The words of a phrase must be next to each other in one value, so a phrase is matched
// against the values that have all its words.
type Index struct {
	vocab column.Dict // all words, sorted
	base  []uint32    // field f has the values in the range [base[f], base[f+1])
	off   []uint32    // value i has the sequence seq[off[i]:off[i+1]]
	seq   []uint32
	keys  keyIndex

	wordValues postings.Lists // values by word
	wordDocs   postings.Lists // documents by word
	byValue    postings.Lists // documents by value; none for the empty string

	// Precomputed unions.
	prefixDocs   unions // documents by prefix of a word or ID
	prefixValues unions // values by prefix of a word
	keyDocs      unions // documents by key of a word
	nameDocs     unions // documents by key of a word in the name
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

// sequence returns the word sequences of a value, separated by the empty word.
func (t *Index) sequence(value uint32) []uint32 { return t.seq[t.off[value]:t.off[value+1]] }

// condition constrains a word of a phrase to be one of words or in [lo, hi).
type condition struct {
	words  []uint32
	lo, hi uint32
}

func (c *condition) metBy(word uint32) bool {
	return c.lo <= word && word < c.hi || slices.Contains(c.words, word)
}

// conditions returns the conditions of a phrase; ok is false if the index has no word that meets
// one of them.
func (t *Index) conditions(p Phrase) (all []condition, ok bool) {
	all = make([]condition, len(p.Words))
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

// MatchPhrase appends lists of the documents that contain p, a phrase of several words.
func (t *Index) MatchPhrase(p Phrase, sc *postings.Scratch, dst []postings.List) []postings.List {
	if all, ok := t.conditions(p); ok {
		t.matchConditions(all, p, 0, t.wordValues.NumDocs(), sc, func(v uint32) { dst = append(dst, t.byValue.At(v)) })
	}
	return dst
}

// MatchName appends lists of the documents that contain p in the name field.
func (t *Index) MatchName(p Phrase, sc *postings.Scratch, dst []postings.List) []postings.List {
	if len(p.Words) == 1 {
		if l, ok := t.nameDocs.find(vocabulary.WordKey(p.Words[0])); ok {
			return append(dst, l)
		}
	}
	if all, ok := t.conditions(p); ok {
		field := uint32(nameField)
		t.matchConditions(all, p, t.base[field], t.base[field+1], sc, func(v uint32) { dst = append(dst, t.byValue.At(v)) })
	}
	return dst
}

// nameField is the field that MatchName searches.
const nameField = 0

// matchConditions calls yield with each value in [from, to) that has consecutive words that meet
// the conditions. If there is only one condition, any word may meet it, including a connector.
func (t *Index) matchConditions(
	all []condition, p Phrase, from, to uint32, sc *postings.Scratch, yield func(value uint32),
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
func (t *Index) valuesWith(c *condition, word string, sc *postings.Scratch) postings.Cursor {
	if len(c.words) == 1 {
		return postings.NewCursor(t.wordValues.At(c.words[0]))
	}
	if l, ok := t.prefixValues.find(word); ok && c.lo < c.hi {
		return postings.NewCursor(l)
	}
	all := postings.AllBlocks(t.wordValues.NumDocs())
	w, n := sc.Bitmap(t.wordValues.NumDocs(), all), 0
	add := func(tok uint32) {
		l := t.wordValues.At(tok)
		l.OrInto(w, all)
		n += l.Len()
	}
	for tok := c.lo; tok < c.hi; tok++ {
		add(tok)
	}
	for _, tok := range c.words {
		add(tok)
	}
	return postings.NewBitmapCursor(w, n)
}

// inSequence reports whether seq has consecutive words that meet the conditions.
func inSequence(seq []uint32, all []condition) bool {
	for i := 0; i+len(all) <= len(seq); i++ {
		n := 0
		for n < len(all) && all[n].metBy(seq[i+n]) {
			n++
		}
		if n == len(all) {
			return true
		}
	}
	return false
}

// MatchWord appends lists of the documents that contain p, a one-word phrase that is not a prefix.
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

// MatchPrefix appends lists of the documents with a word that begins with s.
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
