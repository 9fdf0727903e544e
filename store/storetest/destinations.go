package storetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

func testDestinations(t *testing.T, open Opener) {
	runChecks(t, open, slices.Concat([]check{
		{"own address", ownDestination},
		{"create and get", destinationRoundTrip},
		{"unique address", uniqueAddress},
		{"unknown account or search", destinationUnknownOwner},
		{"malformed", malformedDestination},
		{"pages", listDestinations},
		{"limit", destinationLimit},
		{"limit with concurrent creation", destinationLimitConcurrent},
		{"another account", destinationOfAnotherAccount},
	}, destinationChangeChecks()))
}

const (
	// hook is the URL of test webhooks; secret is their signing secret.
	hook   = "https://hooks.example.com/Labels"
	secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
)

// newHook returns a new webhook for all searches of an account.
func newHook(account cola.AccountID, address string) store.NewDestination {
	return store.NewDestination{
		Account:         account,
		Kind:            cola.KindWebhook,
		Address:         address,
		State:           cola.DestinationActive,
		Secret:          secret,
		MaxDestinations: cola.MaxDestinations,
	}
}

// newMailbox returns a new email destination for all searches of an account.
func newMailbox(account cola.AccountID, address string) store.NewDestination {
	return store.NewDestination{
		Account:         account,
		Kind:            cola.KindEmail,
		Address:         address,
		State:           cola.DestinationActive,
		MaxDestinations: cola.MaxDestinations,
	}
}

// forSearch restricts a new destination to one search.
func forSearch(n store.NewDestination, search cola.SavedSearch) store.NewDestination {
	n.SavedSearch = search.UUID
	return n
}

func mustDestination(t tb, st store.Store, n store.NewDestination) store.Destination {
	t.Helper()
	created, err := st.CreateDestination(context.Background(), n)
	return must(t, created, err)
}

func mustDestinations(t tb, st store.Store, account cola.AccountID) []store.Destination {
	t.Helper()
	list, total, err := st.Destinations(context.Background(), account, store.Slice{Limit: noLimit})
	if err == nil && total != len(list) {
		t.Errorf("Destinations total = %d, want %d", total, len(list))
	}
	return must(t, list, err)
}

// mustOwn returns the destination of an account's own address, which comes first.
func mustOwn(t tb, st store.Store, account cola.AccountID) store.Destination {
	t.Helper()
	list := mustDestinations(t, st, account)
	if len(list) == 0 || !list[0].Own {
		t.Fatalf("Destinations = %+v, want the account's own address first", list)
	}
	return list[0]
}

func ownDestination(t *testing.T, st store.Store, c *clock) {
	c.set(epoch.In(time.FixedZone("", 3600)).Add(789 * time.Nanosecond)) // stored in UTC, in whole microseconds
	created := mustAccount(t, st, "Ann@Example.com", cola.TierFree)
	named := mustAccountOf(t, st, testIssuer, "1", "")
	verified := mustAccountOf(t, st, testIssuer, "2", "Ben@example.com")
	for _, k := range []struct {
		account store.Account
		address cola.Opt[string]
	}{{created, cola.Some("Ann@Example.com")}, {named, cola.Opt[string]{}}, {verified, cola.Some("Ben@example.com")}} {
		list := mustDestinations(t, st, k.account.ID)
		if len(list) != 1 || list[0].UUID == "" {
			t.Fatalf("destinations of account %d = %+v, want one with a UUID", k.account.ID, list)
		}
		want := cola.Destination{
			UUID:      list[0].UUID,
			Kind:      cola.KindEmail,
			Address:   k.address,
			State:     cola.DestinationActive,
			CreatedAt: cola.TimestampOf(epoch),
		}
		checkEqual(t, "own destination", store.Destination{Destination: want, Account: k.account.ID, Own: true},
			list[0])
	}
	checkEqual(t, "account by its email", created.ID, mustAccountOf(t, st, testIssuer, "3", "ann@example.com").ID)
	checkEqual(t, "account by its identity", verified.ID, mustAccountOf(t, st, testIssuer, "2", "Ben@example.com").ID)
	checkEqual(t, "account with a new email", named.ID, mustAccountOf(t, st, testIssuer, "1", "cat@example.com").ID)
	for account, address := range map[cola.AccountID]string{
		created.ID:  "Ann@Example.com",
		verified.ID: "Ben@example.com",
		named.ID:    "cat@example.com",
	} {
		list := mustDestinations(t, st, account)
		if len(list) != 1 || list[0].Address != cola.Some(address) {
			t.Errorf("destinations = %+v, want one for %s", list, address)
		}
	}
	if _, err := st.CreateAccount(t.Context(), "ann@example.com", cola.TierFree); !errors.Is(err, store.ErrExists) {
		t.Errorf("CreateAccount(duplicate email) error = %v, want ErrExists", err)
	}
	checkEqual(t, "number of destinations of the existing account", 1, len(mustDestinations(t, st, created.ID)))
}

