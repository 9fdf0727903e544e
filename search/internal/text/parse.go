package text

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// Phrase is what a text must hold to match: words next to one another in one field. Most have one word.
type Phrase struct {
	Words  []string // folded, at least one
	Prefix bool     // the last word stands for every word that begins with it
}

// ParseQuery reads a query. Words outside quotes are one phrase each, except that parts joined by hyphens belong together,
// as they do in a permit number. Words within double quotes are one phrase. A * right after a word, at the end of what is
// written without white space or of a quotation, makes it a prefix. Everything else only separates words. A quote that is
// never closed does that, too. Nothing is left of a query without letters or digits.
func ParseQuery(q string) (phrases []Phrase) {
	rest := Fold(q)
	for rest != "" {
		open, width := indexQuote(rest)
		if open < 0 {
			break
		}
		quoted := rest[open+width:]
		end, endWidth := indexQuote(quoted)
		if end < 0 {
			break
		}
		phrases = appendUnquoted(phrases, rest[:open])
		phrases = appendQuoted(phrases, quoted[:end])
		rest = quoted[end+endWidth:]
	}
	return appendUnquoted(phrases, rest)
}

// indexQuote returns where the first double quote is and how wide, or -1.
func indexQuote(s string) (at, width int) {
	for i, r := range s {
		switch r {
		case '"', '“', '”', '„', '‟', '«', '»':
			return i, utf8.RuneLen(r)
		}
	}
	return -1, 0
}

func appendQuoted(phrases []Phrase, s string) []Phrase {
	s = strings.TrimSpace(s)
	return appendPhrase(phrases, s, endsWithStar(s))
}

// appendUnquoted adds the phrases of text outside quotes.
func appendUnquoted(phrases []Phrase, s string) []Phrase {
	for chunk := range strings.FieldsSeq(s) {
		star := endsWithStar(chunk)
		runs := strings.FieldsFunc(chunk, func(r rune) bool { return !isWord(r) && r != '-' && r != '‐' })
		for i, run := range runs {
			phrases = appendPhrase(phrases, run, star && i == len(runs)-1)
		}
	}
	return phrases
}

// endsWithStar reports whether s ends with a word and one or more stars.
func endsWithStar(s string) bool {
	t := strings.TrimRight(s, "*")
	r, _ := utf8.DecodeLastRuneInString(t)
	return len(t) < len(s) && isWord(r)
}

func appendPhrase(phrases []Phrase, s string, prefix bool) []Phrase {
	p := Phrase{Prefix: prefix}
	words(s, func(w string) { p.Words = append(p.Words, w) })
	same := func(o Phrase) bool { return o.Prefix == p.Prefix && slices.Equal(o.Words, p.Words) }
	if len(p.Words) == 0 || slices.ContainsFunc(phrases, same) {
		return phrases
	}
	return append(phrases, p)
}
