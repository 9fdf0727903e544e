package alerts

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

const (
	// tickInterval is the longest pause between ticks. Schedules have a resolution of one hour.
	tickInterval = time.Minute
	// pollInterval is the pause between checks for due searches. It is short because the checks are
	// cheap and account holders wait for the manual runs that they request.
	pollInterval = 5 * time.Second
	// maxStartDelay is the maximum random delay of the first tick.
	maxStartDelay = 20 * time.Second
)

// Scheduler calls Runner.Tick periodically. Each server process runs one, and they share the work.
type Scheduler struct {
	Runner *Runner
	Now    func() time.Time
	Logger *slog.Logger
}

// Run ticks every minute, and within five seconds of a search becoming due, until the context ends,
// which also ends a running tick. It starts after a random delay of up to 20 seconds, so that
// processes started together don't tick together. It logs only the first of consecutive failures.
func (s *Scheduler) Run(ctx context.Context) {
	failing := false
	var last time.Time
	for wait := rand.N(maxStartDelay); sleep(ctx, wait); wait = pollInterval {
		now := s.Now()
		if now.Sub(last) < tickInterval && (failing || !s.due(ctx, now)) {
			continue
		}
		last = now
		_, err := s.Runner.Tick(ctx, now)
		if ctx.Err() != nil {
			return
		}
		switch {
		case err != nil && !failing:
			s.Logger.Error("running saved searches failed; retrying every minute", "error", err)
		case err == nil && failing:
			s.Logger.Info("saved searches are running again")
		}
		failing = err != nil
	}
}

// due reports whether a search can be claimed. After an error it returns false: the next tick
// reports the error.
func (s *Scheduler) due(ctx context.Context, now time.Time) bool {
	has, err := s.Runner.store.HasDue(ctx, now)
	return err == nil && has
}

// sleep waits for d. It returns false if ctx ends first.
func sleep(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}

// Tick runs the saved searches that are due at now, until no unclaimed ones are left. A failing
// search doesn't delay others. If the database is unavailable or the context ends, Tick releases
// the claims of searches that were not recorded; the report covers the work done so far. Calling
// Tick again is always safe.
func (r *Runner) Tick(ctx context.Context, now time.Time) (Report, error) {
	started := time.Now()
	t := &tick{Runner: r, now: now.UTC()}
	defer func() { t.labels.close() }()
	err := t.runDue(ctx)
	if err == nil {
		t.report.NextDueAt, err = r.nextDue(ctx)
	}
	r.metrics.ticked(&t.report, err, time.Since(started))
	if t.report.completed()+t.report.Released > 0 {
		r.log.Info("saved searches ran", "runs", t.report.Runs, "matches", t.report.Matches, "late", t.report.Late,
			"missed", t.report.Missed, "released", t.report.Released,
			"failed", t.report.Failed, "labels", t.report.Labels,
			"took", time.Since(started).Round(time.Millisecond))
	}
	return t.report, err
}

func (r *Runner) nextDue(ctx context.Context) (time.Time, error) {
	due, err := r.store.NextDue(ctx)
	if err != nil {
		return time.Time{}, fmt.Errorf("find the next due search: %w", err)
	}
	r.metrics.nextDue(due)
	return due, nil
}

// tick is one call to Tick.
type tick struct {
	*Runner
	now    time.Time
	labels *candidates // loaded when a search needs it
	report Report
}

// runDue claims and runs batches until no search is due.
func (t *tick) runDue(ctx context.Context) error {
	for {
		claimed, err := t.store.ClaimDue(ctx, t.now, t.batch, t.hold)
		if err != nil {
			return fmt.Errorf("claim due searches: %w", err)
		}
		before := t.report
		if err := t.run(ctx, claimed); err != nil {
			return err
		}
		// Searches that are changed continuously could be claimed forever; leave them for the next
		// tick.
		progress := t.report.Runs > before.Runs || t.report.Failed > before.Failed
		if len(claimed) < t.batch || !progress {
			return nil
		}
	}
}

// run runs claimed searches. On error, it releases the remaining ones.
func (t *tick) run(ctx context.Context, claimed []store.DueSearch) error {
	for left := claimed; len(left) > 0; {
		before := t.report.completed()
		n, records, err := t.match(ctx, left)
		if err == nil {
			err = t.record(ctx, records)
		}
		if err != nil {
			t.release(ctx, left, len(left)-(t.report.completed()-before))
			return err
		}
		left = left[n:]
	}
	return nil
}

// completed returns how many searches have an outcome.
func (r *Report) completed() int { return r.Runs + r.Missed + r.Failed }

// match computes the runs of the first n claimed searches, as many as one transaction may record.
func (t *tick) match(ctx context.Context, claimed []store.DueSearch) (n int, records []store.RunRecord, err error) {
	matches := 0
	for n < len(claimed) && len(records) < maxRunsPerRecord && matches < maxMatchesPerRecord {
		if err := ctx.Err(); err != nil {
			return n, nil, err
		}
		d := &claimed[n]
		n++
		if err := t.ensureCandidates(ctx, d, claimed); err != nil {
			return n, nil, err
		}
		record, err := t.runOf(d)
		if err != nil {
			t.postpone(ctx, d, err)
			continue
		}
		records, matches = append(records, record), matches+len(record.Matches)
	}
	return n, records, nil
}

