package alerts

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/colaregistry/colaregistry/cola"
)

// TestSlowAccounts repeatedly adds many messages for unresponsive receivers of a few accounts.
// Other accounts' messages must not be delayed for long, and every message must be tried.
func TestSlowAccounts(t *testing.T) {
	withDeliveries(t, 0, func(t *testing.T, f *fakeDeliveries) {
		const accounts, receivers, messages = 4, 19, 5
		flood := func() {
			for n := range accounts * receivers * messages {
				d := f.add(cola.KindWebhook, cola.EventTest, time.Now())
				d.Destination.Account = cola.AccountID(1_000_000 + n%accounts)
				d.Destination.UUID = fmt.Sprintf("slow %d", n%(accounts*receivers))
			}
		}
		s := &fakeSender{answer: func(ctx context.Context, m Message) Result {
			if m.Destination.Account < 1_000_000 {
				return Result{Status: 200}
			}
			sleep(ctx, 15*time.Second)
			return Result{Fault: "No response within 15s."}
		}}
		c, _ := newTestDispatcher(f, s)
		end := startDispatcher(t, c)
		defer end()
		for round := range 2 {
			flood()
			for wait := range 6 {
				time.Sleep(time.Duration(1+wait*7) * time.Second)
				healthy := f.add(cola.KindWebhook, cola.EventRan, time.Now())
				due := time.Now()
				for f.stateOf(healthy.ID) != cola.DeliveryDelivered && time.Since(due) < 5*time.Minute {
					time.Sleep(100 * time.Millisecond)
				}
				if late := time.Since(due); late > 4*deliverInterval {
					t.Errorf("round %d: message to a responsive receiver delivered after %v", round, late)
				}
			}
		}
		untried := func() (ids []int64) {
			for id, d := range f.snapshot() {
				if d.Attempts == 0 {
					ids = append(ids, id)
				}
			}
			return ids
		}
		// Two rounds take about an hour, because retries fill the slots too.
		for deadline := time.Now().Add(6 * time.Hour); len(untried()) > 0 && time.Now().Before(deadline); {
			time.Sleep(5 * time.Minute)
		}
		if ids := untried(); len(ids) > 0 {
			t.Errorf("%d deliveries were not tried in six hours, for example delivery %d", len(ids), ids[0])
		}
	})
}

// TestHostLimit checks that requests to a host are limited across accounts, both in flight and per
// minute, and that excess messages wait without failing and without delaying messages to other
// hosts.
func TestHostLimit(t *testing.T) {
	withDeliveries(t, 0, func(t *testing.T, f *fakeDeliveries) {
		const messages = 3 * DefaultHostRate
		var mu sync.Mutex
		inFlight, most := 0, 0
		var started []time.Time
		s := &fakeSender{answer: func(ctx context.Context, m Message) Result {
			if m.Destination.Address.V != "https://victim.example/x" {
				return Result{Status: 200}
			}
			mu.Lock()
			started = append(started, time.Now())
			inFlight++
			most = max(most, inFlight)
			mu.Unlock()
			sleep(ctx, time.Second)
			mu.Lock()
			defer mu.Unlock()
			inFlight--
			return Result{Status: 200}
		}}
		for n := range messages {
			d := f.add(cola.KindWebhook, cola.EventRan, time.Now())
			d.Destination.Account, d.Destination.UUID = cola.AccountID(1_000+n), fmt.Sprint(n)
			d.Destination.Address = cola.Some("https://victim.example/x")
		}
		other := f.add(cola.KindWebhook, cola.EventRan, time.Now())
		other.Destination.Account, other.Destination.Address = 1, cola.Some("https://other.example/x")
		c, _ := newTestDispatcher(f, s)
		end := startDispatcher(t, c)
		defer end()
		time.Sleep(2 * time.Minute)
		if f.stateOf(other.ID) != cola.DeliveryDelivered {
			t.Error("message to another host was delayed")
		}
		time.Sleep(time.Hour)
		for id, d := range f.snapshot() {
			if d.state != cola.DeliveryDelivered || d.Attempts != 1 {
				t.Fatalf("delivery %d is %s after %d attempts, want delivered after 1", id, d.state, d.Attempts)
			}
		}
		mu.Lock()
		defer mu.Unlock()
		if most > maxPerHost {
			t.Errorf("%d requests to a host in flight, want at most %d", most, maxPerHost)
		}
		for i := DefaultHostRate; i < len(started); i++ {
			// A sliding minute can overlap two minutes of the limiter.
			if i >= 2*DefaultHostRate && started[i].Sub(started[i-2*DefaultHostRate]) < time.Minute {
				t.Fatalf("%d requests to a host in %v, want at least a minute", 2*DefaultHostRate+1, started[i].Sub(started[i-2*DefaultHostRate]))
			}
		}
		if len(started) != messages {
			t.Errorf("%d requests, want one for each of %d messages", len(started), messages)
		}
	})
}

