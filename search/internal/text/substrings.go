package text

import (
	"slices"
	"sort"
	"strings"

	"github.com/colaregistry/colaregistry/search/internal/codec"
	"github.com/colaregistry/colaregistry/search/internal/column"
	"github.com/colaregistry/colaregistry/search/internal/postings"
)

// Substrings finds the documents whose value contains a string, the needle. Values are folded.
//
// A needle of letters and digits can match only within one word. The words that contain it are
// found in a suffix array of all words, and the result is the union of their documents. A needle
// with separators is matched against the values that have all its words. The documents for needles
// with costly unions are precomputed.
type Substrings struct {
	values       column.Dict
	words        column.Dict    // sorted
	suffixes     []uint32       // offsets in words.Blob, sorted by suffix
	suffixWord   []uint32       // the word, per suffix
	wordValues   postings.Lists // per word
	wordDocs     postings.Lists // per word
	needleDocs   unions         // documents per costly needle
	prefixValues unions         // values per costly word prefix
	suffixValues unions         // values per costly word suffix
}

// Match appends lists of the documents whose value contains the needle. The needle must be folded.
// An empty needle matches no documents. docsOf returns the documents of a value.
func (s *Substrings) Match(
	needle string, docsOf func(value uint32) postings.List, sc *postings.Scratch, dst []postings.List,
) []postings.List {
	if l, ok := s.needleDocs.find(needle); ok {
		return append(dst, l)
	}
	if needle == "" || s.words.Len() == 0 && s.values.Len() == 0 {
		return dst
	}
	if strings.IndexFunc(needle, func(r rune) bool { return !isWord(r) }) < 0 {
		lo, hi := s.suffixesWithPrefix(needle)
		for _, tok := range s.suffixWord[lo:hi] {
			dst = append(dst, s.wordDocs.At(tok))
		}
		return dst
	}
	s.matchValues(needle, sc, func(v uint32) { dst = append(dst, docsOf(v)) })
	return dst
}

// MatchWord appends the list of the documents whose value contains the given whole word.
func (s *Substrings) MatchWord(word string, dst []postings.List) []postings.List {
	if tok, ok := s.words.Find(word); ok {
		dst = append(dst, s.wordDocs.At(tok))
	}
	return dst
}

// suffixAt returns suffix i.
func (s *Substrings) suffixAt(i int) string {
	return s.words.Blob[s.suffixes[i]:s.words.Off[s.suffixWord[i]+1]]
}

// suffixesWithPrefix returns the range of suffixes that begin with the needle.
func (s *Substrings) suffixesWithPrefix(needle string) (lo, hi int) {
	lo = sort.Search(len(s.suffixes), func(i int) bool { return s.suffixAt(i) >= needle })
	hi = lo + sort.Search(len(s.suffixes)-lo, func(i int) bool { return !strings.HasPrefix(s.suffixAt(lo+i), needle) })
	return lo, hi
}

// suffixesEqual returns the range of suffixes that equal the needle.
func (s *Substrings) suffixesEqual(needle string) (lo, hi int) {
	lo = sort.Search(len(s.suffixes), func(i int) bool { return s.suffixAt(i) >= needle })
	hi = lo + sort.Search(len(s.suffixes)-lo, func(i int) bool { return s.suffixAt(lo+i) != needle })
	return lo, hi
}

// matchValues calls yield with each value that contains a needle with separators.
func (s *Substrings) matchValues(needle string, sc *postings.Scratch, yield func(v uint32)) {
	sets := s.wordSets(needle)
	if len(sets) == 0 {
		s.values.EachContaining(needle, yield)
		return
	}
	n := uint32(s.values.Len())
	all := postings.AllBlocks(n)
	candidates, count := s.valuesWithAny(sc, sets[0], all)
	defer sc.Release(candidates)
	for _, set := range sets[1:] {
		if set.len() > count {
			break // checking a candidate costs about as much as adding a list to the union
		}
		more, _ := s.valuesWithAny(sc, set, all)
		postings.AndWords(candidates, more)
		sc.Release(more)
		count = postings.PopCount(candidates)
	}
	postings.EachBit(candidates, 0, func(v uint32) bool {
		if strings.Contains(s.values.At(v), needle) {
			yield(v)
		}
		return true
	})
}

// valuesWithAny returns the values with a word in a set, and how many there are.
func (s *Substrings) valuesWithAny(sc *postings.Scratch, set wordSet, all postings.Span) ([]uint64, int) {
	w := sc.Bitmap(uint32(s.values.Len()), all)
	set.union.OrInto(w, all)
	for tok := set.lo; tok < set.hi; tok++ {
		s.wordValues.At(tok).OrInto(w, all)
	}
	for _, tok := range set.words {
		s.wordValues.At(tok).OrInto(w, all)
	}
	return w, postings.PopCount(w)
}

// wordSet is a set of words: a range or a list of them, or the precomputed union of their values.
type wordSet struct {
	lo, hi uint32
	words  []uint32
	union  postings.List
}

// len returns the number of lists in the union.
func (w wordSet) len() int {
	if w.union.Len() > 0 {
		return 1
	}
	return int(w.hi-w.lo) + len(w.words)
}

// wordSets returns the words that each word of the needle can be part of, smallest set first. The
// first word may be the end of a longer one if the needle begins with it; the last may be the
// beginning of a longer one if the needle ends with it.
func (s *Substrings) wordSets(needle string) (sets []wordSet) {
	words(needle, func(w string) {
		if len(sets) == 0 && strings.HasPrefix(needle, w) {
			sets = append(sets, s.wordsEndingWith(w))
			return
		}
		lo, ok := s.words.Find(w)
		set := wordSet{lo: lo, hi: lo}
		if ok {
			set.hi++
		}
		sets = append(sets, set)
	})
	if n := len(sets); n > 0 {
		if last := lastWord(needle); strings.HasSuffix(needle, last) && (n > 1 || !strings.HasPrefix(needle, last)) {
			sets[n-1] = s.wordsStartingWith(last)
		}
	}
	slices.SortFunc(sets, func(a, b wordSet) int { return a.len() - b.len() })
	return sets
}

// wordsEndingWith returns the words that end with w.
func (s *Substrings) wordsEndingWith(w string) wordSet {
	if l, ok := s.suffixValues.find(w); ok {
		return wordSet{union: l}
	}
	lo, hi := s.suffixesEqual(w)
	return wordSet{words: s.suffixWord[lo:hi]}
}

// wordsStartingWith returns the words that begin with w.
func (s *Substrings) wordsStartingWith(w string) wordSet {
	if l, ok := s.prefixValues.find(w); ok {
		return wordSet{union: l}
	}
	lo, hi := s.words.PrefixRange(w)
	return wordSet{lo: lo, hi: hi}
}

func lastWord(s string) (last string) {
	words(s, func(w string) { last = w })
	return last
}

// Serialize transfers the index.
func (s *Substrings) Serialize(c codec.Codec) {
	s.values.Serialize(c)
	s.words.Serialize(c)
	codec.Slice(c, &s.suffixes)
	codec.Slice(c, &s.suffixWord)
	s.wordValues.Serialize(c)
	s.wordDocs.Serialize(c)
	s.needleDocs.Serialize(c)
	s.prefixValues.Serialize(c)
	s.suffixValues.Serialize(c)
}
