package storetest

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

func testDeliveries(t *testing.T, open Opener) {
	runChecks(t, open, []check{
		{"list newest first, in pages", listDeliveries},
		{"in order, with attempts", deliveriesAfter},
		{"filters", filterDeliveries},
		{"another account", deliveriesOfAnotherAccount},
		{"replay", replayDelivery},
		{"replay of a claimed delivery", replayClaimed},
		{"replay undelivered", replayUndelivered},
		{"add messages", addMessages},
		{"delete old deliveries", deleteOldDeliveries},
	})
}

func listDeliveries(t *testing.T, st store.Store, _ *clock) {
	a := mustNotify(t, st, "a@example.com", 1, 5)
	all := deliveriesOf(t, st, a.ID, store.DeliveryFilter{})
	checkEqual(t, "number of deliveries", 10, len(all)) // includes those to the account's own address
	for _, k := range []struct {
		page       store.Slice
		from, upto int // counted backward from the end of all
	}{
		{store.Slice{Limit: 3}, 0, 3},
		{store.Slice{Offset: 3, Limit: 3}, 3, 6},
		{store.Slice{Offset: 9, Limit: 3}, 9, 10},
		{store.Slice{Offset: 10, Limit: 3}, 10, 10},
		{store.Slice{}, 0, 0},
	} {
		list, total, err := st.DeliveriesOf(t.Context(), a.ID, store.DeliveryFilter{}, k.page)
		checkEqual(t, "total", 10, total)
		var want []cola.Delivery
		for n := k.from; n < k.upto; n++ {
			want = append(want, all[9-n])
		}
		checkEqual(t, "page", want, append([]cola.Delivery(nil), must(t, list, err)...))
	}
}

func deliveriesAfter(t *testing.T, st store.Store, _ *clock) {
	a, b := mustNotify(t, st, "a@example.com", 1, 3), mustNotify(t, st, "b@example.com", 2, 1)
	for _, d := range claimDeliveries(t, st, 2) {
		mustRecordAttempt(t, st, retriedAttempt(d, duePast))
	}
	claimed, err := st.ClaimDeliveries(t.Context(), duePast.Add(anHour), allKinds, noLimit, anHour)
	for i, d := range must(t, claimed, err) {
		attempt := deliveredAttempt(d, duePast)
		attempt.Exchange = store.Exchange{
			Subject: fmt.Sprint("Subject ", i), Sent: "{}", Headers: fmt.Sprint("Server: ", i), Response: fmt.Sprint("ok ", i),
		}
		mustRecordAttempt(t, st, attempt)
	}
	var want []store.DeliveryRecord
	for _, d := range deliveriesOf(t, st, a.ID, store.DeliveryFilter{}) {
		want = append(want, mustDeliveryRecord(t, st, a.ID, d.ID))
	}
	after := func(account cola.AccountID, id int64, limit int) []store.DeliveryRecord {
		t.Helper()
		got, err := st.DeliveriesAfter(t.Context(), account, id, limit)
		return must(t, got, err)
	}
	checkEqual(t, "all", want, after(a.ID, 0, 100))
	var paged []store.DeliveryRecord
	for id := int64(0); ; id = paged[len(paged)-1].ID {
		page := after(a.ID, id, 2)
		if len(page) == 0 {
			break
		}
		paged = append(paged, page...)
	}
	checkEqual(t, "in pages", want, paged)
	checkEqual(t, "after the last", 0, len(after(a.ID, want[len(want)-1].ID, 10)))
	checkEqual(t, "for another account", 2, len(after(b.ID, 0, 100)))
	checkEqual(t, "for an unknown account", 0, len(after(b.ID+100, 0, 100)))
}

// mustDeliveryRecord returns a delivery with its attempts and their exchanges, except the sent
// messages.
func mustDeliveryRecord(t tb, st store.Store, account cola.AccountID, id int64) store.DeliveryRecord {
	t.Helper()
	detail := mustDelivery(t, st, account, id)
	exchanges, err := st.Exchanges(context.Background(), account, id)
	r := store.DeliveryRecord{Delivery: detail.Delivery}
	for i, e := range must(t, exchanges, err) {
		e.Sent = ""
		r.Attempts = append(r.Attempts, store.AttemptRecord{DeliveryAttempt: detail.Attempts[i], Exchange: e})
	}
	return r
}

