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
		{"the first key check stays", firstKeyCheckStays},
		{"secrets are counted by key", secretsAreCounted},
		{"secrets are rewritten", secretsAreRewritten},
		{"secrets are rewritten while they are changed", secretsAreRewrittenMeanwhile},
	})
}

func firstKeyCheckStays(t *testing.T, st store.Store, _ *clock) {
	none, err := st.KeyCheck(t.Context(), "")
	same(t, "before there is one", "", must(t, none, err))
	var mu sync.Mutex
	kept := map[string]int{}
	var wg sync.WaitGroup
	for n := range 8 {
		wg.Go(func() {
			check, err := st.KeyCheck(t.Context(), fmt.Sprint("check ", n))
			if err != nil {
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			kept[check]++
		})
	}
	wg.Wait()
	if len(kept) != 1 || kept[""] > 0 {
		t.Errorf("kept are %v, want one for all", kept)
	}
	mustDo(t, st.ReplaceKeyCheck(t.Context(), "another"))
	check, err := st.KeyCheck(t.Context(), "x")
	same(t, "replaced", "another", must(t, check, err))
	check, err = st.KeyCheck(t.Context(), "")
	same(t, "read", "another", must(t, check, err))
}

// sealedHook creates an endpoint with three secrets.
func sealedHook(t *testing.T, st store.Store, account cola.AccountID, n int, current, old, challenge string) store.Destination {
	t.Helper()
	made := newHook(account, fmt.Sprint(hook, n))
	made.MaxDestinations = everyID
	d := mustDestination(t, st, made)
	return changeDestination(t, st, d, func(d *store.Destination) {
		d.Secrets, d.Challenge.Sealed = store.Secrets{Current: current, Old: old}, challenge
	})
}

func secretsAreCounted(t *testing.T, st store.Store, _ *clock) {
	a := mustAccount(t, st, "a@example.com", cola.TierFree)
	keys, err := st.SecretKeys(t.Context())
	same(t, "without any", map[string]int{}, must(t, keys, err))
	sealedHook(t, st, a.ID, 1, "sealed:01234567:a", "whsec_b", "sealed:01234567:c")
	sealedHook(t, st, a.ID, 2, "sealed:89abcdef:d", "", "")
	keys, err = st.SecretKeys(t.Context())
	same(t, "by key", map[string]int{"": 1, "01234567": 2, "89abcdef": 1}, must(t, keys, err))
}

func secretsAreRewritten(t *testing.T, st store.Store, _ *clock) {
	const endpoints = 250 // more than one batch
	const but = "sealed:89abcdef:"
	a := mustAccount(t, st, "a@example.com", cola.TierFree)
	for n := range endpoints {
		d := newHook(a.ID, fmt.Sprint(hook, n))
		d.MaxDestinations, d.Secret = everyID, fmt.Sprint("sealed:01234567:", n)
		mustDestination(t, st, d)
	}
	done := sealedHook(t, st, a.ID, -1, but+"x", "", but+"y")
	part := sealedHook(t, st, a.ID, -2, but+"x", "whsec_old", "sealed:01234567:challenge")
	mustSee := map[store.SealedSecret]bool{
		{Destination: part.UUID, Text: "whsec_old"}: true, {Destination: part.UUID, Text: "sealed:01234567:challenge", Challenge: true}: true,
	}
	rewrite := func(s store.SealedSecret) (string, error) {
		delete(mustSee, s)
		return but + s.Text, nil
	}
	n, err := st.RewriteSecrets(t.Context(), but, rewrite)
	same(t, "rewritten", endpoints+2, must(t, n, err))
	same(t, "not seen", map[store.SealedSecret]bool{}, mustSee)
	same(t, "what was right", done, mustDestinationNow(t, st, done))
	part.Secrets.Old, part.Challenge.Sealed = but+"whsec_old", but+"sealed:01234567:challenge"
	same(t, "what was partly right", part, mustDestinationNow(t, st, part))
	n, err = st.RewriteSecrets(t.Context(), but, rewrite)
	same(t, "rewritten again", 0, must(t, n, err))

	n, err = st.RewriteSecrets(t.Context(), "x", func(s store.SealedSecret) (string, error) {
		if s.Challenge && s.Destination == done.UUID {
			return "", nil
		}
		return s.Text, nil
	})
	same(t, "forgotten", 1, must(t, n, err))
	same(t, "the one that was", "", mustDestinationNow(t, st, done).Challenge.Sealed)
	before := everything(t, st)
	if n, err = st.RewriteSecrets(t.Context(), "x", func(store.SealedSecret) (string, error) { return "y", errEnough }); !errors.Is(err, errEnough) || n != 0 {
		t.Errorf("refused: %d, %v", n, err)
	}
	same(t, "what the store holds", before, everything(t, st))
}

// secretsAreRewrittenMeanwhile checks that a rewrite and a concurrent change of a destination do
// not undo each other.
func secretsAreRewrittenMeanwhile(t *testing.T, st store.Store, _ *clock) {
	a := mustAccount(t, st, "a@example.com", cola.TierFree)
	made := sealedHook(t, st, a.ID, 1, "", ".", "")
	var wg sync.WaitGroup
	for range 10 {
		wg.Go(func() { changeDestination(t, st, made, func(d *store.Destination) { d.Secrets.Old += "c" }) })
		wg.Go(func() {
			_, err := st.RewriteSecrets(t.Context(), "x", func(s store.SealedSecret) (string, error) { return s.Text + "r", nil })
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	same(t, "changes", 21, len(mustDestinationNow(t, st, made).Secrets.Old))
}

func testKnownSecrets(t *testing.T, open Opener) {
	runChecks(t, open, []check{
		{"those that exist are known, and no others", secretsAreKnown},
		{"names that cannot be kept are unknown", oddSecretsAreUnknown},
		{"a kind that there is not is an error", func(t *testing.T, st store.Store, _ *clock) {
			if known, err := st.KnownSecrets(t.Context(), "odd", []string{"a"}); err == nil {
				t.Errorf("known: %q", known)
			}
		}},
	})
}

// mustHaveSecrets creates two secrets of each kind and returns their names.
func mustHaveSecrets(t *testing.T, st store.Store, c *clock) map[store.SecretKind][]string {
	t.Helper()
	made := map[store.SecretKind][]string{}
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
			store.SecretKey: string(key[:]), store.SecretSession: session, store.SecretSignInLink: string(link[:]), store.SecretFeed: string(feed[:]),
		} {
			made[kind] = append(made[kind], name)
		}
	}
	return made
}

func mustKnowSecrets(t *testing.T, st store.Store, kind store.SecretKind, asked, want []string) {
	t.Helper()
	known, err := st.KnownSecrets(context.Background(), kind, asked)
	if err != nil {
		t.Errorf("%s: %v", kind, err)
	}
	known = slices.Clone(known)
	slices.Sort(known)
	if diff := cmp.Diff(slices.Sorted(slices.Values(want)), known, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("%s (-want +known):\n%s", kind, diff)
	}
}

// secretKinds returns all kinds of secrets except links in email, which only earlier versions wrote
// (see CheckRowsBeforeSecrets).
func secretKinds(t *testing.T, made map[store.SecretKind][]string) (kinds []store.SecretKind) {
	t.Helper()
	for _, kind := range store.SecretKinds() {
		if kind == store.SecretDestination {
			continue
		}
		if len(made[kind]) == 0 {
			t.Errorf("no secret of the kind %s was made", kind)
			continue
		}
		kinds = append(kinds, kind)
	}
	return kinds
}

func secretsAreKnown(t *testing.T, st store.Store, c *clock) {
	made := mustHaveSecrets(t, st, c)
	for _, kind := range secretKinds(t, made) {
		others := []string{strings.Repeat("\x00", 32), "", strings.ToUpper(made[kind][0]) + "x"}
		for n := range byte(250) {
			others = append(others, string(bytes.Repeat([]byte{n}, 31)))
		}
		mustKnowSecrets(t, st, kind, nil, nil)
		mustKnowSecrets(t, st, kind, others, nil)
		mustKnowSecrets(t, st, kind, append(others, made[kind]...), made[kind])
		for other, names := range made {
			if other != kind {
				mustKnowSecrets(t, st, kind, names, nil)
			}
		}
	}
}

func oddSecretsAreUnknown(t *testing.T, st store.Store, c *clock) {
	made := mustHaveSecrets(t, st, c)
	for _, kind := range secretKinds(t, made) {
		odd := []string{"\xff", "a\x00", "'", `"`, `\`, "[]", "%", strings.Repeat("x", 10_000)}
		mustKnowSecrets(t, st, kind, append(odd, made[kind][0]), made[kind][:1])
	}
}
