package alerts

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

// deliverySim simulates deliveries with concurrent dispatchers under random events: messages become
// due and are replayed, receivers are slow or fail, the database is unavailable, and processes are
// killed between any two steps.
type deliverySim struct {
	*rapid.T
	ctx   context.Context // context of the synctest bubble
	store *fakeDeliveries
	all   sync.WaitGroup

	mu         sync.Mutex
	fates      *rand.Rand
	quiet      bool      // no more faults, except for receivers that never accept
	outage     time.Time // end of the database outage
	processes  []*process
	accepted   map[try]int  // number of times the receiver accepted each attempt's message
	lost       map[try]bool // attempts that the process could not record, or may not have recorded
	replays    map[int64]int
	violations []string
}

// try identifies an attempt: a delivery and its claim.
type try struct{ delivery, hold int64 }

func tryOf(d store.DueDelivery) try { return try{d.ID, d.Hold} }

// process is a dispatcher that can be killed. Once it is killed, all its store calls fail.
type process struct {
	*deliverySim
	DispatcherStore
	end context.CancelFunc

	dead bool
}

var errKilled = errors.New("the process was killed")

func TestDeliveryGuarantee(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		var stopped any
		synctest.Test(t, func(*testing.T) {
			defer func() { stopped = recover() }()
			simulateDeliveries(r)
		})
		if stopped != nil {
			panic(stopped) // on the goroutine where rapid calls recover
		}
	})
}

func simulateDeliveries(t *rapid.T) {
	ctx, end := context.WithCancel(context.Background())
	p := &deliverySim{
		T: t, ctx: ctx, fates: rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "fates"), 1)),
		accepted: map[try]int{}, lost: map[try]bool{}, replays: map[int64]int{},
	}
	defer p.all.Wait()
	defer end()
	p.store = newFakeDeliveries(time.Now)
	p.start()
	p.start()
	for range rapid.IntRange(1, 40).Draw(t, "events") {
		p.event()
		time.Sleep(time.Duration(rapid.IntRange(0, 60).Draw(t, "passes")) * time.Second)
	}
	p.settle()
	p.check()
}

// chance returns true for the given percentage of calls, and false once the simulation is quiet.
func (s *deliverySim) chance(percent int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.quiet && s.fates.IntN(100) < percent
}

// event applies a random event.
func (s *deliverySim) event() {
	switch rapid.IntRange(0, 9).Draw(s.T, "event") {
	case 0, 1, 2, 3, 4:
		for range rapid.IntRange(1, 20).Draw(s.T, "messages") {
			s.store.add(cola.KindWebhook, cola.EventRan,
				time.Now().Add(time.Duration(rapid.IntRange(0, 90).Draw(s.T, "due"))*time.Second))
		}
	case 5, 6:
		if n := len(s.store.all); n > 0 {
			id := int64(rapid.IntRange(1, n).Draw(s.T, "replayed"))
			s.mu.Lock()
			s.replays[id]++
			s.mu.Unlock()
			s.store.replay(id, time.Now())
		}
	case 7:
		s.mu.Lock()
		s.outage = time.Now().Add(time.Duration(rapid.IntRange(1, 100).Draw(s.T, "outage")) * time.Second)
		s.mu.Unlock()
	case 8:
		s.kill(rapid.IntRange(0, len(s.processes)-1).Draw(s.T, "killed"))
	}
}

// start starts a process that delivers every few seconds.
func (s *deliverySim) start() {
	ctx, end := context.WithCancel(s.ctx)
	proc := &process{deliverySim: s, DispatcherStore: s.store, end: end}
	s.processes = append(s.processes, proc)
	c := NewDispatcher(DispatcherOptions{Store: proc, Senders: map[string]Sender{cola.KindWebhook: s}, Hold: hold})
	s.all.Go(func() {
		for sleep(ctx, deliverInterval) {
			_, _ = c.Deliver(ctx, time.Now())
		}
	})
}

// kill kills a process and starts another in its place.
func (s *deliverySim) kill(i int) {
	s.mu.Lock()
	s.processes[i].dead = true
	s.mu.Unlock()
	s.processes[i].end()
	s.start()
}

// fail returns the error that a store call must return, if any.
func (proc *process) fail() error {
	fails := proc.chance(2)
	proc.mu.Lock()
	defer proc.mu.Unlock()
	switch {
	case proc.dead:
		return errKilled
	case fails || time.Now().Before(proc.outage):
		return errUnavailable
	}
	return nil
}

func (proc *process) ClaimDeliveries(
	ctx context.Context, due time.Time, kinds []string, limit int, hold time.Duration,
) ([]store.DueDelivery, error) {
	if err := proc.fail(); err != nil {
		return nil, err
	}
	return proc.DispatcherStore.ClaimDeliveries(ctx, due, kinds, limit, hold)
}

func (proc *process) RunContent(ctx context.Context, run int64) (store.RunContent, error) {
	if err := proc.fail(); err != nil {
		return store.RunContent{}, err
	}
	return proc.DispatcherStore.RunContent(ctx, run)
}

