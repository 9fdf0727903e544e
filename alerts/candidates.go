package alerts

import (
	"context"
	"fmt"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/search"
	"github.com/colaregistry/colaregistry/store"
)

// candidates is an index of the labels that runs consider, from one consistent view of the
// database. The caller must close it.
type candidates struct {
	since   cola.Date     // earliest effective date
	upto    cola.Revision // latest arrival revision
	arrived []arrivedLabel
	index   *search.Index
	view    *search.View
	subsets map[window]*search.Subset
}

// arrivedLabel holds a label's effective date and the revision at which it arrived.
type arrivedLabel struct {
	id       cola.TTBID
	approved cola.Date
	at       cola.Revision
}

// readCandidates indexes the arrived labels that were approved on or after a date.
func readCandidates(ctx context.Context, from Store, since cola.Date) (*candidates, error) {
	references, err := from.AllReferences(ctx)
	if err != nil {
		return nil, fmt.Errorf("read references: %w", err)
	}
	c := &candidates{
		since: since, index: search.New(search.Options{ManualCompaction: true}), subsets: map[window]*search.Subset{},
	}
	update := c.index.Begin()
	defer update.Abort()
	update.Aliases(references.CategoryAliases)
	update.Appellations(cola.NewAppellations(references.AVAs))
	c.upto, err = from.ArrivedSince(ctx, since, func(a store.Arrival) error {
		c.arrived = append(c.arrived, arrivedLabel{a.Label.Summary.TTBID, a.Label.Summary.EffectiveDate(), a.At})
		update.Label(a.Label)
		if a.Permittee != nil {
			update.Permittee(a.Permittee)
		}
		return nil
	})
	if err != nil {
		c.close()
		return nil, fmt.Errorf("read arrived labels: %w", err)
	}
	if err := update.Commit(search.Marks{}); err != nil {
		c.close()
		return nil, err
	}
	c.view = c.index.View()
	return c, nil
}

// close closes the index. It is a no-op on a nil receiver.
func (c *candidates) close() {
	if c != nil {
		c.index.Close()
	}
}

// covers reports whether the candidates include all labels in a window.
func (c *candidates) covers(w window) bool { return c != nil && c.since <= w.Late && c.upto >= w.After }

// subset returns the labels in a window. Most searches in a tick share one or two windows.
func (c *candidates) subset(w window) *search.Subset {
	if s := c.subsets[w]; s != nil {
		return s
	}
	var ids []cola.TTBID
	for i := range c.arrived {
		if a := &c.arrived[i]; w.contains(a.approved, a.at) {
			ids = append(ids, a.id)
		}
	}
	s := c.view.Subset(ids)
	c.subsets[w] = s
	return s
}

// match returns the labels in a window that match the filters, latest approval first, with the
// filters that each matches. It turns a panic in the index into an error, so that one search can't
// block others.
func (c *candidates) match(f cola.SavedSearchFilters, w window) (found []store.RunMatch, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("match: panic: %v", p)
		}
	}()
	for _, p := range c.view.Matches(f.AsQuery(), c.subset(w)) {
		found = append(found, store.RunMatch{TTBID: p.TTBID, Late: w.isLate(p.Date)})
	}
	c.markMatched(f, found)
	return found, nil
}

// markMatched sets the filters that each found label matches: all required filters and, in each
// group of alternatives, those that match. For alternatives, it searches again among the found
// labels.
func (c *candidates) markMatched(f cola.SavedSearchFilters, found []store.RunMatch) {
	if len(found) == 0 {
		return
	}
	parts := f.Parts()
	options := map[string]int{}
	for _, p := range parts {
		options[p.Group]++
	}
	var subset *search.Subset
	for _, p := range parts {
		filter := cola.FilterSetOf(p.Filter)
		if p.Group == "" || options[p.Group] == 1 {
			for i := range found {
				found[i].Met |= filter
			}
			continue
		}
		if subset == nil {
			subset = c.view.Subset(idsOf(found))
		}
		next := 0 // both lists are in the same order
		for _, position := range c.view.Matches(p.Alone.AsQuery(), subset) {
			for found[next].TTBID != position.TTBID {
				next++
			}
			found[next].Met |= filter
		}
	}
}

func idsOf(found []store.RunMatch) []cola.TTBID {
	ids := make([]cola.TTBID, len(found))
	for i := range found {
		ids[i] = found[i].TTBID
	}
	return ids
}

// window is the range of labels that one run considers, by effective date (the approval date,
// or its estimate if unknown). It includes labels approved from From to To, and late labels: those
// that arrived after revision After and were approved from Late to the day before From. All dates
// are in UTC; From, To and Late are inclusive.
//
// For example, a search ran on November 9, when the registry had revision 700. Its run on November
// 16 considers
//
//   - labels approved from November 9 to 16, and
//   - labels approved in the 90 days from August 11 to November 8 that arrived after revision 700.
//
// The next window also includes November 16, because labels approved that afternoon arrive after
// this run. Labels that the search has already found are not reported again.
type window struct {
	From, To cola.Date
	Late     cola.Date
	After    cola.Revision
}

// windowOf returns the window of a run at now, for a search with mark m. If the mark is later than
// now, because the clock of another process is ahead, the window is one day.
func windowOf(m store.Mark, now time.Time) window {
	from := cola.DateOf(m.At)
	return window{From: from, To: max(from, cola.DateOf(now)), Late: from.AddDays(-cola.LateDays), After: m.Revision}
}

// contains reports whether the window includes a label with the given approval date and arrival
// revision.
func (w window) contains(approved cola.Date, arrived cola.Revision) bool {
	if w.isLate(approved) {
		return approved >= w.Late && arrived > w.After
	}
	return approved <= w.To
}

// isLate reports whether a label with the given approval date is late.
func (w window) isLate(approved cola.Date) bool { return approved < w.From }

// markAfter returns a search's mark after a run at now that read arrivals up to revision upto.
// Marks never move back.
func markAfter(m store.Mark, now time.Time, upto cola.Revision) store.Mark {
	if now.After(m.At) {
		m.At = now
	}
	m.Revision = max(m.Revision, upto)
	return m
}

// usualWindow is the number of days that most windows reach back, including those of monthly
// searches.
const usualWindow = 31 + cola.LateDays

// readFrom returns the approval date from which to read labels, for runs that need the labels
// approved since a given date. It goes back further than needed, so that a series of searches with
// older and older marks doesn't need a separate read for each.
func readFrom(today, need cola.Date) cola.Date {
	if usual := today.AddDays(-usualWindow); need >= usual {
		return usual
	}
	return need.AddDays(-int(today-need) / 2)
}
