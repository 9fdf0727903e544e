package storetest

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

func testKeyReplacement(t *testing.T, open Opener) {
	runChecks(t, open, []check{
		{"limit on valid keys", keyLimit},
		{"limit with concurrent creation", keyLimitConcurrent},
		{"replace with overlap", replaceKey},
		{"replacement does not extend the old key", replaceKeyExpiry},
		{"only valid keys are replaced", replaceInvalidKey},
		{"limit on replaced keys", replacedKeyLimit},
	})
}

func testKeyAccess(t *testing.T, open Opener) {
	runChecks(t, open, []check{
		{"change", changeKey},
		{"only valid keys are changed", changeInvalidKey},
		{"replacement has the old key's access rights", replaceRestrictedKey},
		{"use of a refused key is not recorded", refusedKeyUse},
	})
}

// keyAccess returns the access rights that a batch reports for a key.
func keyAccess(t *testing.T, st store.Store, k store.Key) (access store.KeyAccess) {
	t.Helper()
	credential := keyCredential(k.ID)
	err := st.Settle(t.Context(), store.Batch{
		ID: NewBatchID(), Accounts: []cola.AccountID{k.AccountID}, Credentials: []cola.Credential{credential},
	}, func(_ time.Time, states []store.AccountState) []store.Entry {
		access = states[0].Keys[credential]
		return nil
	})
	mustDo(t, err)
	return access
}

func changeKey(t *testing.T, st store.Store, c *clock) {
	a := mustAccount(t, st, "a@example.com", cola.TierFree)
	k, other := mustKey(t, st, a.ID, 1), mustKey(t, st, a.ID, 2)
	for _, access := range []store.KeyAccess{
		{Scopes: []cola.Scope{}, Networks: mustNetworks(t, "0.0.0.0/0,::/0,203.0.113.7")},
		{Scopes: cola.Scopes(), Networks: mustNetworks(t, "2001:db8::/64")},
		{Scopes: []cola.Scope{}},
		fullAccess,
	} {
		mustDo(t, st.ChangeKey(t.Context(), a.ID, k.ID, "changed é", access))
		want := k
		want.Name, want.KeyAccess = "changed é", access
		found, err := st.KeyByHash(t.Context(), keyHash(1))
		checkEqual(t, "KeyByHash", want, must(t, found, err))
		checkEqual(t, "access rights in the next batch", access, keyAccess(t, st, k))
		c.advance(time.Second)
		k.LastUsedAt = found.LastUsedAt
		if k.LastUsedAt.IsZero() {
			k.LastUsedAt = c.now().Add(-time.Second) // when keyAccess used it
		}
	}
	found, err := st.KeyByHash(t.Context(), keyHash(2))
	checkEqual(t, "another key", other, must(t, found, err))
}

func changeInvalidKey(t *testing.T, st store.Store, c *clock) {
	a, b := mustAccount(t, st, "a@example.com", cola.TierFree), mustAccount(t, st, "b@example.com", cola.TierFree)
	valid, revoked, other := mustKey(t, st, a.ID, 1), mustKey(t, st, a.ID, 2), mustKey(t, st, b.ID, 3)
	expired, err := st.CreateKey(t.Context(), store.Key{AccountID: a.ID, ExpiresAt: c.now().Add(time.Minute)}, keyHash(4), 0)
	must(t, expired, err)
	mustDo(t, st.RevokeKey(t.Context(), a.ID, revoked.ID))
	c.advance(time.Minute)
	before, err := st.Keys(t.Context(), 0)
	must(t, before, err)
	for name, k := range map[string]struct {
		account cola.AccountID
		id      int64
		want    error
	}{
		"revoked":               {a.ID, revoked.ID, store.ErrNotActive},
		"expired":               {a.ID, expired.ID, store.ErrNotActive},
		"another account's key": {a.ID, other.ID, store.ErrNotFound},
		"account 0":             {0, valid.ID, store.ErrNotFound},
		"unknown key":           {a.ID, expired.ID + 100, store.ErrNotFound},
	} {
		if err := st.ChangeKey(t.Context(), k.account, k.id, "x", store.KeyAccess{}); !errors.Is(err, k.want) {
			t.Errorf("%s: error = %v, want %v", name, err, k.want)
		}
	}
	after, err := st.Keys(t.Context(), 0)
	checkEqual(t, "Keys", before, must(t, after, err))
}

func replaceRestrictedKey(t *testing.T, st store.Store, c *clock) {
	a := mustAccount(t, st, "a@example.com", cola.TierFree)
	access := store.KeyAccess{Scopes: []cola.Scope{}, Networks: mustNetworks(t, "203.0.113.0/24")}
	old, err := st.CreateKey(t.Context(), store.Key{AccountID: a.ID, KeyAccess: access}, numberedHash(1), 0)
	must(t, old, err)
	created, err := st.ReplaceKey(t.Context(), a.ID, old.ID, store.Key{KeyAccess: fullAccess}, numberedHash(2), c.now(), 0)
	checkEqual(t, "access rights of the new key", access, must(t, created, err).KeyAccess)
	checkEqual(t, "access rights in the next batch", access, keyAccess(t, st, created))
}

