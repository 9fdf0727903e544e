package collect

import (
	"slices"
	"strconv"
	"strings"

	"github.com/colaregistry/colaregistry/cola/vocabulary"
	"github.com/colaregistry/colaregistry/store"
)

// allClasses are the class ranges into which a day's labels are first split: wine, distilled
// spirits, and all other classes, mostly malt beverages. The codes in each range have the same
// number of digits, and no code from another range is between them, so it doesn't matter whether
// the site compares codes as numbers or as text. There are no codes below 80 or from 800 to 899; if
// there were, the totals of the ranges would not add up, and the day would be incomplete.
var allClasses = []store.ClassRange{{From: "80", To: "89Z"}, {From: "100", To: "799Z"}, {From: "900", To: "999Z"}}

// splitClasses splits a range of class/type codes into parts that cover it, or returns nil if it is
// a single code. A code is a number of two or three digits, optionally followed by a letter.
func splitClasses(r store.ClassRange) []store.ClassRange {
	if r == (store.ClassRange{}) {
		return allClasses
	}
	from, fromLetter := splitCode(r.From)
	to, toLetter := splitCode(r.To)
	switch {
	case from < to:
		middle := middleClass(from, to)
		return []store.ClassRange{{From: r.From, To: strconv.Itoa(middle-1) + "Z"}, {From: strconv.Itoa(middle), To: r.To}}
	case fromLetter == "" && toLetter != "":
		code := strconv.Itoa(from)
		return []store.ClassRange{{From: code, To: code}, {From: code + "A", To: r.To}}
	case fromLetter < toLetter:
		code, middle := strconv.Itoa(from), (fromLetter[0]+toLetter[0])/2
		return []store.ClassRange{{From: r.From, To: code + string(middle)}, {From: code + string(middle+1), To: r.To}}
	}
	return nil
}

// splitCode splits a code into its number and letter.
func splitCode(code string) (number int, letter string) {
	digits := strings.TrimRight(code, "ABCDEFGHIJKLMNOPQRSTUVWXYZ")
	number, _ = strconv.Atoi(digits)
	return number, code[len(digits):]
}

// middleClass returns the first number of the upper half: the median of the known numbers in the
// range, or the middle of the range if it has fewer than two.
func middleClass(from, to int) int {
	var known []int
	for _, class := range vocabulary.Classes() {
		if n, _ := splitCode(class.ID); from <= n && n <= to {
			known = append(known, n)
		}
	}
	slices.Sort(known)
	if known = slices.Compact(known); len(known) > 1 {
		return known[len(known)/2]
	}
	return (from + to + 1) / 2
}
