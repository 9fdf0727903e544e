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
		{"connecting reports what it changes", connectReportsChanges},
		{"a link comes back", linkComesBack},
		{"a link notes the scopes of the latest token", linkNotesScopes},
		{"a link needs an account and an app", linkNeedsEnds},
		{"a link is revoked once, and stays as it was", linkIsRevokedOnce},
		{"a link is restored", linkIsRestored},
		{"of connections at once comes one link", oneLinkAtOnce},
		{"a link that is revoked at once with connections stays as it was", revokedAtOnce},
	})
}

// mustConnect returns the link between an account and an app.
func mustConnect(t tb, st store.Store, account cola.AccountID, app int64, brought ...string) store.Link {
	t.Helper()
	l, err := st.Connect(context.Background(), account, app, scopes(brought...))
	l.Change = ""
	return must(t, l, err)
}

func connectReportsChanges(t *testing.T, st store.Store, _ *clock) {
	a, app := mustAccount(t, st, "a@example.com", cola.TierFree), mustApp(t, st, "app")
	connect := func(what string, want store.LinkChange, brought ...string) int64 {
		t.Helper()
		l, err := st.Connect(t.Context(), a.ID, app.ID, scopes(brought...))
		mustDo(t, err)
		same(t, what, want, l.Change)
		return l.ID
	}
	connect("first use", store.LinkCreated, "a")
	connect("the same scopes", "", "a")
	connect("more scopes", store.LinkScopesChanged, "b", "a")
	connect("the same in another order", "", "a", "b")
	id := connect("no scopes", store.LinkScopesChanged)
	mustDo(t, st.RevokeLink(t.Context(), a.ID, id))
	connect("revoked", "", "a")
	mustDo(t, st.RestoreLink(t.Context(), a.ID, id))
	connect("restored", store.LinkScopesChanged, "a")
	same(t, "change in a list", store.LinkChange(""), mustLinks(t, st, a.ID)[0].Change)
}

func mustLinks(t tb, st store.Store, account cola.AccountID) []store.Link {
	t.Helper()
	list, err := st.Links(context.Background(), account)
	return must(t, list, err)
}

func linkCredential(id int64) cola.Credential {
	return cola.Credential{Kind: cola.CredentialLink, ID: id}
}

func linkComesBack(t *testing.T, st store.Store, c *clock) {
	a, b := mustAccount(t, st, "Ann@example.com", cola.TierFree), mustAccount(t, st, "b@example.com", cola.TierFree)
	app, other := mustApp(t, st, "app", "a"), mustApp(t, st, "other")
	c.set(epoch.In(time.FixedZone("", 3600)).Add(time.Hour + 789*time.Nanosecond))
	brought := []string{"openid", "a", "openid"}
	l := mustConnect(t, st, a.ID, app.ID, brought...)
	same(t, "made", store.Link{ID: l.ID, Account: a.ID, Email: "Ann@example.com", App: app, Scopes: scopes("a", "openid"),
		CreatedAt: epoch.Add(time.Hour)}, l)
	same(t, "scopes of the token", []string{"openid", "a", "openid"}, brought)
	second, third := mustConnect(t, st, a.ID, other.ID), mustConnect(t, st, b.ID, app.ID)
	same(t, "scopes of a token without any", scopes(), second.Scopes)
	if first := mustConnect(t, st, a.ID, app.ID, brought...); first.ID != l.ID {
		t.Errorf("connected again, the link has the id %d, not %d", first.ID, l.ID)
	}
	c.advance(time.Minute)
	mustDo(t, st.DisableApp(t.Context(), app.ID))
	l.App.DisabledAt = c.now().UTC().Truncate(time.Microsecond)
	third.App = l.App
	same(t, "all links", []store.Link{l, second, third}, mustLinks(t, st, 0))
	same(t, "links of an account", []store.Link{third}, mustLinks(t, st, b.ID))
	if list := mustLinks(t, st, b.ID+100); len(list) != 0 {
		t.Errorf("links of nobody: %v, want none", list)
	}
	same(t, "connected while the app is disabled", l, mustConnect(t, st, a.ID, app.ID, "a", "openid"))
}

