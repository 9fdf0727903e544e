package storetest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

func destinationChangeChecks() []check {
	return []check{
		{"update and get", updateDestination},
		{"rejected change", rejectDestinationChange},
		{"concurrent changes", concurrentDestinationChanges},
		{"deactivation skips pending deliveries", deactivationSkipsPending},
		{"one message per run and address", oneMessagePerRun},
		{"delete a destination with its deliveries", deleteDestination},
		{"delete a search with its destinations and deliveries", deleteSearchDestinations},
		{"delete destinations while runs are recorded", deleteWhileRecording},
		{"set feed", setFeed},
	}
}

// changeDestination changes a destination and returns it.
func changeDestination(t tb, st store.Store, d store.Destination, change func(d *store.Destination)) store.Destination {
	t.Helper()
	changed, err := st.UpdateDestination(context.Background(), d.Account, d.UUID, func(d *store.Destination) error {
		change(d)
		return nil
	})
	return must(t, changed, err)
}

// inState returns a change that sets a destination's state and reason. An empty reason clears the
// stored one.
func inState(state, reason string) func(d *store.Destination) {
	return func(d *store.Destination) { d.State, d.Reason = state, cola.Opt[string]{V: reason, OK: reason != ""} }
}

func updateDestination(t *testing.T, st store.Store, _ *clock) {
	a := mustAccount(t, st, "a@example.com", cola.TierFree)
	want, own := mustDestination(t, st, newHook(a.ID, hook)), mustOwn(t, st, a.ID)
	for _, change := range []func(d *store.Destination){
		inState(cola.DestinationPaused, cola.ReasonFailing),
		func(d *store.Destination) { d.FailingSince = cola.Some(cola.TimestampOf(epoch.Add(-time.Hour))) },
		func(d *store.Destination) { d.SendEmpty = true },
		func(d *store.Destination) {
			d.Secrets = store.Secrets{Current: "whsec_new", Old: secret, OldUntil: epoch.Add(24 * time.Hour)}
		},
		func(d *store.Destination) { d.Challenge = store.Challenge{Sealed: "sealed:1", Tries: 3} },
		func(d *store.Destination) { d.VerifiedAt = epoch.Add(time.Minute) },
		inState(cola.DestinationDisabled, cola.ReasonGone),
		func(d *store.Destination) {
			d.State = cola.DestinationActive
			d.Reason = cola.Opt[string]{}
			d.FailingSince = cola.Opt[cola.Timestamp]{}
			d.Secrets = store.Secrets{Current: "whsec_newer"}
		},
	} {
		old := want
		change(&want)
		changed := changeDestination(t, st, old, func(d *store.Destination) {
			checkEqual(t, "destination passed to the change", old, *d)
			change(d)
			// Ignored: changes cannot set these.
			d.UUID, d.Kind, d.Address, d.Own, d.Account, d.CreatedAt = "x", "x", cola.Some("x"), true, 42, 1
		})
		checkEqual(t, "UpdateDestination", want, changed)
		found, err := st.Destination(t.Context(), a.ID, want.UUID)
		checkEqual(t, "Destination", want, must(t, found, err))
	}
	own.SendEmpty = true
	checkEqual(t, "UpdateDestination for the account's own address", own,
		changeDestination(t, st, own, func(d *store.Destination) { d.SendEmpty = true }))
	checkEqual(t, "Destinations", []store.Destination{own, want}, mustDestinations(t, st, a.ID))
}

func rejectDestinationChange(t *testing.T, st store.Store, _ *clock) {
	a := mustAccount(t, st, "a@example.com", cola.TierFree)
	dest := mustDestination(t, st, newHook(a.ID, hook))
	reject := func(spoil func(d *store.Destination), reason error) error {
		changed, err := st.UpdateDestination(t.Context(), a.ID, dest.UUID, func(d *store.Destination) error {
			d.State, d.SendEmpty = cola.DestinationPaused, true
			spoil(d)
			return reason
		})
		checkEqual(t, "returned destination", store.Destination{}, changed)
		return err
	}
	for _, reason := range []error{
		errors.New("not that"), cola.Errorf(cola.CodeValidation, "Not that."),
		store.ErrUnavailable, store.ErrNotFound,
	} {
		if err := reject(func(*store.Destination) {}, reason); err != reason {
			t.Errorf("UpdateDestination error = %v, want the callback's error %v", err, reason)
		}
	}
	for name, spoil := range map[string]func(d *store.Destination){
		"no state":                func(d *store.Destination) { d.State = "" },
		"reason with NUL":         func(d *store.Destination) { d.Reason = cola.Some("\x00") },
		"secret is not UTF-8":     func(d *store.Destination) { d.Secrets.Current = "\xff" },
		"old secret is not UTF-8": func(d *store.Destination) { d.Secrets.Old = "\xff" },
		"challenge is not UTF-8":  func(d *store.Destination) { d.Challenge.Sealed = "\xff" },
	} {
		if err := reject(spoil, nil); !errors.Is(err, store.ErrMalformed) {
			t.Errorf("%s: UpdateDestination error = %v, want ErrMalformed", name, err)
		}
	}
	found, err := st.Destination(t.Context(), a.ID, dest.UUID)
	checkEqual(t, "Destination after rejected changes", dest, must(t, found, err))
}

