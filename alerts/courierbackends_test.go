package alerts

import (
	"context"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

// mustAim makes a destination of webhooks for all searches of an account.
func mustAim(t *testing.T, st store.Store, account cola.AccountID, address string) store.Destination {
	t.Helper()
	d, err := st.CreateDestination(t.Context(), store.NewDestination{
		Account: account, Kind: cola.KindWebhook, Address: address, State: cola.DestinationActive, Secret: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", MaxDestinations: 20,
	})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// TestCouriersBesideEachOther: couriers of two processes deliver at the same time what searches found. Every message is taken once, by mail and by
// webhook; to a receiver that is never well, until it is paused and its account told.
func TestCouriersBesideEachOther(t *testing.T) {
	onBackends(t, func(t *testing.T, open opener) {
		const searches = 50
		var seconds atomic.Int64
		now := func() time.Time { return at(11, 10, 7).Add(time.Duration(seconds.Load()) * time.Second) }
		st, other := open(t, now), open(t, now)
		account := mustAccount(t, st)
		mustAim(t, st, account, "https://well.example")
		ill := mustAim(t, st, account, "https://ill.example")
		for i := range searches {
			mustSave(t, st, account, i, oaks, daily, at(11, 9, 12))
		}
		mustWrite(t, st, wineOak(1, at(11, 10, 0)), store.Commit)
		mustTick(t, New(Options{Store: st}), now())

		hook := &fakeSender{answer: func(_ context.Context, m Message) Sent {
			switch {
			case m.Destination.UUID == ill.UUID:
				return Sent{Status: 500, Fault: "The receiver answered 500."}
			case m.Attempts == 0 && m.ID%3 == 0:
				return Sent{Status: 503, Fault: "The receiver answered 503.", After: 30 * time.Second}
			}
			return Sent{Status: 200}
		}}
		post := &fakeSender{}
		for range 4 * 24 * 2 { // four days, half an hour at a time
			var all sync.WaitGroup
			for _, from := range []store.Store{st, other, st} {
				all.Go(func() {
					c := NewCourier(CourierOptions{Store: from, Senders: map[string]Sender{cola.KindWebhook: hook, cola.KindEmail: post}, Now: now})
					if _, err := c.Deliver(t.Context(), now()); err != nil {
						t.Error(err)
					}
				})
			}
			all.Wait()
			seconds.Add(1800)
		}
		checkTaken(t, hook, post, ill.UUID, searches)
		checkStates(t, st, account, ill.UUID)
	})
}

// checkTaken checks what was sent where, and how often.
func checkTaken(t *testing.T, hook, post *fakeSender, ill string, searches int) {
	t.Helper()
	tries, ids := map[int64]int{}, map[int64]string{}
	for _, m := range hook.messages() {
		if tries[m.ID]++; m.Content == nil || m.Content.Run.MatchCount != 1 || m.Content.Labels[0].Label.BrandName != "OAK" {
			t.Errorf("delivery %d tells %+v", m.ID, m.Content)
		}
		if id := ids[m.ID]; id != "" && id != m.MessageID {
			t.Errorf("delivery %d is %s and %s", m.ID, id, m.MessageID)
		}
		want := 1
		if ids[m.ID] = m.MessageID; m.ID%3 == 0 {
			want = 2
		}
		if m.Destination.UUID != ill && tries[m.ID] > want {
			t.Errorf("delivery %d was sent %d times, want %d", m.ID, tries[m.ID], want)
		}
	}
	if n := len(slices.Compact(slices.Sorted(maps.Values(ids)))); n != 2*searches {
		t.Errorf("%d different messages were posted, want %d", n, 2*searches)
	}
	events := map[string]int{}
	for _, m := range post.messages() {
		if events[m.Event]++; m.AccountEmail != "alerts@example.com" {
			t.Errorf("a mail tells %+v", m.DueDelivery)
		}
	}
	if diff := cmp.Diff(map[string]int{cola.EventRan: searches, cola.EventPaused: 1}, events); diff != "" {
		t.Errorf("mails (-want +got):\n%s", diff)
	}
}

// checkStates checks what became of all deliveries, and of the destination that is never well.
func checkStates(t *testing.T, st store.Store, account cola.AccountID, ill string) {
	t.Helper()
	list, total, err := st.DeliveriesOf(t.Context(), account, store.DeliveryFilter{}, store.Slice{Limit: 1000})
	if err != nil {
		t.Fatal(err)
	}
	counts := map[string]int{}
	for _, d := range list {
		if counts[d.State]++; d.State == cola.DeliveryPending || d.Destination == ill && d.Event == cola.EventRan && d.State == cola.DeliveryDelivered {
			t.Errorf("%+v", d)
		}
	}
	if counts[cola.DeliveryDelivered] != 101 || counts[cola.DeliveryFailed] == 0 || total != 151 {
		t.Errorf("%d deliveries: %v", total, counts)
	}
	d, err := st.Destination(t.Context(), account, ill)
	if err != nil || d.State != cola.DestinationPaused || d.Reason.V != cola.ReasonFailing || !d.FailingSince.OK {
		t.Errorf("it is %+v, %v", d.Destination, err)
	}
}
