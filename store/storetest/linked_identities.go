package storetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

func testLinkedIdentities(t *testing.T, open Opener) {
	runChecks(t, open, []check{
		{"add before the first sign-in", addIdentityFirst},
		{"move to another account", moveIdentity},
		{"add to an account without email", addToAccountWithoutEmail},
		{"list in order", listIdentities},
		{"remove", removeIdentity},
		{"remove the only way to sign in", removeLastIdentity},
		{"concurrent removal of the last two", concurrentRemoval},
		{"malformed identity and unknown account", addIdentityErrors},
		{"concurrent add and sign-in", concurrentAddAndSignIn},
		{"concurrent add to two accounts", concurrentAddToTwo},
		{"concurrent add and email adoption", concurrentAddAndAdoption},
	})
}

func removeIdentity(t *testing.T, st store.Store, c *clock) {
	a, b := mustAccount(t, st, "a@example.com", cola.TierPro), mustAccount(t, st, "b@example.com", cola.TierPro)
	for subject, account := range map[string]store.Account{"1": a, "2": a, "3": b} {
		mustDo(t, st.AddIdentity(t.Context(), account.ID, identity(subject)))
	}
	signIn := func(account store.Account, via string) int64 {
		t.Helper()
		s, err := st.CreateSignIn(t.Context(), store.SignIn{Account: account.ID, Via: via, ExpiresAt: c.now().Add(anHour)})
		return must(t, s, err).ID
	}
	current, byLink := signIn(a, testIssuer), signIn(a, "")
	signIn(a, testIssuer)
	other := signIn(b, testIssuer)
	for _, missing := range []struct {
		account cola.AccountID
		id      store.Identity
	}{{a.ID, identity("3")}, {a.ID, identity("4")}, {b.ID + 100, identity("1")}, {a.ID, identity("\x00")}, {a.ID, identity("\xff")}, {a.ID, store.Identity{}}} {
		if err := st.RemoveIdentity(t.Context(), missing.account, missing.id, current); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("RemoveIdentity(%d, %+q) error = %v, want ErrNotFound", missing.account, missing.id, err)
		}
	}
	mustDo(t, st.RemoveIdentity(t.Context(), a.ID, identity("1"), current))
	checkIdentities(t, st, 0, linkedTo(a, identity("2")), linkedTo(b, identity("3")))
	for account, want := range map[cola.AccountID][]int64{a.ID: {byLink, current}, b.ID: {other}} {
		var ids []int64
		list, err := st.SignIns(t.Context(), account)
		for _, s := range must(t, list, err) {
			ids = append(ids, s.ID)
		}
		checkEqual(t, "remaining sign-ins", want, ids)
	}
	mustDo(t, st.RemoveIdentity(t.Context(), a.ID, identity("2"), current)) // the account has an email address
	checkEqual(t, "account after signing in again", a.ID, mustAccountOf(t, st, testIssuer, "1", "a@example.com").ID)
}

func removeLastIdentity(t *testing.T, st store.Store, _ *clock) {
	a := mustAccountOf(t, st, testIssuer, "1", "")
	if err := st.RemoveIdentity(t.Context(), a.ID, identity("1"), 0); !errors.Is(err, store.ErrLastIdentity) {
		t.Errorf("error = %v, want ErrLastIdentity", err)
	}
	mustDo(t, st.AddIdentity(t.Context(), a.ID, identity("2")))
	mustDo(t, st.RemoveIdentity(t.Context(), a.ID, identity("1"), 0))
	checkIdentities(t, st, a.ID, linkedTo(a, identity("2")))
}