// concurrentDestinationChanges checks that concurrent changes each see the result of the previous
// one.
func concurrentDestinationChanges(t *testing.T, st store.Store, _ *clock) {
	a := mustAccount(t, st, "a@example.com", cola.TierFree)
	dest := mustDestination(t, st, newHook(a.ID, hook))
	var wg sync.WaitGroup
	for range 10 {
		wg.Go(func() {
			changeDestination(t, st, dest, func(d *store.Destination) { d.Secrets.Old += "." })
		})
	}
	wg.Wait()
	found, err := st.Destination(t.Context(), a.ID, dest.UUID)
	checkEqual(t, "old secret", "..........", must(t, found, err).Secrets.Old)
}

// runWithMatch creates the nth search of an account, records a run with one match, and returns the
// search.
func runWithMatch(t tb, st store.Store, account cola.AccountID, n int) cola.SavedSearch {
	t.Helper()
	search := mustCreate(t, st, dueSearch(account, n, epoch))
	mustRecord(t, st, runOf(t, st, mustClaimOne(t, st), 1))
	return search
}

// mustDeliveries returns an account's deliveries, newest first.
func mustDeliveries(t tb, st store.Store, account cola.AccountID) []cola.Delivery {
	t.Helper()
	list, _, err := st.DeliveriesOf(context.Background(), account, store.DeliveryFilter{}, store.Slice{Limit: noLimit})
	return must(t, list, err)
}

// mustClaimDeliveries claims all due deliveries and returns them by destination and event.
func mustClaimDeliveries(t tb, st store.Store) map[string]store.DueDelivery {
	t.Helper()
	claimed, err := st.ClaimDeliveries(context.Background(), duePast.Add(week),
		[]string{cola.KindEmail, cola.KindWebhook}, noLimit, anHour)
	all := map[string]store.DueDelivery{}
	for _, d := range must(t, claimed, err) {
		all[d.Destination.UUID+" "+d.Event] = d
	}
	return all
}

func deactivationSkipsPending(t *testing.T, st store.Store, c *clock) {
	for i, state := range []string{cola.DestinationPaused, cola.DestinationDisabled} {
		a := mustAccount(t, st, fmt.Sprintf("%d@example.com", i), cola.TierFree)
		own, hooked := mustOwn(t, st, a.ID), mustDestination(t, st, newHook(a.ID, hook))
		_, err := st.AddTest(t.Context(), a.ID, hooked.UUID, duePast)
		mustDo(t, err)
		runWithMatch(t, st, a.ID, 10*i)
		changeDestination(t, st, hooked, func(d *store.Destination) { d.SendEmpty = true })
		for _, d := range mustDeliveries(t, st, a.ID) {
			checkEqual(t, "delivery state before the change", cola.DeliveryPending, d.State)
		}
		claimed := mustClaimDeliveries(t, st)
		c.advance(time.Hour)
		changeDestination(t, st, hooked, inState(state, cola.ReasonHolder))
		skipped := 0
		for _, d := range mustDeliveries(t, st, a.ID) {
			if d.Destination == own.UUID {
				checkEqual(t, "delivery state of another destination", cola.DeliveryPending, d.State)
				continue
			}
			skipped++
			got := [...]any{d.State, d.Error, d.NextAttemptAt, d.SettledAt, d.AttemptCount}
			checkEqual(t, d.Event, [...]any{
				cola.DeliverySkipped, cola.Some("The destination was " + state + "."),
				cola.Opt[cola.Timestamp]{},
				cola.Some(cola.TimestampOf(c.now())), 0,
			}, got)
		}
		checkEqual(t, "number of skipped deliveries", 2, skipped)
		for _, k := range []struct{ event, failure, state, want string }{ // attempts in progress are recorded
			{cola.EventRan, "", cola.DeliveryDelivered, cola.DeliveryDelivered},
			{cola.EventTest, "The receiver responded with status 503.", cola.DeliveryPending, cola.DeliverySkipped},
		} {
			attempt(t, st, claimed, hooked, k.event, k.failure, k.state)
			detail, err := st.DeliveryOf(t.Context(), a.ID, claimed[hooked.UUID+" "+k.event].ID)
			checkEqual(t, "state after the attempt", k.want, must(t, detail, err).State)
		}
		before := mustDeliveries(t, st, a.ID)
		changeDestination(t, st, hooked, inState(cola.DestinationActive, ""))
		checkEqual(t, "deliveries after reactivation", before, mustDeliveries(t, st, a.ID))
	}
}

