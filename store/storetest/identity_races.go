package storetest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"testing"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

// atOnce calls do from count goroutines, which start together, and waits for them.
func atOnce(count int, do func(i int)) {
	begin := make(chan struct{})
	var wg sync.WaitGroup
	for i := range count {
		wg.Go(func() { <-begin; do(i) })
	}
	close(begin)
	wg.Wait()
}

// oneIdentityAtOnce checks that one identity gets one account, even if its tokens have different
// addresses.
func oneIdentityAtOnce(t *testing.T, st store.Store, _ *clock) {
	for round := range 10 {
		addresses := []string{"", fmt.Sprintf("a%d@example.com", round), fmt.Sprintf("b%d@example.com", round)}
		got := make([]store.Account, 12)
		atOnce(len(got), func(i int) {
			got[i] = mustTry(t, st, fmt.Sprint(round), addresses[i%len(addresses)])
		})
		address := ""
		for _, a := range got {
			if a.ID != got[0].ID {
				t.Errorf("round %d: accounts %d and %d, want one", round, got[0].ID, a.ID)
			}
			if store.IsIdentityName(a.Email) {
				continue
			}
			if address == "" {
				address = a.Email
			}
			if a.Email != address {
				t.Errorf("round %d: the account had the address %s and then %s", round, address, a.Email)
			}
		}
		list, err := st.Accounts(t.Context())
		if len(must(t, list, err)) != round+1 {
			t.Fatalf("round %d: %d accounts, want one a round: %+v", round, len(list), list)
		}
	}
}

// mustTry is mustAccountOf for use outside the test goroutine.
func mustTry(t *testing.T, st store.Store, subject, verified string) store.Account {
	a, err := st.AccountOf(t.Context(), store.Identity{Issuer: anIssuer, Subject: subject}, verified)
	a.NewIdentity = false
	if err != nil {
		t.Errorf("AccountOf %q with %q: %v", subject, verified, err)
	}
	return a
}

// oneAddressAtOnce checks sign-ups while an operator creates an account with the same address.
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

// oneAddressTakenAtOnce checks that two identities and an operator can compete for one address.
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

// enterings is the number of identities that sign up in each process.
const enterings = 120

// newcomer returns the n-th identity and its verified address. Every second identity has no
// address; three of the others share one.
func newcomer(n int) (who store.Identity, verified string) {
	if n%2 == 0 {
		return store.Identity{Issuer: anIssuer, Subject: fmt.Sprint(n)}, ""
	}
	return store.Identity{Issuer: anIssuer, Subject: fmt.Sprint(n)}, fmt.Sprintf("a%d@example.com", n/6)
}

// beginning is the email address of an account whose creation starts the processes.
const beginning = "begin@example.com"

// childSignUp waits for the start signal, signs up every identity, and prints the account of each.
func childSignUp(ctx context.Context, st store.Store, out io.Writer) error {
	for {
		_, err := st.AccountByEmail(ctx, beginning)
		if err == nil {
			break
		}
		if !errors.Is(err, store.ErrNotFound) {
			return err
		}
		time.Sleep(time.Millisecond)
	}
	for n := range enterings {
		who, verified := newcomer(n)
		a, err := st.AccountOf(ctx, who, verified)
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "account %d\n", a.ID)
	}
	return nil
}

// signUpTogether checks that two processes, and goroutines of a third, can sign up the same
// identities concurrently.
func signUpTogether(t *testing.T, b Backend) {
	place := b.New(t)
	db := b.mustOpen(t, place)
	others := []*Process{start(t, "enter", place), start(t, "enter", place)}
	mustAccount(t, db, beginning, cola.TierFree)
	var mine [3][enterings]int
	atOnce(len(mine), func(i int) {
		for n := range enterings {
			who, verified := newcomer(n)
			a, err := db.AccountOf(t.Context(), who, verified)
			if err != nil {
				t.Errorf("AccountOf: %v", err)
				return
			}
			mine[i][n] = int(a.ID)
		}
	})
	of := map[string]int{} // by address, or by name for an identity without one
	for n := range enterings {
		who, verified := newcomer(n)
		if verified == "" {
			verified = who.Name()
		}
		if _, known := of[verified]; !known {
			of[verified] = mine[0][n]
		}
		for _, got := range []int{mine[0][n], mine[1][n], mine[2][n], others[0].number(t, "account %d"), others[1].number(t, "account %d")} {
			if got != of[verified] {
				t.Errorf("identity %d has account %d to one and %d to another", n, of[verified], got)
			}
		}
	}
	for _, p := range others {
		p.wait(t)
	}
	list, err := db.Accounts(t.Context())
	if len(must(t, list, err)) != len(of)+1 {
		t.Errorf("there are %d accounts, want %d and the one that told to begin", len(list), len(of))
	}
}
