package ttbpage

import (
	"regexp"
	"strconv"
	"strings"
)

// noMatches is the sentence, in lower case, on the page for a search without results.
const noMatches = "no results were found that match the search criteria"

// total matches the sentence above and below the rows of a result page:
// "1 to 20 of 1000 (Total Matching Records: 5954)".
var total = regexp.MustCompile(`(\d+) to (\d+) of ([\d,]+)\s*\(Total Matching Records: ([\d,]+)\)`)

// Total returns the number of labels that a search matches, and how many of them are listed on its
// result pages and in the export. ok is false for other pages, and for result pages without a
// consistent total: only a page stating that there are no results counts as zero.
func (p *Page) Total() (matching, listed int, ok bool) {
	if p.Kind != Results {
		return 0, 0, false
	}
	text := textOf(p.root)
	stated := total.FindAllStringSubmatch(text, -1)
	if len(stated) == 0 {
		return 0, 0, strings.Contains(strings.ToLower(text), noMatches)
	}
	for i, m := range stated {
		var numbers [4]int
		for n := range numbers {
			var err error
			if numbers[n], err = strconv.Atoi(strings.ReplaceAll(m[n+1], ",", "")); err != nil {
				return 0, 0, false
			}
		}
		first, last := numbers[0], numbers[1]
		if i > 0 && (numbers[2] != listed || numbers[3] != matching) {
			return 0, 0, false
		}
		listed, matching = numbers[2], numbers[3]
		if first < 1 || first > last || last > listed || listed > matching {
			return 0, 0, false
		}
	}
	return matching, listed, true
}

// supportID matches the number that a block page asks the user to quote.
var supportID = regexp.MustCompile(`(?i)support id(?: is)?:?\s*([\w-]+)`)

// SupportID returns the support ID of a block page, or "".
func (p *Page) SupportID() string {
	if m := supportID.FindStringSubmatch(textOf(p.root)); m != nil && p.Kind == Blocked {
		return m[1]
	}
	return ""
}
