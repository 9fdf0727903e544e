package storetest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

func testEmailedLinks(t *testing.T, open Opener) {
	runChecks(t, open, []check{
		{"account", emailedLinkToAccount},
		{"sign-up", emailedLinkSignUp},
		{"account created after the link", emailedLinkAccountCreated},
		{"expiry", emailedLinkExpiry},
		{"limits", emailedLinkLimits},
		{"limits with concurrent requests", concurrentEmailedLinks},
		{"using a link invalidates the address's other emailed links", emailedLinksTogether},
		{"concurrent uses", concurrentEmailedLinkUse},
		{"identity with the same address", emailedLinkIdentity},
		{"errors", emailedLinkErrors},
		{"old links are deleted", oldEmailedLinks},
	})
}

// lenient has limits that are too high to affect tests of other behavior.
var lenient = store.EmailedLinkLimits{PerHour: 1000, PerDay: 1000, SignUpsPerHour: 1000}

// emailedLink returns a link that is valid for 15 minutes.
func emailedLink(email string, n int) store.EmailedLink {
	return store.EmailedLink{Email: email, Hash: linkHash(n), Lifetime: 15 * time.Minute}
}

// mustEmailedLink creates a link and checks whether it is for signing up.
func mustEmailedLink(t tb, st store.Store, email string, n int, wantSignUp bool) {
	t.Helper()
	signUp, err := st.CreateEmailedLink(context.Background(), emailedLink(email, n), true, lenient)
	checkEqual(t, "CreateEmailedLink is for signing up", wantSignUp, must(t, signUp, err))
}

func mustUseLink(t tb, st store.Store, n int, signUp bool) store.Account {
	t.Helper()
	a, err := st.UseSignInLink(context.Background(), linkHash(n), signUp)
	return must(t, a, err)
}

func emailedLinkToAccount(t *testing.T, st store.Store, _ *clock) {
	a := mustAccount(t, st, "Ann@example.com", cola.TierPro)
	signUp, err := st.CreateEmailedLink(t.Context(), emailedLink("aNN@example.com", 1), false, lenient)
	checkEqual(t, "CreateEmailedLink without sign-up", false, must(t, signUp, err))
	for range 2 {
		found, err := st.SignInLink(t.Context(), linkHash(1))
		checkEqual(t, "SignInLink", a, must(t, found, err))
	}
	checkEqual(t, "UseSignInLink", a, mustUseLink(t, st, 1, false))
	checkLinkUnusable(t, st, "used", 1)
	mustDo(t, st.Suspend(t.Context(), a.ID, "Unpaid."))
	mustEmailedLink(t, st, a.Email, 2, false)
	if used := mustUseLink(t, st, 2, false); used.ID != a.ID || used.SuspendedAt.IsZero() {
		t.Errorf("UseSignInLink = %+v, want the suspended account", used)
	}
}

func emailedLinkSignUp(t *testing.T, st store.Store, c *clock) {
	if _, err := st.CreateEmailedLink(t.Context(), emailedLink("new@example.com", 1), false, lenient); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("CreateEmailedLink without an account or sign-up: error = %v, want ErrNotFound", err)
	}
	mustEmailedLink(t, st, "New@example.com", 1, true)
	found, err := st.SignInLink(t.Context(), linkHash(1))
	checkEqual(t, "SignInLink", store.Account{Email: "New@example.com"}, must(t, found, err))
	if exists, err := st.HasAccounts(t.Context()); must(t, exists, err) {
		t.Error("an unused link created an account")
	}
	if _, err := st.UseSignInLink(t.Context(), linkHash(1), false); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("UseSignInLink without sign-up: error = %v, want ErrNotFound", err)
	}
	c.advance(time.Minute)
	made := mustUseLink(t, st, 1, true) // the rejected call did not use the link up
	if !made.NewAccount || made.Email != "New@example.com" || made.Tier != cola.TierFree || !made.CreatedAt.Equal(c.now()) {
		t.Errorf("UseSignInLink = %+v, want a new account on the free tier", made)
	}
	made.NewAccount = false
	stored, err := st.AccountByEmail(t.Context(), "new@example.com")
	checkEqual(t, "account", must(t, stored, err), made)
	mustEmailedLink(t, st, "new@example.com", 2, false)
	checkEqual(t, "UseSignInLink for the next link", made, mustUseLink(t, st, 2, true))
}

