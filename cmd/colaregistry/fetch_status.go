package main

import (
	"fmt"
	"io"
	"math"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/collect"
	"github.com/colaregistry/colaregistry/internal/web"
	"github.com/colaregistry/colaregistry/store"
)

type fetchStatus struct {
	storeFlags
	quietFlags
	outputFlags
}

// Run prints the status.
func (c *fetchStatus) Run(env *environment) (err error) {
	st, err := c.openExisting(env)
	if err != nil {
		return err
	}
	defer closing(st, &err)
	status, err := st.FetchStatus(env)
	if err != nil {
		return err
	}
	references, err := st.ReferenceFetches(env)
	if err != nil {
		return err
	}
	now := time.Now()
	left := collect.Left(status, now, c.QuietHours)
	if !c.JSON {
		printFetchStatus(env.stdout, status, now, left)
		printReferenceStatus(env.stdout, references)
		return nil
	}
	shown := newFetchStatusJSON(status, now, left)
	shown.Reference = newReferenceJSON(references)
	return printJSON(env.stdout, shown)
}

// fetchStatusJSON is the output of fetch status --json (docs/OPERATIONS.md).
type fetchStatusJSON struct {
	Days           map[string]int      `json:"days"`        // by state
	FirstDay       cola.Date           `json:"first_day"`   // first complete day
	LastDay        cola.Date           `json:"last_day"`    // last complete day
	NewestDay      cola.Date           `json:"newest_day"`  // latest completion date of any label
	StaleSince     *time.Time          `json:"stale_since"` // null if the registry is current
	Labels         map[string]int      `json:"labels"`      // in the queue, by state
	Requests       int64               `json:"requests"`
	FirstRequestAt *time.Time          `json:"first_request_at"`
	LastRequestAt  *time.Time          `json:"last_request_at"`
	RateLimit      float64             `json:"rate_limit"`   // requests per second
	PausedUntil    *time.Time          `json:"paused_until"` // null if not paused
	SecondsLeft    int64               `json:"seconds_left"` // estimate
	Blocked        *string             `json:"blocked"`      // the reason; null if not blocked
	BlockedAt      *time.Time          `json:"blocked_at"`
	LastFailure    *string             `json:"last_failure"`
	LastFailureAt  *time.Time          `json:"last_failure_at"`
	Incomplete     []incompleteDayJSON `json:"incomplete"`
	FailedLabels   []failedLabelJSON   `json:"failed_labels"`
	Reference      []referenceJSON     `json:"reference"`
}

type incompleteDayJSON struct {
	Day       cola.Date `json:"day"`
	ClassFrom string    `json:"class_from"` // empty for all classes
	ClassTo   string    `json:"class_to"`
	Failure   string    `json:"failure"`
}

type failedLabelJSON struct {
	TTBID   cola.TTBID `json:"ttb_id"`
	Failure string     `json:"failure"`
}

func newFetchStatusJSON(s store.FetchStatus, now time.Time, left time.Duration) fetchStatusJSON {
	j := fetchStatusJSON{
		Days: map[string]int{}, FirstDay: s.FirstDay, LastDay: s.LastDay, NewestDay: s.NewestDay,
		StaleSince: orNil(s.StaleSince(now)), Labels: map[string]int{},
		Requests: s.Requests, FirstRequestAt: orNil(s.FirstRequest), LastRequestAt: orNil(s.LastRequest),
		RateLimit: requestRate(s.Interval), SecondsLeft: int64(left / time.Second),
		Blocked: orNil(s.Blocked), BlockedAt: orNil(s.BlockedAt),
		LastFailure: orNil(s.LastFailure), LastFailureAt: orNil(s.LastFailureAt),
		Incomplete: []incompleteDayJSON{}, FailedLabels: []failedLabelJSON{},
	}
	if s.PausedUntil.After(now) {
		j.PausedUntil = &s.PausedUntil
	}
	for _, state := range []string{store.FetchPending, store.FetchSplit, store.FetchComplete, store.FetchIncomplete} {
		j.Days[state] = s.Windows[state]
	}
	for _, state := range []string{store.FetchPending, store.FetchFailed, store.FetchImages} {
		j.Labels[state] = s.Labels[state]
	}
	for _, w := range s.Incomplete {
		j.Incomplete = append(j.Incomplete, incompleteDayJSON{w.Day, w.Class.From, w.Class.To, w.Failure})
	}
	for _, l := range s.Failed {
		j.FailedLabels = append(j.FailedLabels, failedLabelJSON(l))
	}
	return j
}

// orNil returns nil for a zero value, which is null in JSON.
func orNil[T comparable](v T) *T {
	var zero T
	if v == zero {
		return nil
	}
	return &v
}

// requestRate returns the requests per second. It rounds, because intervals are in microseconds.
func requestRate(interval time.Duration) float64 {
	if interval <= 0 {
		return 0
	}
	return math.Round(1000*float64(time.Second)/float64(interval)) / 1000
}

func printFetchStatus(w io.Writer, s store.FetchStatus, now time.Time, left time.Duration) {
	fmt.Fprintf(w, "days:         %s complete", web.Thousands(s.Windows[store.FetchComplete]))
	if s.FirstDay != 0 {
		fmt.Fprintf(w, " (%s to %s)", s.FirstDay, s.LastDay)
	}
	fmt.Fprintf(w, ", %s pending, %s incomplete\n",
		web.Thousands(s.Windows[store.FetchPending]+s.Windows[store.FetchSplit]), web.Thousands(s.Windows[store.FetchIncomplete]))
	if since := s.StaleSince(now); !since.IsZero() {
		newest := "there are no labels yet"
		if s.NewestDay != 0 {
			newest = "the newest completion date is " + s.NewestDay.String()
		}
		fmt.Fprintf(w, "stale:        since %s: %s\n", since.Format(time.DateOnly), newest)
	}
	fmt.Fprintf(w, "labels:       %s queued, %s failed",
		web.Thousands(s.Labels[store.FetchPending]), web.Thousands(s.Labels[store.FetchFailed]))
	if n := s.Labels[store.FetchImages]; n > 0 {
		fmt.Fprintf(w, ", %s with missing images", web.Thousands(n))
	}
	fmt.Fprintln(w)
	fmt.Fprintf(w, "requests:     %s", web.Thousands(s.Requests))
	if !s.LastRequest.IsZero() {
		which := "latest"
		if s.LastRequest.After(now) {
			which = "next"
		}
		fmt.Fprintf(w, ", %s at %s, limit %g per second", which, s.LastRequest.UTC().Format(time.DateTime), requestRate(s.Interval))
	}
	if s.PausedUntil.After(now) {
		fmt.Fprintf(w, "\npaused:       until %s", s.PausedUntil.UTC().Format(time.DateTime))
	}
	fmt.Fprintln(w)
	if left > 0 {
		fmt.Fprintf(w, "time left:    about %s\n", roughly(left))
	}
	if s.Blocked != "" {
		fmt.Fprintf(w, "blocked:      since %s: %s\n", s.BlockedAt.UTC().Format(time.DateTime), s.Blocked)
	}
	if s.LastFailure != "" {
		fmt.Fprintf(w, "last failure: %s: %s\n", s.LastFailureAt.UTC().Format(time.DateTime), s.LastFailure)
	}
	for _, day := range s.Incomplete {
		fmt.Fprintf(w, "incomplete:   %s\n", describeWindow(day))
	}
	for _, label := range s.Failed {
		fmt.Fprintf(w, "failed:       %s: %s\n", label.TTBID, label.Failure)
	}
}
