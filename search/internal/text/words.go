package text

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/colaregistry/colaregistry/cola/vocabulary"
)

// mark stands for an apostrophe in a marked string. It is not part of a word, and folding keeps it.
const mark = '\x01'

// foldMarked is like Fold, but replaces apostrophes with marks instead of removing them.
func foldMarked(s string) string {
	if strings.IndexFunc(s, func(r rune) bool { return dropApostrophe(r) < 0 || r == mark }) < 0 {
		return Fold(s)
	}
	return Fold(strings.Map(func(r rune) rune {
		switch {
		case dropApostrophe(r) < 0:
			return mark
		case r == mark:
			return ' '
		}
		return r
	}, s))
}

// unmark removes the marks from a string.
func unmark(s string) string { return strings.ReplaceAll(s, string(mark), "") }

// analysis splits text into words. Its slices are valid until the next call to split.
type analysis struct {
	// sequence has the words in order, as phrases match them. Initials are one word (A.B.C. is
	// abc). Connectors are omitted unless there are no other words. If the text can be read in
	// another way, alternative sequences follow, each after an empty string: one with initials as
	// separate words, one with words split at apostrophes (d'Yquem is also yquem), and one with
	// words joined where an apostrophe is missing (Jack Daniel S is also jack daniels).
	sequence []string
	// connectors has the connectors omitted from the sequences. A query for a connector finds them.
	connectors []string
}

func (a *analysis) split(s string) {
	a.sequence, a.connectors = a.sequence[:0], a.connectors[:0]
	folded := Fold(s)
	if initials := a.add(folded, true); initials {
		a.sequence = append(a.sequence, "")
		a.add(folded, false)
	}
	if split := splitApostrophes(foldMarked(s)); split != folded {
		a.sequence = append(a.sequence, "")
		a.add(split, true)
	}
	if joined := JoinDetached(folded); joined != folded {
		a.sequence = append(a.sequence, "")
		a.add(joined, true)
	}
}

// add appends the sequence of a folded string without marks. If join is true, initials are one
// word. add reports whether there are initials.
func (a *analysis) add(folded string, join bool) (initials bool) {
	first := len(a.sequence)
	from, end, gap := first, 0, "" // where the initials begin, where the latest word ends, and what separates them
	words(folded, func(w string) {
		begin := end + strings.Index(folded[end:], w)
		between := folded[end:begin]
		end = begin + len(w)
		r, n := utf8.DecodeRuneInString(w)
		letter := n == len(w) && unicode.IsLetter(r)
		continued := letter && len(a.sequence) > from && joinsInitials(between) && (gap == "" || gap == between)
		if !continued {
			initials = a.joinInitials(from, join) || initials
			from, gap = len(a.sequence), ""
		} else {
			gap = between
		}
		a.sequence = append(a.sequence, w)
		if !letter {
			from = len(a.sequence)
		}
	})
	initials = a.joinInitials(from, join) || initials
	a.dropConnectors(first)
	return initials
}

// joinsInitials reports whether the text between two words can separate initials. All separators in
// a run of initials must be the same: P.S. I LOVE YOU has the initials P.S.
func joinsInitials(between string) bool {
	return between == "." || between == ". " || between == " " || between == "-"
}

// joinInitials reports whether the run of initials that begins at index from has several words. If
// so and join is true, it joins them into one word.
func (a *analysis) joinInitials(from int, join bool) bool {
	if len(a.sequence)-from < 2 {
		return false
	}
	if join {
		a.sequence = append(a.sequence[:from], strings.Join(a.sequence[from:], ""))
	}
	return true
}

// dropConnectors removes the connectors from the sequence that begins at first, unless there are
// only connectors.
func (a *analysis) dropConnectors(first int) {
	sequence := a.sequence[first:]
	if !slices.ContainsFunc(sequence, func(w string) bool { return !vocabulary.IsConnector(w) }) {
		return
	}
	for _, w := range sequence {
		if vocabulary.IsConnector(w) {
			a.connectors = append(a.connectors, w)
		}
	}
	a.sequence = a.sequence[:first+len(slices.DeleteFunc(sequence, vocabulary.IsConnector))]
}

