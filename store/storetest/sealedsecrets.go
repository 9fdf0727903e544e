package storetest

import (
	"errors"
	"fmt"
	"sync"
	"testing"

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

// sealedHook makes an endpoint with three secrets.
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
	const endpoints = 250 // more than are held at a time
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

// secretsAreRewrittenMeanwhile: neither a rewrite nor a change of a destination undoes the other.
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
