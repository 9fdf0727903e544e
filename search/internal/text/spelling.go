package text

import (
	"math/bits"
	"unicode/utf8"

	"github.com/colaregistry/colaregistry/cola/vocabulary"
)

// EachWord calls yield with each word that begins with first, and the number of documents that
// contain it.
func (t *Index) EachWord(first string, yield func(word string, docs int)) {
	lo, hi := t.vocab.PrefixRange(first)
	for tok := lo; tok < hi; tok++ {
		yield(t.vocab.At(tok), t.wordDocs.At(tok).Len())
	}
}

// Spelling compares a word that may be misspelled with other words.
type Spelling struct {
	// Limit is the maximum number of edits in a correction, as in vocabulary.NearestSpelling. It is
	// 0 for a word that is too short or too long to correct.
	Limit   int
	word    string
	want    []rune
	letters uint64
}

// NewSpelling returns the spelling of a folded word.
func NewSpelling(word string) *Spelling {
	return &Spelling{vocabulary.MaxEdits(word), word, []rune(word), letterSet(word)}
}

// First returns the first letter. Corrections start with the same letter.
func (s *Spelling) First() string { return string(s.want[:1]) }

// Edits returns the number of edits that turn the word into w, or a number above Limit if it takes
// more.
func (s *Spelling) Edits(w string) int {
	// An edit changes at most two members of the set.
	if n := len(w) - len(s.word); n > utf8.UTFMax*s.Limit || -n > utf8.UTFMax*s.Limit ||
		bits.OnesCount64(s.letters^letterSet(w)) > 2*s.Limit {
		return s.Limit + 1
	}
	return vocabulary.EditDistance(s.want, []rune(w), s.Limit)
}

// Beginning returns the beginning of w that is as long as the word, or all of w if w is shorter.
func (s *Spelling) Beginning(w string) string {
	n := 0
	for i := range w {
		if n == len(s.want) {
			return w[:i]
		}
		n++
	}
	return w
}

// letterSet returns the set of letters in a word, modulo 64.
func letterSet(word string) (set uint64) {
	for _, r := range word {
		set |= 1 << (r & 63)
	}
	return set
}
