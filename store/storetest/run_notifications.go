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
		{"recorded run creates deliveries", runCreatesDeliveries},
		{"destinations of a run", runDestinations},
		{"account without email", runWithoutEmail},
		{"destination of a search replaces the account's", searchDestinationReplaces},
		{"runs recorded together", manyRunsCreateDeliveries},
		{"rejected run creates no deliveries", rejectedRunCreatesNoDeliveries},
		{"concurrent runs and destination changes", concurrentRunsAndDestinations},
	})
}

var messageID = regexp.MustCompile(`^msg_[0-9a-f]{32}$`)

func runCreatesDeliveries(t *testing.T, st store.Store, _ *clock) {
	a := mustNotify(t, st, "a@example.com", 1, 2)
	list := deliveriesOf(t, st, a.ID, store.DeliveryFilter{Destination: a.hook.UUID})
	if len(list) != 2 || list[0].ID >= list[1].ID || list[0].MessageID == list[1].MessageID ||
		!messageID.MatchString(list[1].MessageID) {
		t.Fatalf("deliveries = %+v, want two with distinct IDs", list)
	}
	ran := cola.TimestampOf(duePast)
	checkEqual(t, "delivery", cola.Delivery{
		ID:            list[1].ID,
		MessageID:     list[1].MessageID,
		Event:         cola.EventRan,
		Destination:   a.hook.UUID,
		Kind:          cola.KindWebhook,
		SavedSearch:   cola.Some(a.search.UUID),
		RunID:         cola.Some(a.run),
		State:         cola.DeliveryPending,
		CreatedAt:     ran,
		NextAttemptAt: cola.Some(ran),
	}, list[1])
	own := deliveriesOf(t, st, a.ID, store.DeliveryFilter{Destination: mustOwn(t, st, a.ID).UUID}) // paused
	if len(own) != 2 {
		t.Fatalf("deliveries = %+v, want two", own)
	}
	checkEqual(t, "delivery to a paused destination",
		cola.Delivery{
			ID:          own[1].ID,
			MessageID:   own[1].MessageID,
			Event:       cola.EventRan,
			Destination: own[1].Destination,
			Kind:        cola.KindEmail,
			SavedSearch: cola.Some(a.search.UUID),
			RunID:       cola.Some(a.run),
			State:       cola.DeliverySkipped,
			Error:       cola.Some("The destination was paused."),
			CreatedAt:   ran,
			SettledAt:   cola.Some(ran),
		}, own[1])
}

// deliveredTo returns the names of the destinations of a run's messages. A leading minus marks
// skipped messages.
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

func runDestinations(t *testing.T, st store.Store, _ *clock) {
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

	found := mustRun(t, st, search, 1, -2).Run
	checkEqual(t, "destinations of a run with matches",
		[]string{"-empty disabled", "-paused", "all", "empty", "own", "search"}, deliveredTo(t, st, a.ID, found, names))
	unmatched := mustRun(t, st, search).Run
	checkEqual(t, "destinations of a run without matches", []string{"-empty disabled", "empty"},
		deliveredTo(t, st, a.ID, unmatched, names))
	repeatRun := mustRun(t, st, search, 1, 2).Run
	checkEqual(t, "destinations of a run without new matches", []string{"-empty disabled", "empty"},
		deliveredTo(t, st, a.ID, repeatRun, names))
	checkEqual(t, "destinations of a run of another search",
		[]string{"-empty disabled", "-paused", "all", "empty", "empty other", "other", "own"},
		deliveredTo(t, st, a.ID, mustRun(t, st, other, 1).Run, names))
	checkEqual(t, "deliveries of another account", []cola.Delivery(nil),
		append([]cola.Delivery(nil), deliveriesOf(t, st, b.ID, store.DeliveryFilter{})...))
}

func runWithoutEmail(t *testing.T, st store.Store, _ *clock) {
	a := mustAccountOf(t, st, testIssuer, "1", "")
	search := mustCreate(t, st, newSearch(a.ID, 1))
	names := map[string]string{
		mustOwn(t, st, a.ID).UUID:                                      "own",
		mustDestination(t, st, newHook(a.ID, hook)).UUID:               "hook",
		mustDestination(t, st, newMailbox(a.ID, "x@example.com")).UUID: "mailbox",
	}
	checkEqual(t, "destinations without an email", []string{"hook", "mailbox"},
		deliveredTo(t, st, a.ID, mustRun(t, st, search, 1).Run, names))
	checkEqual(t, "account", a.ID, mustAccountOf(t, st, testIssuer, "1", "x@Example.com").ID)
	checkEqual(t, "destinations with the email of a mailbox", []string{"hook", "own"},
		deliveredTo(t, st, a.ID, mustRun(t, st, search, 2).Run, names))
}