func filterDeliveries(t *testing.T, st store.Store, _ *clock) {
	a, b := mustNotify(t, st, "a@example.com", 1, 2), mustNotify(t, st, "b@example.com", 2, 1)
	other := mustCreate(t, st, newSearch(a.ID, 3))
	mustRun(t, st, other, 1)
	own := mustOwn(t, st, a.ID)
	mustSendTest(t, st, a.hook, duePast)
	for _, d := range claimDeliveries(t, st, 1) {
		mustRecordAttempt(t, st, deliveredAttempt(d, duePast))
	}
	for _, k := range []struct {
		which store.DeliveryFilter
		want  int
	}{
		{store.DeliveryFilter{}, 7}, {store.DeliveryFilter{Destination: a.hook.UUID}, 4},
		{store.DeliveryFilter{Destination: own.UUID}, 3},
		{store.DeliveryFilter{SavedSearch: a.search.UUID}, 4}, {store.DeliveryFilter{SavedSearch: other.UUID}, 2},
		{store.DeliveryFilter{State: cola.DeliverySkipped}, 3},
		{store.DeliveryFilter{State: cola.DeliveryDelivered}, 1},
		{store.DeliveryFilter{State: cola.DeliveryFailed}, 0},
		{store.DeliveryFilter{Destination: a.hook.UUID, SavedSearch: a.search.UUID, State: cola.DeliveryPending}, 1},
		{store.DeliveryFilter{Destination: own.UUID, SavedSearch: other.UUID, State: cola.DeliveryPending}, 0},
		{store.DeliveryFilter{Destination: b.hook.UUID}, 0}, {store.DeliveryFilter{SavedSearch: b.search.UUID}, 0},
		{store.DeliveryFilter{Destination: "x"}, 0},
		{store.DeliveryFilter{SavedSearch: "x"}, 0}, {store.DeliveryFilter{State: "x"}, 0},
		{store.DeliveryFilter{Destination: "\x00"}, 0},
		{store.DeliveryFilter{SavedSearch: "\xff"}, 0},
		{store.DeliveryFilter{Destination: a.hook.UUID, State: "\x00"}, 0},
	} {
		list := deliveriesOf(t, st, a.ID, k.which)
		checkEqual(t, fmt.Sprintf("number of deliveries for %+q", k.which), k.want, len(list))
		for _, d := range list {
			if k.which.Destination != "" && d.Destination != k.which.Destination ||
				k.which.State != "" && d.State != k.which.State ||
				k.which.SavedSearch != "" && d.SavedSearch != cola.Some(k.which.SavedSearch) {
				t.Errorf("DeliveriesOf(%+v) returned %+v, which does not match", k.which, d)
			}
		}
	}
}

func deliveriesOfAnotherAccount(t *testing.T, st store.Store, _ *clock) {
	a, b := mustNotify(t, st, "a@example.com", 1, 1), mustNotify(t, st, "b@example.com", 2, 0)
	id := deliveriesOf(t, st, a.ID, store.DeliveryFilter{Destination: a.hook.UUID})[0].ID
	before := storeContents(t, st)
	for _, k := range []struct {
		account     cola.AccountID
		id          int64
		destination string
	}{
		{b.ID, id, a.hook.UUID},
		{b.ID + 100, id, a.hook.UUID},
		{a.ID, id + 100, b.hook.UUID},
		{a.ID, -1, ""},
		{a.ID, 0, "\x00"},
		{a.ID, 0, "\xff"},
	} {
		_, err := st.DeliveryOf(t.Context(), k.account, k.id)
		errs := map[string]error{"DeliveryOf": err}
		_, errs["Replay"] = st.Replay(t.Context(), k.account, k.id, duePast)
		_, errs["ReplayUndelivered"] = st.ReplayUndelivered(t.Context(), k.account, k.destination, duePast, 10)
		_, errs["AddTest"] = st.AddTest(t.Context(), k.account, k.destination, duePast)
		for name, err := range errs {
			if !errors.Is(err, store.ErrNotFound) {
				t.Errorf("%s(account %d, delivery %d, destination %q) error = %v, want ErrNotFound", name, k.account,
					k.id, k.destination, err)
			}
		}
	}
	checkEqual(t, "store contents", before, storeContents(t, st))
	checkEqual(t, "number of deliveries of another account", 0, len(deliveriesOf(t, st, b.ID, store.DeliveryFilter{})))
}

