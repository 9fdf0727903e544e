package storetest

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

func testDeliveries(t *testing.T, open Opener) {
	runChecks(t, open, []check{
		{"deliveries come newest first, in pages", deliveriesInPages},
		{"deliveries are looked for", deliveriesAreFiltered},
		{"another account's deliveries are not found", deliveriesOfAnotherAccount},
		{"what is asked for again is sent again", replayed},
		{"what is asked for again while it is sent is sent again", replayedWhileHeld},
		{"what a destination has missed is asked for again", undeliveredReplayed},
		{"a message is added", messageIsAdded},
		{"old deliveries are forgotten", oldAreForgotten},
	})
}

func deliveriesInPages(t *testing.T, st store.Store, _ *clock) {
	a := mustNotify(t, st, "a@example.com", 1, 5)
	all := deliveriesOf(t, st, a.ID, store.DeliveryFilter{})
	same(t, "deliveries", 10, len(all)) // includes those to the account's own address
	for _, k := range []struct {
		page       store.Slice
		from, upto int // counted from the end of all
	}{{store.Slice{Limit: 3}, 0, 3}, {store.Slice{Offset: 3, Limit: 3}, 3, 6}, {store.Slice{Offset: 9, Limit: 3}, 9, 10}, {store.Slice{Offset: 10, Limit: 3}, 10, 10}, {store.Slice{}, 0, 0}} {
		list, total, err := st.DeliveriesOf(t.Context(), a.ID, store.DeliveryFilter{}, k.page)
		same(t, "total", 10, total)
		var want []cola.Delivery
		for n := k.from; n < k.upto; n++ {
			want = append(want, all[9-n])
		}
		same(t, "page", want, append([]cola.Delivery(nil), must(t, list, err)...))
	}
}

func deliveriesAreFiltered(t *testing.T, st store.Store, _ *clock) {
	a, b := mustNotify(t, st, "a@example.com", 1, 2), mustNotify(t, st, "b@example.com", 2, 1)
	other := mustCreate(t, st, newSearch(a.ID, 3))
	mustFind(t, st, other, 1)
	own := mustOwn(t, st, a.ID)
	mustMessage(t, st, a.hook, duePast)
	for _, d := range claimDeliveries(t, st, 1) {
		mustNote(t, st, delivered(d, duePast))
	}
	for _, k := range []struct {
		which store.DeliveryFilter
		want  int
	}{
		{store.DeliveryFilter{}, 7}, {store.DeliveryFilter{Destination: a.hook.UUID}, 4}, {store.DeliveryFilter{Destination: own.UUID}, 3},
		{store.DeliveryFilter{SavedSearch: a.search.UUID}, 4}, {store.DeliveryFilter{SavedSearch: other.UUID}, 2},
		{store.DeliveryFilter{State: cola.DeliverySkipped}, 3}, {store.DeliveryFilter{State: cola.DeliveryDelivered}, 1}, {store.DeliveryFilter{State: cola.DeliveryFailed}, 0},
		{store.DeliveryFilter{Destination: a.hook.UUID, SavedSearch: a.search.UUID, State: cola.DeliveryPending}, 1},
		{store.DeliveryFilter{Destination: own.UUID, SavedSearch: other.UUID, State: cola.DeliveryPending}, 0},
		{store.DeliveryFilter{Destination: b.hook.UUID}, 0}, {store.DeliveryFilter{SavedSearch: b.search.UUID}, 0}, {store.DeliveryFilter{Destination: "x"}, 0},
		{store.DeliveryFilter{SavedSearch: "x"}, 0}, {store.DeliveryFilter{State: "x"}, 0}, {store.DeliveryFilter{Destination: "\x00"}, 0},
		{store.DeliveryFilter{SavedSearch: "\xff"}, 0}, {store.DeliveryFilter{Destination: a.hook.UUID, State: "\x00"}, 0},
	} {
		list := deliveriesOf(t, st, a.ID, k.which)
		same(t, fmt.Sprintf("deliveries of %+q", k.which), k.want, len(list))
		for _, d := range list {
			if k.which.Destination != "" && d.Destination != k.which.Destination || k.which.State != "" && d.State != k.which.State ||
				k.which.SavedSearch != "" && d.SavedSearch != cola.Some(k.which.SavedSearch) {
				t.Errorf("%+v was not looked for by %+v", d, k.which)
			}
		}
	}
}

