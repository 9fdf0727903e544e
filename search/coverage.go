package search

import (
	"maps"
	"slices"
	"sync"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/search/internal/column"
	"github.com/colaregistry/colaregistry/search/internal/postings"
)

// coverageCache holds the coverage of one view on one day. A search needs only the date, so it
// never waits for the counts, which take one pass over all labels.
type coverageCache struct {
	asOf   dailyValue[cola.Date]
	counts dailyValue[*cola.Coverage]
}

// dailyValue caches a value that depends on the date.
type dailyValue[T any] struct {
	mu       sync.Mutex
	computed bool
	today    cola.Date // date of value
	value    T
}

func (d *dailyValue[T]) on(today cola.Date, compute func() T) T {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.computed || d.today != today {
		d.computed, d.today, d.value = true, today, compute()
	}
	return d.value
}

// DataAsOf returns the latest update date of the labels (latest_update_date), or else their latest
// effective date, or zero. It ignores dates after today, which are data entry errors.
func (v *View) DataAsOf(today cola.Date) cola.Date {
	return v.coverage.asOf.on(today, func() cola.Date { return v.dataAsOf(today) })
}

// Coverage counts the labels by their available data. The caller must not modify the result.
// LastImports is not set.
func (v *View) Coverage(today cola.Date) *cola.Coverage {
	return v.coverage.counts.on(today, func() *cola.Coverage {
		c := v.countCoverage()
		c.DataAsOf = v.DataAsOf(today)
		return c
	})
}

// dataAsOf reads the newest segments first. They usually have the latest date, so others are only
// read if their column has a later one.
func (v *View) dataAsOf(today cola.Date) (latest cola.Date) {
	for _, field := range []int{numUpdated, numEffective} {
		for i := len(v.segments) - 1; i >= 0; i-- {
			latest = v.segments[i].latestDate(field, latest, today)
		}
		if latest != 0 {
			return latest
		}
	}
	return 0
}

// latestDate returns the latest date of live labels in a column, up to today. If none is later than
// the after parameter, it returns after. A value may have no live labels left, so latestDate counts
// the live labels of all values in one pass.
func (seg *segmentView) latestDate(field int, after, today cola.Date) cola.Date {
	c := &seg.t.num[field]
	isLater := func(v float64) bool { return cola.Date(v) > after && cola.Date(v) <= today }
	if !slices.ContainsFunc(c.Values[1:], isLater) {
		return after
	}
	latest := after
	for id, n := range seg.liveCounts(c) {
		if id != 0 && n > 0 && isLater(c.Values[id]) {
			latest = max(latest, cola.Date(c.Values[id]))
		}
	}
	return latest
}

// liveCounts returns how many live documents have each value of a column.
func (seg *segmentView) liveCounts(c *column.Numeric) []uint32 {
	counts := make([]uint32, len(c.Values))
	c.IDs.Count(counts)
	seg.eachDead(0, seg.t.n, func(doc uint32) { counts[c.IDs.At(doc)]-- })
	return counts
}

// countCoverage counts all labels by year. Documents are ordered by effective date, so a year's
// documents form a range.
func (v *View) countCoverage() *cola.Coverage {
	years, differences, c := map[int]cola.CoverageCounts{}, map[int]int{}, &cola.Coverage{Years: []cola.YearCoverage{}}
	for i := range v.segments {
		seg := &v.segments[i]
		seg.eachYear(func(year int, lo, hi uint32) {
			sum := years[year]
			sum.Add(seg.countRange(lo, hi))
			years[year] = sum
		})
		seg.countErrors(differences)
	}
	c.Undated = years[0].Labels
	for _, year := range slices.Backward(slices.Sorted(maps.Keys(years))) {
		c.Add(years[year])
		if year != 0 && years[year].Labels > 0 {
			c.Years = append(c.Years, cola.YearCoverage{Year: year, CoverageCounts: years[year]})
		}
	}
	c.KnownDates -= c.Undated // countRange counts undated labels as known
	c.EstimateError = summarizeErrors(differences)
	return c
}

// eachYear calls yield with the range [lo, hi) of documents of each year. Undated documents have
// year 0.
func (seg *segmentView) eachYear(yield func(year int, lo, hi uint32)) {
	days := seg.t.days
	for i := 0; i < len(days); {
		first, year := i, 0
		if days[i] != 0 {
			year = days[i].Time().Year()
		}
		for i < len(days) && (days[i] != 0) == (year != 0) && (year == 0 || days[i].Time().Year() == year) {
			i++
		}
		yield(year, seg.t.dayStart[first], seg.t.dayStart[i])
	}
}

// countRange counts the live documents in [lo, hi): all of them, less those with tombstones.
func (seg *segmentView) countRange(lo, hi uint32) cola.CoverageCounts {
	t := seg.t
	n := cola.CoverageCounts{
		Labels:     int(hi - lo),
		WithDetail: t.text[colStatus].IDs.CountNonZero(lo, hi),
		WithImages: t.num[numImages].IDs.CountNonZero(lo, hi),
	}
	for _, f := range t.flags[lo:hi] {
		n.WithBarcodes += int(f & flagHasBarcode / flagHasBarcode)
		n.EstimatedDates += int(f & flagEstimated / flagEstimated)
	}
	seg.eachDead(lo, hi, func(doc uint32) {
		n.Labels--
		n.WithDetail -= t.text[colStatus].IDs.CountNonZero(doc, doc+1)
		n.WithImages -= t.num[numImages].IDs.CountNonZero(doc, doc+1)
		n.WithBarcodes -= int(t.flags[doc] & flagHasBarcode / flagHasBarcode)
		n.EstimatedDates -= int(t.flags[doc] & flagEstimated / flagEstimated)
	})
	n.KnownDates = n.Labels - n.EstimatedDates
	return n
}

// eachDead calls yield with the documents in [lo, hi) that have a tombstone.
func (seg *segmentView) eachDead(lo, hi uint32, yield func(doc uint32)) {
	if seg.deleted == 0 {
		return
	}
	const wordBits = 64
	word := lo / wordBits
	postings.EachBit(seg.tombstones[word:], word*wordBits, func(doc uint32) bool {
		if doc >= lo && doc < hi {
			yield(doc)
		}
		return doc < hi
	})
}

// countErrors counts the live documents by the absolute error of their date estimate, in days, and
// adds the counts to differences.
func (seg *segmentView) countErrors(differences map[int]int) {
	c := &seg.t.num[numEstimateError]
	if len(c.Values) == 1 { // only the unknown value
		return
	}
	for id, n := range seg.liveCounts(c) {
		if id != 0 && n > 0 {
			differences[max(int(c.Values[id]), -int(c.Values[id]))] += int(n)
		}
	}
}

// goodEstimate is the maximum error, in days, of an estimate that counts as good.
const goodEstimate = 25

// summarizeErrors returns statistics on estimation errors, given the number of labels by absolute
// error in days, or nil if there are none. For an even number of labels, the median is the lower of
// the middle two errors.
func summarizeErrors(differences map[int]int) *cola.EstimateError {
	if len(differences) == 0 {
		return nil
	}
	e, good := &cola.EstimateError{}, 0
	days := slices.Sorted(maps.Keys(differences))
	for _, d := range days {
		e.Labels += differences[d]
		if d <= goodEstimate {
			good += differences[d]
		}
	}
	below := 0
	for _, d := range days {
		if below += differences[d]; 2*below >= e.Labels {
			e.MedianDays = d
			break
		}
	}
	e.Within25 = float64(good) / float64(e.Labels)
	e.WorstDays = days[len(days)-1]
	return e
}
