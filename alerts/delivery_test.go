package alerts

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

var errUnavailable = fmt.Errorf("%w: no connection", store.ErrUnavailable)

// newTestDispatcher returns a webhook dispatcher that uses the bubble's clock, along with the
// dispatcher's log.
func newTestDispatcher(f *fakeDeliveries, s Sender) (*Dispatcher, *bytes.Buffer) {
	log := &bytes.Buffer{}
	return NewDispatcher(DispatcherOptions{
		Store: f, Senders: map[string]Sender{cola.KindWebhook: s}, Hold: hold,
		Jitter: func() float64 { return 0.5 }, Logger: slog.New(slog.NewTextHandler(log, nil)),
	}), log
}

// withDeliveries runs a test in a synctest bubble, with the given number of due deliveries.
func withDeliveries(t *testing.T, due int, test func(t *testing.T, f *fakeDeliveries)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		f := newFakeDeliveries(time.Now)
		for range due {
			f.add(cola.KindWebhook, cola.EventRan, time.Now())
		}
		test(t, f)
	})
}

func TestDeliver(t *testing.T) {
	withDeliveries(t, 100, func(t *testing.T, f *fakeDeliveries) {
		f.add(cola.KindEmail, cola.EventRan, time.Now())
		f.add(cola.KindWebhook, cola.EventRan, time.Now().Add(time.Minute))
		f.add(cola.KindWebhook, cola.EventTest, time.Now())
		s := &fakeSender{answer: func(_ context.Context, m Message) Result {
			time.Sleep(time.Second)
			switch m.ID {
			case 7:
				return Result{Status: 500, Fault: "The receiver responded with status 500."}
			case 8:
				return Result{Status: 410, Fault: "The receiver responded with status 410.", Gone: true}
			}
			return Result{Status: 200}
		}}
		c, _ := newTestDispatcher(f, s)
		started := time.Now()
		want := DeliveryReport{Delivered: 99, Retried: 1, Failed: 1}
		if diff := cmp.Diff(want, mustDeliver(t, c)); diff != "" {
			t.Errorf("report (-want +got):\n%s", diff)
		}
		if s.most != maxInFlight || time.Since(started) != 7*time.Second {
			t.Errorf("%d in flight, %v in total, want %d and 7s", s.most, time.Since(started), maxInFlight)
		}
		if diff := cmp.Diff(map[string]int{"delivered": 99, "pending": 3, "failed": 1}, f.states()); diff != "" {
			t.Errorf("deliveries (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(map[string]string{"destination 8": cola.ReasonGone}, f.paused); diff != "" {
			t.Errorf("paused (-want +got):\n%s", diff)
		}
		for _, m := range s.messages() {
			if m.ID != 103 &&
				(m.Content == nil || m.Content.Run.ID != m.Run || m.Content.Run.MatchCount != fakeMatchCount) {
				t.Errorf("message %d: content = %+v, want that of run %d", m.ID, m.Content, m.Run)
			}
		}
		if report := mustDeliver(t, c); report.any() || f.claims != 7 {
			t.Errorf("with no due deliveries: Deliver = %+v after %d claims, want an empty report after 7", report, f.claims)
		}
	})
}

// TestDeliverInFuture checks Deliver with a future time: the attempt and its retry are scheduled
// relative to that time, so the retry is not due immediately.
func TestDeliverInFuture(t *testing.T) {
	withDeliveries(t, 0, func(t *testing.T, f *fakeDeliveries) {
		tomorrow := time.Now().Add(24 * time.Hour)
		f.add(cola.KindWebhook, cola.EventRan, tomorrow)
		c, _ := newTestDispatcher(f, &fakeSender{answer: func(context.Context, Message) Result {
			time.Sleep(2 * time.Second)
			return Result{Fault: "no"}
		}})
		report, err := c.Deliver(t.Context(), tomorrow)
		if err != nil || report != (DeliveryReport{Retried: 1}) {
			t.Errorf("Deliver = %+v, %v, want 1 retried", report, err)
		}
		a := f.attempts()[0]
		if !a.At.Equal(tomorrow) || a.Took != 2*time.Second || !a.Next.Equal(tomorrow.Add(12*time.Second)) {
			t.Errorf("attempt at %v took %v, next at %v; want at %v, 2s, 12s later", a.At, a.Took, a.Next, tomorrow)
		}
	})
}

// TestMessageErrors checks that Deliver continues after messages that can't be created or no
// longer exist.
func TestMessageErrors(t *testing.T) {
	withDeliveries(t, 40, func(t *testing.T, f *fakeDeliveries) {
		f.unreadable[1003], f.unreadable[1030] = store.ErrNotFound, errors.New("a filter from a newer version")
		c, log := newTestDispatcher(f, &fakeSender{answer: func(_ context.Context, m Message) Result {
			if m.ID == 20 {
				panic("a label without a name")
			}
			return Result{Status: 200}
		}})
		report := mustDeliver(t, c)
		if want := (DeliveryReport{Delivered: 37, Retried: 2, Released: 1}); report != want {
			t.Errorf("Deliver = %+v, want %+v", report, want)
		}
		if !strings.Contains(log.String(), "a label without a name") ||
			!strings.Contains(log.String(), "newer version") {
			t.Errorf("log lacks the errors:\n%s", log)
		}
		for _, a := range f.attempts() {
			if a.State == cola.DeliveryPending && a.Error != faultCompose {
				t.Errorf("attempt error = %q, want %q", a.Error, faultCompose)
			}
		}
	})
}

// TestExpired checks that an expired message fails without pausing its destination, and that a
// replayed message doesn't count as old.
func TestExpired(t *testing.T) {
	withDeliveries(t, 0, func(t *testing.T, f *fakeDeliveries) {
		f.add(cola.KindWebhook, cola.EventRan, time.Now().Add(-73*time.Hour))
		f.add(cola.KindWebhook, cola.EventRan, time.Now().Add(-71*time.Hour))
		f.add(cola.KindWebhook, cola.EventRan, time.Now()).CreatedAt = time.Now().Add(-1000 * time.Hour)
		s := &fakeSender{}
		c, _ := newTestDispatcher(f, s)
		if report := mustDeliver(t, c); report != (DeliveryReport{Delivered: 2, Failed: 1}) {
			t.Errorf("Deliver = %+v, want 2 delivered and 1 failed", report)
		}
		if n := len(s.messages()); n != 2 || len(f.paused) != 0 ||
			!strings.Contains(fmt.Sprint(f.attempts()), faultExpired) {
			t.Errorf("%d messages sent, paused %v, attempts %v; want 2, none, and one that expired", n, f.paused, f.attempts())
		}
	})
}

// TestDatabaseOutage checks that attempts are recorded once the database recovers, and that a
// failed claim ends the round.
func TestDatabaseOutage(t *testing.T) {
	withDeliveries(t, 50, func(t *testing.T, f *fakeDeliveries) {
		recovery := time.Now().Add(10 * time.Second)
		f.before = func(call string) error {
			if call == "RecordAttempt" && time.Now().Before(recovery) {
				return errUnavailable
			}
			return nil
		}
		c, _ := newTestDispatcher(f, &fakeSender{})
		if report := mustDeliver(t, c); report != (DeliveryReport{Delivered: 50}) {
			t.Errorf("Deliver = %+v, want 50 delivered", report)
		}
		f.add(cola.KindWebhook, cola.EventRan, time.Now())
		f.before = func(call string) error {
			if call == "ClaimDeliveries" {
				return errUnavailable
			}
			return nil
		}
		if report, err := c.Deliver(t.Context(), time.Now()); !errors.Is(err, store.ErrUnavailable) || report.any() {
			t.Errorf("Deliver = %+v, %v, want an empty report and %v", report, err, store.ErrUnavailable)
		}
	})
}

// TestLongDatabaseOutage checks that a round ends before its claims expire if attempts can't be
// recorded, and that the messages are sent again with the same IDs.
func TestLongDatabaseOutage(t *testing.T) {
	withDeliveries(t, 40, func(t *testing.T, f *fakeDeliveries) {
		outage := true
		f.before = func(call string) error {
			if call == "RecordAttempt" && outage {
				return errUnavailable
			}
			return nil
		}
		s := &fakeSender{}
		c, log := newTestDispatcher(f, s)
		started := time.Now()
		report, err := c.Deliver(t.Context(), time.Now())
		if !errors.Is(err, store.ErrUnavailable) || report.Unrecorded != maxInFlight ||
			report.Released != maxInFlight || time.Since(started) > time.Minute {
			t.Errorf("Deliver = %+v, %v after %v, want %d unrecorded and released within a minute", report, err, time.Since(started), maxInFlight)
		}
		if n := strings.Count(log.String(), "level=ERROR"); n != maxInFlight {
			t.Errorf("%d errors logged, want %d:\n%s", n, maxInFlight, log)
		}
		outage = false
		time.Sleep(hold)
		if report := mustDeliver(t, c); report != (DeliveryReport{Delivered: 40}) {
			t.Errorf("Deliver = %+v, want 40 delivered", report)
		}
		if n := len(s.messages()); n != 40+maxInFlight {
			t.Errorf("%d messages sent, want %d", n, 40+maxInFlight)
		}
	})
}

// TestAttemptRejected checks that the round continues, and logs the error, if the database refuses
// to record an attempt.
func TestAttemptRejected(t *testing.T) {
	withDeliveries(t, 20, func(t *testing.T, f *fakeDeliveries) {
		first := true
		f.before = func(call string) error {
			if call == "RecordAttempt" && first {
				first = false
				return errors.New("a row that does not fit")
			}
			return nil
		}
		c, log := newTestDispatcher(f, &fakeSender{})
		if report := mustDeliver(t, c); report != (DeliveryReport{Delivered: 19, Unrecorded: 1}) ||
			!strings.Contains(log.String(), "does not fit") {
			t.Errorf("Deliver = %+v, want 19 delivered, 1 unrecorded and a logged error:\n%s", report, log)
		}
	})
}

// TestSlowReceivers checks that an unresponsive receiver with many pending messages barely delays
// others, and that our mail server, if unresponsive, delays only email.
func TestSlowReceivers(t *testing.T) {
	withDeliveries(t, 0, func(t *testing.T, f *fakeDeliveries) {
		for range 200 {
			f.add(cola.KindWebhook, cola.EventRan, time.Now()).Destination.UUID = "slow"
		}
		for range 200 {
			f.add(cola.KindEmail, cola.EventRan, time.Now())
		}
		last := f.add(cola.KindWebhook, cola.EventRan, time.Now())
		unresponsive := func(ours bool) func(context.Context, Message) Result {
			return func(ctx context.Context, m Message) Result {
				if m.ID != last.ID {
					sleep(ctx, 15*time.Second)
					return Result{Fault: "The receiver did not respond.", OurFault: ours}
				}
				return Result{Status: 200}
			}
		}
		webhooks, mail := &fakeSender{answer: unresponsive(false)}, &fakeSender{answer: unresponsive(true)}
		c := NewDispatcher(DispatcherOptions{
			Store: f, Senders: map[string]Sender{cola.KindWebhook: webhooks, cola.KindEmail: mail}, Hold: hold,
		})
		started := time.Now()
		report := mustDeliver(t, c)
		if took := time.Since(started); took > time.Minute || report.Delivered != 1 {
			t.Errorf("Deliver = %+v after %v, want 1 delivered within a minute", report, took)
		}
		if tried := len(webhooks.messages()) + len(mail.messages()); tried > 3*maxInFlight ||
			report.Postponed < 200-2*maxInFlight {
			t.Errorf("%d attempts, report %+v; want at most %d and most messages postponed", tried, report, 3*maxInFlight)
		}
		// The last messages to the slow receiver are tried eventually, too.
		for range 30 {
			time.Sleep(hold)
			mustDeliver(t, c)
		}
		for id, d := range f.all {
			if d.Attempts == 0 && id > 100 && id <= 200 {
				t.Errorf("delivery %d was not tried within an hour", id)
			}
		}
	})
}

// TestReplayDuringAttempt checks that the result of an attempt is dropped if the message is
// replayed during it, and that the message is sent again.
func TestReplayDuringAttempt(t *testing.T) {
	withDeliveries(t, 1, func(t *testing.T, f *fakeDeliveries) {
		s := &fakeSender{answer: func(_ context.Context, m Message) Result {
			if m.Hold == 1 {
				f.replay(m.ID, time.Now().Add(time.Second))
			}
			return Result{Status: 200}
		}}
		c, _ := newTestDispatcher(f, s)
		if report := mustDeliver(t, c); report != (DeliveryReport{Missed: 1}) {
			t.Errorf("Deliver = %+v, want 1 missed", report)
		}
		time.Sleep(time.Second)
		if report := mustDeliver(t, c); report != (DeliveryReport{Delivered: 1}) || len(s.messages()) != 2 {
			t.Errorf("Deliver = %+v after %d messages, want 1 delivered after 2", report, len(s.messages()))
		}
	})
}

func TestDispatcherMetrics(t *testing.T) {
	withDeliveries(t, 3, func(t *testing.T, f *fakeDeliveries) {
		f.add(cola.KindWebhook, cola.EventRan, time.Now().Add(-100*time.Hour)) // expires without an attempt
		registry := prometheus.NewRegistry()
		c := NewDispatcher(DispatcherOptions{Store: f, Metrics: registry, Senders: map[string]Sender{
			cola.KindEmail: &fakeSender{},
			cola.KindWebhook: &fakeSender{answer: func(_ context.Context, m Message) Result {
				return []Result{{}, {Status: 200}, {Fault: "no"}, {Fault: "no", Final: true}}[m.ID]
			}},
		}})
		mustDeliver(t, c)
		time.Sleep(time.Minute)
		got := gathered(t, registry)
		want := map[string]float64{
			"colaregistry_delivery_attempts_total email delivered":   0,
			"colaregistry_delivery_attempts_total email retry":       0,
			"colaregistry_delivery_attempts_total email failed":      0,
			"colaregistry_delivery_attempts_total webhook delivered": 1,
			"colaregistry_delivery_attempts_total webhook retry":     1,
			"colaregistry_delivery_attempts_total webhook failed":    1,
			"colaregistry_delivery_duration_seconds email":           0, "colaregistry_delivery_duration_seconds webhook": 3,
		}
		overdue := got["colaregistry_delivery_overdue_seconds"]
		delete(got, "colaregistry_delivery_overdue_seconds")
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("metrics (-want +got):\n%s", diff)
		}
		if overdue < 48 || overdue > 52 {
			t.Errorf("overdue = %vs one minute after a failed attempt whose retry was due in 8 to 12s, want 48 to 52", overdue)
		}
	})
}

