package storetest

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

func testBatches(t *testing.T, open Opener) {
	runChecks(t, open, []check{
		{"a batch is settled once", settledOnce},
		{"of attempts at once with one id one settles", oneAttemptSettles},
		{"what became of a batch is known for an hour", func(t *testing.T, st store.Store, c *clock) {
			a := mustAccount(t, st, "a@example.com", cola.TierFree)
			first := NewBatchID()
			if err := st.Settle(t.Context(), store.Batch{ID: first, Accounts: []cola.AccountID{a.ID}}, nothing); err != nil {
				t.Fatal(err)
			}
			for range 60 {
				c.advance(time.Minute)
				settle(t, st, a.ID)
			}
			mustBeSettled(t, st, first, true)
		}},
		{"a batch of nobody is settled like any other", func(t *testing.T, st store.Store, _ *clock) {
			id := NewBatchID()
			if err := st.Settle(t.Context(), store.Batch{ID: id}, nothing); err != nil {
				t.Fatal(err)
			}
			mustBeSettled(t, st, id, true)
			if err := st.Settle(t.Context(), store.Batch{ID: id}, undecided(t)); !errors.Is(err, store.ErrExists) {
				t.Errorf("settling again: %v, want ErrExists", err)
			}
		}},
		{"a voided batch counts for nothing", voidedCountsForNothing},
		{"a batch that is voided first is never settled", voidedIsNeverSettled},
		{"voiding takes back only what is its own", voidLeavesOthers},
		{"a batch that is settled and voided at once counts for nothing", settledAndVoidedAtOnce},
		{"a refused entry leaves nothing of its batch", refusedEntryLeavesNothing},
		{"a decision that panics leaves nothing", panicLeavesNothing},
		{"an ended context settles nothing", func(t *testing.T, st store.Store, _ *clock) {
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			id := NewBatchID()
			err := st.Settle(ctx, store.Batch{ID: id}, func(time.Time, []store.AccountState) []store.Entry {
				t.Error("it was decided all the same")
				return nil
			})
			if !errors.Is(err, context.Canceled) {
				t.Errorf("error = %v, want context.Canceled", err)
			}
			mustBeSettled(t, st, id, false)
		}},
	})
}

func nothing(time.Time, []store.AccountState) []store.Entry { return nil }

func mustBeSettled(t *testing.T, st store.Store, id store.BatchID, want bool) {
	t.Helper()
	if got := IsSettled(t, st, id); got != want {
		t.Errorf("settled = %v, want %v", got, want)
	}
}

// IsSettled reports whether a batch was committed and not voided. It settles the batch again under
// its ID; if the store asks for a decision, it panics and so changes nothing.
func IsSettled(t *testing.T, st store.Store, id store.BatchID) (settled bool) {
	t.Helper()
	defer func() {
		if p := recover(); p != nil && p != errUndecided {
			panic(p)
		}
	}()
	err := st.Settle(t.Context(), store.Batch{ID: id}, func(time.Time, []store.AccountState) []store.Entry { panic(errUndecided) })
	if !errors.Is(err, store.ErrExists) && !errors.Is(err, store.ErrVoid) {
		t.Errorf("a second attempt: %v, want ErrExists or ErrVoid", err)
	}
	return errors.Is(err, store.ErrExists)
}

var errUndecided = errors.New("the batch is not settled yet")

func settledOnce(t *testing.T, st store.Store, _ *clock) {
	a := mustAccount(t, st, "a@example.com", cola.TierFree)
	batch := store.Batch{ID: NewBatchID(), Accounts: []cola.AccountID{a.ID}}
	mustBeSettled(t, st, batch.ID, false)
	decide := func(time.Time, []store.AccountState) []store.Entry {
		return []store.Entry{charge(a.ID, 1, rest(1, cola.MeterListRecords, 5))}
	}
	if err := st.Settle(t.Context(), batch, decide); err != nil {
		t.Fatal(err)
	}
	mustBeSettled(t, st, batch.ID, true)
	if err := st.Settle(t.Context(), batch, decide); !errors.Is(err, store.ErrExists) {
		t.Errorf("settling again: %v, want ErrExists", err)
	}
	got := mustUsage(t, st, a.ID)
	if got.Used.ListRecords != 5 || len(got.Grants) != 1 || got.Grants[0].Requests != 1 {
		t.Errorf("usage %+v after settling twice, want that of once", got)
	}
	mustBeSettled(t, st, NewBatchID(), false)
}

