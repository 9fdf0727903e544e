package text

import (
	"math/bits"
	"unicode/utf8"

	"github.com/colaregistry/colaregistry/cola/vocabulary"
)

// Nearest is the word that is most similar to a misspelled word.
type Nearest struct {
	Word string // empty if none is similar enough
	// Edits is the number of insertions, deletions, substitutions and swaps of neighbors.
	Edits int
	Docs  int // documents with the word
}

// Better reports whether n is a better correction than other: fewer edits, then more documents, then
// by word.
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
	limit := vocabulary.MaxEdits(word)
	if limit == 0 {
		return best
	}
	want, letters := []rune(word), letterSet(word)
	lo, hi := t.vocab.PrefixRange(string(want[0]))
	for tok := lo; tok < hi; tok++ {
		w := t.vocab.At(tok)
		// An edit changes at most two members of the set.
		if n := len(w) - len(word); n > utf8.UTFMax*limit || -n > utf8.UTFMax*limit ||
			bits.OnesCount64(letters^letterSet(w)) > 2*limit {
			continue
		}
		edits := vocabulary.EditDistance(want, []rune(w), limit)
		if edits > limit {
			continue
		}
		if found := (Nearest{w, edits, t.wordDocs.At(tok).Len()}); found.Better(best) {
			best = found
		}
	}
	return best
}

// letterSet returns the set of the letters of a word, modulo 64.
func letterSet(word string) (set uint64) {
	for _, r := range word {
		set |= 1 << (r & 63)
	}
	return set
}
