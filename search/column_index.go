package search

import (
	"cmp"
	"iter"
	"slices"
	"sort"
	"strings"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/search/internal/codec"
	"github.com/colaregistry/colaregistry/search/internal/column"
	"github.com/colaregistry/colaregistry/search/internal/postings"
)

// valueIndex finds documents by the value of a column with few distinct values. Values are compared
// after folding.
type valueIndex struct {
	keys       column.Dict // distinct folded values, sorted
	lists      postings.Lists
	group      []uint32       // keys that are searched together, ascending
	groupUnion postings.Lists // one list: the documents with any key in the group
}

// foldValue returns the form in which values are compared.
func foldValue(s string) string { return strings.ToUpper(strings.TrimSpace(s)) }

// foldKeys returns the distinct folded values of a column, sorted, and the index of each value's
// key.
func foldKeys(values *column.Dict, fold func(string) string) (keys column.Dict, keyOf []uint32) {
	in := column.NewInterner()
	keyOf = make([]uint32, values.Len())
	for v := range keyOf {
		keyOf[v] = in.ID(fold(values.At(uint32(v))))
	}
	keys, number := in.Sorted()
	for v, id := range keyOf {
		keyOf[v] = number[id]
	}
	return keys, keyOf
}

// buildTextIndex indexes a column of text. It precomputes the union of the values in group, which
// are often searched together.
func buildTextIndex(t *table, col int) valueIndex {
	c := &t.text[col]
	keys, keyOf := foldKeys(&c.Dict, foldValue)
	return buildValueIndex(t.n, keys, textFields[col].group, func(doc uint32, put func(uint32)) {
		put(keyOf[c.IDs.At(doc)])
	})
}

// buildListIndex indexes a column of lists. It omits values that fold to the empty string, which is
// key 0.
func buildListIndex(t *table, col int) valueIndex {
	c := &t.lists[col]
	keys, keyOf := foldKeys(&c.Dict, listFields[col].fold)
	return buildValueIndex(t.n, keys, nil, func(doc uint32, put func(uint32)) {
		for v := range distinctKeys(c.Row(doc), keyOf) {
			if keyOf[v] != 0 {
				put(keyOf[v])
			}
		}
	})
}

// distinctKeys returns the values of a row without those that have the key of an earlier one.
func distinctKeys(row, keyOf []uint32) iter.Seq[uint32] {
	return func(yield func(v uint32) bool) {
		for i, v := range row {
			repeats := slices.ContainsFunc(row[:i], func(w uint32) bool { return keyOf[w] == keyOf[v] })
			if !repeats && !yield(v) {
				return
			}
		}
	}
}

// buildValueIndex indexes n documents. each calls put once for each distinct key of doc.
func buildValueIndex(
	n uint32, keys column.Dict, group []string, each func(doc uint32, put func(key uint32)),
) (f valueIndex) {
	f.keys = keys
	lists := postings.NewBuilder(n, keys.Len())
	lists.AddGroups(postings.GroupBy(n, keys.Len(), each))
	f.lists = lists.Lists()

	groupUnion, u := postings.NewBuilder(n, 1), postings.NewUnion(n)
	f.group = f.keyNumbers(foldValue, group)
	for _, i := range f.group {
		u.Add(f.lists.At(i))
	}
	u.AppendTo(groupUnion)
	f.groupUnion = groupUnion.Lists()
	return f
}

// keyNumbers returns the indexes of the keys that the values fold to, ascending and distinct. It
// ignores values that are not in the index.
func (f *valueIndex) keyNumbers(fold func(string) string, values []string) (found []uint32) {
	for _, v := range values {
		if i, ok := f.keys.Find(fold(v)); ok {
			found = append(found, i)
		}
	}
	slices.Sort(found)
	return slices.Compact(found)
}

// match appends lists of the documents with any of the values, compared after folding with fold.
func (f *valueIndex) match(fold func(string) string, values []string, dst []postings.List) []postings.List {
	wanted := f.keyNumbers(fold, values)
	if len(f.group) > 1 && containsSorted(wanted, f.group) {
		dst = append(dst, f.groupUnion.At(0))
		wanted = slices.DeleteFunc(wanted, func(i uint32) bool {
			_, in := slices.BinarySearch(f.group, i)
			return in
		})
	}
	for _, i := range wanted {
		dst = append(dst, f.lists.At(i))
	}
	return dst
}

// containsSorted reports whether all contains every number in part. Both are sorted.
func containsSorted(all, part []uint32) bool {
	for _, p := range part {
		i, ok := slices.BinarySearch(all, p)
		if !ok {
			return false
		}
		all = all[i:]
	}
	return true
}

