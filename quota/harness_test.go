package quota

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

// fault is the behavior of one call to a fakeLedger.
type fault int

const (
	works                fault = iota
	lostBefore                 // connection lost before any read
	lostDecided                // connection lost after the decision; not committed
	lostAfter                  // connection lost; committed
	lostOpen                   // connection lost; the transaction commits after openFor
	lostOpenBack               // connection lost; the transaction rolls back after openFor
	hangs                      // no response until the context ends; not committed
	hangsAfter                 // committed; no response until the context ends
	neverBegins                // no response until the context ends, then a definite failure
	ignoresContext             // commits after lateBy, regardless of the context
	ignoresContextBefore       // decides and commits after lateBy, regardless of the context
	stuck                      // returns after stuckFor, regardless of the context; not started
	fails                      // permanent error; not committed
	numFaults                  // number of faults; not a fault itself
)

const (
	openFor  = 3 * time.Second
	lateBy   = 8 * time.Second
	stuckFor = time.Minute
)

var errBroken = errors.New("disk on fire")

// fakeLedger is an in-memory store.Ledger with injected faults. Transactions run one at a time,
// like those of a single account in a real store.
type fakeLedger struct {
	turn   chan struct{} // held by the open transaction
	settle func(try int, b store.Batch) fault
	void   func(try int) fault

	mu         sync.Mutex
	tier       cola.Tier
	suspended  string                       // suspension reason of all accounts, if suspended
	networks   cola.Networks                // networks of all keys
	start      map[cola.AccountID]cola.Used // usage before the first batch
	batches    map[store.BatchID]*entry
	order      []store.BatchID
	tries      int             // calls to Settle
	voids      int             // calls to Void
	voidOrder  []store.BatchID // voided batches, in order
	violations []string
}

// entry is a batch that was committed, voided or both.
type entry struct {
	at      time.Time
	entries []store.Entry
	voided  bool
}

func newFakeLedger(tier cola.Tier) *fakeLedger {
	return &fakeLedger{
		turn:    make(chan struct{}, 1),
		tier:    tier,
		start:   map[cola.AccountID]cola.Used{},
		batches: map[store.BatchID]*entry{},
	}
}

// always chooses the same fault for every call.
func always(f fault) func(int, store.Batch) fault { return func(int, store.Batch) fault { return f } }

// sequence chooses the given faults in order, and no fault afterward.
func sequence(faults ...fault) func(int, store.Batch) fault {
	return func(try int, _ store.Batch) fault {
		if try > len(faults) {
			return works
		}
		return faults[try-1]
	}
}

// until chooses the fault f until end, and no fault afterward.
func until(end time.Time, f fault) func(int, store.Batch) fault {
	return func(int, store.Batch) fault {
		if time.Now().Before(end) {
			return f
		}
		return works
	}
}

func unavailable(operation string) error {
	return fmt.Errorf("%s: %w", operation, store.ErrUnavailable)
}

// next counts a call and returns its fault.
func (b *fakeLedger) next(count *int, choose func(try int) fault) fault {
	b.mu.Lock()
	defer b.mu.Unlock()
	*count++
	return choose(*count)
}

// begin waits for its turn to run a transaction. leave ends the transaction.
func (b *fakeLedger) begin(ctx context.Context) error {
	select {
	case b.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return unavailable("begin")
	}
}

func (b *fakeLedger) leave() { <-b.turn }

func (b *fakeLedger) Settle(
	ctx context.Context, batch store.Batch, decide func(time.Time, []store.AccountState) []store.Entry,
) error {
	f := b.next(&b.tries, func(try int) fault {
		if b.settle == nil {
			return works
		}
		return b.settle(try, batch)
	})
	switch f {
	case lostBefore:
		return unavailable("settle")
	case fails:
		return errBroken
	case hangs:
		<-ctx.Done()
		return unavailable("settle")
	case stuck:
		time.Sleep(stuckFor)
		return unavailable("settle")
	case neverBegins:
		<-ctx.Done()
		return fmt.Errorf("settle: %w", ctx.Err())
	}
	if err := b.begin(ctx); err != nil {
		return err
	}
	if known := b.batches[batch.ID]; known != nil {
		defer b.leave()
		if known.voided {
			return store.ErrVoid
		}
		return store.ErrExists
	}
	if f == ignoresContextBefore {
		time.Sleep(lateBy)
		f = works
	}
	now := time.Now()
	return b.finish(ctx, f, batch.ID, &entry{at: now, entries: decide(now, b.states(batch, now))})
}

// finish commits or rolls back a decided batch, depending on the fault, and ends its transaction.
func (b *fakeLedger) finish(ctx context.Context, f fault, id store.BatchID, e *entry) error {
	commit := func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.batches[id], b.order = e, append(b.order, id)
	}
	switch f {
	case lostOpen, lostOpenBack:
		go func() {
			defer b.leave()
			time.Sleep(openFor)
			if f == lostOpen {
				commit()
			}
		}()
		return unavailable("settle")
	case ignoresContext:
		defer b.leave()
		time.Sleep(lateBy)
		commit()
		return nil
	}
	if f != lostDecided {
		commit()
	}
	b.leave()
	switch f {
	case works:
		return nil
	case hangsAfter:
		<-ctx.Done()
	}
	return unavailable("settle")
}

