package storetest

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

func testIdentities(t *testing.T, open Opener) {
	runChecks(t, open, []check{
		{"an identity gets an account and keeps it", identityKeepsAccount},
		{"an identity gets the account that has its address", identityFindsAccount},
		{"identities with one address have one account", identitiesShareAddress},
		{"identities that differ in letter case only are two", identitiesDifferInCase},
		{"an account without an address takes one later", accountTakesAddress},
		{"an address that another account has is not taken", accountLeavesAddress},
		{"what cannot be kept is refused", malformedIdentity},
		{"what is just short enough is kept", longestIdentity},
		{"of one identity many times at once comes one account", oneIdentityAtOnce},
		{"of identities with one address at once comes one account", oneAddressAtOnce},
		{"an address that is taken twice at once goes to one account", oneAddressTakenAtOnce},
	})
}

const anIssuer = "https://id.example.com"

func mustAccountOf(t tb, st store.Store, issuer, subject, verified string) store.Account {
	t.Helper()
	a, err := st.AccountOf(context.Background(), store.Identity{Issuer: issuer, Subject: subject}, verified)
	return must(t, a, err)
}

// mustHaveAccounts holds the accounts of a store to the ones that are wanted, in the order of their ids.
func mustHaveAccounts(t tb, st store.Store, want ...store.Account) {
	t.Helper()
	list, err := st.Accounts(context.Background())
	same(t, "accounts", want, must(t, list, err))
}

func identityKeepsAccount(t *testing.T, st store.Store, c *clock) {
	c.set(epoch.In(time.FixedZone("", 3600)).Add(789 * time.Nanosecond)) // is kept in UTC, to the microsecond
	a := mustAccountOf(t, st, anIssuer, "1", "Ann@Example.com")
	same(t, "account", store.Account{ID: a.ID, Email: "Ann@Example.com", Tier: cola.TierFree, CreatedAt: epoch}, a)
	c.advance(time.Hour)
	mustDo(t, st.SetTier(t.Context(), a.ID, cola.TierPro))
	a.Tier = cola.TierPro
	for _, verified := range []string{"Ann@Example.com", "", "another@example.com"} {
		same(t, fmt.Sprintf("account with %q", verified), a, mustAccountOf(t, st, anIssuer, "1", verified))
	}
	mustHaveAccounts(t, st, a)
	b := mustAccountOf(t, st, "https://other.example.com", "1", "")
	same(t, "account of the subject of another issuer",
		store.Account{ID: b.ID, Email: "https://other.example.com#1", Tier: cola.TierFree, CreatedAt: c.now().UTC().Truncate(time.Microsecond)}, b)
	same(t, "found again", b, mustAccountOf(t, st, "https://other.example.com", "1", ""))
	mustHaveAccounts(t, st, a, b)
	found, err := st.AccountByEmail(t.Context(), b.Email)
	same(t, "found by its name", b, must(t, found, err))
}

func identityFindsAccount(t *testing.T, st store.Store, _ *clock) {
	a := mustAccount(t, st, "Ann.Ö@Example.com", cola.TierStarter)
	same(t, "account", a, mustAccountOf(t, st, anIssuer, "o'1%_", "ANN.ö@example.com"))
	same(t, "account from then on", a, mustAccountOf(t, st, anIssuer, "o'1%_", ""))
	mustHaveAccounts(t, st, a)
}

func identitiesShareAddress(t *testing.T, st store.Store, _ *clock) {
	a := mustAccountOf(t, st, anIssuer, "1", "ann@example.com")
	same(t, "account of the second identity", a, mustAccountOf(t, st, "https://other.example.com", "2", "Ann@example.com"))
	same(t, "account of the third", a, mustAccountOf(t, st, anIssuer, "3", "ann@EXAMPLE.com"))
	if _, err := st.CreateAccount(t.Context(), "ANN@example.com", cola.TierFree); !errors.Is(err, store.ErrExists) {
		t.Errorf("CreateAccount with the address: %v, want ErrExists", err)
	}
	mustHaveAccounts(t, st, a)
}

func identitiesDifferInCase(t *testing.T, st store.Store, _ *clock) {
	a, b := mustAccountOf(t, st, anIssuer, "Ab", ""), mustAccountOf(t, st, anIssuer, "aB", "")
	c := mustAccountOf(t, st, "https://ID.example.com", "Ab", "")
	mustHaveAccounts(t, st, a, b, c)
	for subject, want := range map[string]store.Account{"Ab": a, "aB": b} {
		same(t, subject, want, mustAccountOf(t, st, anIssuer, subject, ""))
		found, err := st.AccountByEmail(t.Context(), want.Email)
		same(t, "by name "+want.Email, want, must(t, found, err))
	}
}

