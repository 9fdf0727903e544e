package collect

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

// Plan is an estimate of the work of a run.
type Plan struct {
	First, Last cola.Date
	Days        int // days to fetch
	Stored      int // labels to fetch that are already stored or queued
	New         int // estimated number of labels not yet known
	Images      int // images of these labels
	Requests    int
	Duration    time.Duration
}

const (
	// labelsPerDay is the average number of labels completed per day: 150,000 a year.
	labelsPerDay = 410
	// ImageBytes is the average size of an image, measured on the real labels used in tests.
	ImageBytes = 220_000
)

// PlanOf returns the plan of a run without starting the run. st may be nil for an empty registry.
func PlanOf(ctx context.Context, st Store, o Options) (p Plan, err error) {
	o.setDefaults()
	now := o.Now()
	var status store.FetchStatus
	var counts, earlier store.WindowCounts
	if st != nil {
		if status, err = st.FetchStatus(ctx); err != nil {
			return p, err
		}
	}
	p.First, p.Last = o.days(now, status, true)
	if st != nil {
		if counts, err = st.CountWindows(ctx, p.First, p.Last, now.Add(-refreshAfter)); err != nil {
			return p, err
		}
		if o.Follow { // followers also work on the days of earlier plans
			if earlier, err = st.CountWindows(ctx, EarliestDay, p.First.AddDays(-1), now); err != nil {
				return p, err
			}
		}
	}
	open := int(p.Last-p.First) + 1 - counts.Complete + earlier.Pending
	p.Days = open + counts.Stale
	if o.Details != None {
		p.New = open * labelsPerDay
	}
	for _, b := range o.backlogs() {
		if st != nil && err == nil {
			err = st.ColasMissing(ctx, b.missing, func(cola.TTBID) error { p.Stored++; return nil })
		}
	}
	if o.Details != None { // most queued labels lack data, so they are also in a backlog
		p.Stored = max(p.Stored, status.Labels[store.FetchPending]+status.Labels[store.FetchFailed])
	}
	if o.Images != None {
		p.Stored += status.ImagesDue
		p.Images = int(float64(p.Stored+p.New) * store.ImagesPerLabel)
	}
	p.Requests = p.Days*store.WindowRequests + p.Stored + p.New + p.Images
	p.Duration = o.QuietHours.Extend(now, time.Duration(p.Requests)*o.Interval)
	return p, err
}

// days returns the days to plan now. With Follow, they include those since the latest complete day,
// so that no day is missing after an outage.
func (o *Options) days(now time.Time, status store.FetchStatus, begin bool) (first, last cola.Date) {
	if !o.Follow {
		return o.First, o.Last
	}
	last = cola.DateOf(now)
	first = last.AddDays(-trailingDays)
	if status.LastDay != 0 {
		first = min(first, status.LastDay)
	}
	if begin && o.First != 0 {
		first = min(first, o.First)
	}
	return first, last
}

// EarliestDay precedes all of TTB's completion dates.
var EarliestDay = cola.NewDate(1950, time.January, 1)

// earliest returns the first day to work on. A follower also works on the days of earlier plans.
func (c *collector) earliest() cola.Date {
	if c.o.Follow {
		return EarliestDay
	}
	return c.first
}

// plan plans the days, and retries labels that failed in earlier runs or plans. If the registry is
// empty, the plan is an initial load, and its labels are history. The store remembers that, since a
// run may be killed after the first label.
func (c *collector) plan() error {
	now := c.o.Now()
	status, err := c.st.FetchStatus(c.ctx)
	if err != nil {
		return err
	}
	has, err := c.st.HasColas(c.ctx)
	if err != nil {
		return fmt.Errorf("check for stored labels: %w", err)
	}
	if c.o.Follow {
		c.stale.check(status, now, c.o.Logger)
	}
	first, last := c.o.days(now, status, c.nextPlan.IsZero())
	pending, err := c.st.PlanWindows(c.ctx, first, last, now.Add(-refreshAfter), c.o.History || !has)
	if err != nil {
		return err
	}
	if c.o.Details != None {
		if err := c.st.RetryFailedLabels(c.ctx); err != nil {
			return err
		}
	}
	c.o.Logger.Info("planned", "first", first.String(), "last", last.String(), "pending", pending)
	c.first, c.last, c.nextPlan = first, last, now.Add(planEvery)
	return c.countPlanned()
}

// countPlanned counts the windows to work on, for progress reports.
func (c *collector) countPlanned() error {
	open, err := c.st.CountWindows(c.ctx, c.earliest(), c.last, c.o.Now())
	c.progress.total = open.Pending
	return err
}

// backlogChunk is how many labels of a backlog are queued at a time. lostChunk is how many labels
// with lost files are checked at a time. lostChunk is small, because other collectors may fetch the
// files before this one does.
const (
	backlogChunk = 10_000
	lostChunk    = 100
)

