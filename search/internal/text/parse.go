package text

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// Phrase is a condition of a query: words that are next to each other in one field. Most phrases
// have one word.
type Phrase struct {
	Words  []string // folded, at least one
	Prefix bool     // the last word matches every word that begins with it
}

// ParseQuery parses a query:
//
//   - A word is a phrase.
//   - Words joined by hyphens, such as a permit number, are one phrase.
//   - Words in double quotes are one phrase.
//   - A * right after the last word of a phrase makes it a prefix.
//
// All other characters, and a quote that is never closed, separate words. A query without letters
// or digits has no phrases.
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

// indexQuote returns the position and the width of the first double quote; the position is -1 if
// there is none.
func indexQuote(s string) (at, width int) {
	for i, r := range s {
		switch r {
		case '"', '“', '”', '„', '‟', '«', '»':
			return i, utf8.RuneLen(r)
		}
	}
	return -1, 0
}

// appendQuoted adds the phrase of a quotation.
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
