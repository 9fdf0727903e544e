package webhook

import (
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/colaregistry/colaregistry/alerts"
	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/cola/vocabulary"
	"github.com/colaregistry/colaregistry/internal/sqlitetest"
	"github.com/colaregistry/colaregistry/store"
	"github.com/colaregistry/colaregistry/store/sqlite"
)

// fixture is a registry with a webhook destination and saved searches that have each found a label.
type fixture struct {
	store       store.Store
	clock       time.Time
	account     cola.AccountID
	destination store.Destination
	dispatcher  *alerts.Dispatcher
}

// newFixture returns a fixture with the given number of searches.
func newFixture(t *testing.T, r *receiver, searches int) *fixture {
	t.Helper()
	f := &fixture{clock: time.Now().UTC().Add(-24 * time.Hour)}
	now := func() time.Time { return f.clock }
	st := sqlitetest.Open(t, sqlite.Options{Now: now})
	account, err := st.CreateAccount(t.Context(), "alerts@example.com", cola.TierFree)
	must(t, err)
	f.store, f.account = st, account.ID
	f.destination, err = st.CreateDestination(t.Context(), store.NewDestination{
		Account: account.ID, Kind: cola.KindWebhook, Address: r.URL,
		State: cola.DestinationActive, Secret: secret, MaxDestinations: 20,
	})
	must(t, err)
	for i := range searches {
		schedule := cola.Schedule{Active: true, Cadence: cola.CadenceDaily}
		schedule.NextRunAt = cola.Some(cola.TimestampOf(schedule.Next(f.clock)))
		search := cola.SavedSearch{
			UUID: fmt.Sprintf("00000000-0000-4000-8000-%012d", i),
			Name: "Oaks", Filters: cola.SavedSearchFilters{BrandName: "oak"}, Schedule: &schedule,
		}
		_, _, err := st.CreateSavedSearch(t.Context(),
			store.NewSavedSearch{Account: account.ID, Search: search, MaxActive: 100})
		must(t, err)
	}
	label := cola.Patch[cola.Cola]{Record: cola.Cola{ColaSummary: cola.ColaSummary{
		TTBID: 26001001000001, BrandName: "OAK", ProductType: vocabulary.Wine,
		PermitNumber: "CA-W-1", ApprovalDate: cola.DateOf(f.clock),
	}}}
	for i := range cola.FieldsOf[cola.Cola]() {
		label.Fields = label.Fields.With(i)
	}
	_, err = st.UpsertColas(t.Context(), []cola.Patch[cola.Cola]{label}, store.Commit)
	must(t, err)
	f.clock = f.clock.Add(24 * time.Hour)
	_, err = alerts.New(alerts.Options{Store: st}).Tick(t.Context(), f.clock)
	must(t, err)
	f.dispatcher = alerts.NewDispatcher(alerts.DispatcherOptions{
		Store: st, Senders: map[string]alerts.Sender{cola.KindWebhook: sender(r)}, Now: now,
	})
	return f
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// deliver advances the clock, delivers the due messages, and checks the report.
func (f *fixture) deliver(t *testing.T, after time.Duration, want alerts.DeliveryReport) {
	t.Helper()
	f.clock = f.clock.Add(after)
	report, err := f.dispatcher.Deliver(t.Context(), f.clock)
	must(t, err)
	if diff := cmp.Diff(want, report); diff != "" {
		t.Errorf("delivery after %v (-want +got):\n%s", after, diff)
	}
}

// TestRetries checks that a receiver that fails at first gets each message again with the same ID
// and a valid signature until it accepts the message.
func TestRetries(t *testing.T) {
	var mu sync.Mutex
	attempts := map[string]int{}
	r := newReceiver(t, true, func(w http.ResponseWriter, req *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		id := req.Header.Get("webhook-id")
		attempts[id]++
		if attempts[id] < 3 {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	})
	f := newFixture(t, r, 8)
	f.deliver(t, 0, alerts.DeliveryReport{Retried: 8})
	f.deliver(t, 5*time.Second, alerts.DeliveryReport{})
	f.deliver(t, 10*time.Second, alerts.DeliveryReport{Retried: 8})
	f.deliver(t, 90*time.Second, alerts.DeliveryReport{Delivered: 8})
	f.deliver(t, 96*time.Hour, alerts.DeliveryReport{})
	searches := map[string]string{}
	for _, got := range r.all() {
		must(t, verify(t, secret, got))
		var message struct{ Data runData }
		must(t, json.Unmarshal(got.body, &message))
		if len(message.Data.Labels) != 1 || message.Data.Labels[0].BrandName != "OAK" ||
			fmt.Sprint(message.Data.Labels[0].Met.Names()) != "[brand_name]" {
			t.Errorf("body = %s, want one OAK label that matched brand_name", got.body)
		}
		id := got.header.Get("webhook-id")
		if s := searches[message.Data.SavedSearch.UUID]; s != "" && s != id {
			t.Errorf("search %s: message IDs %s and %s, want the same ID", message.Data.SavedSearch.UUID, s, id)
		}
		searches[message.Data.SavedSearch.UUID] = id
	}
	if len(searches) != 8 || len(attempts) != 8 || len(r.all()) != 24 {
		t.Errorf("%d searches, %d messages, %d requests, want 8, 8, 24", len(searches), len(attempts), len(r.all()))
	}
}

// TestGone checks that a receiver that responds with 410 gets no more requests.
func TestGone(t *testing.T) {
	r := newReceiver(t, true, answers(http.StatusGone))
	f := newFixture(t, r, 1)
	f.deliver(t, 0, alerts.DeliveryReport{Failed: 1})
	f.deliver(t, 96*time.Hour, alerts.DeliveryReport{})
	d, err := f.store.Destination(t.Context(), f.account, f.destination.UUID)
	must(t, err)
	if d.State != cola.DestinationDisabled || d.Reason.V != cola.ReasonGone || len(r.all()) != 1 {
		t.Errorf("destination = %+v after %d requests, want it disabled after 1", d.Destination, len(r.all()))
	}
}
