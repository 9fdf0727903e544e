package main

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/collect"
	"github.com/colaregistry/colaregistry/internal/web"
	"github.com/colaregistry/colaregistry/store"
	"github.com/colaregistry/colaregistry/store/images"
)

type fetchCommand struct {
	TTB       fetchTTB       `cmd:"" name:"ttb" help:"Fetch labels from TTB's Public COLA Registry."`
	Reference fetchReference `cmd:"" help:"Fetch permit lists, production statistics, processing times and AVAs."`
	Status    fetchStatus    `cmd:"" help:"Show complete days, queued labels and failures."`
	Resume    fetchResume    `cmd:"" help:"Clear a block imposed by the site and resume requests."`
}

type fetchTTB struct {
	storeFlags
	imageFlags
	logFlags
	collectorFlags
	From    cola.Date `env:"COLAREGISTRY_FETCH_FROM" placeholder:"DATE" help:"First completion date to fetch, such as 2026-11-01. Required without --follow."`
	To      cola.Date `env:"COLAREGISTRY_FETCH_TO" placeholder:"DATE" xor:"end" help:"Last completion date to fetch (default: today)."`
	Follow  bool      `env:"COLAREGISTRY_FETCH_FOLLOW" xor:"end" help:"Fetch the most recent days once a day until stopped. In between, fetch the labels chosen by --details."`
	History bool      `env:"COLAREGISTRY_FETCH_HISTORY" help:"Import the labels as history, so that they don't trigger alerts. Labels fetched into an empty registry, or with a completion date more than 120 days ago, are always imported as history."`
	DryRun  bool      `env:"COLAREGISTRY_FETCH_DRY_RUN" help:"Print the plan without sending a request."`
}

// Validate checks the flags. Kong calls it after parsing.
func (c *fetchTTB) Validate() error {
	today := cola.DateOf(time.Now())
	switch err := c.check("--"); {
	case err != nil:
		return err
	case c.From == 0 && !c.Follow:
		return errors.New("--from is required without --follow")
	case c.From != 0 && c.From < collect.EarliestDay:
		return fmt.Errorf("--from must not be before %s", collect.EarliestDay)
	case c.From > today || c.To > today:
		return errors.New("--from and --to must not be in the future")
	case c.To != 0 && c.To < c.From:
		return errors.New("--to must not be before --from")
	}
	return c.checkImages()
}

// runOptions returns the options for the run.
func (c *fetchTTB) runOptions() collect.Options {
	o := c.options()
	o.First, o.Last, o.Follow, o.History = c.From, c.To, c.Follow, c.History
	if o.Last == 0 {
		o.Last = cola.DateOf(time.Now())
	}
	return o
}

// longPlan is the duration above which Run prints the plan before starting.
const longPlan = time.Hour

// Run fetches the labels and prints the report.
func (c *fetchTTB) Run(env *environment) (err error) {
	o := c.runOptions()
	if c.DryRun {
		return c.dryRun(env, o)
	}
	if err := c.requireImageStore("--", c.storeFlags, c.imageFlags); err != nil {
		return err
	}
	st, err := c.open(env, nil)
	if err != nil {
		return err
	}
	defer closing(st, &err)
	if err := requireNoDemo(env, st); err != nil {
		return err
	}
	plan, err := collect.PlanOf(env, st, o)
	if err != nil {
		return err
	}
	if plan.Duration > longPlan {
		c.printPlan(env.stderr, plan)
	}
	bar := newFetchProgress(env.stderr, &c.logFlags)
	defer bar.end()
	c.warnRate(bar.log)
	o.Logger, o.Progress = bar.log, bar.set
	if c.Images != collect.None {
		env.log = bar.log
		var files *images.Store
		if files, err = c.openImages(env, c.storeFlags, 1); err != nil {
			return err
		}
		defer closing(files, &err)
		o.ImageStore = &collect.LabelImages{Store: st, Files: files, Now: time.Now, Logger: bar.log}
	}
	report, err := collect.Run(env, st, o)
	bar.end()
	printFetchReport(env.stdout, &report)
	switch blocked := (store.SiteBlockedError{}); {
	case errors.As(err, &blocked):
		printBlocked(env.stderr, blocked)
		return exitError(exitBlocked)
	case err != nil:
		return err
	case env.Err() != nil:
		fmt.Fprintln(env.stderr, "Stopped. Run the command again to continue.")
		return nil
	}
	return printFetchFailures(env.stderr, &report)
}

// requireNoDemo fails if a registry has demo labels. Their IDs look like real ones, so a fetched
// label may end up with a demo label's fields.
func requireNoDemo(env *environment, st store.ImageFiles) error {
	demo, err := st.HasDrawnImages(env)
	if err == nil && demo {
		err = errors.New("this registry has demo labels, which would mix with real ones; use a new data directory, such as --data-dir real")
	}
	return err
}

// dryRun prints the plan. It creates no database.
func (c *fetchTTB) dryRun(env *environment, o collect.Options) (err error) {
	p, err := c.place()
	if err != nil {
		return err
	}
	exists, err := p.exists(env)
	if err != nil {
		return err
	}
	var st collect.Store
	if exists {
		opened, err := p.openCurrent(env, nil)
		if err != nil {
			return err
		}
		defer closing(opened, &err)
		if err := requireNoDemo(env, opened); err != nil {
			return err
		}
		st = opened
	}
	plan, err := collect.PlanOf(env, st, o)
	if err != nil {
		return err
	}
	c.printPlan(env.stdout, plan)
	return nil
}

