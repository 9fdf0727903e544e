package search

import (
	"strings"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/cola/vocabulary"
	"github.com/colaregistry/colaregistry/search/internal/column"
	"github.com/colaregistry/colaregistry/search/internal/text"
)

// maxCorrected is the maximum number of words in a text to correct.
const maxCorrected = 6

// eachWord calls yield with each word of the values that starts with first.
type eachWord func(first string, yield func(w string))

// Correct returns the most likely correction of a text without completions. Each word is
// replaced by the most similar word of the field's values, or an adjective such as "french" by its
// origin. It returns "" if there is no such text.
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

// Correct corrects a text, as View.Correct does.
func (l *ValueList) Correct(q string) string {
	return correct(q, func(first string, yield func(w string)) {
		for i := range l.values {
			yieldWords(l.values[i].key, first, yield)
		}
	})
}

// correct replaces the misspelled words of a text. The last word may be incomplete.
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

// nearestWord returns the word that is most similar to a given word, or "" if there is none. For an
// incomplete word, it may be the beginning of one. Words too short to correct are returned as they
// are.
func nearestWord(word string, incomplete bool, each eachWord) string {
	spelling := text.NewSpelling(word)
	if spelling.Limit == 0 {
		return word
	}
	found := map[string]text.Nearest{}
	each(spelling.First(), func(w string) {
		edits := spelling.Edits(w)
		if incomplete && edits > 0 {
			if begin := spelling.Beginning(w); begin != w {
				if e := spelling.Edits(begin); e < edits {
					w, edits = begin, e
				}
			}
		}
		if edits <= spelling.Limit {
			found[w] = text.Nearest{Word: w, Edits: edits, Docs: found[w].Docs + 1}
		}
	})
	var best text.Nearest
	for _, n := range found {
		if n.Better(best) {
			best = n
		}
	}
	return best.Word
}

// eachBrandWord is an eachWord for the brands.
func (v *View) eachBrandWord(first string, yield func(w string)) {
	for i := range v.segments {
		eachKeyWord(&v.segments[i].brands.keys, first, yield)
	}
}

// eachCompanyWord is an eachWord for the company and operating names.
func (ps *permittees) eachCompanyWord(first string, yield func(w string)) {
	if ps.names != nil {
		eachKeyWord(&ps.names.byKey.keys, first, yield)
	}
	for _, i := range ps.unindexed {
		yieldWords(text.BrandKey(string(ps.records[i].CompanyName)), first, yield)
		yieldWords(text.BrandKey(string(ps.records[i].OperatingName)), first, yield)
	}
}

// eachKeyWord is an eachWord for keys.
func eachKeyWord(keys *column.Dict, first string, yield func(w string)) {
	lo, hi := keys.PrefixRange(first)
	for k := lo; k < hi; k++ {
		yieldWords(keys.At(k), first, yield)
	}
	keys.EachContaining(" "+first, func(k uint32) {
		if k < lo || k >= hi {
			yieldWords(keys.At(k), first, yield)
		}
	})
}

// yieldWords calls yield with the words of a key that start with first.
func yieldWords(key, first string, yield func(w string)) {
	for w := range strings.SplitSeq(key, " ") {
		if strings.HasPrefix(w, first) {
			yield(w)
		}
	}
}
