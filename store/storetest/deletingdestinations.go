package storetest

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

// furnishDelivered makes an account with two searches that have run, the first of them with a destination of its own, and everything
// sent once.
func furnishDelivered(t *testing.T, st store.Store) (account cola.AccountID, first, second cola.SavedSearch) {
	t.Helper()
	a := mustAccount(t, st, "a@example.com", cola.TierFree)
	hooked := mustDestination(t, st, newHook(a.ID, hook))
	first = mustCreate(t, st, dueSearch(a.ID, 1, epoch))
	only := mustDestination(t, st, forSearch(newHook(a.ID, hook+"/1"), first))
	mustRecord(t, st, runOf(t, st, mustClaimOne(t, st), 1))
	claimed := mustClaimDeliveries(t, st)
	for _, d := range []store.Destination{mustOwn(t, st, a.ID), hooked, only} {
		attempt(t, st, claimed, d, cola.EventRan, "The receiver answered 503.", cola.DeliveryPending)
	}
	second = tell(t, st, a.ID, 2)
	claimed = mustClaimDeliveries(t, st)
	for _, d := range []store.Destination{mustOwn(t, st, a.ID), hooked} {
		attempt(t, st, claimed, d, cola.EventRan, "", cola.DeliveryDelivered)
	}
	mustHaveSent(t, st, 3, 5, 5)
	return a.ID, first, second
}

// mustHaveSent holds a store to how many destinations, deliveries and attempts it holds.
func mustHaveSent(t tb, st store.Store, destinations, deliveries, attempts int) {
	t.Helper()
	sizes, err := st.Sizes(context.Background())
	want := map[store.ItemKind]int{store.ItemDestination: destinations, store.ItemDelivery: deliveries, store.ItemAttempt: attempts}
	got := map[store.ItemKind]int{}
	for kind := range want {
		got[kind] = must(t, sizes, err)[kind]
	}
	same(t, "what is sent", want, got)
}

func deletedDestination(t *testing.T, st store.Store, _ *clock) {
	account, _, _ := furnishDelivered(t, st)
	list := mustDestinations(t, st, account)
	mustDo(t, st.DeleteDestination(t.Context(), account, list[1].UUID))
	mustHaveSent(t, st, 2, 3, 3)
	same(t, "destinations", []store.Destination{list[0], list[2]}, mustDestinations(t, st, account))
	if err := st.DeleteDestination(t.Context(), account, list[1].UUID); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("deleted again: %v, want ErrNotFound", err)
	}
	mustDo(t, st.DeleteDestination(t.Context(), account, list[0].UUID)) // the account's own, too
	mustHaveSent(t, st, 1, 1, 1)
	tell(t, st, account, 3)
	same(t, "told of another search", 1, len(mustDeliveries(t, st, account)))
}

func deletedSearchDestinations(t *testing.T, st store.Store, _ *clock) {
	account, first, second := furnishDelivered(t, st)
	mustDo(t, st.DeleteSavedSearch(t.Context(), account, first.UUID))
	mustHaveSent(t, st, 2, 2, 2)
	for _, d := range mustDeliveries(t, st, account) {
		same(t, "what is left tells of", cola.Some(second.UUID), d.SavedSearch)
	}
	mustDo(t, st.DeleteSavedSearch(t.Context(), account, second.UUID))
	mustHaveSent(t, st, 2, 0, 0)
}

// deletedWhileRecorded: whichever comes first, the run is recorded, and nothing is left to be sent to a destination that is gone.
func deletedWhileRecorded(t *testing.T, st store.Store, _ *clock) {
	a := roomyAccount(t, st, "a@example.com")
	for round := range 15 {
		mustCreate(t, st, dueSearch(a.ID, round, epoch))
		run := runOf(t, st, mustClaimOne(t, st), 1)
		hooked := mustDestination(t, st, newHook(a.ID, hook))
		var wg sync.WaitGroup
		wg.Go(func() { mustRecord(t, st, run) })
		wg.Go(func() {
			if err := st.DeleteDestination(t.Context(), a.ID, hooked.UUID); err != nil {
				t.Errorf("deletion: %v", err)
			}
		})
		wg.Wait()
		mustHaveSent(t, st, 1, round+1, 0)
	}
}
