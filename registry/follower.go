package registry

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/search"
)

const (
	// A process's index may lag the store by pollInterval plus the time to index a batch.
	pollInterval = 250 * time.Millisecond
	// pollIntervalNotified applies if the store wakes the follower; polling covers lost wake-ups.
	pollIntervalNotified = time.Second
	// revisionTimeout is the time limit for revision lookups, which are fast unless the connection
	// is dead.
	revisionTimeout = 3 * time.Second
	// pollIntervalBusy applies after many labels arrive at once, as in an import: larger batches
	// cost less per label to index, and commits are still visible within two seconds.
	pollIntervalBusy = time.Second
	busyLabels       = 1_000
	// retryInterval applies after a failed read; meanwhile, the index serves older data.
	retryInterval = time.Second
	// snapshotIdleTime is how long the index must be unchanged before it is saved.
	snapshotIdleTime = 30 * time.Second
)

// FollowerOptions configures a Follower.
type FollowerOptions struct {
	Snapshot string           // path of the snapshot file; empty disables snapshots
	Progress func(labels int) // called during the first build; may be nil
	Built    func(Build)      // called once, when the service is ready; may be nil
}

// Build describes the first build of the index.
type Build struct {
	Labels   int
	Undated  int // labels without an effective date
	Took     time.Duration
	Restored bool // the index was restored from a snapshot
}

// Follower keeps a service's index and reference data up to date with the store: it builds them
// once, then polls the store's change sequence. It is the only writer of the index.
type Follower struct {
	service       *Service
	options       FollowerOptions
	saved         search.Marks // marks of the snapshot file
	changed       time.Time    // when the index last changed
	restored      bool         // the index comes from the snapshot
	complete      bool         // the index has caught up with the store once
	reportedBuilt bool         // options.Built was called
	failing       bool         // the latest sync failed
}

// NewFollower returns a follower for a service.
func NewFollower(s *Service, o FollowerOptions) *Follower {
	if o.Progress == nil {
		o.Progress = func(int) {}
	}
	if o.Built == nil {
		o.Built = func(Build) {}
	}
	return &Follower{service: s, options: o}
}

// Run builds the index, makes the service ready, and follows the store until the context is
// canceled; then it saves the snapshot. It retries after failures: while the store is unreachable,
// the service returns older data.
func (f *Follower) Run(ctx context.Context) error {
	start := time.Now()
	f.restored = f.restore()
	for p := (pollPause{}); f.wait(ctx, p); {
		labels, err := f.sync(ctx)
		if ctx.Err() != nil {
			break
		}
		f.service.followed.finished(err)
		f.logOutcome(err)
		p = f.pauseAfter(labels, err)
		if err != nil {
			continue
		}
		if f.service.ready.Store(true); !f.reportedBuilt {
			f.reportedBuilt = true
			stats := f.service.index.View().Stats()
			f.options.Built(Build{
				Labels:   stats.Labels,
				Undated:  stats.Undated,
				Took:     time.Since(start),
				Restored: f.restored,
			})
		}
		f.saveWhenIdle()
	}
	return f.save()
}

// logOutcome logs the first failed sync, and the first successful one after that.
func (f *Follower) logOutcome(err error) {
	switch {
	case err != nil && !f.failing:
		f.service.log.Error("index sync failed; retrying every second", "error", err)
	case err == nil && f.failing:
		f.service.log.Info("index sync recovered")
	}
	f.failing = err != nil
}

// pollPause is the pause between two polls.
type pollPause struct {
	timeout       time.Duration
	ignoreWakeups bool // wait for the full timeout
}

func (f *Follower) pauseAfter(labels int, err error) pollPause {
	switch {
	case err != nil:
		return pollPause{retryInterval, true}
	case labels >= busyLabels:
		return pollPause{pollIntervalBusy, true}
	case f.service.store.Wakeups() != nil:
		return pollPause{pollIntervalNotified, false}
	}
	return pollPause{pollInterval, false}
}

// wait waits for the next poll. It returns false if the context was canceled.
func (f *Follower) wait(ctx context.Context, p pollPause) bool {
	wakeups := f.service.store.Wakeups()
	if p.ignoreWakeups {
		wakeups = nil
	}
	select {
	case <-ctx.Done():
		return false
	case <-wakeups:
	case <-time.After(p.timeout):
	}
	return ctx.Err() == nil
}

// restore loads the snapshot. A snapshot that is damaged or from another database is ignored, and
// the index is built from the store.
func (f *Follower) restore() bool {
	if f.options.Snapshot == "" {
		return false
	}
	marks, err := f.service.index.Restore(f.options.Snapshot, f.service.store.ID())
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			f.service.log.Warn("index snapshot unusable; building from the database", "error", err)
		}
		return false
	}
	f.saved = marks
	return true
}

// sync updates the index and the reference data from the store and returns the number of changed
// labels.
func (f *Follower) sync(ctx context.Context) (labels int, err error) {
	latest, err := f.latestRevision(ctx)
	if err != nil {
		return 0, err
	}
	marks := f.service.index.View().Marks()
	f.service.followed.sawRevision(latest, marks, time.Now())
	if f.complete && latest == marks.Labels && latest == marks.Permittees && latest == marks.References {
		return 0, nil
	}
	if labels, err = f.update(ctx, marks, latest); errors.Is(err, errRolledBack) {
		return f.rebuild(ctx)
	}
	return labels, err
}

