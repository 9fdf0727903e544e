package text

import (
	"math/bits"
	"unicode/utf8"

	"github.com/colaregistry/colaregistry/cola/vocabulary"
)

// Nearest is the word that is most similar to a misspelled word.
type Nearest struct {
	Word string // empty if none is similar enough
	// Edits is the number of insertions, deletions, substitutions and swaps of adjacent letters.
	Edits int
	Docs  int // documents with the word
}

// Better reports whether n is a better correction than other: fewer edits, then more documents,
// then alphabetical order.
func (n Nearest) Better(other Nearest) bool {
	switch {
	case n.Word == "" || other.Word == "":
		return other.Word == ""
	case n.Edits != other.Edits:
		return n.Edits < other.Edits
	case n.Docs != other.Docs:
		return n.Docs > other.Docs
	}
	return n.Word < other.Word
}

// Nearest returns the best correction of a folded word among the words with the same first letter.
// It allows as many edits as vocabulary.NearestSpelling.
func (t *Index) Nearest(word string) (best Nearest) {
	s := NewSpelling(word)
	if s.Limit == 0 {
		return best
	}
	lo, hi := t.vocab.PrefixRange(s.First())
	for tok := lo; tok < hi; tok++ {
		w := t.vocab.At(tok)
		edits := s.Edits(w)
		if edits > s.Limit {
			continue
		}
		if found := (Nearest{w, edits, t.wordDocs.At(tok).Len()}); found.Better(best) {
			best = found
		}
	}
	return best
}

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
