package search

import (
	"slices"
	"sort"
	"strings"
)

// substrings finds the documents whose value contains a text. Values are folded.
//
// A needle of letters and digits lies within single words, so the words that contain it are looked up by their sorted
// suffixes, and the documents of those words are the answer. What would take long that way is kept ready: uniting the lists
// of any other needle costs less than the limit that the index was built with. A needle that holds something else is looked
// for in the values that have words to match its own, or is kept ready, too.
type substrings struct {
	vals    dict
	toks    dict     // the words of the values, sorted
	suffix  []uint32 // where each suffix of a word begins in toks.blob, by the order of the suffixes
	of      []uint32 // which word each of them ends
	tokVals postings // values that have a word
	tokDocs postings // documents that have a word
	ready   kept     // documents of needles
	begins  kept     // values with a word that begins with something
	ends    kept     // values with a word that ends with something
}

// match appends lists that together hold the documents whose value contains the needle, which must be folded. Nothing
// matches an empty one. docsOf returns the documents of a value.
func (s *substrings) match(needle string, docsOf func(value uint32) list, sc *scratch, dst []list) []list {
	if l, ok := s.ready.list(needle); ok {
		return append(dst, l)
	}
	if needle == "" || s.toks.len() == 0 && s.vals.len() == 0 {
		return dst
	}
	if strings.IndexFunc(needle, func(r rune) bool { return !isWord(r) }) < 0 {
		lo, hi := s.suffixes(needle)
		for _, tok := range s.of[lo:hi] {
			dst = append(dst, s.tokDocs.list(tok))
		}
		return dst
	}
	s.values(needle, sc, func(v uint32) { dst = append(dst, docsOf(v)) })
	return dst
}

// suffixAt returns suffix i.
func (s *substrings) suffixAt(i int) string {
	return s.toks.blob[s.suffix[i]:s.toks.off[s.of[i]+1]]
}

// suffixes returns the range of suffixes that begin with the needle.
func (s *substrings) suffixes(needle string) (lo, hi int) {
	lo = sort.Search(len(s.suffix), func(i int) bool { return s.suffixAt(i) >= needle })
	hi = lo + sort.Search(len(s.suffix)-lo, func(i int) bool { return !strings.HasPrefix(s.suffixAt(lo+i), needle) })
	return lo, hi
}

// endings returns the range of suffixes that are the needle.
func (s *substrings) endings(needle string) (lo, hi int) {
	lo = sort.Search(len(s.suffix), func(i int) bool { return s.suffixAt(i) >= needle })
	hi = lo + sort.Search(len(s.suffix)-lo, func(i int) bool { return s.suffixAt(lo+i) != needle })
	return lo, hi
}

// values calls yield with each value that contains a needle that is not one word.
func (s *substrings) values(needle string, sc *scratch, yield func(v uint32)) {
	sets := s.wordSets(needle)
	if len(sets) == 0 {
		s.scan(needle, yield)
		return
	}
	n := uint32(s.vals.len())
	all := allBlocks(n)
	candidates, count := s.unite(sc, sets[0], all)
	defer sc.release(candidates)
	for _, set := range sets[1:] {
		if set.len() > count {
			break // looking at a candidate costs about as much as uniting a list to rule it out
		}
		more, _ := s.unite(sc, set, all)
		andWords(candidates, more)
		sc.release(more)
		count = popcount(candidates)
	}
	eachBit(candidates, 0, func(v uint32) bool {
		if strings.Contains(s.vals.at(v), needle) {
			yield(v)
		}
		return true
	})
}

// unite returns the values that have any word of a set, and how many they are.
func (s *substrings) unite(sc *scratch, set wordSet, all span) ([]uint64, int) {
	w := sc.bitmap(uint32(s.vals.len()), all)
	set.whole.orInto(w, all)
	for tok := set.lo; tok < set.hi; tok++ {
		s.tokVals.list(tok).orInto(w, all)
	}
	for _, tok := range set.toks {
		s.tokVals.list(tok).orInto(w, all)
	}
	return w, popcount(w)
}

// wordSet is the values that have any of some words: a range of words, or those listed, or all of them united already.
type wordSet struct {
	lo, hi uint32
	toks   []uint32
	whole  list
}

// len returns how many lists have to be united.
func (w wordSet) len() int {
	if w.whole.len() > 0 {
		return 1
	}
	return int(w.hi-w.lo) + len(w.toks)
}

// wordSets returns for each word in the needle the words of the values that it can be part of, those with least to unite
// first: the first word may be the end of a longer one, the last the beginning of one, where the needle begins and ends with
// them.
func (s *substrings) wordSets(needle string) (sets []wordSet) {
	words(needle, func(w string) {
		if len(sets) == 0 && strings.HasPrefix(needle, w) {
			sets = append(sets, s.ending(w))
			return
		}
		lo, ok := s.toks.find(w)
		set := wordSet{lo: lo, hi: lo}
		if ok {
			set.hi++
		}
		sets = append(sets, set)
	})
	if n := len(sets); n > 0 {
		if last := lastWord(needle); strings.HasSuffix(needle, last) && (n > 1 || !strings.HasPrefix(needle, last)) {
			sets[n-1] = s.beginning(last)
		}
	}
	slices.SortFunc(sets, func(a, b wordSet) int { return a.len() - b.len() })
	return sets
}

// ending returns the words that end with w.
func (s *substrings) ending(w string) wordSet {
	if l, ok := s.ends.list(w); ok {
		return wordSet{whole: l}
	}
	lo, hi := s.endings(w)
	return wordSet{toks: s.of[lo:hi]}
}

// beginning returns the words that begin with w.
func (s *substrings) beginning(w string) wordSet {
	if l, ok := s.begins.list(w); ok {
		return wordSet{whole: l}
	}
	lo, hi := s.toks.withPrefix(w)
	return wordSet{lo: lo, hi: hi}
}

func lastWord(s string) (last string) {
	words(s, func(w string) { last = w })
	return last
}

// scan looks through all values for a needle without any word in it.
func (s *substrings) scan(needle string, yield func(v uint32)) {
	blob, off := s.vals.blob, s.vals.off
	for at := 0; ; {
		i := strings.Index(blob[at:], needle)
		if i < 0 {
			return
		}
		at += i
		v := sort.Search(len(off), func(j int) bool { return int(off[j]) > at }) - 1
		if at+len(needle) <= int(off[v+1]) {
			yield(uint32(v))
			at = int(off[v+1])
		} else {
			at++
		}
	}
}

func (s *substrings) carry(c carrier) {
	s.vals.carry(c)
	s.toks.carry(c)
	carry(c, &s.suffix)
	carry(c, &s.of)
	s.tokVals.carry(c)
	s.tokDocs.carry(c)
	s.ready.carry(c)
	s.begins.carry(c)
	s.ends.carry(c)
}