func deliveriesOfAnotherAccount(t *testing.T, st store.Store, _ *clock) {
	a, b := mustNotify(t, st, "a@example.com", 1, 1), mustNotify(t, st, "b@example.com", 2, 0)
	id := deliveriesOf(t, st, a.ID, store.DeliveryFilter{Destination: a.hook.UUID})[0].ID
	before := everything(t, st)
	for _, k := range []struct {
		account     cola.AccountID
		id          int64
		destination string
	}{{b.ID, id, a.hook.UUID}, {b.ID + 100, id, a.hook.UUID}, {a.ID, id + 100, b.hook.UUID}, {a.ID, -1, ""}, {a.ID, 0, "\x00"}, {a.ID, 0, "\xff"}} {
		_, err := st.DeliveryOf(t.Context(), k.account, k.id)
		errs := map[string]error{"DeliveryOf": err}
		_, errs["Replay"] = st.Replay(t.Context(), k.account, k.id, duePast)
		_, errs["ReplayUndelivered"] = st.ReplayUndelivered(t.Context(), k.account, k.destination, duePast, 10)
		_, errs["AddTest"] = st.AddTest(t.Context(), k.account, k.destination, duePast)
		for name, err := range errs {
			if !errors.Is(err, store.ErrNotFound) {
				t.Errorf("%s of account %d, delivery %d, destination %q: %v, want ErrNotFound", name, k.account, k.id, k.destination, err)
			}
		}
	}
	same(t, "what the store holds", before, everything(t, st))
	same(t, "deliveries of another account", 0, len(deliveriesOf(t, st, b.ID, store.DeliveryFilter{})))
}

func replayed(t *testing.T, st store.Store, _ *clock) {
	a := mustNotify(t, st, "a@example.com", 1, 1)
	d := mustClaimDelivery(t, st)
	at := duePast
	again := func(what string) {
		t.Helper()
		at = at.Add(anHour)
		want := mustDelivery(t, st, a.ID, d.ID)
		got, err := st.Replay(t.Context(), a.ID, d.ID, at)
		if want.State == cola.DeliverySkipped {
			want.Error = cola.Opt[string]{}
		}
		want.State, want.NextAttemptAt, want.SettledAt = cola.DeliveryPending, cola.Some(cola.TimestampOf(at)), cola.Opt[cola.Timestamp]{}
		same(t, what, want.Delivery, must(t, got, err))
		same(t, what+", with its attempts", want, mustDelivery(t, st, a.ID, d.ID))
		early, err := st.ClaimDeliveries(t.Context(), at.Add(-time.Microsecond), allKinds, everyID, anHour)
		same(t, what+": due early", []int64{}, deliveryIDs(must(t, early, err)))
		claimed, err := st.ClaimDeliveries(t.Context(), at, allKinds, everyID, anHour)
		if len(must(t, claimed, err)) != 1 || claimed[0].MessageID != d.MessageID || !claimed[0].FirstAttemptAt.IsZero() || claimed[0].Attempts != want.AttemptCount {
			t.Fatalf("%s: claimed %+v, want the same message, whose retries begin anew", what, claimed)
		}
		d = claimed[0]
	}
	mustNote(t, st, retried(d, at))
	again("what was to be tried again")
	mustNote(t, st, givenUp(d, at, ""))
	again("what was given up")
	same(t, "error", cola.Some(unwell), mustDelivery(t, st, a.ID, d.ID).Error)
	mustNote(t, st, delivered(d, at))
	again("what was delivered")
	mustDo(t, st.ReleaseDeliveries(t.Context(), []store.DueDelivery{d}))
	mustTurn(t, st, a.hook, false)
	if _, err := st.Replay(t.Context(), a.ID, d.ID, at); !errors.Is(err, store.ErrNotActive) {
		t.Errorf("to a destination that is paused: %v, want ErrNotActive", err)
	}
	mustTurn(t, st, a.hook, true)
	again("what was skipped")
	mustNote(t, st, delivered(d, at))
	same(t, "attempts", 4, len(mustDelivery(t, st, a.ID, d.ID).Attempts))
}

func replayedWhileHeld(t *testing.T, st store.Store, _ *clock) {
	a := mustNotify(t, st, "a@example.com", 1, 1)
	held := mustClaimDelivery(t, st)
	if _, err := st.Replay(t.Context(), a.ID, held.ID, duePast); err != nil {
		t.Fatal(err)
	}
	mustNotNote(t, st, "what was under way", delivered(held, duePast))
	again := mustClaimDelivery(t, st)
	mustNotNote(t, st, "what was under way, when it is claimed again", delivered(held, duePast))
	mustDo(t, st.ReleaseDeliveries(t.Context(), []store.DueDelivery{held}))
	same(t, "claimed", []int64{}, deliveryIDs(claimDeliveries(t, st, everyID)))
	mustNote(t, st, delivered(again, duePast))
}

