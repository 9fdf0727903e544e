package dashboard

import (
	"strings"
	"unicode/utf8"
)

// picture is an image of a label.
type picture struct {
	Src    string // address to load it from; empty if not shown
	Href   string // address to open it at; empty if it cannot be opened
	Text   string // address in the record
	Alt    string
	Width  int // pixels; 0: unknown
	Height int
}

// Known reports whether the record has the address of the picture.
func (p picture) Known() bool { return p.Text != "" }

// plainText is legible, with spaces for line breaks.
func plainText(s string) string {
	return legible(strings.Map(func(r rune) rune {
		switch r {
		case '\n', '\r', '\t', '\u2028', '\u2029':
			return ' '
		}
		return r
	}, s))
}

// shortened cuts a text to so many characters.
func shortened(s string, most int) string {
	if utf8.RuneCountInString(s) <= most {
		return s
	}
	return string([]rune(s)[:most]) + "…"
}
