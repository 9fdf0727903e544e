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

// concurrently calls do from count goroutines, which start together, and waits for them.
func concurrently(count int, do func(i int)) {
	start := make(chan struct{})
	var wg sync.WaitGroup
	for i := range count {
		wg.Go(func() { <-start; do(i) })
	}
	close(start)
	wg.Wait()
}

// concurrentIdentity checks that one identity gets one account, even if its tokens have different
// addresses.
func concurrentIdentity(t *testing.T, st store.Store, _ *clock) {
	for round := range 10 {
		addresses := []string{"", fmt.Sprintf("a%d@example.com", round), fmt.Sprintf("b%d@example.com", round)}
		got := make([]store.Account, 12)
		concurrently(len(got), func(i int) {
			got[i] = tryAccountOf(t, st, fmt.Sprint(round), addresses[i%len(addresses)])
		})
		address := ""
		for _, a := range got {
			if a.ID != got[0].ID {
				t.Errorf("round %d: accounts %d and %d, want the same", round, got[0].ID, a.ID)
			}
			if store.IsIdentityName(a.Email) {
				continue
			}
			if address == "" {
				address = a.Email
			}
			if a.Email != address {
				t.Errorf("round %d: Email = %s, then %s; want no change", round, address, a.Email)
			}
		}
		list, err := st.Accounts(t.Context())
		if len(must(t, list, err)) != round+1 {
			t.Fatalf("round %d: got %d accounts, want %d: %+v", round, len(list), round+1, list)
		}
	}
}

// tryAccountOf is like mustAccountOf, but for use outside the test goroutine.
func tryAccountOf(t *testing.T, st store.Store, subject, verified string) store.Account {
	a, err := st.AccountOf(t.Context(), store.Identity{Issuer: testIssuer, Subject: subject}, verified)
	a.NewIdentity = false
	if err != nil {
		t.Errorf("AccountOf(%q, %q): %v", subject, verified, err)
	}
	return a
}

// concurrentEmail checks that identities that sign up with one address share an account, even if an
// operator creates that account at the same time.
func concurrentEmail(t *testing.T, st store.Store, _ *clock) {
	for round := range 10 {
		address := fmt.Sprintf("a%d@example.com", round)
		got := make([]store.Account, 12)
		concurrently(len(got), func(i int) {
			if i > 0 {
				got[i] = tryAccountOf(t, st, fmt.Sprint(round, " ", i), address)
				return
			}
			if _, err := st.CreateAccount(t.Context(), address, cola.TierPro); err != nil &&
				!errors.Is(err, store.ErrExists) {
				t.Errorf("CreateAccount error = %v, want nil or ErrExists", err)
			}
		})
		found, err := st.AccountByEmail(t.Context(), address)
		must(t, found, err)
		for _, a := range got[1:] {
			checkEqual(t, "account", found, a)
		}
		list, err := st.Accounts(t.Context())
		if len(must(t, list, err)) != round+1 {
			t.Fatalf("round %d: got %d accounts, want %d: %+v", round, len(list), round+1, list)
		}
	}
}

// concurrentEmailAdoption checks that exactly one account gets an address that two identities and
// an operator compete for.
func concurrentEmailAdoption(t *testing.T, st store.Store, _ *clock) {
	for round := range 10 {
		address := fmt.Sprintf("a%d@example.com", round)
		var before, after [2]store.Account
		for i := range before {
			before[i] = tryAccountOf(t, st, fmt.Sprint(round, " ", i), "")
		}
		created := false
		concurrently(9, func(i int) {
			if i > 0 {
				tryAccountOf(t, st, fmt.Sprint(round, " ", i%2), address)
				return
			}
			_, err := st.CreateAccount(t.Context(), address, cola.TierPro)
			if created = err == nil; !created && !errors.Is(err, store.ErrExists) {
				t.Errorf("CreateAccount error = %v, want nil or ErrExists", err)
			}
		})
		have := 0
		for i := range after {
			after[i] = tryAccountOf(t, st, fmt.Sprint(round, " ", i), address)
			if after[i].ID != before[i].ID {
				t.Errorf("account of an identity = %+v, then %+v; want no change", before[i], after[i])
			}
			if after[i].Email == address {
				have++
			}
		}
		if have > 1 || created != (have == 0) {
			t.Errorf("%d accounts adopted the email, CreateAccount succeeded = %v; want exactly one owner", have, created)
		}
	}
}

// signUps is the number of identities that sign up in each process.
const signUps = 120

// signUpIdentity returns the nth identity and its verified address. Even-numbered identities have
// no address; odd-numbered ones share addresses in groups of three.
func signUpIdentity(n int) (id store.Identity, verified string) {
	if n%2 == 0 {
		return store.Identity{Issuer: testIssuer, Subject: fmt.Sprint(n)}, ""
	}
	return store.Identity{Issuer: testIssuer, Subject: fmt.Sprint(n)}, fmt.Sprintf("a%d@example.com", n/6)
}

// startSignal is the email address of an account whose creation releases the waiting processes.
const startSignal = "begin@example.com"

// childSignUp waits for the start signal, signs up every identity, and prints the account of each.
func childSignUp(ctx context.Context, st store.Store, out io.Writer) error {
	for {
		_, err := st.AccountByEmail(ctx, startSignal)
		if err == nil {
			break
		}
		if !errors.Is(err, store.ErrNotFound) {
			return err
		}
		time.Sleep(time.Millisecond)
	}
	for n := range signUps {
		id, verified := signUpIdentity(n)
		a, err := st.AccountOf(ctx, id, verified)
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "account %d\n", a.ID)
	}
	return nil
}

// signUpAcrossProcesses checks that two processes, and goroutines of a third, can sign up the same
// identities concurrently.
func signUpAcrossProcesses(t *testing.T, b Backend) {
	dsn := b.New(t)
	db := b.mustOpen(t, dsn)
	others := []*Process{start(t, "sign up", dsn), start(t, "sign up", dsn)}
	mustAccount(t, db, startSignal, cola.TierFree)
	var mine [3][signUps]int
	concurrently(len(mine), func(i int) {
		for n := range signUps {
			id, verified := signUpIdentity(n)
			a, err := db.AccountOf(t.Context(), id, verified)
			if err != nil {
				t.Errorf("AccountOf: %v", err)
				return
			}
			mine[i][n] = int(a.ID)
		}
	})
	accounts := map[string]int{} // by address, or by name for an identity without one
	for n := range signUps {
		id, verified := signUpIdentity(n)
		if verified == "" {
			verified = id.Name()
		}
		if _, known := accounts[verified]; !known {
			accounts[verified] = mine[0][n]
		}
		for _, got := range []int{
			mine[0][n], mine[1][n], mine[2][n], others[0].number(t, "account %d"),
			others[1].number(t, "account %d"),
		} {
			if got != accounts[verified] {
				t.Errorf("identity %d: account = %d, want %d", n, got, accounts[verified])
			}
		}
	}
	for _, p := range others {
		p.wait(t)
	}
	list, err := db.Accounts(t.Context())
	if len(must(t, list, err)) != len(accounts)+1 {
		t.Errorf("got %d accounts, want %d plus the start signal", len(list), len(accounts))
	}
}
