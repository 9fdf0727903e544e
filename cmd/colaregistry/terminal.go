package main

import (
	"os"

	"golang.org/x/term"
)

// terminalWidth returns the columns of a terminal, 0 when it does not know them.
func terminalWidth(f *os.File) int {
	width, _, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0
	}
	return width
}

func isTerminal(f *os.File) bool { return term.IsTerminal(int(f.Fd())) }
