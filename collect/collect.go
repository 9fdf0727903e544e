package collect

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/collect/ttb"
	"github.com/colaregistry/colaregistry/ingest"
	"github.com/colaregistry/colaregistry/store"
)

// Store is the part of a store that a collector uses.
type Store interface {
	ingest.Target
	store.Fetches
}

// Images stores the images of labels.
type Images interface {
	// CheckWritable fails if no image can be stored.
	CheckWritable(ctx context.Context) error
	// HasImage reports whether an image of a stored label has a URL and, if the URL is on this
	// server, a complete file.
	HasImage(ctx context.Context, image *cola.Image) (bool, error)
	// LostImages returns the labels that have an image with a URL on this server but no file,
	// latest first.
	LostImages(ctx context.Context) ([]cola.TTBID, error)
	// SaveImage stores the image file for a stored label. usable is false if the content is not a
	// usable image.
	SaveImage(ctx context.Context, id cola.TTBID, image *cola.Image, content []byte) (usable bool, err error)
}

// Choice selects the labels to fetch forms or images for.
type Choice string

// The choices.
const (
	None Choice = "none"
	New  Choice = "new" // labels that are new or changed in an export
	All  Choice = "all" // also stored labels without a form or images
)

// Options configures Run.
type Options struct {
	// Site configures the client; Run sets its Wait and Logger.
	Site ttb.Options
	// First and Last are the range of completion dates to collect. With Follow, plans cover the
	// trailing days instead: Last is ignored, and First, if set, extends the first plan.
	First, Last cola.Date
	// Follow plans the trailing days once a day until the context is canceled.
	Follow bool
	// Details selects the labels whose forms are fetched, and Images those whose images are also
	// fetched. Images requires ImageStore.
	Details, Images Choice
	ImageStore      Images
	// History marks the labels of all days as history, like ingest.Options.History.
	History bool
	// Interval is the minimum time between requests across all processes. Default: one second.
	Interval time.Duration
	// QuietHours is the time of day during which no requests are sent. When it begins, Run pauses
	// the requests of all processes.
	QuietHours QuietHours
	// Progress is called after every step, never concurrently. May be nil.
	Progress func(Progress)
	Logger   *slog.Logger // nil discards
	// Hold is the time after which others take over the work of a killed process. Default: two
	// minutes.
	Hold time.Duration
	// Backoff is the upper bound on the first wait after a failure. It doubles with each attempt,
	// up to MaxBackoff. Defaults: two seconds, five minutes.
	Backoff, MaxBackoff time.Duration
	// Now is the clock. Default: time.Now.
	Now func() time.Time
}

func (o *Options) setDefaults() {
	orDuration := func(d *time.Duration, value time.Duration) {
		if *d <= 0 {
			*d = value
		}
	}
	orDuration(&o.Interval, time.Second)
	orDuration(&o.Hold, 2*time.Minute)
	orDuration(&o.Backoff, 2*time.Second)
	orDuration(&o.MaxBackoff, 5*time.Minute)
	o.Details, o.Images = cmp.Or(o.Details, New), cmp.Or(o.Images, None)
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
}

const (
	// MaxAttempts is the number of attempts after which a day or label fails.
	MaxAttempts = 8
	// HistoryDays is the age, by completion date, beyond which labels are history. Alerts ignore
	// labels approved more than 90 days before the window of a run, which is at most a month long.
	HistoryDays = 120
	// trailingDays is how many past days Follow queries again. It is large enough that each day is
	// queried once after TTB has added the day's last labels.
	trailingDays = store.SettleDays + 1
	// refreshAfter is the age at which the result for a trailing day counts as outdated. A run
	// restarted within this time doesn't repeat requests.
	refreshAfter = 12 * time.Hour
	planEvery    = 24 * time.Hour
	// stopTimeout is how long a stopped run waits for the request in flight.
	stopTimeout = 30 * time.Second
	// maxStoreFailures is how many times in a row the database may be unavailable, except with
	// Follow. With MaxBackoff, that takes about an hour.
	maxStoreFailures = 30
	// downFailures is the number of failures in a row after which a probe checks whether the site
	// is down. If it is, the failure doesn't count as an attempt.
	downFailures = 5
	// maxSiteFailures is the number of failures in a row that ends a run without Follow while the
	// site is down. With MaxBackoff, that takes about an hour.
	maxSiteFailures = 30
	// maxFatals is the number of errors in a row, not caused by the site, that ends a run with
	// Follow. The next run starts after a wait, so that a broken database or image store costs few
	// requests.
	maxFatals = 5
)