func undeliveredReplayed(t *testing.T, st store.Store, _ *clock) {
	a := mustNotify(t, st, "a@example.com", 1, 6)
	claimed := claimDeliveries(t, st, 3)
	mustMessage(t, st, a.hook, duePast.Add(time.Hour))
	mustNote(t, st, delivered(claimed[0], duePast))
	mustNote(t, st, givenUp(claimed[1], duePast, ""))
	replay := func(want, limit int) {
		t.Helper()
		n, err := st.ReplayUndelivered(t.Context(), a.ID, a.hook.UUID, duePast.Add(anHour), limit)
		same(t, "asked for again", want, must(t, n, err))
	}
	replay(1, 10)
	mustTurn(t, st, a.hook, false)
	if n, err := st.ReplayUndelivered(t.Context(), a.ID, a.hook.UUID, duePast, 10); n != 0 || !errors.Is(err, store.ErrNotActive) {
		t.Errorf("of a destination that is paused: %d, %v; want ErrNotActive", n, err)
	}
	mustTurn(t, st, a.hook, true)
	replay(2, 2)
	all := deliveriesOf(t, st, a.ID, store.DeliveryFilter{Destination: a.hook.UUID})
	states := make([]string, len(all))
	for i, d := range all {
		states[i] = d.State
	}
	pending, skipped := cola.DeliveryPending, cola.DeliverySkipped
	same(t, "with the oldest two", []string{cola.DeliveryDelivered, pending, pending, skipped, skipped, skipped, skipped}, states)
	same(t, "due", cola.Some(cola.TimestampOf(duePast.Add(anHour))), all[2].NextAttemptAt)
	replay(0, 0)
	replay(3, 10)
	replay(0, 10)
	own := deliveriesOf(t, st, a.ID, store.DeliveryFilter{Destination: mustOwn(t, st, a.ID).UUID, State: cola.DeliverySkipped})
	same(t, "of another destination", 6, len(own))
	same(t, "the test", skipped, deliveriesOf(t, st, a.ID, store.DeliveryFilter{Destination: a.hook.UUID})[6].State)
	mustNotNote(t, st, "what was under way when the destination was paused", delivered(claimed[2], duePast))
}

func messageIsAdded(t *testing.T, st store.Store, _ *clock) {
	a := mustAccount(t, st, "a@example.com", cola.TierFree)
	search := mustCreate(t, st, newSearch(a.ID, 1))
	unconfirmed := newMailbox(a.ID, "x@example.com")
	unconfirmed.State = cola.DestinationUnconfirmed
	hooked, mailbox := mustDestination(t, st, forSearch(newHook(a.ID, hook), search)), mustDestination(t, st, unconfirmed)
	at := duePast.Add(789 * time.Nanosecond) // stored in whole microseconds
	due := cola.TimestampOf(duePast)
	for _, k := range []struct {
		to    store.Destination
		event string
		add   func(tb, store.Store, store.Destination, time.Time) cola.Delivery
	}{
		{hooked, cola.EventTest, mustMessage}, {mustOwn(t, st, a.ID), cola.EventTest, mustMessage}, {mailbox, cola.EventConfirm, mustAskToConfirm}, {mailbox, cola.EventConfirm, mustAskToConfirm},
	} {
		d := k.add(t, st, k.to, at)
		same(t, "message", cola.Delivery{ID: d.ID, MessageID: d.MessageID, Event: k.event, Destination: k.to.UUID, Kind: k.to.Kind, State: cola.DeliveryPending,
			CreatedAt: due, NextAttemptAt: cola.Some(due)}, d)
		same(t, "found", cola.DeliveryDetail{Delivery: d, Attempts: []cola.DeliveryAttempt{}}, mustDelivery(t, st, a.ID, d.ID))
	}
	mustTurn(t, st, hooked, false)
	named := mustAccountOf(t, st, anIssuer, "1", "")
	before := everything(t, st)
	for _, to := range []store.Destination{hooked, mailbox, mustOwn(t, st, named.ID)} {
		if d, err := st.AddTest(t.Context(), to.Account, to.UUID, duePast); !errors.Is(err, store.ErrNotActive) {
			t.Errorf("to %s: %+v, %v; want ErrNotActive", to.State, d, err)
		}
	}
	same(t, "what the store holds", before, everything(t, st))
}

func oldAreForgotten(t *testing.T, st store.Store, _ *clock) {
	a := mustAccount(t, st, "a@example.com", cola.TierFree)
	own := mustOwn(t, st, a.ID)
	forget := func(want int) {
		t.Helper()
		n, err := st.DeleteOldDeliveries(t.Context(), duePast)
		same(t, "forgotten", want, must(t, n, err))
	}
	forget(0)
	const old = 2_300 // more than a backend deletes at a time
	for n := range 5 {
		mustMessage(t, st, own, duePast.Add(-time.Duration(n)*time.Hour))
	}
	forget(4)
	var kept []int64
	for _, d := range claimDeliveries(t, st, everyID) {
		mustNote(t, st, retried(d, duePast)) // only the creation time counts, not that of an attempt
		kept = append(kept, d.ID)
	}
	for range old {
		mustMessage(t, st, own, duePast.Add(-time.Microsecond))
	}
	for _, d := range claimDeliveries(t, st, 1_200) {
		mustNote(t, st, retried(d, duePast.Add(week)))
	}
	forget(old)
	forget(0)
	list := deliveriesOf(t, st, a.ID, store.DeliveryFilter{})
	same(t, "kept", []int64{list[0].ID}, kept)
	mustHaveSent(t, st, 1, 1, 1)
}