func oneAttemptSettles(t *testing.T, st store.Store, _ *clock) {
	a := mustAccount(t, st, "a@example.com", cola.TierFree)
	batch := store.Batch{ID: NewBatchID(), Accounts: []cola.AccountID{a.ID}}
	var mu sync.Mutex
	outcomes := map[bool]int{}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			err := st.Settle(t.Context(), batch, func(time.Time, []store.AccountState) []store.Entry {
				return []store.Entry{charge(a.ID, 1, rest(1, cola.MeterDetailViews, 1))}
			})
			if err != nil && !errors.Is(err, store.ErrExists) {
				t.Errorf("attempt: %v, want none or ErrExists", err)
			}
			mu.Lock()
			defer mu.Unlock()
			outcomes[err == nil]++
		})
	}
	wg.Wait()
	same(t, "attempts by success", map[bool]int{true: 1, false: 7}, outcomes)
	same(t, "used", cola.Used{DetailViews: 1}, mustUsage(t, st, a.ID).Used)
}

func voidedCountsForNothing(t *testing.T, st store.Store, c *clock) {
	a := mustAccount(t, st, "a@example.com", cola.TierFree)
	batch := store.Batch{ID: NewBatchID(), Accounts: []cola.AccountID{a.ID}}
	entries := []store.Entry{charge(a.ID, 3, rest(1, cola.MeterListRecords, 5), rest(2, cola.MeterDetailViews, 1), rest(1, cola.MeterNone, 0))}
	if err := st.Settle(t.Context(), batch, func(time.Time, []store.AccountState) []store.Entry { return entries }); err != nil {
		t.Fatal(err)
	}
	c.advance(13 * time.Hour) // on another day; the original day is credited
	for range 2 {
		if err := st.Void(t.Context(), batch.ID, entries); err != nil {
			t.Fatalf("Void: %v", err)
		}
		mustBeSettled(t, st, batch.ID, false)
		got := mustUsage(t, st, a.ID)
		if got.Used != (cola.Used{}) || len(got.Grants) != 0 {
			t.Errorf("usage %+v after voiding, want none", got)
		}
		days, err := st.DailyUsage(t.Context(), a.ID, cola.DateOf(epoch), cola.DateOf(epoch)+1)
		for _, d := range must(t, days, err) {
			if d.Units != 0 || d.Requests != 0 {
				t.Errorf("daily usage %+v after voiding, want none", d)
			}
		}
	}
	if err := st.Settle(t.Context(), batch, undecided(t)); !errors.Is(err, store.ErrVoid) {
		t.Errorf("settling a voided batch: %v, want ErrVoid", err)
	}
}

// undecided returns a decision that must not be called.
func undecided(t *testing.T) func(time.Time, []store.AccountState) []store.Entry {
	return func(time.Time, []store.AccountState) []store.Entry {
		t.Error("it was decided all the same")
		return nil
	}
}

func voidedIsNeverSettled(t *testing.T, st store.Store, _ *clock) {
	a := mustAccount(t, st, "a@example.com", cola.TierFree)
	batch := store.Batch{ID: NewBatchID(), Accounts: []cola.AccountID{a.ID}}
	if err := st.Void(t.Context(), batch.ID, []store.Entry{charge(a.ID, 1, rest(1, cola.MeterListRecords, 5))}); err != nil {
		t.Fatalf("Void: %v", err)
	}
	same(t, "usage", cola.Used{}, mustUsage(t, st, a.ID).Used)
	mustBeSettled(t, st, batch.ID, false)
	if err := st.Settle(t.Context(), batch, undecided(t)); !errors.Is(err, store.ErrVoid) {
		t.Errorf("settling a voided batch: %v, want ErrVoid", err)
	}
}

