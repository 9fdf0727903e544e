package billing

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/pgtest"
	"github.com/colaregistry/colaregistry/internal/sqlitetest"
	"github.com/colaregistry/colaregistry/internal/stripetest"
	"github.com/colaregistry/colaregistry/store"
	"github.com/colaregistry/colaregistry/store/postgres"
	"github.com/colaregistry/colaregistry/store/sqlite"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }

const publicURL = "https://registry.example"

// grace is the grace period in tests.
const grace = 7 * 24 * time.Hour

// world is a fake Stripe and a service that uses it. Events are held until a test sends them.
type world struct {
	*Billing
	t       *testing.T
	stripe  *stripetest.Server
	webhook http.Handler
	account cola.AccountID // on the free tier

	mu    sync.Mutex
	clock time.Time
}

func (w *world) time() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.clock
}

func (w *world) advance(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.clock = w.clock.Add(d)
}

// onBackends runs a test on each kind of database.
func onBackends(t *testing.T, test func(t *testing.T, w *world)) {
	quiet := slog.New(slog.DiscardHandler)
	t.Run("sqlite", func(t *testing.T) {
		w := newWorld(t)
		w.use(sqlitetest.Open(t, sqlite.Options{Now: w.time}))
		test(t, w)
	})
	t.Run("postgres", func(t *testing.T) {
		w := newWorld(t)
		st, err := postgres.Open(t.Context(), pgtest.NewDatabase(t), postgres.Options{Now: w.time, Logger: quiet})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { st.Close() })
		w.use(st)
		test(t, w)
	})
}

// onSQLite returns a world on SQLite.
func onSQLite(t *testing.T) *world {
	t.Helper()
	w := newWorld(t)
	w.use(sqlitetest.Open(t, sqlite.Options{Now: w.time}))
	return w
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, clock: time.Date(2026, time.November, 24, 12, 0, 0, 0, time.UTC), stripe: stripetest.Start(t)}
	w.stripe.Now = w.time
	return w
}

func (w *world) use(st store.Store) {
	w.t.Helper()
	w.Billing = w.service(st)
	w.webhook = w.Webhook()
	account, err := st.CreateAccount(w.t.Context(), "ann@example.com", cola.TierFree)
	if err != nil {
		w.t.Fatal(err)
	}
	w.account = account.ID
}

// service returns another service over a store, as in another process.
func (w *world) service(st Store) *Billing {
	return New(Options{
		Store: st, SecretKey: stripetest.SecretKey, WebhookSecret: stripetest.WebhookSecret, APIURL: w.stripe.URL,
		PublicURL: publicURL, Grace: grace, Now: w.time, Logger: slog.New(slog.DiscardHandler),
	})
}

// customer starts a checkout and returns the account's customer.
func (w *world) customer() string {
	w.t.Helper()
	w.mustChange(cola.TierStarter)
	return w.record().Customer
}

// subscriber returns the customer and the subscription of an account that has paid for a tier.
func (w *world) subscriber(t cola.Tier) (customer string, sub stripetest.Subscription) {
	w.t.Helper()
	customer = w.customer()
	sub = w.stripe.Subscribe(customer, LookupKey(t))
	w.sendAll(http.StatusOK)
	w.hasTier(t)
	return customer, sub
}

// mustChange requests a tier and returns the URL of the Stripe page.
func (w *world) mustChange(t cola.Tier) (address string) {
	w.t.Helper()
	address, err := w.ChangePlan(w.t.Context(), w.account, t)
	if err != nil {
		w.t.Fatal(err)
	}
	return address
}

func (w *world) record() store.Subscription {
	w.t.Helper()
	r, err := w.store.SubscriptionOf(w.t.Context(), w.account)
	if err != nil {
		w.t.Fatal(err)
	}
	return r
}

// send sends an event, signed now, and returns the status of the response.
func (w *world) send(e stripetest.Event) int {
	return stripetest.Handler(w.webhook)(e.Request(stripetest.WebhookSecret, time.Now()))
}

// sendAll sends all events in order and checks the responses.
func (w *world) sendAll(want int) {
	w.t.Helper()
	for _, e := range w.stripe.Events() {
		if got := w.send(e); got != want {
			w.t.Errorf("%s: status %d, want %d", e.Type, got, want)
		}
	}
}

func (w *world) hasTier(want cola.Tier) {
	w.t.Helper()
	a, err := w.store.Account(w.t.Context(), w.account)
	if err != nil || a.Tier != want {
		w.t.Errorf("tier = %s, %v; want %s", a.Tier, err, want)
	}
}

