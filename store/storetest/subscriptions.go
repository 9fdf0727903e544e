package storetest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

func testSubscriptions(t *testing.T, open Opener) {
	runChecks(t, open, []check{
		{"customer of an account", addCustomer},
		{"save sets the tier", saveSubscription},
		{"save keeps a tier that an operator has set", saveKeepsTier},
		{"stale save", staleSave},
		{"concurrent saves", concurrentSaves},
		{"remove customer", removeCustomer},
		{"old events are deleted", oldEvents},
	})
}

func mustCustomer(t tb, st store.Store, account cola.AccountID, customer string) store.Subscription {
	t.Helper()
	s, err := st.AddCustomer(context.Background(), account, customer)
	return must(t, s, err)
}

// starter returns the state of an active subscription to the starter tier.
func starter(id string) store.SubscriptionState {
	return store.SubscriptionState{
		ID: id, Status: "active", Tier: cola.TierStarter, Granted: cola.TierStarter, PeriodEnd: epoch.AddDate(0, 1, 0),
	}
}

// mustSubscribe replaces the state in an account's current record and returns the new record.
func mustSubscribe(t tb, st store.Store, account cola.AccountID, state store.SubscriptionState, event string) store.Subscription {
	t.Helper()
	s, err := st.SubscriptionOf(context.Background(), account)
	s = must(t, s, err)
	s.SubscriptionState = state
	mustDo(t, st.SaveSubscription(context.Background(), s, event))
	s, err = st.SubscriptionOf(context.Background(), account)
	return must(t, s, err)
}

func checkTier(t tb, st store.Store, account cola.AccountID, want cola.Tier) {
	t.Helper()
	a, err := st.Account(context.Background(), account)
	if got := must(t, a, err).Tier; got != want {
		t.Errorf("tier = %s, want %s", got, want)
	}
}

func addCustomer(t *testing.T, st store.Store, _ *clock) {
	a, b := mustAccount(t, st, "a@example.com", cola.TierFree), mustAccount(t, st, "b@example.com", cola.TierPro)
	for range 2 {
		checkEqual(t, "AddCustomer", store.Subscription{Account: a.ID, Customer: "cus_a"}, mustCustomer(t, st, a.ID, "cus_a"))
	}
	checkEqual(t, "AddCustomer for an account with a customer", "cus_a",
		mustCustomer(t, st, a.ID, "cus_other").Customer)
	if _, err := st.AddCustomer(t.Context(), b.ID, "cus_a"); !errors.Is(err, store.ErrExists) {
		t.Errorf("AddCustomer(customer of another account) error = %v, want ErrExists", err)
	}
	if _, err := st.AddCustomer(t.Context(), b.ID+100, "cus_c"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("AddCustomer(unknown account) error = %v, want ErrNotFound", err)
	}
	mustCustomer(t, st, b.ID, "cus_b")
	found, err := st.SubscriptionByCustomer(t.Context(), "cus_b")
	checkEqual(t, "SubscriptionByCustomer", b.ID, must(t, found, err).Account)
	for _, unknown := range []string{"", "cus_other", "cus_\x00", "\xff"} {
		if _, err := st.SubscriptionByCustomer(t.Context(), unknown); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("SubscriptionByCustomer(%q) error = %v, want ErrNotFound", unknown, err)
		}
	}
	if _, err := st.SubscriptionOf(t.Context(), b.ID+100); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("SubscriptionOf(unknown) error = %v, want ErrNotFound", err)
	}
	for above, want := range map[cola.AccountID]int{0: 2, a.ID: 1, b.ID: 0} {
		list, err := st.Subscriptions(t.Context(), above, 5)
		checkEqual(t, fmt.Sprint("Subscriptions above ", above), want, len(must(t, list, err)))
	}
	list, err := st.Subscriptions(t.Context(), 0, 1)
	checkEqual(t, "Subscriptions, 1 row", "cus_a", must(t, list, err)[0].Customer)
}

func saveSubscription(t *testing.T, st store.Store, c *clock) {
	a, other := mustAccount(t, st, "a@example.com", cola.TierFree), mustAccount(t, st, "b@example.com", cola.TierFree)
	mustCustomer(t, st, a.ID, "cus_a")
	full := starter("sub_1")
	full.EndsAt, full.PastDueSince = epoch.Add(time.Hour), epoch.Add(-time.Hour)
	checkEqual(t, "saved", store.Subscription{
		Account: a.ID, Customer: "cus_a", Version: 1, SubscriptionState: full, ReadAt: epoch,
	}, mustSubscribe(t, st, a.ID, full, "evt_1"))
	checkTier(t, st, a.ID, cola.TierStarter)
	for event, want := range map[string]bool{"evt_1": true, "evt_2": false, "": false} {
		got, err := st.EventProcessed(t.Context(), event)
		checkEqual(t, "EventProcessed("+event+")", want, must(t, got, err))
	}
	c.advance(time.Minute)
	pro := full
	pro.Tier, pro.Granted = cola.TierPro, cola.TierPro
	checkEqual(t, "ReadAt", epoch.Add(time.Minute), mustSubscribe(t, st, a.ID, pro, "evt_1").ReadAt) // the same event again
	checkTier(t, st, a.ID, cola.TierPro)
	ended := pro
	ended.Status, ended.Granted = "canceled", cola.TierFree
	mustSubscribe(t, st, a.ID, ended, "")
	checkTier(t, st, a.ID, cola.TierFree)
	checkTier(t, st, other.ID, cola.TierFree)
}