// TestHostShares checks that an account that floods a platform's host, or has slow endpoints there,
// doesn't delay other accounts' messages to it.
func TestHostShares(t *testing.T) {
	for name, tt := range map[string]struct {
		takes    time.Duration
		accounts int // number of flooding accounts
	}{
		"flood": {0, 1}, "flood from several accounts": {0, 6}, "slow endpoints": {15 * time.Second, 1},
	} {
		t.Run(name, func(t *testing.T) {
			withDeliveries(t, 0, func(t *testing.T, f *fakeDeliveries) {
				const greedy, endpoints, messages = cola.AccountID(1_000_000), 20, 600
				var mu sync.Mutex
				var started []time.Time
				inFlight, most := 0, 0
				s := &fakeSender{answer: func(ctx context.Context, m Message) Result {
					if m.Destination.Account < greedy {
						return Result{Status: 200}
					}
					mu.Lock()
					started = append(started, time.Now())
					inFlight++
					most = max(most, inFlight)
					mu.Unlock()
					sleep(ctx, tt.takes)
					mu.Lock()
					defer mu.Unlock()
					inFlight--
					return Result{Status: 200}
				}}
				add := func(account cola.AccountID, endpoint string) int64 {
					d := f.add(cola.KindWebhook, cola.EventTest, time.Now())
					d.Destination.Account, d.Destination.UUID = account, endpoint
					d.Destination.Address = cola.Some("https://platform.example/" + endpoint)
					return d.ID
				}
				for n := range messages {
					add(greedy+cola.AccountID(n%tt.accounts), fmt.Sprint("greedy ", n%endpoints))
				}
				c, _ := newTestDispatcher(f, s)
				end := startDispatcher(t, c)
				defer end()
				for n := range 20 {
					time.Sleep(time.Duration(1+n*7) * time.Second)
					due, id := time.Now(), add(cola.AccountID(1+n), fmt.Sprint("modest ", n))
					for f.stateOf(id) != cola.DeliveryDelivered && time.Since(due) < 5*time.Minute {
						time.Sleep(100 * time.Millisecond)
					}
					if late := time.Since(due); late > 4*deliverInterval {
						t.Errorf("message %d of another account delivered after %v", n, late)
					}
				}
				mu.Lock()
				defer mu.Unlock()
				if tt.accounts == 1 && most > maxPerHost/2 {
					t.Errorf("%d requests from an account in flight, want at most %d", most, maxPerHost/2)
				}
				// A sliding minute can overlap two minutes of the limiter.
				limit := 2 * DefaultHostRate * tt.accounts / (tt.accounts + 1)
				for i := limit; i < len(started); i++ {
					if started[i].Sub(started[i-limit]) < time.Minute {
						t.Fatalf("%d requests from flooding accounts in %v, want at least a minute", limit+1, started[i].Sub(started[i-limit]))
					}
				}
				if len(started) == 0 {
					t.Error("no message from a flooding account was sent")
				}
			})
		})
	}
}

func (f *fakeDeliveries) stateOf(id int64) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.all[id].state
}

// snapshot returns copies of all deliveries.
func (f *fakeDeliveries) snapshot() map[int64]fakeDelivery {
	f.mu.Lock()
	defer f.mu.Unlock()
	all := map[int64]fakeDelivery{}
	for id, d := range f.all {
		all[id] = *d
	}
	return all
}
