package storetest

import (
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

func testAttempts(t *testing.T, open Opener) {
	runChecks(t, open, []check{
		{"delivered", attemptDelivered},
		{"retried and failed", attemptRetriedThenFailed},
		{"failing destination is paused", failingDestinationPaused},
		{"skipped without an attempt", skippedWithoutAttempt},
		{"exchanges", attemptExchanges},
		{"gone destination is disabled", goneDestinationDisabled},
		{"later delivery prevents the pause", workingDestinationNotPaused},
		{"pause notification", pauseNotification},
		{"pause notification does not affect the destination", pauseNotificationIsSeparate},
		{"attempts in flight during a pause", pauseDuringAttempts},
		{"malformed error text", malformedErrors},
		{"concurrent failures pause once", concurrentFailures},
		{"pause concurrent with runs", concurrentPauseAndRuns},
	})
}

// endTime returns the end time of an attempt that began at the given time.
func endTime(at time.Time) cola.Opt[cola.Timestamp] {
	return cola.Some(cola.TimestampOf(at.Add(attemptDuration)))
}

func attemptDelivered(t *testing.T, st store.Store, _ *clock) {
	a := mustNotify(t, st, "a@example.com", 1, 1)
	d := mustClaimDelivery(t, st)
	at := duePast.Add(time.Second + 789*time.Nanosecond) // stored in whole microseconds
	mustRecordAttempt(t, st, deliveredAttempt(d, at))
	at = at.Truncate(time.Microsecond)
	got := mustDelivery(t, st, a.ID, d.ID)
	checkEqual(t, "DeliveryOf", cola.DeliveryDetail{
		Delivery: cola.Delivery{
			ID:           d.ID,
			MessageID:    d.MessageID,
			Event:        cola.EventRan,
			Destination:  a.hook.UUID,
			Kind:         cola.KindWebhook,
			SavedSearch:  cola.Some(a.search.UUID),
			RunID:        cola.Some(a.run),
			State:        cola.DeliveryDelivered,
			AttemptCount: 1,
			CreatedAt:    cola.TimestampOf(duePast),
			SettledAt:    endTime(at),
		},
		Attempts: []cola.DeliveryAttempt{{At: cola.TimestampOf(at), DurationMS: 184, Status: cola.Some(200)}},
	}, got)
	a.hook.LastDeliveredAt = endTime(at)
	checkEqual(t, "destination", a.hook, mustReload(t, st, a.hook))
	claimed, err := st.ClaimDeliveries(t.Context(), duePast.Add(1000*week), allKinds, noLimit, anHour)
	checkEqual(t, "deliveries due later", []int64{}, deliveryIDs(must(t, claimed, err)))
}

func attemptRetriedThenFailed(t *testing.T, st store.Store, _ *clock) {
	a := mustNotify(t, st, "a@example.com", 1, 1)
	at, first := duePast, cola.Some(cola.TimestampOf(duePast))
	d := mustClaimDelivery(t, st)
	mustRecordAttempt(t, st, retriedAttempt(d, at))
	got := mustDelivery(t, st, a.ID, d.ID)
	attempt := cola.DeliveryAttempt{
		At:         first.V,
		DurationMS: 184,
		Status:     cola.Some(503),
		Error:      cola.Some(receiverError),
	}
	want := cola.DeliveryDetail{Delivery: got.Delivery, Attempts: []cola.DeliveryAttempt{attempt}}
	want.State = cola.DeliveryPending
	want.Error = cola.Some(receiverError)
	want.AttemptCount = 1
	want.NextAttemptAt = cola.Some(cola.TimestampOf(at.Add(anHour)))
	want.SettledAt = cola.Opt[cola.Timestamp]{}
	checkEqual(t, "DeliveryOf after a retry", want, got)
	a.hook.FailingSince = first
	checkEqual(t, "failing destination", a.hook, mustReload(t, st, a.hook))

	next := func(after time.Duration) store.DueDelivery {
		t.Helper()
		at = at.Add(after)
		claimed, err := st.ClaimDeliveries(t.Context(), at, allKinds, noLimit, anHour)
		if len(must(t, claimed, err)) != 1 {
			t.Fatalf("ClaimDeliveries = %v, want one delivery", deliveryIDs(claimed))
		}
		return claimed[0]
	}
	for n := range 3 {
		d = next(anHour)
		checkEqual(t, "Attempts of the claim", n+1, d.Attempts)
		checkEqual(t, "FirstAttemptAt of the claim", duePast, d.FirstAttemptAt)
		mustRecordAttempt(t, st, retriedAttempt(d, at))
	}
	checkEqual(t, "destination after more retries", a.hook, mustReload(t, st, a.hook))
	mustRecordAttempt(t, st, failedAttempt(next(anHour), at, ""))
	got = mustDelivery(t, st, a.ID, d.ID)
	checkEqual(t, "number of attempts", 5, len(got.Attempts))
	last := cola.DeliveryAttempt{At: cola.TimestampOf(at), DurationMS: 184, Error: cola.Some(receiverError)}
	checkEqual(t, "last attempt", last, got.Attempts[4])
	want.Attempts = got.Attempts
	want.State = cola.DeliveryFailed
	want.AttemptCount = 5
	want.NextAttemptAt = cola.Opt[cola.Timestamp]{}
	want.SettledAt = endTime(at)
	checkEqual(t, "failed delivery", want, got)

	test := mustSendTest(t, st, a.hook, at)
	mustRecordAttempt(t, st, deliveredAttempt(next(time.Minute), at))
	a.hook.FailingSince, a.hook.LastDeliveredAt = cola.Opt[cola.Timestamp]{}, endTime(at)
	checkEqual(t, "recovered destination", a.hook, mustReload(t, st, a.hook))
	checkEqual(t, "state of the test message", cola.DeliveryDelivered, mustDelivery(t, st, a.ID, test.ID).State)
}

func failingDestinationPaused(t *testing.T, st store.Store, c *clock) {
	a := mustNotify(t, st, "a@example.com", 1, 3)
	other := mustDestination(t, st, newHook(a.ID, hook+"/other"))
	mustSendTest(t, st, a.hook, duePast.Add(week))
	mustSendTest(t, st, other, duePast.Add(week))
	claimed := claimDeliveries(t, st, 2)
	at := duePast.Add(72 * time.Hour)
	mustRecordAttempt(t, st, failedAttempt(claimed[0], at, cola.ReasonFailing))

	a.hook.State, a.hook.Reason = cola.DestinationPaused, cola.Some(cola.ReasonFailing)
	a.hook.FailingSince = cola.Some(cola.TimestampOf(at))
	checkEqual(t, "paused destination", a.hook, mustReload(t, st, a.hook))
	list := deliveriesOf(t, st, a.ID, store.DeliveryFilter{Destination: a.hook.UUID})
	if len(list) != 5 {
		t.Fatalf("got %d deliveries, want 3 for runs, a test message and a pause notification", len(list))
	}
	checkEqual(t, "state of the failed delivery", cola.DeliveryFailed, list[0].State)
	for _, d := range list[1:4] {
		want := d
		want.State = cola.DeliverySkipped
		want.Error = cola.Some("The destination was paused.")
		want.NextAttemptAt = cola.Opt[cola.Timestamp]{}
		want.SettledAt = endTime(at)
		want.AttemptCount = 0
		checkEqual(t, "pending delivery after the pause", want, d)
	}
	notice := list[4]
	checkEqual(t, "pause notification", cola.Delivery{
		ID:            notice.ID,
		MessageID:     notice.MessageID,
		Event:         cola.EventPaused,
		Destination:   a.hook.UUID,
		Kind:          cola.KindEmail,
		State:         cola.DeliveryPending,
		CreatedAt:     endTime(at).V,
		NextAttemptAt: endTime(at),
	}, notice)
	checkEqual(t, "pending deliveries of another destination", 1,
		len(deliveriesOf(t, st, a.ID, store.DeliveryFilter{Destination: other.UUID, State: cola.DeliveryPending})))
	mustRecordAttempt(t, st, deliveredAttempt(claimed[1], at)) // already being sent
	checkEqual(t, "state of the delivery in flight", cola.DeliveryDelivered,
		mustDelivery(t, st, a.ID, claimed[1].ID).State)

	due, err := st.ClaimDeliveries(t.Context(), at.Add(anHour), allKinds, noLimit, anHour)
	if len(must(t, due, err)) != 1 || due[0].ID != notice.ID {
		t.Fatalf("ClaimDeliveries = %v, want the pause notification", deliveryIDs(due))
	}
	checkEqual(t, "recipient of the notification", "a@example.com", due[0].AccountEmail)
	checkEqual(t, "pause reason in the notification", cola.Some(cola.ReasonFailing), due[0].Destination.Reason)
	mustRun(t, st, a.search, 1_000)
	latest := deliveriesOf(t, st, a.ID, store.DeliveryFilter{Destination: a.hook.UUID})
	checkEqual(t, "state of a run's delivery after the pause", cola.DeliverySkipped, latest[len(latest)-1].State)
}

func goneDestinationDisabled(t *testing.T, st store.Store, _ *clock) {
	a := mustNotify(t, st, "a@example.com", 1, 3)
	claimed := claimDeliveries(t, st, 2)
	mustSetActive(t, st, a.hook, false) // a permanent rejection by the receiver takes precedence
	mustRecordAttempt(t, st, failedAttempt(claimed[0], duePast, cola.ReasonGone))
	mustRecordAttempt(t, st, failedAttempt(claimed[1], duePast, cola.ReasonGone)) // already disabled
	now := mustReload(t, st, a.hook)
	checkEqual(t, "destination state", cola.DestinationDisabled, now.State)
	checkEqual(t, "pause reason", cola.Some(cola.ReasonGone), now.Reason)
	events := map[string]int{}
	for _, d := range deliveriesOf(t, st, a.ID, store.DeliveryFilter{Destination: a.hook.UUID}) {
		events[d.Event+" "+d.State]++
	}
	checkEqual(t, "deliveries by event and state", map[string]int{
		cola.EventRan + " " + cola.DeliveryFailed:     2,
		cola.EventRan + " " + cola.DeliverySkipped:    1,
		cola.EventPaused + " " + cola.DeliveryPending: 1,
	}, events)
	mustSetActive(t, st, a.hook, true)
	mustRun(t, st, a.search, 1_000)
	list := deliveriesOf(t, st, a.ID, store.DeliveryFilter{Destination: a.hook.UUID, State: cola.DeliveryPending})
	checkEqual(t, "delivery after reactivation", cola.EventRan, list[len(list)-1].Event)
}

func workingDestinationNotPaused(t *testing.T, st store.Store, _ *clock) {
	a := mustNotify(t, st, "a@example.com", 1, 3)
	claimed := claimDeliveries(t, st, noLimit)
	mustRecordAttempt(t, st, deliveredAttempt(claimed[2], duePast.Add(time.Hour)))
	mustRecordAttempt(t, st, failedAttempt(claimed[0], duePast.Add(72*time.Hour), cola.ReasonFailing))
	now := mustReload(t, st, a.hook)
	checkEqual(t, "state of a destination with a later delivery", cola.DestinationActive, now.State)
	checkEqual(t, "FailingSince", cola.Some(cola.TimestampOf(duePast.Add(72*time.Hour))), now.FailingSince)
	checkEqual(t, "state of the failed delivery", cola.DeliveryFailed, mustDelivery(t, st, a.ID, claimed[0].ID).State)
	checkEqual(t, "number of deliveries", 3,
		len(deliveriesOf(t, st, a.ID, store.DeliveryFilter{Destination: a.hook.UUID})))

	mustRecordAttempt(t, st, retriedAttempt(claimed[1], duePast.Add(time.Minute))) // started before the delivered one
	test := mustSendTest(t, st, a.hook, duePast.Add(2*time.Hour))
	due, err := st.ClaimDeliveries(t.Context(), duePast.Add(2*time.Hour), allKinds, noLimit, anHour)
	for _, d := range must(t, due, err) {
		if d.ID == test.ID {
			mustRecordAttempt(t, st, failedAttempt(d, duePast.Add(80*time.Hour), cola.ReasonFailing))
		}
	}
	checkEqual(t, "state of a destination with no successful delivery since the message was created", cola.DestinationPaused,
		mustReload(t, st, a.hook).State)
}

func pauseNotification(t *testing.T, st store.Store, _ *clock) {
	pause := func(to store.Destination) (count int) {
		t.Helper()
		mustSendTest(t, st, to, duePast)
		mustRecordAttempt(t, st, failedAttempt(mustClaimDelivery(t, st), duePast, cola.ReasonFailing))
		checkEqual(t, "destination state", cola.DestinationPaused, mustReload(t, st, to).State)
		for _, d := range claimDeliveries(t, st, noLimit) { // no other message is due
			t.Errorf("%s is due, want no due deliveries", d.Event)
		}
		due, err := st.ClaimDeliveries(t.Context(), duePast.Add(week), allKinds, noLimit, anHour)
		for _, d := range must(t, due, err) {
			count++
			if d.Event != cola.EventPaused || d.Kind != cola.KindEmail {
				t.Errorf("claimed %+v, want a pause notification by email", d)
			}
			mustRecordAttempt(t, st, deliveredAttempt(d, duePast))
		}
		return count
	}
	a := mustAccount(t, st, "Ann@example.com", cola.TierFree)
	search := mustCreate(t, st, newSearch(a.ID, 1))
	checkEqual(t, "notifications for a webhook", 1, pause(mustDestination(t, st, newHook(a.ID, hook))))
	checkEqual(t, "notifications for another address", 1,
		pause(mustDestination(t, st, newMailbox(a.ID, "x@example.com"))))
	checkEqual(t, "notifications for the account's own address", 0, pause(mustOwn(t, st, a.ID)))
	checkEqual(t, "notifications for the account's own address, for one search", 0,
		pause(mustDestination(t, st, forSearch(newMailbox(a.ID, "ANN@example.com"), search))))
	named := mustAccountOf(t, st, testIssuer, "1", "")
	checkEqual(t, "notifications for an account without an email address", 0,
		pause(mustDestination(t, st, newHook(named.ID, hook))))
}

func pauseNotificationIsSeparate(t *testing.T, st store.Store, _ *clock) {
	a := mustNotify(t, st, "a@example.com", 1, 1)
	mustRecordAttempt(t, st, failedAttempt(mustClaimDelivery(t, st), duePast, cola.ReasonGone))
	disabled := mustReload(t, st, a.hook)
	at := duePast
	next := func() store.DueDelivery {
		at = at.Add(2 * anHour)
		due, err := st.ClaimDeliveries(t.Context(), at, allKinds, noLimit, anHour)
		if len(must(t, due, err)) != 1 {
			t.Fatalf("ClaimDeliveries = %v, want the pause notification", deliveryIDs(due))
		}
		return due[0]
	}
	d := next()
	mustRecordAttempt(t, st, retriedAttempt(d, at))
	checkEqual(t, "state after a retry", cola.DeliveryPending, mustDelivery(t, st, a.ID, d.ID).State)
	mustSetActive(t, st, a.hook, true)
	mustSetActive(t, st, a.hook, false)
	checkEqual(t, "state while the destination is paused", cola.DeliveryPending, mustDelivery(t, st, a.ID, d.ID).State)
	mustRecordAttempt(t, st, deliveredAttempt(next(), at))
	checkEqual(t, "state after the delivery", cola.DeliveryDelivered, mustDelivery(t, st, a.ID, d.ID).State)
	now := mustReload(t, st, a.hook)
	checkEqual(t, "LastDeliveredAt and FailingSince", [...]any{disabled.LastDeliveredAt, disabled.FailingSince},
		[...]any{now.LastDeliveredAt, now.FailingSince})
}

func pauseDuringAttempts(t *testing.T, st store.Store, _ *clock) {
	a := mustNotify(t, st, "a@example.com", 1, 4)
	claimed := claimDeliveries(t, st, noLimit)
	mustSetActive(t, st, a.hook, false)
	mustRecordAttempt(t, st, deliveredAttempt(claimed[0], duePast))
	mustRecordAttempt(t, st, retriedAttempt(claimed[1], duePast))
	mustRecordAttempt(t, st, failedAttempt(claimed[2], duePast.Add(time.Hour), cola.ReasonFailing))
	want := []string{cola.DeliveryDelivered, cola.DeliverySkipped, cola.DeliveryFailed, cola.DeliverySkipped}
	for i, d := range claimed {
		got := mustDelivery(t, st, a.ID, d.ID)
		checkEqual(t, "delivery state", want[i], got.State)
		if got.NextAttemptAt.OK || !got.SettledAt.OK {
			t.Errorf("%s delivery: NextAttemptAt = %v, SettledAt = %v; want only SettledAt", got.State,
				got.NextAttemptAt, got.SettledAt)
		}
	}
	checkEqual(t, "error of the skipped delivery", cola.Some("The destination was paused."),
		mustDelivery(t, st, a.ID, claimed[1].ID).Error)
	now := mustReload(t, st, a.hook)
	checkEqual(t, "pause reason", cola.Some(cola.ReasonHolder), now.Reason)
	checkEqual(t, "number of deliveries", 4,
		len(deliveriesOf(t, st, a.ID, store.DeliveryFilter{Destination: a.hook.UUID})))
}

func malformedErrors(t *testing.T, st store.Store, _ *clock) {
	a := mustNotify(t, st, "a@example.com", 1, 1)
	d := mustClaimDelivery(t, st)
	odd := retriedAttempt(d, duePast)
	odd.Error = "it says \xff\x00 o'Brien ünïcode"
	mustRecordAttempt(t, st, odd)
	got := mustDelivery(t, st, a.ID, d.ID)
	checkEqual(t, "delivery error", cola.Some("it says \ufffd\ufffd o'Brien ünïcode"), got.Error)
	checkEqual(t, "attempt error", got.Error, got.Attempts[0].Error)
}

// concurrentFailures checks that concurrent permanent failures pause the destination once and
// notify the account once.
func concurrentFailures(t *testing.T, st store.Store, _ *clock) {
	const messages = 12
	a := mustNotify(t, st, "a@example.com", 1, messages)
	var wg sync.WaitGroup
	for _, d := range claimDeliveries(t, st, noLimit) {
		wg.Go(func() { mustRecordAttempt(t, st, failedAttempt(d, duePast, cola.ReasonFailing)) })
	}
	wg.Wait()
	counts := map[string]int{}
	for _, d := range deliveriesOf(t, st, a.ID, store.DeliveryFilter{Destination: a.hook.UUID}) {
		counts[d.Event+" "+d.State]++
	}
	checkEqual(t, "deliveries by event and state", map[string]int{
		cola.EventRan + " " + cola.DeliveryFailed:     messages,
		cola.EventPaused + " " + cola.DeliveryPending: 1,
	}, counts)
}

// concurrentPauseAndRuns checks that a destination disabled by an attempt has no pending deliveries
// for runs, whether the run or the attempt is recorded first.
func concurrentPauseAndRuns(t *testing.T, st store.Store, _ *clock) {
	a := mustNotify(t, st, "a@example.com", 1, 0)
	for n := range 15 {
		mustSetActive(t, st, a.hook, true)
		mustSendTest(t, st, a.hook, duePast)
		d := mustClaimDelivery(t, st)
		var wg sync.WaitGroup
		wg.Go(func() { mustRun(t, st, a.search, n) })
		wg.Go(func() { mustRecordAttempt(t, st, failedAttempt(d, duePast, cola.ReasonGone)) })
		wg.Wait()
		for _, d := range deliveriesOf(t, st, a.ID,
			store.DeliveryFilter{Destination: a.hook.UUID, State: cola.DeliveryPending}) {
			if d.Event != cola.EventPaused {
				t.Errorf("round %d: pending delivery %+v, want only pause notifications", n, d)
			}
		}
		for _, notice := range claimDeliveries(t, st, noLimit) {
			mustRecordAttempt(t, st, deliveredAttempt(notice, duePast))
		}
	}
	checkEqual(t, "number of deliveries for runs", 15,
		len(deliveriesOf(t, st, a.ID, store.DeliveryFilter{Destination: a.hook.UUID, SavedSearch: a.search.UUID})))
}

// skippedWithoutAttempt checks that skipping a delivery records no attempt and doesn't affect its
// destination, and that the delivery can be replayed.
func skippedWithoutAttempt(t *testing.T, st store.Store, _ *clock) {
	a := mustNotify(t, st, "a@example.com", 1, 1)
	d := mustClaimDelivery(t, st)
	skip := store.Attempt{Due: d, At: duePast, State: cola.DeliverySkipped, Error: "Not here.\x00"}
	mustRecordAttempt(t, st, skip)
	got := mustDelivery(t, st, a.ID, d.ID)
	want := cola.DeliveryDetail{Delivery: got.Delivery, Attempts: []cola.DeliveryAttempt{}}
	want.State, want.Error, want.AttemptCount = cola.DeliverySkipped, cola.Some("Not here.\uFFFD"), 0
	want.NextAttemptAt, want.SettledAt = cola.Opt[cola.Timestamp]{}, cola.Some(cola.TimestampOf(duePast))
	checkEqual(t, "DeliveryOf", want, got)
	checkEqual(t, "destination", a.hook, mustReload(t, st, a.hook))
	checkAttemptRejected(t, st, "skipped again", skip)
	n, err := st.ReplayUndelivered(t.Context(), a.ID, a.hook.UUID, duePast, noLimit)
	checkEqual(t, "replayed", 1, must(t, n, err))
}

// attemptExchanges checks that the exchanges of attempts are stored in order and truncated to the
// limits, and that other accounts can't read them.
func attemptExchanges(t *testing.T, st store.Store, _ *clock) {
	a, b := mustNotify(t, st, "a@example.com", 1, 1), roomyAccount(t, st, "b@example.com")
	first := store.Exchange{Subject: "1 new label", Sent: `{"type": "é"}`, Headers: "Server: x\nLocation: /", Response: "No."}
	retry := retriedAttempt(mustClaimDelivery(t, st), duePast)
	retry.Exchange = first
	mustRecordAttempt(t, st, retry)
	next, err := st.ClaimDeliveries(t.Context(), duePast.Add(week), allKinds, noLimit, anHour)
	if must(t, next, err); len(next) != 1 {
		t.Fatalf("%d deliveries claimed, want 1", len(next))
	}
	long := retriedAttempt(next[0], duePast.Add(anHour))
	long.Exchange = store.Exchange{
		Subject: "a\x00b", Sent: "x" + strings.Repeat("é", store.MaxSent), Headers: strings.Repeat("h", 2*store.MaxResponseHeaders),
		Response: "\xff" + strings.Repeat("é", store.MaxResponse),
	}
	mustRecordAttempt(t, st, long)
	got, err := st.Exchanges(t.Context(), a.ID, next[0].ID)
	checkEqual(t, "Exchanges", []store.Exchange{first, {
		Subject: "a\uFFFDb", Sent: "x" + strings.Repeat("é", store.MaxSent/2-1) + store.TruncatedMark, Headers: strings.Repeat("h", store.MaxResponseHeaders),
		Response: "\uFFFD" + strings.Repeat("é", (store.MaxResponse-1)/2),
	}}, must(t, got, err))
	if got, err := st.Exchanges(t.Context(), b.ID, next[0].ID); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("Exchanges of another account = %+v, %v, want ErrNotFound", got, err)
	}
}
