package alerts

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/colaregistry/colaregistry/cola"
)

// running has a courier run until it is ended.
func running(t *testing.T, c *Courier) (end func()) {
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

// TestRetriesOverThreeDays: a receiver that never takes a message is tried eleven times, always with the same id, and then left alone.
func TestRetriesOverThreeDays(t *testing.T) {
	delivering(t, 1, func(t *testing.T, f *fakeDeliveries) {
		s := &fakeSender{answer: always(Sent{Status: 500, Fault: "The receiver answered 500."})}
		c, _ := courierWith(f, s)
		end := running(t, c)
		time.Sleep(5 * 24 * time.Hour)
		end()
		attempts := f.attempts()
		if len(attempts) != 11 || len(s.messages()) != 11 {
			t.Fatalf("%d attempts of %d messages", len(attempts), len(s.messages()))
		}
		for i, a := range attempts {
			if a.Due.MessageID != "msg_1" || a.Due.Attempts != i {
				t.Errorf("attempt %d: %+v", i, a)
			}
			if late := a.At.Sub(a.Due.DueAt); late < 0 || late > 2*deliverEvery {
				t.Errorf("attempt %d comes %v late", i, late)
			}
		}
		all := attempts[10].At.Sub(attempts[0].At)
		if all < 71*time.Hour || all > 72*time.Hour || f.paused["destination 1"] != cola.ReasonFailing || attempts[10].State != cola.DeliveryFailed {
			t.Errorf("given up after %v: %+v; paused: %v", all, attempts[10], f.paused)
		}
	})
}

// TestTakenAtLast: what is taken by the fourth attempt is not sent again, and nothing is paused.
func TestTakenAtLast(t *testing.T) {
	delivering(t, 1, func(t *testing.T, f *fakeDeliveries) {
		s := &fakeSender{answer: func(_ context.Context, m Message) Sent {
			if m.Attempts < 3 {
				return Sent{Fault: "The connection was refused."}
			}
			return Sent{Status: 200}
		}}
		c, _ := courierWith(f, s)
		end := running(t, c)
		time.Sleep(5 * 24 * time.Hour)
		end()
		if n := len(s.messages()); n != 4 || f.states()[cola.DeliveryDelivered] != 1 || len(f.paused) != 0 {
			t.Errorf("%d messages, %v, paused: %v", n, f.states(), f.paused)
		}
	})
}

// TestRunGoesOn when the database is away, says so once, and asks it no more than is needed.
func TestRunGoesOn(t *testing.T) {
	delivering(t, 1, func(t *testing.T, f *fakeDeliveries) {
		calls := map[string]int{}
		f.before = func(call string) error {
			if calls[call]++; calls["OldestPending"] < 10 {
				return errAway
			}
			return nil
		}
		f.old = 25
		s := &fakeSender{}
		c, log := courierWith(f, s)
		end := running(t, c)
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		end()
		if n := strings.Count(log.String(), "cannot be delivered"); n != 1 || strings.Count(log.String(), "delivered again") != 1 || len(s.messages()) != 1 {
			t.Errorf("the log says %d times that it fails; %d messages:\n%s", n, len(s.messages()), log)
		}
		if calls["ClaimDeliveries"] != 1 || calls["ForgetDeliveries"] != 4 || calls["OldestPending"] > 122 {
			t.Errorf("calls: %v", calls)
		}
		if age := time.Since(f.forgot[0]); age < deliveriesKept || age > deliveriesKept+10*time.Minute {
			t.Errorf("what is older than %v was forgotten", age)
		}
	})
}

func TestRunForgetsEveryHour(t *testing.T) {
	delivering(t, 0, func(t *testing.T, f *fakeDeliveries) {
		c, _ := courierWith(f, &fakeSender{})
		end := running(t, c)
		time.Sleep(5*time.Hour + 30*time.Minute)
		end()
		if n := len(f.forgot); n != 6 {
			t.Errorf("forgot %d times in five hours and a half, want 6", n)
		}
	})
}

// TestRunEnds in the middle of a round: what is on its way is noted when it gets through soon, let go when it does not, and what was not tried is
// let go too, all within seconds.
func TestRunEnds(t *testing.T) {
	delivering(t, 40, func(t *testing.T, f *fakeDeliveries) {
		sending := make(chan struct{}, 100)
		s := &fakeSender{answer: func(ctx context.Context, m Message) Sent {
			sending <- struct{}{}
			soon := time.Hour
			if m.ID <= 5 {
				soon = 2 * time.Second
			}
			if !rest(ctx, soon) {
				return Sent{Fault: "It did not answer."}
			}
			return Sent{Status: 200}
		}}
		c, log := courierWith(f, s)
		end := running(t, c)
		for range sendersAtOnce {
			<-sending
		}
		synctest.Wait()
		begun := time.Now()
		end()
		if took := time.Since(begun); took > 10*time.Second {
			t.Errorf("it ends after %v", took)
		}
		if diff := cmp.Diff(map[string]int{"delivered": 5, "pending": 35}, f.states()); diff != "" {
			t.Errorf("deliveries (-want +got):\n%s", diff)
		}
		if len(f.released) != 27 || len(f.attempts()) != 5 {
			t.Errorf("%d are let go, %d attempts noted", len(f.released), len(f.attempts()))
		}
		if strings.Contains(log.String(), "ERROR") {
			t.Errorf("that it ends is logged as an error:\n%s", log)
		}
		f.mu.Lock()
		defer f.mu.Unlock()
		for _, d := range f.all {
			if !d.heldUntil.IsZero() {
				t.Errorf("delivery %d is still held", d.ID)
			}
		}
	})
}

// TestNotedAfterTheEnd: a message that got through is noted although the context has ended and the database takes a moment.
func TestNotedAfterTheEnd(t *testing.T) {
	delivering(t, 1, func(t *testing.T, f *fakeDeliveries) {
		ctx, cancel := context.WithCancel(t.Context())
		tries := 0
		f.before = func(call string) error {
			if call == "RecordAttempt" && tries < 3 {
				tries++
				return errAway
			}
			return nil
		}
		c, _ := courierWith(f, &fakeSender{answer: func(context.Context, Message) Sent {
			cancel()
			return Sent{Status: 200}
		}})
		report, err := c.Deliver(ctx, time.Now())
		if err == nil || report != (DeliveryReport{Delivered: 1}) {
			t.Errorf("%+v, %v", report, err)
		}
	})
}