// concurrentRemoval checks that an account without an email address keeps one of two
// identities if both are removed concurrently.
func concurrentRemoval(t *testing.T, st store.Store, _ *clock) {
	a := mustAccountOf(t, st, testIssuer, "1", "")
	mustDo(t, st.AddIdentity(t.Context(), a.ID, identity("2")))
	errs := make(chan error, 2)
	for _, subject := range []string{"1", "2"} {
		go func() { errs <- st.RemoveIdentity(context.Background(), a.ID, identity(subject), 0) }()
	}
	refused := 0
	for range 2 {
		if err := <-errs; errors.Is(err, store.ErrLastIdentity) {
			refused++
		} else {
			mustDo(t, err)
		}
	}
	left, err := st.IdentitiesOf(t.Context(), a.ID)
	checkEqual(t, "refused removals and identities left", []int{1, 1}, []int{refused, len(must(t, left, err))})
}

func identity(subject string) store.Identity {
	return store.Identity{Issuer: testIssuer, Subject: subject}
}

// linkedTo returns an identity as IdentitiesOf reports it.
func linkedTo(a store.Account, id store.Identity) store.LinkedIdentity {
	return store.LinkedIdentity{AccountIdentity: store.AccountIdentity{Account: a.ID, Identity: id}, Email: a.Email}
}

// checkIdentities checks the identities of one account or of all accounts, in order.
func checkIdentities(t tb, st store.Store, account cola.AccountID, want ...store.LinkedIdentity) {
	t.Helper()
	list, err := st.IdentitiesOf(context.Background(), account)
	checkEqual(t, fmt.Sprintf("IdentitiesOf(%d)", account), want, must(t, list, err))
}

func addIdentityFirst(t *testing.T, st store.Store, _ *clock) {
	a := mustAccount(t, st, "Ann@example.com", cola.TierPro)
	b := mustAccount(t, st, "b@example.com", cola.TierFree)
	for range 2 {
		mustDo(t, st.AddIdentity(t.Context(), a.ID, identity("o'1%_")))
		checkIdentities(t, st, 0, linkedTo(a, identity("o'1%_")))
	}
	for _, verified := range []string{"", "ann@example.com", "b@example.com", "new@example.com"} {
		checkEqual(t, fmt.Sprintf("account with email %q", verified), a,
			mustAccountOf(t, st, testIssuer, "o'1%_", verified))
	}
	checkAccounts(t, st, a, b)
}

func moveIdentity(t *testing.T, st store.Store, _ *clock) {
	paid := mustAccount(t, st, "ann@example.com", cola.TierPro)
	free := mustAccountOf(t, st, testIssuer, "1", "")
	key, link := mustKeyAndLink(t, st, free.ID)
	settle(t, st, free.ID, charge(free.ID, 1, restBy(link, cola.MeterListRecords, 3)))
	for _, to := range []store.Account{paid, free, paid} { // moved, moved back, moved again
		mustDo(t, st.AddIdentity(t.Context(), to.ID, identity("1")))
		checkEqual(t, "AccountOf", to, mustAccountOf(t, st, testIssuer, "1", ""))
		checkIdentities(t, st, 0, linkedTo(to, identity("1")))
	}
	checkEqual(t, "AccountOf with an unused email", paid, mustAccountOf(t, st, testIssuer, "1", "other@example.com"))
	checkAccounts(t, st, paid, free)
	checkEqual(t, "credentials of the previous account", map[cola.AccountID][]cola.Credential{free.ID: {key, link}},
		validCredentials(t, st, []cola.AccountID{paid.ID, free.ID}, key, link))
	checkEqual(t, "usage of the previous account", cola.Used{ListRecords: 3}, mustUsage(t, st, free.ID).Used)
	checkEqual(t, "usage of the new account", cola.Used{}, mustUsage(t, st, paid.ID).Used)
}

func addToAccountWithoutEmail(t *testing.T, st store.Store, _ *clock) {
	a, b := mustAccountOf(t, st, testIssuer, "1", ""), mustAccountOf(t, st, testIssuer, "2", "")
	mustDo(t, st.AddIdentity(t.Context(), a.ID, identity("2")))
	checkIdentities(t, st, a.ID, linkedTo(a, identity("1")), linkedTo(a, identity("2")))
	checkIdentities(t, st, b.ID)
	a.Email = "ann@example.com"
	checkEqual(t, "account after adopting the email", a, mustAccountOf(t, st, testIssuer, "2", "ann@example.com"))
	checkIdentities(t, st, 0, linkedTo(a, identity("1")), linkedTo(a, identity("2")))
	checkAccounts(t, st, a, b)
}

