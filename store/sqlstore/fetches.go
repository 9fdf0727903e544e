package sqlstore

import (
	"cmp"
	"context"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
	"github.com/colaregistry/colaregistry/store/records"
)

const (
	lockSite       = `SELECT last_request_at, spacing, paused_until, blocked_at, blocked_because FROM fetch_site WHERE only_row = TRUE FOR NO KEY UPDATE`
	reserveRequest = `UPDATE fetch_site SET requests = requests + 1, first_request_at = coalesce(first_request_at, $1), last_request_at = $1, spacing = $2
		WHERE only_row = TRUE`
	pauseRequests = `UPDATE fetch_site SET paused_until = greatest(coalesce(paused_until, ` + fetchClock + `), ` + fetchClock + ` + make_interval(secs => $2))
		WHERE only_row = TRUE`
	blockSite   = `UPDATE fetch_site SET blocked_at = ` + fetchClock + `, blocked_because = $2 WHERE only_row = TRUE AND blocked_at IS NULL`
	unblockSite = `UPDATE fetch_site SET blocked_at = NULL, blocked_because = NULL, paused_until = NULL,
		last_request_at = CASE WHEN last_request_at > ` + fetchClock + ` THEN ` + fetchClock + ` ELSE last_request_at END WHERE only_row = TRUE`
	recordFailure = `UPDATE fetch_site SET last_failure = $2, last_failure_at = ` + fetchClock + ` WHERE only_row = TRUE`

	selectSite = `SELECT requests, first_request_at, last_request_at, spacing, paused_until, blocked_because, blocked_at, last_failure, last_failure_at
		FROM fetch_site`
	countWindows    = `SELECT state, count(*) FROM fetch_windows WHERE ` + wholeDay + ` GROUP BY state`
	countLabels     = `SELECT state, count(*) FROM fetch_labels GROUP BY state`
	countWithImages = `SELECT count(*) FROM fetch_labels WHERE state = '` + store.FetchPending + `' AND images`
	countImagesDue  = `SELECT count(*) FROM fetch_labels WHERE state = '` + store.FetchImages + `' AND due_at <= ` + fetchClock
	daysOfStates    = `SELECT min(day) FILTER (WHERE ` + complete + `), max(day) FILTER (WHERE ` + complete + `),
		max(day) FILTER (WHERE total > 0 AND state <> '` + store.FetchSplit + `'),
		min(day) FILTER (WHERE state IN ('` + store.FetchPending + `', '` + store.FetchSplit + `')) FROM fetch_windows WHERE ` + wholeDay
	complete         = `state = '` + store.FetchComplete + `'`
	latestIncomplete = `SELECT day, class_from, class_to, failure FROM fetch_windows WHERE state = '` + store.FetchIncomplete + `' AND failure IS NOT NULL
		ORDER BY day DESC, class_from, class_to LIMIT 20`
	latestFailed = `SELECT ttb_id, failure FROM fetch_labels WHERE state = '` + store.FetchFailed + `' ORDER BY completed DESC NULLS LAST, ttb_id DESC LIMIT 20`
	countDays    = `SELECT count(*) FILTER (WHERE state IN ('` + store.FetchPending + `', '` + store.FetchSplit + `')),
		count(*) FILTER (WHERE state = '` + store.FetchComplete + `'),
		count(*) FILTER (WHERE state = '` + store.FetchIncomplete + `'),
		count(*) FILTER (WHERE state = '` + store.FetchComplete + `' AND completed_at < least(settled_at, $3))
		FROM fetch_windows WHERE day BETWEEN $1 AND $2 AND ` + wholeDay
)

// ReserveRequest implements store.Fetches. Slots only matter for the next few seconds, so the
// reservation need not survive a machine crash.
func (s *Store) ReserveRequest(ctx context.Context, interval time.Duration) (wait time.Duration, err error) {
	type site struct {
		last, pausedUntil, blockedAt time.Time
		spacing                      int64
		blocked                      string
	}
	micros := (max(interval, 0) + time.Microsecond - 1).Microseconds()
	err = s.db.TransactUnsynced(ctx, "reserve request", func(ctx context.Context, tx Tx) error {
		st, err := one(ctx, tx, func(s *site) []any {
			return []any{&s.last, &s.spacing, &s.pausedUntil, &s.blockedAt, &s.blocked}
		}, lockSite)
		if err != nil {
			return err
		}
		if !st.blockedAt.IsZero() {
			return store.SiteBlockedError{Reason: st.blocked}
		}
		now, err := s.currentTime(ctx, tx)
		if err != nil {
			return err
		}
		slot := now
		if !st.last.IsZero() {
			// A process that requested a longer interval also expects it after its own slot.
			slot = latest(slot, st.last.Add(time.Duration(max(micros, st.spacing))*time.Microsecond))
		}
		slot = latest(slot, st.pausedUntil)
		wait = slot.Sub(now)
		_, err = tx.Exec(ctx, reserveRequest, slot, micros)
		return err
	})
	if err != nil {
		return 0, err
	}
	return wait, nil
}

