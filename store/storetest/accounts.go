package storetest

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

func testAccounts(t *testing.T, open Opener) {
	runChecks(t, open, []check{
		{"an account comes back", accountComesBack},
		{"an email address has one account, in any case", emailIsUnique},
		{"a tier changes", tierChanges},
	})
}

func mustAccount(t tb, st store.Store, email string, tier cola.Tier) store.Account {
	t.Helper()
	a, err := st.CreateAccount(context.Background(), email, tier)
	return must(t, a, err)
}

// roomyAccount creates an account with a limit of active searches that no test reaches.
func roomyAccount(t tb, st store.Store, email string) store.Account {
	t.Helper()
	a := mustAccount(t, st, email, cola.TierFree)
	a.ActiveLimit = 10_000
	mustDo(t, st.SetActiveLimit(context.Background(), a.ID, a.ActiveLimit))
	return a
}

func accountComesBack(t *testing.T, st store.Store, c *clock) {
	list, err := st.Accounts(t.Context())
	if err != nil || len(list) != 0 {
		t.Errorf("Accounts = %v, %v; want none", list, err)
	}
	c.set(epoch.In(time.FixedZone("", 3600)).Add(789 * time.Nanosecond)) // stored in UTC, in whole microseconds
	a := mustAccount(t, st, "Ann@Example.com", cola.TierFree)
	b := mustAccount(t, st, "o'brien+100%_@example.com", cola.TierPro)
	if a.ID == 0 || b.ID <= a.ID {
		t.Errorf("ids %d and %d, want rising ones", a.ID, b.ID)
	}
	same(t, "account", store.Account{ID: a.ID, Email: "Ann@Example.com", Tier: cola.TierFree, CreatedAt: epoch, ActiveLimit: cola.MaxActiveSchedules}, a)
	found, err := st.AccountByEmail(t.Context(), b.Email)
	same(t, "found", b, must(t, found, err))
	for _, want := range []store.Account{a, b} {
		found, err := st.Account(t.Context(), want.ID)
		same(t, "found by id", want, must(t, found, err))
	}
	for _, nobody := range []cola.AccountID{0, -1, b.ID + 100} {
		if _, err := st.Account(t.Context(), nobody); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("Account(%d): %v, want ErrNotFound", nobody, err)
		}
	}
	list, err = st.Accounts(t.Context())
	same(t, "list", []store.Account{a, b}, must(t, list, err))
	if _, err := st.AccountByEmail(t.Context(), "nobody@example.com"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("error = %v, want ErrNotFound", err)
	}
}

func emailIsUnique(t *testing.T, st store.Store, _ *clock) {
	a := mustAccount(t, st, "Ann.O@Example.com", cola.TierFree)
	for _, email := range []string{"Ann.O@Example.com", "ann.o@example.com", "ANN.O@EXAMPLE.COM"} {
		if _, err := st.CreateAccount(t.Context(), email, cola.TierPro); !errors.Is(err, store.ErrExists) {
			t.Errorf("CreateAccount(%q): %v, want ErrExists", email, err)
		}
		found, err := st.AccountByEmail(t.Context(), email)
		same(t, email, a, must(t, found, err))
	}
	for _, email := range []string{"ann_o@example.com", "ann.ö@example.com", "%", "ann.o@example.com\x00", "\xff"} {
		if _, err := st.AccountByEmail(t.Context(), email); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("AccountByEmail(%q): %v, want ErrNotFound", email, err)
		}
	}
}

func tierChanges(t *testing.T, st store.Store, _ *clock) {
	a, b := mustAccount(t, st, "a@example.com", cola.TierFree), mustAccount(t, st, "b@example.com", cola.TierFree)
	if err := st.SetTier(t.Context(), a.ID, cola.TierPro); err != nil {
		t.Fatal(err)
	}
	a.Tier = cola.TierPro
	list, err := st.Accounts(t.Context())
	same(t, "accounts", []store.Account{a, b}, must(t, list, err))
	if err := st.SetTier(t.Context(), b.ID+100, cola.TierPro); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("SetTier of nobody: %v, want ErrNotFound", err)
	}
}

func testKeys(t *testing.T, open Opener) {
	runChecks(t, open, []check{
		{"a key comes back", keyComesBack},
		{"a key needs an account and a hash of its own", keyNeedsAccount},
		{"a key is revoked once", keyIsRevokedOnce},
	})
}

