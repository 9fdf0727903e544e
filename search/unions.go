package search

// kept is lists that are kept ready, because uniting them takes long, by what they are of.
type kept struct {
	keys  dict // sorted
	lists postings
}

// list returns what is kept of a key.
func (k *kept) list(key string) (list, bool) {
	i, ok := k.keys.find(key)
	if !ok {
		return list{}, false
	}
	return k.lists.list(i), true
}

func (k *kept) carry(c carrier) {
	k.keys.carry(c)
	k.lists.carry(c)
}

// keepBeginnings keeps the unions, by common beginning of the sorted words that the lists are of, that take longer than the
// limit.
func keepBeginnings(toks *dict, lists *postings, limit int) kept {
	k := newKeeper(lists.numDocs())
	at := func(i int) string { return toks.at(uint32(i)) }
	sum := sums(toks.len(), func(i int) int { return lists.list(uint32(i)).cost() })
	walkPrefixes(toks.len(), at, func(lo, hi, depth int) bool {
		if sum[hi]-sum[lo] <= limit {
			return false
		}
		if depth > 0 {
			for tok := lo; tok < hi; tok++ {
				k.gather.add(lists.list(uint32(tok)))
			}
			k.add(at(lo)[:depth])
		}
		return true
	})
	return k.kept()
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

// sums returns the sums of the first 0, 1, … n costs.
func sums(n int, cost func(i int) int) []int {
	sum := make([]int, n+1)
	for i := range n {
		sum[i+1] = sum[i] + cost(i)
	}
	return sum
}

// keeper writes what is kept ready. Keys must be added in ascending order.
type keeper struct {
	gather *gatherer // of the next key
	lists  *postingsBuilder
	keys   *dictBuilder
}

func newKeeper(n uint32) *keeper {
	return &keeper{gather: newGatherer(n), lists: newPostingsBuilder(n, 0), keys: newDictBuilder()}
}

// add keeps what was gathered.
func (k *keeper) add(key string) {
	k.gather.into(k.lists)
	k.keys.add(key)
}

func (k *keeper) kept() kept {
	return kept{keys: k.keys.dict(), lists: k.lists.postings()}
}
