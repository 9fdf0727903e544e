package ingest

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// settle returns a text as it is stored: no white space around it, and every run of white space within, line ends included,
// as one space.
func settle(s string) string {
	if tidy(s) {
		return s
	}
	return strings.Join(strings.Fields(s), " ")
}

// tidy reports whether settling changes nothing.
func tidy(s string) bool {
	space := true // as if one stood before the text
	for _, r := range s {
		isSpace := r == ' '
		if isSpace && space || !isSpace && unicode.IsSpace(r) {
			return false
		}
		space = isSpace
	}
	return !space || s == ""
}

// splitList returns the values of a list written as one text, settled, without empty ones. They are separated by the first of
// the separators that the text holds; no separators stands for a comma.
func splitList(s, separators string) []string {
	separator := ","
	for i := range len(separators) {
		if separator = separators[i : i+1]; strings.Contains(s, separator) {
			break
		}
	}
	list := make([]string, 0, strings.Count(s, separator)+1)
	for value := range strings.SplitSeq(s, separator) {
		if value = settle(value); value != "" {
			list = append(list, value)
		}
	}
	return list
}

// quote returns a value as messages show it: quoted, and cut when it is long.
func quote[S ~string | ~[]byte](s S) string {
	text := string(s)
	if short := cut(text, 60); short != text {
		return strconv.Quote(strings.TrimSuffix(short, "…")) + "…"
	}
	return strconv.Quote(text)
}

// cut returns a text, or its beginning of so many bytes and an ellipsis when it is longer.
func cut(s string, most int) string {
	if len(s) <= most {
		return s
	}
	for most > 0 && !utf8.RuneStart(s[most]) {
		most--
	}
	return s[:most] + "…"
}
