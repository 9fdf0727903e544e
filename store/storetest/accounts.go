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
		{"create and get", accountRoundTrip},
		{"email is unique, ignoring case", uniqueEmail},
		{"set tier", setTier},
	})
}

func mustAccount(t tb, st store.Store, email string, tier cola.Tier) store.Account {
	t.Helper()
	a, err := st.CreateAccount(context.Background(), email, tier)
	return must(t, a, err)
}

// roomyAccount creates an account with a limit on active searches that no test reaches.
func roomyAccount(t tb, st store.Store, email string) store.Account {
	t.Helper()
	a := mustAccount(t, st, email, cola.TierFree)
	a.ActiveLimit = 10_000
	mustDo(t, st.SetActiveLimit(context.Background(), a.ID, a.ActiveLimit))
	return a
}

func accountRoundTrip(t *testing.T, st store.Store, c *clock) {
	list, err := st.Accounts(t.Context())
	if err != nil || len(list) != 0 {
		t.Errorf("Accounts() = %v, %v; want no accounts", list, err)
	}
	c.set(epoch.In(time.FixedZone("", 3600)).Add(789 * time.Nanosecond)) // stored in UTC, in whole microseconds
	a := mustAccount(t, st, "Ann@Example.com", cola.TierFree)
	b := mustAccount(t, st, "o'brien+100%_@example.com", cola.TierPro)
	if a.ID == 0 || b.ID <= a.ID {
		t.Errorf("CreateAccount IDs = %d, %d; want increasing IDs above 0", a.ID, b.ID)
	}
	checkEqual(t, "CreateAccount", store.Account{
		ID:          a.ID,
		Email:       "Ann@Example.com",
		Tier:        cola.TierFree,
		CreatedAt:   epoch,
		ActiveLimit: cola.MaxActiveSchedules,
	}, a)
	found, err := st.AccountByEmail(t.Context(), b.Email)
	checkEqual(t, "AccountByEmail", b, must(t, found, err))
	for _, want := range []store.Account{a, b} {
		found, err := st.Account(t.Context(), want.ID)
		checkEqual(t, "Account", want, must(t, found, err))
	}
	for _, unknown := range []cola.AccountID{0, -1, b.ID + 100} {
		if _, err := st.Account(t.Context(), unknown); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("Account(%d) error = %v, want ErrNotFound", unknown, err)
		}
	}
	list, err = st.Accounts(t.Context())
	checkEqual(t, "Accounts", []store.Account{a, b}, must(t, list, err))
	if _, err := st.AccountByEmail(t.Context(), "unknown@example.com"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("AccountByEmail(unknown) error = %v, want ErrNotFound", err)
	}
}

func uniqueEmail(t *testing.T, st store.Store, _ *clock) {
	a := mustAccount(t, st, "Ann.O@Example.com", cola.TierFree)
	for _, email := range []string{"Ann.O@Example.com", "ann.o@example.com", "ANN.O@EXAMPLE.COM"} {
		if _, err := st.CreateAccount(t.Context(), email, cola.TierPro); !errors.Is(err, store.ErrExists) {
			t.Errorf("CreateAccount(%q) error = %v, want ErrExists", email, err)
		}
		found, err := st.AccountByEmail(t.Context(), email)
		checkEqual(t, "AccountByEmail("+email+")", a, must(t, found, err))
	}
	for _, email := range []string{"ann_o@example.com", "ann.ö@example.com", "%", "ann.o@example.com\x00", "\xff"} {
		if _, err := st.AccountByEmail(t.Context(), email); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("AccountByEmail(%q) error = %v, want ErrNotFound", email, err)
		}
	}
}

func setTier(t *testing.T, st store.Store, _ *clock) {
	a, b := mustAccount(t, st, "a@example.com", cola.TierFree), mustAccount(t, st, "b@example.com", cola.TierFree)
	if err := st.SetTier(t.Context(), a.ID, cola.TierPro); err != nil {
		t.Fatal(err)
	}
	a.Tier = cola.TierPro
	list, err := st.Accounts(t.Context())
	checkEqual(t, "Accounts after SetTier", []store.Account{a, b}, must(t, list, err))
	if err := st.SetTier(t.Context(), b.ID+100, cola.TierPro); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("SetTier(unknown account) error = %v, want ErrNotFound", err)
	}
}

func testKeys(t *testing.T, open Opener) {
	runChecks(t, open, []check{
		{"create and get", keyRoundTrip},
		{"unknown account and duplicate hash", createKeyErrors},
		{"revoke is idempotent", revokeKeyTwice},
	})
}

