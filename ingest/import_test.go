package ingest

import (
	"fmt"
	"strings"
)

// texts returns sources that hold texts, named "-", "2", "3" and so on.
func texts(contents ...string) []Source {
	var sources []Source
	for i, content := range contents {
		name := "-"
		if i > 0 {
			name = fmt.Sprint(i + 1)
		}
		sources = append(sources, ReaderSource(name, strings.NewReader(content)))
	}
	return sources
}
