package sqlstore

import (
	"context"
	"errors"

	"github.com/colaregistry/colaregistry/store"
)

const (
	appNames    = `id, issuer, client_id, name, scopes, created_at, disabled_at`
	selectApps  = `SELECT ` + appNames + ` FROM apps`
	appByClient = selectApps + ` WHERE issuer = $1 AND client_id = $2`
	insertApp   = `INSERT INTO apps (issuer, client_id, name, scopes, created_at)
		VALUES ($1, $2, $3, $4, coalesce($5, clock_timestamp())) ON CONFLICT (issuer, client_id) DO `
	disableApp = `UPDATE apps SET disabled_at = coalesce(disabled_at, $2, clock_timestamp()) WHERE id = $1`
)

func appColumns(a *store.App) []any {
	return []any{&a.ID, &a.Issuer, &a.ClientID, &a.Name, &a.Scopes, &a.CreatedAt, &a.DisabledAt}
}

// RegisterApp implements store.Apps.
func (s *Store) RegisterApp(ctx context.Context, app store.App) (store.App, error) {
	return s.keepApp(ctx, "register app", app, `UPDATE SET name = excluded.name, scopes = excluded.scopes, disabled_at = NULL`)
}

// EnsureApp implements store.Apps.
func (s *Store) EnsureApp(ctx context.Context, app store.App) (store.App, error) {
	found, err := s.AppByClient(ctx, app.Issuer, app.ClientID)
	if err == nil || !errors.Is(err, store.ErrNotFound) {
		return found, err
	}
	return s.keepApp(ctx, "ensure app", app, `NOTHING`)
}

// keepApp inserts an app, does what otherwise says to one that exists, and returns the stored app.
func (s *Store) keepApp(ctx context.Context, operation string, app store.App, otherwise string) (store.App, error) {
	app, err := app.Settle()
	if err != nil {
		return store.App{}, s.db.Failed(operation, err)
	}
	var kept store.App
	err = s.db.Transact(ctx, operation, func(ctx context.Context, tx Tx) error {
		_, err := tx.Exec(ctx, insertApp+otherwise, app.Issuer, app.ClientID, app.Name, &app.Scopes, s.clock())
		if err != nil {
			return err
		}
		kept, err = one(ctx, tx, appColumns, appByClient, app.Issuer, app.ClientID)
		return err
	})
	if err != nil {
		return store.App{}, err
	}
	return kept, nil
}

// AppByClient implements store.Apps.
func (s *Store) AppByClient(ctx context.Context, issuer, clientID string) (store.App, error) {
	return readOne(ctx, s, "find app", appColumns, appByClient, issuer, clientID)
}

// Apps implements store.Apps.
func (s *Store) Apps(ctx context.Context) ([]store.App, error) {
	return readList(ctx, s, "list apps", appColumns, selectApps+` ORDER BY id`)
}

// DisableApp implements store.Apps.
func (s *Store) DisableApp(ctx context.Context, id int64) error {
	return s.affectOne(ctx, "disable app", disableApp, id, s.clock)
}