func replayDelivery(t *testing.T, st store.Store, _ *clock) {
	a := mustNotify(t, st, "a@example.com", 1, 1)
	d := mustClaimDelivery(t, st)
	at := duePast
	replay := func(desc string) {
		t.Helper()
		at = at.Add(anHour)
		want := mustDelivery(t, st, a.ID, d.ID)
		got, err := st.Replay(t.Context(), a.ID, d.ID, at)
		if want.State == cola.DeliverySkipped {
			want.Error = cola.Opt[string]{}
		}
		want.State = cola.DeliveryPending
		want.NextAttemptAt = cola.Some(cola.TimestampOf(at))
		want.SettledAt = cola.Opt[cola.Timestamp]{}
		checkEqual(t, "Replay of a "+desc, want.Delivery, must(t, got, err))
		checkEqual(t, desc+": DeliveryOf", want, mustDelivery(t, st, a.ID, d.ID))
		early, err := st.ClaimDeliveries(t.Context(), at.Add(-time.Microsecond), allKinds, noLimit, anHour)
		checkEqual(t, desc+": claimed early", []int64{}, deliveryIDs(must(t, early, err)))
		claimed, err := st.ClaimDeliveries(t.Context(), at, allKinds, noLimit, anHour)
		if len(must(t, claimed, err)) != 1 || claimed[0].MessageID != d.MessageID ||
			!claimed[0].FirstAttemptAt.IsZero() || claimed[0].Attempts != want.AttemptCount {
			t.Fatalf("%s: ClaimDeliveries = %+v, want the same message with its retries reset", desc, claimed)
		}
		d = claimed[0]
	}
	mustRecordAttempt(t, st, retriedAttempt(d, at))
	replay("retried delivery")
	mustRecordAttempt(t, st, failedAttempt(d, at, ""))
	replay("failed delivery")
	checkEqual(t, "error after the replay", cola.Some(receiverError), mustDelivery(t, st, a.ID, d.ID).Error)
	mustRecordAttempt(t, st, deliveredAttempt(d, at))
	replay("completed delivery")
	mustDo(t, st.ReleaseDeliveries(t.Context(), []store.DueDelivery{d}))
	mustSetActive(t, st, a.hook, false)
	if _, err := st.Replay(t.Context(), a.ID, d.ID, at); !errors.Is(err, store.ErrNotActive) {
		t.Errorf("Replay to a paused destination: error = %v, want ErrNotActive", err)
	}
	mustSetActive(t, st, a.hook, true)
	replay("skipped delivery")
	mustRecordAttempt(t, st, deliveredAttempt(d, at))
	checkEqual(t, "number of attempts", 4, len(mustDelivery(t, st, a.ID, d.ID).Attempts))
}

func replayClaimed(t *testing.T, st store.Store, _ *clock) {
	a := mustNotify(t, st, "a@example.com", 1, 1)
	claimed := mustClaimDelivery(t, st)
	if _, err := st.Replay(t.Context(), a.ID, claimed.ID, duePast); err != nil {
		t.Fatal(err)
	}
	checkAttemptRejected(t, st, "claim from before the replay", deliveredAttempt(claimed, duePast))
	second := mustClaimDelivery(t, st)
	checkAttemptRejected(t, st, "claim from before the replay, claimed again", deliveredAttempt(claimed, duePast))
	mustDo(t, st.ReleaseDeliveries(t.Context(), []store.DueDelivery{claimed}))
	checkEqual(t, "claimed deliveries", []int64{}, deliveryIDs(claimDeliveries(t, st, noLimit)))
	mustRecordAttempt(t, st, deliveredAttempt(second, duePast))
}

func replayUndelivered(t *testing.T, st store.Store, _ *clock) {
	a := mustNotify(t, st, "a@example.com", 1, 6)
	claimed := claimDeliveries(t, st, 3)
	mustSendTest(t, st, a.hook, duePast.Add(time.Hour))
	mustRecordAttempt(t, st, deliveredAttempt(claimed[0], duePast))
	mustRecordAttempt(t, st, failedAttempt(claimed[1], duePast, ""))
	replay := func(want, limit int) {
		t.Helper()
		n, err := st.ReplayUndelivered(t.Context(), a.ID, a.hook.UUID, duePast.Add(anHour), limit)
		checkEqual(t, "ReplayUndelivered", want, must(t, n, err))
	}
	replay(1, 10)
	mustSetActive(t, st, a.hook, false)
	if n, err := st.ReplayUndelivered(t.Context(), a.ID, a.hook.UUID, duePast, 10); n != 0 ||
		!errors.Is(err, store.ErrNotActive) {
		t.Errorf("ReplayUndelivered to a paused destination = %d, %v; want 0, ErrNotActive", n, err)
	}
	mustSetActive(t, st, a.hook, true)
	replay(2, 2)
	all := deliveriesOf(t, st, a.ID, store.DeliveryFilter{Destination: a.hook.UUID})
	states := make([]string, len(all))
	for i, d := range all {
		states[i] = d.State
	}
	pending, skipped := cola.DeliveryPending, cola.DeliverySkipped
	checkEqual(t, "states after replaying two",
		[]string{cola.DeliveryDelivered, pending, pending, skipped, skipped, skipped, skipped}, states)
	checkEqual(t, "due time of a replayed delivery", cola.Some(cola.TimestampOf(duePast.Add(anHour))),
		all[2].NextAttemptAt)
	replay(0, 0)
	replay(3, 10)
	replay(0, 10)
	own := deliveriesOf(t, st, a.ID, store.DeliveryFilter{
		Destination: mustOwn(t, st, a.ID).UUID,
		State:       cola.DeliverySkipped,
	})
	checkEqual(t, "skipped deliveries of another destination", 6, len(own))
	checkEqual(t, "state of the test message", skipped,
		deliveriesOf(t, st, a.ID, store.DeliveryFilter{Destination: a.hook.UUID})[6].State)
	checkAttemptRejected(t, st, "claim from before the pause", deliveredAttempt(claimed[2], duePast))
}

