package search

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/cola/vocabulary"
	"github.com/colaregistry/colaregistry/search/internal/column"
	"github.com/colaregistry/colaregistry/search/internal/text"
)

// maxCorrected is the maximum number of words in a query to correct.
const maxCorrected = 6

// eachWord calls yield with each word in a field's values that begins with first, and the number of
// values that have it. It may repeat words.
type eachWord func(first string, yield func(w string, values int))

// Correct returns the most likely correction of a query that has no completions. Each word is
// replaced by the most similar word of the field's values. An adjective of origin, such as
// "french", is replaced by the place. Correct returns "" if there is no correction.
func (v *View) Correct(field, q string) string {
	switch {
	case field == cola.SuggestBrand:
		return correct(q, v.eachBrandWord)
	case field == cola.SuggestCompany:
		return correct(q, v.permittees.eachCompanyWord)
	case field == cola.SuggestOrigin && vocabulary.IsOrigin(q):
		return vocabulary.PlaceName(vocabulary.OriginNames(q)[0])
	}
	return v.suggestions.of(v, field).Correct(q)
}

// Correct corrects a query, as View.Correct does.
func (l *ValueList) Correct(q string) string {
	return correct(q, func(first string, yield func(w string, values int)) {
		for i := range l.values {
			yieldWords(l.values[i].key, first, yield)
		}
	})
}

// correct replaces the misspelled words of a query. The last word may be incomplete.
func correct(q string, each eachWord) string {
	key := text.BrandKey(q)
	words := strings.Fields(key)
	if len(words) > maxCorrected {
		return ""
	}
	for i, word := range words {
		near := nearestWord(word, i == len(words)-1, each)
		if near == "" {
			return ""
		}
		words[i] = near
	}
	if near := strings.Join(words, " "); near != key {
		return near
	}
	return ""
}

// nearestWord returns the word that is most similar to the given word, or "" if there is none. Words
// too short or too long to correct are returned unchanged.
func nearestWord(word string, incomplete bool, each eachWord) string {
	if text.NewSpelling(word).Limit == 0 {
		return word
	}
	if near := nearestWords(word, incomplete, each); len(near) > 0 {
		return near[0]
	}
	return ""
}

// nearestWords returns the words that a word may stand for, most likely first. For an incomplete
// word, it may return only the beginnings of words. Words too short or too long to correct have none.
func nearestWords(word string, incomplete bool, each eachWord) (words []string) {
	spelling := text.NewSpelling(word)
	if spelling.Limit == 0 {
		return nil
	}
	found := map[string]candidate{}
	each(spelling.First(), func(w string, values int) {
		edits := spelling.Edits(w)
		if incomplete && edits > 0 {
			if begin := spelling.Beginning(w); begin != w {
				if e := spelling.Edits(begin); e < edits {
					w, edits = begin, e
				}
			}
		}
		if edits <= spelling.Limit {
			found[w] = candidate{w, edits, found[w].values + values}
		}
	})
	for _, c := range slices.SortedFunc(maps.Values(found), candidate.compare) {
		words = append(words, c.word)
	}
	return words
}

// candidate is a possible correction of a misspelled word.
type candidate struct {
	word   string
	edits  int // insertions, deletions, substitutions and swaps of adjacent letters
	values int // values that have the word
}

// compare returns a negative number if c is a better correction than other: fewer edits, then more
// values, then alphabetical order.
func (c candidate) compare(other candidate) int {
	return cmp.Or(c.edits-other.edits, other.values-c.values, strings.Compare(c.word, other.word))
}

// eachBrandWord implements eachWord for brands.
func (v *View) eachBrandWord(first string, yield func(w string, values int)) {
	for i := range v.segments {
		s := v.segments[i].segment
		s.keyWords.of(&s.brands.keys).each(first, yield)
	}
}

// eachCompanyWord implements eachWord for company and operating names.
func (ps *permittees) eachCompanyWord(first string, yield func(w string, values int)) {
	if ps.names != nil {
		ps.names.keyWords.of(&ps.names.byKey.keys).each(first, yield)
	}
	for _, i := range ps.unindexed {
		yieldWords(text.BrandKey(string(ps.records[i].CompanyName)), first, yield)
		yieldWords(text.BrandKey(string(ps.records[i].OperatingName)), first, yield)
	}
}

// yieldWords calls yield with the words of a key that begin with first.
func yieldWords(key, first string, yield func(w string, values int)) {
	for w := range strings.SplitSeq(key, " ") {
		if strings.HasPrefix(w, first) {
			yield(w, 1)
		}
	}
}

// keyWords are the words of keys, collected when they are first needed.
type keyWords struct{ counts atomic.Pointer[wordCounts] }

// of returns the words of keys, which must be the same in each call.
func (x *keyWords) of(keys *column.Dict) *wordCounts {
	counts := x.counts.Load()
	if counts == nil {
		counts = countWords(keys)
		x.counts.Store(counts)
	}
	return counts
}

// wordCounts counts the occurrences of words.
type wordCounts struct {
	words  column.Dict // sorted
	counts []uint32
}

// countWords counts the words of keys.
func countWords(keys *column.Dict) *wordCounts {
	in, byID := column.NewInterner(), []uint32{}
	for k := range keys.Len() {
		for w := range strings.SplitSeq(keys.At(uint32(k)), " ") {
			id := in.ID(w)
			for int(id) >= len(byID) {
				byID = append(byID, 0)
			}
			byID[id]++
		}
	}
	words, number := in.Sorted()
	c := &wordCounts{words, make([]uint32, words.Len())}
	for id, n := range byID {
		c.counts[number[id]] = n
	}
	return c
}

// each implements eachWord.
func (c *wordCounts) each(first string, yield func(w string, values int)) {
	lo, hi := c.words.PrefixRange(first)
	for w := lo; w < hi; w++ {
		yield(c.words.At(w), int(c.counts[w]))
	}
}
