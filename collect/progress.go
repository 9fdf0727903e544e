package collect

import (
	"time"

	"github.com/colaregistry/colaregistry/store"
)

// Progress is the progress of a run.
type Progress struct {
	Windows      int // planned days completed by any process
	WindowsTotal int
	Labels       int // labels done by this process
	LabelsQueued int
	Images       int
	Requests     int64         // sent by this process
	Rate         float64       // requests per second sent by this process
	Left         time.Duration // estimated time until the plan and the queue are done
	QuietUntil   time.Time     // end of the quiet hours, or zero
}

// The work of all processes is counted every second, or less often if counting would take more than
// one fiftieth of the time.
const (
	refreshEvery = time.Second
	refreshShare = 50
)

// tracker measures progress.
type tracker struct {
	started   time.Time
	refreshed time.Time
	took      time.Duration // duration of the latest count
	total     int           // days of the plan that were pending
	pending   int
	queued    int
	requests  int // requests needed for queued labels
}

// report calls Options.Progress. It first refreshes the counts if they are out of date.
func (t *tracker) report(c *collector) {
	if c.o.Progress == nil {
		return
	}
	if time.Since(t.refreshed) >= max(refreshEvery, refreshShare*t.took) {
		t.refresh(c)
	}
	p := Progress{
		Windows: max(0, t.total-t.pending), WindowsTotal: t.total,
		Labels: c.report.Labels, LabelsQueued: t.queued, Images: c.report.Images, Requests: c.report.Requests,
	}
	perRequest := c.o.Interval
	if elapsed := time.Since(t.started); p.Requests > 0 && elapsed > 0 {
		p.Rate = float64(p.Requests) / elapsed.Seconds()
		perRequest = max(perRequest, elapsed/time.Duration(p.Requests))
	}
	now := c.o.Now()
	p.Left = c.o.QuietHours.Extend(now, time.Duration(t.pending*store.WindowRequests+t.requests)*perRequest)
	p.QuietUntil = c.o.QuietHours.Until(now)
	c.o.Progress(p)
}

// refresh counts the work. Errors only delay the next count: the next step reports them.
func (t *tracker) refresh(c *collector) {
	started := time.Now()
	defer func() { t.refreshed, t.took = time.Now(), time.Since(started) }()
	open, err := c.st.CountWindows(c.ctx, c.earliest(), c.last, c.o.Now())
	if err != nil {
		return
	}
	status, err := c.st.FetchStatus(c.ctx)
	if err != nil {
		return
	}
	t.pending = open.Pending
	if c.o.Details != None {
		t.queued, t.requests = status.Labels[store.FetchPending], status.LabelRequests()
	}
	if c.o.Images != None {
		t.queued += status.ImagesDue
		t.requests += int((1 + store.ImagesPerLabel) * float64(status.ImagesDue))
	}
}
