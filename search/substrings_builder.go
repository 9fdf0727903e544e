package search

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// substringsBuilder makes a substrings.
type substringsBuilder struct {
	s      substrings
	n      uint32                  // documents
	docsOf func(value uint32) list // documents of a value
	limit  int                     // estimated nanoseconds above which a needle's documents are kept ready
	seq    []uint32                // words of the values
	off    []uint32                // value i has seq[off[i]:off[i+1]]
	kept   []keptNeedle            // what is kept ready
	gather *gatherer
}

type keptNeedle struct {
	needle string
	toks   []uint32 // its documents are those of these words,
	vals   []uint32 // or of these values
}

// buildSubstrings indexes values, whose numbers are those of the documents' lists.
func buildSubstrings(values int, value func(i uint32) string, n uint32, docsOf func(uint32) list, limit int) substrings {
	b := &substringsBuilder{n: n, docsOf: docsOf, limit: limit, gather: newGatherer(n)}
	b.fold(values, value)
	b.post()
	b.sortSuffixes()
	b.keepWords()
	b.keepSeparated()
	b.keep()
	b.keepSets()
	return b.s
}

// fold collects the folded values and their words.
func (b *substringsBuilder) fold(values int, value func(i uint32) string) {
	in := newInterner()
	folded := newDictBuilder()
	b.off = make([]uint32, 1, values+1)
	for i := range values {
		v := Fold(value(uint32(i)))
		words(v, func(w string) { b.seq = append(b.seq, in.id(w)) })
		folded.add(v)
		b.off = append(b.off, uint32(len(b.seq)))
	}
	b.s.vals = folded.dict()
	var number []uint32
	b.s.toks, number = in.sorted()
	for i, old := range b.seq {
		b.seq[i] = number[old]
	}
}

// post makes the lists of each word.
func (b *substringsBuilder) post() {
	values := uint32(b.s.vals.len())
	byTok := groupBy(values, b.s.toks.len(), func(v uint32, put func(uint32)) {
		putDistinct(b.seq[b.off[v]:b.off[v+1]], put)
	})
	vals := newPostingsBuilder(values, b.s.toks.len())
	vals.addGroups(byTok)
	docs := newPostingsBuilder(b.n, b.s.toks.len())
	for tok := range b.s.toks.len() {
		for _, v := range byTok.at(uint32(tok)) {
			b.gather.add(b.docsOf(v))
		}
		b.gather.into(docs)
	}
	b.s.tokVals, b.s.tokDocs = vals.postings(), docs.postings()
}

// putDistinct puts each number of a short sequence once.
func putDistinct(seq []uint32, put func(uint32)) {
	for i, v := range seq {
		if !slices.Contains(seq[:i], v) {
			put(v)
		}
	}
}

func (b *substringsBuilder) sortSuffixes() {
	type suffix struct{ at, tok uint32 }
	toks := &b.s.toks
	all := make([]suffix, 0, len(toks.blob))
	for tok := range uint32(toks.len()) {
		for at := toks.off[tok]; at < toks.off[tok+1]; at++ {
			all = append(all, suffix{at, tok})
		}
	}
	text := func(s suffix) string { return toks.blob[s.at:toks.off[s.tok+1]] }
	slices.SortFunc(all, func(x, y suffix) int { return strings.Compare(text(x), text(y)) })
	b.s.suffix, b.s.of = make([]uint32, len(all)), make([]uint32, len(all))
	for i, s := range all {
		b.s.suffix[i], b.s.of[i] = s.at, s.tok
	}
}

// keepWords finds every needle of letters and digits that takes longer to unite than the limit.
func (b *substringsBuilder) keepWords() {
	sum := sums(len(b.s.of), func(i int) int { return b.s.tokDocs.list(b.s.of[i]).cost() })
	walkPrefixes(len(b.s.of), b.s.suffixAt, func(lo, hi, depth int) bool {
		if sum[hi]-sum[lo] <= b.limit {
			return false
		}
		if depth > 0 {
			b.kept = append(b.kept, keptNeedle{needle: b.s.suffixAt(lo)[:depth], toks: b.s.of[lo:hi]})
		}
		return true
	})
}

// keepSeparated finds the needles of up to three ASCII characters, not all of them letters and digits, that take longer than
// the limit.
func (b *substringsBuilder) keepSeparated() {
	cost := map[string]int{}
	for v := range uint32(b.s.vals.len()) {
		each := b.docsOf(v).cost() + 30
		eachSeparated(b.s.vals.at(v), func(gram string) { cost[gram] += each })
	}
	vals := map[string][]uint32{}
	for v := range uint32(b.s.vals.len()) {
		eachSeparated(b.s.vals.at(v), func(gram string) {
			if cost[gram] > b.limit {
				vals[gram] = append(vals[gram], v)
			}
		})
	}
	for gram, vs := range vals {
		b.kept = append(b.kept, keptNeedle{needle: gram, vals: slices.Compact(vs)})
	}
}

// eachSeparated calls yield with each run of one to three ASCII characters that holds one which is no letter or digit, and
// has no space at its ends.
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

// keep writes the documents that are kept ready.
func (b *substringsBuilder) keep() {
	slices.SortFunc(b.kept, func(x, y keptNeedle) int { return strings.Compare(x.needle, y.needle) })
	k := newKeeper(b.n)
	for _, n := range b.kept {
		for _, tok := range n.toks {
			k.gather.add(b.s.tokDocs.list(tok))
		}
		for _, v := range n.vals {
			k.gather.add(b.docsOf(v))
		}
		k.add(n.needle)
	}
	b.s.ready = k.kept()
}

// setShare is the share of the limit that uniting the values of one word set may take.
const setShare = 8

// keepSets keeps the values with words of a common beginning or ending.
func (b *substringsBuilder) keepSets() {
	s, limit := &b.s, b.limit/setShare
	s.begins = keepBeginnings(&s.toks, &s.tokVals, limit)
	ends := newKeeper(uint32(s.vals.len()))
	sum := sums(len(s.of), func(i int) int { return s.tokVals.list(s.of[i]).cost() })
	for lo := 0; lo < len(s.of); {
		hi := lo + 1
		for hi < len(s.of) && s.suffixAt(hi) == s.suffixAt(lo) {
			hi++
		}
		if sum[hi]-sum[lo] > limit {
			for _, tok := range s.of[lo:hi] {
				ends.gather.add(s.tokVals.list(tok))
			}
			ends.add(s.suffixAt(lo))
		}
		lo = hi
	}
	s.ends = ends.kept()
}
