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
	doubtMessage    = "WARN ledger batches in doubt: they were refused, may be committed, and are being voided"
	voidedMessage   = "INFO ledger batches in doubt are voided"
	notVoided       = "ERROR ledger batch in doubt not voided"
	leftMessage     = "ERROR ledger batches left in doubt: their charges were refused but may count"
	tooManyMessage  = "ERROR too many ledger batches in doubt: charges are refused until one is voided"
	unreachableSoon = 40 * time.Second
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

// TestDoubtfulBatchIsVoided checks that a batch that was committed but refused is voided once the
// store is reachable, regardless of how voiding fails before, and is logged once.
func TestDoubtfulBatchIsVoided(t *testing.T) {
	for name, f := range map[string]fault{
		"refused": lostBefore, "answers lost": lostAfter, "hanging": hangs, "hanging after": hangsAfter, "broken": breaks,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b, log := newBook(cola.TierFree), newLogged()
				back := time.Now().Add(unreachableSoon)
				b.settle = inTurn(hangsAfter)
				b.void = func(int) fault { return until(back, f)(0, store.Batch{}) }
				l := newLoggedLedger(t, b, log.logger())
				if got := charge(t, l); got.Units != 0 || got.Code != cola.CodeUnavailable {
					t.Fatalf("got %+v, want unavailable", got)
				}
				if b.used(7).ListRecords != 20 {
					t.Fatal("the batch was not committed: nothing is tested")
				}
				time.Sleep(time.Until(back.Add(maxVoidPause + voidTimeout)))
				if got := b.used(7); got != (cola.Used{}) || len(b.grants(7)) != 0 {
					t.Errorf("ledger %+v, want nothing", got)
				}
				if n, m := log.count(doubtMessage), log.count(voidedMessage); n != 1 || m != 1 {
					t.Errorf("logged %d times that batches are in doubt, %d times that they are voided; want once each", n, m)
				}
				if _, voids := b.calls(); voids > 20 {
					t.Errorf("tried to void %d times in %v: no back-off", voids, unreachableSoon)
				}
			})
		})
	}
}

// TestLatestDecisionIsVoided has another process use up most of the quota between two attempts, so
// that the second decision differs from the first.
func TestLatestDecisionIsVoided(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBook(cola.TierFree)
		b.start[7] = cola.Used{ListRecords: 9_970}
		l, other := newLedger(t, b), newLedger(t, b)
		b.settle = inTurn(lostDecided, works, hangsAfter)
		done := make(chan charged)
		go func() { done <- charge(t, l) }()
		synctest.Wait()
		if got := charge(t, other); got.Units != 20 {
			t.Fatalf("the other process: %+v, want 20 units", got)
		}
		if got := <-done; got.Code != cola.CodeUnavailable {
			t.Fatalf("got %+v, want unavailable", got)
		}
		if got := b.used(7).ListRecords; got != 10_000 {
			t.Fatalf("ledger %d: the second attempt was not committed, nothing is tested", got)
		}
		time.Sleep(time.Second)
		if got := b.used(7).ListRecords; got != 9_990 {
			t.Errorf("ledger %d, want 9990: what the other process was granted, and no more", got)
		}
	})
}

