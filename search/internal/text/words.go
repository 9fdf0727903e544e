package text

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/colaregistry/colaregistry/cola/vocabulary"
)

// mark stands for an apostrophe in a marked text. It is not part of a word, and folding keeps it.
const mark = '\x01'

// foldMarked is like Fold, but replaces apostrophes by marks instead of removing them.
func foldMarked(s string) string {
	if strings.IndexFunc(s, func(r rune) bool { return dropApostrophe(r) < 0 }) < 0 {
		return Fold(s)
	}
	return Fold(strings.Map(func(r rune) rune {
		if dropApostrophe(r) < 0 {
			return mark
		}
		return r
	}, s))
}

// unmark removes the marks of a text.
func unmark(s string) string { return strings.ReplaceAll(s, string(mark), "") }

// analysis splits text into words. Its slices are valid until the next call of split.
type analysis struct {
	// sequence has the words whose order phrases compare. Initials are one word (A.B.C. is abc).
	// There are no connectors, unless there are no other words.
	sequence []string
	// others has words that find the text, but are not part of the sequence: single initials,
	// connectors, and the parts of words with apostrophes (d'Yquem is also yquem).
	others []string
}

func (a *analysis) split(s string) {
	folded := Fold(s)
	a.splitFolded(folded)
	if marked := foldMarked(s); len(marked) > len(folded) {
		for field := range strings.FieldsFuncSeq(marked, func(r rune) bool { return r != mark && !isWord(r) }) {
			a.addParts(field)
		}
	}
}

// splitFolded is like split for a folded text, which has no apostrophes.
func (a *analysis) splitFolded(folded string) {
	a.sequence, a.others = a.sequence[:0], a.others[:0]
	joins := func(r rune) bool { return isWord(r) || r == ' ' || r == '.' || r == '-' }
	for run := range strings.FieldsFuncSeq(folded, func(r rune) bool { return !joins(r) }) {
		initials := 0 // at the end of the sequence
		words(run, func(w string) {
			if r, n := utf8.DecodeRuneInString(w); n == len(w) && unicode.IsLetter(r) {
				initials++
			} else {
				a.joinInitials(initials)
				initials = 0
			}
			a.sequence = append(a.sequence, w)
		})
		a.joinInitials(initials)
	}
	a.dropConnectors()
}

// joinInitials replaces the last n words of the sequence, single letters, by one word.
func (a *analysis) joinInitials(n int) {
	if n > 1 {
		first := len(a.sequence) - n
		a.others = append(a.others, a.sequence[first:]...)
		a.sequence = append(a.sequence[:first], strings.Join(a.sequence[first:], ""))
	}
}

// dropConnectors moves connectors to the other words, unless there are only connectors.
func (a *analysis) dropConnectors() {
	kept := a.sequence[:0]
	connectors := 0
	for _, w := range a.sequence {
		if vocabulary.IsConnector(w) {
			connectors++
		}
	}
	if connectors == 0 || connectors == len(a.sequence) {
		return
	}
	for _, w := range a.sequence {
		if vocabulary.IsConnector(w) {
			a.others = append(a.others, w)
		} else {
			kept = append(kept, w)
		}
	}
	a.sequence = kept
}

// addParts adds the parts of a marked word that are words by themselves: an elided word, and other
// parts of three letters or more (cooper's, rock'n'roll), except in negations (don't).
func (a *analysis) addParts(marked string) {
	parts := strings.Split(marked, string(mark))
	if len(parts) == 1 {
		return
	}
	for i, part := range parts {
		negated := i+1 < len(parts) && parts[i+1] == "t" && strings.HasSuffix(part, "n")
		elided := i > 0 && elidesNext(parts[i-1]) && utf8.RuneCountInString(part) > 1
		if elided || utf8.RuneCountInString(part) > 2 && !negated {
			a.others = append(a.others, part)
		}
	}
}

// elidesNext reports whether a word is an article or preposition that loses its vowel before
// another word, as in d'Yquem and dell'Umbria, or the O of an Irish name.
func elidesNext(word string) bool {
	switch word {
	case "c", "d", "j", "l", "m", "n", "o", "qu", "s", "t", "all", "dall", "degl", "dell", "gl", "nell", "sant", "sull", "un":
		return true
	}
	return false
}

// KeyName returns the keys of a name's words, each between bars, to find names in which words are
// written in another way: "|cooper|hawk|" for Cooper's Hawk.
func KeyName(name string) string {
	a := analysis{}
	a.split(name)
	b := []byte{'|'}
	for _, w := range a.sequence {
		b = append(append(b, vocabulary.WordKey(w)...), '|')
	}
	for _, w := range a.others {
		b = append(append(append(b, '|'), vocabulary.WordKey(w)...), '|')
	}
	return string(b)
}

// KeyPart returns a string that KeyName contains for every name with the words of part in sequence.
// It is empty if part has no words.
func KeyPart(part string) string {
	var b strings.Builder
	for _, w := range ParseName(part).Words {
		b.WriteString("|" + vocabulary.WordKey(w))
	}
	if b.Len() > 0 {
		b.WriteByte('|')
	}
	return b.String()
}
