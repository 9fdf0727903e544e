package quota

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

// charged is the result of a charge as its caller sees it, with the response time.
type charged struct {
	Units int
	Code  cola.Code
	After time.Duration
}

// charge charges account 7 for 20 list records.
func charge(t *testing.T, l *Ledger) charged {
	start := time.Now()
	g, err := l.Charge(t.Context(), request(key1, cola.MeterListRecords, 20))
	c := charged{Units: g.Units, After: time.Since(start)}
	if err != nil {
		c.Code = cola.CodeOf(err)
	}
	return c
}

// TestUncertainCharges checks that charges get an outcome in time, whatever fault their batch hits,
// and that the ledger eventually matches the grants.
func TestUncertainCharges(t *testing.T) {
	rejected := func(after time.Duration) charged { return charged{0, cola.CodeUnavailable, after} }
	granted := func(after time.Duration) charged { return charged{20, "", after} }
	tests := []struct {
		name   string
		settle func(int, store.Batch) fault
		want   charged
		voided bool // whether Void is called
	}{
		{"lost before the decision", sequence(lostBefore), granted(retryPause), false},
		{"lost after the decision", sequence(lostDecided), granted(retryPause), false},
		{"lost after the commit", sequence(lostAfter), granted(retryPause), false},
		{"lost twice", sequence(lostDecided, lostAfter), granted(2 * retryPause), false},
		{"lost for two seconds", sequence(repeat(lostBefore, 20)...), granted(20 * retryPause), false},
		{"lost, committed later", sequence(lostOpen), granted(openFor), false},
		{"lost, rolled back later", sequence(lostOpenBack), granted(openFor), false},
		{"lost before the decision, permanently", always(lostBefore), rejected(chargeTimeout), true},
		{"committed, then lost permanently", sequence(append([]fault{lostAfter}, repeat(lostBefore, 60)...)...),
			rejected(chargeTimeout), true},
		{"no response, not committed", sequence(hangs), rejected(chargeTimeout), true},
		{"no response, committed", sequence(hangsAfter), rejected(chargeTimeout), true},
		{"never started", sequence(neverBegins), rejected(chargeTimeout), false},
		{"context ignored, then committed", sequence(ignoresContext), rejected(chargeTimeout), true},
		{"context ignored, then decided", sequence(ignoresContextBefore), rejected(chargeTimeout), true},
		{"context ignored, not committed", sequence(stuck), rejected(chargeTimeout), true},
		{"permanent error", always(fails), rejected(0), false},
		{"committed, lost, then a permanent error", sequence(lostAfter, fails), rejected(retryPause), true},
		{"lost, then a permanent error", sequence(lostBefore, fails), rejected(retryPause), true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newFakeLedger(cola.TierFree)
				b.settle = tt.settle
				l := newLedger(t, b)
				if diff := cmp.Diff(tt.want, charge(t, l)); diff != "" {
					t.Errorf("outcome (-want +got):\n%s", diff)
				}
				time.Sleep(2 * stuckFor)
				if got := b.used(7).ListRecords; got != tt.want.Units {
					t.Errorf("usage = %d, want %d as granted", got, tt.want.Units)
				}
				if got := len(b.grants(7)); got != min(tt.want.Units, 1) {
					t.Errorf("%d requests in the window, want %d", got, min(tt.want.Units, 1))
				}
				if _, voids := b.calls(); (voids > 0) != tt.voided {
					t.Errorf("Void called %d times, want called: %v", voids, tt.voided)
				}
				if n := l.inDoubt.len(); n != 0 {
					t.Errorf("%d in-doubt batches, want 0", n)
				}
			})
		})
	}
}

func repeat(f fault, n int) []fault {
	list := make([]fault, n)
	for i := range list {
		list[i] = f
	}
	return list
}

// TestLateCharges checks that a charge that has waited too long behind a slow commit is rejected,
// so that it does not shorten the deadline of its batch.
func TestLateCharges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newFakeLedger(cola.TierPro)
		slow := chargeTimeout - minTimeLeft/2
		b.settle = func(try int, _ store.Batch) fault {
			if try == 1 {
				time.Sleep(slow)
			}
			return works
		}
		l := newLedger(t, b)
		var first, early, late charged
		var wg sync.WaitGroup
		wg.Go(func() { first = charge(t, l) })
		synctest.Wait()
		wg.Go(func() { early = charge(t, l) })
		time.Sleep(slow - time.Second)
		wg.Go(func() { late = charge(t, l) })
		wg.Wait()
		want := []charged{{20, "", slow}, {0, cola.CodeUnavailable, slow}, {20, "", time.Second}}
		if diff := cmp.Diff(want, []charged{first, early, late}); diff != "" {
			t.Errorf("outcomes (-want +got):\n%s", diff)
		}
		if got := b.used(7).ListRecords; got != 40 {
			t.Errorf("usage = %d, want the granted 40", got)
		}
	})
}

// omittingStore is a store that omits the batch's accounts from the decision.
type omittingStore struct{ *fakeLedger }

func (f omittingStore) Settle(
	_ context.Context, _ store.Batch, decide func(time.Time, []store.AccountState) []store.Entry,
) error {
	decide(time.Now(), nil)
	return nil
}

func TestUndecidedCharge(t *testing.T) {
	l := New(omittingStore{newFakeLedger(cola.TierPro)}, Options{})
	defer l.Close()
	if got := charge(t, l); got.Code != cola.CodeUnavailable || got.Units != 0 {
		t.Errorf("charge = %+v, want unavailable", got)
	}
}
