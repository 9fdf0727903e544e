package storetest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

func testApps(t *testing.T, open Opener) {
	runChecks(t, open, []check{
		{"an app comes back", appComesBack},
		{"an app that is registered again may act again", appRegisteredAgain},
		{"an app that is there is ensured as it is", appEnsured},
		{"an app is disabled once", appIsDisabledOnce},
		{"an app that cannot be kept is refused", malformedApp},
		{"of one client at once comes one app", oneAppAtOnce},
	})
}

func scopes(names ...string) []cola.Scope {
	list := make([]cola.Scope, len(names))
	for i, n := range names {
		list[i] = cola.Scope(n)
	}
	return list
}

// mustApp registers an app of anIssuer whose name is its client ID.
func mustApp(t tb, st store.Store, clientID string, allowed ...string) store.App {
	t.Helper()
	a, err := st.RegisterApp(context.Background(), store.App{Issuer: anIssuer, ClientID: clientID, Name: clientID, Scopes: scopes(allowed...)})
	return must(t, a, err)
}

func mustHaveApps(t tb, st store.Store, want ...store.App) {
	t.Helper()
	list, err := st.Apps(context.Background())
	same(t, "apps", want, must(t, list, err))
}

// mustDo fails the test on an error.
func mustDo(t tb, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func appComesBack(t *testing.T, st store.Store, c *clock) {
	mustHaveApps(t, st)
	c.set(epoch.In(time.FixedZone("", 3600)).Add(789 * time.Nanosecond)) // stored in UTC, in whole microseconds
	told := store.App{ID: 42, Issuer: anIssuer, ClientID: "https://app.example.com/client.json", Name: "o'App 100%_ ünï",
		Scopes: scopes("b", "a", `quoted "c"`, "a"), CreatedAt: epoch.Add(time.Hour), DisabledAt: epoch}
	a, err := st.RegisterApp(t.Context(), told)
	same(t, "registered", store.App{ID: a.ID, Issuer: anIssuer, ClientID: told.ClientID, Name: told.Name,
		Scopes: scopes("a", "b", `quoted "c"`), CreatedAt: epoch}, must(t, a, err))
	same(t, "scopes that were told", scopes("b", "a", `quoted "c"`, "a"), told.Scopes)
	b := mustApp(t, st, "App")
	same(t, "scopes of an app without any", scopes(), b.Scopes)
	differing := mustApp(t, st, "app")
	elsewhere, err := st.EnsureApp(t.Context(), store.App{Issuer: "https://other.example.com", ClientID: "App"})
	must(t, elsewhere, err)
	mustHaveApps(t, st, a, b, differing, elsewhere)
	for _, want := range []store.App{a, b, differing, elsewhere} {
		got, err := st.AppByClient(t.Context(), want.Issuer, want.ClientID)
		same(t, "by its client id", want, must(t, got, err))
	}
	for _, client := range []string{"", "APP", "App\x00", "\xff", "%"} {
		if _, err := st.AppByClient(t.Context(), anIssuer, client); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("AppByClient(%q): %v, want ErrNotFound", client, err)
		}
	}
}

func appRegisteredAgain(t *testing.T, st store.Store, c *clock) {
	a, other := mustApp(t, st, "app", "a"), mustApp(t, st, "other", "a")
	c.advance(time.Minute)
	mustDo(t, st.DisableApp(t.Context(), a.ID))
	a.Name, a.Scopes = "Renamed", scopes("b")
	again, err := st.RegisterApp(t.Context(), store.App{Issuer: anIssuer, ClientID: "app", Name: "Renamed", Scopes: scopes("b")})
	same(t, "registered again", a, must(t, again, err))
	mustHaveApps(t, st, a, other)
}

func appEnsured(t *testing.T, st store.Store, c *clock) {
	first, err := st.EnsureApp(t.Context(), store.App{Issuer: anIssuer, ClientID: "app", Name: "App", Scopes: scopes("b", "a")})
	same(t, "ensured", store.App{ID: first.ID, Issuer: anIssuer, ClientID: "app", Name: "App", Scopes: scopes("a", "b"), CreatedAt: epoch}, must(t, first, err))
	c.advance(time.Minute)
	mustDo(t, st.DisableApp(t.Context(), first.ID))
	first.DisabledAt = c.now()
	again, err := st.EnsureApp(t.Context(), store.App{Issuer: anIssuer, ClientID: "app", Name: "Other", Scopes: scopes("c")})
	same(t, "ensured when it is there", first, must(t, again, err))
	mustHaveApps(t, st, first)
}

func appIsDisabledOnce(t *testing.T, st store.Store, c *clock) {
	a, other := mustApp(t, st, "app"), mustApp(t, st, "other")
	c.advance(time.Minute)
	a.DisabledAt = c.now()
	for range 2 {
		mustDo(t, st.DisableApp(t.Context(), a.ID))
		c.advance(time.Minute)
	}
	mustHaveApps(t, st, a, other)
	if err := st.DisableApp(t.Context(), other.ID+100); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("DisableApp of no app: %v, want ErrNotFound", err)
	}
}

func malformedApp(t *testing.T, st store.Store, _ *clock) {
	long := strings.Repeat("x", store.MaxKeyText+1)
	for name, app := range map[string]store.App{
		"no issuer":                 {ClientID: "app"},
		"no client id":              {Issuer: anIssuer},
		"a client id with a NUL":    {Issuer: anIssuer, ClientID: "app\x00"},
		"a client id too long":      {Issuer: anIssuer, ClientID: long},
		"a name of another charset": {Issuer: anIssuer, ClientID: "app", Name: "\xff"},
		"a scope with a NUL":        {Issuer: anIssuer, ClientID: "app", Scopes: scopes("a\x00")},
	} {
		for method, keep := range map[string]func(context.Context, store.App) (store.App, error){"RegisterApp": st.RegisterApp, "EnsureApp": st.EnsureApp} {
			if _, err := keep(t.Context(), app); !errors.Is(err, store.ErrMalformed) {
				t.Errorf("%s with %s: %v, want ErrMalformed", method, name, err)
			}
		}
	}
	mustHaveApps(t, st)
}

func oneAppAtOnce(t *testing.T, st store.Store, _ *clock) {
	for round := range 5 {
		got := make([]store.App, 12)
		atOnce(len(got), func(i int) {
			keep := st.EnsureApp
			if i%3 == 0 {
				keep = st.RegisterApp
			}
			a, err := keep(t.Context(), store.App{Issuer: anIssuer, ClientID: fmt.Sprint(round), Name: "App"})
			if err != nil {
				t.Errorf("keeping the app: %v", err)
			}
			got[i] = a
		})
		for _, a := range got {
			same(t, "app", got[0], a)
		}
		list, err := st.Apps(t.Context())
		if len(must(t, list, err)) != round+1 {
			t.Fatalf("round %d: %d apps, want one a round", round, len(list))
		}
	}
}