// TestEventOrder sends a subscription's lifecycle events in random order, each several times, from
// several senders at once. Whatever arrives last, the tier must match the state in Stripe.
func TestEventOrder(t *testing.T) {
	onBackends(t, func(t *testing.T, w *world) {
		customer := w.customer()
		steps := []struct {
			step func(id string)
			want cola.Tier
		}{
			{func(string) { w.stripe.Subscribe(customer, "starter_monthly") }, cola.TierStarter},
			{func(id string) { w.stripe.Change(id, w.stripe.To("pro_monthly")) }, cola.TierPro},
			{func(id string) { w.stripe.Change(id, stripetest.Status("past_due")) }, cola.TierPro},
			{func(id string) { w.stripe.Change(id, stripetest.Status("active")) }, cola.TierPro},
			{func(id string) { w.stripe.Change(id, stripetest.End(w.time())) }, cola.TierFree},
			{func(string) { w.stripe.Subscribe(customer, "starter_monthly") }, cola.TierStarter},
		}
		id := ""
		for _, s := range steps {
			s.step(id)
			if subs := w.stripe.Subscriptions(customer); id == "" {
				id = subs[0].ID
			}
			events := w.stripe.Events()
			events = append(events, events...)
			rand.Shuffle(len(events), func(i, j int) { events[i], events[j] = events[j], events[i] })
			var wg sync.WaitGroup
			for part := range 4 {
				wg.Go(func() {
					for i := part; i < len(events); i += 4 {
						if status := w.send(events[i]); status != http.StatusOK {
							t.Errorf("%s: status %d", events[i].Type, status)
						}
					}
				})
			}
			wg.Wait()
			w.hasTier(s.want)
		}
	})
}

// TestConcurrentProcesses changes a subscription while two processes handle its events.
func TestConcurrentProcesses(t *testing.T) {
	onBackends(t, func(t *testing.T, w *world) {
		customer, sub := w.subscriber(cola.TierStarter)
		other := w.service(w.store).Webhook()
		var wg sync.WaitGroup
		for i := range 30 {
			w.stripe.Change(sub.ID, w.stripe.To(LookupKey(cola.Tiers()[1+i%2])))
			e := w.stripe.Events()[len(w.stripe.Events())-1]
			for _, h := range []http.Handler{w.webhook, other} {
				wg.Go(func() {
					got := 0
					for range 10 { // Stripe resends events that fail, as they may with so many concurrent changes
						if got = stripetest.Handler(h)(e.Request(stripetest.WebhookSecret, time.Now())); got == http.StatusOK {
							return
						}
					}
					t.Errorf("event %d: status %d", i, got)
				})
			}
		}
		wg.Wait()
		w.hasTier(cola.TierPro)
		if w.record().Customer != customer {
			t.Errorf("customer = %s, want %s", w.record().Customer, customer)
		}
	})
}

func TestStatuses(t *testing.T) {
	for status, want := range map[string]cola.Tier{
		"active": cola.TierPro, "trialing": cola.TierPro, "past_due": cola.TierPro, "unpaid": cola.TierFree,
		"canceled": cola.TierFree, "paused": cola.TierFree, "incomplete": cola.TierPro, "incomplete_expired": cola.TierPro,
		"invented_later": cola.TierPro,
	} {
		t.Run(status, func(t *testing.T) {
			w := onSQLite(t)
			_, sub := w.subscriber(cola.TierPro)
			w.stripe.Change(sub.ID, stripetest.Status(status))
			w.sendAll(http.StatusOK)
			w.hasTier(want)
		})
	}
	t.Run("first payment missing", func(t *testing.T) {
		w := onSQLite(t)
		sub := w.stripe.Subscribe(w.customer(), "pro_monthly")
		w.stripe.Change(sub.ID, stripetest.Status("incomplete"))
		w.sendAll(http.StatusOK)
		w.hasTier(cola.TierFree)
	})
}

func TestGracePeriod(t *testing.T) {
	onBackends(t, func(t *testing.T, w *world) {
		_, sub := w.subscriber(cola.TierStarter)
		w.stripe.Change(sub.ID, stripetest.Status("past_due"))
		w.sendAll(http.StatusOK)
		end := w.GraceEnd(w.record().SubscriptionState)
		if want := w.time().Add(grace); !end.Equal(want) {
			t.Errorf("grace ends %v, want %v", end, want)
		}
		w.advance(grace - time.Minute)
		w.stripe.Change(sub.ID, func(*stripetest.Subscription) {}) // another failed attempt doesn't extend it
		w.sendAll(http.StatusOK)
		w.mustReconcile()
		w.hasTier(cola.TierStarter)
		w.advance(time.Minute)
		w.mustReconcile() // without an event
		w.hasTier(cola.TierFree)
		w.stripe.Change(sub.ID, stripetest.Status("active"))
		w.sendAll(http.StatusOK)
		w.hasTier(cola.TierStarter)
		if end := w.GraceEnd(w.record().SubscriptionState); !end.IsZero() {
			t.Errorf("grace ends %v after the payment, want none", end)
		}
	})
}

