package alerts

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

// TestRetries checks the retry delays at the midpoint of their jitter ranges, for a message that is
// never accepted.
func TestRetries(t *testing.T) {
	want := []time.Duration{
		10 * time.Second, time.Minute, 5 * time.Minute, 30 * time.Minute, 2 * time.Hour,
		5 * time.Hour, 10 * time.Hour, 14 * time.Hour, 20 * time.Hour, 20 * time.Hour,
	}
	tried := time.Duration(0)
	for i, gap := range want {
		wait, again := retryDelay(tried, 0.5, len(retryGaps))
		if wait != gap || !again {
			t.Errorf("retry %d: retryDelay = %v, %v, want %v, true", i+1, wait, again, gap)
		}
		tried += wait
	}
	if wait, again := retryDelay(tried, 0.5, len(retryGaps)); again || tried < 71*time.Hour || tried > 3*24*time.Hour {
		t.Errorf("after %v: retryDelay = %v, %v, want no retry", tried, wait, again)
	}
	if wait, again := retryDelay(-time.Minute, 0, len(retryGaps)); wait != 8*time.Second || !again {
		t.Errorf("first attempt in the future: retryDelay = %v, %v, want 8s, true", wait, again)
	}
}

// TestRetryJitter checks that there are ten retries, that each falls within its range, and that the
// last comes 67 to 77 hours after the first attempt. It uses random jitter and makes attempts up to
// 30 seconds late.
func TestRetryJitter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var tried, nominal time.Duration
		n := 0
		for _, gap := range retryGaps {
			wait, again := retryDelay(tried, rapid.Float64Range(0, 0.999999).Draw(t, "random"), len(retryGaps))
			if !again {
				t.Fatalf("%d retries within %v, want 10", n, tried)
			}
			late := time.Duration(rapid.Int64Range(0, int64(30*time.Second)).Draw(t, "late"))
			nominal += gap
			tried += wait
			if tried < nominal-gap/5 || tried > nominal+gap/5 || wait <= 0 {
				t.Fatalf("retry %d: %v after the first attempt (%v after the previous one), want about %v after the first",
					n+1, tried, wait, nominal)
			}
			tried += late
			n++
		}
		if _, again := retryDelay(tried, 0, len(retryGaps)); again || tried < 67*time.Hour || tried > 77*time.Hour {
			t.Fatalf("after %v: another retry = %v, want the last one after 67 to 77h", tried, again)
		}
	})
}

// challenged returns a change that makes a delivery a challenge first attempted at the given time.
func challenged(first time.Time) func(*store.DueDelivery) {
	return func(d *store.DueDelivery) {
		d.Event, d.Kind, d.FirstAttemptAt, d.Destination.State = cola.EventConfirm, cola.KindWebhook, first, cola.DestinationPending
	}
}

func TestAttemptFor(t *testing.T) {
	started := at(11, 10, 6)
	active := store.DueDelivery{Event: cola.EventRan}
	active.Destination.State = cola.DestinationActive
	with := func(change func(*store.DueDelivery)) store.DueDelivery {
		d := active
		change(&d)
		return d
	}
	last := with(func(d *store.DueDelivery) { d.FirstAttemptAt = started.Add(-71 * time.Hour) })
	for _, tt := range []struct {
		name   string
		due    store.DueDelivery
		result Result
		state  string
		in     time.Duration // time until the next attempt
		pause  string        // reason, if the destination is paused
	}{
		{"accepted", active, Result{Status: 204}, cola.DeliveryDelivered, 0, ""},
		{"accepted on the last attempt", last, Result{Status: 204}, cola.DeliveryDelivered, 0, ""},
		{"failed", active, Result{Status: 503, Fault: "no"}, cola.DeliveryPending, 12 * time.Second, ""},
		{"Retry-After", active, Result{Status: 503, Fault: "no", RetryAfter: time.Hour},
			cola.DeliveryPending, time.Hour + 2*time.Second, ""},
		{"short Retry-After", active, Result{Fault: "no", RetryAfter: time.Second},
			cola.DeliveryPending, 12 * time.Second, ""},
		{"excessive Retry-After", active, Result{Fault: "no", RetryAfter: 365 * 24 * time.Hour},
			cola.DeliveryPending, 24*time.Hour + 2*time.Second, ""},
		{"third attempt", with(func(d *store.DueDelivery) { d.FirstAttemptAt, d.Attempts = started.Add(-70*time.Second), 2 }),
			Result{Fault: "no"}, cola.DeliveryPending, 5*time.Minute + 2*time.Second, ""},
		{"first after a replay", with(func(d *store.DueDelivery) { d.Attempts = 11 }),
			Result{Fault: "no"}, cola.DeliveryPending, 12 * time.Second, ""},
		{"last attempt", last, Result{Fault: "no", RetryAfter: time.Hour}, cola.DeliveryFailed, 0, cola.ReasonFailing},
		{"last attempt, our fault", last, Result{Fault: "no", OurFault: true}, cola.DeliveryFailed, 0, ""},
		{"final", active, Result{Status: 550, Fault: "no", Final: true}, cola.DeliveryFailed, 0, cola.ReasonFailing},
		{"gone", active, Result{Status: 410, Fault: "gone", Gone: true}, cola.DeliveryFailed, 0, cola.ReasonGone},
		{"gone, test message", with(func(d *store.DueDelivery) { d.Event = cola.EventTest }),
			Result{Fault: "gone", Gone: true}, cola.DeliveryFailed, 0, cola.ReasonGone},
		{"final, already paused", with(func(d *store.DueDelivery) { d.Destination.State = cola.DestinationPaused }),
			Result{Fault: "no", Final: true}, cola.DeliveryFailed, 0, ""},
		{"final, unconfirmed", with(func(d *store.DueDelivery) {
			d.Event, d.Destination.State = cola.EventConfirm, cola.DestinationUnconfirmed
		}), Result{Fault: "no", Final: true}, cola.DeliveryFailed, 0, ""},
		{"challenge failed", with(challenged(started)),
			Result{Status: 503, Fault: "no"}, cola.DeliveryPending, 12 * time.Second, ""},
		{"challenge failed for half an hour", with(challenged(started.Add(-40 * time.Minute))),
			Result{Fault: "no"}, cola.DeliveryFailed, 0, ""},
		{"challenge gone", with(challenged(started)),
			Result{Status: 410, Fault: "gone", Gone: true}, cola.DeliveryFailed, 0, ""},
		{"challenge confirmed", with(challenged(started)),
			Result{Status: 200, Verified: true}, cola.DeliveryDelivered, 0, ""},
		{"final, notice about another destination", with(func(d *store.DueDelivery) { d.Event = cola.EventPaused }),
			Result{Fault: "no", Final: true}, cola.DeliveryFailed, 0, ""},
	} {
		a := attemptFor(tt.due, started, 2*time.Second, tt.result, 0.5)
		if a.State != tt.state || a.Pause != tt.pause || a.Verified != tt.result.Verified || a.Error != tt.result.Fault ||
			a.Status != tt.result.Status {
			t.Errorf("%s: attemptFor = %+v, want state %q, pause %q", tt.name, a, tt.state, tt.pause)
		}
		if next := a.Next; tt.in == 0 && !next.IsZero() || tt.in != 0 && !next.Equal(started.Add(tt.in)) {
			t.Errorf("%s: next attempt at %v, want %v after %v", tt.name, next, tt.in, started)
		}
	}
}
