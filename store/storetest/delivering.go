package storetest

import (
	"context"
	"slices"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

// allKinds are all kinds of destination.
var allKinds = []string{cola.KindEmail, cola.KindWebhook}

// mustFind runs a search, which is due, and at once due again, at duePast, and returns what was recorded.
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

// told is an account with a search that has found a label, and the webhook that this is told to; the account's own address is paused.
type told struct {
	store.Account
	search cola.SavedSearch
	hook   store.Destination
	run    int64
}

// mustTell makes an account whose search finds labels as often as is said.
func mustTell(t tb, st store.Store, email string, n, runs int) told {
	t.Helper()
	a := told{Account: roomyAccount(t, st, email)}
	a.search = mustCreate(t, st, newSearch(a.ID, n))
	mustTurn(t, st, mustOwn(t, st, a.ID), false)
	a.hook = mustDestination(t, st, newHook(a.ID, hook))
	for i := range runs {
		a.run = mustFind(t, st, a.search, 100*n+i).Run
	}
	return a
}

// mustTurn makes a destination active, or pauses it as its holder does.
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

// mustClaimDelivery claims the only delivery that is due.
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

// took is how long the attempts of tests take.
const took = 184 * time.Millisecond

// delivered returns an attempt that gets through, at an instant.
func delivered(d store.DueDelivery, at time.Time) store.Attempt {
	return store.Attempt{Due: d, At: at, Took: took, Status: 200, State: cola.DeliveryDelivered}
}

// retried returns an attempt that does not, and that is to be followed by another one in an hour.
func retried(d store.DueDelivery, at time.Time) store.Attempt {
	return store.Attempt{Due: d, At: at, Took: took, Status: 503, Error: unwell, State: cola.DeliveryPending, Next: at.Add(anHour)}
}

// givenUp returns an attempt that is the last one, with what becomes of the destination.
func givenUp(d store.DueDelivery, at time.Time, pause string) store.Attempt {
	return store.Attempt{Due: d, At: at, Took: took, Error: unwell, State: cola.DeliveryFailed, Pause: pause}
}

const unwell = "The receiver answered 503."

// mustNote has an attempt recorded.
func mustNote(t tb, st store.Store, a store.Attempt) {
	t.Helper()
	recorded, err := st.RecordAttempt(context.Background(), a)
	if !must(t, recorded, err) {
		t.Errorf("the attempt at delivery %d was not recorded", a.Due.ID)
	}
}

// mustNotNote holds a store to leaving an attempt out, whole.
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

// mustDestinationNow returns a destination as it is now.
func mustDestinationNow(t tb, st store.Store, d store.Destination) store.Destination {
	t.Helper()
	d, err := st.Destination(context.Background(), d.Account, d.UUID)
	return must(t, d, err)
}

// mustMessage has a message for trials sent to a destination.
func mustMessage(t tb, st store.Store, to store.Destination, due time.Time) cola.Delivery {
	t.Helper()
	d, err := st.AddTest(context.Background(), to.Account, to.UUID, due)
	return must(t, d, err)
}