// errEnough stops the listing of a backlog.
var errEnough = errors.New("enough")

// backlog lists stored labels that lack the data named by missing or, if lost is set, image files.
type backlog struct {
	missing store.Missing
	lost    bool         // the labels lack image files; missing is then empty
	ids     []cola.TTBID // remaining labels with lost files; nil until listed
	last    cola.TTBID   // the last label queued or found to be complete; 0 before the first
}

// String names the missing data.
func (b *backlog) String() string {
	if b.lost {
		return "files of fetched images"
	}
	return string(b.missing)
}

// passed reports whether a label of a backlog was queued or found to be complete.
func (b *backlog) passed(id cola.TTBID) bool {
	return b.last != 0 && receiptOrder(id) >= receiptOrder(b.last)
}

// list calls yield with the labels of a backlog, latest first.
func (c *collector) list(b *backlog, yield func(cola.TTBID) error) (err error) {
	if !b.lost {
		return c.st.ColasMissing(c.stop, b.missing, yield)
	}
	if b.ids == nil { // listing the files is slow, so do it once
		if b.ids, err = c.o.ImageStore.LostImages(c.stop); err != nil {
			return err
		}
	}
	for len(b.ids) > 0 && b.passed(b.ids[0]) {
		b.ids = b.ids[1:]
	}
	for _, id := range b.ids {
		if err := yield(id); err != nil {
			return err
		}
	}
	return nil
}

// backlogs returns the backlogs to work on, in order.
func (o *Options) backlogs() (all []*backlog) {
	if o.Details == All {
		all = append(all, &backlog{missing: store.MissingDetail})
	}
	if o.Images == All {
		all = append(all, &backlog{missing: store.MissingDueImages})
	}
	return all
}

// queueBacklog queues the next labels of the first backlog, latest first. It skips labels that it
// has queued before: they are still in the backlog because they failed, or because the site lacks
// their images.
func (c *collector) queueBacklog() error {
	b := c.backlogs[0]
	var labels []store.FetchLabel
	chunk, seen, last := backlogChunk, 0, b.last
	if b.lost {
		chunk = lostChunk
	}
	err := c.list(b, func(id cola.TTBID) error {
		if c.stop.Err() != nil {
			return errEnough
		}
		if b.passed(id) {
			return nil
		}
		lacks := true
		if b.lost {
			var err error
			if lacks, err = c.lacksImage(id); err != nil {
				return err
			}
		}
		if lacks {
			labels = append(labels, store.FetchLabel{TTBID: id, Images: c.o.Images != None})
		}
		last = id
		if seen++; seen == chunk {
			return errEnough
		}
		return nil
	})
	if c.stop.Err() != nil {
		return nil
	}
	switch {
	case err == nil, errors.Is(err, errEnough):
	case b.lost && !errors.Is(err, store.ErrUnavailable): // the run can continue without this repair
		c.o.Logger.Warn("checking for lost image files failed; skipping their repair", "error", err)
		c.backlogs = c.backlogs[1:]
		return nil
	default:
		return err
	}
	if seen == 0 {
		c.backlogs = c.backlogs[1:]
		return nil
	}
	if len(labels) == 0 {
		b.last = last
		return nil
	}
	if err := c.st.QueueLabels(c.ctx, labels); err != nil {
		return fmt.Errorf("queue labels without %s: %w", b, err)
	}
	b.last = last
	c.o.Logger.Info("queued stored labels", "without", b.String(), "labels", len(labels), "last", b.last.String())
	return nil
}

// lacksImage reports whether a label still lacks an image. Since the lost files were listed, other
// collectors may have fetched them. A file that can't be read counts as missing: fetching the label
// reports the error.
func (c *collector) lacksImage(id cola.TTBID) (bool, error) {
	label, err := c.st.Cola(c.stop, id)
	if errors.Is(err, store.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	for i := range label.Images {
		if has, err := c.o.ImageStore.HasImage(c.stop, &label.Images[i]); err != nil || !has {
			return true, nil
		}
	}
	return false, nil
}

// receiptOrder returns a key that sorts IDs by year of receipt. ColasMissing lists the highest key
// first. IDs that start with 80 to 99 are from the last century.
func receiptOrder(id cola.TTBID) int64 {
	const ids, lastCentury = 100_000_000_000_000, 80_000_000_000_000
	if id >= lastCentury {
		return int64(id) - ids
	}
	return int64(id)
}

// Left estimates the time until all planned days and queued labels are done, at the most recent rate. It
// includes the rest of a pause and the quiet hours.
func Left(s store.FetchStatus, now time.Time, quiet QuietHours) time.Duration {
	work := s.Left()
	if work == 0 {
		return 0
	}
	start := now
	if s.PausedUntil.After(now) {
		start = s.PausedUntil
	}
	return start.Sub(now) + quiet.Extend(start, work)
}
