package web

import (
	"strconv"
	"strings"
)

// InertCell returns text for a CSV cell, prefixed with an apostrophe if a spreadsheet would run it
// as a formula. Label text is written by third parties. Numbers stay as they are.
func InertCell(text string) string {
	if text == "" || !strings.ContainsRune("=+-@\t\r", rune(text[0])) {
		return text
	}
	if _, err := strconv.ParseFloat(text, 64); err == nil {
		return text
	}
	return "'" + text
}