func searchDestinationReplaces(t *testing.T, st store.Store, _ *clock) {
	a := roomyAccount(t, st, "Ann@example.com")
	search, other := mustCreate(t, st, newSearch(a.ID, 1)), mustCreate(t, st, newSearch(a.ID, 2))
	mine := mustDestination(t, st, forSearch(newMailbox(a.ID, "ann@EXAMPLE.com"), search))
	hooked := mustDestination(t, st, forSearch(newHook(a.ID, hook), search))
	names := map[string]string{
		mustOwn(t, st, a.ID).UUID: "own",
		mine.UUID:                 "the search's own",
		hooked.UUID:               "hook of the search",
		mustDestination(t, st, newHook(a.ID, hook)).UUID:                               "hook",
		mustDestination(t, st, newHook(a.ID, "https://HOOKS.example.com/labels")).UUID: "hook in different case",
	}
	run := func(s cola.SavedSearch, label int) []string {
		return deliveredTo(t, st, a.ID, mustRun(t, st, s, label).Run, names)
	}
	checkEqual(t, "destinations of a run", []string{"hook in different case", "hook of the search", "the search's own"},
		run(search, 1))
	checkEqual(t, "destinations of a run of another search", []string{"hook", "hook in different case", "own"},
		run(other, 1))
	mustSetActive(t, st, mine, false)
	checkEqual(t, "destinations with the search's own paused",
		[]string{"-the search's own", "hook in different case", "hook of the search"}, run(search, 2))
	changeDestination(t, st, mine, inState(cola.DestinationUnconfirmed, ""))
	checkEqual(t, "destinations with the search's own unconfirmed",
		[]string{"hook in different case", "hook of the search", "own"}, run(search, 3))
}

func manyRunsCreateDeliveries(t *testing.T, st store.Store, _ *clock) {
	a := roomyAccount(t, st, "a@example.com")
	d := mustDestination(t, st, newHook(a.ID, hook))
	for n := range 30 {
		mustCreate(t, st, dueSearch(a.ID, n, epoch))
	}
	var runs []store.RunRecord
	for i, d := range mustClaim(t, st, noLimit, anHour) {
		runs = append(runs, runOf(t, st, d, make([]int, i%3)...))
	}
	want := map[int64]bool{}
	for i, o := range recordRuns(t, st, runs...) {
		if i%3 > 0 {
			want[o.Run] = true
		}
	}
	for _, to := range []string{d.UUID, mustOwn(t, st, a.ID).UUID} {
		got := map[int64]bool{}
		for _, d := range deliveriesOf(t, st, a.ID, store.DeliveryFilter{Destination: to}) {
			got[d.RunID.V] = true
		}
		checkEqual(t, "notified runs", want, got)
	}
}

func rejectedRunCreatesNoDeliveries(t *testing.T, st store.Store, c *clock) {
	a := mustAccount(t, st, "a@example.com", cola.TierFree)
	mustCreate(t, st, newSearch(a.ID, 1))
	first := mustClaimOne(t, st)
	c.advance(anHour)
	second := mustClaimOne(t, st)
	checkRunRejected(t, st, "claim taken over", runOf(t, st, first, 1))
	other := runOf(t, st, second, 1)
	other.Mark.Revision++
	checkRunRejected(t, st, "unknown mark", other)
	checkEqual(t, "number of deliveries", 0, len(deliveriesOf(t, st, a.ID, store.DeliveryFilter{})))
	mustRecord(t, st, runOf(t, st, second, 1))
	checkEqual(t, "number of deliveries", 1, len(deliveriesOf(t, st, a.ID, store.DeliveryFilter{})))
}

// concurrentRunsAndDestinations creates, pauses, activates and deletes destinations while runs are
// recorded. Every run is recorded, and no delivery to a paused destination stays pending.
func concurrentRunsAndDestinations(t *testing.T, st store.Store, _ *clock) {
	a := roomyAccount(t, st, "a@example.com")
	search := mustCreate(t, st, newSearch(a.ID, 1))
	toggled := mustDestination(t, st, newHook(a.ID, hook))
	done := make(chan struct{})
	end := sync.OnceFunc(func() { close(done) })
	var wg sync.WaitGroup
	defer wg.Wait()
	defer end()
	repeat := func(work func()) {
		wg.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
					work()
				}
			}
		})
	}
	repeat(func() { mustSetActive(t, st, toggled, true); mustSetActive(t, st, toggled, false) })
	for _, address := range []string{hook + "/1", hook + "/2"} {
		repeat(func() {
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
		mustRun(t, st, search, n)
		time.Sleep(time.Millisecond)
	}
	end()
	wg.Wait()
	checkEqual(t, "number of deliveries to the account's own address", runs,
		len(deliveriesOf(t, st, a.ID, store.DeliveryFilter{Destination: mustOwn(t, st, a.ID).UUID})))
	all := deliveriesOf(t, st, a.ID, store.DeliveryFilter{Destination: toggled.UUID})
	pending := deliveriesOf(t, st, a.ID, store.DeliveryFilter{Destination: toggled.UUID, State: cola.DeliveryPending})
	if len(all) != runs || len(pending) != 0 {
		t.Errorf("%d deliveries to the paused destination, %d pending; want %d, 0", len(all), len(pending), runs)
	}
}
