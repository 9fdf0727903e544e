package cola

import "strings"

// Nearest returns the allowed word that a misspelt one most likely stands for, regardless of letter case: the one that the
// fewest insertions, deletions, substitutions and swaps of neighbors lead to, if about a third of its letters at most are
// wrong; failing that, the shortest of which the word (two letters or more) is the beginning, and then the shortest that
// holds it (four letters or more: "spirits"). ok is false when nothing is near. Of equally near words the first wins.
func Nearest(word string, allowed []string) (nearest string, ok bool) {
	folded := []rune(strings.ToLower(strings.TrimSpace(word)))
	if len(folded) == 0 || len(folded) > 64 {
		return "", false
	}
	best := -1
	for _, candidate := range allowed {
		c := []rune(strings.ToLower(candidate))
		limit := max(len(c), len(folded)) / 3
		if d := editDistance(folded, c, limit); d <= limit && (best < 0 || d < best) {
			nearest, best = candidate, d
		}
	}
	if best >= 0 {
		return nearest, true
	}
	if nearest, ok = shortest(allowed, string(folded), 2, strings.HasPrefix); ok {
		return nearest, true
	}
	return shortest(allowed, string(folded), 4, strings.Contains)
}

// NearestSpelling returns the candidate that a word is most likely a misspelling of. It is stricter than Nearest, for words
// that may well be none of the candidates: the first letter must be right, and four letters may have one edit, seven two, ten
// or more three. Shorter words match nothing. Of equally near candidates the first wins.
func NearestSpelling(word string, candidates []string) (nearest string, ok bool) {
	folded := []rune(FoldText(word))
	if len(folded) < 4 || len(folded) > 64 {
		return "", false
	}
	best := min((len(folded)-1)/3, 3) + 1
	for _, candidate := range candidates {
		c := []rune(FoldText(candidate))
		if len(c) == 0 || c[0] != folded[0] {
			continue
		}
		if d := editDistance(folded, c, best); d < best {
			nearest, best, ok = candidate, d, true
		}
	}
	return nearest, ok
}

// shortest returns the first of the shortest candidates that match the part, which must have at least so many bytes.
func shortest(candidates []string, part string, least int, match func(s, part string) bool) (found string, ok bool) {
	if len(part) < least {
		return "", false
	}
	for _, c := range candidates {
		if match(strings.ToLower(c), part) && (!ok || len(c) < len(found)) {
			found, ok = c, true
		}
	}
	return found, ok
}

// editDistance counts the insertions, deletions, substitutions and swaps of neighbors (each place edited once) that turn a
// into b. Words whose lengths already differ by more than limit are not looked at; their distance is told as limit+1.
func editDistance(a, b []rune, limit int) int {
	if len(a)-len(b) > limit || len(b)-len(a) > limit {
		return limit + 1
	}
	before, previous, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range previous {
		previous[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(previous[j]+1, row[j-1]+1, previous[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, previous, row = previous, row, before
	}
	return previous[len(b)]
}
