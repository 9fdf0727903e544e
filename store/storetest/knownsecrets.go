package storetest

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

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

// mustHaveSecrets makes two secrets of each kind and returns their names.
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

// secretKinds returns all kinds of secrets but links in email, which only earlier versions made: see CheckRowsBeforeSecrets.
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
