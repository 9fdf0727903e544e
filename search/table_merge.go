package search

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"

	"github.com/colaregistry/colaregistry/cola"
)

// errTooLarge: the numbers within a segment have 32 bits.
var errTooLarge = errors.New("search: more than 4 GiB of text in one segment")

// part is some of the rows of a table, to be merged. live has a bit for each row that counts; nil is all of them.
type part struct {
	t    *table
	live []uint64
}

func (p part) each(yield func(row uint32)) {
	if p.live == nil {
		for row := range p.t.n {
			yield(row)
		}
		return
	}
	eachBit(p.live, 0, func(row uint32) bool { yield(row); return true })
}

func (p part) count() int {
	if p.live == nil {
		return int(p.t.n)
	}
	return popcount(p.live)
}

// ref names a row of a part.
type ref struct{ part, row uint32 }

// merge returns one table of all the parts' rows in result order. Of rows with the same id the last of the last part counts.
func merge(ctx context.Context, parts []part) (*table, error) {
	t := &table{}
	order := t.arrange(parts)
	scratch := make([]uint32, len(order))
	for c := range t.text {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if err := t.mergeText(c, parts, order, scratch); err != nil {
			return nil, err
		}
	}
	for c := range t.num {
		t.mergeNumbers(c, parts, order, scratch)
	}
	if err := t.mergeCodes(parts, order); err != nil {
		return nil, err
	}
	t.ids, t.flags = make([]uint64, len(order)), make([]uint8, len(order))
	for doc, r := range order {
		from := parts[r.part].t
		t.ids[doc], t.flags[doc] = from.ids[r.row], from.flags[r.row]
	}
	return t, nil
}

// arrange works out which row becomes which document, and fills what follows from the order.
func (t *table) arrange(parts []part) []ref {
	type keyed struct {
		id uint64
		ref
	}
	total := 0
	for _, p := range parts {
		total += p.count()
	}
	all := make([]keyed, 0, total)
	for i, p := range parts {
		p.each(func(row uint32) { all = append(all, keyed{p.t.ids[row], ref{uint32(i), row}}) })
	}
	slices.SortFunc(all, func(a, b keyed) int { // newest id first; of the same id, the last that came
		if a.id != b.id {
			return cmp.Compare(b.id, a.id)
		}
		if a.part != b.part {
			return cmp.Compare(b.part, a.part)
		}
		return cmp.Compare(b.row, a.row)
	})
	all = slices.CompactFunc(all, func(a, b keyed) bool { return a.id == b.id })

	t.n = uint32(len(all))
	day := t.countDays(parts, len(all), func(i int) ref { return all[i].ref })
	next := slices.Clone(t.dayOff)
	order := make([]ref, len(all))
	t.byID = make([]uint32, len(all))
	for i, k := range all {
		d := day(k.ref)
		order[next[d]] = k.ref
		t.byID[len(all)-1-i] = next[d]
		next[d]++
	}
	return order
}

// countDays fills days and dayOff for n rows, and returns how to tell the day of a row.
func (t *table) countDays(parts []part, n int, at func(int) ref) (day func(ref) uint32) {
	number := map[cola.Date]uint32{}
	for _, p := range parts {
		for _, v := range p.t.num[numApproved].vals {
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
	dayOf := make([][]uint32, len(parts))
	for i, p := range parts {
		for _, v := range p.t.num[numApproved].vals {
			dayOf[i] = append(dayOf[i], number[cola.Date(v)])
		}
	}
	day = func(r ref) uint32 { return dayOf[r.part][parts[r.part].t.num[numApproved].ids.at(r.row)] }
	t.dayOff = make([]uint32, len(t.days)+1)
	for i := range n {
		t.dayOff[day(at(i))+1]++
	}
	for i := range t.days {
		t.dayOff[i+1] += t.dayOff[i]
	}
	return day
}

// unmapped stands for a value that no row has asked for yet.
const unmapped = math.MaxUint32

// renumber returns for each part a table from its numbers to new ones, all still unmapped.
func renumber(parts []part, values func(*table) int) [][]uint32 {
	to := make([][]uint32, len(parts))
	for i, p := range parts {
		to[i] = make([]uint32, values(p.t))
		for j := range to[i] {
			to[i][j] = unmapped
		}
	}
	return to
}

func (t *table) mergeText(c int, parts []part, order []ref, ids []uint32) error {
	in := newInterner()
	to := renumber(parts, func(t *table) int { return t.text[c].len() })
	for doc, r := range order {
		from := &parts[r.part].t.text[c]
		old := from.ids.at(r.row)
		if to[r.part][old] == unmapped {
			to[r.part][old] = in.id(from.at(old))
		}
		ids[doc] = to[r.part][old]
	}
	if in.size() > math.MaxUint32 {
		return errTooLarge
	}
	t.text[c] = textColumn{dict: in.dict(), ids: pack(ids)}
	return nil
}

func (t *table) mergeNumbers(c int, parts []part, order []ref, ids []uint32) {
	values := newNumbers()
	to := renumber(parts, func(t *table) int { return len(t.num[c].vals) })
	for doc, r := range order {
		from := &parts[r.part].t.num[c]
		old := from.ids.at(r.row)
		if to[r.part][old] == unmapped {
			to[r.part][old] = values.id(from.vals[old], old != 0)
		}
		ids[doc] = to[r.part][old]
	}
	t.num[c] = numColumn{vals: values.vals, ids: pack(ids)}
}

func (t *table) mergeCodes(parts []part, order []ref) error {
	in := newInterner()
	to := renumber(parts, func(t *table) int { return t.codes.len() })
	refs, off := make([]uint32, 0, len(order)), make([]uint32, 1, len(order)+1)
	for _, r := range order {
		from := &parts[r.part].t.codes
		for _, old := range from.row(r.row) {
			if to[r.part][old] == unmapped {
				to[r.part][old] = in.id(from.at(old))
			}
			refs = append(refs, to[r.part][old])
		}
		off = append(off, uint32(len(refs)))
	}
	if in.size() > math.MaxUint32 {
		return errTooLarge
	}
	t.codes = codeColumn{dict: in.dict(), off: off, refs: exact(refs)}
	return nil
}