// mustKey creates a key whose hash consists of one repeated byte.
func mustKey(t tb, st store.Store, account cola.AccountID, fill byte) store.Key {
	t.Helper()
	k, err := st.CreateKey(context.Background(), store.Key{AccountID: account, Name: "k", Prefix: "lar_ab", LastFour: "wxyz"}, keyHash(fill), 0)
	return must(t, k, err)
}

func keyHash(fill byte) (h store.KeyHash) {
	for i := range h {
		h[i] = fill
	}
	return h
}

func keyComesBack(t *testing.T, st store.Store, c *clock) {
	a, b := mustAccount(t, st, "Ann@example.com", cola.TierFree), mustAccount(t, st, "b@example.com", cola.TierFree)
	c.advance(time.Hour)
	want := store.Key{AccountID: a.ID, Name: "o'key 100%_", Prefix: "lar_abcd", LastFour: "wxyz",
		ExpiresAt: c.now().Add(24 * time.Hour), RevokedAt: epoch, LastUsedAt: epoch}
	got, err := st.CreateKey(t.Context(), want, keyHash(0), 0)
	must(t, got, err)
	want.ID, want.CreatedAt, want.RevokedAt, want.LastUsedAt = got.ID, c.now(), time.Time{}, time.Time{}
	got.Email = "" // backends may or may not fill it
	same(t, "made", want, got)
	found, err := st.KeyByHash(t.Context(), keyHash(0))
	found.Email = ""
	same(t, "found", want, must(t, found, err))
	other := mustKey(t, st, b.ID, 1)

	want.Email, other.Email = "Ann@example.com", "b@example.com"
	list, err := st.Keys(t.Context(), 0)
	same(t, "all keys", []store.Key{want, other}, must(t, list, err))
	list, err = st.Keys(t.Context(), b.ID)
	same(t, "keys of an account", []store.Key{other}, must(t, list, err))
	list, err = st.Keys(t.Context(), b.ID+100)
	if err != nil || len(list) != 0 {
		t.Errorf("keys of nobody: %v, %v; want none", list, err)
	}
}

func keyNeedsAccount(t *testing.T, st store.Store, _ *clock) {
	if _, err := st.CreateKey(t.Context(), store.Key{AccountID: 42}, keyHash(1), 0); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("a key of nobody: %v, want ErrNotFound", err)
	}
	if _, err := st.KeyByHash(t.Context(), keyHash(1)); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("KeyByHash of no key: %v, want ErrNotFound", err)
	}
	a := mustAccount(t, st, "a@example.com", cola.TierFree)
	mustKey(t, st, a.ID, 1)
	if _, err := st.CreateKey(t.Context(), store.Key{AccountID: a.ID}, keyHash(1), 0); !errors.Is(err, store.ErrExists) {
		t.Errorf("a second key of a hash: %v, want ErrExists", err)
	}
}

func keyIsRevokedOnce(t *testing.T, st store.Store, c *clock) {
	a, b := mustAccount(t, st, "a@example.com", cola.TierFree), mustAccount(t, st, "b@example.com", cola.TierFree)
	k, other := mustKey(t, st, a.ID, 1), mustKey(t, st, a.ID, 2)
	c.advance(time.Minute)
	revoked := c.now()
	for _, account := range []cola.AccountID{0, a.ID, 0} {
		if err := st.RevokeKey(t.Context(), account, k.ID); err != nil {
			t.Fatal(err)
		}
		c.advance(time.Minute)
	}
	found, err := st.KeyByHash(t.Context(), keyHash(1))
	if must(t, found, err); !found.RevokedAt.Equal(revoked) {
		t.Errorf("revoked at %v, want the first time, %v", found.RevokedAt, revoked)
	}
	if found, err := st.KeyByHash(t.Context(), keyHash(2)); err != nil || !found.RevokedAt.IsZero() {
		t.Errorf("another key was revoked at %v (%v)", found.RevokedAt, err)
	}
	for _, account := range []cola.AccountID{0, a.ID} {
		if err := st.RevokeKey(t.Context(), account, other.ID+100); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("RevokeKey of no key of account %d: %v, want ErrNotFound", account, err)
		}
	}
	if err := st.RevokeKey(t.Context(), b.ID, other.ID); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("RevokeKey of another account's key: %v, want ErrNotFound", err)
	}
	if found, err := st.KeyByHash(t.Context(), keyHash(2)); err != nil || !found.RevokedAt.IsZero() {
		t.Errorf("another account has revoked the key at %v (%v)", found.RevokedAt, err)
	}
}
