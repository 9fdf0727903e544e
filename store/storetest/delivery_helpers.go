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

// mustRun runs a due search and returns the outcome. The search becomes due again at duePast.
func mustRun(t tb, st store.Store, search cola.SavedSearch, labels ...int) store.RunOutcome {
	t.Helper()
	claimed := mustClaim(t, st, noLimit, anHour)
	i := slices.IndexFunc(claimed, func(d store.DueSearch) bool { return d.Search.UUID == search.UUID })
	if i < 0 {
		t.Fatalf("search %q is not due", search.Name)
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
	run    int64 // ID of the latest run
}

// mustNotify creates an account whose search has had the given number of runs with matches.
func mustNotify(t tb, st store.Store, email string, n, runs int) notified {
	t.Helper()
	a := notified{Account: roomyAccount(t, st, email)}
	a.search = mustCreate(t, st, newSearch(a.ID, n))
	mustSetActive(t, st, mustOwn(t, st, a.ID), false)
	a.hook = mustDestination(t, st, newHook(a.ID, hook))
	for i := range runs {
		a.run = mustRun(t, st, a.search, 100*n+i).Run
	}
	return a
}

// mustSetActive activates a destination, or pauses it on behalf of the account holder.
func mustSetActive(t tb, st store.Store, d store.Destination, active bool) store.Destination {
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
	claimed := claimDeliveries(t, st, noLimit)
	if len(claimed) != 1 {
		t.Fatalf("ClaimDeliveries = %v, want one delivery", deliveryIDs(claimed))
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

// attemptDuration is the duration of attempts in tests.
const attemptDuration = 184 * time.Millisecond

// deliveredAttempt returns a successful attempt.
func deliveredAttempt(d store.DueDelivery, at time.Time) store.Attempt {
	return store.Attempt{Due: d, At: at, Took: attemptDuration, Status: 200, State: cola.DeliveryDelivered}
}

// retriedAttempt returns a failed attempt with a retry in an hour.
func retriedAttempt(d store.DueDelivery, at time.Time) store.Attempt {
	return store.Attempt{
		Due:    d,
		At:     at,
		Took:   attemptDuration,
		Status: 503,
		Error:  receiverError,
		State:  cola.DeliveryPending,
		Next:   at.Add(anHour),
	}
}

// failedAttempt returns a failed attempt without a retry. If pause is not empty, the attempt
// pauses or disables the destination for that reason.
func failedAttempt(d store.DueDelivery, at time.Time, pause string) store.Attempt {
	return store.Attempt{
		Due:   d,
		At:    at,
		Took:  attemptDuration,
		Error: receiverError,
		State: cola.DeliveryFailed,
		Pause: pause,
	}
}

const receiverError = "The receiver responded with status 503."

// mustRecordAttempt records an attempt and checks that the store accepts it.
func mustRecordAttempt(t tb, st store.Store, a store.Attempt) {
	t.Helper()
	recorded, err := st.RecordAttempt(context.Background(), a)
	if !must(t, recorded, err) {
		t.Errorf("RecordAttempt(delivery %d) = false, want true", a.Due.ID)
	}
}

// checkAttemptRejected checks that an attempt is rejected without side effects.
func checkAttemptRejected(t tb, st store.Store, desc string, a store.Attempt) {
	t.Helper()
	before := storeContents(t, st)
	recorded, err := st.RecordAttempt(context.Background(), a)
	if must(t, recorded, err) {
		t.Errorf("%s: RecordAttempt = true, want false", desc)
	}
	checkEqual(t, desc+": store contents", before, storeContents(t, st))
}

// deliveriesOf returns an account's deliveries, oldest first.
func deliveriesOf(t tb, st store.Store, account cola.AccountID, which store.DeliveryFilter) []cola.Delivery {
	t.Helper()
	list, total, err := st.DeliveriesOf(context.Background(), account, which, store.Slice{Limit: noLimit})
	if must(t, list, err); total != len(list) {
		t.Errorf("DeliveriesOf total = %d, want %d", total, len(list))
	}
	slices.Reverse(list)
	return list
}

func mustDelivery(t tb, st store.Store, account cola.AccountID, id int64) cola.DeliveryDetail {
	t.Helper()
	d, err := st.DeliveryOf(context.Background(), account, id)
	return must(t, d, err)
}

// mustReload reads a destination again.
func mustReload(t tb, st store.Store, d store.Destination) store.Destination {
	t.Helper()
	d, err := st.Destination(context.Background(), d.Account, d.UUID)
	return must(t, d, err)
}

// mustSendTest adds a test message to a destination, due at the given time.
func mustSendTest(t tb, st store.Store, to store.Destination, due time.Time) cola.Delivery {
	t.Helper()
	d, err := st.AddTest(context.Background(), to.Account, to.UUID, due)
	return must(t, d, err)
}

// populateDelivered creates an account with two searches that have run, the first with its own
// destination, and attempts each delivery once.
func populateDelivered(t *testing.T, st store.Store) (account cola.AccountID, first, second cola.SavedSearch) {
	t.Helper()
	a := mustAccount(t, st, "a@example.com", cola.TierFree)
	hooked := mustDestination(t, st, newHook(a.ID, hook))
	first = mustCreate(t, st, dueSearch(a.ID, 1, epoch))
	only := mustDestination(t, st, forSearch(newHook(a.ID, hook+"/1"), first))
	mustRecord(t, st, runOf(t, st, mustClaimOne(t, st), 1))
	claimed := mustClaimDeliveries(t, st)
	for _, d := range []store.Destination{mustOwn(t, st, a.ID), hooked, only} {
		attempt(t, st, claimed, d, cola.EventRan, receiverError, cola.DeliveryPending)
	}
	second = runWithMatch(t, st, a.ID, 2)
	claimed = mustClaimDeliveries(t, st)
	for _, d := range []store.Destination{mustOwn(t, st, a.ID), hooked} {
		attempt(t, st, claimed, d, cola.EventRan, "", cola.DeliveryDelivered)
	}
	checkDeliveryCounts(t, st, 3, 5, 5)
	return a.ID, first, second
}

// checkDeliveryCounts checks the numbers of destinations, deliveries and attempts.
func checkDeliveryCounts(t tb, st store.Store, destinations, deliveries, attempts int) {
	t.Helper()
	sizes, err := st.Sizes(context.Background())
	want := map[store.ItemKind]int{
		store.ItemDestination: destinations,
		store.ItemDelivery:    deliveries,
		store.ItemAttempt:     attempts,
	}
	got := map[store.ItemKind]int{}
	for kind := range want {
		got[kind] = must(t, sizes, err)[kind]
	}
	checkEqual(t, "stored items", want, got)
}

func deleteDestination(t *testing.T, st store.Store, _ *clock) {
	account, _, _ := populateDelivered(t, st)
	list := mustDestinations(t, st, account)
	mustDo(t, st.DeleteDestination(t.Context(), account, list[1].UUID))
	checkDeliveryCounts(t, st, 2, 3, 3)
	checkEqual(t, "Destinations", []store.Destination{list[0], list[2]}, mustDestinations(t, st, account))
	if err := st.DeleteDestination(t.Context(), account, list[1].UUID); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("second DeleteDestination error = %v, want ErrNotFound", err)
	}
	// The account's own destination can be deleted too.
	mustDo(t, st.DeleteDestination(t.Context(), account, list[0].UUID))
	checkDeliveryCounts(t, st, 1, 1, 1)
	runWithMatch(t, st, account, 3)
	checkEqual(t, "number of deliveries after another run", 1, len(mustDeliveries(t, st, account)))
}

func deleteSearchDestinations(t *testing.T, st store.Store, _ *clock) {
	account, first, second := populateDelivered(t, st)
	mustDo(t, st.DeleteSavedSearch(t.Context(), account, first.UUID))
	checkDeliveryCounts(t, st, 2, 2, 2)
	for _, d := range mustDeliveries(t, st, account) {
		checkEqual(t, "search of a remaining delivery", cola.Some(second.UUID), d.SavedSearch)
	}
	mustDo(t, st.DeleteSavedSearch(t.Context(), account, second.UUID))
	checkDeliveryCounts(t, st, 2, 0, 0)
}

// deleteWhileRecording checks that the run is recorded and that a deleted destination has no
// pending deliveries, whether the run or the deletion comes first.
func deleteWhileRecording(t *testing.T, st store.Store, _ *clock) {
	a := roomyAccount(t, st, "a@example.com")
	for round := range 15 {
		mustCreate(t, st, dueSearch(a.ID, round, epoch))
		run := runOf(t, st, mustClaimOne(t, st), 1)
		hooked := mustDestination(t, st, newHook(a.ID, hook))
		var wg sync.WaitGroup
		wg.Go(func() { mustRecord(t, st, run) })
		wg.Go(func() {
			if err := st.DeleteDestination(t.Context(), a.ID, hooked.UUID); err != nil {
				t.Errorf("DeleteDestination: %v", err)
			}
		})
		wg.Wait()
		checkDeliveryCounts(t, st, 1, round+1, 0)
	}
}