// Report is the result of a run. It covers only this process.
type Report struct {
	Windows int // days and parts of days completed
	Labels  int // labels with stored pages
	Images  int // image files stored
	// MissingImages counts images that are missing from the site or damaged.
	MissingImages int
	Requests      int64
	ingest.Counts // rows of exports and pages
	// Rejections lists rejected rows and pages, at most 1,000.
	Rejections     []ingest.Rejection
	IncompleteDays int // incomplete days in the plan
	// Incomplete lists the latest incomplete windows of the plan, at most 20.
	Incomplete []store.IncompleteWindow
	// Failed lists labels that failed, at most 1,000.
	Failed []store.FailedLabel
}

// maxListed is the maximum length of each list in a report.
const maxListed = 1000

// collector is the state of one call to Run. Only Run's goroutine uses it.
type collector struct {
	o       Options
	st      Store
	site    *ttb.Client
	stop    context.Context // canceled at shutdown: no further requests
	ctx     context.Context // for the work, which may finish after a stop
	report  Report
	records *recorder

	failures   int        // failures in a row that the site may have caused
	fatals     int        // errors in a row that the site did not cause
	served     cola.TTBID // the label whose form the site served last, or 0
	loggedDown time.Time  // when the log last reported an outage
	progress   tracker
	quietUntil time.Time // the end of the latest quiet hours
	*process
}

// Run collects the labels of the planned days, until all are complete or, with Follow, until ctx is
// canceled. It first clears a block that an earlier run recorded, which also ends a pause. A pause
// without a block remains in effect. If ctx is canceled, Run finishes the request in flight,
// releases its claim and returns without an error. If the site blocks the collector, the error is a
// store.SiteBlockedError. The report is valid even with an error.
func Run(ctx context.Context, st Store, o Options) (Report, error) {
	o.setDefaults()
	return run(ctx, st, o, &process{})
}

// process is the state that the runs of a process share. After a failed run, the next one continues
// its plan and backlogs, so that it doesn't retry all failed labels.
type process struct {
	keepsBlock  bool // runs don't clear a block
	metrics     *metrics
	stale       staleness
	first, last cola.Date // first and last day of the plan
	nextPlan    time.Time
	backlogs    []*backlog // labels that lack data
	blocked     string     // why the site blocked the process, until the store has recorded it
}

// run is like Run, but shares the state of a process that may run several times.
func run(ctx context.Context, st Store, o Options, p *process) (Report, error) {
	work, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	defer cancel(nil)
	defer context.AfterFunc(ctx, func() {
		time.AfterFunc(stopTimeout, func() { cancel(context.Cause(ctx)) })
	})()
	c := &collector{o: o, st: st, stop: ctx, ctx: work, records: &recorder{st: st}, process: p}
	o.Site.Wait, o.Site.Logger = c.wait, o.Logger
	var err error
	if c.site, err = ttb.New(o.Site); err != nil {
		return c.report, err
	}
	if err = c.begin(); err == nil {
		err = c.work()
	}
	return c.report, errors.Join(err, c.finish(err))
}

// begin clears a block and plans the days if the plan is due. It first checks that images can be
// stored: otherwise, the requests for the first label would be wasted.
func (c *collector) begin() error {
	if err := c.checkImages(c.ctx); err != nil {
		return err
	}
	if !c.keepsBlock {
		status, err := c.st.FetchStatus(c.ctx)
		if err == nil && status.Blocked != "" { // without a block, keep pauses that others requested
			err = c.st.UnblockSite(c.ctx)
		}
		if err != nil {
			return err
		}
	}
	c.progress.started = time.Now()
	switch {
	case c.nextPlan.IsZero():
		c.backlogs = c.o.backlogs()
		if c.o.Images == All {
			c.backlogs = append(c.backlogs, &backlog{lost: true})
		}
	case c.o.Now().Before(c.nextPlan):
		return c.countPlanned()
	}
	return c.plan()
}

// checkImages fails if images are to be fetched but can't be stored.
func (c *collector) checkImages(ctx context.Context) error {
	if c.o.Images == None {
		return nil
	}
	if err := c.o.ImageStore.CheckWritable(ctx); err != nil {
		return fmt.Errorf("check the image store: %w", err)
	}
	return nil
}