func accountTakesAddress(t *testing.T, st store.Store, _ *clock) {
	a := mustAccountOf(t, st, anIssuer, "1", "")
	k := mustKey(t, st, a.ID, 1)
	mustDo(t, st.SetTier(t.Context(), a.ID, cola.TierPro))
	named := a.Email
	a.Email, a.Tier = "Ann@example.com", cola.TierPro
	same(t, "account with its address", a, mustAccountOf(t, st, anIssuer, "1", "Ann@example.com"))
	same(t, "account with another one, later", a, mustAccountOf(t, st, anIssuer, "1", "b@example.com"))
	same(t, "account of another identity with the address", a, mustAccountOf(t, st, anIssuer, "2", "ann@example.com"))
	mustHaveAccounts(t, st, a)
	found, err := st.KeyByHash(t.Context(), keyHash(1))
	if must(t, found, err); found.AccountID != a.ID || found.ID != k.ID {
		t.Errorf("the account's key is %+v", found)
	}
	if _, err := st.AccountByEmail(t.Context(), named); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("the account under its name: %v, want ErrNotFound", err)
	}
	if _, err := st.CreateAccount(t.Context(), "ANN@example.com", cola.TierFree); !errors.Is(err, store.ErrExists) {
		t.Errorf("CreateAccount with the address: %v, want ErrExists", err)
	}
}

func accountLeavesAddress(t *testing.T, st store.Store, _ *clock) {
	a := mustAccountOf(t, st, anIssuer, "1", "")
	b := mustAccount(t, st, "b@example.com", cola.TierFree)
	for range 2 {
		same(t, "account", a, mustAccountOf(t, st, anIssuer, "1", "B@example.com"))
	}
	mustHaveAccounts(t, st, a, b)
	a.Email = "a@example.com"
	same(t, "account with an address of its own", a, mustAccountOf(t, st, anIssuer, "1", "a@example.com"))
	mustHaveAccounts(t, st, a, b)
}

func malformedIdentity(t *testing.T, st store.Store, _ *clock) {
	long := strings.Repeat("x", store.MaxKeyText)
	for name, c := range map[string]struct{ issuer, subject, verified string }{
		"no issuer":                      {"", "1", ""},
		"an issuer that is no URL":       {"id.example.com", "1", ""},
		"an issuer with a fragment":      {anIssuer + "#1", "1", ""},
		"an issuer with a NUL":           {anIssuer + "\x00", "1", ""},
		"an issuer that is too long":     {anIssuer + long, "1", ""},
		"no subject":                     {anIssuer, "", "a@example.com"},
		"a subject with a NUL":           {anIssuer, "1\x00", ""},
		"a subject in another encoding":  {anIssuer, "\xff", ""},
		"a subject that is too long":     {anIssuer, long + "x", ""},
		"an address with a NUL":          {anIssuer, "1", "a\x00@example.com"},
		"an address in another encoding": {anIssuer, "1", "\xff@example.com"},
		"an address that is too long":    {anIssuer, "1", long + "@example.com"},
		"the name of another identity":   {anIssuer, "1", "https://other.example.com#2"},
	} {
		_, err := st.AccountOf(t.Context(), store.Identity{Issuer: c.issuer, Subject: c.subject}, c.verified)
		if !errors.Is(err, store.ErrMalformed) || errors.Is(err, store.ErrUnavailable) {
			t.Errorf("%s: %v, want ErrMalformed", name, err)
		}
	}
	mustHaveAccounts(t, st)
}

// longestIdentity: in letters that compress badly, or grow when they are folded.
func longestIdentity(t *testing.T, st store.Store, _ *clock) {
	text := func(begin string) string {
		b := []byte(begin)
		for n := 0; len(b) < store.MaxKeyText; n++ {
			sum := sha256.Sum256(fmt.Append(nil, begin, n))
			b = base64.RawURLEncoding.AppendEncode(b, sum[:])
		}
		return string(b[:store.MaxKeyText])
	}
	issuer, subject, other := text(anIssuer+"/"), text("1"), text("2")
	a := mustAccountOf(t, st, issuer, subject, "")
	b := mustAccountOf(t, st, issuer, other, strings.Repeat("Ⱥ", store.MaxKeyText/2))
	same(t, "account of the first", a, mustAccountOf(t, st, issuer, subject, ""))
	same(t, "account of the second", b, mustAccountOf(t, st, issuer, other, strings.Repeat("ⱥ", store.MaxKeyText/3)))
	app, err := st.RegisterApp(t.Context(), store.App{Issuer: issuer, ClientID: subject})
	must(t, app, err)
	mustHaveApps(t, st, app)
}