// oneMessagePerRun checks that an address receives one message per run, even if several
// destinations share it.
func oneMessagePerRun(t *testing.T, st store.Store, _ *clock) {
	named := mustAccountOf(t, st, testIssuer, "1", "")
	mailbox := mustDestination(t, st, newMailbox(named.ID, "Me@example.com"))
	runWithMatch(t, st, named.ID, 1)
	mustAccountOf(t, st, testIssuer, "1", "me@example.com") // now also the account's own address
	runWithMatch(t, st, named.ID, 2)
	var recipients []string
	for _, d := range mustDeliveries(t, st, named.ID) {
		recipients = append(recipients, d.Destination)
	}
	checkEqual(t, "destinations of the messages, newest first", []string{mustOwn(t, st, named.ID).UUID, mailbox.UUID},
		recipients)

	b := mustAccount(t, st, "b@example.com", cola.TierFree)
	search := mustCreate(t, st, dueSearch(b.ID, 3, epoch))
	pending := forSearch(newMailbox(b.ID, "B@example.com"), search)
	pending.State = cola.DestinationUnconfirmed
	unconfirmed := mustDestination(t, st, pending)
	mustDestination(t, st, newHook(b.ID, hook+"/A"))
	mustDestination(t, st, forSearch(newHook(b.ID, hook+"/a"), search)) // a different address
	kinds := map[string]int{}
	mustRecord(t, st, runOf(t, st, mustClaimOne(t, st), 1))
	for _, d := range mustDeliveries(t, st, b.ID) {
		kinds[d.Kind]++
		if d.Destination == unconfirmed.UUID {
			t.Error("message sent to an unconfirmed destination")
		}
	}
	checkEqual(t, "messages by kind", map[string]int{cola.KindEmail: 1, cola.KindWebhook: 2}, kinds)
}

// attempt records an attempt for the claimed delivery of an event to a destination.
func attempt(t tb, st store.Store, claimed map[string]store.DueDelivery, d store.Destination, event, failure,
	state string) {
	t.Helper()
	due, found := claimed[d.UUID+" "+event]
	if !found {
		t.Fatalf("no %s delivery claimed for destination %s", event, d.UUID)
	}
	recorded, err := st.RecordAttempt(context.Background(),
		store.Attempt{
			Due:    due,
			At:     duePast,
			Took:   184_123 * time.Microsecond,
			Status: 503,
			Error:  failure,
			State:  state,
			Next:   duePast.Add(2 * week),

			Exchange: store.Exchange{Subject: "Tést", Sent: "{}", Headers: "Server: x", Response: "ok"},
		})
	if !recorded || err != nil {
		t.Errorf("RecordAttempt = %v, %v; want true, nil", recorded, err)
	}
}

func setFeed(t *testing.T, st store.Store, _ *clock) {
	a, b := mustAccount(t, st, "a@example.com", cola.TierFree), mustAccount(t, st, "b@example.com", cola.TierFree)
	one, two := mustCreate(t, st, newSearch(a.ID, 1)), mustCreate(t, st, newSearch(a.ID, 2))
	hashes := []*store.FeedHash{{1}, {2}, {3}}
	feeds := func() (names [3]string) {
		for i, h := range hashes {
			feed, err := st.Feed(t.Context(), *h, 1, 1)
			if err != nil && !errors.Is(err, store.ErrNotFound) {
				t.Error(err)
			}
			names[i] = feed.Search.Name
		}
		return names
	}
	for _, k := range []struct {
		search cola.SavedSearch
		hash   *store.FeedHash
		want   [3]string
	}{
		{one, hashes[0], [3]string{one.Name}}, {two, hashes[1], [3]string{one.Name, two.Name}},
		{one, hashes[2], [3]string{"", two.Name, one.Name}},
		{one, hashes[2], [3]string{"", two.Name, one.Name}}, {one, nil, [3]string{"", two.Name}},
		{one, nil, [3]string{"", two.Name}}, {one, hashes[0], [3]string{one.Name, two.Name}},
	} {
		mustDo(t, st.SetFeed(t.Context(), a.ID, k.search.UUID, k.hash))
		checkEqual(t, "feeds", k.want, feeds())
	}
	mustChange(t, st, a.ID, one.UUID, rename("renamed")) // does not affect the feed
	for _, k := range []struct {
		account cola.AccountID
		uuid    string
	}{
		{b.ID, one.UUID},
		{b.ID + 100, one.UUID},
		{a.ID, ""},
		{a.ID, one.UUID + "\x00"},
		{a.ID, newSearch(a.ID, 3).Search.UUID},
	} {
		if err := st.SetFeed(t.Context(), k.account, k.uuid, hashes[2]); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("SetFeed(%d, %q) error = %v, want ErrNotFound", k.account, k.uuid, err)
		}
	}
	mustDo(t, st.DeleteSavedSearch(t.Context(), a.ID, two.UUID))
	checkEqual(t, "feeds after deleting a search", [3]string{"renamed"}, feeds())
}