func linkNotesScopes(t *testing.T, st store.Store, c *clock) {
	a, app := mustAccount(t, st, "a@example.com", cola.TierFree), mustApp(t, st, "app", "a")
	want := mustConnect(t, st, a.ID, app.ID, "a")
	for _, brought := range [][]string{{"b", "a"}, {"b"}, {}, {"b"}} {
		c.advance(time.Minute)
		want.Scopes = scopes(brought...)
		if len(brought) == 2 {
			want.Scopes = scopes("a", "b")
		}
		same(t, fmt.Sprint("with ", brought), want, mustConnect(t, st, a.ID, app.ID, brought...))
		same(t, fmt.Sprint("after ", brought), []store.Link{want}, mustLinks(t, st, 0))
	}
}

func linkNeedsEnds(t *testing.T, st store.Store, _ *clock) {
	a, app := mustAccount(t, st, "a@example.com", cola.TierFree), mustApp(t, st, "app")
	for name, ends := range map[string]struct {
		account cola.AccountID
		app     int64
	}{"nobody": {a.ID + 100, app.ID}, "no app": {a.ID, app.ID + 100}, "neither": {a.ID + 100, app.ID + 100}} {
		if _, err := st.Connect(t.Context(), ends.account, ends.app, nil); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("a link of %s: %v, want ErrNotFound", name, err)
		}
	}
	for _, scope := range []string{"a\x00", "\xff"} {
		if _, err := st.Connect(t.Context(), a.ID, app.ID, scopes(scope)); !errors.Is(err, store.ErrMalformed) {
			t.Errorf("the scope %q: %v, want ErrMalformed", scope, err)
		}
	}
	if list := mustLinks(t, st, 0); len(list) != 0 {
		t.Errorf("links %v, want none", list)
	}
}

func linkIsRevokedOnce(t *testing.T, st store.Store, c *clock) {
	a, app, other := mustAccount(t, st, "a@example.com", cola.TierFree), mustApp(t, st, "app"), mustApp(t, st, "other")
	l, second := mustConnect(t, st, a.ID, app.ID, "a"), mustConnect(t, st, a.ID, other.ID, "a")
	c.advance(time.Minute)
	l.RevokedAt = c.now()
	for range 2 {
		mustDo(t, st.RevokeLink(t.Context(), 0, l.ID))
		c.advance(time.Minute)
	}
	same(t, "connected with other scopes", l, mustConnect(t, st, a.ID, app.ID, "b"))
	same(t, "links", []store.Link{l, second}, mustLinks(t, st, 0))
	mustDo(t, st.RevokeLink(t.Context(), a.ID, l.ID))
	for name, change := range map[string]func(context.Context, cola.AccountID, int64) error{"RevokeLink": st.RevokeLink, "RestoreLink": st.RestoreLink} {
		for _, account := range []cola.AccountID{0, a.ID} {
			if err := change(t.Context(), account, second.ID+100); !errors.Is(err, store.ErrNotFound) {
				t.Errorf("%s of no link of account %d: %v, want ErrNotFound", name, account, err)
			}
		}
		if err := change(t.Context(), a.ID+100, l.ID); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("%s of another account's link: %v, want ErrNotFound", name, err)
		}
	}
	same(t, "links", []store.Link{l, second}, mustLinks(t, st, 0))
}

func linkIsRestored(t *testing.T, st store.Store, c *clock) {
	a, app, other := mustAccount(t, st, "a@example.com", cola.TierFree), mustApp(t, st, "app"), mustApp(t, st, "other")
	l, second := mustConnect(t, st, a.ID, app.ID, "a"), mustConnect(t, st, a.ID, other.ID)
	mustDo(t, st.RevokeLink(t.Context(), 0, l.ID))
	mustDo(t, st.RevokeLink(t.Context(), 0, second.ID))
	second.RevokedAt = c.now()
	c.advance(time.Minute)
	for range 2 {
		mustDo(t, st.RestoreLink(t.Context(), 0, l.ID))
		same(t, "links", []store.Link{l, second}, mustLinks(t, st, 0))
	}
	l.Scopes = scopes("b")
	same(t, "connected with other scopes", l, mustConnect(t, st, a.ID, app.ID, "b"))
	mustDo(t, st.RevokeLink(t.Context(), 0, l.ID))
	if got := mustLinks(t, st, 0)[0].RevokedAt; !got.Equal(c.now()) {
		t.Errorf("revoked once more at %v, want %v", got, c.now())
	}
}

