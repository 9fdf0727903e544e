package alerts

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

// fakeDeliveries is an in-memory DispatcherStore that records all attempts.
type fakeDeliveries struct {
	now func() time.Time // the database's clock

	mu         sync.Mutex
	all        map[int64]*fakeDelivery
	paused     map[string]string // reasons by destination UUID
	recorded   []store.Attempt
	released   []int64
	unreadable map[int64]error // RunContent errors, by run
	deleted    []time.Time     // arguments of DeleteOldDeliveries
	old        int             // number of old deliveries still to delete
	claims     int

	// before, if set, runs at the start of every call, for one call at a time. If it returns an
	// error, the call fails with that error.
	before func(call string) error
	hooks  sync.Mutex // serializes before
}

type fakeDelivery struct {
	store.DueDelivery
	state        string
	next         time.Time // zero once delivered or failed
	claimedUntil time.Time
}

var _ DispatcherStore = (*fakeDeliveries)(nil)

func newFakeDeliveries(now func() time.Time) *fakeDeliveries {
	return &fakeDeliveries{
		now: now, all: map[int64]*fakeDelivery{}, paused: map[string]string{}, unreadable: map[int64]error{},
	}
}

// add adds a message to an active destination and returns it for further changes.
func (f *fakeDeliveries) add(kind, event string, due time.Time) *fakeDelivery {
	f.mu.Lock()
	defer f.mu.Unlock()
	id := int64(len(f.all) + 1)
	d := &fakeDelivery{state: cola.DeliveryPending, next: due, DueDelivery: store.DueDelivery{
		ID: id, MessageID: fmt.Sprintf("msg_%d", id), Event: event,
		Kind: kind, CreatedAt: due, AccountEmail: "holder@example.com",
	}}
	if event == cola.EventRan {
		d.Run = id + 1000
	}
	d.Destination.Account = cola.AccountID(id)
	d.Destination.UUID = fmt.Sprintf("destination %d", id)
	d.Destination.Kind, d.Destination.State = kind, cola.DestinationActive
	f.all[id] = d
	return d
}

