// Package stripetest provides a fake Stripe server for tests and demonstrations. It implements the
// part of the API that package billing uses, serves Checkout and the customer portal as pages to
// click through, and signs events. It sends events immediately, or tests send them in any order and
// any number of times.
//
// It rejects unknown parameters. A test in package billing checks the requests against Stripe's own
// specification.
package stripetest

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"
)

// The fake server's secrets.
const (
	SecretKey     = "sk_test_fake"
	WebhookSecret = "whsec_fake"
)

// Server is a fake Stripe server and an http.Handler. Its methods are safe for concurrent use.
type Server struct {
	URL string // base URL, without a trailing slash

	// Now is the clock for subscriptions; the default is time.Now. Events are always signed with
	// the real time, because receivers check it.
	Now func() time.Time
	// Sink sends events as soon as they occur; nil holds them. See Handler and Address.
	Sink Sink
	// Fault returns the status with which a request to the API fails, or 0. It may block.
	Fault func(r *http.Request) int

	mu            sync.Mutex
	last          int // number in the latest ID
	prices        []price
	customers     map[string]*customer
	subscriptions []*Subscription // oldest first
	sessions      []*session
	portals       map[string]*portal
	replies       map[string]reply // by idempotency key
	events        []Event
}

type price struct {
	ID, LookupKey, Product, Name string
	Amount                       int64 // in cents
}

type customer struct {
	ID, Email string
	Deleted   bool
	Metadata  map[string]string
}

// Subscription is a subscription in Stripe. Zero times are null in the API.
type Subscription struct {
	ID, Customer, Price string
	Status              string
	Created, PeriodEnd  time.Time
	CancelAtPeriodEnd   bool
	CancelAt, EndedAt   time.Time
}

type session struct {
	ID, Customer, Price, Status string
	SuccessURL, CancelURL       string
	Metadata                    map[string]string
}

// portal is a customer portal session. Flow, if set, asks the customer to change Subscription to
// Price or, if Price is empty, to cancel it.
type portal struct {
	ID, Customer, ReturnURL string
	Flow                    string
	Subscription, Price     string
	AfterURL                string
}

type reply struct {
	params string
	status int
	body   []byte
}

// New returns a server with prices for the starter and pro tiers.
func New() *Server {
	return &Server{
		Now: time.Now, customers: map[string]*customer{}, portals: map[string]*portal{}, replies: map[string]reply{},
		prices: []price{
			{"price_starter", "starter_monthly", "prod_starter", "Starter", 39_00},
			{"price_pro", "pro_monthly", "prod_pro", "Pro", 99_00},
		},
	}
}

// Start starts a server that stops when the test ends.
func Start(t testing.TB) *Server {
	t.Helper()
	s := New()
	listening := httptest.NewServer(s)
	t.Cleanup(listening.Close)
	s.URL = listening.URL
	return s
}

// ServeHTTP serves the API and the pages.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	mux := http.NewServeMux()
	s.routeAPI(mux)
	s.routePages(mux)
	mux.ServeHTTP(w, r)
}

// id returns a new ID.
func (s *Server) id(prefix string) string {
	s.last++
	return fmt.Sprintf("%s_%04d", prefix, s.last)
}

// SetPrice changes the amount of a price, in cents, or removes the price if the amount is 0.
func (s *Server) SetPrice(lookupKey string, amount int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.IndexFunc(s.prices, func(p price) bool { return p.LookupKey == lookupKey })
	if s.prices[i].Amount = amount; amount == 0 {
		s.prices = slices.Delete(s.prices, i, i+1)
	}
}

// Replace moves a lookup key to a new price of the same product, as a price change does. Existing
// subscriptions keep the old price.
func (s *Server) Replace(lookupKey string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.IndexFunc(s.prices, func(p price) bool { return p.LookupKey == lookupKey })
	next := s.prices[i]
	next.ID, s.prices[i].LookupKey = s.id("price"), ""
	s.prices = append(s.prices, next)
}

// SetFault replaces Fault while the server is running.
func (s *Server) SetFault(fault func(r *http.Request) int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.Fault = fault
}

// AddCustomer adds a customer with the given ID.
func (s *Server) AddCustomer(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.customers[id] = &customer{ID: id}
}

// Customers returns the IDs of all customers, including deleted ones.
func (s *Server) Customers() (ids []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for id := range s.customers {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids
}

// DeleteCustomer deletes a customer and ends its subscriptions.
func (s *Server) DeleteCustomer(id string) {
	s.mu.Lock()
	s.customers[id].Deleted = true
	s.mu.Unlock()
	for _, sub := range s.Subscriptions(id) {
		s.Change(sub.ID, End(s.Now()))
	}
	s.emit("customer.deleted", map[string]any{"id": id, "object": "customer"})
}

// Subscriptions returns a customer's subscriptions, oldest first.
func (s *Server) Subscriptions(customer string) (all []Subscription) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, sub := range s.subscriptions {
		if sub.Customer == customer {
			all = append(all, *sub)
		}
	}
	return all
}

// Subscribe creates an active subscription to the price with the given lookup key, and emits its
// events.
func (s *Server) Subscribe(customer, lookupKey string) Subscription {
	s.mu.Lock()
	sub := &Subscription{
		ID: s.id("sub"), Customer: customer, Price: s.priceOf(lookupKey).ID, Status: "active",
		Created: s.Now(), PeriodEnd: s.Now().AddDate(0, 1, 0),
	}
	s.subscriptions = append(s.subscriptions, sub)
	created := *sub
	s.mu.Unlock()
	s.emit("customer.subscription.created", subscriptionObject(created, s.price(created.Price)))
	s.emit("invoice.paid", map[string]any{"id": "in_" + created.ID, "object": "invoice", "customer": customer})
	return created
}

// Change changes a subscription and emits the events for the change.
func (s *Server) Change(id string, change func(*Subscription)) {
	s.mu.Lock()
	i := slices.IndexFunc(s.subscriptions, func(sub *Subscription) bool { return sub.ID == id })
	before := s.subscriptions[i].Status
	change(s.subscriptions[i])
	sub := *s.subscriptions[i]
	s.mu.Unlock()
	kind := "customer.subscription.updated"
	if sub.Status == "canceled" && before != "canceled" {
		kind = "customer.subscription.deleted"
	}
	if sub.Status == "past_due" && before != "past_due" {
		s.emit("invoice.payment_failed", map[string]any{"id": "in_" + sub.ID, "object": "invoice", "customer": sub.Customer})
	}
	s.emit(kind, subscriptionObject(sub, s.price(sub.Price)))
}

// Status returns a change that sets the status.
func Status(status string) func(*Subscription) { return func(s *Subscription) { s.Status = status } }

// End returns a change that ends a subscription.
func End(at time.Time) func(*Subscription) {
	return func(s *Subscription) { s.Status, s.EndedAt = "canceled", at }
}

// To returns a change that switches to the price with the given lookup key.
func (s *Server) To(lookupKey string) func(*Subscription) {
	return func(sub *Subscription) { sub.Price = s.priceOf(lookupKey).ID }
}

// priceOf returns the price with the given lookup key. The caller holds the lock.
func (s *Server) priceOf(lookupKey string) price {
	i := slices.IndexFunc(s.prices, func(p price) bool { return p.LookupKey == lookupKey })
	return s.prices[i]
}

// price returns a price by ID.
func (s *Server) price(id string) price {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.priceByID(id)
}

func (s *Server) priceByID(id string) price {
	if i := slices.IndexFunc(s.prices, func(p price) bool { return p.ID == id }); i >= 0 {
		return s.prices[i]
	}
	return price{}
}
