package registry_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/registry"
	"github.com/colaregistry/colaregistry/store"
)

// TestConnections checks that account holders can list connected apps, revoke access immediately
// and restore it.
func TestConnections(t *testing.T) {
	w := mustWorld(t, 0)
	holder := w.mustHolder(t, "apps@example.com", cola.TierFree)
	_, app := w.mustConnect(t, holder.Account, "Assistant")
	w.advance(time.Hour)
	w.mustConnect(t, holder.Account, "Idle")
	if _, err := w.Admit(t.Context(), app); err != nil {
		t.Fatal(err)
	}
	got, state, err := w.Connections(t.Context(), holder)
	want := []registry.Connection{
		{App: "Idle", ClientID: "client-Idle", Issuer: "https://issuer.example", Scopes: cola.Scopes(), CreatedAt: w.now()},
		{ID: app.Credential.ID, App: "Assistant", ClientID: "client-Assistant", Issuer: "https://issuer.example", Scopes: cola.Scopes(),
			CreatedAt: testNow, LastUsedAt: w.now(), Requests: 1},
	}
	want[0].ID = got[0].ID
	if diff := cmp.Diff(want, got); err != nil || diff != "" || !state.Known() {
		t.Fatalf("Connections: %v (-want +got):\n%s", err, diff)
	}
	for range 2 {
		if _, err := w.RevokeConnection(t.Context(), holder, app.Credential.ID); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := w.Admit(t.Context(), app); code(err) != cola.CodeUnauthorized {
		t.Errorf("revoked app: error = %v, want unauthorized", err)
	}
	if got, _, err = w.Connections(t.Context(), holder); err != nil || len(got) != 2 || !got[1].RevokedAt.Equal(w.now()) || got[1].IsActive() || !got[0].IsActive() {
		t.Errorf("Connections = %+v, %v, want the second revoked", got, err)
	}
	for range 2 {
		if _, err := w.RestoreConnection(t.Context(), holder, app.Credential.ID); err != nil {
			t.Fatal(err)
		}
	}
	time.Sleep(1100 * time.Millisecond) // the rejection is cached for a second
	if _, err := w.Admit(t.Context(), app); err != nil {
		t.Errorf("restored app: error = %v", err)
	}
}

// TestDisabledApp checks that an account holder cannot restore an app that the operator disabled,
// and that the error says whom to contact.
func TestDisabledApp(t *testing.T) {
	w := mustWorld(t, 0)
	holder := w.mustHolder(t, "disabled@example.com", cola.TierFree)
	id, app := w.mustConnect(t, holder.Account, "Assistant")
	if _, err := w.RevokeConnection(t.Context(), holder, app.Credential.ID); err != nil {
		t.Fatal(err)
	}
	if err := w.store.DisableApp(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	_, err := w.RestoreConnection(t.Context(), holder, app.Credential.ID)
	if code(err) != cola.CodeNotActive || !strings.Contains(err.Error(), "operator") {
		t.Errorf("error = %v, want not_active with a hint to contact the operator", err)
	}
	got, _, err := w.Connections(t.Context(), holder)
	if err != nil || len(got) != 1 || !got[0].Disabled || got[0].RevokedAt.IsZero() || got[0].IsActive() {
		t.Errorf("Connections = %+v, %v, want it disabled and still revoked", got, err)
	}
}

// TestConnectionScopes checks that a connection omits scopes that its app is not allowed to have,
// even if they are in the token.
func TestConnectionScopes(t *testing.T) {
	w := mustWorld(t, 0)
	holder := w.mustHolder(t, "scopes@example.com", cola.TierFree)
	w.mustConnect(t, holder.Account, "Assistant")
	if _, err := w.store.RegisterApp(t.Context(), store.App{Issuer: "https://issuer.example", ClientID: "client-Assistant", Name: "Reader"}); err != nil {
		t.Fatal(err)
	}
	got, _, err := w.Connections(t.Context(), holder)
	if err != nil || len(got) != 1 || len(got[0].Scopes) != 0 || got[0].App != "Reader" {
		t.Errorf("Connections = %+v, %v, want no scopes", got, err)
	}
}
