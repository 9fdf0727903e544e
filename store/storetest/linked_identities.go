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
		{"an identity is given to an account before it comes in", identityIsGiven},
		{"an identity that is given away leaves an account as it is", identityLeavesAccount},
		{"an account with the name of an identity may be given others", namedAccountIsGiven},
		{"identities are listed in order", identitiesInOrder},
		{"what cannot be given is refused", identityNotGiven},
		{"an identity that comes in while it is given has the account in the end", givenAtOnce},
		{"an identity that is given to two at once has one account", givenToTwoAtOnce},
		{"an account takes an address while it is given identities", givenWhileNamed},
	})
}

func identity(subject string) store.Identity {
	return store.Identity{Issuer: anIssuer, Subject: subject}
}

// heldBy returns an identity as IdentitiesOf reports it.
func heldBy(a store.Account, who store.Identity) store.LinkedIdentity {
	return store.LinkedIdentity{AccountIdentity: store.AccountIdentity{Account: a.ID, Identity: who}, Email: a.Email}
}

// mustHold checks the identities of one account or of all accounts, in order.
func mustHold(t tb, st store.Store, account cola.AccountID, want ...store.LinkedIdentity) {
	t.Helper()
	list, err := st.IdentitiesOf(context.Background(), account)
	same(t, fmt.Sprintf("identities of account %d", account), want, must(t, list, err))
}

func identityIsGiven(t *testing.T, st store.Store, _ *clock) {
	a := mustAccount(t, st, "Ann@example.com", cola.TierPro)
	b := mustAccount(t, st, "b@example.com", cola.TierFree)
	for range 2 {
		mustDo(t, st.AddIdentity(t.Context(), a.ID, identity("o'1%_")))
		mustHold(t, st, 0, heldBy(a, identity("o'1%_")))
	}
	for _, verified := range []string{"", "ann@example.com", "b@example.com", "new@example.com"} {
		same(t, fmt.Sprintf("account with %q", verified), a, mustAccountOf(t, st, anIssuer, "o'1%_", verified))
	}
	mustHaveAccounts(t, st, a, b)
}

func identityLeavesAccount(t *testing.T, st store.Store, _ *clock) {
	paid := mustAccount(t, st, "ann@example.com", cola.TierPro)
	free := mustAccountOf(t, st, anIssuer, "1", "")
	key, link := mustKeyAndLink(t, st, free.ID)
	settle(t, st, free.ID, charge(free.ID, 1, restBy(link, cola.MeterListRecords, 3)))
	for _, to := range []store.Account{paid, free, paid} { // moved, moved back, moved again
		mustDo(t, st.AddIdentity(t.Context(), to.ID, identity("1")))
		same(t, "account", to, mustAccountOf(t, st, anIssuer, "1", ""))
		mustHold(t, st, 0, heldBy(to, identity("1")))
	}
	same(t, "account with an address that nobody has", paid, mustAccountOf(t, st, anIssuer, "1", "other@example.com"))
	mustHaveAccounts(t, st, paid, free)
	same(t, "credentials of the account that it left", map[cola.AccountID][]cola.Credential{free.ID: {key, link}},
		held(t, st, []cola.AccountID{paid.ID, free.ID}, key, link))
	same(t, "what that has used", cola.Used{ListRecords: 3}, mustUsage(t, st, free.ID).Used)
	same(t, "what the other has used", cola.Used{}, mustUsage(t, st, paid.ID).Used)
}

func namedAccountIsGiven(t *testing.T, st store.Store, _ *clock) {
	a, b := mustAccountOf(t, st, anIssuer, "1", ""), mustAccountOf(t, st, anIssuer, "2", "")
	mustDo(t, st.AddIdentity(t.Context(), a.ID, identity("2")))
	mustHold(t, st, a.ID, heldBy(a, identity("1")), heldBy(a, identity("2")))
	mustHold(t, st, b.ID)
	a.Email = "ann@example.com"
	same(t, "account with the address that the other brings", a, mustAccountOf(t, st, anIssuer, "2", "ann@example.com"))
	mustHold(t, st, 0, heldBy(a, identity("1")), heldBy(a, identity("2")))
	mustHaveAccounts(t, st, a, b)
}

func identitiesInOrder(t *testing.T, st store.Store, _ *clock) {
	mustHold(t, st, 0)
	a, b := mustAccount(t, st, "b@example.com", cola.TierFree), mustAccount(t, st, "a@example.com", cola.TierFree)
	other := store.Identity{Issuer: "https://A.example.com", Subject: "z"}
	for _, who := range []store.Identity{identity("b"), identity("ä"), other, identity("B"), identity("a")} {
		mustDo(t, st.AddIdentity(t.Context(), a.ID, who))
	}
	mustDo(t, st.AddIdentity(t.Context(), b.ID, identity("0")))
	of := []store.LinkedIdentity{heldBy(a, other), heldBy(a, identity("B")), heldBy(a, identity("a")), heldBy(a, identity("b")), heldBy(a, identity("ä"))}
	mustHold(t, st, a.ID, of...)
	mustHold(t, st, b.ID, heldBy(b, identity("0")))
	mustHold(t, st, 0, append(of, heldBy(b, identity("0")))...)
	mustHold(t, st, b.ID+100)
}

