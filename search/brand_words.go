package search

import (
	"math/bits"
	"slices"

	"github.com/colaregistry/colaregistry/search/internal/codec"
	"github.com/colaregistry/colaregistry/search/internal/column"
	"github.com/colaregistry/colaregistry/search/internal/postings"
	"github.com/colaregistry/colaregistry/search/internal/similar"
)

// brandWords indexes the brands of a brandIndex for finding similar names: by word, and by the core
// of each name written as one word.
type brandWords struct {
	words   column.Dict    // distinct words, in the form of similar.Word.Text, sorted
	lengths []uint8        // of the words, in characters
	generic []uint8        // 1 for generic words
	brands  postings.Lists // brands with each word
	first   []uint32       // brand k has the words refs[first[k]:first[k+1]]
	refs    []uint32
	like    likeIndex // of the words
	joined  likeIndex // of the joined cores of the brands
	sizes   []uint8   // words in the core of each brand
}

// buildBrandWords indexes the words of brands.
func buildBrandWords(brands *brandIndex) (x brandWords) {
	n := brands.keys.Len()
	in := column.NewInterner()
	x.first, x.sizes = make([]uint32, 1, n+1), make([]uint8, n)
	var joined likeBuilder
	for k := range uint32(n) {
		name := similar.NewName(brands.keys.At(k))
		for i := range name.Words {
			x.refs = append(x.refs, in.ID(name.Words[i].Text))
		}
		x.first = append(x.first, uint32(len(x.refs)))
		joined.add(&name.Joined)
		x.sizes[k] = uint8(name.Size())
	}
	x.joined = joined.index()
	words, number := in.Sorted()
	for i, id := range x.refs {
		x.refs[i] = number[id]
	}
	x.words, x.refs = words, codec.Shrink(x.refs)
	x.lengths, x.generic = make([]uint8, words.Len()), make([]uint8, words.Len())
	var like likeBuilder
	for i := range uint32(words.Len()) {
		w := similar.NewWord(words.At(i))
		like.add(&w)
		x.lengths[i] = uint8(w.Length)
		if similar.IsGeneric(w.Text) {
			x.generic[i] = 1
		}
	}
	x.like = like.index()
	lists := postings.NewBuilder(uint32(n), words.Len())
	lists.AddGroups(postings.GroupBy(uint32(n), words.Len(), x.eachWord))
	x.brands = lists.Lists()
	return x
}

// eachWord calls put once for each distinct word of a brand.
func (x *brandWords) eachWord(brand uint32, put func(word uint32)) {
	refs := x.wordsOf(brand)
	for i, w := range refs {
		if !slices.Contains(refs[:i], w) {
			put(w)
		}
	}
}

// wordsOf returns the words of a brand.
func (x *brandWords) wordsOf(brand uint32) []uint32 { return x.refs[x.first[brand]:x.first[brand+1]] }

func (x *brandWords) serialize(c codec.Codec) {
	x.words.Serialize(c)
	codec.Slice(c, &x.lengths)
	codec.Slice(c, &x.generic)
	x.brands.Serialize(c)
	codec.Slice(c, &x.first)
	codec.Slice(c, &x.refs)
	x.like.serialize(c)
	x.joined.serialize(c)
	codec.Slice(c, &x.sizes)
}

// similarBrand is a brand of a segment that is similar to a query.
type similarBrand struct {
	segment uint16
	kind    similar.Kind
	score   uint8
	brand   uint32
}

// similarBrands returns the segment's brands that score at least minScore, sorted by key. Some of
// them may have no live labels.
func (s *segment) similarBrands(q *similar.Query, minScore int, sc *postings.Scratch) (found []similarBrand) {
	x, n := &s.brandWords, uint32(s.brands.keys.Len())
	related := x.relate(q, sc)
	defer sc.Release(related.set)
	byWords, byJoined := x.withWords(q, related, n, sc), x.withJoined(q, n, sc)
	defer sc.Release(byWords)
	defer sc.Release(byJoined)
	if k, ok := s.brands.keys.Find(q.Key); ok {
		postings.SetBit(byWords, k)
	}
	parts := make([]similar.Part, 0, similar.MaxWords)
	for i := range byWords {
		for w := byWords[i] | byJoined[i]; w != 0; w &= w - 1 {
			k := uint32(i<<6 + bits.TrailingZeros64(w))
			key := s.brands.keys.At(k)
			var m similar.Match
			if key == q.Key {
				m = q.CompareSame()
			} else {
				parts = x.parts(parts[:0], k, related)
				m = q.CompareWords(parts, key)
				if postings.HasBit(byJoined, k) {
					name := similar.NewName(key)
					m = m.Or(q.CompareJoined(&name))
				}
			}
			if m.Score >= minScore && m.Score > 0 {
				found = append(found, similarBrand{kind: m.Kind, score: uint8(m.Score), brand: k})
			}
		}
	}
	return found
}

