package text

import (
	"github.com/colaregistry/colaregistry/search/internal/codec"
	"github.com/colaregistry/colaregistry/search/internal/column"
	"github.com/colaregistry/colaregistry/search/internal/postings"
)

// unions holds precomputed unions of posting lists by key, such as a prefix.
type unions struct {
	keys  column.Dict // sorted
	lists postings.Lists
}

// find returns the union for a key; ok is false if it is not precomputed.
func (u *unions) find(key string) (l postings.List, ok bool) {
	i, ok := u.keys.Find(key)
	if !ok {
		return postings.List{}, false
	}
	return u.lists.At(i), true
}

// Serialize transfers the unions.
func (u *unions) Serialize(c codec.Codec) {
	u.keys.Serialize(c)
	u.lists.Serialize(c)
}

// unitePrefixes precomputes the union of the lists of the words that share a prefix, for prefixes
// whose union takes longer than limit to compute. The words are sorted.
func unitePrefixes(words *column.Dict, lists *postings.Lists, limit int) unions {
	out := newUnionsBuilder(lists.NumDocs())
	at := func(i int) string { return words.At(uint32(i)) }
	sum := prefixSums(words.Len(), func(i int) int { return lists.At(uint32(i)).Cost() })
	walkPrefixes(words.Len(), at, func(lo, hi, depth int) bool {
		if sum[hi]-sum[lo] <= limit {
			return false
		}
		if depth > 0 {
			for word := lo; word < hi; word++ {
				out.union.Add(lists.At(uint32(word)))
			}
			out.add(at(lo)[:depth])
		}
		return true
	})
	return out.unions()
}

// walkPrefixes calls visit with each prefix of n sorted strings: the range of strings that share it
// and its length. A prefix comes before its extensions. If visit returns false, walkPrefixes skips
// the extensions.
func walkPrefixes(n int, at func(int) string, visit func(lo, hi, depth int) bool) {
	var walk func(lo, hi, depth int)
	walk = func(lo, hi, depth int) {
		if !visit(lo, hi, depth) {
			return
		}
		for lo < hi && len(at(lo)) == depth {
			lo++
		}
		for lo < hi {
			c := at(lo)[depth]
			end := lo + 1
			for end < hi && at(end)[depth] == c {
				end++
			}
			walk(lo, end, depth+1)
			lo = end
		}
	}
	walk(0, n, 0)
}

// prefixSums returns the sums of the first 0, 1, … n costs.
func prefixSums(n int, cost func(i int) int) []int {
	sum := make([]int, n+1)
	for i := range n {
		sum[i+1] = sum[i] + cost(i)
	}
	return sum
}

// unionsBuilder builds unions. Keys must be added in ascending order.
type unionsBuilder struct {
	union *postings.Union // lists of the next key
	lists *postings.Builder
	keys  *column.DictBuilder
}

func newUnionsBuilder(n uint32) *unionsBuilder {
	return &unionsBuilder{union: postings.NewUnion(n), lists: postings.NewBuilder(n, 0), keys: column.NewDictBuilder()}
}

// add appends the union of the collected lists under a key.
func (out *unionsBuilder) add(key string) {
	out.union.AppendTo(out.lists)
	out.keys.Add(key)
}

func (out *unionsBuilder) unions() unions {
	return unions{keys: out.keys.Dict(), lists: out.lists.Lists()}
}
