package params

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// MaxShown is how many characters of a caller's own text a message repeats.
const MaxShown = 60

// Shown shortens a caller's text and makes it valid UTF-8, for repeating it in a message or as a name.
func Shown(s string) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if utf8.RuneCountInString(s) <= MaxShown {
		return s
	}
	return string([]rune(s)[:MaxShown]) + "…"
}

// Quoted quotes a caller's text, shortened, for repeating it in a message.
func Quoted(s string) string { return strconv.Quote(Shown(s)) }