// splitApostrophes replaces the marked words of a string with their parts: the words after elided
// ones (d'Yquem), and parts of three letters or more (cooper's, rock'n'roll). A word without such
// parts, such as don't, only loses its marks.
func splitApostrophes(marked string) string {
	if strings.IndexByte(marked, mark) < 0 {
		return marked
	}
	var b strings.Builder
	for marked != "" {
		n := strings.IndexFunc(marked, func(r rune) bool { return r != mark && !isWord(r) })
		if n < 0 {
			n = len(marked)
		}
		b.WriteString(wordParts(marked[:n]))
		marked = marked[n:]
		n = strings.IndexFunc(marked, func(r rune) bool { return r == mark || isWord(r) })
		if n < 0 {
			n = len(marked)
		}
		b.WriteString(marked[:n])
		marked = marked[n:]
	}
	return Fold(b.String())
}

// wordParts returns the parts of a marked word that splitApostrophes keeps, separated by spaces, or
// the unmarked word if it keeps none.
func wordParts(marked string) string {
	parts := strings.Split(marked, string(mark))
	if len(parts) == 1 {
		return marked
	}
	var kept []string
	for i, part := range parts {
		negated := i+1 < len(parts) && parts[i+1] == "t" && strings.HasSuffix(part, "n")
		elided := i > 0 && elidesNext(parts[i-1]) && utf8.RuneCountInString(part) > 1
		if elided || utf8.RuneCountInString(part) > 2 && !negated {
			kept = append(kept, part)
		}
	}
	if len(kept) == 0 {
		return unmark(marked)
	}
	return strings.Join(kept, " ")
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

// JoinDetached joins the words of a folded string that have a space in place of an apostrophe.
//
//	chateau d yquem → chateau dyquem    jack daniel s → jack daniels    don t panic → dont panic
func JoinDetached(folded string) string {
	var b strings.Builder
	word, begin, kept := "", 0, 0 // the previous word, after joining, and where this one and the uncopied text begin
	for begin < len(folded) {
		end := len(folded)
		if n := strings.IndexByte(folded[begin:], ' '); n >= 0 {
			end = begin + n
		}
		next := folded[begin:end]
		if detached(word, next) {
			b.WriteString(folded[kept : begin-1])
			kept, next = begin, word+next
		}
		word, begin = next, end+1
	}
	if kept == 0 {
		return folded
	}
	b.WriteString(folded[kept:])
	return b.String()
}

// detached reports whether the space between two folded words may stand for an apostrophe.
func detached(word, next string) bool {
	joins := false
	switch next {
	case "s":
		joins = utf8.RuneCountInString(word) > 2
	case "t":
		joins = len(word) > 2 && strings.HasSuffix(word, "n")
	default:
		joins = elidesNext(word) && utf8.RuneCountInString(next) > 1 && !vocabulary.IsConnector(next)
	}
	return joins && strings.IndexFunc(word+next, func(r rune) bool { return !isWord(r) }) < 0
}

// KeyName returns the keys of a name's words, each between bars, for finding names in which words
// are spelled differently: "|cooper|hawk|" for Cooper's Hawk.
func KeyName(name string) string {
	var a analysis
	a.split(name)
	b := []byte{'|'}
	for _, w := range a.sequence {
		b = append(append(b, vocabulary.WordKey(w)...), '|')
	}
	for _, w := range a.connectors {
		b = append(append(append(b, '|'), w...), '|')
	}
	return string(b)
}

// KeyParts returns a substring for each way to read part, or none if it has no words. If a name
// contains the words of part in sequence, its KeyName contains at least one of the substrings.
func KeyParts(part string) (all []string) {
	for _, p := range ParseName(part) {
		keys := "|"
		for _, w := range p.Words {
			keys += vocabulary.WordKey(w) + "|"
		}
		all = append(all, keys)
	}
	return all
}