func addMessages(t *testing.T, st store.Store, _ *clock) {
	a := mustAccount(t, st, "a@example.com", cola.TierFree)
	search := mustCreate(t, st, newSearch(a.ID, 1))
	unconfirmed := newMailbox(a.ID, "x@example.com")
	unconfirmed.State = cola.DestinationUnconfirmed
	hooked := mustDestination(t, st, forSearch(newHook(a.ID, hook), search))
	mailbox := mustDestination(t, st, unconfirmed)
	at := duePast.Add(789 * time.Nanosecond) // stored in whole microseconds
	due := cola.TimestampOf(duePast)
	for _, k := range []struct {
		to    store.Destination
		event string
		add   func(tb, store.Store, store.Destination, time.Time) cola.Delivery
	}{
		{hooked, cola.EventTest, mustSendTest}, {mustOwn(t, st, a.ID), cola.EventTest, mustSendTest},
		{mailbox, cola.EventConfirm, mustRequestConfirmation},
		{mailbox, cola.EventConfirm, mustRequestConfirmation},
	} {
		d := k.add(t, st, k.to, at)
		checkEqual(t, "added message", cola.Delivery{
			ID:            d.ID,
			MessageID:     d.MessageID,
			Event:         k.event,
			Destination:   k.to.UUID,
			Kind:          k.to.Kind,
			State:         cola.DeliveryPending,
			CreatedAt:     due,
			NextAttemptAt: cola.Some(due),
		}, d)
		checkEqual(t, "DeliveryOf", cola.DeliveryDetail{Delivery: d, Attempts: []cola.DeliveryAttempt{}},
			mustDelivery(t, st, a.ID, d.ID))
	}
	mustSetActive(t, st, hooked, false)
	named := mustAccountOf(t, st, testIssuer, "1", "")
	before := storeContents(t, st)
	for _, to := range []store.Destination{hooked, mailbox, mustOwn(t, st, named.ID)} {
		if d, err := st.AddTest(t.Context(), to.Account, to.UUID, duePast); !errors.Is(err, store.ErrNotActive) {
			t.Errorf("AddTest(%s destination) = %+v, %v; want ErrNotActive", to.State, d, err)
		}
	}
	checkEqual(t, "store contents", before, storeContents(t, st))
}

func deleteOldDeliveries(t *testing.T, st store.Store, _ *clock) {
	a := mustAccount(t, st, "a@example.com", cola.TierFree)
	own := mustOwn(t, st, a.ID)
	deleteOld := func(want int) {
		t.Helper()
		n, err := st.DeleteOldDeliveries(t.Context(), duePast)
		checkEqual(t, "DeleteOldDeliveries", want, must(t, n, err))
	}
	deleteOld(0)
	const old = 2_300 // more than a backend deletes at a time
	for n := range 5 {
		mustSendTest(t, st, own, duePast.Add(-time.Duration(n)*time.Hour))
	}
	deleteOld(4)
	var remaining []int64
	for _, d := range claimDeliveries(t, st, noLimit) {
		mustRecordAttempt(t, st, retriedAttempt(d, duePast)) // only the creation time counts, not the attempt time
		remaining = append(remaining, d.ID)
	}
	for range old {
		mustSendTest(t, st, own, duePast.Add(-time.Microsecond))
	}
	for _, d := range claimDeliveries(t, st, 1_200) {
		mustRecordAttempt(t, st, retriedAttempt(d, duePast.Add(week)))
	}
	deleteOld(old)
	deleteOld(0)
	list := deliveriesOf(t, st, a.ID, store.DeliveryFilter{})
	checkEqual(t, "remaining deliveries", []int64{list[0].ID}, remaining)
	checkDeliveryCounts(t, st, 1, 1, 1)
}
