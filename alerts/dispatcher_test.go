package alerts

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

// startDispatcher runs a dispatcher until the caller calls end.
func startDispatcher(t *testing.T, c *Dispatcher) (end func()) {
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		c.Run(ctx)
	}()
	return func() {
		cancel()
		<-ended
	}
}

// TestExhaustedRetries checks that a message that is never accepted is tried eleven times with
// the same ID and then fails.
func TestExhaustedRetries(t *testing.T) {
	withDeliveries(t, 1, func(t *testing.T, f *fakeDeliveries) {
		s := &fakeSender{answer: always(Result{Status: 500, Fault: "The receiver responded with status 500."})}
		c, _ := newTestDispatcher(f, s)
		end := startDispatcher(t, c)
		time.Sleep(5 * 24 * time.Hour)
		end()
		attempts := f.attempts()
		if len(attempts) != 11 || len(s.messages()) != 11 {
			t.Fatalf("%d attempts recorded, %d messages sent, want 11 of each", len(attempts), len(s.messages()))
		}
		for i, a := range attempts {
			if a.Due.MessageID != "msg_1" || a.Due.Attempts != i {
				t.Errorf("attempt %d = %+v, want message msg_1 with %d earlier attempts", i, a, i)
			}
			if late := a.At.Sub(a.Due.DueAt); late < 0 || late > 2*deliverInterval {
				t.Errorf("attempt %d is %v late", i, late)
			}
		}
		elapsed := attempts[10].At.Sub(attempts[0].At)
		if elapsed < 71*time.Hour || elapsed > 72*time.Hour || f.paused["destination 1"] != cola.ReasonFailing ||
			attempts[10].State != cola.DeliveryFailed {
			t.Errorf("last attempt after %v: %+v; paused: %v; want a failure after about 72h that pauses the destination",
				elapsed, attempts[10], f.paused)
		}
	})
}

// TestDeliveredAfterRetries checks that a message accepted on the fourth attempt is not sent again,
// and that its destination stays active.
func TestDeliveredAfterRetries(t *testing.T) {
	withDeliveries(t, 1, func(t *testing.T, f *fakeDeliveries) {
		s := &fakeSender{answer: func(_ context.Context, m Message) Result {
			if m.Attempts < 3 {
				return Result{Fault: "The connection was refused."}
			}
			return Result{Status: 200}
		}}
		c, _ := newTestDispatcher(f, s)
		end := startDispatcher(t, c)
		time.Sleep(5 * 24 * time.Hour)
		end()
		if n := len(s.messages()); n != 4 || f.states()[cola.DeliveryDelivered] != 1 || len(f.paused) != 0 {
			t.Errorf("%d messages, states %v, paused %v; want 4 messages, 1 delivered, none paused", n, f.states(), f.paused)
		}
	})
}

// TestRunSurvivesOutage checks that a dispatcher survives a database outage, logs it once, and
// makes no unnecessary queries.
func TestRunSurvivesOutage(t *testing.T) {
	withDeliveries(t, 1, func(t *testing.T, f *fakeDeliveries) {
		calls := map[string]int{}
		f.before = func(call string) error {
			calls[call]++
			if calls["OldestPending"] < 10 {
				return errUnavailable
			}
			return nil
		}
		f.old = 25
		s := &fakeSender{}
		c, log := newTestDispatcher(f, s)
		end := startDispatcher(t, c)
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		end()
		recovered := strings.Contains(log.String(), "message delivery recovered")
		if n := strings.Count(log.String(), "level=ERROR"); n != 1 || !recovered || len(s.messages()) != 1 {
			t.Errorf("%d errors logged, recovered = %v, %d messages; want 1, true, 1:\n%s", n, recovered, len(s.messages()), log)
		}
		if calls["ClaimDeliveries"] != 1 || calls["DeleteOldDeliveries"] != 4 || calls["OldestPending"] > 122 {
			t.Errorf("calls = %v, want 1 claim, 4 deletions and at most 122 queries", calls)
		}
		if age := time.Since(f.deleted[0]); age < deliveryRetention || age > deliveryRetention+10*time.Minute {
			t.Errorf("deleted deliveries older than %v, want about %v", age, deliveryRetention)
		}
	})
}

