package quota

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

const (
	doubtMessage   = "WARN voiding in-doubt ledger batches"
	voidedMessage  = "INFO in-doubt ledger batches voided"
	notVoided      = "ERROR voiding a ledger batch failed"
	leftMessage    = "ERROR ledger batches left in doubt; refused charges may still be counted"
	tooManyMessage = "ERROR too many in-doubt ledger batches; refusing charges"
	outage         = 40 * time.Second
)

// charges applies faults only to batches with charges. Probes succeed.
func charges(choose func(try int, b store.Batch) fault) func(int, store.Batch) fault {
	return func(try int, b store.Batch) fault {
		if len(b.Accounts) == 0 {
			return works
		}
		return choose(try, b)
	}
}

// TestInDoubtBatch checks that a committed batch whose charges were rejected is voided once the
// store is reachable, regardless of how earlier attempts to void it failed, and is logged once.
func TestInDoubtBatch(t *testing.T) {
	for name, f := range map[string]fault{
		"connection lost": lostBefore, "response lost": lostAfter, "hanging": hangs, "hanging after the commit": hangsAfter,
		"permanent error": fails,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b, log := newFakeLedger(cola.TierFree), newLogCounter()
				recovery := time.Now().Add(outage)
				b.settle = sequence(hangsAfter)
				b.void = func(int) fault { return until(recovery, f)(0, store.Batch{}) }
				l := newLedgerWithLog(t, b, log.logger())
				if got := charge(t, l); got.Units != 0 || got.Code != cola.CodeUnavailable {
					t.Fatalf("charge = %+v, want unavailable", got)
				}
				if b.used(7).ListRecords != 20 {
					t.Fatal("batch not committed; the test needs a committed one")
				}
				time.Sleep(time.Until(recovery.Add(maxVoidPause + voidTimeout)))
				if got := b.used(7); got != (cola.Used{}) || len(b.grants(7)) != 0 {
					t.Errorf("usage = %+v, want zero and no grants", got)
				}
				if n, m := log.count(doubtMessage), log.count(voidedMessage); n != 1 || m != 1 {
					t.Errorf("%d log lines about in-doubt batches, %d about voided ones; want 1, 1", n, m)
				}
				if _, voids := b.calls(); voids > 20 {
					t.Errorf("Void called %d times in %v, want at most 20", voids, outage)
				}
			})
		})
	}
}

// TestVoidedDecision checks that a void undoes the latest decision. Another process uses most of
// the remaining quota between two attempts, so that the decisions differ.
func TestVoidedDecision(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newFakeLedger(cola.TierFree)
		b.start[7] = cola.Used{ListRecords: 9_970}
		l, other := newLedger(t, b), newLedger(t, b)
		b.settle = sequence(lostDecided, works, hangsAfter)
		done := make(chan charged)
		go func() { done <- charge(t, l) }()
		synctest.Wait()
		if got := charge(t, other); got.Units != 20 {
			t.Fatalf("charge by the other process = %+v, want 20 units", got)
		}
		if got := <-done; got.Code != cola.CodeUnavailable {
			t.Fatalf("charge = %+v, want unavailable", got)
		}
		if got := b.used(7).ListRecords; got != 10_000 {
			t.Fatalf("usage = %d, want 10000; the test needs the second attempt committed", got)
		}
		time.Sleep(time.Second)
		if got := b.used(7).ListRecords; got != 9_990 {
			t.Errorf("usage = %d, want 9990, the initial usage plus the other process's grant", got)
		}
	})
}

