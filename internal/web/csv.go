package web

import "strings"

// InertCell returns text for a CSV cell, after an apostrophe if a spreadsheet would otherwise run it
// as a formula. Label text is written by third parties.
func InertCell(text string) string {
	if text != "" && strings.ContainsRune("=+-@\t\r", rune(text[0])) {
		return "'" + text
	}
	return text
}
