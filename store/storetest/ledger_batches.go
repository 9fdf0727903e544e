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
		{"settle once", settleOnce},
		{"concurrent attempts with one ID", concurrentSettles},
		{"outcome is known for an hour", func(t *testing.T, st store.Store, c *clock) {
			a := mustAccount(t, st, "a@example.com", cola.TierFree)
			first := NewBatchID()
			if err := st.Settle(t.Context(), store.Batch{ID: first, Accounts: []cola.AccountID{a.ID}},
				noEntries); err != nil {
				t.Fatal(err)
			}
			for range 60 {
				c.advance(time.Minute)
				settle(t, st, a.ID)
			}
			checkSettled(t, st, first, true)
		}},
		{"batch without accounts", func(t *testing.T, st store.Store, _ *clock) {
			id := NewBatchID()
			if err := st.Settle(t.Context(), store.Batch{ID: id}, noEntries); err != nil {
				t.Fatal(err)
			}
			checkSettled(t, st, id, true)
			if err := st.Settle(t.Context(), store.Batch{ID: id}, mustNotDecide(t)); !errors.Is(err, store.ErrExists) {
				t.Errorf("second Settle error = %v, want ErrExists", err)
			}
		}},
		{"void after settling", voidAfterSettle},
		{"void before settling", voidBeforeSettle},
		{"void reverses only its own charges", voidOnlyOwnCharges},
		{"concurrent settle and void", concurrentSettleAndVoid},
		{"rejected entry rolls back the batch", rejectedEntryRollsBack},
		{"panic rolls back the batch", panicRollsBack},
		{"canceled context", func(t *testing.T, st store.Store, _ *clock) {
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			id := NewBatchID()
			err := st.Settle(ctx, store.Batch{ID: id}, func(time.Time, []store.AccountState) []store.Entry {
				t.Error("decide called, want no call")
				return nil
			})
			if !errors.Is(err, context.Canceled) {
				t.Errorf("Settle error = %v, want context.Canceled", err)
			}
			checkSettled(t, st, id, false)
		}},
	})
}

func noEntries(time.Time, []store.AccountState) []store.Entry { return nil }

func checkSettled(t *testing.T, st store.Store, id store.BatchID, want bool) {
	t.Helper()
	if got := IsSettled(t, st, id); got != want {
		t.Errorf("IsSettled = %v, want %v", got, want)
	}
}

// IsSettled reports whether a batch was committed and not voided. It settles the batch again under
// its ID; if the store calls decide, decide panics, which rolls the batch back.
func IsSettled(t *testing.T, st store.Store, id store.BatchID) (settled bool) {
	t.Helper()
	defer func() {
		if p := recover(); p != nil && p != errNotSettled {
			panic(p)
		}
	}()
	err := st.Settle(t.Context(), store.Batch{ID: id},
		func(time.Time, []store.AccountState) []store.Entry { panic(errNotSettled) })
	if !errors.Is(err, store.ErrExists) && !errors.Is(err, store.ErrVoid) {
		t.Errorf("second Settle error = %v, want ErrExists or ErrVoid", err)
	}
	return errors.Is(err, store.ErrExists)
}

var errNotSettled = errors.New("batch not settled")

func settleOnce(t *testing.T, st store.Store, _ *clock) {
	a := mustAccount(t, st, "a@example.com", cola.TierFree)
	batch := store.Batch{ID: NewBatchID(), Accounts: []cola.AccountID{a.ID}}
	checkSettled(t, st, batch.ID, false)
	decide := func(time.Time, []store.AccountState) []store.Entry {
		return []store.Entry{charge(a.ID, 1, rest(1, cola.MeterListRecords, 5))}
	}
	if err := st.Settle(t.Context(), batch, decide); err != nil {
		t.Fatal(err)
	}
	checkSettled(t, st, batch.ID, true)
	if err := st.Settle(t.Context(), batch, decide); !errors.Is(err, store.ErrExists) {
		t.Errorf("second Settle error = %v, want ErrExists", err)
	}
	got := mustUsage(t, st, a.ID)
	if got.Used.ListRecords != 5 || len(got.Grants) != 1 || got.Grants[0].Requests != 1 {
		t.Errorf("usage after two attempts = %+v, want one charge", got)
	}
	checkSettled(t, st, NewBatchID(), false)
}

