package text

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/colaregistry/colaregistry/search/internal/column"
	"github.com/colaregistry/colaregistry/search/internal/postings"
)

// substringsBuilder builds a Substrings.
type substringsBuilder struct {
	s      Substrings
	n      uint32                           // number of documents
	docsOf func(value uint32) postings.List // documents of a value
	limit  int                              // estimated nanoseconds above which a union is precomputed
	seq    []uint32                         // words of the values
	off    []uint32                         // value i has seq[off[i]:off[i+1]]
	costly []costlyNeedle                   // needles to precompute
	union  *postings.Union
}

// costlyNeedle is a needle with precomputed documents: those of its words and values.
type costlyNeedle struct {
	needle string
	words  []uint32
	values []uint32
}

// BuildSubstrings indexes the folded values of n documents. docsOf returns the documents of a
// value. BuildSubstrings precomputes the unions whose estimated time exceeds limit, in nanoseconds.
func BuildSubstrings(
	values int, value func(i uint32) string, fold func(string) string, n uint32, docsOf func(uint32) postings.List, limit int,
) Substrings {
	b := &substringsBuilder{n: n, docsOf: docsOf, limit: limit, union: postings.NewUnion(n)}
	b.readValues(values, value, fold)
	b.postWords()
	b.sortSuffixes()
	b.findCostlyWordParts()
	b.findCostlySeparated()
	b.precomputeNeedles()
	b.precomputeAffixes()
	return b.s
}

// readValues collects the folded values and their words.
func (b *substringsBuilder) readValues(values int, value func(i uint32) string, fold func(string) string) {
	in := column.NewInterner()
	folded := column.NewDictBuilder()
	b.off = make([]uint32, 1, values+1)
	for i := range values {
		v := fold(value(uint32(i)))
		words(v, func(w string) { b.seq = append(b.seq, in.ID(w)) })
		folded.Add(v)
		b.off = append(b.off, uint32(len(b.seq)))
	}
	b.s.values = folded.Dict()
	var number []uint32
	b.s.words, number = in.Sorted()
	for i, old := range b.seq {
		b.seq[i] = number[old]
	}
}

// postWords builds the posting lists of each word.
func (b *substringsBuilder) postWords() {
	values := uint32(b.s.values.Len())
	byWord := postings.GroupBy(values, b.s.words.Len(), func(v uint32, put func(uint32)) {
		putDistinct(b.seq[b.off[v]:b.off[v+1]], put)
	})
	vals := postings.NewBuilder(values, b.s.words.Len())
	vals.AddGroups(byWord)
	docs := postings.NewBuilder(b.n, b.s.words.Len())
	for tok := range b.s.words.Len() {
		for _, v := range byWord.At(uint32(tok)) {
			b.union.Add(b.docsOf(v))
		}
		b.union.AppendTo(docs)
	}
	b.s.wordValues, b.s.wordDocs = vals.Lists(), docs.Lists()
}

// putDistinct puts each number of a short sequence once.
func putDistinct(seq []uint32, put func(uint32)) {
	for i, v := range seq {
		if !slices.Contains(seq[:i], v) {
			put(v)
		}
	}
}

// sortSuffixes builds the sorted array of the suffixes of all words.
func (b *substringsBuilder) sortSuffixes() {
	type suffix struct{ at, tok uint32 }
	toks := &b.s.words
	all := make([]suffix, 0, len(toks.Blob))
	for tok := range uint32(toks.Len()) {
		for at := toks.Off[tok]; at < toks.Off[tok+1]; at++ {
			all = append(all, suffix{at, tok})
		}
	}
	text := func(s suffix) string { return toks.Blob[s.at:toks.Off[s.tok+1]] }
	slices.SortFunc(all, func(x, y suffix) int { return strings.Compare(text(x), text(y)) })
	b.s.suffixes, b.s.suffixWord = make([]uint32, len(all)), make([]uint32, len(all))
	for i, s := range all {
		b.s.suffixes[i], b.s.suffixWord[i] = s.at, s.tok
	}
}

// findCostlyWordParts finds the costly needles of letters and digits.
func (b *substringsBuilder) findCostlyWordParts() {
	sum := prefixSums(len(b.s.suffixWord), func(i int) int { return b.s.wordDocs.At(b.s.suffixWord[i]).Cost() })
	walkPrefixes(len(b.s.suffixWord), b.s.suffixAt, func(lo, hi, depth int) bool {
		if sum[hi]-sum[lo] <= b.limit {
			return false
		}
		if depth > 0 {
			b.costly = append(b.costly, costlyNeedle{needle: b.s.suffixAt(lo)[:depth], words: b.s.suffixWord[lo:hi]})
		}
		return true
	})
}

// findCostlySeparated finds the costly needles of up to three ASCII characters with a separator
// among them.
func (b *substringsBuilder) findCostlySeparated() {
	cost := map[string]int{}
	for v := range uint32(b.s.values.Len()) {
		each := b.docsOf(v).Cost() + 30
		eachSeparated(b.s.values.At(v), func(gram string) { cost[gram] += each })
	}
	vals := map[string][]uint32{}
	for v := range uint32(b.s.values.Len()) {
		eachSeparated(b.s.values.At(v), func(gram string) {
			if cost[gram] > b.limit {
				vals[gram] = append(vals[gram], v)
			}
		})
	}
	for gram, vs := range vals {
		b.costly = append(b.costly, costlyNeedle{needle: gram, values: slices.Compact(vs)})
	}
}

// eachSeparated calls yield with each run of one to three ASCII characters that contains a
// separator and neither begins nor ends with a space.
func eachSeparated(s string, yield func(gram string)) {
	for i := range len(s) {
		separated := false
		for j := i; j < min(i+3, len(s)) && s[j] < utf8.RuneSelf; j++ {
			separated = separated || !isWord(rune(s[j]))
			if separated && s[i] != ' ' && s[j] != ' ' {
				yield(s[i : j+1])
			}
		}
	}
}

// precomputeNeedles precomputes the documents of costly needles.
func (b *substringsBuilder) precomputeNeedles() {
	slices.SortFunc(b.costly, func(x, y costlyNeedle) int { return strings.Compare(x.needle, y.needle) })
	out := newUnionsBuilder(b.n)
	for _, n := range b.costly {
		for _, tok := range n.words {
			out.union.Add(b.s.wordDocs.At(tok))
		}
		for _, v := range n.values {
			out.union.Add(b.docsOf(v))
		}
		out.add(n.needle)
	}
	b.s.needleDocs = out.unions()
}

// affixShare divides the cost limit for the union of one word set's values, because a needle may
// have several word sets.
const affixShare = 8

// precomputeAffixes precomputes the values that contain words with a costly prefix or suffix.
func (b *substringsBuilder) precomputeAffixes() {
	s, limit := &b.s, b.limit/affixShare
	s.prefixValues = unitePrefixes(&s.words, &s.wordValues, limit)
	ends := newUnionsBuilder(uint32(s.values.Len()))
	sum := prefixSums(len(s.suffixWord), func(i int) int { return s.wordValues.At(s.suffixWord[i]).Cost() })
	for lo := 0; lo < len(s.suffixWord); {
		hi := lo + 1
		for hi < len(s.suffixWord) && s.suffixAt(hi) == s.suffixAt(lo) {
			hi++
		}
		if sum[hi]-sum[lo] > limit {
			for _, tok := range s.suffixWord[lo:hi] {
				ends.union.Add(s.wordValues.At(tok))
			}
			ends.add(s.suffixAt(lo))
		}
		lo = hi
	}
	s.suffixValues = ends.unions()
}
