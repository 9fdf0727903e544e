package alerts

import (
	"context"
	"fmt"

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

// match returns the labels that a window looks at and that meet the filters, newest approval first. A panic of the index is returned as
// an error: one search that makes it so must not keep the others from being run.
func (c *candidates) match(f cola.SavedSearchFilters, w window) (found []store.RunMatch, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("match: panic: %v", p)
		}
	}()
	positions := c.view.Matches(f.AsQuery(), c.subset(w))
	for _, p := range positions {
		found = append(found, store.RunMatch{TTBID: p.TTBID, Late: w.isLate(p.Date)})
	}
	return found, nil
}
