package alerts

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/cola/vocabulary"
	"github.com/colaregistry/colaregistry/store"
)

// fakeStore is an in-memory Store. It records every state of every label, so that tests can compute
// the expected matches of a run.
type fakeStore struct {
	mu       sync.Mutex
	clock    time.Time // the database's clock
	revision cola.Revision
	labels   map[cola.TTBID]*fakeLabel
	searches map[string]*fakeSearch
	recorded []fakeRun
	aliases  []vocabulary.CategoryAlias
	reads    int // number of ArrivedSince calls

	// before and after, if set, run before and after every call. If one returns an error, the call
	// fails with that error. A call that fails in before has no effect; one that fails in after has
	// already taken effect.
	before, after func(call string) error
	recording     map[string]bool // searches in the current RecordRuns call
}

var _ Store = (*fakeStore)(nil)

// fakeLabel is a label with its history of states.
type fakeLabel struct {
	states    []fakeState // oldest first
	history   bool        // its first date came from a bulk load
	arrived   cola.Revision
	arrivedAt time.Time
}

type fakeState struct {
	revision cola.Revision
	label    cola.IndexRecord
	arrived  cola.Revision // revision of its latest arrival; 0 if it has not arrived
}

type fakeSearch struct {
	number       int
	since        cola.Revision // revision at creation
	search       cola.SavedSearch
	mark         store.Mark
	claim        int64 // ID of the latest claim
	claimedUntil time.Time
	seen         map[cola.TTBID]bool
	fault        error
	failures     int       // consecutive failures
	requested    time.Time // time of the pending requested run, if any
}

// due returns when the search is due, by schedule or by request, or zero if it is not.
func (s *fakeSearch) due() time.Time {
	schedule := s.search.Schedule
	if schedule == nil || !schedule.NextRunAt.OK {
		return s.requested
	}
	if next := schedule.NextRunAt.V.Time(); s.requested.IsZero() || next.Before(s.requested) {
		return next
	}
	return s.requested
}

// withDueTime returns the search with its due time as the time of the next run.
func (s *fakeSearch) withDueTime() cola.SavedSearch {
	search := s.search
	if search.Schedule != nil {
		schedule := *search.Schedule
		schedule.NextRunAt = cola.Some(cola.TimestampOf(s.due()))
		search.Schedule = &schedule
	}
	return search
}

// fakeRun is a recorded run.
type fakeRun struct {
	store.RunRecord
	before store.Mark // the search's mark before the run
	new    []store.RunMatch
}

func newFakeStore(clock time.Time) *fakeStore {
	return &fakeStore{
		clock: clock, revision: 100, labels: map[cola.TTBID]*fakeLabel{}, searches: map[string]*fakeSearch{},
	}
}