func latest(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// PauseRequests implements store.Fetches.
func (s *Store) PauseRequests(ctx context.Context, wait time.Duration) error {
	return s.affectOne(ctx, "pause requests", pauseRequests, s.clock, wait.Seconds())
}

// BlockSite implements store.Fetches. The first reason is kept until the site is unblocked.
func (s *Store) BlockSite(ctx context.Context, reason string) error {
	reason = cmp.Or(records.StorableText(reason), "no reason given")
	return ignoreNotFound(s.affectOne(ctx, "block site", blockSite, s.clock, reason))
}

// UnblockSite implements store.Fetches.
func (s *Store) UnblockSite(ctx context.Context) error {
	return s.affectOne(ctx, "unblock site", unblockSite, s.clock)
}

// recordFailure records the latest failure of a window or label. It locks the site's row until the
// transaction ends.
func (s *Store) recordFailure(ctx context.Context, tx Tx, failure string) error {
	_, err := tx.Exec(ctx, recordFailure, s.clock(), records.StorableText(failure))
	return err
}

// CountWindows implements store.Fetches.
func (s *Store) CountWindows(ctx context.Context, first, last cola.Date, before time.Time) (store.WindowCounts, error) {
	first, last = max(first, 1), min(last, store.LastDay)
	return readOne(ctx, s, "count windows", func(n *store.WindowCounts) []any {
		return []any{&n.Pending, &n.Complete, &n.Incomplete, &n.Stale}
	}, countDays, first, last, before)
}

// FetchStatus implements store.Fetches.
func (s *Store) FetchStatus(ctx context.Context) (status store.FetchStatus, err error) {
	err = s.db.View(ctx, "read collector state", func(q Querier) (err error) {
		var micros int64
		status, err = one(ctx, q, func(f *store.FetchStatus) []any {
			return []any{
				&f.Requests, &f.FirstRequest, &f.LastRequest, &micros, &f.PausedUntil, &f.Blocked, &f.BlockedAt,
				&f.LastFailure, &f.LastFailureAt,
			}
		}, selectSite)
		if err != nil {
			return err
		}
		status.Interval = time.Duration(micros) * time.Microsecond
		return s.readWork(ctx, q, &status)
	})
	if err != nil {
		return store.FetchStatus{}, err
	}
	return status, nil
}

// readWork reads the state of windows and labels.
func (s *Store) readWork(ctx context.Context, q Querier, status *store.FetchStatus) (err error) {
	if status.Windows, err = countStates(ctx, q, countWindows); err != nil {
		return err
	}
	if status.Labels, err = countStates(ctx, q, countLabels); err != nil {
		return err
	}
	if status.WithImages, err = value[int](ctx, q, countWithImages); err != nil {
		return err
	}
	if status.ImagesDue, err = value[int](ctx, q, countImagesDue, s.clock()); err != nil {
		return err
	}
	type days struct{ first, last, newest, pending cola.Date }
	d, err := one(ctx, q, func(d *days) []any { return []any{&d.first, &d.last, &d.newest, &d.pending} }, daysOfStates)
	if err != nil {
		return err
	}
	status.FirstDay, status.LastDay, status.NewestDay, status.OldestPending = d.first, d.last, d.newest, d.pending
	status.Incomplete, err = list(ctx, q, func(w *store.IncompleteWindow) []any {
		return []any{&w.Day, &w.Class.From, &w.Class.To, &w.Failure}
	}, latestIncomplete)
	if err != nil {
		return err
	}
	status.Failed, err = list(ctx, q, func(l *store.FailedLabel) []any { return []any{&l.TTBID, &l.Failure} }, latestFailed)
	return err
}

// countStates reads a count for each state.
func countStates(ctx context.Context, q Querier, query string) (map[string]int, error) {
	type count struct {
		state string
		n     int
	}
	all, err := list(ctx, q, func(c *count) []any { return []any{&c.state, &c.n} }, query)
	counts := make(map[string]int, len(all))
	for _, c := range all {
		counts[c.state] = c.n
	}
	return counts, err
}

func fetchWindowTable() Table {
	return table(store.ItemFetchWindow, "fetch_windows",
		"day, class_from, class_to, history, state, total, attempts, due_at, completed_at, settled_at, failure",
		`day, class_from COLLATE "C", class_to COLLATE "C"`, func(i *store.Item) []any {
			w := &i.FetchWindow
			return []any{
				&w.Day, &w.Class.From, &w.Class.To, &w.History, &w.State, &w.Total, &w.Attempts, &w.DueAt, &w.CompletedAt,
				&w.SettledAt, &w.Failure,
			}
		})
}

func fetchLabelTable() Table {
	return table(store.ItemFetchLabel, "fetch_labels",
		"ttb_id, completed, images, history, state, attempts, due_at, failure", "ttb_id", func(i *store.Item) []any {
			l := &i.FetchLabel
			return []any{&l.TTBID, &l.Completed, &l.Images, &l.History, &l.State, &l.Attempts, &l.DueAt, &l.Failure}
		})
}