// TestUnserved checks that messages the server doesn't send are skipped without an attempt, and
// that without rules they are left to other processes.
func TestUnserved(t *testing.T) {
	for _, tt := range []struct {
		name  string
		rules *cola.DestinationRules
		want  map[string]int
	}{
		{"another process may send email", nil, map[string]int{"delivered": 2, "pending": 2}},
		{"no email", &cola.DestinationRules{}, map[string]int{"delivered": 1, "skipped": 3}},
		{"private webhooks", &cola.DestinationRules{PrivateWebhooks: true}, map[string]int{"delivered": 2, "skipped": 2}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			withDeliveries(t, 0, func(t *testing.T, f *fakeDeliveries) {
				f.add(cola.KindWebhook, cola.EventRan, time.Now()).Destination.Address = cola.Some("https://hooks.example.com/")
				f.add(cola.KindWebhook, cola.EventConfirm, time.Now()).Destination.Address = cola.Some("http://10.0.0.1/")
				f.add(cola.KindEmail, cola.EventRan, time.Now())
				f.add(cola.KindEmail, cola.EventPaused, time.Now())
				d := NewDispatcher(DispatcherOptions{
					Store: f, Hold: hold, Rules: tt.rules,
					Senders: map[string]Sender{cola.KindWebhook: &fakeSender{answer: func(context.Context, Message) Result {
						return Result{Status: 200}
					}}},
				})
				report := mustDeliver(t, d)
				if diff := cmp.Diff(tt.want, f.states()); diff != "" || report.Skipped != tt.want["skipped"] {
					t.Errorf("report %+v, deliveries (-want +got):\n%s", report, diff)
				}
				for _, a := range f.recorded {
					if a.State == cola.DeliverySkipped && (a.Error == "" || a.Status != 0 || a.Pause != "") {
						t.Errorf("recorded %+v, want only a reason", a)
					}
				}
			})
		})
	}
}
