package alerts

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/colaregistry/colaregistry/cola"
)

// TestSlowAccounts: accounts with many receivers that never answer, and very many messages for them, hold up nobody else's for long, however
// often that begins anew; and all of theirs are tried.
func TestSlowAccounts(t *testing.T) {
	delivering(t, 0, func(t *testing.T, f *fakeDeliveries) {
		const accounts, receivers, messages = 4, 19, 5
		flood := func() {
			for n := range accounts * receivers * messages {
				d := f.add(cola.KindWebhook, cola.EventTest, time.Now())
				d.Destination.Account = cola.AccountID(1_000_000 + n%accounts)
				d.Destination.UUID = fmt.Sprintf("slow %d", n%(accounts*receivers))
			}
		}
		s := &fakeSender{answer: func(ctx context.Context, m Message) Sent {
			if m.Destination.Account < 1_000_000 {
				return Sent{Status: 200}
			}
			rest(ctx, 15*time.Second)
			return Sent{Fault: "It did not answer within 15s."}
		}}
		c, _ := courierWith(f, s)
		end := running(t, c)
		defer end()
		for round := range 5 {
			flood()
			for wait := range 6 {
				time.Sleep(time.Duration(1+wait*7) * time.Second)
				healthy := f.add(cola.KindWebhook, cola.EventRan, time.Now())
				due := time.Now()
				for f.stateOf(healthy.ID) != cola.DeliveryDelivered && time.Since(due) < 5*time.Minute {
					time.Sleep(100 * time.Millisecond)
				}
				if late := time.Since(due); late > 4*deliverEvery {
					t.Errorf("round %d: a message to a receiver that answers is delivered after %v", round, late)
				}
			}
		}
		time.Sleep(3 * time.Hour)
		for id, d := range f.snapshot() {
			if d.Attempts == 0 {
				t.Errorf("delivery %d to %s was not tried in three hours", id, d.Destination.UUID)
			}
		}
	})
}

// stateOf returns the state of a delivery.
func (f *fakeDeliveries) stateOf(id int64) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.all[id].state
}

// snapshot returns all deliveries as they are.
func (f *fakeDeliveries) snapshot() map[int64]fakeDelivery {
	f.mu.Lock()
	defer f.mu.Unlock()
	all := map[int64]fakeDelivery{}
	for id, d := range f.all {
		all[id] = *d
	}
	return all
}