// work runs steps until no work is left.
func (c *collector) work() error {
	unavailable := 0
	for c.stop.Err() == nil {
		more, err := c.step()
		switch {
		case errors.Is(err, store.ErrUnavailable) && (c.o.Follow || unavailable < maxStoreFailures):
			unavailable++
			c.o.Logger.Warn("waiting for the database", "error", err)
			c.sleep(c.o.backoff(unavailable))
			continue
		case err != nil || !more:
			return err
		}
		unavailable = 0
		c.progress.report(c)
	}
	return nil
}

// step does one unit of work, such as a window or a label, or waits briefly if none is due. more is
// false if no work is left.
func (c *collector) step() (more bool, err error) {
	if c.o.Follow && !c.o.Now().Before(c.nextPlan) {
		return true, c.plan()
	}
	quiet := c.quiet()
	if !quiet {
		window, err := c.st.ClaimWindow(c.ctx, c.earliest(), c.last, c.o.Hold)
		if !errors.Is(err, store.ErrNotFound) {
			if err == nil {
				err = c.window(window)
			}
			return true, err
		}
	}
	if err := c.recordImports(); err != nil {
		return true, err
	}
	if c.o.Details != None && !quiet {
		label, err := c.st.ClaimLabel(c.ctx, c.o.Images != None, c.o.Hold)
		if !errors.Is(err, store.ErrNotFound) {
			if err == nil {
				err = c.label(label)
			}
			return true, err
		}
	}
	return c.idle()
}

// quiet reports whether quiet hours are in effect. When they begin, it pauses the requests of all
// processes, so that the status shows the pause.
func (c *collector) quiet() bool {
	now := c.o.Now()
	until := c.o.QuietHours.Until(now)
	if until.IsZero() || until.Equal(c.quietUntil) {
		return !until.IsZero()
	}
	if err := c.st.PauseRequests(c.ctx, until.Sub(now)); err != nil {
		c.o.Logger.Warn("pausing requests failed", "error", err)
		return true
	}
	c.quietUntil = until
	c.o.Logger.Info("quiet hours: no requests", "until", until.Format(time.RFC3339))
	return true
}

// idle queues part of a backlog, or waits for work that is not due yet or that others have claimed.
// more is false if no work is left.
func (c *collector) idle() (more bool, err error) {
	open, err := c.st.CountWindows(c.ctx, c.earliest(), c.last, c.o.Now())
	if err != nil {
		return true, err
	}
	status, err := c.st.FetchStatus(c.ctx)
	if err != nil {
		return true, err
	}
	if status.Blocked != "" {
		return false, store.SiteBlockedError{Reason: status.Blocked}
	}
	pending := 0
	if c.o.Details != None {
		pending = status.Labels[store.FetchPending]
	}
	if c.o.Images != None {
		pending += status.ImagesDue
	}
	switch {
	case pending == 0 && len(c.backlogs) > 0:
		return true, c.queueBacklog()
	case open.Pending+pending > 0:
		wait := min(max(c.o.Interval, 50*time.Millisecond), 5*time.Second)
		if until := c.o.QuietHours.Until(c.o.Now()); !until.IsZero() {
			wait = min(until.Sub(c.o.Now()), c.o.poll())
		}
		c.sleep(wait)
	case !c.o.Follow:
		return false, nil
	default:
		c.sleep(min(time.Minute, c.nextPlan.Sub(c.o.Now())))
	}
	return true, nil
}

// recordImports records the imports so far if the planned windows are done or a day has passed.
// Call it when no window is due.
func (c *collector) recordImports() error {
	if !c.records.windows && !c.records.old() {
		return nil
	}
	counts, err := c.st.CountWindows(c.ctx, c.first, c.last, c.o.Now())
	if err != nil || counts.Pending > 0 && !c.records.old() {
		return err
	}
	return c.records.end(c.ctx, counts.Incomplete > 0)
}

// finish records the rest of the imports and completes the report. err is the run's error.
func (c *collector) finish(err error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(c.stop), stopTimeout)
	defer cancel()
	status, statusErr := c.st.FetchStatus(ctx)
	counts, countErr := c.st.CountWindows(ctx, c.first, c.last, c.o.Now())
	for _, w := range status.Incomplete {
		if c.first <= w.Day && w.Day <= c.last {
			c.report.Incomplete = append(c.report.Incomplete, w)
		}
	}
	c.report.IncompleteDays = counts.Incomplete
	c.progress.refreshed = time.Time{}
	c.progress.report(c)
	failed := err != nil || countErr != nil || counts.Pending+counts.Incomplete > 0
	return errors.Join(statusErr, countErr, c.records.end(ctx, failed))
}

// sleep waits for d, or until the run is stopped.
func (c *collector) sleep(d time.Duration) { sleep(c.stop, d) }