func (w *world) mustReconcile() {
	w.t.Helper()
	if err := w.Reconcile(w.t.Context()); err != nil {
		w.t.Fatal(err)
	}
}

// TestMissedEvents checks that without any event, the tier is updated within an hour, or within a
// day for accounts without a subscription.
func TestMissedEvents(t *testing.T) {
	onBackends(t, func(t *testing.T, w *world) {
		customer := w.customer()
		w.mustReconcile()
		sub := w.stripe.Subscribe(customer, "pro_monthly")
		w.mustReconcile() // not due
		w.hasTier(cola.TierFree)
		w.advance(endedAge)
		w.mustReconcile()
		w.hasTier(cola.TierPro)
		w.stripe.Change(sub.ID, stripetest.End(w.time()))
		w.advance(liveAge)
		w.mustReconcile()
		w.hasTier(cola.TierFree)
	})
}

func TestForgedEvents(t *testing.T) {
	w := onSQLite(t)
	w.stripe.Subscribe(w.customer(), "pro_monthly")
	e := w.stripe.Events()[0]
	now := time.Now()
	signed := stripetest.Sign(e.Body, stripetest.WebhookSecret, now)
	signature, _ := strings.CutPrefix(signed, fmt.Sprintf("t=%d,", now.Unix()))
	for desc, tt := range map[string]struct {
		body, header string
		want         int
	}{
		"unsigned":         {string(e.Body), "", 400},
		"garbage":          {string(e.Body), "a=b,c", 400},
		"wrong secret":     {string(e.Body), stripetest.Sign(e.Body, "whsec_other", now), 400},
		"replayed later":   {string(e.Body), stripetest.Sign(e.Body, stripetest.WebhookSecret, now.Add(-6*time.Minute)), 400},
		"other timestamp":  {string(e.Body), fmt.Sprintf("t=%d,%s", now.Unix()-1, signature), 400},
		"other body":       {string(e.Body) + " ", signed, 400},
		"no event":         {`[]`, stripetest.Sign([]byte(`[]`), stripetest.WebhookSecret, now), 400},
		"no ID":            {`{"type":"customer.deleted"}`, stripetest.Sign([]byte(`{"type":"customer.deleted"}`), stripetest.WebhookSecret, now), 400},
		"too large":        {strings.Repeat("x", maxEvent+1), signed, 413},
		"rotated secret":   {string(e.Body), signed + ",v1=00", 200},
		"signature scheme": {string(e.Body), strings.Replace(signed, "v1=", "v0=", 1), 400},
	} {
		r := httptest.NewRequest(http.MethodPost, WebhookPath, strings.NewReader(tt.body))
		r.Header.Set("Stripe-Signature", tt.header)
		if tt.want == 200 {
			defer func() { // after the others
				if got := stripetest.Handler(w.webhook)(r); got != tt.want {
					t.Errorf("%s: status %d, want %d", desc, got, tt.want)
				}
				w.hasTier(cola.TierPro)
			}()
			continue
		}
		if got := stripetest.Handler(w.webhook)(r); got != tt.want {
			t.Errorf("%s: status %d, want %d", desc, got, tt.want)
		}
	}
	if r := w.record(); r.Version != 0 {
		t.Errorf("record = %+v after forged events, want no change", r)
	}
	w.hasTier(cola.TierFree)
	if got := stripetest.Handler(w.webhook)(httptest.NewRequest(http.MethodGet, WebhookPath, nil)); got != http.StatusMethodNotAllowed {
		t.Errorf("GET: status %d, want 405", got)
	}
}

// TestUnknownCustomers sends events about customers of another service that uses the same Stripe
// account.
func TestUnknownCustomers(t *testing.T) {
	w := onSQLite(t)
	w.customer()
	w.stripe.Subscribe("cus_other", "pro_monthly")
	w.sendAll(http.StatusOK)
	w.hasTier(cola.TierFree)
	processed, err := w.store.EventProcessed(t.Context(), w.stripe.Events()[0].ID)
	if err != nil || processed {
		t.Errorf("EventProcessed = %t, %v; want false", processed, err)
	}
}