func destinationRoundTrip(t *testing.T, st store.Store, c *clock) {
	a := mustAccount(t, st, "a@example.com", cola.TierFree)
	search := mustCreate(t, st, newSearch(a.ID, 1))
	c.set(epoch.Add(time.Hour).In(time.FixedZone("", 3600)).Add(789 * time.Nanosecond))
	unconfirmed := newMailbox(a.ID, "o'Brien+100%_@Example.com")
	unconfirmed.State = cola.DestinationUnconfirmed
	empty := forSearch(newHook(a.ID, hook+"?a=%20&b=ü"), search)
	empty.SendEmpty = true
	named := newHook(a.ID, hook+"/named")
	named.UUID = "5b1d3c52-0c5c-4a52-8f6d-7d1f6f0a9b10"
	named.Challenge = "sealed:1"
	named.State = cola.DestinationPending
	uuids := map[string]bool{}
	for _, n := range []store.NewDestination{
		newHook(a.ID, hook), forSearch(newMailbox(a.ID, "x@example.com"), search),
		empty, unconfirmed, named,
	} {
		created := mustDestination(t, st, n)
		uuids[created.UUID] = true
		want := cola.Destination{
			UUID:        created.UUID,
			Kind:        n.Kind,
			Address:     cola.Some(n.Address),
			SendEmpty:   n.SendEmpty,
			State:       n.State,
			SavedSearch: cola.Opt[string]{V: n.SavedSearch, OK: n.SavedSearch != ""},
			CreatedAt:   cola.TimestampOf(epoch.Add(time.Hour)),
		}
		var verified time.Time
		if n.Kind == cola.KindWebhook && n.State == cola.DestinationActive {
			verified = epoch.Add(time.Hour)
		}
		checkEqual(t, "CreateDestination", store.Destination{
			Destination: want,
			Account:     a.ID,
			VerifiedAt:  verified,
			Secrets:     store.Secrets{Current: n.Secret},
			Challenge:   store.Challenge{Sealed: n.Challenge},
		}, created)
		found, err := st.Destination(t.Context(), a.ID, created.UUID)
		checkEqual(t, "Destination", created, must(t, found, err))
		list := mustDestinations(t, st, a.ID)
		checkEqual(t, "last of Destinations", created, list[len(list)-1])
	}
	if uuids[""] || !uuids[named.UUID] || len(uuids) != 5 {
		t.Errorf("UUIDs = %v, want 5 including the given one", uuids)
	}
}

func uniqueAddress(t *testing.T, st store.Store, _ *clock) {
	a, b := mustAccount(t, st, "Ann.O@Example.com", cola.TierFree), mustAccount(t, st, "b@example.com", cola.TierFree)
	one, two := mustCreate(t, st, newSearch(a.ID, 1)), mustCreate(t, st, newSearch(a.ID, 2))
	for _, k := range []struct {
		desc string
		make store.NewDestination
		want error
	}{
		{"own address", newMailbox(a.ID, "Ann.O@Example.com"), store.ErrExists},
		{"own address, different case", newMailbox(a.ID, "ANN.o@example.com"), store.ErrExists},
		{"own address, for a search", forSearch(newMailbox(a.ID, "ann.o@example.com"), one), nil},
		{"own address, for the same search", forSearch(newMailbox(a.ID, "Ann.O@Example.com"), one), store.ErrExists},
		{"own address, for another search", forSearch(newMailbox(a.ID, "Ann.O@Example.com"), two), nil},
		{"another address", newMailbox(a.ID, "X.E@example.com"), nil},
		{"another address, different case", newMailbox(a.ID, "x.e@EXAMPLE.com"), store.ErrExists},
		{"another account's address", newMailbox(a.ID, "b@example.com"), nil},
		{"same address, another account", newMailbox(b.ID, "x.e@example.com"), nil},
		{"webhook", newHook(a.ID, hook), nil},
		{"same webhook", newHook(a.ID, hook), store.ErrExists},
		{"another path", newHook(a.ID, strings.ToLower(hook)), nil},
		{"same webhook, for a search", forSearch(newHook(a.ID, hook), one), nil},
	} {
		before := len(mustDestinations(t, st, k.make.Account))
		if _, err := st.CreateDestination(t.Context(), k.make); !errors.Is(err, k.want) {
			t.Errorf("%s: CreateDestination error = %v, want %v", k.desc, err, k.want)
		}
		if after := len(mustDestinations(t, st, k.make.Account)); (after > before) != (k.want == nil) {
			t.Errorf("%s: %d destinations before and %d after", k.desc, before, after)
		}
	}
	mustDo(t, st.DeleteDestination(t.Context(), b.ID, mustOwn(t, st, b.ID).UUID))
	if mailbox := mustDestination(t, st, newMailbox(b.ID, "b@example.com")); mailbox.Own {
		t.Error("CreateDestination: Own = true, want false")
	}
}

