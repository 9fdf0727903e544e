package storetest

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

func testLinks(t *testing.T, open Opener) {
	runChecks(t, open, []check{
		{"connect reports changes", connectReportsChanges},
		{"connect and list", linkRoundTrip},
		{"scopes of the latest token", linkScopes},
		{"unknown account and app", connectErrors},
		{"revoke is idempotent", revokeLinkTwice},
		{"restore", restoreLink},
		{"concurrent connects", concurrentConnects},
		{"concurrent connects and revocation", concurrentConnectsAndRevocation},
	})
}

// mustConnect connects an account to an app and returns the link with an empty Change.
func mustConnect(t tb, st store.Store, account cola.AccountID, app int64, granted ...string) store.Link {
	t.Helper()
	l, err := st.Connect(context.Background(), account, app, scopes(granted...))
	l.Change = ""
	return must(t, l, err)
}

func connectReportsChanges(t *testing.T, st store.Store, _ *clock) {
	a, app := mustAccount(t, st, "a@example.com", cola.TierFree), mustApp(t, st, "app")
	connect := func(desc string, want store.LinkChange, granted ...string) int64 {
		t.Helper()
		l, err := st.Connect(t.Context(), a.ID, app.ID, scopes(granted...))
		mustDo(t, err)
		checkEqual(t, "Connect, "+desc, want, l.Change)
		return l.ID
	}
	connect("first use", store.LinkCreated, "a")
	connect("same scopes", "", "a")
	connect("more scopes", store.LinkScopesChanged, "b", "a")
	connect("same scopes in another order", "", "a", "b")
	id := connect("no scopes", store.LinkScopesChanged)
	mustDo(t, st.RevokeLink(t.Context(), a.ID, id))
	connect("revoked link", "", "a")
	mustDo(t, st.RestoreLink(t.Context(), a.ID, id))
	connect("restored link", store.LinkScopesChanged, "a")
	checkEqual(t, "Change in Links", store.LinkChange(""), mustLinks(t, st, a.ID)[0].Change)
}

func mustLinks(t tb, st store.Store, account cola.AccountID) []store.Link {
	t.Helper()
	list, err := st.Links(context.Background(), account)
	return must(t, list, err)
}

func linkCredential(id int64) cola.Credential {
	return cola.Credential{Kind: cola.CredentialLink, ID: id}
}

func linkRoundTrip(t *testing.T, st store.Store, c *clock) {
	a, b := mustAccount(t, st, "Ann@example.com", cola.TierFree), mustAccount(t, st, "b@example.com", cola.TierFree)
	app, other := mustApp(t, st, "app", "a"), mustApp(t, st, "other")
	c.set(epoch.In(time.FixedZone("", 3600)).Add(time.Hour + 789*time.Nanosecond))
	granted := []string{"openid", "a", "openid"}
	l := mustConnect(t, st, a.ID, app.ID, granted...)
	checkEqual(t, "Connect", store.Link{
		ID:        l.ID,
		Account:   a.ID,
		Email:     "Ann@example.com",
		App:       app,
		Scopes:    scopes("a", "openid"),
		CreatedAt: epoch.Add(time.Hour),
	}, l)
	checkEqual(t, "scopes of the argument", []string{"openid", "a", "openid"}, granted)
	second, third := mustConnect(t, st, a.ID, other.ID), mustConnect(t, st, b.ID, app.ID)
	checkEqual(t, "scopes of a token without scopes", scopes(), second.Scopes)
	if first := mustConnect(t, st, a.ID, app.ID, granted...); first.ID != l.ID {
		t.Errorf("second Connect: link ID = %d, want %d", first.ID, l.ID)
	}
	c.advance(time.Minute)
	mustDo(t, st.DisableApp(t.Context(), app.ID))
	l.App.DisabledAt = c.now().UTC().Truncate(time.Microsecond)
	third.App = l.App
	checkEqual(t, "Links(0)", []store.Link{l, second, third}, mustLinks(t, st, 0))
	checkEqual(t, "Links(account)", []store.Link{third}, mustLinks(t, st, b.ID))
	if list := mustLinks(t, st, b.ID+100); len(list) != 0 {
		t.Errorf("Links(unknown account) = %v, want no links", list)
	}
	checkEqual(t, "Connect with the app disabled", l, mustConnect(t, st, a.ID, app.ID, "a", "openid"))
}

func linkScopes(t *testing.T, st store.Store, c *clock) {
	a, app := mustAccount(t, st, "a@example.com", cola.TierFree), mustApp(t, st, "app", "a")
	want := mustConnect(t, st, a.ID, app.ID, "a")
	for _, granted := range [][]string{{"b", "a"}, {"b"}, {}, {"b"}} {
		c.advance(time.Minute)
		want.Scopes = scopes(granted...)
		if len(granted) == 2 {
			want.Scopes = scopes("a", "b")
		}
		checkEqual(t, fmt.Sprint("Connect with ", granted), want, mustConnect(t, st, a.ID, app.ID, granted...))
		checkEqual(t, fmt.Sprint("Links after ", granted), []store.Link{want}, mustLinks(t, st, 0))
	}
}

