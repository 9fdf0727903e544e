package storetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

func testSealedSecrets(t *testing.T, open Opener) {
	runChecks(t, open, []check{
		{"first key check wins", firstKeyCheckWins},
		{"count secrets by key", countSecrets},
		{"rewrite secrets", rewriteSecrets},
		{"concurrent rewrites and changes", concurrentRewrites},
	})
}

func firstKeyCheckWins(t *testing.T, st store.Store, _ *clock) {
	initial, err := st.KeyCheck(t.Context(), "")
	checkEqual(t, "KeyCheck on a new store", "", must(t, initial, err))
	var mu sync.Mutex
	stored := map[string]int{}
	var wg sync.WaitGroup
	for n := range 8 {
		wg.Go(func() {
			check, err := st.KeyCheck(t.Context(), fmt.Sprint("check ", n))
			if err != nil {
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			stored[check]++
		})
	}
	wg.Wait()
	if len(stored) != 1 || stored[""] > 0 {
		t.Errorf("stored key checks = %v, want one for all callers", stored)
	}
	mustDo(t, st.ReplaceKeyCheck(t.Context(), "another"))
	check, err := st.KeyCheck(t.Context(), "x")
	checkEqual(t, "KeyCheck after ReplaceKeyCheck", "another", must(t, check, err))
	check, err = st.KeyCheck(t.Context(), "")
	checkEqual(t, "KeyCheck", "another", must(t, check, err))
}

// sealedHook creates an endpoint with the given secrets.
func sealedHook(t *testing.T, st store.Store, account cola.AccountID, n int, current, old,
	challenge string) store.Destination {
	t.Helper()
	created := newHook(account, fmt.Sprint(hook, n))
	created.MaxDestinations = noLimit
	d := mustDestination(t, st, created)
	return changeDestination(t, st, d, func(d *store.Destination) {
		d.Secrets, d.Challenge.Sealed = store.Secrets{Current: current, Old: old}, challenge
	})
}

func countSecrets(t *testing.T, st store.Store, _ *clock) {
	a := mustAccount(t, st, "a@example.com", cola.TierFree)
	keys, err := st.SecretKeys(t.Context())
	checkEqual(t, "SecretKeys on a new store", map[string]int{}, must(t, keys, err))
	sealedHook(t, st, a.ID, 1, "sealed:01234567:a", "whsec_b", "sealed:01234567:c")
	sealedHook(t, st, a.ID, 2, "sealed:89abcdef:d", "", "")
	keys, err = st.SecretKeys(t.Context())
	checkEqual(t, "SecretKeys", map[string]int{"": 1, "01234567": 2, "89abcdef": 1}, must(t, keys, err))
}

func rewriteSecrets(t *testing.T, st store.Store, _ *clock) {
	const endpoints = 250 // more than one batch
	const sealedPrefix = "sealed:89abcdef:"
	a := mustAccount(t, st, "a@example.com", cola.TierFree)
	for n := range endpoints {
		d := newHook(a.ID, fmt.Sprint(hook, n))
		d.MaxDestinations, d.Secret = noLimit, fmt.Sprint("sealed:01234567:", n)
		mustDestination(t, st, d)
	}
	done := sealedHook(t, st, a.ID, -1, sealedPrefix+"x", "", sealedPrefix+"y")
	part := sealedHook(t, st, a.ID, -2, sealedPrefix+"x", "whsec_old", "sealed:01234567:challenge")
	unseen := map[store.SealedSecret]bool{
		{Destination: part.UUID, Text: "whsec_old"}:                                  true,
		{Destination: part.UUID, Text: "sealed:01234567:challenge", Challenge: true}: true,
	}
	rewrite := func(s store.SealedSecret) (string, error) {
		delete(unseen, s)
		return sealedPrefix + s.Text, nil
	}
	n, err := st.RewriteSecrets(t.Context(), sealedPrefix, rewrite)
	checkEqual(t, "RewriteSecrets", endpoints+2, must(t, n, err))
	checkEqual(t, "secrets not passed to the callback", map[store.SealedSecret]bool{}, unseen)
	checkEqual(t, "destination sealed with the key", done, mustReload(t, st, done))
	part.Secrets.Old, part.Challenge.Sealed = sealedPrefix+"whsec_old", sealedPrefix+"sealed:01234567:challenge"
	checkEqual(t, "destination partly sealed with the key", part, mustReload(t, st, part))
	n, err = st.RewriteSecrets(t.Context(), sealedPrefix, rewrite)
	checkEqual(t, "second RewriteSecrets", 0, must(t, n, err))

	n, err = st.RewriteSecrets(t.Context(), "x", func(s store.SealedSecret) (string, error) {
		if s.Challenge && s.Destination == done.UUID {
			return "", nil
		}
		return s.Text, nil
	})
	checkEqual(t, "RewriteSecrets with one challenge removed", 1, must(t, n, err))
	checkEqual(t, "removed challenge", "", mustReload(t, st, done).Challenge.Sealed)
	before := storeContents(t, st)
	if n, err = st.RewriteSecrets(t.Context(), "x",
		func(store.SealedSecret) (string, error) { return "y", errCallback }); !errors.Is(err, errCallback) || n != 0 {
		t.Errorf("RewriteSecrets(callback error) = %d, %v; want 0 and the error", n, err)
	}
	checkEqual(t, "store contents", before, storeContents(t, st))
}

// concurrentRewrites checks that rewrites and concurrent changes to a destination don't undo each
// other.
func concurrentRewrites(t *testing.T, st store.Store, _ *clock) {
	a := mustAccount(t, st, "a@example.com", cola.TierFree)
	created := sealedHook(t, st, a.ID, 1, "", ".", "")
	var wg sync.WaitGroup
	for range 10 {
		wg.Go(func() { changeDestination(t, st, created, func(d *store.Destination) { d.Secrets.Old += "c" }) })
		wg.Go(func() {
			_, err := st.RewriteSecrets(t.Context(), "x",
				func(s store.SealedSecret) (string, error) { return s.Text + "r", nil })
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	checkEqual(t, "number of changes", 21, len(mustReload(t, st, created).Secrets.Old))
}

func testKnownSecrets(t *testing.T, open Opener) {
	runChecks(t, open, []check{
		{"only existing secrets are known", knownSecrets},
		{"malformed names are unknown", malformedSecretNames},
		{"unknown kind", func(t *testing.T, st store.Store, _ *clock) {
			if known, err := st.KnownSecrets(t.Context(), "odd", []string{"a"}); err == nil {
				t.Errorf("KnownSecrets(unknown kind) = %q, want an error", known)
			}
		}},
	})
}

// createSecrets creates two secrets of each kind that secretKinds returns, and returns their
// names.
func createSecrets(t *testing.T, st store.Store, c *clock) map[store.SecretKind][]string {
	t.Helper()
	created := map[store.SecretKind][]string{}
	account := mustAccount(t, st, "secrets@example.com", cola.TierFree)
	for n := range byte(2) {
		mustKey(t, st, account.ID, 10+n)
		key := keyHash(10 + n)
		link, feed := store.SignInLinkHash{20, n}, store.FeedHash{30, n}
		session := "session " + string('a'+rune(n)) + " '%_ü"
		mustDo(t, st.SaveSession(t.Context(), session, []byte("x"), c.now().Add(time.Hour)))
		mustDo(t, st.CreateSignInLink(t.Context(), account.ID, link, time.Hour))
		search := mustCreate(t, st, newSearch(account.ID, int(n)))
		mustDo(t, st.SetFeed(t.Context(), account.ID, search.UUID, &feed))
		for kind, name := range map[store.SecretKind]string{
			store.SecretKey: string(key[:]), store.SecretSession: session, store.SecretSignInLink: string(link[:]),
			store.SecretFeed: string(feed[:]),
		} {
			created[kind] = append(created[kind], name)
		}
	}
	return created
}

func checkKnownSecrets(t *testing.T, st store.Store, kind store.SecretKind, requested, want []string) {
	t.Helper()
	known, err := st.KnownSecrets(context.Background(), kind, requested)
	if err != nil {
		t.Errorf("KnownSecrets(%s): %v", kind, err)
	}
	known = slices.Clone(known)
	slices.Sort(known)
	if diff := cmp.Diff(slices.Sorted(slices.Values(want)), known, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("KnownSecrets(%s) (-want +got):\n%s", kind, diff)
	}
}

// secretKinds returns all kinds of secrets except links in emails, which only earlier versions
// wrote (see CheckRowsBeforeSecrets).
func secretKinds(t *testing.T, created map[store.SecretKind][]string) (kinds []store.SecretKind) {
	t.Helper()
	for _, kind := range store.SecretKinds() {
		if kind == store.SecretDestination {
			continue
		}
		if len(created[kind]) == 0 {
			t.Errorf("no %s secret created; the test needs one", kind)
			continue
		}
		kinds = append(kinds, kind)
	}
	return kinds
}

func knownSecrets(t *testing.T, st store.Store, c *clock) {
	created := createSecrets(t, st, c)
	for _, kind := range secretKinds(t, created) {
		others := []string{strings.Repeat("\x00", 32), "", strings.ToUpper(created[kind][0]) + "x"}
		for n := range byte(250) {
			others = append(others, string(bytes.Repeat([]byte{n}, 31)))
		}
		checkKnownSecrets(t, st, kind, nil, nil)
		checkKnownSecrets(t, st, kind, others, nil)
		checkKnownSecrets(t, st, kind, append(others, created[kind]...), created[kind])
		for other, names := range created {
			if other != kind {
				checkKnownSecrets(t, st, kind, names, nil)
			}
		}
	}
}

func malformedSecretNames(t *testing.T, st store.Store, c *clock) {
	created := createSecrets(t, st, c)
	for _, kind := range secretKinds(t, created) {
		unknown := []string{"\xff", "a\x00", "'", `"`, `\`, "[]", "%", strings.Repeat("x", 10_000)}
		checkKnownSecrets(t, st, kind, append(unknown, created[kind][0]), created[kind][:1])
	}
}