func TestHourlyCleanup(t *testing.T) {
	withDeliveries(t, 0, func(t *testing.T, f *fakeDeliveries) {
		c, _ := newTestDispatcher(f, &fakeSender{})
		end := startDispatcher(t, c)
		time.Sleep(5*time.Hour + 30*time.Minute)
		end()
		if n := len(f.deleted); n != 6 {
			t.Errorf("%d cleanups in five and a half hours, want 6", n)
		}
	})
}

// TestRunShutdown stops a dispatcher in the middle of a round. The round must end within seconds,
// record the messages accepted within the grace period, and release slow and untried ones.
func TestRunShutdown(t *testing.T) {
	withDeliveries(t, 40, func(t *testing.T, f *fakeDeliveries) {
		sending := make(chan struct{}, 100)
		s := &fakeSender{answer: func(ctx context.Context, m Message) Result {
			sending <- struct{}{}
			delay := time.Hour
			if m.ID <= 5 {
				delay = 2 * time.Second
			}
			if !sleep(ctx, delay) {
				return Result{Fault: "The receiver did not respond."}
			}
			return Result{Status: 200}
		}}
		c, log := newTestDispatcher(f, s)
		end := startDispatcher(t, c)
		for range maxInFlight {
			<-sending
		}
		synctest.Wait()
		started := time.Now()
		end()
		if took := time.Since(started); took > 10*time.Second {
			t.Errorf("shutdown took %v, want at most 10s", took)
		}
		if diff := cmp.Diff(map[string]int{"delivered": 5, "pending": 35}, f.states()); diff != "" {
			t.Errorf("deliveries (-want +got):\n%s", diff)
		}
		if len(f.released) != 27 || len(f.attempts()) != 5 {
			t.Errorf("%d released, %d attempts recorded, want 27 and 5", len(f.released), len(f.attempts()))
		}
		if strings.Contains(log.String(), "ERROR") {
			t.Errorf("shutdown logged as an error:\n%s", log)
		}
		f.mu.Lock()
		defer f.mu.Unlock()
		for _, d := range f.all {
			if !d.claimedUntil.IsZero() {
				t.Errorf("delivery %d is still claimed", d.ID)
			}
		}
	})
}

// TestRecordedAfterShutdown checks that an accepted message is recorded even if the context is
// canceled and the database is temporarily unavailable.
func TestRecordedAfterShutdown(t *testing.T) {
	withDeliveries(t, 1, func(t *testing.T, f *fakeDeliveries) {
		ctx, cancel := context.WithCancel(t.Context())
		tries := 0
		f.before = func(call string) error {
			if call == "RecordAttempt" && tries < 3 {
				tries++
				return errUnavailable
			}
			return nil
		}
		c, _ := newTestDispatcher(f, &fakeSender{answer: func(context.Context, Message) Result {
			cancel()
			return Result{Status: 200}
		}})
		report, err := c.Deliver(ctx, time.Now())
		if err == nil || report != (DeliveryReport{Delivered: 1}) {
			t.Errorf("Deliver = %+v, %v, want 1 delivered and the context's error", report, err)
		}
	})
}

