package text

import (
	"github.com/colaregistry/colaregistry/search/internal/codec"
	"github.com/colaregistry/colaregistry/search/internal/column"
	"github.com/colaregistry/colaregistry/search/internal/postings"
)

// unions is lists that are kept ready, because uniting them takes long, by what they are of.
type unions struct {
	keys  column.Dict // sorted
	lists postings.Lists
}

// find returns what is kept of a key.
func (k *unions) find(key string) (postings.List, bool) {
	i, ok := k.keys.Find(key)
	if !ok {
		return postings.List{}, false
	}
	return k.lists.At(i), true
}

func (k *unions) Serialize(c codec.Codec) {
	k.keys.Serialize(c)
	k.lists.Serialize(c)
}

// unitePrefixes keeps the unions, by common beginning of the sorted words that the lists are of, that take longer than the
// limit.
func unitePrefixes(toks *column.Dict, lists *postings.Lists, limit int) unions {
	k := newUnionsBuilder(lists.NumDocs())
	at := func(i int) string { return toks.At(uint32(i)) }
	sum := prefixSums(toks.Len(), func(i int) int { return lists.At(uint32(i)).Cost() })
	walkPrefixes(toks.Len(), at, func(lo, hi, depth int) bool {
		if sum[hi]-sum[lo] <= limit {
			return false
		}
		if depth > 0 {
			for tok := lo; tok < hi; tok++ {
				k.union.Add(lists.At(uint32(tok)))
			}
			k.add(at(lo)[:depth])
		}
		return true
	})
	return k.unions()
}

// walkPrefixes calls visit with the range of every common prefix of sorted strings, by its length, shorter ones first. Where
// visit returns false it goes no deeper.
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

// unionsBuilder writes what is kept ready. Keys must be added in ascending order.
type unionsBuilder struct {
	union *postings.Union // of the next key
	lists *postings.Builder
	keys  *column.DictBuilder
}

func newUnionsBuilder(n uint32) *unionsBuilder {
	return &unionsBuilder{union: postings.NewUnion(n), lists: postings.NewBuilder(n, 0), keys: column.NewDictBuilder()}
}

// add keeps what was gathered.
func (k *unionsBuilder) add(key string) {
	k.union.AppendTo(k.lists)
	k.keys.Add(key)
}

func (k *unionsBuilder) unions() unions {
	return unions{keys: k.keys.Dict(), lists: k.lists.Lists()}
}