func destinationUnknownOwner(t *testing.T, st store.Store, _ *clock) {
	a, b := mustAccount(t, st, "a@example.com", cola.TierFree), mustAccount(t, st, "b@example.com", cola.TierFree)
	search := mustCreate(t, st, newSearch(b.ID, 1))
	for _, n := range []store.NewDestination{
		newHook(42, hook), forSearch(newHook(a.ID, hook), search), forSearch(newHook(42, hook), search),
		forSearch(newHook(a.ID, hook), cola.SavedSearch{UUID: "x\x00"}),
	} {
		if created, err := st.CreateDestination(t.Context(), n); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("CreateDestination(%+v) = %+v, %v; want ErrNotFound", n, created, err)
		}
	}
	for _, account := range []cola.AccountID{a.ID, b.ID} {
		checkEqual(t, "number of destinations", 1, len(mustDestinations(t, st, account)))
	}
}

func malformedDestination(t *testing.T, st store.Store, _ *clock) {
	a := mustAccount(t, st, "a@example.com", cola.TierFree)
	for name, spoil := range map[string]func(n *store.NewDestination){
		"no kind":                func(n *store.NewDestination) { n.Kind = "" },
		"no state":               func(n *store.NewDestination) { n.State = "" },
		"no address":             func(n *store.NewDestination) { n.Address = "" },
		"address with NUL":       func(n *store.NewDestination) { n.Address += "\x00" },
		"address is not UTF-8":   func(n *store.NewDestination) { n.Address += "\xff" },
		"address too long":       func(n *store.NewDestination) { n.Address += strings.Repeat("a", store.MaxKeyText) },
		"secret with NUL":        func(n *store.NewDestination) { n.Secret = "\x00" },
		"challenge is not UTF-8": func(n *store.NewDestination) { n.Challenge = "\xff" },
	} {
		n := newHook(a.ID, hook)
		spoil(&n)
		if _, err := st.CreateDestination(t.Context(), n); !errors.Is(err, store.ErrMalformed) {
			t.Errorf("%s: CreateDestination error = %v, want ErrMalformed", name, err)
		}
	}
	checkEqual(t, "number of destinations", 1, len(mustDestinations(t, st, a.ID)))
}

func listDestinations(t *testing.T, st store.Store, c *clock) {
	a, b := mustAccount(t, st, "a@example.com", cola.TierFree), mustAccount(t, st, "b@example.com", cola.TierFree)
	all := []store.Destination{mustOwn(t, st, a.ID)}
	for n := range 4 {
		all = append(all, mustDestination(t, st, newHook(a.ID, fmt.Sprint(hook, 9-n))))
		mustDestination(t, st, newHook(b.ID, fmt.Sprint(hook, n)))
		c.advance(-time.Hour) // creation order, regardless of the clock
	}
	for _, p := range []struct {
		account cola.AccountID
		page    store.Slice
		want    []store.Destination
		total   int
	}{
		{a.ID, store.Slice{Limit: 2}, all[:2], 5}, {a.ID, store.Slice{Offset: 2, Limit: 2}, all[2:4], 5},
		{a.ID, store.Slice{Offset: 4, Limit: 2}, all[4:], 5},
		{a.ID, store.Slice{Offset: 5, Limit: 2}, nil, 5}, {a.ID, store.Slice{}, nil, 5},
		{b.ID + 100, store.Slice{Limit: 10}, nil, 0},
	} {
		page, total, err := st.Destinations(t.Context(), p.account, p.page)
		desc := fmt.Sprintf("page %+v of account %d", p.page, p.account)
		checkEqual(t, desc, append([]store.Destination{}, p.want...),
			append([]store.Destination{}, must(t, page, err)...))
		checkEqual(t, desc+", total", p.total, total)
	}
}

func destinationOfAnotherAccount(t *testing.T, st store.Store, _ *clock) {
	a, b := mustAccount(t, st, "a@example.com", cola.TierFree), mustAccount(t, st, "b@example.com", cola.TierFree)
	created := mustDestination(t, st, newHook(a.ID, hook))
	for _, k := range []struct {
		account cola.AccountID
		uuid    string
	}{
		{b.ID, created.UUID},
		{b.ID + 100, created.UUID},
		{a.ID, ""},
		{a.ID, "%"},
		{a.ID, created.UUID + "\x00"},
		{a.ID, "\xff"},
		{a.ID, newSearch(a.ID, 2).Search.UUID},
	} {
		_, read := st.Destination(t.Context(), k.account, k.uuid)
		_, changed := st.UpdateDestination(t.Context(), k.account, k.uuid, func(d *store.Destination) error {
			t.Errorf("UpdateDestination(%d, %q) called the callback with %+v", k.account, k.uuid, d)
			return nil
		})
		for method, err := range map[string]error{
			"Destination":       read,
			"UpdateDestination": changed,
			"DeleteDestination": st.DeleteDestination(t.Context(), k.account, k.uuid),
		} {
			if !errors.Is(err, store.ErrNotFound) {
				t.Errorf("%s(%d, %q) error = %v, want ErrNotFound", method, k.account, k.uuid, err)
			}
		}
	}
	for _, hash := range [][]byte{nil, {}, make([]byte, 32), []byte(created.UUID)} {
		if _, err := st.DestinationByLink(t.Context(), hash); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("DestinationByLink(%q) error = %v, want ErrNotFound", hash, err)
		}
	}
	checkEqual(t, "Destinations", []store.Destination{mustOwn(t, st, a.ID), created}, mustDestinations(t, st, a.ID))
}
