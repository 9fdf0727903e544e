package storetest

import (
	"regexp"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

func testRunNotifications(t *testing.T, open Opener) {
	runChecks(t, open, []check{
		{"a run comes to be sent when it is recorded", runIsDelivered},
		{"a run is told to the destinations of its search", runIsDeliveredTo},
		{"an account without an email address is told elsewhere", namelessIsDelivered},
		{"a destination of a search comes in place of the account's", ownComesInPlace},
		{"runs that are recorded together are told", manyAreDelivered},
		{"a run that is left out is told to nobody", inactiveIsNotDelivered},
		{"runs and changes of destinations do not wait for each other for good", runsMeetDestinations},
	})
}

var messageID = regexp.MustCompile(`^msg_[0-9a-f]{32}$`)

func runIsDelivered(t *testing.T, st store.Store, _ *clock) {
	a := mustNotify(t, st, "a@example.com", 1, 2)
	list := deliveriesOf(t, st, a.ID, store.DeliveryFilter{Destination: a.hook.UUID})
	if len(list) != 2 || list[0].ID >= list[1].ID || list[0].MessageID == list[1].MessageID || !messageID.MatchString(list[1].MessageID) {
		t.Fatalf("deliveries %+v, want two with an id each", list)
	}
	ran := cola.TimestampOf(duePast)
	same(t, "delivery", cola.Delivery{ID: list[1].ID, MessageID: list[1].MessageID, Event: cola.EventRan, Destination: a.hook.UUID, Kind: cola.KindWebhook,
		SavedSearch: cola.Some(a.search.UUID), RunID: cola.Some(a.run), State: cola.DeliveryPending, CreatedAt: ran, NextAttemptAt: cola.Some(ran)}, list[1])
	own := deliveriesOf(t, st, a.ID, store.DeliveryFilter{Destination: mustOwn(t, st, a.ID).UUID}) // paused
	if len(own) != 2 {
		t.Fatalf("deliveries %+v, want two", own)
	}
	same(t, "delivery to a paused destination", cola.Delivery{ID: own[1].ID, MessageID: own[1].MessageID, Event: cola.EventRan, Destination: own[1].Destination,
		Kind: cola.KindEmail, SavedSearch: cola.Some(a.search.UUID), RunID: cola.Some(a.run), State: cola.DeliverySkipped,
		Error: cola.Some("The destination was paused."), CreatedAt: ran, SettledAt: cola.Some(ran)}, own[1])
}

// deliveredTo returns the names of the destinations of a run's messages. A minus marks skipped
// ones.
func deliveredTo(t *testing.T, st store.Store, account cola.AccountID, run int64, names map[string]string) []string {
	t.Helper()
	list := []string{}
	for _, d := range deliveriesOf(t, st, account, store.DeliveryFilter{}) {
		name := names[d.Destination]
		if d.State == cola.DeliverySkipped {
			name = "-" + name
		}
		if d.RunID == cola.Some(run) {
			list = append(list, name)
		}
	}
	slices.Sort(list)
	return list
}

func runIsDeliveredTo(t *testing.T, st store.Store, _ *clock) {
	a, b := roomyAccount(t, st, "a@example.com"), mustAccount(t, st, "b@example.com", cola.TierFree)
	search, other := mustCreate(t, st, newSearch(a.ID, 1)), mustCreate(t, st, newSearch(a.ID, 2))
	names := map[string]string{mustOwn(t, st, a.ID).UUID: "own"}
	add := func(name string, n store.NewDestination, change func(*store.Destination)) {
		names[changeDestination(t, st, mustDestination(t, st, n), change).UUID] = name
	}
	active := inState(cola.DestinationActive, "")
	empty := func(n store.NewDestination) store.NewDestination { n.SendEmpty = true; return n }
	add("all", newHook(a.ID, hook), active)
	add("empty", empty(newHook(a.ID, hook+"/empty")), active)
	add("search", forSearch(newHook(a.ID, hook+"/search"), search), active)
	add("other", forSearch(newHook(a.ID, hook+"/other"), other), active)
	add("empty other", empty(forSearch(newMailbox(a.ID, "c@example.com"), other)), active)
	add("paused", newHook(a.ID, hook+"/paused"), inState(cola.DestinationPaused, cola.ReasonUnsubscribed))
	add("empty disabled", empty(newHook(a.ID, hook+"/disabled")), inState(cola.DestinationDisabled, cola.ReasonGone))
	add("unconfirmed", newMailbox(a.ID, "d@example.com"), inState(cola.DestinationUnconfirmed, ""))
	add("another account's", empty(newHook(b.ID, hook)), active)

	found := mustFind(t, st, search, 1, -2).Run
	same(t, "a run that found something", []string{"-empty disabled", "-paused", "all", "empty", "own", "search"}, deliveredTo(t, st, a.ID, found, names))
	none := mustFind(t, st, search).Run
	same(t, "a run that found nothing", []string{"-empty disabled", "empty"}, deliveredTo(t, st, a.ID, none, names))
	again := mustFind(t, st, search, 1, 2).Run
	same(t, "a run that found nothing new", []string{"-empty disabled", "empty"}, deliveredTo(t, st, a.ID, again, names))
	same(t, "a run of another search", []string{"-empty disabled", "-paused", "all", "empty", "empty other", "other", "own"},
		deliveredTo(t, st, a.ID, mustFind(t, st, other, 1).Run, names))
	same(t, "another account's", []cola.Delivery(nil), append([]cola.Delivery(nil), deliveriesOf(t, st, b.ID, store.DeliveryFilter{})...))
}

func namelessIsDelivered(t *testing.T, st store.Store, _ *clock) {
	a := mustAccountOf(t, st, anIssuer, "1", "")
	search := mustCreate(t, st, newSearch(a.ID, 1))
	names := map[string]string{mustOwn(t, st, a.ID).UUID: "own", mustDestination(t, st, newHook(a.ID, hook)).UUID: "hook",
		mustDestination(t, st, newMailbox(a.ID, "x@example.com")).UUID: "mailbox"}
	same(t, "without an address", []string{"hook", "mailbox"}, deliveredTo(t, st, a.ID, mustFind(t, st, search, 1).Run, names))
	same(t, "the account", a.ID, mustAccountOf(t, st, anIssuer, "1", "x@Example.com").ID)
	same(t, "with the address of a mailbox", []string{"hook", "own"}, deliveredTo(t, st, a.ID, mustFind(t, st, search, 2).Run, names))
}

func ownComesInPlace(t *testing.T, st store.Store, _ *clock) {
	a := roomyAccount(t, st, "Ann@example.com")
	search, other := mustCreate(t, st, newSearch(a.ID, 1)), mustCreate(t, st, newSearch(a.ID, 2))
	mine := mustDestination(t, st, forSearch(newMailbox(a.ID, "ann@EXAMPLE.com"), search))
	hooked := mustDestination(t, st, forSearch(newHook(a.ID, hook), search))
	names := map[string]string{mustOwn(t, st, a.ID).UUID: "own", mine.UUID: "own of the search", hooked.UUID: "hook of the search",
		mustDestination(t, st, newHook(a.ID, hook)).UUID:                               "hook",
		mustDestination(t, st, newHook(a.ID, "https://HOOKS.example.com/labels")).UUID: "hook in another case"}
	run := func(s cola.SavedSearch, label int) []string {
		return deliveredTo(t, st, a.ID, mustFind(t, st, s, label).Run, names)
	}
	same(t, "a run", []string{"hook in another case", "hook of the search", "own of the search"}, run(search, 1))
	same(t, "a run of another search", []string{"hook", "hook in another case", "own"}, run(other, 1))
	mustTurn(t, st, mine, false)
	same(t, "with the search's paused", []string{"-own of the search", "hook in another case", "hook of the search"}, run(search, 2))
	changeDestination(t, st, mine, inState(cola.DestinationUnconfirmed, ""))
	same(t, "with the search's unconfirmed", []string{"hook in another case", "hook of the search", "own"}, run(search, 3))
}

func manyAreDelivered(t *testing.T, st store.Store, _ *clock) {
	a := roomyAccount(t, st, "a@example.com")
	d := mustDestination(t, st, newHook(a.ID, hook))
	for n := range 30 {
		mustCreate(t, st, dueSearch(a.ID, n, epoch))
	}
	var runs []store.RunRecord
	for i, d := range mustClaim(t, st, everyID, anHour) {
		runs = append(runs, runOf(t, st, d, make([]int, i%3)...))
	}
	want := map[int64]bool{}
	for i, o := range record(t, st, runs...) {
		if i%3 > 0 {
			want[o.Run] = true
		}
	}
	for _, to := range []string{d.UUID, mustOwn(t, st, a.ID).UUID} {
		got := map[int64]bool{}
		for _, d := range deliveriesOf(t, st, a.ID, store.DeliveryFilter{Destination: to}) {
			got[d.RunID.V] = true
		}
		same(t, "runs that are told", want, got)
	}
}

func inactiveIsNotDelivered(t *testing.T, st store.Store, c *clock) {
	a := mustAccount(t, st, "a@example.com", cola.TierFree)
	mustCreate(t, st, newSearch(a.ID, 1))
	first := mustClaimOne(t, st)
	c.advance(anHour)
	second := mustClaimOne(t, st)
	mustNotRecord(t, st, "under a claim that was taken over", runOf(t, st, first, 1))
	other := runOf(t, st, second, 1)
	other.Mark.Revision++
	mustNotRecord(t, st, "with a mark of another past", other)
	same(t, "deliveries", 0, len(deliveriesOf(t, st, a.ID, store.DeliveryFilter{})))
	mustRecord(t, st, runOf(t, st, second, 1))
	same(t, "deliveries", 1, len(deliveriesOf(t, st, a.ID, store.DeliveryFilter{})))
}

// runsMeetDestinations creates, pauses, activates and deletes destinations while runs are recorded.
// Every run is recorded, and no delivery to a paused destination stays pending.
func runsMeetDestinations(t *testing.T, st store.Store, _ *clock) {
	a := roomyAccount(t, st, "a@example.com")
	search := mustCreate(t, st, newSearch(a.ID, 1))
	turned := mustDestination(t, st, newHook(a.ID, hook))
	over := make(chan struct{})
	end := sync.OnceFunc(func() { close(over) })
	var wg sync.WaitGroup
	defer wg.Wait()
	defer end()
	until := func(work func()) {
		wg.Go(func() {
			for {
				select {
				case <-over:
					return
				default:
					work()
				}
			}
		})
	}
	until(func() { mustTurn(t, st, turned, true); mustTurn(t, st, turned, false) })
	for _, address := range []string{hook + "/1", hook + "/2"} {
		until(func() {
			d, err := st.CreateDestination(t.Context(), newHook(a.ID, address))
			if err == nil {
				err = st.DeleteDestination(t.Context(), a.ID, d.UUID)
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	const runs = 40
	for n := range runs {
		mustFind(t, st, search, n)
		time.Sleep(time.Millisecond)
	}
	end()
	wg.Wait()
	same(t, "told to the account's own address", runs, len(deliveriesOf(t, st, a.ID, store.DeliveryFilter{Destination: mustOwn(t, st, a.ID).UUID})))
	all := deliveriesOf(t, st, a.ID, store.DeliveryFilter{Destination: turned.UUID})
	pending := deliveriesOf(t, st, a.ID, store.DeliveryFilter{Destination: turned.UUID, State: cola.DeliveryPending})
	if len(all) != runs || len(pending) != 0 {
		t.Errorf("%d messages to a destination that is paused, %d of them pending; want %d, and none", len(all), len(pending), runs)
	}
}