func emailedLinkAccountCreated(t *testing.T, st store.Store, _ *clock) {
	mustEmailedLink(t, st, "new@example.com", 1, true)
	a := mustAccount(t, st, "NEW@example.com", cola.TierPro)
	found, err := st.SignInLink(t.Context(), linkHash(1))
	checkEqual(t, "SignInLink", a, must(t, found, err))
	checkEqual(t, "UseSignInLink", a, mustUseLink(t, st, 1, false))
}

func emailedLinkExpiry(t *testing.T, st store.Store, c *clock) {
	mustEmailedLink(t, st, "new@example.com", 1, true)
	c.advance(15*time.Minute - time.Microsecond)
	if _, err := st.SignInLink(t.Context(), linkHash(1)); err != nil {
		t.Errorf("SignInLink just before the expiry: %v", err)
	}
	c.advance(time.Microsecond)
	checkLinkUnusable(t, st, "expired", 1)
	if _, err := st.UseSignInLink(t.Context(), linkHash(1), true); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("UseSignInLink at the expiry: error = %v, want ErrNotFound", err)
	}
}

func emailedLinkLimits(t *testing.T, st store.Store, c *clock) {
	mustAccount(t, st, "ann@example.com", cola.TierFree)
	mustAccount(t, st, "bob@example.com", cola.TierFree)
	limits := store.EmailedLinkLimits{PerHour: 2, PerDay: 3, SignUpsPerHour: 2}
	n := 0
	request := func(email string, want error) {
		t.Helper()
		n++
		if _, err := st.CreateEmailedLink(t.Context(), emailedLink(email, n), true, limits); !errors.Is(err, want) {
			t.Errorf("request %d, for %s: error = %v, want %v", n, email, err, want)
		}
		if want != nil {
			checkLinkUnusable(t, st, "limited", n)
		}
	}
	request("ann@example.com", nil)
	request("Ann@example.com", nil)
	request("ann@example.com", store.ErrLimit)
	request("ann+tag@example.com", store.ErrLimit) // the same mailbox
	request("bob@example.com", nil)
	c.advance(time.Hour - time.Microsecond)
	request("ann@example.com", store.ErrLimit)
	c.advance(time.Microsecond)
	request("ann@example.com", nil)
	c.advance(2 * time.Hour)
	request("ann@example.com", store.ErrLimit) // the limit per day
	request("new1@example.com", nil)
	request("new2@example.com", nil)
	request("new3@example.com", store.ErrLimit)
	request("bob@example.com", nil) // sign-ups don't limit accounts
	c.advance(22 * time.Hour)
	request("ann@example.com", nil)
	mustUseLink(t, st, n, false)
	request("ann@example.com", nil) // used links don't count
	request("ann@example.com", nil)
	request("ann@example.com", store.ErrLimit)
}

func concurrentEmailedLinks(t *testing.T, st store.Store, _ *clock) {
	limits := store.EmailedLinkLimits{PerHour: 3, PerDay: 10, SignUpsPerHour: 5}
	var perMailbox [2]atomic.Int64
	concurrently(12, func(i int) {
		_, err := st.CreateEmailedLink(t.Context(), emailedLink(fmt.Sprintf("new%d@example.com", i%2), i), true, limits)
		if err == nil {
			perMailbox[i%2].Add(1)
		} else if !errors.Is(err, store.ErrLimit) {
			t.Error(err)
		}
	})
	if a, b := perMailbox[0].Load(), perMailbox[1].Load(); a > 3 || b > 3 || a+b != 5 {
		t.Errorf("%d and %d links, want at most 3 each and 5 in total", a, b)
	}
}

func emailedLinksTogether(t *testing.T, st store.Store, _ *clock) {
	a := mustAccount(t, st, "ann@example.com", cola.TierFree)
	mustAccount(t, st, "ann+2@example.com", cola.TierFree)
	mustDo(t, st.CreateSignInLink(t.Context(), a.ID, linkHash(1), anHour))
	mustEmailedLink(t, st, "ann@example.com", 2, false)
	mustEmailedLink(t, st, "ANN@example.com", 3, false)
	mustEmailedLink(t, st, "ann+2@example.com", 4, false)
	mustUseLink(t, st, 3, false)
	checkLinkUnusable(t, st, "other", 2)
	mustUseLink(t, st, 4, false) // another account's
	mustUseLink(t, st, 1, false) // the operator's
}

