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
		{"keys are limited to those that hold", keysAreLimited},
		{"keys are limited at once", keysAreLimitedAtOnce},
		{"a key is replaced, and holds for a while", keyIsReplaced},
		{"a replaced key holds no longer than it would have", replacedHoldsNoLonger},
		{"a key that does not hold is not replaced", onlyHoldingIsReplaced},
		{"keys that are replaced are limited", replacedAreLimited},
	})
}

// numberedHash returns a distinct hash for each number.
func numberedHash(n int) (h store.KeyHash) {
	binary.BigEndian.PutUint64(h[:], uint64(n))
	return h
}

// keyWithin creates the n-th key of an account, subject to a limit.
func keyWithin(ctx context.Context, st store.Store, account cola.AccountID, n, maxKeys int) (store.Key, error) {
	return st.CreateKey(ctx, store.Key{AccountID: account, Name: fmt.Sprint(n)}, numberedHash(n), maxKeys)
}

// mustBeLimited checks for a LimitError with the given limit.
func mustBeLimited(t tb, what string, err error, limit int) {
	t.Helper()
	if told, ok := errors.AsType[store.LimitError](err); !ok || told != (store.LimitError{Limit: limit}) || !errors.Is(err, store.ErrLimit) {
		t.Errorf("%s: %v, want ErrLimit with the limit of %d", what, err, limit)
	}
}

func keysAreLimited(t *testing.T, st store.Store, c *clock) {
	a, b := mustAccount(t, st, "a@example.com", cola.TierFree), mustAccount(t, st, "b@example.com", cola.TierFree)
	revoked, err := keyWithin(t.Context(), st, a.ID, 1, 2)
	must(t, revoked, err)
	expiring, err := st.CreateKey(t.Context(), store.Key{AccountID: a.ID, ExpiresAt: c.now().Add(time.Hour)}, numberedHash(2), 2)
	must(t, expiring, err)
	mustFit := func(when string, n int) {
		t.Helper()
		_, err := keyWithin(t.Context(), st, a.ID, n, 2)
		mustDo(t, err)
		_, err = keyWithin(t.Context(), st, a.ID, n+100, 2)
		mustBeLimited(t, when, err, 2)
	}
	_, err = keyWithin(t.Context(), st, a.ID, 3, 2)
	mustBeLimited(t, "one more", err, 2)
	mustDo(t, st.RevokeKey(t.Context(), a.ID, revoked.ID))
	mustFit("one more than with one revoked", 4)
	c.set(expiring.ExpiresAt)
	mustFit("one more than with one expired", 5)
	for n, most := range []int{0, 0, 4 + 1} { // no limit, then a higher one
		_, err := keyWithin(t.Context(), st, a.ID, 10+n, most)
		mustDo(t, err)
	}
	_, err = keyWithin(t.Context(), st, b.ID, 20, 1)
	mustDo(t, err)
	if _, err := keyWithin(t.Context(), st, b.ID+100, 21, 1); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("a key of nobody: %v, want ErrNotFound", err)
	}
}

// manyKeys is the limit in tests with several processes, high enough for all of them to overlap.
const manyKeys = 120

// keysUntilLimit creates keys, starting at number n, until the limit, and returns how many it has
// created. It also replaces keys, which does not make room.
func keysUntilLimit(ctx context.Context, st store.Store, account cola.AccountID, n, maxKeys int) (made int, err error) {
	for ; ; made++ {
		k, err := keyWithin(ctx, st, account, n+2*made, maxKeys)
		switch {
		case errors.Is(err, store.ErrLimit):
			return made, nil
		case err != nil:
			return made, err
		}
		if _, err := st.ReplaceKey(ctx, account, k.ID, store.Key{}, numberedHash(n+2*made+1), time.Time{}, maxKeys); err != nil {
			return made, fmt.Errorf("replacing: %w", err)
		}
	}
}

// holding returns the valid keys of an account.
func holding(t tb, st store.Store, account cola.AccountID, now time.Time) (list []store.Key) {
	t.Helper()
	all, err := st.Keys(context.Background(), account)
	for _, k := range must(t, all, err) {
		if k.RevokedAt.IsZero() && (k.ExpiresAt.IsZero() || k.ExpiresAt.After(now)) {
			list = append(list, k)
		}
	}
	return list
}

func keysAreLimitedAtOnce(t *testing.T, st store.Store, c *clock) {
	const most = 30
	a := mustAccount(t, st, "a@example.com", cola.TierFree)
	var made atomic.Int64
	atOnce(8, func(i int) {
		n, err := keysUntilLimit(t.Context(), st, a.ID, 1_000*i, most)
		if err != nil {
			t.Error(err)
		}
		made.Add(int64(n))
	})
	if held := holding(t, st, a.ID, c.now()); len(held) != most || made.Load() != most {
		t.Errorf("%d keys were made, %d hold; want %d", made.Load(), len(held), most)
	}
}

// childKeys creates keys until the limit and prints how many it has created.
func childKeys(ctx context.Context, st store.Store, out io.Writer) error {
	account, err := st.AccountByEmail(ctx, chargedAccount)
	if err != nil {
		return err
	}
	made, err := keysUntilLimit(ctx, st, account.ID, 1_000*os.Getpid(), manyKeys)
	fmt.Fprintf(out, "made %d\n", made)
	return err
}

// keysTogether checks that two processes, and goroutines of a third, together create exactly as
// many keys as the limit allows.
func keysTogether(t *testing.T, b Backend) {
	place := b.New(t)
	db := b.mustOpen(t, place)
	account := mustAccount(t, db, chargedAccount, cola.TierFree)
	total := together(t, place, "keys", "made %d", func(i int) (int, error) { return keysUntilLimit(t.Context(), db, account.ID, 1_000*i, manyKeys) })
	if held := holding(t, db, account.ID, time.Now()); len(held) != manyKeys || total != manyKeys {
		t.Errorf("%d keys hold, %d were made; want %d", len(held), total, manyKeys)
	}
}