func saveKeepsTier(t *testing.T, st store.Store, _ *clock) {
	a := mustAccount(t, st, "a@example.com", cola.TierPro)
	mustCustomer(t, st, a.ID, "cus_a")
	mustSubscribe(t, st, a.ID, store.SubscriptionState{}, "evt_1") // the customer never subscribed
	checkTier(t, st, a.ID, cola.TierPro)
	ended := starter("sub_1")
	ended.Status, ended.Granted = "canceled", cola.TierFree
	mustSubscribe(t, st, a.ID, ended, "evt_2")
	checkTier(t, st, a.ID, cola.TierFree)
	mustDo(t, st.SetTier(t.Context(), a.ID, cola.TierPro))
	mustSubscribe(t, st, a.ID, ended, "evt_3")
	checkTier(t, st, a.ID, cola.TierPro)
	mustSubscribe(t, st, a.ID, starter("sub_2"), "evt_4")
	checkTier(t, st, a.ID, cola.TierStarter)
}

func staleSave(t *testing.T, st store.Store, _ *clock) {
	a := mustAccount(t, st, "a@example.com", cola.TierFree)
	stale := mustCustomer(t, st, a.ID, "cus_a")
	current := mustSubscribe(t, st, a.ID, starter("sub_1"), "evt_1")
	stale.SubscriptionState = starter("sub_1")
	stale.Granted = cola.TierPro
	otherCustomer := current
	otherCustomer.Customer = "cus_gone"
	for desc, s := range map[string]store.Subscription{
		"earlier version": stale, "other customer": otherCustomer, "no account": {Account: a.ID + 100, Customer: "cus_a"},
	} {
		if err := st.SaveSubscription(t.Context(), s, "evt_2"); !errors.Is(err, store.ErrStale) {
			t.Errorf("%s: SaveSubscription error = %v, want ErrStale", desc, err)
		}
		if err := st.RemoveCustomer(t.Context(), s); !errors.Is(err, store.ErrStale) {
			t.Errorf("%s: RemoveCustomer error = %v, want ErrStale", desc, err)
		}
	}
	found, err := st.SubscriptionOf(t.Context(), a.ID)
	checkEqual(t, "record", current, must(t, found, err))
	checkTier(t, st, a.ID, cola.TierStarter)
	processed, err := st.EventProcessed(t.Context(), "evt_2")
	checkEqual(t, "event of a stale save is processed", false, must(t, processed, err))
}

// concurrentSaves checks that of several saves based on the same version, exactly one succeeds and
// sets the account's tier.
func concurrentSaves(t *testing.T, st store.Store, _ *clock) {
	a := mustAccount(t, st, "a@example.com", cola.TierFree)
	mustCustomer(t, st, a.ID, "cus_a")
	for round := range 10 {
		before, err := st.SubscriptionOf(t.Context(), a.ID)
		before = must(t, before, err)
		errs := make([]error, 6)
		var all sync.WaitGroup
		for i := range errs {
			all.Go(func() {
				s := before
				s.SubscriptionState = starter(fmt.Sprint("sub_", i))
				s.Granted = cola.Tiers()[i%3]
				errs[i] = st.SaveSubscription(context.Background(), s, fmt.Sprintf("evt_%d_%d", round, i))
			})
		}
		all.Wait()
		after, err := st.SubscriptionOf(t.Context(), a.ID)
		after = must(t, after, err)
		saved := 0
		for i, err := range errs {
			processed, readErr := st.EventProcessed(t.Context(), fmt.Sprintf("evt_%d_%d", round, i))
			switch {
			case must(t, processed, readErr) != (err == nil):
				t.Errorf("save %d: event processed = %t with error %v", i, processed, err)
			case err == nil:
				saved++
				checkEqual(t, "saved subscription", fmt.Sprint("sub_", i), after.ID)
			case !errors.Is(err, store.ErrStale):
				t.Errorf("save %d: error = %v, want ErrStale", i, err)
			}
		}
		if saved != 1 || after.Version != before.Version+1 {
			t.Errorf("%d saves succeeded, version %d after %d; want one", saved, after.Version, before.Version)
		}
		checkTier(t, st, a.ID, after.Granted)
	}
}

func removeCustomer(t *testing.T, st store.Store, _ *clock) {
	a, b := mustAccount(t, st, "a@example.com", cola.TierFree), mustAccount(t, st, "b@example.com", cola.TierPro)
	mustCustomer(t, st, a.ID, "cus_a")
	mustDo(t, st.RemoveCustomer(t.Context(), mustSubscribe(t, st, a.ID, starter("sub_1"), "evt_1")))
	mustDo(t, st.RemoveCustomer(t.Context(), mustCustomer(t, st, b.ID, "cus_b")))
	checkTier(t, st, a.ID, cola.TierFree)
	checkTier(t, st, b.ID, cola.TierPro) // the customer never subscribed
	if _, err := st.SubscriptionOf(t.Context(), a.ID); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("SubscriptionOf error = %v, want ErrNotFound", err)
	}
	checkEqual(t, "next customer", "cus_a2", mustCustomer(t, st, a.ID, "cus_a2").Customer)
}

func oldEvents(t *testing.T, st store.Store, c *clock) {
	a := mustAccount(t, st, "a@example.com", cola.TierFree)
	mustCustomer(t, st, a.ID, "cus_a")
	mustSubscribe(t, st, a.ID, starter("sub_1"), "evt_old")
	c.advance(store.StripeEventRetention + time.Second)
	for i := range 3 {
		mustSubscribe(t, st, a.ID, starter("sub_1"), fmt.Sprint("evt_", i))
	}
	for event, want := range map[string]bool{"evt_old": false, "evt_0": true, "evt_2": true} {
		got, err := st.EventProcessed(t.Context(), event)
		if got := must(t, got, err); got && !want {
			t.Logf("EventProcessed(%s) = true; this backend deletes old events later", event)
		} else if got != want {
			t.Errorf("EventProcessed(%s) = %t, want %t", event, got, want)
		}
	}
}
