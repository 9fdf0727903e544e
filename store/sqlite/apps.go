package sqlite

import (
	"context"
	"database/sql"
	"errors"

	"github.com/colaregistry/colaregistry/store"
)

const (
	selectApps  = `SELECT id, issuer, client_id, name, scopes, created_at, disabled_at FROM apps`
	appByClient = selectApps + ` WHERE issuer = ? AND client_id = ?`
	insertApp   = `INSERT INTO apps (issuer, client_id, name, scopes, created_at) VALUES (?, ?, ?, ?, ?) ON CONFLICT (issuer, client_id) DO `
)

func appTargets(a *store.App) []any {
	return []any{&a.ID, &a.Issuer, &a.ClientID, &a.Name, target{&a.Scopes}, target{&a.CreatedAt}, target{&a.DisabledAt}}
}

func scanApp(row scanner) (a store.App, err error) {
	err = row.Scan(appTargets(&a)...)
	if errors.Is(err, sql.ErrNoRows) {
		err = store.ErrNotFound
	}
	return a, err
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

// keepApp inserts an app, does what is said to one that is there already, and returns what is there then.
func (s *Store) keepApp(ctx context.Context, operation string, app store.App, otherwise string) (store.App, error) {
	app, err := app.Settle()
	if err != nil {
		return store.App{}, failed(operation, err)
	}
	var kept store.App
	err = s.transact(ctx, operation, func(ctx context.Context) error {
		now := s.instant()
		err := s.ledger.exec(ctx, insertApp+otherwise, app.Issuer, app.ClientID, app.Name, encode(&app.Scopes), encode(&now))
		if err != nil {
			return err
		}
		kept, err = scanApp(s.ledger.row(ctx, appByClient, app.Issuer, app.ClientID))
		return err
	})
	if err != nil {
		return store.App{}, err
	}
	return kept, nil
}

// AppByClient implements store.Apps.
func (s *Store) AppByClient(ctx context.Context, issuer, clientID string) (store.App, error) {
	const operation = "find app"
	if err := s.start(); err != nil {
		return store.App{}, failed(operation, err)
	}
	defer s.done()
	a, err := scanApp(s.read.row(ctx, appByClient, issuer, clientID))
	return a, failed(operation, err)
}

// Apps implements store.Apps.
func (s *Store) Apps(ctx context.Context) ([]store.App, error) {
	const operation = "list apps"
	if err := s.start(); err != nil {
		return nil, failed(operation, err)
	}
	defer s.done()
	rows, err := s.read.query(ctx, selectApps+` ORDER BY id`)
	list, err := collect(rows, err, scanApp)
	return list, failed(operation, err)
}

// DisableApp implements store.Apps.
func (s *Store) DisableApp(ctx context.Context, id int64) error {
	return s.transact(ctx, "disable app", func(ctx context.Context) error {
		now := s.instant()
		n, err := s.ledger.affect(ctx, `UPDATE apps SET disabled_at = coalesce(disabled_at, ?) WHERE id = ?`, encode(&now), id)
		if err == nil && n == 0 {
			err = store.ErrNotFound
		}
		return err
	})
}