// call returns the error for a store call: the context's or the hook's.
func (f *fakeDeliveries) call(ctx context.Context, name string) error {
	f.hooks.Lock()
	defer f.hooks.Unlock()
	err := ctx.Err()
	if err == nil {
		err = hook(f.before, name)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

func (f *fakeDeliveries) ClaimDeliveries(
	ctx context.Context, due time.Time, kinds []string, limit int, hold time.Duration,
) (claimed []store.DueDelivery, err error) {
	if err := f.call(ctx, "ClaimDeliveries"); err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.claims++
	free := slices.DeleteFunc(f.pending(kinds),
		func(d *fakeDelivery) bool { return d.next.After(due) || d.claimedUntil.After(f.now()) })
	for _, d := range free[:min(limit, len(free))] {
		d.Hold, d.claimedUntil, d.DueAt = d.Hold+1, f.now().Add(hold), d.next
		claimed = append(claimed, d.DueDelivery)
	}
	return claimed, nil
}

// pending returns pending deliveries, earliest due first.
func (f *fakeDeliveries) pending(kinds []string) []*fakeDelivery {
	list := slices.DeleteFunc(slices.Collect(maps.Values(f.all)), func(d *fakeDelivery) bool {
		return d.state != cola.DeliveryPending || !slices.Contains(kinds, d.Kind)
	})
	slices.SortFunc(list,
		func(a, b *fakeDelivery) int { return cmp.Or(a.next.Compare(b.next), cmp.Compare(a.ID, b.ID)) })
	return list
}

func (f *fakeDeliveries) OldestPending(ctx context.Context, kinds []string) (time.Time, error) {
	if err := f.call(ctx, "OldestPending"); err != nil {
		return time.Time{}, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if list := f.pending(kinds); len(list) > 0 {
		return list[0].next, nil
	}
	return time.Time{}, nil
}

// fakeMatchCount is the match count of every run in fakeDeliveries.
const fakeMatchCount = 100

func (f *fakeDeliveries) RunContent(ctx context.Context, run int64) (c store.RunContent, err error) {
	if err := f.call(ctx, "RunContent"); err != nil {
		return c, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.unreadable[run]; err != nil {
		return c, fmt.Errorf("run %d: %w", run, err)
	}
	c.Run.ID, c.Run.MatchCount = run, fakeMatchCount
	return c, nil
}

// held returns a claimed delivery, or nil if the claim is no longer valid.
func (f *fakeDeliveries) held(d *store.DueDelivery) *fakeDelivery {
	if h := f.all[d.ID]; h != nil && h.Hold == d.Hold && !h.claimedUntil.IsZero() {
		return h
	}
	return nil
}

func (f *fakeDeliveries) RecordAttempt(ctx context.Context, a store.Attempt) (bool, error) {
	if err := f.call(ctx, "RecordAttempt"); err != nil {
		return false, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	d := f.held(&a.Due)
	if d == nil {
		return false, nil
	}
	f.recorded = append(f.recorded, a)
	d.Attempts++
	d.state, d.next, d.claimedUntil = a.State, a.Next, time.Time{}
	if d.FirstAttemptAt.IsZero() {
		d.FirstAttemptAt = a.At
	}
	if a.Pause != "" {
		f.paused[a.Due.Destination.UUID] = a.Pause
	}
	return true, nil
}

func (f *fakeDeliveries) ReleaseDeliveries(ctx context.Context, claimed []store.DueDelivery) error {
	if err := f.call(ctx, "ReleaseDeliveries"); err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for i := range claimed {
		f.released = append(f.released, claimed[i].ID)
		if d := f.held(&claimed[i]); d != nil {
			d.claimedUntil = time.Time{}
		}
	}
	return nil
}

func (f *fakeDeliveries) DeleteOldDeliveries(ctx context.Context, before time.Time) (int, error) {
	if err := f.call(ctx, "DeleteOldDeliveries"); err != nil {
		return 0, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.deleted = append(f.deleted, before)
	n := min(f.old, 10)
	f.old -= n
	return n, nil
}

func (f *fakeDeliveries) replay(id int64, due time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	d := f.all[id]
	d.state, d.next, d.FirstAttemptAt, d.claimedUntil, d.Hold = cola.DeliveryPending, due, time.Time{}, time.Time{}, d.Hold+1
}

// attempts returns the attempts recorded so far.
func (f *fakeDeliveries) attempts() []store.Attempt {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.recorded)
}

// states returns the number of deliveries in each state.
func (f *fakeDeliveries) states() map[string]int {
	f.mu.Lock()
	defer f.mu.Unlock()
	counts := map[string]int{}
	for _, d := range f.all {
		counts[d.state]++
	}
	return counts
}

// fakeSender is a Sender with scripted results. It records messages.
type fakeSender struct {
	answer func(ctx context.Context, m Message) Result // default: accept every message

	mu       sync.Mutex
	sent     []Message
	inFlight int
	most     int // maximum in flight
}

func (s *fakeSender) Send(ctx context.Context, m Message) Result {
	s.mu.Lock()
	s.sent = append(s.sent, m)
	s.inFlight++
	s.most = max(s.most, s.inFlight)
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		s.inFlight--
		s.mu.Unlock()
	}()
	if s.answer == nil {
		return Result{Status: 200}
	}
	return s.answer(ctx, m)
}

// messages returns the messages sent so far.
func (s *fakeSender) messages() []Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.sent)
}

// always returns the same result for every message.
func always(result Result) func(context.Context, Message) Result {
	return func(context.Context, Message) Result { return result }
}

// mustDeliver delivers everything due now.
func mustDeliver(t *testing.T, c *Dispatcher) DeliveryReport {
	t.Helper()
	report, err := c.Deliver(t.Context(), c.now())
	if err != nil {
		t.Fatal(err)
	}
	return report
}