// mustCreateDestination creates a webhook destination for all of an account's searches.
func mustCreateDestination(t *testing.T, st store.Store, account cola.AccountID, address string) store.Destination {
	t.Helper()
	d, err := st.CreateDestination(t.Context(), store.NewDestination{
		Account: account, Kind: cola.KindWebhook, Address: address, State: cola.DestinationActive,
		Secret: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", MaxDestinations: 20,
	})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// TestConcurrentDispatchers delivers with the dispatchers of two processes. Every run is delivered
// once by email and once by webhook. Messages to a receiver that always fails are retried until its
// destination is paused and the account is notified.
func TestConcurrentDispatchers(t *testing.T) {
	onBackends(t, func(t *testing.T, open opener) {
		const searches = 50
		var seconds atomic.Int64
		now := func() time.Time { return at(11, 10, 7).Add(time.Duration(seconds.Load()) * time.Second) }
		st, other := open(t, now), open(t, now)
		account := mustAccount(t, st)
		mustCreateDestination(t, st, account, "https://healthy.example")
		failing := mustCreateDestination(t, st, account, "https://failing.example")
		for i := range searches {
			mustSave(t, st, account, i, oaks, daily, at(11, 9, 12))
		}
		mustWrite(t, st, wineOak(1, at(11, 10, 0)), store.Commit)
		mustTick(t, New(Options{Store: st}), now())

		webhooks := &fakeSender{answer: func(_ context.Context, m Message) Result {
			switch {
			case m.Destination.UUID == failing.UUID:
				return Result{Status: 500, Fault: "The receiver responded with status 500."}
			case m.Attempts == 0 && m.ID%3 == 0:
				return Result{Status: 503, Fault: "The receiver responded with status 503.", RetryAfter: 30 * time.Second}
			}
			return Result{Status: 200}
		}}
		mail := &fakeSender{}
		for range 4 * 24 * 2 { // four days, in half-hour steps
			var all sync.WaitGroup
			for _, from := range []store.Store{st, other, st} {
				all.Go(func() {
					c := NewDispatcher(DispatcherOptions{
						Store: from, Senders: map[string]Sender{cola.KindWebhook: webhooks, cola.KindEmail: mail}, Now: now,
					})
					if _, err := c.Deliver(t.Context(), now()); err != nil {
						t.Error(err)
					}
				})
			}
			all.Wait()
			seconds.Add(1800)
		}
		checkSent(t, webhooks, mail, failing.UUID, searches)
		checkStates(t, st, account, failing.UUID)
	})
}

// checkSent checks where and how many times each message was sent.
func checkSent(t *testing.T, webhooks, mail *fakeSender, failing string, searches int) {
	t.Helper()
	tries, ids := map[int64]int{}, map[int64]string{}
	for _, m := range webhooks.messages() {
		tries[m.ID]++
		if m.Content == nil || m.Content.Run.MatchCount != 1 || m.Content.Labels[0].Label.BrandName != "OAK" {
			t.Errorf("delivery %d: content = %+v, want the matched label", m.ID, m.Content)
		}
		if id := ids[m.ID]; id != "" && id != m.MessageID {
			t.Errorf("delivery %d: message IDs %s and %s, want the same ID", m.ID, id, m.MessageID)
		}
		ids[m.ID] = m.MessageID
		want := 1
		if m.ID%3 == 0 {
			want = 2
		}
		if m.Destination.UUID != failing && tries[m.ID] > want {
			t.Errorf("delivery %d was sent %d times, want %d", m.ID, tries[m.ID], want)
		}
	}
	if n := len(slices.Compact(slices.Sorted(maps.Values(ids)))); n != 2*searches {
		t.Errorf("%d distinct webhooks, want %d", n, 2*searches)
	}
	events := map[string]int{}
	for _, m := range mail.messages() {
		events[m.Event]++
		if m.AccountEmail != "alerts@example.com" {
			t.Errorf("email to %q, want alerts@example.com", m.AccountEmail)
		}
	}
	if diff := cmp.Diff(map[string]int{cola.EventRan: searches, cola.EventPaused: 1}, events); diff != "" {
		t.Errorf("emails (-want +got):\n%s", diff)
	}
}

// checkStates checks the final states of all deliveries and of the failing destination.
func checkStates(t *testing.T, st store.Store, account cola.AccountID, failing string) {
	t.Helper()
	list, total, err := st.DeliveriesOf(t.Context(), account, store.DeliveryFilter{}, store.Slice{Limit: 1000})
	if err != nil {
		t.Fatal(err)
	}
	counts := map[string]int{}
	for _, d := range list {
		counts[d.State]++
		if d.State == cola.DeliveryPending || d.Destination == failing && d.Event == cola.EventRan && d.State == cola.DeliveryDelivered {
			t.Errorf("unexpected state of delivery %+v", d)
		}
	}
	if counts[cola.DeliveryDelivered] != 101 || counts[cola.DeliveryFailed] == 0 || total != 151 {
		t.Errorf("%d deliveries, states %v; want 151, 101 of them delivered and some failed", total, counts)
	}
	d, err := st.Destination(t.Context(), account, failing)
	if err != nil || d.State != cola.DestinationPaused || d.Reason.V != cola.ReasonFailing || !d.FailingSince.OK {
		t.Errorf("failing destination = %+v, %v, want it paused", d.Destination, err)
	}
}