// TestStripeOutage fails requests to Stripe while an event is being processed: Stripe must send it
// again, and then the tier is set.
func TestStripeOutage(t *testing.T) {
	onBackends(t, func(t *testing.T, w *world) {
		w.stripe.Subscribe(w.customer(), "pro_monthly")
		for _, status := range []int{500, 503, 429, 401} {
			w.stripe.Fault = func(*http.Request) int { return status }
			w.sendAll(http.StatusInternalServerError)
		}
		if r := w.record(); r.Version != 0 {
			t.Errorf("record = %+v after failures, want no change", r)
		}
		w.hasTier(cola.TierFree)
		if err := w.Reconcile(t.Context()); err == nil {
			t.Error("Reconcile succeeded without Stripe")
		}
		w.stripe.Fault = nil
		w.sendAll(http.StatusOK)
		w.hasTier(cola.TierPro)
		for _, e := range w.stripe.Events() {
			if processed, err := w.store.EventProcessed(t.Context(), e.ID); err != nil || !processed {
				t.Errorf("EventProcessed(%s) = %t, %v; want true", e.Type, processed, err)
			}
		}
	})
}

// TestStripeHangs cancels the webhook request before Stripe's API responds, as when Stripe gives
// up.
func TestStripeHangs(t *testing.T) {
	w := onSQLite(t)
	w.stripe.Subscribe(w.customer(), "pro_monthly")
	ctx, cancel := context.WithCancel(t.Context())
	w.stripe.Fault = func(r *http.Request) int {
		cancel()
		<-r.Context().Done()
		return 503
	}
	e := w.stripe.Events()[0].Request(stripetest.WebhookSecret, time.Now())
	if got := stripetest.Handler(w.webhook)(e.WithContext(ctx)); got < 400 {
		t.Errorf("status %d, want an error", got)
	}
	w.stripe.Fault = nil
	w.sendAll(http.StatusOK)
	w.hasTier(cola.TierPro)
}

// crashingStore fails writes as if the process were killed before or after the commit.
type crashingStore struct {
	Store
	before, after bool
}

var errCrash = errors.New("killed")

func (s *crashingStore) SaveSubscription(ctx context.Context, r store.Subscription, event string) error {
	if s.before {
		return errCrash
	}
	err := s.Store.SaveSubscription(ctx, r, event)
	if s.after {
		return errCrash
	}
	return err
}

func (s *crashingStore) AddCustomer(ctx context.Context, account cola.AccountID, customer string) (store.Subscription, error) {
	if s.before {
		return store.Subscription{}, errCrash
	}
	return s.Store.AddCustomer(ctx, account, customer)
}

// TestCrashes kills the process between steps.
func TestCrashes(t *testing.T) {
	onBackends(t, func(t *testing.T, w *world) {
		crashing := &crashingStore{Store: w.store, before: true}
		svc := w.service(crashing)
		if _, err := svc.ChangePlan(t.Context(), w.account, cola.TierPro); !errors.Is(err, errCrash) {
			t.Errorf("ChangePlan error = %v, want a crash", err)
		}
		w.customer()
		if all := w.stripe.Customers(); len(all) != 1 {
			t.Errorf("%d customers after a crash, want 1", len(all))
		}
		w.stripe.Subscribe(w.record().Customer, "pro_monthly")
		for _, crash := range []crashingStore{{w.store, true, false}, {w.store, false, true}} {
			e := w.stripe.Events()[0].Request(stripetest.WebhookSecret, time.Now())
			if got := stripetest.Handler(w.service(&crash).Webhook())(e); got != http.StatusInternalServerError {
				t.Errorf("status %d after a crash, want 500", got)
			}
		}
		w.sendAll(http.StatusOK)
		w.hasTier(cola.TierPro)
	})
}

// TestDeletedCustomer deletes a customer in Stripe, with and without the event.
func TestDeletedCustomer(t *testing.T) {
	for desc, notice := range map[string]func(w *world){
		"event":          func(w *world) { w.sendAll(http.StatusOK) },
		"reconciliation": func(w *world) { w.advance(liveAge); w.mustReconcile() },
		"next checkout":  func(w *world) { w.mustChange(cola.TierPro) },
	} {
		t.Run(desc, func(t *testing.T) {
			w := onSQLite(t)
			customer, _ := w.subscriber(cola.TierStarter)
			applied := len(w.stripe.Events())
			w.stripe.DeleteCustomer(customer)
			notice(w)
			w.hasTier(cola.TierFree)
			if desc == "event" { // the event that removed the customer; those after it find none
				w.count("applied", applied+1)
			}
			w.mustChange(cola.TierPro)
			if r := w.record(); r.Customer == customer {
				t.Error("the deleted customer was used again")
			}
		})
	}
}