func connectErrors(t *testing.T, st store.Store, _ *clock) {
	a, app := mustAccount(t, st, "a@example.com", cola.TierFree), mustApp(t, st, "app")
	for name, ends := range map[string]struct {
		account cola.AccountID
		app     int64
	}{
		"unknown account": {a.ID + 100, app.ID},
		"unknown app":     {a.ID, app.ID + 100},
		"both unknown":    {a.ID + 100, app.ID + 100},
	} {
		if _, err := st.Connect(t.Context(), ends.account, ends.app, nil); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("Connect(%s) error = %v, want ErrNotFound", name, err)
		}
	}
	for _, scope := range []string{"a\x00", "\xff"} {
		if _, err := st.Connect(t.Context(), a.ID, app.ID, scopes(scope)); !errors.Is(err, store.ErrMalformed) {
			t.Errorf("Connect(scope %q) error = %v, want ErrMalformed", scope, err)
		}
	}
	if list := mustLinks(t, st, 0); len(list) != 0 {
		t.Errorf("Links = %v, want no links", list)
	}
}

func revokeLinkTwice(t *testing.T, st store.Store, c *clock) {
	a, app, other := mustAccount(t, st, "a@example.com", cola.TierFree), mustApp(t, st, "app"), mustApp(t, st, "other")
	l, second := mustConnect(t, st, a.ID, app.ID, "a"), mustConnect(t, st, a.ID, other.ID, "a")
	c.advance(time.Minute)
	l.RevokedAt = c.now()
	for range 2 {
		mustDo(t, st.RevokeLink(t.Context(), 0, l.ID))
		c.advance(time.Minute)
	}
	checkEqual(t, "Connect with other scopes", l, mustConnect(t, st, a.ID, app.ID, "b"))
	checkEqual(t, "Links", []store.Link{l, second}, mustLinks(t, st, 0))
	mustDo(t, st.RevokeLink(t.Context(), a.ID, l.ID))
	for name, change := range map[string]func(context.Context, cola.AccountID, int64) error{
		"RevokeLink":  st.RevokeLink,
		"RestoreLink": st.RestoreLink,
	} {
		for _, account := range []cola.AccountID{0, a.ID} {
			if err := change(t.Context(), account, second.ID+100); !errors.Is(err, store.ErrNotFound) {
				t.Errorf("%s(unknown link, account %d) error = %v, want ErrNotFound", name, account, err)
			}
		}
		if err := change(t.Context(), a.ID+100, l.ID); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("%s(another account's link) error = %v, want ErrNotFound", name, err)
		}
	}
	checkEqual(t, "Links", []store.Link{l, second}, mustLinks(t, st, 0))
}

func restoreLink(t *testing.T, st store.Store, c *clock) {
	a, app, other := mustAccount(t, st, "a@example.com", cola.TierFree), mustApp(t, st, "app"), mustApp(t, st, "other")
	l, second := mustConnect(t, st, a.ID, app.ID, "a"), mustConnect(t, st, a.ID, other.ID)
	mustDo(t, st.RevokeLink(t.Context(), 0, l.ID))
	mustDo(t, st.RevokeLink(t.Context(), 0, second.ID))
	second.RevokedAt = c.now()
	c.advance(time.Minute)
	for range 2 {
		mustDo(t, st.RestoreLink(t.Context(), 0, l.ID))
		checkEqual(t, "Links", []store.Link{l, second}, mustLinks(t, st, 0))
	}
	l.Scopes = scopes("b")
	checkEqual(t, "Connect with other scopes", l, mustConnect(t, st, a.ID, app.ID, "b"))
	mustDo(t, st.RevokeLink(t.Context(), 0, l.ID))
	if got := mustLinks(t, st, 0)[0].RevokedAt; !got.Equal(c.now()) {
		t.Errorf("second RevokedAt = %v, want %v", got, c.now())
	}
}

// concurrentConnects checks that concurrent tokens with different scopes create one link, and that
// each call returns the scopes of its own token.
func concurrentConnects(t *testing.T, st store.Store, _ *clock) {
	a := mustAccount(t, st, "a@example.com", cola.TierFree)
	for round := range 5 {
		app := mustApp(t, st, fmt.Sprint(round))
		got := make([]store.Link, 12)
		concurrently(len(got), func(i int) {
			granted := fmt.Sprint("scope", i%3)
			l, err := st.Connect(t.Context(), a.ID, app.ID, scopes(granted))
			if err != nil || len(l.Scopes) != 1 || string(l.Scopes[0]) != granted {
				t.Errorf("Connect(%s) = %+v, %v; want that scope", granted, l, err)
			}
			got[i] = l
		})
		for _, l := range got {
			if l.ID != got[0].ID {
				t.Errorf("links %d and %d, want the same", got[0].ID, l.ID)
			}
		}
		if list := mustLinks(t, st, a.ID); len(list) != round+1 {
			t.Fatalf("round %d: got %d links, want %d", round, len(list), round+1)
		}
	}
}

