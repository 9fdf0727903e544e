package similar

import "unicode/utf8"

// maxCompared is the length, in characters, of the longest words that are compared letter by
// letter.
const maxCompared = 64

// distance returns the minimum number of insertions, deletions, substitutions and swaps of adjacent
// characters that turn a into b, editing each position at most once. It returns limit+1 if the
// minimum exceeds limit, or if a word is longer than maxCompared.
func distance(a, b string, limit int) int {
	if len(a) > maxCompared || len(b) > maxCompared || !isASCII(a) || !isASCII(b) {
		return countEdits([]rune(a), []rune(b), limit)
	}
	var x, y [maxCompared]byte
	return countEdits(x[:copy(x[:], a)], y[:copy(y[:], b)], limit)
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// countEdits implements distance for slices of characters.
func countEdits[T byte | rune](x, y []T, limit int) int {
	if len(x)-len(y) > limit || len(y)-len(x) > limit || len(x) > maxCompared || len(y) > maxCompared {
		return limit + 1
	}
	for len(x) > 0 && len(y) > 0 && x[0] == y[0] {
		x, y = x[1:], y[1:]
	}
	for len(x) > 0 && len(y) > 0 && x[len(x)-1] == y[len(y)-1] {
		x, y = x[:len(x)-1], y[:len(y)-1]
	}
	var rows [3][maxCompared + 1]uint8
	before, previous, row := &rows[0], &rows[1], &rows[2]
	for j := range len(y) + 1 {
		previous[j] = uint8(j)
	}
	for i := 1; i <= len(x); i++ {
		row[0] = uint8(i)
		least := row[0]
		for j := 1; j <= len(y); j++ {
			d := previous[j-1]
			if x[i-1] != y[j-1] {
				d = 1 + min(d, previous[j], row[j-1])
				if i > 1 && j > 1 && x[i-1] == y[j-2] && x[i-2] == y[j-1] {
					d = min(d, before[j-2]+1)
				}
			}
			row[j] = d
			least = min(least, d)
		}
		if int(least) > limit+1 { // a swap can still start from the previous row
			return limit + 1
		}
		before, previous, row = previous, row, before
	}
	return min(int(previous[len(y)]), limit+1)
}