func keyIsReplaced(t *testing.T, st store.Store, c *clock) {
	a, b := mustAccount(t, st, "a@example.com", cola.TierFree), mustAccount(t, st, "b@example.com", cola.TierFree)
	old, other := mustKey(t, st, a.ID, 1), mustKey(t, st, a.ID, 2)
	old.Email, other.Email = a.Email, a.Email
	c.advance(time.Minute)
	until := c.now().Add(24 * time.Hour)
	told := store.Key{ID: 42, AccountID: b.ID, Name: "another", Prefix: "lar_new", LastFour: "9999", RevokedAt: epoch, LastUsedAt: epoch,
		ExpiresAt: until.Add(time.Hour)}
	made, err := st.ReplaceKey(t.Context(), a.ID, old.ID, told, keyHash(3), until, 0)
	must(t, made, err)
	want := store.Key{ID: made.ID, AccountID: a.ID, Email: a.Email, Name: old.Name, Prefix: told.Prefix, LastFour: told.LastFour,
		CreatedAt: c.now(), ExpiresAt: told.ExpiresAt}
	found, err := st.KeyByHash(t.Context(), keyHash(3))
	same(t, "found", made, must(t, found, err))
	made.Email = a.Email // backends may or may not fill it
	same(t, "made", want, made)
	old.ExpiresAt = until
	list, err := st.Keys(t.Context(), 0)
	same(t, "keys", []store.Key{old, other, want}, must(t, list, err))

	asked := []cola.Credential{keyCredential(old.ID), keyCredential(made.ID)}
	expect := func(when string, want ...cola.Credential) {
		t.Helper()
		same(t, when, want, held(t, st, []cola.AccountID{a.ID}, asked...)[a.ID])
	}
	expect("both", asked...)
	c.set(until.Add(-time.Microsecond))
	expect("until the overlap ends", asked...)
	c.set(until)
	expect("after it", asked[1])
}

func replacedHoldsNoLonger(t *testing.T, st store.Store, c *clock) {
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
		made, err := st.ReplaceKey(t.Context(), a.ID, old.ID, store.Key{}, numberedHash(2*n+1), k.until, 0)
		if must(t, made, err); !made.ExpiresAt.IsZero() {
			t.Errorf("case %d: the new key ends at %v", n, made.ExpiresAt)
		}
		found, err := st.KeyByHash(t.Context(), numberedHash(2*n))
		same(t, fmt.Sprintf("case %d: the old key's end", n), k.want, must(t, found, err).ExpiresAt)
		if holds := len(held(t, st, []cola.AccountID{a.ID}, keyCredential(old.ID))[a.ID]) == 1; holds != k.want.After(now) {
			t.Errorf("case %d: the old key holds: %v", n, holds)
		}
	}
}

func onlyHoldingIsReplaced(t *testing.T, st store.Store, c *clock) {
	a, b := mustAccount(t, st, "a@example.com", cola.TierFree), mustAccount(t, st, "b@example.com", cola.TierFree)
	fine, revoked, others := mustKey(t, st, a.ID, 1), mustKey(t, st, a.ID, 2), mustKey(t, st, b.ID, 3)
	expired, err := st.CreateKey(t.Context(), store.Key{AccountID: a.ID, ExpiresAt: c.now().Add(time.Minute)}, keyHash(4), 0)
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
		"revoked":              {a.ID, revoked.ID, keyHash(9), store.ErrNotActive},
		"expired":              {a.ID, expired.ID, keyHash(9), store.ErrNotActive},
		"another account's":    {a.ID, others.ID, keyHash(9), store.ErrNotFound},
		"for no account":       {0, fine.ID, keyHash(9), store.ErrNotFound},
		"nobody's":             {b.ID + 100, fine.ID, keyHash(9), store.ErrNotFound},
		"none":                 {a.ID, expired.ID + 100, keyHash(9), store.ErrNotFound},
		"by one that there is": {a.ID, fine.ID, keyHash(3), store.ErrExists},
	} {
		if made, err := st.ReplaceKey(t.Context(), k.account, k.id, store.Key{}, k.hash, c.now(), 0); !errors.Is(err, k.want) || made != (store.Key{}) {
			t.Errorf("%s: %+v, %v; want %v", name, made, err, k.want)
		}
	}
	after, err := st.Keys(t.Context(), 0)
	same(t, "keys", before, must(t, after, err)) // all or nothing: the old keys are unchanged
}

// replacedAreLimited checks that an account at its limit can replace one key, and exceeds the limit
// by at most that one.
func replacedAreLimited(t *testing.T, st store.Store, c *clock) {
	a := mustAccount(t, st, "a@example.com", cola.TierFree)
	first, err := keyWithin(t.Context(), st, a.ID, 1, 2)
	must(t, first, err)
	second, err := keyWithin(t.Context(), st, a.ID, 2, 2)
	must(t, second, err)
	replace := func(n int, id int64) (store.Key, error) {
		return st.ReplaceKey(t.Context(), a.ID, id, store.Key{}, numberedHash(n), c.now().Add(time.Hour), 2)
	}
	third, err := replace(3, first.ID)
	must(t, third, err)
	for what, id := range map[string]int64{"the same again": first.ID, "the new one": third.ID, "another": second.ID} {
		_, err := replace(4, id)
		mustBeLimited(t, "replacing "+what, err, 2)
	}
	same(t, "keys that hold", 3, len(holding(t, st, a.ID, c.now())))
	c.advance(time.Hour)
	_, err = replace(4, second.ID)
	mustDo(t, err)
}