// relatedWords are the words of a segment that are similar to a word of the query.
type relatedWords struct {
	relations map[uint32][]similar.Relation // to each word of the query
	set       []uint64                      // bitmap of the words
}

// add sets the relation to word i of a query with n words.
func (r *relatedWords) add(word uint32, i, n int, relation similar.Relation) {
	if r.relations[word] == nil {
		r.relations[word] = make([]similar.Relation, n)
		postings.SetBit(r.set, word)
	}
	r.relations[word][i] = relation
}

// of returns the relations of a word, or nil.
func (r *relatedWords) of(word uint32) []similar.Relation {
	if !postings.HasBit(r.set, word) {
		return nil
	}
	return r.relations[word]
}

// relate compares the words of the segment and the query.
func (x *brandWords) relate(q *similar.Query, sc *postings.Scratch) *relatedWords {
	n := uint32(x.words.Len())
	r := &relatedWords{map[uint32][]similar.Relation{}, sc.Bitmap(n, postings.AllBlocks(n))}
	for i := range q.Words {
		x.relateWord(q, i, r)
	}
	return r
}

// relateWord compares the words of the segment with word i of the query.
func (x *brandWords) relateWord(q *similar.Query, i int, r *relatedWords) {
	want := &q.Words[i]
	compare := func(w uint32, sounds bool) {
		if row := r.of(w); row != nil && row[i] != (similar.Relation{}) {
			return
		}
		have := similar.Word{Text: x.words.At(w), Length: int(x.lengths[w])}
		if sounds {
			have.Sounds = want.Sounds
		}
		if relation := q.Relate(i, &have); relation != (similar.Relation{}) {
			r.add(w, i, len(q.Words), relation)
		}
	}
	if w, ok := x.words.Find(want.Text); ok {
		compare(w, true)
	}
	if !q.InCore(i) { // only similar to itself
		return
	}
	if w, ok := x.words.Find(similar.WithDoubleS(want.Text)); ok {
		compare(w, false)
	}
	x.like.alike(want, func(length int) int { return similar.EditLimit(want.Length, length) }, compare)
	if !q.MayBegin(i) {
		return
	}
	lo, hi := x.words.PrefixRange(want.Text)
	for w := lo; w < hi; w++ {
		compare(w, false)
	}
	for end := range want.Text {
		if w, ok := x.words.Find(want.Text[:end]); ok {
			compare(w, false)
		}
	}
}

// withWords returns the brands with a word in their core that is similar to one in the query's
// core. Others are not similar, even if they share generic words. A generic word is in a brand's
// core only if all words of the brand are generic.
func (x *brandWords) withWords(
	q *similar.Query, related *relatedWords, n uint32, sc *postings.Scratch,
) []uint64 {
	all := postings.AllBlocks(n)
	w, generic := sc.Bitmap(n, all), sc.Bitmap(n, all)
	defer sc.Release(generic)
	for word, relations := range related.relations {
		for i := range relations {
			if q.InCore(i) && relations[i] != (similar.Relation{}) {
				into := w
				if x.generic[word] != 0 {
					into = generic
				}
				x.brands.At(word).OrInto(into, all)
				break
			}
		}
	}
	postings.EachBit(generic, 0, func(k uint32) bool {
		if int(x.sizes[k]) == len(x.wordsOf(k)) {
			postings.SetBit(w, k)
		}
		return true
	})
	return w
}

// withJoined returns the brands that may be similar to the query if some of their words are written
// together.
func (x *brandWords) withJoined(q *similar.Query, n uint32, sc *postings.Scratch) []uint64 {
	w := sc.Bitmap(n, postings.AllBlocks(n))
	limit := func(length int) int { return similar.JoinedEditLimit(q.Joined.Length, length) }
	x.joined.alike(&q.Joined, limit, func(k uint32, _ bool) {
		if int(x.sizes[k]) != q.Size() {
			postings.SetBit(w, k)
		}
	})
	add := func(word string, words int) {
		if id, ok := x.words.Find(word); ok {
			x.brands.At(id).Each(func(k uint32) bool {
				if len(x.wordsOf(k)) == words {
					postings.SetBit(w, k)
				}
				return true
			})
		}
	}
	q.GenericSplits(func(rest string) { add(rest, 2) })
	if len(q.Words) == 2 {
		add(q.Full(), 1)
	}
	return w
}

// parts appends the words of a brand.
func (x *brandWords) parts(dst []similar.Part, brand uint32, related *relatedWords) []similar.Part {
	for _, w := range x.wordsOf(brand) {
		dst = append(dst, similar.Part{
			Length:    int(x.lengths[w]),
			Generic:   x.generic[w] != 0,
			Relations: related.of(w),
		})
	}
	return dst
}