// refusedKeyUse checks that a key that decide removes from Valid isn't recorded as used.
func refusedKeyUse(t *testing.T, st store.Store, _ *clock) {
	a := mustAccount(t, st, "a@example.com", cola.TierFree)
	refused, used := mustKey(t, st, a.ID, 1), mustKey(t, st, a.ID, 2)
	credentials := []cola.Credential{keyCredential(refused.ID), keyCredential(used.ID)}
	mustDo(t, st.Settle(t.Context(),
		store.Batch{ID: NewBatchID(), Accounts: []cola.AccountID{a.ID}, Credentials: credentials},
		func(_ time.Time, states []store.AccountState) []store.Entry {
			delete(states[0].Valid, credentials[0])
			return nil
		}))
	keys, err := st.Keys(t.Context(), a.ID)
	must(t, keys, err)
	if !keys[0].LastUsedAt.IsZero() || keys[1].LastUsedAt.IsZero() {
		t.Errorf("last uses = %v, %v, want only the second", keys[0].LastUsedAt, keys[1].LastUsedAt)
	}
}

// numberedHash returns a distinct hash for each number.
func numberedHash(n int) (h store.KeyHash) {
	binary.BigEndian.PutUint64(h[:], uint64(n))
	return h
}

// createNumberedKey creates the nth key of an account, subject to a limit.
func createNumberedKey(ctx context.Context, st store.Store, account cola.AccountID, n, maxKeys int) (store.Key, error) {
	return st.CreateKey(ctx, store.Key{AccountID: account, Name: fmt.Sprint(n)}, numberedHash(n), maxKeys)
}

// checkLimit checks for a LimitError with the given limit.
func checkLimit(t tb, desc string, err error, limit int) {
	t.Helper()
	if limitErr, ok := errors.AsType[store.LimitError](err); !ok || limitErr != (store.LimitError{Limit: limit}) ||
		!errors.Is(err, store.ErrLimit) {
		t.Errorf("%s: error = %v, want ErrLimit with limit %d", desc, err, limit)
	}
}

func keyLimit(t *testing.T, st store.Store, c *clock) {
	a, b := mustAccount(t, st, "a@example.com", cola.TierFree), mustAccount(t, st, "b@example.com", cola.TierFree)
	revoked, err := createNumberedKey(t.Context(), st, a.ID, 1, 2)
	must(t, revoked, err)
	expiring, err := st.CreateKey(t.Context(), store.Key{AccountID: a.ID, ExpiresAt: c.now().Add(time.Hour)},
		numberedHash(2), 2)
	must(t, expiring, err)
	checkFits := func(when string, n int) {
		t.Helper()
		_, err := createNumberedKey(t.Context(), st, a.ID, n, 2)
		mustDo(t, err)
		_, err = createNumberedKey(t.Context(), st, a.ID, n+100, 2)
		checkLimit(t, when, err, 2)
	}
	_, err = createNumberedKey(t.Context(), st, a.ID, 3, 2)
	checkLimit(t, "over the limit", err, 2)
	mustDo(t, st.RevokeKey(t.Context(), a.ID, revoked.ID))
	checkFits("over the limit after revoking one", 4)
	c.set(expiring.ExpiresAt)
	checkFits("over the limit after one expired", 5)
	for n, limit := range []int{0, 0, 4 + 1} { // no limit, then a higher one
		_, err := createNumberedKey(t.Context(), st, a.ID, 10+n, limit)
		mustDo(t, err)
	}
	_, err = createNumberedKey(t.Context(), st, b.ID, 20, 1)
	mustDo(t, err)
	if _, err := createNumberedKey(t.Context(), st, b.ID+100, 21, 1); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("CreateKey(unknown account) error = %v, want ErrNotFound", err)
	}
}

// processKeyLimit is the limit in tests with several processes. It is high enough that they all
// create keys at the same time.
const processKeyLimit = 120

// createKeysUntilLimit creates keys, starting at number n, up to the limit, and returns how many it
// created. It also replaces each key, which does not make room for another.
func createKeysUntilLimit(
	ctx context.Context, st store.Store, account cola.AccountID, n, maxKeys int,
) (created int, err error) {
	for ; ; created++ {
		k, err := createNumberedKey(ctx, st, account, n+2*created, maxKeys)
		switch {
		case errors.Is(err, store.ErrLimit):
			return created, nil
		case err != nil:
			return created, err
		}
		if _, err := st.ReplaceKey(ctx, account, k.ID, store.Key{}, numberedHash(n+2*created+1), time.Time{},
			maxKeys); err != nil {
			return created, fmt.Errorf("replace key: %w", err)
		}
	}
}

