package search

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/search/internal/codec"
	"github.com/colaregistry/colaregistry/search/internal/column"
	"github.com/colaregistry/colaregistry/search/internal/postings"
)

// errTooLarge is returned if offsets in a segment would exceed 32 bits.
var errTooLarge = errors.New("search: more than 4 GiB of text in one segment")

// mergeInput is a table to merge. live is a bitmap of the rows to take; nil means all of them.
type mergeInput struct {
	table *table
	live  []uint64
}

// each calls yield with each row to take.
func (in mergeInput) each(yield func(row uint32)) {
	if in.live == nil {
		for row := range in.table.n {
			yield(row)
		}
		return
	}
	postings.EachBit(in.live, 0, func(row uint32) bool { yield(row); return true })
}

// count returns the number of rows to take.
func (in mergeInput) count() int {
	if in.live == nil {
		return int(in.table.n)
	}
	return postings.PopCount(in.live)
}

// rowRef identifies a row of an input.
type rowRef struct{ input, row uint32 }

// mergeTables returns one table of all the inputs' rows in result order. Among rows with the same
// ID, it takes the last row of the last input.
func mergeTables(ctx context.Context, inputs []mergeInput) (*table, error) {
	t := &table{}
	order := t.orderRows(inputs)
	scratch := make([]uint32, len(order))
	for c := range t.text {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if err := t.mergeTextColumn(c, inputs, order, scratch); err != nil {
			return nil, err
		}
	}
	for c := range t.num {
		t.mergeNumericColumn(c, inputs, order, scratch)
	}
	for c := range t.lists {
		if err := t.mergeListColumn(c, inputs, order); err != nil {
			return nil, err
		}
	}
	t.ids, t.flags = make([]uint64, len(order)), make([]uint8, len(order))
	for doc, r := range order {
		from := inputs[r.input].table
		t.ids[doc], t.flags[doc] = from.ids[r.row], from.flags[r.row]
	}
	return t, nil
}

// orderRows returns the row of each document, in result order. It sets t.n and the fields of t that
// depend on the order.
func (t *table) orderRows(inputs []mergeInput) []rowRef {
	type keyed struct {
		id uint64
		rowRef
	}
	total := 0
	for _, in := range inputs {
		total += in.count()
	}
	all := make([]keyed, 0, total)
	for i, in := range inputs {
		in.each(func(row uint32) { all = append(all, keyed{in.table.ids[row], rowRef{uint32(i), row}}) })
	}
	slices.SortFunc(all, func(a, b keyed) int { // descending by ID; for the same ID, the last row first
		if a.id != b.id {
			return cmp.Compare(b.id, a.id)
		}
		if a.input != b.input {
			return cmp.Compare(b.input, a.input)
		}
		return cmp.Compare(b.row, a.row)
	})
	all = slices.CompactFunc(all, func(a, b keyed) bool { return a.id == b.id })

	t.n = uint32(len(all))
	day := t.countDays(inputs, len(all), func(i int) rowRef { return all[i].rowRef })
	next := slices.Clone(t.dayStart)
	order := make([]rowRef, len(all))
	t.byID = make([]uint32, len(all))
	for i, k := range all {
		d := day(k.rowRef)
		order[next[d]] = k.rowRef
		t.byID[len(all)-1-i] = next[d]
		next[d]++
	}
	return order
}

// countDays sets days and dayStart for n rows. day returns the index of a row's day.
func (t *table) countDays(inputs []mergeInput, n int, at func(int) rowRef) (day func(rowRef) uint32) {
	number := map[cola.Date]uint32{}
	for _, in := range inputs {
		for _, v := range in.table.num[numEffective].Values {
			number[cola.Date(v)] = 0
		}
	}
	for d := range number {
		t.days = append(t.days, d)
	}
	slices.SortFunc(t.days, func(a, b cola.Date) int { return cmp.Compare(b, a) }) // zero, undated, comes last
	for i, d := range t.days {
		number[d] = uint32(i)
	}
	dayOf := make([][]uint32, len(inputs))
	for i, in := range inputs {
		for _, v := range in.table.num[numEffective].Values {
			dayOf[i] = append(dayOf[i], number[cola.Date(v)])
		}
	}
	day = func(r rowRef) uint32 { return dayOf[r.input][inputs[r.input].table.num[numEffective].IDs.At(r.row)] }
	t.dayStart = make([]uint32, len(t.days)+1)
	for i := range n {
		t.dayStart[day(at(i))+1]++
	}
	for i := range t.days {
		t.dayStart[i+1] += t.dayStart[i]
	}
	return day
}

// unmapped marks a value that no row has used yet.
const unmapped = math.MaxUint32

// newRemap returns for each input a mapping from its value indexes to the new ones, all unmapped.
func newRemap(inputs []mergeInput, values func(*table) int) [][]uint32 {
	to := make([][]uint32, len(inputs))
	for i, in := range inputs {
		to[i] = make([]uint32, values(in.table))
		for j := range to[i] {
			to[i][j] = unmapped
		}
	}
	return to
}

// mergeTextColumn merges a column of strings. ids is working memory.
func (t *table) mergeTextColumn(c int, inputs []mergeInput, order []rowRef, ids []uint32) error {
	in := column.NewInterner()
	to := newRemap(inputs, func(t *table) int { return t.text[c].Len() })
	for doc, r := range order {
		from := &inputs[r.input].table.text[c]
		old := from.IDs.At(r.row)
		if to[r.input][old] == unmapped {
			to[r.input][old] = in.ID(from.At(old))
		}
		ids[doc] = to[r.input][old]
	}
	if in.Size() > math.MaxUint32 {
		return errTooLarge
	}
	t.text[c] = column.Text{Dict: in.Dict(), IDs: column.Pack(ids)}
	return nil
}

// mergeNumericColumn merges a column of numbers. ids is working memory.
func (t *table) mergeNumericColumn(c int, inputs []mergeInput, order []rowRef, ids []uint32) {
	values := column.NewNumberInterner()
	to := newRemap(inputs, func(t *table) int { return len(t.num[c].Values) })
	for doc, r := range order {
		from := &inputs[r.input].table.num[c]
		old := from.IDs.At(r.row)
		if to[r.input][old] == unmapped {
			to[r.input][old] = values.ID(from.Values[old], old != 0)
		}
		ids[doc] = to[r.input][old]
	}
	t.num[c] = column.Numeric{Values: values.Values, IDs: column.Pack(ids)}
}

// mergeListColumn merges a column of lists.
func (t *table) mergeListColumn(c int, inputs []mergeInput, order []rowRef) error {
	in := column.NewInterner()
	to := newRemap(inputs, func(t *table) int { return t.lists[c].Len() })
	refs, off := make([]uint32, 0, len(order)), make([]uint32, 1, len(order)+1)
	for _, r := range order {
		from := &inputs[r.input].table.lists[c]
		for _, old := range from.Row(r.row) {
			if to[r.input][old] == unmapped {
				to[r.input][old] = in.ID(from.At(old))
			}
			refs = append(refs, to[r.input][old])
		}
		off = append(off, uint32(len(refs)))
	}
	if in.Size() > math.MaxUint32 {
		return errTooLarge
	}
	t.lists[c] = column.TextList{Dict: in.Dict(), Rows: off, Refs: codec.Shrink(refs)}
	return nil
}