// TestVoidOrder checks that batches are voided oldest first, and that one that cannot be voided
// does not block later ones.
func TestVoidOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, log := newFakeLedger(cola.TierPro), newLogCounter()
		b.settle = charges(until(time.Now().Add(20*time.Second), hangsAfter))
		recovery := time.Now().Add(time.Minute)
		reached := 0
		b.void = func(int) fault {
			if time.Now().Before(recovery) {
				return hangs
			}
			reached++
			if reached == 1 {
				return fails
			}
			return works
		}
		l := newLedgerWithLog(t, b, log.logger())
		for range 4 {
			if got := charge(t, l); got.Code != cola.CodeUnavailable {
				t.Fatalf("charge = %+v, want unavailable", got)
			}
			time.Sleep(2 * probeInterval)
		}
		if n, used := l.inDoubt.len(), b.used(7).ListRecords; n != 4 || used != 80 {
			t.Fatalf("%d in-doubt batches, usage %d; want 4, 80", n, used)
		}
		time.Sleep(time.Until(recovery.Add(2*maxVoidPause + voidTimeout)))
		if n, used := l.inDoubt.len(), b.used(7).ListRecords; n != 0 || used != 0 {
			t.Errorf("%d in-doubt batches, usage %d; want 0, 0", n, used)
		}
		var committed []store.BatchID // only batches with charges
		for _, id := range b.order {
			if len(b.batches[id].entries) > 0 {
				committed = append(committed, id)
			}
		}
		if diff := cmp.Diff(append(committed[1:], committed[0]), b.voidOrder); diff != "" {
			t.Errorf("void order (-want +got):\n%s", diff)
		}
		if n := log.count(notVoided); n != 1 {
			t.Errorf("%d log lines about failed voids, want 1", n)
		}
		if n, m := log.count(doubtMessage), log.count(voidedMessage); n != 1 || m != 1 {
			t.Errorf("%d log lines about in-doubt batches, %d about voided ones; want 1, 1", n, m)
		}
	})
}

// TestTooManyInDoubt checks that the ledger rejects charges, even if the store would accept them,
// rather than lose track of a batch.
func TestTooManyInDoubt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, log := newFakeLedger(cola.TierPro), newLogCounter()
		b.settle = charges(until(time.Now().Add(13*time.Second), hangsAfter))
		recovery := time.Now().Add(time.Minute)
		b.void = func(int) fault { return until(recovery, lostBefore)(0, store.Batch{}) }
		l := newLedgerWithLog(t, b, log.logger())
		l.inDoubt.max = 3
		for l.inDoubt.len() < l.inDoubt.max { // a charge may be rejected immediately, while the circuit breaker is open
			charge(t, l)
			time.Sleep(2 * probeInterval)
		}
		before, _ := b.calls()
		for range 3 {
			if diff := cmp.Diff(charged{0, cola.CodeUnavailable, 0}, charge(t, l)); diff != "" {
				t.Errorf("charge with too many in doubt (-want +got):\n%s", diff)
			}
		}
		if after, _ := b.calls(); after != before {
			t.Errorf("Settle called %d times with too many in doubt, want 0", after-before)
		}
		if n := log.count(tooManyMessage); n != 1 {
			t.Errorf("%d log lines about too many batches, want 1", n)
		}
		time.Sleep(time.Until(recovery.Add(maxVoidPause)))
		if diff := cmp.Diff(charged{20, "", 0}, charge(t, l)); diff != "" {
			t.Errorf("charge after voiding (-want +got):\n%s", diff)
		}
		if got := b.used(7).ListRecords; got != 20 {
			t.Errorf("usage = %d, want the granted 20", got)
		}
	})
}

// TestCloseInDoubt checks that Close voids batches within its time limit, and logs the remaining
// ones.
func TestCloseInDoubt(t *testing.T) {
	tests := []struct {
		name     string
		recovery time.Duration // when the store recovers, after the start of Close
		limit    time.Duration // maximum duration of Close
		units    int           // units still charged
	}{
		{"store available", 0, 2 * minVoidPause, 0},
		{"store recovers", 2 * time.Second, closeTimeout, 0},
		{"store stays unavailable", time.Hour, closeTimeout, 20},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b, log := newFakeLedger(cola.TierFree), newLogCounter()
				b.settle = sequence(hangsAfter)
				recovery := time.Now().Add(chargeTimeout + tt.recovery)
				b.void = func(int) fault { return until(recovery, lostBefore)(0, store.Batch{}) }
				l := newLedgerWithLog(t, b, log.logger())
				charge(t, l)
				start := time.Now()
				l.Close()
				if took := time.Since(start); took > tt.limit {
					t.Errorf("Close took %v, want at most %v", took, tt.limit)
				}
				if got := b.used(7).ListRecords; got != tt.units {
					t.Errorf("usage = %d, want %d", got, tt.units)
				}
				if got := log.count(leftMessage); got != min(tt.units, 1) {
					t.Errorf("%d log lines about batches left in doubt, want %d", got, min(tt.units, 1))
				}
			})
		})
	}
}
