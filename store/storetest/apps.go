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
		{"register and get", appRoundTrip},
		{"register again", registerAppAgain},
		{"ensure keeps an existing app", ensureApp},
		{"disable is idempotent", disableAppTwice},
		{"malformed", malformedApp},
		{"concurrent registration", registerAppConcurrently},
	})
}

func scopes(names ...string) []cola.Scope {
	list := make([]cola.Scope, len(names))
	for i, n := range names {
		list[i] = cola.Scope(n)
	}
	return list
}

// mustApp registers an app under testIssuer, named after its client ID.
func mustApp(t tb, st store.Store, clientID string, allowed ...string) store.App {
	t.Helper()
	a, err := st.RegisterApp(context.Background(),
		store.App{Issuer: testIssuer, ClientID: clientID, Name: clientID, Scopes: scopes(allowed...)})
	return must(t, a, err)
}

func checkApps(t tb, st store.Store, want ...store.App) {
	t.Helper()
	list, err := st.Apps(context.Background())
	checkEqual(t, "Apps", want, must(t, list, err))
}

// mustDo fails the test on an error.
func mustDo(t tb, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func appRoundTrip(t *testing.T, st store.Store, c *clock) {
	checkApps(t, st)
	c.set(epoch.In(time.FixedZone("", 3600)).Add(789 * time.Nanosecond)) // stored in UTC, in whole microseconds
	params := store.App{
		ID:         42,
		Issuer:     testIssuer,
		ClientID:   "https://app.example.com/client.json",
		Name:       "o'App 100%_ ünï",
		Scopes:     scopes("b", "a", `quoted "c"`, "a"),
		CreatedAt:  epoch.Add(time.Hour),
		DisabledAt: epoch,
	}
	a, err := st.RegisterApp(t.Context(), params)
	checkEqual(t, "RegisterApp", store.App{
		ID:        a.ID,
		Issuer:    testIssuer,
		ClientID:  params.ClientID,
		Name:      params.Name,
		Scopes:    scopes("a", "b", `quoted "c"`),
		CreatedAt: epoch,
	}, must(t, a, err))
	checkEqual(t, "scopes of the argument", scopes("b", "a", `quoted "c"`, "a"), params.Scopes)
	b := mustApp(t, st, "App")
	checkEqual(t, "scopes of an app without scopes", scopes(), b.Scopes)
	lowerCase := mustApp(t, st, "app")
	otherIssuer, err := st.EnsureApp(t.Context(), store.App{Issuer: "https://other.example.com", ClientID: "App"})
	must(t, otherIssuer, err)
	checkApps(t, st, a, b, lowerCase, otherIssuer)
	for _, want := range []store.App{a, b, lowerCase, otherIssuer} {
		got, err := st.AppByClient(t.Context(), want.Issuer, want.ClientID)
		checkEqual(t, "AppByClient", want, must(t, got, err))
	}
	for _, client := range []string{"", "APP", "App\x00", "\xff", "%"} {
		if _, err := st.AppByClient(t.Context(), testIssuer, client); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("AppByClient(%q) error = %v, want ErrNotFound", client, err)
		}
	}
}

func registerAppAgain(t *testing.T, st store.Store, c *clock) {
	a, other := mustApp(t, st, "app", "a"), mustApp(t, st, "other", "a")
	c.advance(time.Minute)
	mustDo(t, st.DisableApp(t.Context(), a.ID))
	a.Name, a.Scopes = "Renamed", scopes("b")
	got, err := st.RegisterApp(t.Context(),
		store.App{Issuer: testIssuer, ClientID: "app", Name: "Renamed", Scopes: scopes("b")})
	checkEqual(t, "RegisterApp again", a, must(t, got, err))
	checkApps(t, st, a, other)
}

func ensureApp(t *testing.T, st store.Store, c *clock) {
	first, err := st.EnsureApp(t.Context(),
		store.App{Issuer: testIssuer, ClientID: "app", Name: "App", Scopes: scopes("b", "a")})
	checkEqual(t, "EnsureApp", store.App{
		ID:        first.ID,
		Issuer:    testIssuer,
		ClientID:  "app",
		Name:      "App",
		Scopes:    scopes("a", "b"),
		CreatedAt: epoch,
	}, must(t, first, err))
	c.advance(time.Minute)
	mustDo(t, st.DisableApp(t.Context(), first.ID))
	first.DisabledAt = c.now()
	got, err := st.EnsureApp(t.Context(),
		store.App{Issuer: testIssuer, ClientID: "app", Name: "Other", Scopes: scopes("c")})
	checkEqual(t, "EnsureApp for an existing app", first, must(t, got, err))
	checkApps(t, st, first)
}

func disableAppTwice(t *testing.T, st store.Store, c *clock) {
	a, other := mustApp(t, st, "app"), mustApp(t, st, "other")
	c.advance(time.Minute)
	a.DisabledAt = c.now()
	for range 2 {
		mustDo(t, st.DisableApp(t.Context(), a.ID))
		c.advance(time.Minute)
	}
	checkApps(t, st, a, other)
	if err := st.DisableApp(t.Context(), other.ID+100); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("DisableApp(unknown app) error = %v, want ErrNotFound", err)
	}
}

func malformedApp(t *testing.T, st store.Store, _ *clock) {
	long := strings.Repeat("x", store.MaxKeyText+1)
	for name, app := range map[string]store.App{
		"no issuer":          {ClientID: "app"},
		"no client ID":       {Issuer: testIssuer},
		"client ID with NUL": {Issuer: testIssuer, ClientID: "app\x00"},
		"client ID too long": {Issuer: testIssuer, ClientID: long},
		"name is not UTF-8":  {Issuer: testIssuer, ClientID: "app", Name: "\xff"},
		"scope with NUL":     {Issuer: testIssuer, ClientID: "app", Scopes: scopes("a\x00")},
	} {
		for method, register := range map[string]func(context.Context, store.App) (store.App,
			error){"RegisterApp": st.RegisterApp, "EnsureApp": st.EnsureApp} {
			if _, err := register(t.Context(), app); !errors.Is(err, store.ErrMalformed) {
				t.Errorf("%s(%s) error = %v, want ErrMalformed", method, name, err)
			}
		}
	}
	checkApps(t, st)
}

func registerAppConcurrently(t *testing.T, st store.Store, _ *clock) {
	for round := range 5 {
		got := make([]store.App, 12)
		concurrently(len(got), func(i int) {
			register := st.EnsureApp
			if i%3 == 0 {
				register = st.RegisterApp
			}
			a, err := register(t.Context(), store.App{Issuer: testIssuer, ClientID: fmt.Sprint(round), Name: "App"})
			if err != nil {
				t.Errorf("concurrent registration: %v", err)
			}
			got[i] = a
		})
		for _, a := range got {
			checkEqual(t, "app", got[0], a)
		}
		list, err := st.Apps(t.Context())
		if len(must(t, list, err)) != round+1 {
			t.Fatalf("round %d: got %d apps, want %d", round, len(list), round+1)
		}
	}
}
