package storetest

import (
	"sync"
	"testing"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

func testAttempts(t *testing.T, open Opener) {
	runChecks(t, open, []check{
		{"what gets through is delivered", getsThrough},
		{"what does not is tried again, and given up", triedAndGivenUp},
		{"a destination that fails is paused, and its account told", failingIsPaused},
		{"a destination that is gone is disabled", goneIsDisabled},
		{"a destination that something gets through to is not paused", workingIsNotPaused},
		{"an account is told at its own address, if it has another one", toldOfPause},
		{"what tells of a pause does not count for the destination", pauseMessageIsApart},
		{"attempts under way when a destination is paused are noted", pausedUnderWay},
		{"whatever a receiver says can be noted", oddErrors},
		{"a destination that fails many times at once is paused once", pausedByMany},
		{"a pause while runs are recorded skips all", pauseMeetsRuns},
	})
}

// endOf returns the end of an attempt that began at an instant.
func endOf(at time.Time) cola.Opt[cola.Timestamp] { return cola.Some(cola.TimestampOf(at.Add(took))) }

func getsThrough(t *testing.T, st store.Store, _ *clock) {
	a := mustNotify(t, st, "a@example.com", 1, 1)
	d := mustClaimDelivery(t, st)
	at := duePast.Add(time.Second + 789*time.Nanosecond) // stored in whole microseconds
	mustNote(t, st, delivered(d, at))
	at = at.Truncate(time.Microsecond)
	got := mustDelivery(t, st, a.ID, d.ID)
	same(t, "delivery", cola.DeliveryDetail{
		Delivery: cola.Delivery{ID: d.ID, MessageID: d.MessageID, Event: cola.EventRan, Destination: a.hook.UUID, Kind: cola.KindWebhook,
			SavedSearch: cola.Some(a.search.UUID), RunID: cola.Some(a.run), State: cola.DeliveryDelivered, AttemptCount: 1,
			CreatedAt: cola.TimestampOf(duePast), SettledAt: endOf(at)},
		Attempts: []cola.DeliveryAttempt{{At: cola.TimestampOf(at), DurationMS: 184, Status: cola.Some(200)}},
	}, got)
	a.hook.LastDeliveredAt = endOf(at)
	same(t, "destination", a.hook, mustDestinationNow(t, st, a.hook))
	claimed, err := st.ClaimDeliveries(t.Context(), duePast.Add(1000*week), allKinds, everyID, anHour)
	same(t, "due in years", []int64{}, deliveryIDs(must(t, claimed, err)))
}

func triedAndGivenUp(t *testing.T, st store.Store, _ *clock) {
	a := mustNotify(t, st, "a@example.com", 1, 1)
	at, first := duePast, cola.Some(cola.TimestampOf(duePast))
	d := mustClaimDelivery(t, st)
	mustNote(t, st, retried(d, at))
	got := mustDelivery(t, st, a.ID, d.ID)
	attempt := cola.DeliveryAttempt{At: first.V, DurationMS: 184, Status: cola.Some(503), Error: cola.Some(unwell)}
	want := cola.DeliveryDetail{Delivery: got.Delivery, Attempts: []cola.DeliveryAttempt{attempt}}
	want.State, want.Error, want.AttemptCount, want.NextAttemptAt, want.SettledAt = cola.DeliveryPending, cola.Some(unwell), 1,
		cola.Some(cola.TimestampOf(at.Add(anHour))), cola.Opt[cola.Timestamp]{}
	same(t, "tried once", want, got)
	a.hook.FailingSince = first
	same(t, "a destination that fails", a.hook, mustDestinationNow(t, st, a.hook))

	next := func(after time.Duration) store.DueDelivery {
		t.Helper()
		at = at.Add(after)
		claimed, err := st.ClaimDeliveries(t.Context(), at, allKinds, everyID, anHour)
		if len(must(t, claimed, err)) != 1 {
			t.Fatal("claimed", deliveryIDs(claimed), "want one")
		}
		return claimed[0]
	}
	for n := range 3 {
		d = next(anHour)
		same(t, "attempts so far", n+1, d.Attempts)
		same(t, "the first attempt", duePast, d.FirstAttemptAt)
		mustNote(t, st, retried(d, at))
	}
	same(t, "a destination that fails still", a.hook, mustDestinationNow(t, st, a.hook))
	mustNote(t, st, givenUp(next(anHour), at, ""))
	got = mustDelivery(t, st, a.ID, d.ID)
	same(t, "attempts", 5, len(got.Attempts))
	same(t, "the last attempt", cola.DeliveryAttempt{At: cola.TimestampOf(at), DurationMS: 184, Error: cola.Some(unwell)}, got.Attempts[4])
	want.Attempts, want.State, want.AttemptCount, want.NextAttemptAt, want.SettledAt = got.Attempts, cola.DeliveryFailed, 5, cola.Opt[cola.Timestamp]{}, endOf(at)
	same(t, "given up", want, got)

	test := mustMessage(t, st, a.hook, at)
	mustNote(t, st, delivered(next(time.Minute), at))
	a.hook.FailingSince, a.hook.LastDeliveredAt = cola.Opt[cola.Timestamp]{}, endOf(at)
	same(t, "a destination that works again", a.hook, mustDestinationNow(t, st, a.hook))
	same(t, "the test", cola.DeliveryDelivered, mustDelivery(t, st, a.ID, test.ID).State)
}

func failingIsPaused(t *testing.T, st store.Store, c *clock) {
	a := mustNotify(t, st, "a@example.com", 1, 3)
	other := mustDestination(t, st, newHook(a.ID, hook+"/other"))
	mustMessage(t, st, a.hook, duePast.Add(week))
	mustMessage(t, st, other, duePast.Add(week))
	claimed := claimDeliveries(t, st, 2)
	at := duePast.Add(72 * time.Hour)
	mustNote(t, st, givenUp(claimed[0], at, cola.ReasonFailing))

	a.hook.State, a.hook.Reason = cola.DestinationPaused, cola.Some(cola.ReasonFailing)
	a.hook.FailingSince = cola.Some(cola.TimestampOf(at))
	same(t, "the destination", a.hook, mustDestinationNow(t, st, a.hook))
	list := deliveriesOf(t, st, a.ID, store.DeliveryFilter{Destination: a.hook.UUID})
	if len(list) != 5 {
		t.Fatalf("%d deliveries, want three of runs, a test, and what tells of the pause", len(list))
	}
	same(t, "what was given up", cola.DeliveryFailed, list[0].State)
	for _, d := range list[1:4] {
		got := [...]any{d.State, d.Error, d.NextAttemptAt, d.SettledAt, d.AttemptCount}
		same(t, "what was pending", [...]any{cola.DeliverySkipped, cola.Some("The destination was paused."), cola.Opt[cola.Timestamp]{}, endOf(at), 0}, got)
	}
	told := list[4]
	same(t, "what tells of the pause", cola.Delivery{ID: told.ID, MessageID: told.MessageID, Event: cola.EventPaused, Destination: a.hook.UUID, Kind: cola.KindEmail,
		State: cola.DeliveryPending, CreatedAt: endOf(at).V, NextAttemptAt: endOf(at)}, told)
	same(t, "of another destination", 1, len(deliveriesOf(t, st, a.ID, store.DeliveryFilter{Destination: other.UUID, State: cola.DeliveryPending})))
	mustNote(t, st, delivered(claimed[1], at)) // already being sent
	same(t, "what was on its way", cola.DeliveryDelivered, mustDelivery(t, st, a.ID, claimed[1].ID).State)

	due, err := st.ClaimDeliveries(t.Context(), at.Add(anHour), allKinds, everyID, anHour)
	if len(must(t, due, err)) != 1 || due[0].ID != told.ID {
		t.Fatalf("claimed %v, want what tells of the pause", deliveryIDs(due))
	}
	same(t, "whom it is sent to", "a@example.com", due[0].AccountEmail)
	same(t, "what it tells of", cola.Some(cola.ReasonFailing), due[0].Destination.Reason)
	mustFind(t, st, a.search, 1_000)
	latest := deliveriesOf(t, st, a.ID, store.DeliveryFilter{Destination: a.hook.UUID})
	same(t, "a run since", cola.DeliverySkipped, latest[len(latest)-1].State)
}

func goneIsDisabled(t *testing.T, st store.Store, _ *clock) {
	a := mustNotify(t, st, "a@example.com", 1, 3)
	claimed := claimDeliveries(t, st, 2)
	mustTurn(t, st, a.hook, false) // a permanent rejection by the receiver takes precedence
	mustNote(t, st, givenUp(claimed[0], duePast, cola.ReasonGone))
	mustNote(t, st, givenUp(claimed[1], duePast, cola.ReasonGone)) // already known
	now := mustDestinationNow(t, st, a.hook)
	same(t, "state", cola.DestinationDisabled, now.State)
	same(t, "reason", cola.Some(cola.ReasonGone), now.Reason)
	events := map[string]int{}
	for _, d := range deliveriesOf(t, st, a.ID, store.DeliveryFilter{Destination: a.hook.UUID}) {
		events[d.Event+" "+d.State]++
	}
	same(t, "deliveries", map[string]int{cola.EventRan + " " + cola.DeliveryFailed: 2, cola.EventRan + " " + cola.DeliverySkipped: 1,
		cola.EventPaused + " " + cola.DeliveryPending: 1}, events)
	mustTurn(t, st, a.hook, true)
	mustFind(t, st, a.search, 1_000)
	list := deliveriesOf(t, st, a.ID, store.DeliveryFilter{Destination: a.hook.UUID, State: cola.DeliveryPending})
	same(t, "once it is active again", cola.EventRan, list[len(list)-1].Event)
}

func workingIsNotPaused(t *testing.T, st store.Store, _ *clock) {
	a := mustNotify(t, st, "a@example.com", 1, 3)
	claimed := claimDeliveries(t, st, everyID)
	mustNote(t, st, delivered(claimed[2], duePast.Add(time.Hour)))
	mustNote(t, st, givenUp(claimed[0], duePast.Add(72*time.Hour), cola.ReasonFailing))
	now := mustDestinationNow(t, st, a.hook)
	same(t, "a destination that something got through to since", cola.DestinationActive, now.State)
	same(t, "failing since", cola.Some(cola.TimestampOf(duePast.Add(72*time.Hour))), now.FailingSince)
	same(t, "given up", cola.DeliveryFailed, mustDelivery(t, st, a.ID, claimed[0].ID).State)
	same(t, "deliveries", 3, len(deliveriesOf(t, st, a.ID, store.DeliveryFilter{Destination: a.hook.UUID})))

	mustNote(t, st, retried(claimed[1], duePast.Add(time.Minute))) // began before the delivered one
	test := mustMessage(t, st, a.hook, duePast.Add(2*time.Hour))
	due, err := st.ClaimDeliveries(t.Context(), duePast.Add(2*time.Hour), allKinds, everyID, anHour)
	for _, d := range must(t, due, err) {
		if d.ID == test.ID {
			mustNote(t, st, givenUp(d, duePast.Add(80*time.Hour), cola.ReasonFailing))
		}
	}
	same(t, "a destination that nothing got through to since the message was made", cola.DestinationPaused, mustDestinationNow(t, st, a.hook).State)
}

func toldOfPause(t *testing.T, st store.Store, _ *clock) {
	pause := func(to store.Destination) (told int) {
		t.Helper()
		mustMessage(t, st, to, duePast)
		mustNote(t, st, givenUp(mustClaimDelivery(t, st), duePast, cola.ReasonFailing))
		same(t, "state", cola.DestinationPaused, mustDestinationNow(t, st, to).State)
		for _, d := range claimDeliveries(t, st, everyID) { // no other message is due
			t.Errorf("%s is due", d.Event)
		}
		due, err := st.ClaimDeliveries(t.Context(), duePast.Add(week), allKinds, everyID, anHour)
		for _, d := range must(t, due, err) {
			if told++; d.Event != cola.EventPaused || d.Kind != cola.KindEmail {
				t.Errorf("told %+v", d)
			}
			mustNote(t, st, delivered(d, duePast))
		}
		return told
	}
	a := mustAccount(t, st, "Ann@example.com", cola.TierFree)
	search := mustCreate(t, st, newSearch(a.ID, 1))
	same(t, "of a webhook", 1, pause(mustDestination(t, st, newHook(a.ID, hook))))
	same(t, "of another address", 1, pause(mustDestination(t, st, newMailbox(a.ID, "x@example.com"))))
	same(t, "of its own", 0, pause(mustOwn(t, st, a.ID)))
	same(t, "of its own for a search", 0, pause(mustDestination(t, st, forSearch(newMailbox(a.ID, "ANN@example.com"), search))))
	named := mustAccountOf(t, st, anIssuer, "1", "")
	same(t, "an account without an address", 0, pause(mustDestination(t, st, newHook(named.ID, hook))))
}

func pauseMessageIsApart(t *testing.T, st store.Store, _ *clock) {
	a := mustNotify(t, st, "a@example.com", 1, 1)
	mustNote(t, st, givenUp(mustClaimDelivery(t, st), duePast, cola.ReasonGone))
	disabled := mustDestinationNow(t, st, a.hook)
	at := duePast
	next := func() store.DueDelivery {
		at = at.Add(2 * anHour)
		due, err := st.ClaimDeliveries(t.Context(), at, allKinds, everyID, anHour)
		if len(must(t, due, err)) != 1 {
			t.Fatal("claimed", deliveryIDs(due), "want what tells of the pause")
		}
		return due[0]
	}
	d := next()
	mustNote(t, st, retried(d, at))
	same(t, "to be tried again", cola.DeliveryPending, mustDelivery(t, st, a.ID, d.ID).State)
	mustTurn(t, st, a.hook, true)
	mustTurn(t, st, a.hook, false)
	same(t, "though the destination is paused", cola.DeliveryPending, mustDelivery(t, st, a.ID, d.ID).State)
	mustNote(t, st, delivered(next(), at))
	same(t, "in the end", cola.DeliveryDelivered, mustDelivery(t, st, a.ID, d.ID).State)
	now := mustDestinationNow(t, st, a.hook)
	same(t, "what is known of the destination", [...]any{disabled.LastDeliveredAt, disabled.FailingSince}, [...]any{now.LastDeliveredAt, now.FailingSince})
}

func pausedUnderWay(t *testing.T, st store.Store, _ *clock) {
	a := mustNotify(t, st, "a@example.com", 1, 4)
	claimed := claimDeliveries(t, st, everyID)
	mustTurn(t, st, a.hook, false)
	mustNote(t, st, delivered(claimed[0], duePast))
	mustNote(t, st, retried(claimed[1], duePast))
	mustNote(t, st, givenUp(claimed[2], duePast.Add(time.Hour), cola.ReasonFailing))
	want := []string{cola.DeliveryDelivered, cola.DeliverySkipped, cola.DeliveryFailed, cola.DeliverySkipped}
	for i, d := range claimed {
		got := mustDelivery(t, st, a.ID, d.ID)
		same(t, "state", want[i], got.State)
		if got.NextAttemptAt.OK || !got.SettledAt.OK {
			t.Errorf("%s, and to be tried at %v, settled at %v", got.State, got.NextAttemptAt, got.SettledAt)
		}
	}
	same(t, "why it was skipped", cola.Some("The destination was paused."), mustDelivery(t, st, a.ID, claimed[1].ID).Error)
	now := mustDestinationNow(t, st, a.hook)
	same(t, "reason", cola.Some(cola.ReasonHolder), now.Reason)
	same(t, "told", 4, len(deliveriesOf(t, st, a.ID, store.DeliveryFilter{Destination: a.hook.UUID})))
}

func oddErrors(t *testing.T, st store.Store, _ *clock) {
	a := mustNotify(t, st, "a@example.com", 1, 1)
	d := mustClaimDelivery(t, st)
	odd := retried(d, duePast)
	odd.Error = "it says \xff\x00 o'Brien ünïcode"
	mustNote(t, st, odd)
	got := mustDelivery(t, st, a.ID, d.ID)
	same(t, "error", cola.Some("it says \ufffd\ufffd o'Brien ünïcode"), got.Error)
	same(t, "of the attempt", got.Error, got.Attempts[0].Error)
}

// pausedByMany checks that concurrent permanent failures pause the destination once and notify the
// account once.
func pausedByMany(t *testing.T, st store.Store, _ *clock) {
	const messages = 12
	a := mustNotify(t, st, "a@example.com", 1, messages)
	var wg sync.WaitGroup
	for _, d := range claimDeliveries(t, st, everyID) {
		wg.Go(func() { mustNote(t, st, givenUp(d, duePast, cola.ReasonFailing)) })
	}
	wg.Wait()
	counts := map[string]int{}
	for _, d := range deliveriesOf(t, st, a.ID, store.DeliveryFilter{Destination: a.hook.UUID}) {
		counts[d.Event+" "+d.State]++
	}
	same(t, "deliveries", map[string]int{cola.EventRan + " " + cola.DeliveryFailed: messages, cola.EventPaused + " " + cola.DeliveryPending: 1}, counts)
}

// pauseMeetsRuns checks that a destination paused for failures has no pending deliveries, whether
// the run or the pause comes first.
func pauseMeetsRuns(t *testing.T, st store.Store, _ *clock) {
	a := mustNotify(t, st, "a@example.com", 1, 0)
	for n := range 15 {
		mustTurn(t, st, a.hook, true)
		mustMessage(t, st, a.hook, duePast)
		d := mustClaimDelivery(t, st)
		var wg sync.WaitGroup
		wg.Go(func() { mustFind(t, st, a.search, n) })
		wg.Go(func() { mustNote(t, st, givenUp(d, duePast, cola.ReasonGone)) })
		wg.Wait()
		for _, d := range deliveriesOf(t, st, a.ID, store.DeliveryFilter{Destination: a.hook.UUID, State: cola.DeliveryPending}) {
			if d.Event != cola.EventPaused {
				t.Errorf("round %d: %+v is pending", n, d)
			}
		}
		for _, told := range claimDeliveries(t, st, everyID) {
			mustNote(t, st, delivered(told, duePast))
		}
	}
	same(t, "runs told", 15, len(deliveriesOf(t, st, a.ID, store.DeliveryFilter{Destination: a.hook.UUID, SavedSearch: a.search.UUID})))
}
