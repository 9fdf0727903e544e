package vocabulary

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Nearest corrects a misspelled word to one of the allowed words, ignoring letter case. It tries,
// in order:
//
//  1. the word with the smallest edit distance, if at most a third of the letters differ;
//  2. the shortest word that starts with the given one, if that has at least two letters;
//  3. the shortest word that contains the given one ("spirits"), if that has at least four letters.
//
// Ties go to the first word. ok is false if no word is similar enough.
func Nearest(word string, allowed []string) (nearest string, ok bool) {
	folded := []rune(strings.ToLower(strings.TrimSpace(word)))
	if len(folded) == 0 || len(folded) > 64 {
		return "", false
	}
	best := -1
	for _, candidate := range allowed {
		c := []rune(strings.ToLower(candidate))
		limit := max(len(c), len(folded)) / 3
		if d := EditDistance(folded, c, limit); d <= limit && (best < 0 || d < best) {
			nearest, best = candidate, d
		}
	}
	if best >= 0 {
		return nearest, true
	}
	if nearest, ok = shortest(allowed, string(folded), 2, strings.HasPrefix); ok {
		return nearest, true
	}
	return shortest(allowed, string(folded), 4, strings.Contains)
}

// NearestSpelling corrects a word that may be correct but unknown, so it is stricter than Nearest:
// the first letter must match, and the words may differ by at most MaxEdits edits. Ties go to the
// first candidate.
func NearestSpelling(word string, candidates []string) (nearest string, ok bool) {
	folded := []rune(FoldText(word))
	best := maxEdits(len(folded)) + 1
	if best == 1 {
		return "", false
	}
	for _, candidate := range candidates {
		c := []rune(FoldText(candidate))
		if len(c) == 0 || c[0] != folded[0] {
			continue
		}
		if d := EditDistance(folded, c, best); d < best {
			nearest, best, ok = candidate, d, true
		}
	}
	return nearest, ok
}

// MaxEdits returns the number of edits by which a word may differ from its correction: one for a
// word of at least four letters, two for at least seven, three for at least ten. It returns 0 for a
// shorter word, and for one of more than 64 letters.
func MaxEdits(word string) int { return maxEdits(utf8.RuneCountInString(word)) }

func maxEdits(letters int) int {
	if letters < 4 || letters > 64 {
		return 0
	}
	return min((letters-1)/3, 3)
}

// shortest returns the shortest candidate that matches part. ok is false if none does, or if part
// has fewer than minLength bytes.
func shortest(candidates []string, part string, minLength int, match func(s, part string) bool) (found string, ok bool) {
	if len(part) < minLength {
		return "", false
	}
	for _, c := range candidates {
		if match(strings.ToLower(c), part) && (!ok || len(c) < len(found)) {
			found, ok = c, true
		}
	}
	return found, ok
}

// EditDistance returns the minimum number of insertions, deletions, substitutions and swaps of
// adjacent letters that turn a into b, editing each position at most once. If the lengths differ by
// more than limit, it returns limit+1 instead.
func EditDistance(a, b []rune, limit int) int {
	if len(a)-len(b) > limit || len(b)-len(a) > limit {
		return limit + 1
	}
	before, previous, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range previous {
		previous[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(previous[j]+1, row[j-1]+1, previous[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, previous, row = previous, row, before
	}
	return previous[len(b)]
}

// FoldText returns the form in which names are compared: lower case, without Latin accents and
// combining marks, with white space trimmed and collapsed to single spaces.
func FoldText(s string) string {
	if plainFolded(s) {
		return s
	}
	var b strings.Builder
	b.Grow(len(s))
	gap := false
	for _, r := range s {
		switch {
		case unicode.IsSpace(r):
			gap = b.Len() > 0
			continue
		case unicode.Is(unicode.Mn, r):
			continue
		}
		if gap {
			b.WriteByte(' ')
			gap = false
		}
		b.WriteString(foldLetter(unicode.ToLower(r)))
	}
	return b.String()
}

// IsQuote reports whether r is a double quotation mark.
func IsQuote(r rune) bool { return strings.ContainsRune(`"“”„‟«»`, r) }

// FoldASCII returns s with the letters A to Z in lower case and every other byte unchanged. Use it
// to compare email addresses, host names and other identifiers. Unicode case mappings turn letters
// such as the Kelvin sign into ASCII, so a different identifier could pass for the right one.
func FoldASCII(s string) string {
	if !strings.ContainsFunc(s, isUpperASCII) {
		return s
	}
	b := []byte(s)
	for i, c := range b {
		if isUpperASCII(rune(c)) {
			b[i] = c + 'a' - 'A'
		}
	}
	return string(b)
}

func isUpperASCII(r rune) bool { return r >= 'A' && r <= 'Z' }

// plainFolded reports whether s is ASCII and already folded.
func plainFolded(s string) bool {
	for i := range len(s) {
		c := s[i]
		switch {
		case c >= utf8.RuneSelf, c >= 'A' && c <= 'Z', c < ' ':
			return false
		case c == ' ' && (i == 0 || i == len(s)-1 || s[i-1] == ' '):
			return false
		}
	}
	return true
}

// foldLetter returns a lower-case Latin letter without its accent, spells out ligatures, and
// returns other runes unchanged. The standard library has no decomposition tables; letterFolds
// covers the languages on labels.
func foldLetter(r rune) string {
	if r < 0xdf {
		return string(r)
	}
	for _, f := range letterFolds {
		if strings.ContainsRune(f.accented, r) {
			return f.plain
		}
	}
	return string(r)
}

var letterFolds = [...]struct{ plain, accented string }{
	{"a", "àáâãäåāăąǎ"}, {"ae", "æ"}, {"c", "çćĉċč"}, {"d", "ďđð"}, {"e", "èéêëēĕėęěẽ"}, {"g", "ĝğġģ"}, {"h", "ĥħ"},
	{"i", "ìíîïĩīĭįıǐ"}, {"j", "ĵ"}, {"k", "ķ"}, {"l", "ĺļľŀł"}, {"n", "ñńņňŉ"}, {"o", "òóôõöøōŏőǒơ"}, {"oe", "œ"},
	{"r", "ŕŗř"}, {"s", "śŝşšș"}, {"ss", "ß"}, {"t", "ţťŧț"}, {"th", "þ"}, {"u", "ùúûüũūŭůűųǔư"}, {"w", "ŵẁẃẅ"},
	{"y", "ýÿŷỳ"}, {"z", "źżž"},
}

// IsInvisible reports whether r is a control character, a bidirectional control or another
// character that can hide text. Joiners and the basic variation selectors don't count, because
// scripts and emoji need them.
func IsInvisible(r rune) bool {
	switch {
	case r == '\u200c' || r == '\u200d':
		return false
	case r >= 0xfe00 && r <= 0xfe0f: // variation selectors
		return false
	case r >= 0xe0100 && r <= 0xe01ef: // supplementary variation selectors can hide text
		return true
	}
	return unicode.Is(unicode.Cc, r) || unicode.Is(unicode.Cf, r)
}