func (c *fetchTTB) printPlan(w io.Writer, p collect.Plan) {
	fmt.Fprintf(w, "days:     %s to fetch (%s to %s)\n", web.Thousands(p.Days), p.First, p.Last)
	if p.Stored+p.New > 0 {
		fmt.Fprintf(w, "labels:   %s known, about %s expected for these days\n", web.Thousands(p.Stored), web.Thousands(p.New))
	}
	if p.Images > 0 {
		fmt.Fprintf(w, "images:   about %s, %.1f GB\n", web.Thousands(p.Images), float64(p.Images)*collect.ImageBytes/1e9)
	}
	fmt.Fprintf(w, "requests: about %s\n", web.Thousands(p.Requests))
	fmt.Fprintf(w, "time:     about %s at %g per second", roughly(p.Duration), c.Rate)
	if hours := c.QuietHours.String(); hours != "" {
		fmt.Fprintf(w, ", outside %s UTC", hours)
	}
	fmt.Fprintln(w)
}

// roughly formats a duration, rounded to one unit.
func roughly(d time.Duration) string {
	const day = 24 * time.Hour
	switch {
	case d >= 2*day:
		return fmt.Sprintf("%d days", (d+day/2)/day)
	case d >= 2*time.Hour:
		return fmt.Sprintf("%d hours", (d+time.Hour/2)/time.Hour)
	case d >= 2*time.Minute:
		return fmt.Sprintf("%d minutes", (d+time.Minute/2)/time.Minute)
	}
	return fmt.Sprintf("%d seconds", (d+time.Second/2)/time.Second)
}

// maxPrinted is the maximum number of rejected rows, and of failed labels, that are printed.
const maxPrinted = 20

// printFetchReport prints the rejected rows and two lines of counts for scripts.
func printFetchReport(w io.Writer, r *collect.Report) {
	for _, rejected := range r.Rejections[:min(len(r.Rejections), maxPrinted)] {
		fmt.Fprintf(w, "rejected: %s\n", rejected)
	}
	fmt.Fprintf(w, "read=%d added=%d changed=%d unchanged=%d rejected=%d\n", r.Read, r.Added, r.Changed, r.Unchanged, r.Rejected)
	fmt.Fprintf(w, "windows=%d incomplete=%d labels=%d failed=%d images=%d missing=%d requests=%d\n",
		r.Windows, r.IncompleteDays, r.Labels, len(r.Failed), r.Images, r.MissingImages, r.Requests)
}

// printFetchFailures prints the incomplete days, the failed labels, and how to retry them.
func printFetchFailures(w io.Writer, r *collect.Report) error {
	if r.IncompleteDays == 0 && len(r.Failed) == 0 {
		return nil
	}
	for _, day := range r.Incomplete {
		fmt.Fprintf(w, "incomplete: %s\n", describeWindow(day))
	}
	for _, label := range r.Failed[:min(len(r.Failed), maxPrinted)] {
		fmt.Fprintf(w, "failed: %s: %s\n", label.TTBID, label.Failure)
	}
	fmt.Fprintln(w, "To retry incomplete days and failed labels, run the command again.")
	return exitError(exitFailed)
}

func describeWindow(w store.IncompleteWindow) string {
	if w.Class == (store.ClassRange{}) {
		return fmt.Sprintf("%s: %s", w.Day, w.Failure)
	}
	return fmt.Sprintf("%s, classes %s to %s: %s", w.Day, w.Class.From, w.Class.To, w.Failure)
}

func printBlocked(w io.Writer, blocked store.SiteBlockedError) {
	fmt.Fprintf(w, `colaregistry: TTB's site is refusing requests: %s
All collectors have stopped. Completed work is stored. Wait a few hours, lower --rate, and run the command again.
If it happens again, ask TTB for permission and include your contact address.
`, blocked.Reason)
}

// fetchProgress shows a bar on a terminal. Elsewhere it logs a line a minute.
type fetchProgress struct {
	bar    *progress // nil if the output is not interactive
	log    *slog.Logger
	logged time.Time
}

const logEvery = time.Minute

func newFetchProgress(w io.Writer, flags *logFlags) *fetchProgress {
	if !interactive(w) {
		return &fetchProgress{log: flags.logger(w)}
	}
	bar := newProgress(w, "Fetching", "days and labels")
	return &fetchProgress{bar: bar, log: flags.logger(bar.bars)} // log lines appear above the bar
}

func (f *fetchProgress) set(p collect.Progress) {
	if f.bar != nil {
		done := p.Windows + p.Labels
		activity := fmt.Sprintf("%.1f requests/s", p.Rate)
		if !p.QuietUntil.IsZero() {
			activity = "quiet until " + p.QuietUntil.Format("15:04") + " UTC"
		}
		f.bar.show(int64(done), int64(max(done, p.WindowsTotal+p.Labels+p.LabelsQueued)),
			fmt.Sprintf("%s, %s left", activity, roughly(p.Left)))
		return
	}
	if time.Since(f.logged) >= logEvery {
		f.logged = time.Now()
		line := []any{
			"days", p.Windows, "of", p.WindowsTotal, "labels", p.Labels, "queued", p.LabelsQueued,
			"requests", p.Requests, "rate", math.Round(p.Rate*10) / 10, "left", roughly(p.Left),
		}
		if !p.QuietUntil.IsZero() {
			line = append(line, "quiet_until", p.QuietUntil.Format(time.RFC3339))
		}
		f.log.Info("progress", line...)
	}
}

func (f *fetchProgress) end() {
	if f.bar != nil {
		f.bar.end()
		f.bar = nil
	}
}
