package alerts

import (
	"context"
	"fmt"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/search"
	"github.com/colaregistry/colaregistry/store"
)

// candidates are the labels that runs look at, as they were in one state of the database. They must be closed.
type candidates struct {
	since   cola.Date     // labels approved before it are not among them
	upto    cola.Revision // labels that arrived after it are not among them
	arrived []arrival
	index   *search.Index
	view    *search.View
	subsets map[window]*search.Subset
}

// arrival is when a label was approved and came.
type arrival struct {
	id       cola.TTBID
	approved cola.Date
	at       cola.Revision
}

// readCandidates reads the labels that have arrived and were approved on a day or later, and what it takes to match them.
func readCandidates(ctx context.Context, from Store, since cola.Date) (*candidates, error) {
	references, err := from.AllReferences(ctx)
	if err != nil {
		return nil, fmt.Errorf("read category aliases: %w", err)
	}
	c := &candidates{since: since, index: search.New(search.Options{ManualFold: true}), subsets: map[window]*search.Subset{}}
	update := c.index.Begin()
	defer update.Abort()
	update.Aliases(references.CategoryAliases)
	c.upto, err = from.ArrivedSince(ctx, since, func(a store.Arrival) error {
		c.arrived = append(c.arrived, arrival{a.Label.Summary.TTBID, a.Label.Summary.ApprovalDate, a.At})
		update.Label(a.Label)
		if a.Permittee != nil {
			update.Permittee(a.Permittee)
		}
		return nil
	})
	if err != nil {
		c.close()
		return nil, fmt.Errorf("read labels that have arrived: %w", err)
	}
	if err := update.Commit(search.Marks{}); err != nil {
		c.close()
		return nil, err
	}
	c.view = c.index.View()
	return c, nil
}

// close lets go of the index. Nil needs no closing.
func (c *candidates) close() {
	if c != nil {
		c.index.Close()
	}
}

// serve reports whether everything that a window looks at is among the candidates.
func (c *candidates) serve(w window) bool { return c != nil && c.since <= w.Late && c.upto >= w.After }

// subset returns the labels that a window looks at. Most searches of a tick share a window or two.
func (c *candidates) subset(w window) *search.Subset {
	if s := c.subsets[w]; s != nil {
		return s
	}
	var ids []cola.TTBID
	for i := range c.arrived {
		if a := &c.arrived[i]; w.holds(a.approved, a.at) {
			ids = append(ids, a.id)
		}
	}
	s := c.view.Subset(ids)
	c.subsets[w] = s
	return s
}

// match returns the labels that a window looks at and that meet the filters, newest approval first, with the filters that each meets. A panic of the index is returned as
// an error: one search that makes it so must not keep the others from being run.
func (c *candidates) match(f cola.SavedSearchFilters, w window) (found []store.RunMatch, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("match: panic: %v", p)
		}
	}()
	for _, p := range c.view.Matches(f.AsQuery(), c.subset(w)) {
		found = append(found, store.RunMatch{TTBID: p.TTBID, Late: w.isLate(p.Date)})
	}
	c.noteMet(f, found)
	return found, nil
}

// noteMet notes which of the filters each label meets that was found by them: every one that has to be met by itself, and of several
// options the ones that the label has, which are asked for among what was found.
func (c *candidates) noteMet(f cola.SavedSearchFilters, found []store.RunMatch) {
	if len(found) == 0 {
		return
	}
	parts := f.Parts()
	options := map[string]int{}
	for _, p := range parts {
		options[p.Group]++
	}
	var among *search.Subset
	for _, p := range parts {
		filter := cola.FilterSetOf(p.Filter)
		if p.Group == "" || options[p.Group] == 1 {
			for i := range found {
				found[i].Met |= filter
			}
			continue
		}
		if among == nil {
			among = c.view.Subset(idsOf(found))
		}
		next := 0 // both are in the order of results
		for _, position := range c.view.Matches(p.Alone.AsQuery(), among) {
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

// window is what one run looks at: labels approved from From to To, whenever they arrived, and labels approved from Late on and
// before From that arrived after a revision. All days are in UTC and inclusive.
//
// A search that ran on Monday the 9th, when the registry had revision 700, and runs again on Monday the 16th looks at labels
// approved from the 9th to the 16th; and at labels approved from 11 August to the 8th, 90 days, that have a revision of arrival above 700. The
// next run begins at the 16th: the day is looked at twice, since a label approved in the afternoon of the 16th comes after the first of
// them, and what the search has had is not told again.
type window struct {
	From, To cola.Date
	Late     cola.Date
	After    cola.Revision
}

// windowOf returns what a run at an instant looks at, for a search that has looked up to a mark. A mark that lies after the instant,
// as of a process whose clock is ahead, counts as one of it: no window is empty.
func windowOf(m store.Mark, now time.Time) window {
	from := cola.DateOf(m.At)
	return window{From: from, To: max(from, cola.DateOf(now)), Late: from.AddDays(-cola.LateDays), After: m.Revision}
}

// holds reports whether a label that was approved on a day and arrived at a revision is looked at.
func (w window) holds(approved cola.Date, arrived cola.Revision) bool {
	if w.isLate(approved) {
		return approved >= w.Late && arrived > w.After
	}
	return approved <= w.To
}

// isLate reports whether a label that was approved on a day is told of as a late one.
func (w window) isLate(approved cola.Date) bool { return approved < w.From }

// markAfter returns up to where a search has looked after a run at an instant that read arrivals up to a revision. A mark never goes
// back.
func markAfter(m store.Mark, now time.Time, upto cola.Revision) store.Mark {
	if now.After(m.At) {
		m.At = now
	}
	m.Revision = max(m.Revision, upto)
	return m
}

// usualDays is how far before a day the windows of nearly all searches that are due on it reach: those of searches that ran a month ago.
const usualDays = 31 + cola.LateDays

// horizon returns from which approval date on labels are read for runs on a day that need them from another one on. Reading further back
// than is needed keeps searches that have waited for ever longer from having everything read anew for each.
func horizon(today, need cola.Date) cola.Date {
	if usual := today.AddDays(-usualDays); need >= usual {
		return usual
	}
	return need.AddDays(-int(today-need) / 2)
}