func concurrentSettles(t *testing.T, st store.Store, _ *clock) {
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
				t.Errorf("Settle error = %v, want nil or ErrExists", err)
			}
			mu.Lock()
			defer mu.Unlock()
			outcomes[err == nil]++
		})
	}
	wg.Wait()
	checkEqual(t, "attempts by success", map[bool]int{true: 1, false: 7}, outcomes)
	checkEqual(t, "usage", cola.Used{DetailViews: 1}, mustUsage(t, st, a.ID).Used)
}

func voidAfterSettle(t *testing.T, st store.Store, c *clock) {
	a := mustAccount(t, st, "a@example.com", cola.TierFree)
	batch := store.Batch{ID: NewBatchID(), Accounts: []cola.AccountID{a.ID}}
	entries := []store.Entry{charge(a.ID, 3, rest(1, cola.MeterListRecords, 5), rest(2, cola.MeterDetailViews, 1),
		rest(1, cola.MeterNone, 0))}
	if err := st.Settle(t.Context(), batch,
		func(time.Time, []store.AccountState) []store.Entry { return entries }); err != nil {
		t.Fatal(err)
	}
	c.advance(13 * time.Hour) // on another day; the original day is credited
	for range 2 {
		if err := st.Void(t.Context(), batch.ID, entries); err != nil {
			t.Fatalf("Void: %v", err)
		}
		checkSettled(t, st, batch.ID, false)
		got := mustUsage(t, st, a.ID)
		if got.Used != (cola.Used{}) || len(got.Grants) != 0 {
			t.Errorf("usage after Void = %+v, want zero", got)
		}
		days, err := st.DailyUsage(t.Context(), a.ID, cola.DateOf(epoch), cola.DateOf(epoch)+1)
		for _, d := range must(t, days, err) {
			if d.Units != 0 || d.Requests != 0 {
				t.Errorf("daily usage after Void = %+v, want zero", d)
			}
		}
	}
	if err := st.Settle(t.Context(), batch, mustNotDecide(t)); !errors.Is(err, store.ErrVoid) {
		t.Errorf("Settle(voided batch) error = %v, want ErrVoid", err)
	}
}

// mustNotDecide returns a decide function that fails the test if it is called.
func mustNotDecide(t *testing.T) func(time.Time, []store.AccountState) []store.Entry {
	return func(time.Time, []store.AccountState) []store.Entry {
		t.Error("decide called, want no call")
		return nil
	}
}

func voidBeforeSettle(t *testing.T, st store.Store, _ *clock) {
	a := mustAccount(t, st, "a@example.com", cola.TierFree)
	batch := store.Batch{ID: NewBatchID(), Accounts: []cola.AccountID{a.ID}}
	if err := st.Void(t.Context(), batch.ID,
		[]store.Entry{charge(a.ID, 1, rest(1, cola.MeterListRecords, 5))}); err != nil {
		t.Fatalf("Void: %v", err)
	}
	checkEqual(t, "usage", cola.Used{}, mustUsage(t, st, a.ID).Used)
	checkSettled(t, st, batch.ID, false)
	if err := st.Settle(t.Context(), batch, mustNotDecide(t)); !errors.Is(err, store.ErrVoid) {
		t.Errorf("Settle(voided batch) error = %v, want ErrVoid", err)
	}
}

// voidOnlyOwnCharges checks that voiding a batch doesn't change the charges of a similar one that
// was settled at the same clock time.
func voidOnlyOwnCharges(t *testing.T, st store.Store, c *clock) {
	a, b := mustAccount(t, st, "a@example.com", cola.TierFree), mustAccount(t, st, "b@example.com", cola.TierFree)
	voided := store.Batch{ID: NewBatchID(), Accounts: []cola.AccountID{a.ID, b.ID}}
	entries := []store.Entry{
		charge(a.ID, 2, rest(1, cola.MeterListRecords, 5)),
		charge(b.ID, 1, rest(2, cola.MeterListRecords, 4)),
	}
	settle(t, st, a.ID, charge(a.ID, 1, rest(1, cola.MeterListRecords, 7)))
	if err := st.Settle(t.Context(), voided,
		func(time.Time, []store.AccountState) []store.Entry { return entries }); err != nil {
		t.Fatal(err)
	}
	if err := st.Void(t.Context(), voided.ID, entries); err != nil {
		t.Fatalf("Void: %v", err)
	}
	got := mustUsage(t, st, a.ID)
	checkEqual(t, "usage", cola.Used{ListRecords: 7}, got.Used)
	checkEqual(t, "grants", []store.Grant{{At: c.now(), Requests: 1}}, got.Grants)
	days, err := st.DailyUsage(t.Context(), a.ID, cola.DateOf(c.now()), cola.DateOf(c.now()))
	if list := must(t, days, err); len(list) != 1 || list[0].Units != 7 || list[0].Requests != 1 {
		t.Errorf("daily usage = %+v, want the 7 units of the other batch", list)
	}
	checkEqual(t, "usage of the other account", cola.Used{}, mustUsage(t, st, b.ID).Used)
}

