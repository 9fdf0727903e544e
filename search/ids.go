package search

import (
	"sort"

	"github.com/colaregistry/colaregistry/cola"
)

// doc returns the row of a table in result order that has the id.
func (t *table) doc(id cola.TTBID) (row uint32, ok bool) {
	i := t.idFrom(uint64(id))
	if i == len(t.byID) || t.ids[t.byID[i]] != uint64(id) {
		return 0, false
	}
	return t.byID[i], true
}

// idFrom returns where in byID the first id that is not below id stands.
func (t *table) idFrom(id uint64) int {
	return sort.Search(len(t.byID), func(i int) bool { return t.ids[t.byID[i]] >= id })
}

// idDigits is the length of a TTB id.
const idDigits = 14

// idsWithPrefix returns the rows, in no useful order, whose id begins with the digits. Anything but up to 14 digits is the
// prefix of none, and so is no digit at all.
func (t *table) idsWithPrefix(digits string) []uint32 {
	if len(digits) == 0 || len(digits) > idDigits {
		return nil
	}
	var from uint64
	for i := range len(digits) {
		if digits[i] < '0' || digits[i] > '9' {
			return nil
		}
		from = from*10 + uint64(digits[i]-'0')
	}
	to := from + 1
	for range idDigits - len(digits) {
		from, to = from*10, to*10
	}
	return t.byID[t.idFrom(from):t.idFrom(to)]
}

// idCost estimates, in nanoseconds, what uniting the ids with a prefix takes.
func (t *table) idCost(digits string) int { return 3 * len(t.idsWithPrefix(digits)) }

// costlyIDs returns the beginnings of ids, longer than prefix, whose union alone takes longer than the limit.
func (t *table) costlyIDs(prefix string, limit int) (costly []string) {
	for c := byte('0'); c <= '9'; c++ {
		if longer := prefix + string(c); t.idCost(longer) > limit {
			costly = append(append(costly, longer), t.costlyIDs(longer, limit)...)
		}
	}
	return costly
}