// oneLinkAtOnce checks that concurrent tokens with different scopes make one link, and that its
// scopes come from the tokens.
func oneLinkAtOnce(t *testing.T, st store.Store, _ *clock) {
	a := mustAccount(t, st, "a@example.com", cola.TierFree)
	for round := range 5 {
		app := mustApp(t, st, fmt.Sprint(round))
		got := make([]store.Link, 12)
		atOnce(len(got), func(i int) {
			brought := fmt.Sprint("scope", i%3)
			l, err := st.Connect(t.Context(), a.ID, app.ID, scopes(brought))
			if err != nil || len(l.Scopes) != 1 || string(l.Scopes[0]) != brought {
				t.Errorf("connecting with %s: %+v, %v", brought, l, err)
			}
			got[i] = l
		})
		for _, l := range got {
			if l.ID != got[0].ID {
				t.Errorf("links %d and %d, want one", got[0].ID, l.ID)
			}
		}
		if list := mustLinks(t, st, a.ID); len(list) != round+1 {
			t.Fatalf("round %d: %d links, want one a round", round, len(list))
		}
	}
}

// revokedAtOnce checks that every connection that finds the link revoked gets the scopes it had.
func revokedAtOnce(t *testing.T, st store.Store, _ *clock) {
	a := mustAccount(t, st, "a@example.com", cola.TierFree)
	for round := range 10 {
		app := mustApp(t, st, fmt.Sprint(round))
		first := mustConnect(t, st, a.ID, app.ID)
		got := make([]store.Link, 12)
		atOnce(len(got), func(i int) {
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
				same(t, fmt.Sprintf("round %d: what connection %d found", round, i), left, l)
			}
		}
	}
}

// createLinks links an account to two apps. One app is disabled, and one link is revoked.
func createLinks(t *testing.T, st store.Store, c *clock, account cola.AccountID) {
	t.Helper()
	first := mustApp(t, st, "ünïcode's app", "b", "a")
	second := mustApp(t, st, "app2")
	l := mustConnect(t, st, account, first.ID, "openid", "a")
	mustConnect(t, st, account, second.ID)
	mustAccountOf(t, st, anIssuer, "subject", "A@example.com")
	mustAccountOf(t, st, anIssuer, "SUBJECT", "")
	settle(t, st, account, charge(account, 1, restBy(linkCredential(l.ID), cola.MeterListRecords, 0)))
	c.advance(time.Second)
	mustDo(t, st.RevokeLink(t.Context(), 0, l.ID))
	mustDo(t, st.DisableApp(t.Context(), second.ID))
}

func movedLinksDoTheSame(t *testing.T, from, to store.Store, account cola.AccountID) {
	want, got := mustLinks(t, from, 0), mustLinks(t, to, 0)
	same(t, "links", want, got)
	for subject, verified := range map[string]string{"subject": "", "SUBJECT": "", "another": "a@EXAMPLE.com"} {
		same(t, "account of "+subject, mustAccountOf(t, from, anIssuer, subject, verified), mustAccountOf(t, to, anIssuer, subject, verified))
	}
	fresh := mustApp(t, to, "fresh")
	if last := got[len(got)-1]; fresh.ID <= last.App.ID || mustConnect(t, to, account, fresh.ID).ID <= last.ID {
		t.Errorf("a new app has the id %d, not one after those that were moved, or its link has not", fresh.ID)
	}
}

func movedSearchesDoTheSame(t *testing.T, from, to store.Store, account cola.AccountID) {
	other, err := to.AccountByEmail(t.Context(), "b@example.com")
	must(t, other, err)
	for _, id := range []cola.AccountID{account, other.ID} {
		same(t, "saved searches", mustSearches(t, from, id), mustSearches(t, to, id))
	}
	again, repeated, err := to.CreateSavedSearch(t.Context(), once(newSearch(other.ID, 4), "key", 1))
	if must(t, again, err); !repeated || again.UUID != newSearch(other.ID, 2).Search.UUID {
		t.Errorf("a request that is sent again after the move: %+v, repeated %v", again, repeated)
	}
	if _, _, err := to.CreateSavedSearch(t.Context(), once(newSearch(other.ID, 4), "key", 2)); !errors.Is(err, store.ErrReused) {
		t.Errorf("its key for something else: %v, want ErrReused", err)
	}
	fresh := once(newSearch(other.ID, 3), "new key", 1)
	fresh.MaxActive = 2
	if _, _, err := to.CreateSavedSearch(t.Context(), fresh); !errors.Is(err, store.ErrLimit) {
		t.Errorf("a third active search: %v, want ErrLimit", err)
	}
	fresh.MaxActive = 3
	made := mustCreate(t, to, fresh)
	same(t, "the newest search", made, mustSearches(t, to, other.ID)[2])
}