func concurrentSettleAndVoid(t *testing.T, st store.Store, _ *clock) {
	a := mustAccount(t, st, "a@example.com", cola.TierFree)
	entries := []store.Entry{charge(a.ID, 1, rest(1, cola.MeterListRecords, 5))}
	for range 20 {
		batch := store.Batch{ID: NewBatchID(), Accounts: []cola.AccountID{a.ID}}
		var wg sync.WaitGroup
		wg.Go(func() {
			err := st.Settle(t.Context(), batch, func(time.Time, []store.AccountState) []store.Entry { return entries })
			if err != nil && !errors.Is(err, store.ErrVoid) {
				t.Errorf("Settle error = %v, want nil or ErrVoid", err)
			}
		})
		wg.Go(func() {
			if err := st.Void(t.Context(), batch.ID, entries); err != nil {
				t.Errorf("Void: %v", err)
			}
		})
		wg.Wait()
		checkSettled(t, st, batch.ID, false)
	}
	got := mustUsage(t, st, a.ID)
	if got.Used != (cola.Used{}) || len(got.Grants) != 0 {
		t.Errorf("usage = %+v, want zero", got)
	}
}

func rejectedEntryRollsBack(t *testing.T, st store.Store, _ *clock) {
	a, b := mustAccount(t, st, "a@example.com", cola.TierFree), mustAccount(t, st, "b@example.com", cola.TierFree)
	good := charge(a.ID, 1, rest(1, cola.MeterListRecords, 5))
	for name, bad := range map[string]store.Entry{
		"account not requested": charge(b.ID, 1),
		"unknown account":       charge(b.ID+100, 1),
		"negative requests":     charge(a.ID, -1),
		"negative units":        charge(a.ID, 1, rest(1, cola.MeterListRecords, -5)),
		"units without a meter": charge(a.ID, 1, rest(1, cola.MeterNone, 5)),
		"unknown meter":         charge(a.ID, 1, rest(1, "miles", 5)),
	} {
		batch := store.Batch{ID: NewBatchID(), Accounts: []cola.AccountID{a.ID, b.ID + 100}}
		err := st.Settle(t.Context(), batch,
			func(time.Time, []store.AccountState) []store.Entry { return []store.Entry{good, bad} })
		if err == nil || errors.Is(err, store.ErrUnavailable) {
			t.Errorf("%s: Settle error = %v, want an error other than ErrUnavailable", name, err)
		}
		checkSettled(t, st, batch.ID, false)
	}
	for _, id := range []cola.AccountID{a.ID, b.ID} {
		if got := mustUsage(t, st, id); got.Used != (cola.Used{}) || len(got.Grants) != 0 {
			t.Errorf("account %d: usage = %+v, want zero", id, got)
		}
	}
}

func panicRollsBack(t *testing.T, st store.Store, _ *clock) {
	a := mustAccount(t, st, "a@example.com", cola.TierFree)
	batch := store.Batch{ID: NewBatchID(), Accounts: []cola.AccountID{a.ID}}
	func() {
		defer func() {
			if recover() == nil {
				t.Error("Settle returned, want it to propagate the panic in decide")
			}
		}()
		_ = st.Settle(t.Context(), batch, func(time.Time, []store.AccountState) []store.Entry { panic("decide") })
	}()
	checkSettled(t, st, batch.ID, false)
	if err := st.Settle(t.Context(), batch, noEntries); err != nil {
		t.Errorf("Settle after the panic: %v", err)
	}
}