func listIdentities(t *testing.T, st store.Store, _ *clock) {
	checkIdentities(t, st, 0)
	a, b := mustAccount(t, st, "b@example.com", cola.TierFree), mustAccount(t, st, "a@example.com", cola.TierFree)
	other := store.Identity{Issuer: "https://A.example.com", Subject: "z"}
	for _, id := range []store.Identity{identity("b"), identity("ä"), other, identity("B"), identity("a")} {
		mustDo(t, st.AddIdentity(t.Context(), a.ID, id))
	}
	mustDo(t, st.AddIdentity(t.Context(), b.ID, identity("0")))
	want := []store.LinkedIdentity{
		linkedTo(a, other), linkedTo(a, identity("B")), linkedTo(a, identity("a")),
		linkedTo(a, identity("b")), linkedTo(a, identity("ä")),
	}
	checkIdentities(t, st, a.ID, want...)
	checkIdentities(t, st, b.ID, linkedTo(b, identity("0")))
	checkIdentities(t, st, 0, append(want, linkedTo(b, identity("0")))...)
	checkIdentities(t, st, b.ID+100)
}

func addIdentityErrors(t *testing.T, st store.Store, _ *clock) {
	a := mustAccountOf(t, st, testIssuer, "1", "")
	for _, id := range []store.Identity{identity("1"), identity("2")} {
		if err := st.AddIdentity(t.Context(), a.ID+100, id); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("AddIdentity(unknown account, %v) error = %v, want ErrNotFound", id, err)
		}
	}
	for _, id := range []store.Identity{
		{}, identity(""), identity("1\x00"), identity("\xff"), {Issuer: "id.example.com", Subject: "1"},
		{Issuer: testIssuer + "#1", Subject: "1"},
	} {
		if err := st.AddIdentity(t.Context(), a.ID, id); !errors.Is(err, store.ErrMalformed) ||
			errors.Is(err, store.ErrUnavailable) {
			t.Errorf("AddIdentity(%q of %q) error = %v, want ErrMalformed", id.Subject, id.Issuer, err)
		}
	}
	checkIdentities(t, st, 0, linkedTo(a, identity("1")))
	checkAccounts(t, st, a)
}

// tryAddIdentity calls AddIdentity. It may run outside the test goroutine.
func tryAddIdentity(t *testing.T, st store.Store, account cola.AccountID, subject string) {
	if err := st.AddIdentity(t.Context(), account, identity(subject)); err != nil {
		t.Errorf("AddIdentity(%q): %v", subject, err)
	}
}

// concurrentAddAndSignIn lets an identity sign in while it is being added to an account. It checks
// that the identity ends up in that account, and that its sign-ins create at most one other
// account.
func concurrentAddAndSignIn(t *testing.T, st store.Store, _ *clock) {
	for round := range 10 {
		subject := fmt.Sprint(round)
		paid := mustAccount(t, st, fmt.Sprintf("paid%d@example.com", round), cola.TierPro)
		addresses := []string{"", fmt.Sprintf("a%d@example.com", round), paid.Email}
		got := make([]store.Account, 10)
		concurrently(len(got), func(i int) {
			if i%4 == 0 {
				tryAddIdentity(t, st, paid.ID, subject)
				got[i] = tryAccountOf(t, st, subject, addresses[i%len(addresses)])
				if got[i].ID != paid.ID {
					t.Errorf("round %d: after AddIdentity to account %d, AccountOf = account %d, want the same", round,
						paid.ID, got[i].ID)
				}
				return
			}
			got[i] = tryAccountOf(t, st, subject, addresses[i%len(addresses)])
		})
		checkEqual(t, "final account", paid, mustAccountOf(t, st, testIssuer, subject, ""))
		checkIdentities(t, st, paid.ID, linkedTo(paid, identity(subject)))
		list, err := st.Accounts(t.Context())
		created := slices.DeleteFunc(must(t, list, err), func(a store.Account) bool { return a.ID <= paid.ID })
		if len(created) > 1 {
			t.Errorf("round %d: accounts %+v created, want at most one", round, created)
		}
		for _, a := range got {
			if a.ID != paid.ID && (len(created) == 0 || a.ID != created[0].ID) {
				t.Errorf("round %d: AccountOf = account %d, want %d or the one created: %+v", round, a.ID, paid.ID,
					created)
			}
		}
	}
}