// count checks how many events had the given outcome.
func (w *world) count(outcome string, want int) {
	w.t.Helper()
	if got := int(testutil.ToFloat64(w.events.WithLabelValues(outcome))); got != want {
		w.t.Errorf("%d events %s, want %d", got, outcome, want)
	}
}

// TestDeletedCustomers deletes each customer of an account right after it is created, while Stripe
// still repeats its response to the same idempotency key.
func TestDeletedCustomers(t *testing.T) {
	w := onSQLite(t)
	known := map[string]bool{}
	for range 3 {
		customer := w.customer()
		if known[customer] {
			t.Errorf("the deleted customer %s was used again", customer)
		}
		known[customer] = true
		w.stripe.DeleteCustomer(customer)
	}
}

// TestFreePlanWithoutSubscription checks that changing to the free plan without a subscription
// creates no customer.
func TestFreePlanWithoutSubscription(t *testing.T) {
	w := onSQLite(t)
	if to := w.mustChange(cola.TierFree); to != publicURL+plansPath {
		t.Errorf("change to the free plan leads to %s", to)
	}
	if n := len(w.stripe.Customers()); n != 0 {
		t.Errorf("%d customers, want 0", n)
	}
}

// TestWrongAPIKey checks that accounts keep their tiers if the API key belongs to another Stripe
// account, where no customer exists.
func TestWrongAPIKey(t *testing.T) {
	w := onSQLite(t)
	w.subscriber(cola.TierPro)
	w.advance(liveAge)
	w.stripe = stripetest.Start(t)
	if err := w.service(w.store).Reconcile(t.Context()); err == nil {
		t.Error("Reconcile succeeded although all customers are missing")
	}
	w.hasTier(cola.TierPro)
}

func TestCatalog(t *testing.T) {
	w := onSQLite(t)
	if err := w.Check(t.Context()); err != nil {
		t.Error(err)
	}
	for desc, change := range map[string]func(){
		"starter_monthly": func() { w.stripe.SetPrice("starter_monthly", 0) },
		"pro_monthly":     func() { w.stripe.SetPrice("pro_monthly", 98_00) },
	} {
		w.stripe = stripetest.Start(t)
		change()
		if err := w.service(w.store).Check(t.Context()); err == nil || !strings.Contains(err.Error(), desc) {
			t.Errorf("Check error = %v, want one about %s", err, desc)
		}
	}
}

// TestPriceChange moves a lookup key to a new price. Subscriptions to the old one keep their tier.
func TestPriceChange(t *testing.T) {
	w := onSQLite(t)
	_, sub := w.subscriber(cola.TierStarter)
	w.stripe.Replace("starter_monthly")
	w.advance(catalogAge)
	w.stripe.Change(sub.ID, func(*stripetest.Subscription) {})
	w.sendAll(http.StatusOK)
	w.hasTier(cola.TierStarter)
}

// TestSeveralSubscriptions subscribes three times: the largest tier counts until its
// subscription is unpaid.
func TestSeveralSubscriptions(t *testing.T) {
	w := onSQLite(t)
	customer, _ := w.subscriber(cola.TierStarter)
	second := w.stripe.Subscribe(customer, "pro_monthly")
	w.stripe.Subscribe(customer, "starter_monthly")
	w.sendAll(http.StatusOK)
	w.hasTier(cola.TierPro)
	w.stripe.Change(second.ID, stripetest.Status("unpaid"))
	w.sendAll(http.StatusOK)
	w.hasTier(cola.TierStarter)
}

// TestOperatorTier sets a tier, as an operator would, after a subscription has ended. Later events
// for the old subscription don't change it.
func TestOperatorTier(t *testing.T) {
	w := onSQLite(t)
	_, sub := w.subscriber(cola.TierStarter)
	w.stripe.Change(sub.ID, stripetest.End(w.time()))
	w.sendAll(http.StatusOK)
	st := w.store.(store.Store)
	if err := st.SetTier(t.Context(), w.account, cola.TierPro); err != nil {
		t.Fatal(err)
	}
	w.advance(endedAge)
	w.mustReconcile()
	w.stripe.Change(sub.ID, func(*stripetest.Subscription) {})
	w.sendAll(http.StatusOK)
	w.hasTier(cola.TierPro)
}