// voidLeavesOthers settles two similar batches at one instant and voids one of them within the
// window.
func voidLeavesOthers(t *testing.T, st store.Store, c *clock) {
	a, b := mustAccount(t, st, "a@example.com", cola.TierFree), mustAccount(t, st, "b@example.com", cola.TierFree)
	doubtful := store.Batch{ID: NewBatchID(), Accounts: []cola.AccountID{a.ID, b.ID}}
	entries := []store.Entry{charge(a.ID, 2, rest(1, cola.MeterListRecords, 5)), charge(b.ID, 1, rest(2, cola.MeterListRecords, 4))}
	settle(t, st, a.ID, charge(a.ID, 1, rest(1, cola.MeterListRecords, 7)))
	if err := st.Settle(t.Context(), doubtful, func(time.Time, []store.AccountState) []store.Entry { return entries }); err != nil {
		t.Fatal(err)
	}
	if err := st.Void(t.Context(), doubtful.ID, entries); err != nil {
		t.Fatalf("Void: %v", err)
	}
	got := mustUsage(t, st, a.ID)
	same(t, "usage", cola.Used{ListRecords: 7}, got.Used)
	same(t, "grants", []store.Grant{{At: c.now(), Requests: 1}}, got.Grants)
	days, err := st.DailyUsage(t.Context(), a.ID, cola.DateOf(c.now()), cola.DateOf(c.now()))
	if list := must(t, days, err); len(list) != 1 || list[0].Units != 7 || list[0].Requests != 1 {
		t.Errorf("daily usage %+v, want the 7 units of the batch that stands", list)
	}
	same(t, "usage of the other account", cola.Used{}, mustUsage(t, st, b.ID).Used)
}

func settledAndVoidedAtOnce(t *testing.T, st store.Store, _ *clock) {
	a := mustAccount(t, st, "a@example.com", cola.TierFree)
	entries := []store.Entry{charge(a.ID, 1, rest(1, cola.MeterListRecords, 5))}
	for range 20 {
		batch := store.Batch{ID: NewBatchID(), Accounts: []cola.AccountID{a.ID}}
		var wg sync.WaitGroup
		wg.Go(func() {
			err := st.Settle(t.Context(), batch, func(time.Time, []store.AccountState) []store.Entry { return entries })
			if err != nil && !errors.Is(err, store.ErrVoid) {
				t.Errorf("Settle: %v, want none or ErrVoid", err)
			}
		})
		wg.Go(func() {
			if err := st.Void(t.Context(), batch.ID, entries); err != nil {
				t.Errorf("Void: %v", err)
			}
		})
		wg.Wait()
		mustBeSettled(t, st, batch.ID, false)
	}
	got := mustUsage(t, st, a.ID)
	if got.Used != (cola.Used{}) || len(got.Grants) != 0 {
		t.Errorf("usage %+v, want none", got)
	}
}

func refusedEntryLeavesNothing(t *testing.T, st store.Store, _ *clock) {
	a, b := mustAccount(t, st, "a@example.com", cola.TierFree), mustAccount(t, st, "b@example.com", cola.TierFree)
	good := charge(a.ID, 1, rest(1, cola.MeterListRecords, 5))
	for name, bad := range map[string]store.Entry{
		"of an account not asked for": charge(b.ID, 1),
		"of nobody":                   charge(b.ID+100, 1),
		"of negative requests":        charge(a.ID, -1),
		"of negative units":           charge(a.ID, 1, rest(1, cola.MeterListRecords, -5)),
		"of units without a meter":    charge(a.ID, 1, rest(1, cola.MeterNone, 5)),
		"of an unknown meter":         charge(a.ID, 1, rest(1, "miles", 5)),
	} {
		batch := store.Batch{ID: NewBatchID(), Accounts: []cola.AccountID{a.ID, b.ID + 100}}
		err := st.Settle(t.Context(), batch, func(time.Time, []store.AccountState) []store.Entry { return []store.Entry{good, bad} })
		if err == nil || errors.Is(err, store.ErrUnavailable) {
			t.Errorf("an entry %s: error %v, want one that says that nothing was committed", name, err)
		}
		mustBeSettled(t, st, batch.ID, false)
	}
	for _, id := range []cola.AccountID{a.ID, b.ID} {
		if got := mustUsage(t, st, id); got.Used != (cola.Used{}) || len(got.Grants) != 0 {
			t.Errorf("account %d has usage %+v, want none", id, got)
		}
	}
}

func panicLeavesNothing(t *testing.T, st store.Store, _ *clock) {
	a := mustAccount(t, st, "a@example.com", cola.TierFree)
	batch := store.Batch{ID: NewBatchID(), Accounts: []cola.AccountID{a.ID}}
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the panic was swallowed")
			}
		}()
		_ = st.Settle(t.Context(), batch, func(time.Time, []store.AccountState) []store.Entry { panic("decide") })
	}()
	mustBeSettled(t, st, batch.ID, false)
	if err := st.Settle(t.Context(), batch, nothing); err != nil {
		t.Errorf("settling after a panic: %v", err)
	}
}