func concurrentAddToTwo(t *testing.T, st store.Store, _ *clock) {
	a, b := mustAccount(t, st, "a@example.com", cola.TierFree), mustAccount(t, st, "b@example.com", cola.TierFree)
	for round := range 10 {
		subject := fmt.Sprint(round)
		concurrently(6, func(i int) { tryAddIdentity(t, st, []cola.AccountID{a.ID, b.ID}[i%2], subject) })
		got := mustAccountOf(t, st, testIssuer, subject, "")
		if got != a && got != b {
			t.Errorf("round %d: AccountOf = %+v, want one of the two accounts", round, got)
		}
	}
	list, err := st.IdentitiesOf(t.Context(), 0)
	if must(t, list, err); len(list) != 10 {
		t.Errorf("got %d identities, want 10: %+v", len(list), list)
	}
	checkAccounts(t, st, a, b)
}

// concurrentAddAndAdoption checks that two identities end up in one account if the second is added
// to it while both sign in with an address that the account doesn't have yet.
func concurrentAddAndAdoption(t *testing.T, st store.Store, _ *clock) {
	for round := range 10 {
		first := fmt.Sprint(round, " first")
		second := fmt.Sprint(round, " second")
		address := fmt.Sprintf("a%d@example.com", round)
		a := mustAccountOf(t, st, testIssuer, first, "")
		concurrently(9, func(i int) {
			switch i % 3 {
			case 0:
				tryAddIdentity(t, st, a.ID, second)
			case 1:
				tryAccountOf(t, st, first, address)
			case 2:
				tryAccountOf(t, st, second, address)
			}
		})
		for _, subject := range []string{first, second} {
			if got := mustAccountOf(t, st, testIssuer, subject, ""); got.ID != a.ID {
				t.Errorf("round %d: account of %q = %+v, want %d", round, subject, got, a.ID)
			}
		}
		if _, err := st.AccountByEmail(t.Context(), address); err != nil {
			t.Errorf("round %d: AccountByEmail: %v", round, err)
		}
	}
}

// addIdentityAcrossProcesses checks that a process can add identities to an account while two
// others sign in with them.
func addIdentityAcrossProcesses(t *testing.T, b Backend) {
	dsn := b.New(t)
	db := b.mustOpen(t, dsn)
	paid := mustAccount(t, db, "paid@example.com", cola.TierPro)
	others := []*Process{start(t, "sign up", dsn), start(t, "sign up", dsn)}
	mustAccount(t, db, startSignal, cola.TierFree)
	for n := range signUps {
		id, _ := signUpIdentity(n)
		mustDo(t, db.AddIdentity(t.Context(), paid.ID, id))
	}
	seen := map[int]bool{}
	for range signUps {
		for _, p := range others {
			seen[p.number(t, "account %d")] = true
		}
	}
	for _, p := range others {
		p.wait(t)
	}
	list, err := db.Accounts(t.Context())
	for _, a := range must(t, list, err) {
		delete(seen, int(a.ID))
	}
	if len(seen) > 0 {
		t.Errorf("child processes reported unknown accounts %v", seen)
	}
	linked, err := db.IdentitiesOf(t.Context(), paid.ID)
	if must(t, linked, err); len(linked) != signUps {
		t.Errorf("account has %d identities, want %d", len(linked), signUps)
	}
}