func concurrentEmailedLinkUse(t *testing.T, st store.Store, _ *clock) {
	for n := range 10 {
		email := fmt.Sprintf("new%d@example.com", n)
		for i := range 3 {
			mustEmailedLink(t, st, email, 10*n+i, true)
		}
		var used, created atomic.Int64
		concurrently(6, func(i int) {
			a, err := st.UseSignInLink(t.Context(), linkHash(10*n+i%3), true)
			switch {
			case err == nil && a.NewAccount:
				created.Add(1)
				fallthrough
			case err == nil:
				used.Add(1)
			case !errors.Is(err, store.ErrNotFound):
				t.Error(err)
			}
		})
		if used.Load() != 1 || created.Load() != 1 {
			t.Errorf("%d links used, %d accounts created; want 1 and 1", used.Load(), created.Load())
		}
	}
	list, err := st.Accounts(t.Context())
	checkEqual(t, "number of accounts", 10, len(must(t, list, err)))
}

// emailedLinkIdentity checks that a link and a sign-in with an issuer that verified the same
// address share one account, even if they happen concurrently, and that a sign-in without a
// verified address gets a different account.
func emailedLinkIdentity(t *testing.T, st store.Store, _ *clock) {
	for n := range 10 {
		email := fmt.Sprintf("new%d@example.com", n)
		mustEmailedLink(t, st, email, n, true)
		var ids [2]cola.AccountID
		concurrently(2, func(i int) {
			var a store.Account
			var err error
			if i == 0 {
				a, err = st.UseSignInLink(t.Context(), linkHash(n), true)
			} else {
				a, err = st.AccountOf(t.Context(), store.Identity{Issuer: testIssuer, Subject: email}, email)
			}
			if err != nil {
				t.Error(err)
			}
			ids[i] = a.ID
		})
		if ids[0] != ids[1] {
			t.Errorf("accounts %d and %d, want one account", ids[0], ids[1])
		}
	}
	unverified := mustAccountOf(t, st, testIssuer, "late@example.com", "")
	mustEmailedLink(t, st, "late@example.com", 20, true)
	if a := mustUseLink(t, st, 20, true); a.ID == unverified.ID {
		t.Error("a link signed in to the account of an identity without a verified address")
	}
}

func emailedLinkErrors(t *testing.T, st store.Store, _ *clock) {
	for _, email := range []string{"", "ann", "ann@example.com\r\nBcc: eve@example.com", "ünn@example.com", "Ann <ann@example.com>",
		strings.Repeat("a", 65) + "@example.com", "ann@" + strings.Repeat("a.", 200) + "com", "a\x00@example.com"} {
		if _, err := st.CreateEmailedLink(t.Context(), emailedLink(email, 1), true, lenient); !errors.Is(err, store.ErrMalformed) {
			t.Errorf("CreateEmailedLink(%.40q) error = %v, want ErrMalformed", email, err)
		}
	}
	mustEmailedLink(t, st, "new@example.com", 1, true)
	if _, err := st.CreateEmailedLink(t.Context(), emailedLink("other@example.com", 1), true, lenient); !errors.Is(err, store.ErrExists) {
		t.Errorf("CreateEmailedLink(duplicate hash) error = %v, want ErrExists", err)
	}
}

// oldEmailedLinks checks that addresses are not kept longer than the limits require.
func oldEmailedLinks(t *testing.T, st store.Store, c *clock) {
	mustEmailedLink(t, st, "old@example.com", 1, true)
	c.advance(time.Minute)
	mustEmailedLink(t, st, "new@example.com", 2, true)
	c.advance(store.EmailedLinkRetention - time.Minute)
	mustDo(t, st.DeleteOldEmailedLinks(t.Context()))
	hashes := []string{string(linkHashBytes(1)), string(linkHashBytes(2))}
	known, err := st.KnownSecrets(t.Context(), store.SecretSignInLink, hashes)
	checkEqual(t, "links", hashes[1:], must(t, known, err))
}

func linkHashBytes(n int) []byte {
	h := linkHash(n)
	return h[:]
}
