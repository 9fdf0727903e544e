package storetest

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

var allKinds = []string{cola.KindEmail, cola.KindWebhook}

// mustFind runs a due search, which becomes due again at duePast, and returns what was recorded.
func mustFind(t tb, st store.Store, search cola.SavedSearch, labels ...int) store.RunOutcome {
	t.Helper()
	claimed := mustClaim(t, st, everyID, anHour)
	i := slices.IndexFunc(claimed, func(d store.DueSearch) bool { return d.Search.UUID == search.UUID })
	if i < 0 {
		t.Fatal(search.Name, "is not due")
	}
	run := runOf(t, st, claimed[i], labels...)
	run.Next = cola.TimestampOf(duePast)
	o := mustRecord(t, st, run)
	mustDo(t, st.ReleaseDue(context.Background(), claimed))
	return o
}

// notified is an account with a search and a webhook that is notified of its runs. The account's
// own address is paused.
type notified struct {
	store.Account
	search cola.SavedSearch
	hook   store.Destination
	run    int64
}

// mustNotify creates an account whose search has had the given number of runs with matches.
func mustNotify(t tb, st store.Store, email string, n, runs int) notified {
	t.Helper()
	a := notified{Account: roomyAccount(t, st, email)}
	a.search = mustCreate(t, st, newSearch(a.ID, n))
	mustTurn(t, st, mustOwn(t, st, a.ID), false)
	a.hook = mustDestination(t, st, newHook(a.ID, hook))
	for i := range runs {
		a.run = mustFind(t, st, a.search, 100*n+i).Run
	}
	return a
}

// mustTurn activates a destination, or pauses it on behalf of its holder.
func mustTurn(t tb, st store.Store, d store.Destination, active bool) store.Destination {
	t.Helper()
	if active {
		return changeDestination(t, st, d, inState(cola.DestinationActive, ""))
	}
	return changeDestination(t, st, d, inState(cola.DestinationPaused, cola.ReasonHolder))
}

func claimDeliveries(t tb, st store.Store, limit int) []store.DueDelivery {
	t.Helper()
	claimed, err := st.ClaimDeliveries(context.Background(), duePast, allKinds, limit, anHour)
	return must(t, claimed, err)
}

// mustClaimDelivery claims the only due delivery.
func mustClaimDelivery(t tb, st store.Store) store.DueDelivery {
	t.Helper()
	claimed := claimDeliveries(t, st, everyID)
	if len(claimed) != 1 {
		t.Fatal("claimed", deliveryIDs(claimed), "want one delivery")
	}
	return claimed[0]
}

func deliveryIDs(claimed []store.DueDelivery) []int64 {
	list := []int64{}
	for _, d := range claimed {
		list = append(list, d.ID)
	}
	return list
}

// took is the duration of attempts in tests.
const took = 184 * time.Millisecond

// delivered returns a successful attempt.
func delivered(d store.DueDelivery, at time.Time) store.Attempt {
	return store.Attempt{Due: d, At: at, Took: took, Status: 200, State: cola.DeliveryDelivered}
}

// retried returns a failed attempt with a retry in an hour.
func retried(d store.DueDelivery, at time.Time) store.Attempt {
	return store.Attempt{Due: d, At: at, Took: took, Status: 503, Error: unwell, State: cola.DeliveryPending, Next: at.Add(anHour)}
}

// givenUp returns a final failed attempt with its effect on the destination.
func givenUp(d store.DueDelivery, at time.Time, pause string) store.Attempt {
	return store.Attempt{Due: d, At: at, Took: took, Error: unwell, State: cola.DeliveryFailed, Pause: pause}
}

const unwell = "The receiver answered 503."

// mustNote records an attempt.
func mustNote(t tb, st store.Store, a store.Attempt) {
	t.Helper()
	recorded, err := st.RecordAttempt(context.Background(), a)
	if !must(t, recorded, err) {
		t.Errorf("the attempt at delivery %d was not recorded", a.Due.ID)
	}
}

// mustNotNote checks that an attempt is rejected without side effects.
func mustNotNote(t tb, st store.Store, what string, a store.Attempt) {
	t.Helper()
	before := everything(t, st)
	recorded, err := st.RecordAttempt(context.Background(), a)
	if must(t, recorded, err) {
		t.Errorf("%s: an attempt was recorded", what)
	}
	same(t, what+": what the store holds", before, everything(t, st))
}

// deliveriesOf returns an account's deliveries, oldest first.
func deliveriesOf(t tb, st store.Store, account cola.AccountID, which store.DeliveryFilter) []cola.Delivery {
	t.Helper()
	list, total, err := st.DeliveriesOf(context.Background(), account, which, store.Slice{Limit: everyID})
	if must(t, list, err); total != len(list) {
		t.Errorf("%d deliveries in all, a list of all has %d", total, len(list))
	}
	slices.Reverse(list)
	return list
}

func mustDelivery(t tb, st store.Store, account cola.AccountID, id int64) cola.DeliveryDetail {
	t.Helper()
	d, err := st.DeliveryOf(context.Background(), account, id)
	return must(t, d, err)
}

// mustDestinationNow reads a destination again.
func mustDestinationNow(t tb, st store.Store, d store.Destination) store.Destination {
	t.Helper()
	d, err := st.Destination(context.Background(), d.Account, d.UUID)
	return must(t, d, err)
}

// mustMessage sends a test message to a destination.
func mustMessage(t tb, st store.Store, to store.Destination, due time.Time) cola.Delivery {
	t.Helper()
	d, err := st.AddTest(context.Background(), to.Account, to.UUID, due)
	return must(t, d, err)
}

// createDelivered creates an account with two searches that have run, one of them with its own
// destination, and attempts each delivery once.
func createDelivered(t *testing.T, st store.Store) (account cola.AccountID, first, second cola.SavedSearch) {
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

// mustHaveSent checks the numbers of destinations, deliveries and attempts.
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
	account, _, _ := createDelivered(t, st)
	list := mustDestinations(t, st, account)
	mustDo(t, st.DeleteDestination(t.Context(), account, list[1].UUID))
	mustHaveSent(t, st, 2, 3, 3)
	same(t, "destinations", []store.Destination{list[0], list[2]}, mustDestinations(t, st, account))
	if err := st.DeleteDestination(t.Context(), account, list[1].UUID); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("deleted again: %v, want ErrNotFound", err)
	}
	mustDo(t, st.DeleteDestination(t.Context(), account, list[0].UUID)) // the account's own can be deleted, too
	mustHaveSent(t, st, 1, 1, 1)
	tell(t, st, account, 3)
	same(t, "told of another search", 1, len(mustDeliveries(t, st, account)))
}

func deletedSearchDestinations(t *testing.T, st store.Store, _ *clock) {
	account, first, second := createDelivered(t, st)
	mustDo(t, st.DeleteSavedSearch(t.Context(), account, first.UUID))
	mustHaveSent(t, st, 2, 2, 2)
	for _, d := range mustDeliveries(t, st, account) {
		same(t, "what is left tells of", cola.Some(second.UUID), d.SavedSearch)
	}
	mustDo(t, st.DeleteSavedSearch(t.Context(), account, second.UUID))
	mustHaveSent(t, st, 2, 0, 0)
}

// deletedWhileRecorded checks that the run is recorded and that a deleted destination has no
// pending deliveries, whichever comes first.
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