// concurrentConnectsAndRevocation checks that every connection that finds the link revoked gets the
// scopes that the link had when it was revoked.
func concurrentConnectsAndRevocation(t *testing.T, st store.Store, _ *clock) {
	a := mustAccount(t, st, "a@example.com", cola.TierFree)
	for round := range 10 {
		app := mustApp(t, st, fmt.Sprint(round))
		first := mustConnect(t, st, a.ID, app.ID)
		got := make([]store.Link, 12)
		concurrently(len(got), func(i int) {
			var err error
			if i == len(got)/2 {
				err = st.RevokeLink(t.Context(), 0, first.ID)
			} else {
				got[i], err = st.Connect(t.Context(), a.ID, app.ID, scopes(fmt.Sprint(i)))
			}
			if err != nil {
				t.Errorf("round %d: %v", round, err)
			}
		})
		left := mustLinks(t, st, a.ID)[round]
		for i, l := range got {
			if !l.RevokedAt.IsZero() {
				checkEqual(t, fmt.Sprintf("round %d: link returned to connection %d", round, i), left, l)
			}
		}
	}
}

// populateLinks links an account to two apps. One app is disabled, and one link is revoked.
func populateLinks(t *testing.T, st store.Store, c *clock, account cola.AccountID) {
	t.Helper()
	first := mustApp(t, st, "ünïcode's app", "b", "a")
	second := mustApp(t, st, "app2")
	l := mustConnect(t, st, account, first.ID, "openid", "a")
	mustConnect(t, st, account, second.ID)
	mustAccountOf(t, st, testIssuer, "subject", "A@example.com")
	mustAccountOf(t, st, testIssuer, "SUBJECT", "")
	settle(t, st, account, charge(account, 1, restBy(linkCredential(l.ID), cola.MeterListRecords, 0)))
	c.advance(time.Second)
	mustDo(t, st.RevokeLink(t.Context(), 0, l.ID))
	mustDo(t, st.DisableApp(t.Context(), second.ID))
}

func checkCopiedLinks(t *testing.T, from, to store.Store, account cola.AccountID) {
	want, got := mustLinks(t, from, 0), mustLinks(t, to, 0)
	checkEqual(t, "Links", want, got)
	for subject, verified := range map[string]string{"subject": "", "SUBJECT": "", "another": "a@EXAMPLE.com"} {
		checkEqual(t, "account of "+subject, mustAccountOf(t, from, testIssuer, subject, verified),
			mustAccountOf(t, to, testIssuer, subject, verified))
	}
	fresh := mustApp(t, to, "fresh")
	if last := got[len(got)-1]; fresh.ID <= last.App.ID || mustConnect(t, to, account, fresh.ID).ID <= last.ID {
		t.Errorf("new app ID = %d, want app and link IDs after the copied ones", fresh.ID)
	}
}

func checkCopiedSearches(t *testing.T, from, to store.Store, account cola.AccountID) {
	other, err := to.AccountByEmail(t.Context(), "b@example.com")
	must(t, other, err)
	for _, id := range []cola.AccountID{account, other.ID} {
		checkEqual(t, "SavedSearches", mustSearches(t, from, id), mustSearches(t, to, id))
	}
	found, repeated, err := to.CreateSavedSearch(t.Context(), withKey(newSearch(other.ID, 4), "key", 1))
	if must(t, found, err); !repeated || found.UUID != newSearch(other.ID, 2).Search.UUID {
		t.Errorf("repeated request in the copy = %+v, repeated %v; want the copied search", found, repeated)
	}
	_, _, err = to.CreateSavedSearch(t.Context(), withKey(newSearch(other.ID, 4), "key", 2))
	if !errors.Is(err, store.ErrReused) {
		t.Errorf("CreateSavedSearch(reused key) error = %v, want ErrReused", err)
	}
	fresh := withKey(newSearch(other.ID, 3), "new key", 1)
	fresh.MaxActive = 2
	if _, _, err := to.CreateSavedSearch(t.Context(), fresh); !errors.Is(err, store.ErrLimit) {
		t.Errorf("third active search: error = %v, want ErrLimit", err)
	}
	fresh.MaxActive = 3
	search := mustCreate(t, to, fresh)
	checkEqual(t, "newest search", search, mustSearches(t, to, other.ID)[2])
}
