// Package text folds and parses text and indexes it for full-text and substring search.
package text

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/colaregistry/colaregistry/search/internal/codec"
	"golang.org/x/text/unicode/norm"
)

// Fold returns s in the form in which text is compared: in lower case, without accents or
// apostrophes, with letters such as ß, ø and æ spelled as ss, o and ae, and with white space
// trimmed and collapsed to single spaces. Fold is idempotent.
func Fold(s string) string {
	if folded(s) {
		return s
	}
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return foldRunes(s)
		}
	}
	return foldASCII(s)
}

// FoldName returns s in the form in which parts of names are compared: folded, without periods, and
// with a space in place of other punctuation. FoldName is idempotent.
func FoldName(s string) string {
	folded := Fold(s)
	if strings.IndexFunc(folded, func(r rune) bool { return r != ' ' && !isWord(r) }) < 0 {
		return folded
	}
	return strings.Join(strings.FieldsFunc(strings.ReplaceAll(folded, ".", ""), func(r rune) bool { return !isWord(r) }), " ")
}

// BrandKey returns the key that all spellings of a brand share: like FoldName, but without the word
// "and", which some names write as & or + and others omit. A name without letters or digits is its
// own key.
//
//	Copper & Kings, COPPER AND KINGS → copper kings    J.P. Wiser's → jp wisers    +++ → +++
func BrandKey(name string) string {
	key := FoldName(name)
	if key == "" {
		return Fold(name)
	}
	if !strings.Contains(key, "and") {
		return key
	}
	all := strings.Split(key, " ")
	kept := slices.DeleteFunc(slices.Clone(all), func(w string) bool { return w == "and" })
	if len(kept) == 0 {
		return key
	}
	return strings.Join(kept, " ")
}

// BrandReadings returns the distinct keys of the possible readings of a brand name, which may
// contain elided articles:
//
//   - its BrandKey;
//   - the key with words split at apostrophes (see splitApostrophes), which drops short articles;
//   - the key with words joined where an apostrophe is missing (see JoinDetached).
//
// Examples:
//
//	D'Yquem → dyquem, yquem    Casa d Angelo → casa d angelo, casa dangelo
func BrandReadings(name string) []string {
	keys := []string{BrandKey(name)}
	add := func(key string) {
		if !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
	}
	if marked := foldMarked(name); strings.IndexByte(marked, mark) >= 0 {
		add(BrandKey(splitApostrophes(marked)))
	}
	add(JoinDetached(keys[0]))
	return keys
}

// SpelledKey is like BrandKey, but spells out connectors: "and", & and + all become "and".
func SpelledKey(name string) string { return FoldName(spelledConnectors.Replace(name)) }

var spelledConnectors = strings.NewReplacer("&", " and ", "+", " and ")

// Contains reports whether text contains part after folding both. It returns false for a non-empty
// part that folds to the empty string.
func Contains(text, part string) bool {
	needle := Fold(part)
	return strings.Contains(Fold(text), needle) && (needle != "" || part == "")
}

// folded reports whether s is ASCII and already folded, so that Fold needs no copy.
func folded(s string) bool {
	space := true // leading spaces are trimmed as well
	for i := range len(s) {
		c := s[i]
		if c >= utf8.RuneSelf || c >= 'A' && c <= 'Z' || c == '\'' || c == '`' || c < ' ' || c == ' ' && space {
			return false
		}
		space = c == ' '
	}
	return s == "" || !space
}

func foldASCII(s string) string {
	b := make([]byte, 0, len(s))
	gap := false
	for i := range len(s) {
		c := s[i]
		switch {
		case c == ' ' || c >= '\t' && c <= '\r':
			gap = len(b) > 0
			continue
		case c == '\'' || c == '`':
			continue
		case c >= 'A' && c <= 'Z':
			c += 'a' - 'A'
		}
		if gap {
			b = append(b, ' ')
			gap = false
		}
		b = append(b, c)
	}
	return codec.UnsafeString(b)
}

func foldRunes(s string) string {
	b := make([]byte, 0, len(s)+8)
	gap := false
	// NFKD decomposes a spacing accent into a space and a mark, so apostrophes are dropped first.
	for _, r := range norm.NFKD.String(strings.Map(dropApostrophe, s)) {
		switch {
		case unicode.IsSpace(r):
			gap = len(b) > 0
			continue
		case unicode.In(r, unicode.Mn, unicode.Me) || dropApostrophe(r) < 0:
			continue
		}
		if gap {
			b = append(b, ' ')
			gap = false
		}
		b = appendPlain(b, unicode.ToLower(r))
	}
	return codec.UnsafeString(b)
}

// dropApostrophe returns -1 for apostrophes and characters used as such, and other runes unchanged.
func dropApostrophe(r rune) rune {
	switch r {
	case '\'', '`', '´', '‘', '’', '‛', '′', '‵', 'ʹ', 'ʻ', 'ʼ', 'ʽ', '＇':
		return -1
	}
	return r
}

// appendPlain appends a lower-case rune. It spells out Latin letters that do not decompose.
func appendPlain(b []byte, r rune) []byte {
	switch r {
	case 'ß':
		return append(b, "ss"...)
	case 'æ':
		return append(b, "ae"...)
	case 'œ':
		return append(b, "oe"...)
	case 'þ':
		return append(b, "th"...)
	case 'ø':
		return append(b, 'o')
	case 'ł':
		return append(b, 'l')
	case 'đ', 'ð':
		return append(b, 'd')
	case 'ħ':
		return append(b, 'h')
	case 'ı':
		return append(b, 'i')
	case 'ŧ':
		return append(b, 't')
	}
	return utf8.AppendRune(b, r)
}

// isWord reports whether a rune is part of a word: a letter or digit.
func isWord(r rune) bool {
	if r < utf8.RuneSelf {
		return r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r >= 'A' && r <= 'Z'
	}
	return unicode.IsLetter(r) || unicode.IsDigit(r)
}

// words calls yield with each word of a folded string: each run of letters and digits.
func words(folded string, yield func(word string)) {
	begin := -1
	for i, r := range folded {
		switch word := isWord(r); {
		case word && begin < 0:
			begin = i
		case !word && begin >= 0:
			yield(folded[begin:i])
			begin = -1
		}
	}
	if begin >= 0 {
		yield(folded[begin:])
	}
}
