package postgres

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"github.com/colaregistry/colaregistry/store"
)

const (
	selectApps  = `SELECT id, issuer, client_id, name, scopes, created_at, disabled_at FROM apps`
	appByClient = selectApps + ` WHERE issuer = $1 AND client_id = $2`
	insertApp   = `INSERT INTO apps (issuer, client_id, name, scopes, created_at)
		VALUES ($1, $2, $3, $4, coalesce($5, clock_timestamp())) ON CONFLICT (issuer, client_id) DO `
)

func appColumns(a *store.App) fields {
	return fields{&a.ID, &a.Issuer, &a.ClientID, &a.Name, &a.Scopes, &a.CreatedAt, &a.DisabledAt}
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
	err = s.transact(ctx, operation, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, insertApp+otherwise, app.Issuer, app.ClientID, app.Name, encode(&app.Scopes), s.clock())
		if err != nil {
			return err
		}
		rows, err := tx.Query(ctx, appByClient, app.Issuer, app.ClientID)
		kept, err = one(rows, err, appColumns)
		return err
	})
	if err != nil {
		return store.App{}, err
	}
	return kept, nil
}

// AppByClient implements store.Apps.
func (s *Store) AppByClient(ctx context.Context, issuer, clientID string) (store.App, error) {
	var a store.App
	err := s.read(ctx, "find app", func() error {
		rows, err := s.general.Query(ctx, appByClient, issuer, clientID)
		if a, err = one(rows, err, appColumns); sqlState(err) == notInEncoding {
			return store.ErrNotFound
		}
		return err
	})
	return a, err
}

// Apps implements store.Apps.
func (s *Store) Apps(ctx context.Context) ([]store.App, error) {
	var list []store.App
	err := s.read(ctx, "list apps", func() error {
		rows, err := s.general.Query(ctx, selectApps+` ORDER BY id`)
		list, err = collect(rows, err, appColumns)
		return err
	})
	return list, err
}

// DisableApp implements store.Apps.
func (s *Store) DisableApp(ctx context.Context, id int64) error {
	return s.transact(ctx, "disable app", func(tx pgx.Tx) error {
		done, err := tx.Exec(ctx, `UPDATE apps SET disabled_at = coalesce(disabled_at, $1, clock_timestamp()) WHERE id = $2`, s.clock(), id)
		if err == nil && done.RowsAffected() == 0 {
			err = store.ErrNotFound
		}
		return err
	})
}
