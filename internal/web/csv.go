package web

import "strings"

// InertCell returns text for a CSV cell. It prefixes an apostrophe if a spreadsheet would otherwise run
// the text as a formula: label text comes from third parties.
func InertCell(text string) string {
	if text != "" && strings.ContainsRune("=+-@\t\r", rune(text[0])) {
		return "'" + text
	}
	return text
}
