package search

import (
	"math/bits"
	"slices"
	"unicode/utf8"

	"github.com/colaregistry/colaregistry/cola/vocabulary"
	"github.com/colaregistry/colaregistry/search/internal/codec"
	"github.com/colaregistry/colaregistry/search/internal/column"
	"github.com/colaregistry/colaregistry/search/internal/postings"
	"github.com/colaregistry/colaregistry/search/internal/similar"
	"github.com/colaregistry/colaregistry/search/internal/text"
)

// brandWords indexes the brand names of a brandIndex to find similar names: by word, and by the
// core of each name written as one word.
//
// Names are numbered: name k is the key of brand k. After the keys come other readings of spellings
// with elided articles, such as YQUEM for D'YQUEM.
type brandWords struct {
	words   column.Dict    // distinct words as written, sorted
	names   postings.Lists // names with each word
	first   []uint32       // name k has the words refs[first[k]:first[k+1]]
	refs    []uint32
	sizes   []uint8  // number of words in the core of each name
	elided  []uint32 // for each name that is not a key, the index of its spelling in the brand column
	sounds  []similar.Sounds
	byKey   keyGroups // words by vocabulary.WordKey, which is the form that names share
	generic []uint8   // 1 for the keys of generic words
	// keySounds are the sounds of the keys, which are also in keyLike; inflected has only the
	// written forms that differ from their keys.
	keySounds []similar.Sounds
	keyLike   likeIndex
	inflected likeIndex
	joined    likeIndex // of the joined cores of the names
}

// buildBrandWords indexes the names of brands. spellings are the values of the brand column.
func buildBrandWords(brands *brandIndex, spellings *column.Dict) (x brandWords) {
	in := column.NewInterner()
	x.first = []uint32{0}
	var joined likeBuilder
	add := func(name *similar.Name) {
		for i := range name.Words {
			x.refs = append(x.refs, in.ID(name.Words[i].Written.Text))
		}
		x.first = append(x.first, uint32(len(x.refs)))
		joined.add(uint32(len(x.sizes)), &name.Joined)
		x.sizes = append(x.sizes, uint8(name.Size()))
	}
	for k := range uint32(brands.keys.Len()) {
		name := similar.NewName(brands.keys.At(k))
		add(&name)
	}
	for v := range uint32(spellings.Len()) {
		if len(text.BrandReadings(spellings.At(v))) == 1 {
			continue
		}
		for _, name := range brandNames(spellings.At(v))[1:] {
			add(&name)
			x.elided = append(x.elided, v)
		}
	}
	x.first, x.sizes = codec.Shrink(x.first), codec.Shrink(x.sizes)
	x.joined = joined.index()
	words, number := in.Sorted()
	for i, id := range x.refs {
		x.refs[i] = number[id]
	}
	x.words, x.refs = words, codec.Shrink(x.refs)
	x.indexForms()
	lists := postings.NewBuilder(x.len(), words.Len())
	lists.AddGroups(postings.GroupBy(x.len(), words.Len(), x.eachWord))
	x.names = lists.Lists()
	return x
}

// indexForms indexes the keys and the written forms of the words.
func (x *brandWords) indexForms() {
	x.byKey = groupByKey(&x.words, vocabulary.WordKey)
	keys := x.byKey.keys.Len()
	x.generic, x.keySounds = make([]uint8, keys), make([]similar.Sounds, keys)
	x.sounds = make([]similar.Sounds, x.words.Len())
	var like, inflected likeBuilder
	for k := range uint32(keys) {
		form := similar.NewForm(x.byKey.keys.At(k))
		like.add(k, &form)
		x.keySounds[k] = form.Sounds
		if similar.IsGeneric(form.Text) {
			x.generic[k] = 1
		}
	}
	for w := range uint32(x.words.Len()) {
		form := similar.NewForm(x.words.At(w))
		x.sounds[w] = form.Sounds
		if form.Text != x.byKey.keys.At(x.byKey.keyOf[w]) {
			inflected.add(w, &form)
		}
	}
	x.keyLike, x.inflected = like.index(), inflected.index()
}

// word returns a word without the Letters of its forms, which Relate does not use.
func (x *brandWords) word(w uint32) similar.Word {
	k := x.byKey.keyOf[w]
	key, written := x.byKey.keys.At(k), x.words.At(w)
	return similar.Word{
		Form:    similar.Form{Text: key, Length: formLength(key), Sounds: x.keySounds[k]},
		Written: similar.Form{Text: written, Length: formLength(written), Sounds: x.sounds[w]},
	}
}

// formLength returns the length of a similar.Form.
func formLength(text string) int { return min(utf8.RuneCountInString(text), similar.MaxLength) }

// len returns the number of names.
func (x *brandWords) len() uint32 { return uint32(len(x.sizes)) }

// eachWord calls put once for each distinct word of a name.
func (x *brandWords) eachWord(name uint32, put func(word uint32)) {
	refs := x.wordsOf(name)
	for i, w := range refs {
		if !slices.Contains(refs[:i], w) {
			put(w)
		}
	}
}

// wordsOf returns the words of a name.
func (x *brandWords) wordsOf(name uint32) []uint32 { return x.refs[x.first[name]:x.first[name+1]] }

