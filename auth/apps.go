package auth

import (
	"context"
	"errors"
	"log/slog"
	"slices"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/security"
	"github.com/colaregistry/colaregistry/store"
)

// findGrant finds the account and connection of a verified token, creating them if they don't
// exist. It creates nothing if the app is rejected (see app).
func (t *Tokens) findGrant(ctx context.Context, issuer string, c tokenClaims) (g grant, err error) {
	err = withStoreTimeout(ctx, "find account for token", func(ctx context.Context) error {
		app, err := t.app(ctx, issuer, c.client)
		if err != nil {
			return err
		}
		c.email = t.links.of(issuer).linking(c.email)
		account, err := t.store.AccountOf(ctx, store.Identity{Issuer: issuer, Subject: c.subject}, c.email)
		if err != nil {
			return err
		}
		recordIdentity(ctx, t.events, account, issuer)
		t.throttledLog.warnDuplicateAccount(account, issuer, c.email, "access")
		link, err := t.store.Connect(ctx, account.ID, app.ID, c.scopes)
		if err != nil {
			return err
		}
		t.recordLink(ctx, link)
		if !link.RevokedAt.IsZero() {
			return unauthorized("The account holder has revoked access for the app %s, and can restore it in the "+
				"dashboard.", cola.Quoted(c.client))
		}
		g = grant{account: account.ID, link: link.ID, scopes: intersect(c.scopes, app.Scopes), withheld: subtract(c.scopes, app.Scopes)}
		return nil
	})
	return g, err
}

// recordLink records a security event if Connect created or changed the connection.
func (t *Tokens) recordLink(ctx context.Context, link store.Link) {
	kind := security.NewConnection
	switch link.Change {
	case store.LinkCreated:
	case store.LinkScopesChanged:
		kind = security.ChangedScope
	default:
		return
	}
	credential := cola.Credential{Kind: cola.CredentialLink, ID: link.ID}
	t.events.Record(ctx, kind, link.Account, credential, slog.Int64("app", link.App.ID), slog.Any("scopes", link.Scopes))
}

// recordIdentity records an account's identity as a security event if the identity is new.
func recordIdentity(ctx context.Context, events *security.Events, account store.Account, issuer string) {
	if account.NewIdentity {
		events.Record(ctx, security.NewIdentity, account.ID, cola.Credential{}, slog.String("issuer", issuer))
	}
}

// app returns the app with the given client ID. With TokenOptions.AnyApp it registers unknown apps;
// otherwise it rejects them. It always rejects disabled apps.
func (t *Tokens) app(ctx context.Context, issuer, clientID string) (store.App, error) {
	app, err := t.store.AppByClient(ctx, issuer, clientID)
	if errors.Is(err, store.ErrNotFound) {
		if !t.anyApp {
			return store.App{}, unauthorized("The app %s is not registered with this service. Ask the operator to "+
				"register it (app register).", cola.Quoted(clientID))
		}
		app, err = t.store.EnsureApp(ctx, store.App{Issuer: issuer, ClientID: clientID, Name: clientID, Scopes: cola.Scopes()})
	}
	if err != nil {
		return store.App{}, err
	}
	if !app.DisabledAt.IsZero() {
		return store.App{}, unauthorized("The operator disabled the app %s. Contact the operator, or use an "+
			"API key.", cola.Quoted(clientID))
	}
	return app, nil
}

// intersect returns the scopes that are in both lists.
func intersect(a, b []cola.Scope) (both []cola.Scope) {
	for _, s := range a {
		if slices.Contains(b, s) {
			both = append(both, s)
		}
	}
	return both
}

// subtract returns the scopes that are in a but not in b.
func subtract(a, b []cola.Scope) (rest []cola.Scope) {
	for _, s := range a {
		if !slices.Contains(b, s) {
			rest = append(rest, s)
		}
	}
	return rest
}