// ensureCandidates reads the candidates for all claimed searches, unless the current ones cover
// search d.
func (t *tick) ensureCandidates(ctx context.Context, d *store.DueSearch, claimed []store.DueSearch) error {
	if d.Fault != nil || t.labels.covers(windowOf(d.Mark, t.now)) {
		return nil
	}
	since := cola.DateOf(t.now).AddDays(-usualWindow)
	for i := range claimed {
		since = min(since, windowOf(claimed[i].Mark, t.now).Late)
	}
	since = readFrom(cola.DateOf(t.now), since)
	if t.labels != nil {
		since = min(since, t.labels.since)
	}
	labels, err := readCandidates(ctx, t.store, since)
	if err != nil {
		return err
	}
	t.labels.close()
	t.labels, t.report.Labels = labels, len(labels.arrived)
	return nil
}

// errAhead is the error for a search whose mark is beyond the latest revision, which doesn't happen
// in an intact database.
var errAhead = errors.New("the last revision that the search covered is ahead of the database's latest revision; the database may have been restored from an older backup")

// runOf computes the run of a search.
func (t *tick) runOf(d *store.DueSearch) (r store.RunRecord, err error) {
	if d.Fault != nil {
		return r, d.Fault
	}
	w := windowOf(d.Mark, t.now)
	if !t.labels.covers(w) {
		return r, errAhead
	}
	next, err := nextRun(d.Search.Schedule, t.now)
	if err != nil {
		return r, err
	}
	r = store.RunRecord{
		Due: *d, Mark: markAfter(d.Mark, t.now, t.labels.upto), Next: next, From: w.From, To: w.To,
		Manual: isManual(d.Search.Schedule, t.now), MaxNamedPerAccount: cola.MaxDailyMessageLabels,
	}
	if !r.Manual {
		r.MaxNamed = cola.MaxMessageLabels
	}
	r.Matches, err = t.labels.match(d.Search.Filters, w)
	return r, err
}

// isManual reports whether a run at now is manual: the search has no active schedule, or none of
// its scheduled times fell between its due time and now. Only scheduled runs include labels in
// messages.
func isManual(schedule *cola.Schedule, now time.Time) bool {
	if schedule == nil || !schedule.Active || !schedule.NextRunAt.OK {
		return true
	}
	due := schedule.NextRunAt.V.Time()
	scheduled := schedule.Next(due.Add(-time.Microsecond)) // due itself, unless a manual run was requested earlier
	return scheduled.IsZero() || scheduled.After(now)
}

// nextRun returns the time of the next run, or zero if the search has no active schedule.
func nextRun(schedule *cola.Schedule, now time.Time) (cola.Timestamp, error) {
	if schedule == nil || !schedule.Active {
		return 0, nil
	}
	next := schedule.Next(now)
	if next.IsZero() {
		return 0, fmt.Errorf("invalid schedule: %s on day %d", schedule.Cadence, schedule.Day)
	}
	return cola.TimestampOf(next), nil
}

// postpone extends the claim of a failed search, for longer after each failure, so that the search
// doesn't flood the log. The search keeps its mark. If postponing fails, the claim is unchanged.
func (t *tick) postpone(ctx context.Context, d *store.DueSearch, reason error) {
	t.report.Failed++
	after, err := t.store.Postpone(ctx, *d, t.postponement)
	switch {
	case errors.Is(err, store.ErrNotFound):
		t.log.Error("running a saved search failed; it has since changed or been taken over",
			"account", d.Account, "search", d.Search.UUID, "error", reason)
		return
	case err != nil:
		after, reason = t.hold, errors.Join(reason, fmt.Errorf("postpone: %w", err))
	}
	t.log.Error("running a saved search failed; retrying later",
		"account", d.Account, "search", d.Search.UUID, "after", after, "error", reason)
}

// postponement returns the pause after a number of consecutive failures. It doubles with each
// failure, up to maxHold or r.hold, whichever is longer.
func (r *Runner) postponement(failures int) time.Duration {
	wait, limit := r.hold, max(r.hold, maxHold)
	for range failures - 1 {
		wait *= 2
		if wait >= limit {
			return limit
		}
	}
	return wait
}

// record records runs. If that fails even though the database is available, it records the
// remaining runs one by one.
func (t *tick) record(ctx context.Context, records []store.RunRecord) error {
	if len(records) == 0 {
		return nil
	}
	outcomes, err := t.store.RecordRuns(ctx, records)
	t.count(outcomes)
	left := records[len(outcomes):]
	switch {
	case err == nil && len(left) == 0:
		return nil
	case err == nil:
		return fmt.Errorf("record runs: the store returned %d outcomes for %d runs", len(outcomes), len(records))
	case ctx.Err() != nil || errors.Is(err, store.ErrUnavailable):
		return fmt.Errorf("record runs: %w", err)
	case len(records) == 1:
		t.postpone(ctx, &records[0].Due, fmt.Errorf("record run: %w", err))
		return nil
	}
	for i := range left {
		if err := t.record(ctx, left[i:i+1]); err != nil {
			return err
		}
	}
	return nil
}

func (t *tick) count(outcomes []store.RunOutcome) {
	for _, o := range outcomes {
		if !o.Recorded {
			t.report.Missed++
			continue
		}
		t.report.Runs++
		t.report.Matches += o.New
		t.report.Late += o.Late
	}
}

// release releases claimed searches, even if the context is canceled. If that fails, the claims
// will expire. held is how many of the searches are still claimed.
func (t *tick) release(ctx context.Context, claimed []store.DueSearch, held int) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseTimeout)
	defer cancel()
	if err := t.store.ReleaseDue(ctx, claimed); err != nil {
		t.log.Warn("releasing claimed searches failed; the claims will expire",
			"searches", held, "after", t.hold, "error", err)
		return
	}
	t.report.Released += held
}