func (x *brandWords) serialize(c codec.Codec) {
	x.words.Serialize(c)
	x.names.Serialize(c)
	codec.Slice(c, &x.first)
	codec.Slice(c, &x.refs)
	codec.Slice(c, &x.sizes)
	codec.Slice(c, &x.elided)
	codec.Slice(c, &x.sounds)
	x.byKey.serialize(c)
	codec.Slice(c, &x.generic)
	codec.Slice(c, &x.keySounds)
	x.keyLike.serialize(c)
	x.inflected.serialize(c)
	x.joined.serialize(c)
}

// nameKey returns the key of a name.
func (s *segment) nameKey(name uint32) string {
	if brands := uint32(s.brands.keys.Len()); name >= brands {
		elided, i := s.brandWords.elided, name-brands
		reading := 1
		for ; i > 0 && elided[i-1] == elided[i]; i-- {
			reading++
		}
		return brandNames(s.t.text[colBrand].At(elided[i]))[reading].Key
	}
	return s.brands.keys.At(name)
}

// nameSpellings returns the values of the brand column with the given name.
func (s *segment) nameSpellings(name uint32) []uint32 {
	if brands := uint32(s.brands.keys.Len()); name >= brands {
		return s.brandWords.elided[name-brands:][:1]
	}
	return s.brands.spellings(name)
}

// similarNames calls yield with the brand names of the segment that score at least minScore. They
// may have no live labels.
func (s *segment) similarNames(
	q *similar.Query, minScore int, sc *postings.Scratch, yield func(name uint32, m similar.Match),
) {
	x, brands := &s.brandWords, uint32(s.brands.keys.Len())
	related := x.relate(q, sc)
	defer sc.Release(related.set)
	byWords, byJoined := x.withWords(q, related, sc), x.withJoined(q, sc)
	defer sc.Release(byWords)
	defer sc.Release(byJoined)
	if k, ok := s.brands.keys.Find(q.Key); ok {
		postings.SetBit(byWords, k)
	}
	parts := make([]similar.Part, 0, similar.MaxWords)
	for i := range byWords {
		for w := byWords[i] | byJoined[i]; w != 0; w &= w - 1 {
			k := uint32(i<<6 + bits.TrailingZeros64(w))
			key := s.nameKey(k)
			var m similar.Match
			if !q.Reading && k < brands && key == q.Key {
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
				yield(k, m)
			}
		}
	}
}

// relatedWords are the words of a segment that are similar to a word of the query.
type relatedWords struct {
	relations map[uint32][]similar.Relation // of each word to each word of the query
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
	compare := func(w uint32) {
		if row := r.of(w); row != nil && row[i] != (similar.Relation{}) {
			return
		}
		have := x.word(w)
		if relation := q.Relate(i, &have); relation != (similar.Relation{}) {
			r.add(w, i, len(q.Words), relation)
		}
	}
	compareKey := func(k uint32) {
		for _, w := range x.byKey.spellings(k) {
			compare(w)
		}
	}
	if k, ok := x.byKey.keys.Find(want.Text); ok {
		compareKey(k)
	}
	if !q.InCore(i) { // similar only to itself
		return
	}
	x.keyLike.candidates(&want.Form, similar.EditLimit, compareKey)
	if want.Written.Text != want.Text {
		x.keyLike.candidates(&want.Written, similar.EditLimit, compareKey)
	}
	x.inflected.candidates(&want.Written, similar.EditLimit, compare)
	if !q.MayBegin(i) {
		return
	}
	lo, hi := x.byKey.keys.PrefixRange(want.Text)
	for k := lo; k < hi; k++ {
		compareKey(k)
	}
	for end := range want.Text {
		if k, ok := x.byKey.keys.Find(want.Text[:end]); ok {
			compareKey(k)
		}
	}
}

// withWords returns the names with a word in their core that is similar to one in the query's core.
// No other name is similar, even if it shares generic words with the query. A generic word is in a
// name's core only if all words of the name are generic.
func (x *brandWords) withWords(q *similar.Query, related *relatedWords, sc *postings.Scratch) []uint64 {
	n := x.len()
	all := postings.AllBlocks(n)
	w, generic := sc.Bitmap(n, all), sc.Bitmap(n, all)
	defer sc.Release(generic)
	for word, relations := range related.relations {
		for i := range relations {
			if q.InCore(i) && relations[i] != (similar.Relation{}) {
				into := w
				if x.generic[x.byKey.keyOf[word]] != 0 {
					into = generic
				}
				x.names.At(word).OrInto(into, all)
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

// withJoined returns the names that may be similar to the query if words are written together.
func (x *brandWords) withJoined(q *similar.Query, sc *postings.Scratch) []uint64 {
	w := sc.Bitmap(x.len(), postings.AllBlocks(x.len()))
	x.joined.candidates(&q.Joined, similar.JoinedEditLimit, func(k uint32) {
		if int(x.sizes[k]) != q.Size() {
			postings.SetBit(w, k)
		}
	})
	add := func(key string, words int) {
		id, ok := x.byKey.keys.Find(key)
		if !ok {
			return
		}
		for _, word := range x.byKey.spellings(id) {
			x.names.At(word).Each(func(k uint32) bool {
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

// parts appends the words of a name.
func (x *brandWords) parts(dst []similar.Part, name uint32, related *relatedWords) []similar.Part {
	for _, w := range x.wordsOf(name) {
		dst = append(dst, similar.Part{
			Length:    formLength(x.byKey.keys.At(x.byKey.keyOf[w])),
			Generic:   x.generic[x.byKey.keyOf[w]] != 0,
			Relations: related.of(w),
		})
	}
	return dst
}