func identityNotGiven(t *testing.T, st store.Store, _ *clock) {
	a := mustAccountOf(t, st, anIssuer, "1", "")
	for _, who := range []store.Identity{identity("1"), identity("2")} {
		if err := st.AddIdentity(t.Context(), a.ID+100, who); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("%v given to no account: %v, want ErrNotFound", who, err)
		}
	}
	for _, who := range []store.Identity{
		{}, identity(""), identity("1\x00"), identity("\xff"), {Issuer: "id.example.com", Subject: "1"}, {Issuer: anIssuer + "#1", Subject: "1"},
	} {
		if err := st.AddIdentity(t.Context(), a.ID, who); !errors.Is(err, store.ErrMalformed) || errors.Is(err, store.ErrUnavailable) {
			t.Errorf("%q of %q: %v, want ErrMalformed", who.Subject, who.Issuer, err)
		}
	}
	mustHold(t, st, 0, heldBy(a, identity("1")))
	mustHaveAccounts(t, st, a)
}

// mustAdd calls AddIdentity outside the test goroutine.
func mustAdd(t *testing.T, st store.Store, account cola.AccountID, subject string) {
	if err := st.AddIdentity(t.Context(), account, identity(subject)); err != nil {
		t.Errorf("AddIdentity %q: %v", subject, err)
	}
}

// givenAtOnce adds an identity to an account while it signs in concurrently. The sign-ins create at
// most one other account.
func givenAtOnce(t *testing.T, st store.Store, _ *clock) {
	for round := range 10 {
		subject := fmt.Sprint(round)
		paid := mustAccount(t, st, fmt.Sprintf("paid%d@example.com", round), cola.TierPro)
		addresses := []string{"", fmt.Sprintf("a%d@example.com", round), paid.Email}
		got := make([]store.Account, 10)
		atOnce(len(got), func(i int) {
			if i%4 == 0 {
				mustAdd(t, st, paid.ID, subject)
				got[i] = mustTry(t, st, subject, addresses[i%len(addresses)])
				if got[i].ID != paid.ID {
					t.Errorf("round %d: given to account %d, it has %d", round, paid.ID, got[i].ID)
				}
				return
			}
			got[i] = mustTry(t, st, subject, addresses[i%len(addresses)])
		})
		same(t, "account in the end", paid, mustAccountOf(t, st, anIssuer, subject, ""))
		mustHold(t, st, paid.ID, heldBy(paid, identity(subject)))
		list, err := st.Accounts(t.Context())
		made := slices.DeleteFunc(must(t, list, err), func(a store.Account) bool { return a.ID <= paid.ID })
		if len(made) > 1 {
			t.Errorf("round %d: accounts %+v were made for one identity", round, made)
		}
		for _, a := range got {
			if a.ID != paid.ID && (len(made) == 0 || a.ID != made[0].ID) {
				t.Errorf("round %d: account %d of an identity is not there; %+v was made", round, a.ID, made)
			}
		}
	}
}

func givenToTwoAtOnce(t *testing.T, st store.Store, _ *clock) {
	a, b := mustAccount(t, st, "a@example.com", cola.TierFree), mustAccount(t, st, "b@example.com", cola.TierFree)
	for round := range 10 {
		subject := fmt.Sprint(round)
		atOnce(6, func(i int) { mustAdd(t, st, []cola.AccountID{a.ID, b.ID}[i%2], subject) })
		got := mustAccountOf(t, st, anIssuer, subject, "")
		if got != a && got != b {
			t.Errorf("round %d: %+v, want one of the two", round, got)
		}
	}
	list, err := st.IdentitiesOf(t.Context(), 0)
	if must(t, list, err); len(list) != 10 {
		t.Errorf("%d identities, want 10: %+v", len(list), list)
	}
	mustHaveAccounts(t, st, a, b)
}

// givenWhileNamed adds an identity to an account without an address while both identities sign in
// with one address. Both must end up with the account.
func givenWhileNamed(t *testing.T, st store.Store, _ *clock) {
	for round := range 10 {
		first, second, address := fmt.Sprint(round, " first"), fmt.Sprint(round, " second"), fmt.Sprintf("a%d@example.com", round)
		a := mustAccountOf(t, st, anIssuer, first, "")
		atOnce(9, func(i int) {
			switch i % 3 {
			case 0:
				mustAdd(t, st, a.ID, second)
			case 1:
				mustTry(t, st, first, address)
			case 2:
				mustTry(t, st, second, address)
			}
		})
		for _, subject := range []string{first, second} {
			if got := mustAccountOf(t, st, anIssuer, subject, ""); got.ID != a.ID {
				t.Errorf("round %d: the identity %q has the account %+v, want %d", round, subject, got, a.ID)
			}
		}
		if _, err := st.AccountByEmail(t.Context(), address); err != nil {
			t.Errorf("round %d: the account with the address: %v", round, err)
		}
	}
}

// giveTogether has one process add identities to an account while two others sign in with them.
func giveTogether(t *testing.T, b Backend) {
	place := b.New(t)
	db := b.mustOpen(t, place)
	paid := mustAccount(t, db, "paid@example.com", cola.TierPro)
	others := []*Process{start(t, "enter", place), start(t, "enter", place)}
	mustAccount(t, db, beginning, cola.TierFree)
	for n := range enterings {
		who, _ := newcomer(n)
		mustDo(t, db.AddIdentity(t.Context(), paid.ID, who))
	}
	told := map[int]bool{}
	for range enterings {
		for _, p := range others {
			told[p.number(t, "account %d")] = true
		}
	}
	for _, p := range others {
		p.wait(t)
	}
	list, err := db.Accounts(t.Context())
	for _, a := range must(t, list, err) {
		delete(told, int(a.ID))
	}
	if len(told) > 0 {
		t.Errorf("the processes came in with accounts that are not there: %v", told)
	}
	held, err := db.IdentitiesOf(t.Context(), paid.ID)
	if must(t, held, err); len(held) != enterings {
		t.Errorf("the account has %d identities, want all of the %d", len(held), enterings)
	}
}