func (f *valueIndex) serialize(c codec.Codec) {
	f.keys.Serialize(c)
	f.lists.Serialize(c)
	codec.Slice(c, &f.group)
	f.groupUnion.Serialize(c)
}

// rangeIndex finds documents by bounds on a column of numbers. Documents without a number are in no
// range.
//
// A cumulative list contains all documents below a checkpoint. A range is the difference between
// two cumulative lists, corrected by the lists of the values between its bounds and the
// checkpoints.
type rangeIndex struct {
	values      []float64      // distinct, ascending
	lists       postings.Lists // documents with each value
	checkpoints []uint32       // indexes into values, ascending, from 0 to len(values)
	cumulative  postings.Lists // documents below each checkpoint
}

// A new checkpoint is added when the estimated time to compute the union of the lists since the
// last one exceeds checkpointCost, in nanoseconds. This bounds the cost of correcting a range.
const checkpointCost = 60_000

// buildRangeIndex indexes a column.
func buildRangeIndex(t *table, column int) rangeIndex {
	c := &t.num[column]
	return newRangeIndex(t.n, c.Values, c.IDs.At, checkpointCost)
}

// newRangeIndex indexes n documents by their numbers. The number of a document is values[at(doc)];
// values[0] stands for an unknown number. The other values are distinct.
func newRangeIndex(n uint32, values []float64, at func(doc uint32) uint32, cost int) (r rangeIndex) {
	order := make([]uint32, 0, len(values)) // known values, ascending
	for i := 1; i < len(values); i++ {
		order = append(order, uint32(i))
	}
	slices.SortFunc(order, func(a, b uint32) int { return cmp.Compare(values[a], values[b]) })
	rank := make([]uint32, len(values))
	for i, id := range order {
		r.values = append(r.values, values[id])
		rank[id] = uint32(i)
	}
	lists := postings.NewBuilder(n, len(order))
	lists.AddGroups(postings.GroupBy(n, len(order), func(doc uint32, put func(uint32)) {
		if id := at(doc); id != 0 {
			put(rank[id])
		}
	}))
	r.lists = lists.Lists()
	r.addCheckpoints(n, cost)
	return r
}

// addCheckpoints builds the cumulative lists.
func (r *rangeIndex) addCheckpoints(n uint32, cost int) {
	for v, sum := 0, 0; v <= len(r.values); v++ {
		if v == 0 || v == len(r.values) || sum > cost {
			r.checkpoints, sum = append(r.checkpoints, uint32(v)), 0
		}
		if v < len(r.values) {
			sum += r.lists.At(uint32(v)).Cost()
		}
	}
	below, u := postings.NewBuilder(n, len(r.checkpoints)), postings.NewUnion(n)
	for _, m := range r.checkpoints {
		for v := range m {
			u.Add(r.lists.At(v))
		}
		u.AppendTo(below)
	}
	r.cumulative = below.Lists()
}

// match returns the documents with a value within inclusive bounds as a bitmap, limited to the
// span. ok is false if no value is within the bounds.
func (r *rangeIndex) match(
	minValue, maxValue cola.Opt[float64], sc *postings.Scratch, s postings.Span,
) (w []uint64, ok bool) {
	lo, hi := 0, len(r.values)
	if minValue.OK {
		lo = sort.SearchFloat64s(r.values, minValue.V)
	}
	if maxValue.OK {
		hi = sort.Search(len(r.values), func(i int) bool { return r.values[i] > maxValue.V })
	}
	if lo >= hi {
		return nil, false
	}
	w = sc.Bitmap(r.lists.NumDocs(), s)
	from, to := r.checkpointBefore(lo), r.checkpointBefore(hi)
	if from == to {
		for v := lo; v < hi; v++ {
			r.lists.At(uint32(v)).OrInto(w, s)
		}
		return w, true
	}
	r.cumulative.At(uint32(to)).OrInto(w, s)
	for v := int(r.checkpoints[to]); v < hi; v++ {
		r.lists.At(uint32(v)).OrInto(w, s)
	}
	r.cumulative.At(uint32(from)).AndNotInto(w, s)
	for v := int(r.checkpoints[from]); v < lo; v++ {
		r.lists.At(uint32(v)).AndNotInto(w, s)
	}
	return w, true
}

// checkpointBefore returns the index of the last checkpoint at or before value v.
func (r *rangeIndex) checkpointBefore(v int) int {
	return sort.Search(len(r.checkpoints), func(i int) bool { return int(r.checkpoints[i]) > v }) - 1
}

func (r *rangeIndex) serialize(c codec.Codec) {
	codec.Slice(c, &r.values)
	r.lists.Serialize(c)
	codec.Slice(c, &r.checkpoints)
	r.cumulative.Serialize(c)
}