// atOnce calls do from as many goroutines, which begin together, and waits for them.
func atOnce(count int, do func(i int)) {
	begin := make(chan struct{})
	var wg sync.WaitGroup
	for i := range count {
		wg.Go(func() { <-begin; do(i) })
	}
	close(begin)
	wg.Wait()
}

// oneIdentityAtOnce: also when the tokens do not agree about the address, and so would make accounts under different ones.
func oneIdentityAtOnce(t *testing.T, st store.Store, _ *clock) {
	for round := range 10 {
		addresses := []string{"", fmt.Sprintf("a%d@example.com", round), fmt.Sprintf("b%d@example.com", round)}
		got := make([]store.Account, 12)
		atOnce(len(got), func(i int) {
			got[i] = mustTry(t, st, fmt.Sprint(round), addresses[i%len(addresses)])
		})
		for _, a := range got {
			if a.ID != got[0].ID {
				t.Errorf("round %d: accounts %d and %d, want one", round, got[0].ID, a.ID)
			}
		}
		list, err := st.Accounts(t.Context())
		if len(must(t, list, err)) != round+1 {
			t.Fatalf("round %d: %d accounts, want one a round: %+v", round, len(list), list)
		}
	}
}

// mustTry is mustAccountOf for other goroutines than that of the test.
func mustTry(t *testing.T, st store.Store, subject, verified string) store.Account {
	a, err := st.AccountOf(t.Context(), store.Identity{Issuer: anIssuer, Subject: subject}, verified)
	if err != nil {
		t.Errorf("AccountOf %q with %q: %v", subject, verified, err)
	}
	return a
}

// oneAddressAtOnce: an operator makes an account with the address at the same time.
func oneAddressAtOnce(t *testing.T, st store.Store, _ *clock) {
	for round := range 10 {
		address := fmt.Sprintf("a%d@example.com", round)
		got := make([]store.Account, 12)
		atOnce(len(got), func(i int) {
			if i > 0 {
				got[i] = mustTry(t, st, fmt.Sprint(round, " ", i), address)
				return
			}
			if _, err := st.CreateAccount(t.Context(), address, cola.TierPro); err != nil && !errors.Is(err, store.ErrExists) {
				t.Errorf("CreateAccount: %v, want none or ErrExists", err)
			}
		})
		found, err := st.AccountByEmail(t.Context(), address)
		must(t, found, err)
		for _, a := range got[1:] {
			same(t, "account", found, a)
		}
		list, err := st.Accounts(t.Context())
		if len(must(t, list, err)) != round+1 {
			t.Fatalf("round %d: %d accounts, want one a round: %+v", round, len(list), list)
		}
	}
}

// oneAddressTakenAtOnce: the accounts of two identities and an operator want one address.
func oneAddressTakenAtOnce(t *testing.T, st store.Store, _ *clock) {
	for round := range 10 {
		address := fmt.Sprintf("a%d@example.com", round)
		var before, after [2]store.Account
		for i := range before {
			before[i] = mustTry(t, st, fmt.Sprint(round, " ", i), "")
		}
		made := false
		atOnce(9, func(i int) {
			if i > 0 {
				mustTry(t, st, fmt.Sprint(round, " ", i%2), address)
				return
			}
			_, err := st.CreateAccount(t.Context(), address, cola.TierPro)
			if made = err == nil; !made && !errors.Is(err, store.ErrExists) {
				t.Errorf("CreateAccount: %v, want none or ErrExists", err)
			}
		})
		have := 0
		for i := range after {
			after[i] = mustTry(t, st, fmt.Sprint(round, " ", i), address)
			if after[i].ID != before[i].ID {
				t.Errorf("an identity changed its account from %+v to %+v", before[i], after[i])
			}
			if after[i].Email == address {
				have++
			}
		}
		if have > 1 || made != (have == 0) {
			t.Errorf("%d accounts took the address, an operator made one: %v; want one of them", have, made)
		}
	}
}
