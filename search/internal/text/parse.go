package text

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/colaregistry/colaregistry/cola/vocabulary"
)

// Phrase is a condition of a query: words that are next to each other in one field, ignoring
// connectors. Most phrases have one word.
type Phrase struct {
	Words  []string // folded, at least one
	Prefix bool     // the last word matches every word that begins with it
	Exact  bool     // words match only themselves, not words with the same key
	// Also, if not empty, is an alternative to the only word of the phrase: "yquem" for "d'yquem",
	// and "dangelo" for both words of "d angelo".
	Also string
}

// ParseQuery parses a query:
//
//   - A word is a phrase. It matches words with the same key, such as its plural.
//   - Words joined by hyphens, such as a permit number, are one phrase.
//   - Initials with periods are one word.
//   - Words with a space in place of an apostrophe also match as one word.
//   - Words in double quotes are one exact phrase.
//   - A * right after the last word of a phrase makes that word a prefix.
//
// All other characters, and a quote that is never closed, separate words. Connectors are dropped
// unless there are only connectors. A query without letters or digits has no phrases.
func ParseQuery(q string) []Phrase {
	var phrases []Phrase
	rest := foldMarked(q)
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
		phrases = appendQuoted(phrases, unmark(quoted[:end]))
		rest = quoted[end+endWidth:]
	}
	phrases = appendUnquoted(phrases, rest)
	isConnector := func(p Phrase) bool {
		return len(p.Words) == 1 && !p.Prefix && !p.Exact && vocabulary.IsConnector(p.Words[0])
	}
	if others := slices.DeleteFunc(slices.Clone(phrases), isConnector); len(others) > 0 {
		return others
	}
	return phrases
}

// ParseName parses part of a name. It returns a phrase for each way to read words that have an
// apostrophe or a space in place of one. It returns none if the part has no words.
func ParseName(part string) (all []Phrase) {
	folded := Fold(part)
	all = appendPhrase(all, newPhrase(folded))
	all = appendPhrase(all, newPhrase(splitApostrophes(foldMarked(part))))
	return appendPhrase(all, newPhrase(JoinDetached(folded)))
}

// indexQuote returns the position and the width of the first double quote; the position is -1 if
// there is none.
func indexQuote(s string) (at, width int) {
	for i, r := range s {
		if vocabulary.IsQuote(r) {
			return i, utf8.RuneLen(r)
		}
	}
	return -1, 0
}

// appendQuoted adds the phrase for quoted text.
func appendQuoted(phrases []Phrase, s string) []Phrase {
	s = strings.TrimSpace(s)
	p := newPhrase(s)
	p.Prefix, p.Exact = endsWithStar(s), true
	return appendPhrase(phrases, p)
}

// appendUnquoted adds the phrases of marked text outside quotes.
func appendUnquoted(phrases []Phrase, s string) []Phrase {
	chunks := strings.Fields(s)
	for _, chunk := range chunks {
		star := endsWithStar(chunk)
		if word, ok := initials(strings.TrimRight(chunk, "*")); ok {
			phrases = appendPhrase(phrases, Phrase{Words: []string{word}, Prefix: star})
			continue
		}
		runs := strings.FieldsFunc(chunk, func(r rune) bool { return !isWord(r) && r != '-' && r != '‐' && r != mark })
		for i, run := range runs {
			p := newPhrase(unmark(run))
			p.Prefix = star && i == len(runs)-1
			if also := splitApostrophes(run); len(p.Words) == 1 && !p.Prefix && also != run && !strings.Contains(also, " ") &&
				also != p.Words[0] {
				p.Also = also
			}
			phrases = appendPhrase(phrases, p)
		}
	}
	joinDetached(phrases, chunks)
	return phrases
}

// joinDetached makes the phrases of two words also match the joined word if the space between the
// words may stand for an apostrophe: "d angelo" becomes (d or dangelo) and (angelo or dangelo).
func joinDetached(phrases []Phrase, chunks []string) {
	last := "" // the previous word, after joining
	for i, word := range chunks {
		if !detached(last, word) {
			last = word
			continue
		}
		last += word
		for j := range phrases {
			p := &phrases[j]
			if len(p.Words) == 1 && !p.Prefix && !p.Exact && p.Also == "" && slices.Contains(chunks[i-1:i+1], p.Words[0]) {
				p.Also = last
			}
		}
	}
}

// initials joins single letters that are separated by periods; ok is false for other text.
func initials(chunk string) (word string, ok bool) {
	parts := strings.Split(strings.TrimSuffix(chunk, "."), ".")
	if len(parts) < 2 {
		return "", false
	}
	for _, part := range parts {
		if r, n := utf8.DecodeRuneInString(part); n != len(part) || !unicode.IsLetter(r) {
			return "", false
		}
	}
	return strings.Join(parts, ""), true
}

// endsWithStar reports whether s ends with a word and one or more stars.
func endsWithStar(s string) bool {
	t := strings.TrimRight(s, "*")
	r, _ := utf8.DecodeLastRuneInString(t)
	return len(t) < len(s) && isWord(r)
}

// newPhrase returns a phrase with the words of a folded string.
func newPhrase(s string) (p Phrase) {
	var a analysis
	a.add(s, true)
	p.Words = a.sequence
	return p
}

func appendPhrase(phrases []Phrase, p Phrase) []Phrase {
	same := func(o Phrase) bool {
		return o.Prefix == p.Prefix && o.Exact == p.Exact && o.Also == p.Also && slices.Equal(o.Words, p.Words)
	}
	if len(p.Words) == 0 || slices.ContainsFunc(phrases, same) {
		return phrases
	}
	return append(phrases, p)
}