// validKeys returns an account's valid keys.
func validKeys(t tb, st store.Store, account cola.AccountID, now time.Time) (list []store.Key) {
	t.Helper()
	all, err := st.Keys(context.Background(), account)
	for _, k := range must(t, all, err) {
		if k.RevokedAt.IsZero() && (k.ExpiresAt.IsZero() || k.ExpiresAt.After(now)) {
			list = append(list, k)
		}
	}
	return list
}

func keyLimitConcurrent(t *testing.T, st store.Store, c *clock) {
	const limit = 30
	a := mustAccount(t, st, "a@example.com", cola.TierFree)
	var created atomic.Int64
	concurrently(8, func(i int) {
		n, err := createKeysUntilLimit(t.Context(), st, a.ID, 1_000*i, limit)
		if err != nil {
			t.Error(err)
		}
		created.Add(int64(n))
	})
	if valid := validKeys(t, st, a.ID, c.now()); len(valid) != limit || created.Load() != limit {
		t.Errorf("%d keys created, %d valid; want %d", created.Load(), len(valid), limit)
	}
}

// childKeys creates keys up to the limit and prints how many it created.
func childKeys(ctx context.Context, st store.Store, out io.Writer) error {
	account, err := st.AccountByEmail(ctx, chargedAccount)
	if err != nil {
		return err
	}
	created, err := createKeysUntilLimit(ctx, st, account.ID, 1_000*os.Getpid(), processKeyLimit)
	fmt.Fprintf(out, "created %d\n", created)
	return err
}

// keysAcrossProcesses checks that two processes, and goroutines of a third, together create exactly
// as many keys as the limit allows.
func keysAcrossProcesses(t *testing.T, b Backend) {
	dsn := b.New(t)
	db := b.mustOpen(t, dsn)
	account := mustAccount(t, db, chargedAccount, cola.TierFree)
	total := runTogether(t, dsn, "keys", "created %d", func(i int) (int, error) {
		return createKeysUntilLimit(t.Context(), db, account.ID, 1_000*i, processKeyLimit)
	})
	if valid := validKeys(t, db, account.ID, time.Now()); len(valid) != processKeyLimit || total != processKeyLimit {
		t.Errorf("%d keys valid, %d created; want %d", len(valid), total, processKeyLimit)
	}
}

func replaceKey(t *testing.T, st store.Store, c *clock) {
	a, b := mustAccount(t, st, "a@example.com", cola.TierFree), mustAccount(t, st, "b@example.com", cola.TierFree)
	old, other := mustKey(t, st, a.ID, 1), mustKey(t, st, a.ID, 2)
	old.Email, other.Email = a.Email, a.Email
	c.advance(time.Minute)
	until := c.now().Add(24 * time.Hour)
	params := store.Key{
		ID:         42,
		AccountID:  b.ID,
		Name:       "another",
		Prefix:     "lar_new",
		LastFour:   "9999",
		RevokedAt:  epoch,
		LastUsedAt: epoch,
		ExpiresAt:  until.Add(time.Hour),
	}
	created, err := st.ReplaceKey(t.Context(), a.ID, old.ID, params, keyHash(3), until, 0)
	must(t, created, err)
	want := store.Key{
		ID:        created.ID,
		AccountID: a.ID,
		Email:     a.Email,
		Name:      old.Name,
		Prefix:    params.Prefix,
		LastFour:  params.LastFour,
		CreatedAt: c.now(),
		ExpiresAt: params.ExpiresAt,
		KeyAccess: old.KeyAccess,
	}
	found, err := st.KeyByHash(t.Context(), keyHash(3))
	checkEqual(t, "KeyByHash", created, must(t, found, err))
	created.Email = a.Email // optional
	checkEqual(t, "ReplaceKey", want, created)
	old.ExpiresAt = until
	list, err := st.Keys(t.Context(), 0)
	checkEqual(t, "Keys", []store.Key{old, other, want}, must(t, list, err))

	creds := []cola.Credential{keyCredential(old.ID), keyCredential(created.ID)}
	expect := func(when string, want ...cola.Credential) {
		t.Helper()
		checkEqual(t, "valid credentials "+when, want, validCredentials(t, st, []cola.AccountID{a.ID}, creds...)[a.ID])
	}
	expect("during the overlap", creds...)
	c.set(until.Add(-time.Microsecond))
	expect("just before the overlap ends", creds...)
	c.set(until)
	expect("after the overlap", creds[1])
}