func (b *fakeLedger) Void(ctx context.Context, id store.BatchID, entries []store.Entry) error {
	f := b.next(&b.voids, func(try int) fault {
		if b.void == nil {
			return works
		}
		return b.void(try)
	})
	switch f {
	case lostBefore, lostDecided, lostOpen, lostOpenBack:
		return unavailable("void")
	case fails:
		return errBroken
	case hangs, neverBegins:
		<-ctx.Done()
		return unavailable("void")
	}
	if err := b.begin(ctx); err != nil {
		return err
	}
	defer b.leave()
	b.applyVoid(id, entries)
	switch f {
	case lostAfter:
		return unavailable("void")
	case hangsAfter, ignoresContext:
		<-ctx.Done()
		return unavailable("void")
	}
	return nil
}

// applyVoid voids a batch. Voiding with entries other than those written violates the contract.
func (b *fakeLedger) applyVoid(id store.BatchID, entries []store.Entry) {
	b.mu.Lock()
	defer b.mu.Unlock()
	e := b.batches[id]
	if e == nil {
		e = &entry{}
		b.batches[id], b.order = e, append(b.order, id)
	} else if diff := cmp.Diff(e.entries, entries); !e.voided && diff != "" {
		b.violations = append(b.violations, "voided with entries other than those written (-written +voided):\n"+diff)
	}
	if !e.voided {
		b.voidOrder = append(b.voidOrder, id)
	}
	e.voided = true
}

func (b *fakeLedger) AccountUsage(context.Context, cola.AccountID) (store.AccountState, error) {
	return store.AccountState{}, store.ErrNotFound
}

func (b *fakeLedger) DailyUsage(context.Context, cola.AccountID, cola.Date, cola.Date) ([]store.DayUsage, error) {
	return nil, nil
}

func (b *fakeLedger) MonthlyUsage(
	context.Context, cola.AccountID, cola.Period, cola.Period,
) ([]store.MonthUsage, error) {
	return nil, nil
}

// states returns the account states for a batch. Every account exists and owns every credential
// except key2.
func (b *fakeLedger) states(batch store.Batch, now time.Time) []store.AccountState {
	states := make([]store.AccountState, len(batch.Accounts))
	for i, id := range batch.Accounts {
		s := store.AccountState{
			Account: id, Exists: true, Used: b.used(id),
			Valid: map[cola.Credential]bool{}, Keys: map[cola.Credential]store.KeyAccess{},
		}
		s.Tier, s.Suspended = b.plan()
		for _, c := range batch.Credentials {
			s.Valid[c] = c != key2
			s.Keys[c] = store.KeyAccess{Networks: b.allowed()}
		}
		for _, g := range b.grants(id) {
			if g.At.After(now.Add(-Window)) {
				s.Grants = append(s.Grants, g)
			}
		}
		states[i] = s
	}
	return states
}

func (b *fakeLedger) plan() (tier cola.Tier, suspended string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.tier, b.suspended
}

// suspend suspends all accounts for a reason. An empty reason restores them.
func (b *fakeLedger) suspend(reason string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.suspended = reason
}

// allow sets the networks of all keys. An empty string allows all addresses.
func (b *fakeLedger) allow(networks string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.networks = nil
	if networks != "" {
		b.networks.SetString(networks)
	}
}

func (b *fakeLedger) allowed() cola.Networks {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.networks
}

// used returns an account's usage according to the committed batches.
func (b *fakeLedger) used(id cola.AccountID) cola.Used {
	used := b.start[id]
	for _, e := range b.activeEntries(id) {
		for _, u := range e.Units {
			used.Add(u.Meter, u.Units)
		}
	}
	return used
}

// grants returns an account's admitted requests according to the committed batches, oldest first.
func (b *fakeLedger) grants(id cola.AccountID) []store.Grant {
	b.mu.Lock()
	defer b.mu.Unlock()
	var list []store.Grant
	for _, batch := range b.order {
		for _, e := range b.batches[batch].entries {
			if e.Account == id && e.Requests > 0 && !b.batches[batch].voided {
				list = append(list, store.Grant{At: b.batches[batch].at, Requests: e.Requests})
			}
		}
	}
	slices.SortStableFunc(list, func(x, y store.Grant) int { return x.At.Compare(y.At) })
	return list
}

func (b *fakeLedger) activeEntries(id cola.AccountID) []store.Entry {
	b.mu.Lock()
	defer b.mu.Unlock()
	var list []store.Entry
	for _, e := range b.batches {
		for _, entry := range e.entries {
			if entry.Account == id && !e.voided {
				list = append(list, entry)
			}
		}
	}
	return list
}

// calls returns the number of calls to Settle and to Void.
func (b *fakeLedger) calls() (settle, void int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.tries, b.voids
}

func newLedger(t *testing.T, b *fakeLedger) *Ledger { return newLedgerWithLog(t, b, nil) }

func newLedgerWithLog(t *testing.T, b *fakeLedger, log *slog.Logger) *Ledger {
	l := New(b, Options{Logger: log})
	t.Cleanup(func() {
		l.Close()
		for _, violation := range b.violations {
			t.Error(violation)
		}
	})
	return l
}

// logCounter counts log lines by message.
type logCounter struct {
	mu     sync.Mutex
	counts map[string]int
}

func newLogCounter() *logCounter { return &logCounter{counts: map[string]int{}} }

func (l *logCounter) logger() *slog.Logger { return slog.New(l) }

func (l *logCounter) count(message string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.counts[message]
}

func (l *logCounter) Enabled(context.Context, slog.Level) bool { return true }
func (l *logCounter) WithAttrs([]slog.Attr) slog.Handler       { return l }
func (l *logCounter) WithGroup(string) slog.Handler            { return l }

func (l *logCounter) Handle(_ context.Context, r slog.Record) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.counts[r.Level.String()+" "+r.Message]++
	return nil
}
