package ingest

import (
	"cmp"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
)

// maxReasons is the maximum number of different reasons in a report. Rows with any other reason are
// counted together.
const maxReasons = 100

// reasonCounts counts rejected rows by reason. Reasons that differ only in numbers and quoted
// values count as the same. The zero value is empty.
type reasonCounts struct {
	list  []*reasonCount
	byKey map[string]*reasonCount
	other int // rows with any other reason
}

// reasonCount counts the rows with one reason.
type reasonCount struct {
	parts    []string // values and the text between them; "…" for a value that varies
	varies   bool
	rows     int
	examples []Rejection // the first rows
}

// reasonValue matches the parts of a reason that vary by row.
var reasonValue = regexp.MustCompile(`"(?:[^"\\]|\\.)*"…?|[0-9]+`)

// splitReason splits a reason into values and the text between them. Reasons that differ only in
// values have the same key, which has a 0 for each value. The text between values has no digits, so
// reasons with the same key have the same number of parts.
func splitReason(reason string) (parts []string, key string) {
	end := 0
	var k strings.Builder
	for _, at := range reasonValue.FindAllStringIndex(reason, -1) {
		parts = append(parts, reason[end:at[0]], reason[at[0]:at[1]])
		k.WriteString(reason[end:at[0]])
		k.WriteByte('0')
		end = at[1]
	}
	k.WriteString(reason[end:])
	return append(parts, reason[end:]), k.String()
}

func (c *reasonCounts) add(rejection Rejection) {
	parts, key := splitReason(rejection.Reason)
	count := c.byKey[key]
	switch {
	case count != nil:
	case len(c.list) >= maxReasons:
		c.other++
		return
	default:
		if c.byKey == nil {
			c.byKey = map[string]*reasonCount{}
		}
		count = &reasonCount{parts: parts}
		c.byKey[key] = count
		c.list = append(c.list, count)
	}
	for i, part := range parts {
		if count.parts[i] != part {
			count.parts[i], count.varies = "…", true
		}
	}
	count.rows++
	if len(count.examples) < maxExamples {
		count.examples = append(count.examples, rejection)
	}
}

// write writes the reasons, most frequent first, with the first rows of each. It reports whether it
// omitted rows.
func (c *reasonCounts) write(w io.Writer) (omitted bool) {
	list := slices.Clone(c.list)
	slices.SortStableFunc(list, func(a, b *reasonCount) int {
		return cmp.Compare(max(b.rows, maxExamples), max(a.rows, maxExamples))
	})
	for _, count := range list {
		if count.rows <= maxExamples {
			for _, rejection := range count.examples {
				fmt.Fprintln(w, rejection)
			}
			continue
		}
		omitted = true
		fmt.Fprintf(w, "%d rows rejected: %s\n", count.rows, strings.Join(count.parts, ""))
		for _, example := range count.examples {
			if count.varies {
				fmt.Fprintf(w, "    %s\n", example)
			} else {
				fmt.Fprintf(w, "    %s:%d\n", example.Source, example.Line)
			}
		}
	}
	if c.other > 0 {
		omitted = true
		fmt.Fprintf(w, "%d rows rejected for other reasons\n", c.other)
	}
	return omitted
}