// mustKey creates a key whose hash repeats one byte.
func mustKey(t tb, st store.Store, account cola.AccountID, fill byte) store.Key {
	t.Helper()
	k, err := st.CreateKey(context.Background(),
		store.Key{AccountID: account, Name: "k", Prefix: "lar_ab", LastFour: "wxyz", KeyAccess: fullAccess}, keyHash(fill), 0)
	return must(t, k, err)
}

// fullAccess contains the access rights of an unrestricted key.
var fullAccess = store.KeyAccess{Scopes: cola.Scopes()}

// mustNetworks parses comma-separated networks.
func mustNetworks(t tb, list string) (n cola.Networks) {
	t.Helper()
	n.SetString(list)
	if n.String() != list {
		t.Fatalf("invalid networks %s", list)
	}
	return n
}

func keyHash(fill byte) (h store.KeyHash) {
	for i := range h {
		h[i] = fill
	}
	return h
}

func keyRoundTrip(t *testing.T, st store.Store, c *clock) {
	a, b := mustAccount(t, st, "Ann@example.com", cola.TierFree), mustAccount(t, st, "b@example.com", cola.TierFree)
	c.advance(time.Hour)
	want := store.Key{
		AccountID:  a.ID,
		Name:       "o'key 100%_",
		Prefix:     "lar_abcd",
		LastFour:   "wxyz",
		ExpiresAt:  c.now().Add(24 * time.Hour),
		RevokedAt:  epoch,
		LastUsedAt: epoch,
		KeyAccess:  store.KeyAccess{Scopes: cola.Scopes(), Networks: mustNetworks(t, "203.0.113.0/24,2001:db8::1")},
	}
	got, err := st.CreateKey(t.Context(), want, keyHash(0), 0)
	must(t, got, err)
	want.ID, want.CreatedAt, want.RevokedAt, want.LastUsedAt = got.ID, c.now(), time.Time{}, time.Time{}
	got.Email = "" // optional
	checkEqual(t, "CreateKey", want, got)
	found, err := st.KeyByHash(t.Context(), keyHash(0))
	found.Email = ""
	checkEqual(t, "KeyByHash", want, must(t, found, err))
	other := mustKey(t, st, b.ID, 1)

	want.Email, other.Email = "Ann@example.com", "b@example.com"
	list, err := st.Keys(t.Context(), 0)
	checkEqual(t, "Keys(0)", []store.Key{want, other}, must(t, list, err))
	list, err = st.Keys(t.Context(), b.ID)
	checkEqual(t, "Keys(account)", []store.Key{other}, must(t, list, err))
	list, err = st.Keys(t.Context(), b.ID+100)
	if err != nil || len(list) != 0 {
		t.Errorf("Keys(unknown account) = %v, %v; want no keys", list, err)
	}
}

func createKeyErrors(t *testing.T, st store.Store, _ *clock) {
	_, err := st.CreateKey(t.Context(), store.Key{AccountID: 42}, keyHash(1), 0)
	if !errors.Is(err, store.ErrNotFound) {
		t.Errorf("CreateKey(unknown account) error = %v, want ErrNotFound", err)
	}
	if _, err := st.KeyByHash(t.Context(), keyHash(1)); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("KeyByHash(unknown hash) error = %v, want ErrNotFound", err)
	}
	a := mustAccount(t, st, "a@example.com", cola.TierFree)
	mustKey(t, st, a.ID, 1)
	_, err = st.CreateKey(t.Context(), store.Key{AccountID: a.ID}, keyHash(1), 0)
	if !errors.Is(err, store.ErrExists) {
		t.Errorf("CreateKey(duplicate hash) error = %v, want ErrExists", err)
	}
}

func revokeKeyTwice(t *testing.T, st store.Store, c *clock) {
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
		t.Errorf("RevokedAt = %v, want the first revocation at %v", found.RevokedAt, revoked)
	}
	if found, err := st.KeyByHash(t.Context(), keyHash(2)); err != nil || !found.RevokedAt.IsZero() {
		t.Errorf("other key: RevokedAt = %v, error %v; want zero, nil", found.RevokedAt, err)
	}
	for _, account := range []cola.AccountID{0, a.ID} {
		if err := st.RevokeKey(t.Context(), account, other.ID+100); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("RevokeKey(account %d, unknown key) error = %v, want ErrNotFound", account, err)
		}
	}
	if err := st.RevokeKey(t.Context(), b.ID, other.ID); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("RevokeKey(another account's key) error = %v, want ErrNotFound", err)
	}
	if found, err := st.KeyByHash(t.Context(), keyHash(2)); err != nil || !found.RevokedAt.IsZero() {
		t.Errorf("after another account's RevokeKey: RevokedAt = %v, error %v; want zero, nil", found.RevokedAt, err)
	}
}