// TestDoubtsAreVoidedInOrder also checks that a batch that cannot be voided does not block later
// ones.
func TestDoubtsAreVoidedInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, log := newBook(cola.TierPro), newLogged()
		b.settle = charges(until(time.Now().Add(20*time.Second), hangsAfter))
		back := time.Now().Add(time.Minute)
		reached := 0
		b.void = func(int) fault {
			if time.Now().Before(back) {
				return hangs
			}
			if reached++; reached == 1 {
				return breaks
			}
			return works
		}
		l := newLoggedLedger(t, b, log.logger())
		for range 4 {
			if got := charge(t, l); got.Code != cola.CodeUnavailable {
				t.Fatalf("got %+v, want unavailable", got)
			}
			time.Sleep(2 * probeInterval)
		}
		if n, used := l.inDoubt.len(), b.used(7).ListRecords; n != 4 || used != 80 {
			t.Fatalf("%d batches in doubt, ledger %d; want 4 and 80", n, used)
		}
		time.Sleep(time.Until(back.Add(2*maxVoidPause + voidTimeout)))
		if n, used := l.inDoubt.len(), b.used(7).ListRecords; n != 0 || used != 0 {
			t.Errorf("%d batches in doubt, ledger %d; want none", n, used)
		}
		var committed []store.BatchID // only batches with charges
		for _, id := range b.order {
			if len(b.batches[id].entries) > 0 {
				committed = append(committed, id)
			}
		}
		if diff := cmp.Diff(append(committed[1:], committed[0]), b.struck); diff != "" {
			t.Errorf("order of voiding (-want +got):\n%s", diff)
		}
		if n := log.count(notVoided); n != 1 {
			t.Errorf("logged %d times that a batch cannot be voided, want once", n)
		}
		if n, m := log.count(doubtMessage), log.count(voidedMessage); n != 1 || m != 1 {
			t.Errorf("logged %d times that batches are in doubt, %d times that they are voided; want once each", n, m)
		}
	})
}

// TestTooManyDoubts checks that the ledger refuses charges, even if the store would accept them,
// rather than lose track of a batch.
func TestTooManyDoubts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, log := newBook(cola.TierPro), newLogged()
		b.settle = charges(until(time.Now().Add(13*time.Second), hangsAfter))
		back := time.Now().Add(time.Minute)
		b.void = func(int) fault { return until(back, lostBefore)(0, store.Batch{}) }
		l := newLoggedLedger(t, b, log.logger())
		l.inDoubt.max = 3
		for l.inDoubt.len() < l.inDoubt.max { // a charge may be refused at once, while the circuit breaker is open
			charge(t, l)
			time.Sleep(2 * probeInterval)
		}
		before, _ := b.calls()
		for range 3 {
			if diff := cmp.Diff(charged{0, cola.CodeUnavailable, 0}, charge(t, l)); diff != "" {
				t.Errorf("with too many in doubt (-want +got):\n%s", diff)
			}
		}
		if after, _ := b.calls(); after != before {
			t.Error("the store was asked to settle all the same")
		}
		if n := log.count(tooManyMessage); n != 1 {
			t.Errorf("logged %d times that there are too many, want once", n)
		}
		time.Sleep(time.Until(back.Add(maxVoidPause)))
		if diff := cmp.Diff(charged{20, "", 0}, charge(t, l)); diff != "" {
			t.Errorf("once they are voided (-want +got):\n%s", diff)
		}
		if got := b.used(7).ListRecords; got != 20 {
			t.Errorf("ledger %d, want the 20 that were granted", got)
		}
	})
}

// TestCloseVoidsWhatIsInDoubt checks that Close voids batches within its time limit and logs the
// remaining ones.
func TestCloseVoidsWhatIsInDoubt(t *testing.T) {
	tests := []struct {
		name string
		back time.Duration // when the store returns, after the start of Close
		took time.Duration // maximum duration of Close
		left int           // units still charged
	}{
		{"the store is there", 0, 2 * minVoidPause, 0},
		{"the store comes back", 2 * time.Second, closeTimeout, 0},
		{"the store stays away", time.Hour, closeTimeout, 20},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b, log := newBook(cola.TierFree), newLogged()
				b.settle = inTurn(hangsAfter)
				back := time.Now().Add(chargeTimeout + tt.back)
				b.void = func(int) fault { return until(back, lostBefore)(0, store.Batch{}) }
				l := newLoggedLedger(t, b, log.logger())
				charge(t, l)
				begun := time.Now()
				l.Close()
				if took := time.Since(begun); took > tt.took {
					t.Errorf("closing took %v, want at most %v", took, tt.took)
				}
				if got := b.used(7).ListRecords; got != tt.left {
					t.Errorf("ledger %d, want %d", got, tt.left)
				}
				if got := log.count(leftMessage); got != min(tt.left, 1) {
					t.Errorf("logged %d times what is left", got)
				}
			})
		})
	}
}