// call runs do between the before and after hooks.
func (f *fakeStore) call(ctx context.Context, name string, do func() error) error {
	for _, step := range []func() error{
		ctx.Err,
		func() error { return hook(f.before, name) },
		func() error {
			f.mu.Lock()
			defer f.mu.Unlock()
			return do()
		},
		func() error { return hook(f.after, name) },
	} {
		if err := step(); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

func hook(h func(string) error, name string) error {
	if h == nil {
		return nil
	}
	return h(name)
}

// write writes a label, as part of a bulk load if history is true.
func (f *fakeStore) write(label cola.IndexRecord, history bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.revision++
	l := f.labels[label.Summary.TTBID]
	if l == nil {
		l = &fakeLabel{}
		f.labels[label.Summary.TTBID] = l
	}
	known := l.arrived != 0 && !history && label.Summary.ApprovalDate != 0 &&
		l.states[len(l.states)-1].label.Summary.ApprovalDate == 0
	switch {
	case known:
		l.arrived, l.arrivedAt = f.revision, f.clock
	case label.Summary.EffectiveDate() != 0 && l.arrived == 0 && !l.history:
		l.history = history
		if !history {
			l.arrived, l.arrivedAt = f.revision, f.clock
		}
	}
	l.states = append(l.states, fakeState{f.revision, label, l.arrived})
}

// latest returns the label's state at a revision.
func (l *fakeLabel) latest(at cola.Revision) (s fakeState, ok bool) {
	for _, s = range slices.Backward(l.states) {
		if s.revision <= at {
			return s, true
		}
	}
	return s, false
}

// save creates a search.
func (f *fakeStore) save(uuid string, filters cola.SavedSearchFilters, schedule cola.Schedule) *fakeSearch {
	f.mu.Lock()
	defer f.mu.Unlock()
	schedule.Active, schedule.NextRunAt = true, cola.Some(cola.TimestampOf(schedule.Next(f.clock)))
	s := &fakeSearch{
		number: len(f.searches), since: f.revision, seen: map[cola.TTBID]bool{},
		mark: store.Mark{At: f.clock, Revision: f.revision},
		search: cola.SavedSearch{
			UUID: uuid, Name: uuid, Filters: filters, Schedule: &schedule, CreatedAt: cola.TimestampOf(f.clock),
		},
	}
	f.searches[uuid] = s
	return s
}

// update modifies a search and invalidates its claim.
func (f *fakeStore) update(uuid string, change func(*cola.SavedSearch)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	s := f.searches[uuid]
	schedule := *s.search.Schedule
	s.search.Schedule = &schedule
	change(&s.search)
	schedule.NextRunAt = cola.Opt[cola.Timestamp]{}
	if schedule.Active {
		schedule.NextRunAt = cola.Some(cola.TimestampOf(schedule.Next(f.clock)))
	}
	s.claim, s.claimedUntil = s.claim+1, time.Time{}
}

// request requests a run of a search, with or without a schedule.
func (f *fakeStore) request(uuid string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if s := f.searches[uuid]; s.due().IsZero() || s.due().After(f.clock) {
		s.requested = f.clock
	}
}

func (f *fakeStore) remove(uuid string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.searches, uuid)
}

func (f *fakeStore) ArrivedSince(
	ctx context.Context, since cola.Date, yield func(store.Arrival) error,
) (upto cola.Revision, err error) {
	err = f.call(ctx, "ArrivedSince", func() error {
		f.reads++
		upto = f.revision
		for _, l := range f.labels {
			s, _ := l.latest(upto)
			if s.arrived == 0 || s.label.Summary.EffectiveDate() < since {
				continue
			}
			permit := s.label.Summary.PermitNumber
			if err := yield(store.Arrival{Label: &s.label, Permittee: &cola.Permittee{PermitNumber: permit}, At: s.arrived}); err != nil {
				return err
			}
		}
		return nil
	})
	return upto, err
}

func (f *fakeStore) AllReferences(ctx context.Context) (sets store.ReferenceSets, err error) {
	err = f.call(ctx, "AllReferences", func() error {
		sets.CategoryAliases = f.aliases
		return nil
	})
	return sets, err
}

func (f *fakeStore) NextDue(ctx context.Context) (due time.Time, err error) {
	err = f.call(ctx, "NextDue", func() error {
		for _, s := range f.searches {
			if next := s.due(); !next.IsZero() && (due.IsZero() || next.Before(due)) {
				due = next
			}
		}
		return nil
	})
	return due, err
}

// claimable returns the searches that are due and not claimed.
func (f *fakeStore) claimable(due time.Time) []*fakeSearch {
	return slices.DeleteFunc(slices.Collect(maps.Values(f.searches)), func(s *fakeSearch) bool {
		return s.due().IsZero() || s.due().After(due) || s.claimedUntil.After(f.clock)
	})
}

func (f *fakeStore) HasDue(ctx context.Context, due time.Time) (has bool, err error) {
	err = f.call(ctx, "HasDue", func() error {
		has = len(f.claimable(due)) > 0
		return nil
	})
	return has, err
}

func (f *fakeStore) ClaimDue(
	ctx context.Context, due time.Time, limit int, hold time.Duration,
) (claimed []store.DueSearch, err error) {
	err = f.call(ctx, "ClaimDue", func() error {
		free := f.claimable(due)
		slices.SortFunc(free, func(a, b *fakeSearch) int {
			return cmp.Or(a.due().Compare(b.due()), a.number-b.number)
		})
		for _, s := range free[:min(limit, len(free))] {
			s.claim, s.claimedUntil = s.claim+1, f.clock.Add(hold)
			claimed = append(claimed,
				store.DueSearch{Account: 1, Search: s.withDueTime(), Mark: s.mark, Hold: s.claim, Fault: s.fault})
		}
		return nil
	})
	return claimed, err
}

// runs returns the runs recorded so far.
func (f *fakeStore) runs() []fakeRun {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.recorded)
}

// held returns the search if the claim is still valid, or nil.
func (f *fakeStore) held(d *store.DueSearch) *fakeSearch {
	s := f.searches[d.Search.UUID]
	if s == nil || s.claim != d.Hold || s.claimedUntil.IsZero() {
		return nil
	}
	return s
}

func (f *fakeStore) Postpone(
	ctx context.Context, failed store.DueSearch, wait func(int) time.Duration,
) (extension time.Duration, err error) {
	err = f.call(ctx, "Postpone", func() error {
		s := f.held(&failed)
		if s == nil {
			return store.ErrNotFound
		}
		s.failures++
		extension = wait(s.failures)
		s.claimedUntil = f.clock.Add(extension)
		return nil
	})
	return extension, err
}

func (f *fakeStore) ReleaseDue(ctx context.Context, claimed []store.DueSearch) error {
	return f.call(ctx, "ReleaseDue", func() error {
		for i := range claimed {
			if s := f.held(&claimed[i]); s != nil {
				s.claimedUntil = time.Time{}
			}
		}
		return nil
	})
}

func (f *fakeStore) RecordRuns(ctx context.Context, runs []store.RunRecord) (outcomes []store.RunOutcome, err error) {
	f.recording = map[string]bool{}
	for i := range runs {
		f.recording[runs[i].Due.Search.UUID] = true
	}
	err = f.call(ctx, "RecordRuns", func() error {
		for _, r := range runs {
			outcomes = append(outcomes, f.recordRun(r))
		}
		return nil
	})
	return outcomes, err
}

func (f *fakeStore) recordRun(r store.RunRecord) (o store.RunOutcome) {
	s := f.held(&r.Due)
	if s == nil {
		return o
	}
	run := fakeRun{RunRecord: r, before: s.mark}
	for _, m := range r.Matches {
		if s.seen[m.TTBID] {
			continue
		}
		s.seen[m.TTBID] = true
		run.new = append(run.new, m)
		o.New++
		if m.Late {
			o.Late++
		}
	}
	if s.search.Schedule != nil {
		schedule := *s.search.Schedule
		schedule.LastRunAt = cola.Some(cola.TimestampOf(r.Mark.At))
		schedule.NextRunAt = cola.Opt[cola.Timestamp]{V: r.Next, OK: r.Next != 0}
		s.search.Schedule = &schedule
	}
	s.requested, s.mark, s.claimedUntil, s.failures = time.Time{}, r.Mark, time.Time{}, 0
	f.recorded = append(f.recorded, run)
	o.Recorded, o.Run = true, int64(len(f.recorded))
	return o
}