// RecordAttempt may fail even though it recorded the attempt.
func (proc *process) RecordAttempt(ctx context.Context, a store.Attempt) (recorded bool, err error) {
	if err = proc.fail(); err == nil {
		recorded, err = proc.DispatcherStore.RecordAttempt(ctx, a)
	}
	if err == nil && proc.chance(3) {
		err = errUnavailable
	}
	if err != nil || !recorded {
		proc.mu.Lock()
		defer proc.mu.Unlock()
		proc.lost[tryOf(a.Due)] = true
	}
	return recorded, err
}

func (proc *process) ReleaseDeliveries(ctx context.Context, claimed []store.DueDelivery) error {
	if err := proc.fail(); err != nil {
		return err
	}
	return proc.DispatcherStore.ReleaseDeliveries(ctx, claimed)
}

// Send simulates the receivers.
func (s *deliverySim) Send(ctx context.Context, m Message) Result {
	if m.DueAt.After(time.Now()) || m.MessageID != fmt.Sprintf("msg_%d", m.ID) {
		s.violation("message %d sent as %s at %v, due at %v", m.ID, m.MessageID, time.Now(), m.DueAt)
	}
	if s.chance(20) && !sleep(ctx, time.Minute) {
		return Result{Fault: "The receiver did not respond."}
	}
	switch {
	case m.ID%11 == 5:
		return Result{Status: 500, Fault: "The receiver responded with status 500."}
	case m.ID%11 == 6:
		return Result{Status: 410, Fault: "The receiver responded with status 410.", Gone: true}
	case m.ID%11 == 7:
		return Result{Status: 550, Fault: "The receiver refused the message.", Final: true}
	case s.chance(20):
		return Result{Status: 503, Fault: "The receiver responded with status 503.", RetryAfter: time.Minute}
	case s.chance(10):
		panic("compose failed")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.accepted[tryOf(m.DueDelivery)]++
	return Result{Status: 200}
}

func (s *deliverySim) violation(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.violations = append(s.violations, fmt.Sprintf(format, args...))
}

// settle stops the faults and lets time pass until no delivery is pending.
func (s *deliverySim) settle() {
	s.mu.Lock()
	s.quiet, s.outage = true, time.Time{}
	s.mu.Unlock()
	for _, proc := range s.processes {
		proc.end()
	}
	s.all.Wait()
	time.Sleep(hold)
	c := NewDispatcher(DispatcherOptions{Store: s.store, Senders: map[string]Sender{cola.KindWebhook: s}, Hold: hold})
	for range 100_000 {
		due, err := s.store.OldestPending(s.ctx, []string{cola.KindWebhook})
		if err != nil {
			s.Fatal(err)
		}
		if due.IsZero() {
			return
		}
		time.Sleep(time.Until(due))
		if _, err := c.Deliver(s.ctx, time.Now()); err != nil {
			s.Fatal(err)
		}
	}
	s.Fatal("deliveries are still pending after 100000 rounds")
}

// check compares the recorded attempts with the messages that receivers accepted.
func (s *deliverySim) check() {
	for _, b := range s.violations {
		s.Error(b)
	}
	delivered, last, recorded := map[int64]int{}, map[int64]store.Attempt{}, map[try]bool{}
	for _, a := range s.store.recorded {
		last[a.Due.ID], recorded[tryOf(a.Due)] = a, true
		if a.State == cola.DeliveryDelivered {
			delivered[a.Due.ID]++
			if accepted := s.accepted[tryOf(a.Due)]; accepted != 1 {
				s.Errorf("delivery %d was recorded as delivered, but accepted %d times, want 1", a.Due.ID, accepted)
			}
		}
		if a.At.Before(a.Due.DueAt) || a.State == cola.DeliveryPending && !a.Next.After(a.At) {
			s.Errorf("delivery %d was attempted at %v, due at %v, next at %v", a.Due.ID, a.At, a.Due.DueAt, a.Next)
		}
	}
	for id := range s.store.all {
		s.checkEnd(id, last[id], delivered[id])
	}
	for t, times := range s.accepted {
		if times != 1 || !recorded[t] && !s.lost[t] {
			s.Errorf("delivery %d: accepted %d times under one claim, recorded = %v", t.delivery, times, recorded[t])
		}
	}
}

// checkEnd checks the final state of a delivery.
func (s *deliverySim) checkEnd(id int64, last store.Attempt, delivered int) {
	want := cola.DeliveryDelivered
	if kind := id % 11; kind >= 5 && kind <= 7 { // never accepted
		want = cola.DeliveryFailed
	}
	if state := s.store.all[id].state; state != want || last.State != want {
		s.Errorf("delivery %d: state %s, state after the last attempt %s, want %s", id, state, last.State, want)
	}
	if delivered > 1+s.replays[id] {
		s.Errorf("delivery %d was delivered %d times and replayed %d times", id, delivered, s.replays[id])
	}
	first := last.Due.FirstAttemptAt
	if tried := last.At.Sub(first); id%11 == 5 && (first.IsZero() || tried < 67*time.Hour) {
		s.Errorf("delivery %d failed permanently after %v, want at least 67h", id, tried)
	}
}