func replaceKeyExpiry(t *testing.T, st store.Store, c *clock) {
	a := mustAccount(t, st, "a@example.com", cola.TierFree)
	now := c.now()
	for n, k := range []struct {
		ends, until, want time.Time
	}{
		{ends: now.Add(time.Hour), until: now.Add(time.Minute), want: now.Add(time.Minute)},
		{ends: now.Add(time.Hour), until: now.Add(24 * time.Hour), want: now.Add(time.Hour)},
		{until: now.Add(24 * time.Hour), want: now.Add(24 * time.Hour)},
		{until: now, want: now},
		{until: now.Add(-time.Hour), want: now},
		{ends: now.Add(time.Hour), want: now}, // a zero time is in the past; it does not mean never
		{want: now},
	} {
		old, err := st.CreateKey(t.Context(), store.Key{AccountID: a.ID, ExpiresAt: k.ends}, numberedHash(2*n), 0)
		must(t, old, err)
		created, err := st.ReplaceKey(t.Context(), a.ID, old.ID, store.Key{}, numberedHash(2*n+1), k.until, 0)
		if must(t, created, err); !created.ExpiresAt.IsZero() {
			t.Errorf("case %d: new key: ExpiresAt = %v, want zero", n, created.ExpiresAt)
		}
		found, err := st.KeyByHash(t.Context(), numberedHash(2*n))
		checkEqual(t, fmt.Sprintf("case %d: old key: ExpiresAt", n), k.want, must(t, found, err).ExpiresAt)
		if valid := len(validCredentials(t, st, []cola.AccountID{a.ID},
			keyCredential(old.ID))[a.ID]) == 1; valid != k.want.After(now) {
			t.Errorf("case %d: old key valid = %v, want %v", n, valid, !valid)
		}
	}
}

func replaceInvalidKey(t *testing.T, st store.Store, c *clock) {
	a, b := mustAccount(t, st, "a@example.com", cola.TierFree), mustAccount(t, st, "b@example.com", cola.TierFree)
	valid, revoked, other := mustKey(t, st, a.ID, 1), mustKey(t, st, a.ID, 2), mustKey(t, st, b.ID, 3)
	expired, err := st.CreateKey(t.Context(), store.Key{AccountID: a.ID, ExpiresAt: c.now().Add(time.Minute)},
		keyHash(4), 0)
	must(t, expired, err)
	mustDo(t, st.RevokeKey(t.Context(), a.ID, revoked.ID))
	c.advance(time.Minute)
	before, err := st.Keys(t.Context(), 0)
	must(t, before, err)
	for name, k := range map[string]struct {
		account cola.AccountID
		id      int64
		hash    store.KeyHash
		want    error
	}{
		"revoked":               {a.ID, revoked.ID, keyHash(9), store.ErrNotActive},
		"expired":               {a.ID, expired.ID, keyHash(9), store.ErrNotActive},
		"another account's key": {a.ID, other.ID, keyHash(9), store.ErrNotFound},
		"account 0":             {0, valid.ID, keyHash(9), store.ErrNotFound},
		"unknown account":       {b.ID + 100, valid.ID, keyHash(9), store.ErrNotFound},
		"unknown key":           {a.ID, expired.ID + 100, keyHash(9), store.ErrNotFound},
		"duplicate hash":        {a.ID, valid.ID, keyHash(3), store.ErrExists},
	} {
		created, err := st.ReplaceKey(t.Context(), k.account, k.id, store.Key{}, k.hash, c.now(), 0)
		if !errors.Is(err, k.want) || created.ID != 0 {
			t.Errorf("%s: ReplaceKey = %+v, %v; want %v", name, created, err, k.want)
		}
	}
	after, err := st.Keys(t.Context(), 0)
	checkEqual(t, "Keys", before, must(t, after, err)) // all or nothing: the old keys are unchanged
}

// replacedKeyLimit checks that an account at its limit can replace one key, and that it cannot
// exceed the limit by more than that one.
func replacedKeyLimit(t *testing.T, st store.Store, c *clock) {
	a := mustAccount(t, st, "a@example.com", cola.TierFree)
	first, err := createNumberedKey(t.Context(), st, a.ID, 1, 2)
	must(t, first, err)
	second, err := createNumberedKey(t.Context(), st, a.ID, 2, 2)
	must(t, second, err)
	replace := func(n int, id int64) (store.Key, error) {
		return st.ReplaceKey(t.Context(), a.ID, id, store.Key{}, numberedHash(n), c.now().Add(time.Hour), 2)
	}
	third, err := replace(3, first.ID)
	must(t, third, err)
	for desc, id := range map[string]int64{
		"the replaced key": first.ID,
		"the new key":      third.ID,
		"another key":      second.ID,
	} {
		_, err := replace(4, id)
		checkLimit(t, "replacing "+desc, err, 2)
	}
	checkEqual(t, "number of valid keys", 3, len(validKeys(t, st, a.ID, c.now())))
	c.advance(time.Hour)
	_, err = replace(4, second.ID)
	mustDo(t, err)
}
