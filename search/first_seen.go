package search

import (
	"sync"
	"sync/atomic"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/search/internal/column"
)

// firstSeen holds the earliest effective date of the live labels of each brand, or of each permit,
// in a view. It is computed when first needed.
type firstSeen struct {
	once     sync.Once
	segments []*segmentFirstSeen
}

// firstSeenCache holds the first-seen dates of the brands and permits of one view.
type firstSeenCache struct{ brands, permits firstSeen }

// segmentFirstSeen is the part of firstSeen for one segment. The segment caches it for later views,
// because an update changes few first-seen dates.
type segmentFirstSeen struct {
	docs    *column.Packed // value of the brand or permit column of each document
	dates   []cola.Date    // first-seen date of each value, over all segments; zero if unknown
	indexed []cola.Date    // dates that the index was built from
	index   rangeIndex     // documents by the indexed dates
	changed []uint32       // values with a date other than the indexed one
	own     []cola.Date    // first-seen date of each value within this segment
	deleted int            // number of tombstones that own takes into account
}

// maxChanged is the number of changed dates above which the documents are reindexed.
const maxChanged = 500

// firstSeenCheckpoints replaces checkpointCost in these indexes. They have many lists that span the
// whole segment, so they would take too much memory with checkpointCost.
const firstSeenCheckpoints = 300_000

// firstSeenBy returns the first-seen dates of the brands or permits.
func (v *View) firstSeenBy(dimension string) []*segmentFirstSeen {
	f := &v.firstSeen.brands
	if dimension == cola.ByPermit {
		f = &v.firstSeen.permits
	}
	f.once.Do(func() { f.segments = v.findFirstSeen(v.grouping(dimension)) })
	return f.segments
}

// findFirstSeen returns the earliest effective dates of groups and caches them in the segments.
func (v *View) findFirstSeen(g *grouping) []*segmentFirstSeen {
	found := make([]*segmentFirstSeen, len(v.segments))
	first := make([]cola.Date, g.n)
	for i := range v.segments {
		found[i] = v.segments[i].findOwnFirstSeen(g, i)
		for value, date := range found[i].own {
			group := g.segments[i].groupOf[value] // 0 for labels without a value
			if date != 0 && group != 0 && (first[group] == 0 || date < first[group]) {
				first[group] = date
			}
		}
	}
	for i := range v.segments {
		dates := make([]cola.Date, len(found[i].own))
		for value, group := range g.segments[i].groupOf {
			dates[value] = first[group]
		}
		found[i].setDates(dates, v.segments[i].t.n)
		v.segments[i].firstSeenBy(g.dimension).Store(found[i])
	}
	return found
}

// firstSeenBy returns the segment's cache of the first-seen dates of its brands or permits.
func (s *segment) firstSeenBy(dimension string) *atomic.Pointer[segmentFirstSeen] {
	if dimension == cola.ByPermit {
		return &s.permitsSeen
	}
	return &s.brandsSeen
}

// findOwnFirstSeen returns a new segmentFirstSeen with the dates within the segment, and the index
// of an earlier view if the segment has cached one.
func (seg *segmentView) findOwnFirstSeen(g *grouping, i int) *segmentFirstSeen {
	f := &segmentFirstSeen{docs: g.segments[i].docs, deleted: seg.deleted}
	if kept := seg.firstSeenBy(g.dimension).Load(); kept != nil {
		f.indexed, f.index = kept.indexed, kept.index
		if kept.deleted == seg.deleted {
			f.own = kept.own
			return f
		}
	}
	oldest := make([]uint32, len(g.segments[i].groupOf)) // last dated document with each value, plus 1, or 0
	dated, _ := seg.t.undated()
	for doc := range dated { // newest first
		if seg.isLive(doc) {
			oldest[f.docs.At(doc)] = doc + 1
		}
	}
	f.own = make([]cola.Date, len(oldest))
	for value, doc := range oldest {
		if doc != 0 {
			f.own[value] = seg.t.date(numEffective, doc-1)
		}
	}
	return f
}

// setDates sets the dates over all segments. It reindexes the n documents unless few dates have
// changed since they were last indexed.
func (f *segmentFirstSeen) setDates(dates []cola.Date, n uint32) {
	f.dates = dates
	for value := range f.indexed {
		if f.indexed[value] != dates[value] {
			f.changed = append(f.changed, uint32(value))
		}
	}
	if f.indexed == nil || len(f.changed) > maxChanged {
		f.buildIndex(n)
	}
}

// buildIndex indexes the n documents by their dates.
func (f *segmentFirstSeen) buildIndex(n uint32) {
	days, numbers := map[cola.Date]uint32{}, []float64{0} // index of each distinct date, and date by index
	numberOf := make([]uint32, len(f.dates))
	for value, date := range f.dates {
		if date == 0 {
			continue
		}
		number, ok := days[date]
		if !ok {
			number = uint32(len(numbers))
			days[date], numbers = number, append(numbers, float64(date))
		}
		numberOf[value] = number
	}
	f.indexed, f.changed = f.dates, nil
	f.index = newRangeIndex(n, numbers, func(doc uint32) uint32 { return numberOf[f.docs.At(doc)] }, firstSeenCheckpoints)
}

// addFirstSeen adds the conditions on the first approval of the brand and of the permit.
func (p *plan) addFirstSeen(q *query, i int) {
	for _, c := range []struct {
		dimension string
		column    int
		from      cola.Date
	}{{cola.ByBrand, colBrand, q.BrandFirstSeen}, {cola.ByPermit, colPermit, q.PermitteeFirstSeen}} {
		if c.from != 0 && !p.empty {
			p.addSeenFrom(q.view.firstSeenBy(c.dimension)[i], c.column, c.from)
		}
	}
}

// addSeenFrom adds the condition that a document's value in a column was first seen on or after a
// date.
func (p *plan) addSeenFrom(first *segmentFirstSeen, column int, from cola.Date) {
	w, ok := first.index.match(cola.Some(float64(from)), cola.Opt[float64]{}, p.scratch, p.span)
	if !ok && len(first.changed) == 0 {
		p.empty = true
		return
	}
	if !ok {
		w = p.scratch.Bitmap(p.seg.t.n, p.span)
	}
	for _, value := range first.changed {
		if docs := p.seg.texts.DocsOf(column, value); first.dates[value] >= from {
			docs.OrInto(w, p.span)
		} else {
			docs.AndNotInto(w, p.span)
		}
	}
	p.addBitmap(w, int(p.seg.t.n))
}

// groupByFirstSeen groups by the year in which the brand or permit was first approved.
func (v *View) groupByFirstSeen(g *grouping, of string) {
	first := v.firstSeenBy(of)
	type year struct {
		name     string
		position int
	}
	years := map[cola.Date]year{0: {}} // by date, because many values share a date
	v.groupInOrder(g, func(i int) (*column.Packed, int) { return first[i].docs, len(first[i].dates) },
		func(i int, value uint32) (name string, position int) {
			date := first[i].dates[value]
			y, ok := years[date]
			if !ok {
				y.name, y.position = periodOf(cola.ByYear, date)
				years[date] = y
			}
			return y.name, y.position
		})
}