func (f *Follower) latestRevision(ctx context.Context) (cola.Revision, error) {
	ctx, cancel := context.WithTimeout(ctx, revisionTimeout)
	defer cancel()
	latest, err := f.service.store.Revision(ctx)
	if err != nil {
		return 0, fmt.Errorf("read revision: %w", err)
	}
	return latest, nil
}

// update reads the changes since marks and publishes them. Labels are read before permittees: a
// permittee is written with its first label, so every label read has its permittee. It returns the
// number of changed labels, and fails with errRolledBack if the database was rolled back.
func (f *Follower) update(ctx context.Context, marks search.Marks, latest cola.Revision) (labels int, err error) {
	st := f.service.store
	u := f.service.index.Begin()
	defer func() {
		if err != nil {
			u.Abort()
		}
	}()
	next := search.Marks{}
	next.Labels, err = st.ColasSince(ctx, marks.Labels, func(r *cola.IndexRecord) error {
		u.Label(r)
		if labels++; labels%100_000 == 0 && !f.complete {
			f.options.Progress(labels)
		}
		return nil
	})
	if err != nil {
		return labels, fmt.Errorf("read changed labels: %w", err)
	}
	next.Permittees, err = st.PermitteesSince(ctx, marks.Permittees, func(p *cola.Permittee) error {
		u.Permittee(p)
		return nil
	})
	if err != nil {
		return labels, fmt.Errorf("read changed permittees: %w", err)
	}
	if next.References, err = f.updateReferences(ctx, u, marks.References); err != nil {
		return labels, err
	}
	// All records share one revision sequence, so each part is complete up to latest.
	next.Labels = max(next.Labels, latest)
	next.Permittees = max(next.Permittees, latest)
	next.References = max(next.References, latest)
	if err := f.checkRollback(ctx, marks, next); err != nil {
		return labels, err
	}
	if err := u.Commit(next); err != nil {
		return labels, fmt.Errorf("publish index: %w", err)
	}
	f.complete, f.changed = true, time.Now()
	f.service.followed.applied(next, labels, f.changed)
	return labels, nil
}

// updateReferences reloads the reference data if any of it changed or it has not been loaded yet.
func (f *Follower) updateReferences(ctx context.Context, u *search.Update, current cola.Revision) (cola.Revision, error) {
	st := f.service.store
	revision, err := st.ReferenceRevision(ctx)
	if err != nil {
		return 0, fmt.Errorf("read reference revision: %w", err)
	}
	if current > 0 && revision <= current && f.service.references.Load() != nil {
		return current, nil
	}
	sets, err := st.AllReferences(ctx)
	if err != nil {
		return 0, fmt.Errorf("read reference data: %w", err)
	}
	u.Aliases(sets.CategoryAliases)
	u.Appellations(cola.NewAppellations(sets.AVAs))
	f.service.references.Store(&sets)
	return sets.Revision, nil
}

// saveWhenIdle saves the snapshot once the index has been unchanged for snapshotIdleTime.
func (f *Follower) saveWhenIdle() {
	if time.Since(f.changed) < snapshotIdleTime {
		return
	}
	if err := f.save(); err != nil {
		f.service.log.Warn("saving the index snapshot failed", "error", err)
		f.changed = time.Now() // retry after snapshotIdleTime
	}
}

func (f *Follower) save() error {
	marks := f.service.index.View().Marks()
	if f.options.Snapshot == "" || !f.complete || marks == f.saved {
		return nil
	}
	if err := f.service.index.Save(f.options.Snapshot, f.service.store.ID()); err != nil {
		return fmt.Errorf("save index snapshot: %w", err)
	}
	f.saved = marks
	return nil
}

// errRolledBack means that the database has lost revisions that the index contains, or was about
// to contain.
var errRolledBack = errors.New("the database was rolled back")

// checkRollback fails with errRolledBack unless the store still has every revision that the index
// contains or is about to contain. Revisions disappear if a backup is restored, or a standby
// without the latest commits takes over. Comparing the latest revisions is not enough: new commits
// may already have raised the store's latest revision above the index's. Call it after all reads,
// so that a rollback between them is detected.
func (f *Follower) checkRollback(ctx context.Context, marks ...search.Marks) error {
	var revisions []cola.Revision
	for _, m := range marks {
		revisions = append(revisions, m.Labels, m.Permittees, m.References)
	}
	slices.Sort(revisions)
	ctx, cancel := context.WithTimeout(ctx, revisionTimeout)
	defer cancel()
	for _, rev := range slices.Compact(revisions) {
		has, err := f.service.store.HasRevision(ctx, rev)
		if err != nil {
			return fmt.Errorf("look up revision: %w", err)
		}
		if !has {
			return errRolledBack
		}
	}
	return nil
}

// rebuild builds the index from scratch. The service is not ready until it is done, because an
// almost empty index would return wrong results.
func (f *Follower) rebuild(ctx context.Context) (labels int, err error) {
	f.service.log.Warn("the database was replaced or rolled back; rebuilding the index")
	f.service.ready.Store(false)
	f.restored, f.complete = false, false
	f.service.index.Reset()
	latest, err := f.latestRevision(ctx)
	if err != nil {
		return 0, err
	}
	return f.update(ctx, search.Marks{}, latest)
}
