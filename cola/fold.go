package cola

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// FoldText returns the form in which names are compared without regard to case, accents and white space: lower case,
// Latin accents and combining marks dropped, runs of white space made one space, none at the ends.
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

// FoldASCII returns s with the letters A to Z in lower case and every other byte unchanged. Use it to
// compare email addresses, host names and other identifiers. Unicode case mappings turn letters such
// as the Kelvin sign into ASCII, so a different identifier could pass for the right one.
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

// plainFolded reports whether s is ASCII and folded already, so that it can be returned as it is.
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

// foldLetter returns a lower-case Latin letter without its accent, ligatures spelt out, and any other rune as it is. The
// standard library has no decomposition tables; these are the letters of the languages that labels are written in.
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

// IsHidden reports whether a character is one that no reader sees: a control character, one that turns the direction of writing, one
// that text can be hidden in. Joiners and variation selectors are not: scripts and emoji are written with them.
func IsHidden(r rune) bool {
	switch {
	case r == '\u200c' || r == '\u200d':
		return false
	case r >= 0xfe00 && r <= 0xfe0f: // variation selectors, which emoji are written with
		return false
	case r >= 0xe0100 && r <= 0xe01ef: // those that no text has use for, and text can be hidden in
		return true
	}
	return unicode.Is(unicode.Cc, r) || unicode.Is(unicode.Cf, r)
}
