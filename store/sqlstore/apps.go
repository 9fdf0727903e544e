package sqlstore

import (
	"context"
	"errors"
	"slices"
	"strconv"

	"github.com/colaregistry/colaregistry/cola"
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
	return s.upsertApp(ctx, "register app", app,
		`UPDATE SET name = excluded.name, scopes = excluded.scopes, disabled_at = NULL`)
}

// EnsureApp implements store.Apps.
func (s *Store) EnsureApp(ctx context.Context, app store.App) (store.App, error) {
	found, err := s.AppByClient(ctx, app.Issuer, app.ClientID)
	if err == nil || !errors.Is(err, store.ErrNotFound) {
		return found, err
	}
	return s.upsertApp(ctx, "ensure app", app, `NOTHING`)
}

// upsertApp inserts an app and returns the stored app. onConflict is the action to take if the app
// exists.
func (s *Store) upsertApp(ctx context.Context, operation string, app store.App, onConflict string) (store.App, error) {
	app, err := app.Normalize()
	if err != nil {
		return store.App{}, s.db.Failed(operation, err)
	}
	var stored store.App
	err = s.db.Transact(ctx, operation, func(ctx context.Context, tx Tx) error {
		_, err := tx.Exec(ctx, insertApp+onConflict, app.Issuer, app.ClientID, app.Name, &app.Scopes, s.clock())
		if err != nil {
			return err
		}
		stored, err = one(ctx, tx, appColumns, appByClient, app.Issuer, app.ClientID)
		return err
	})
	if err != nil {
		return store.App{}, err
	}
	return stored, nil
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

const (
	selectLinks = `SELECT l.id, l.account_id, a.email, l.scopes, l.created_at, l.last_used_at, l.revoked_at,
		p.id, p.issuer, p.client_id, p.name, p.scopes, p.created_at, p.disabled_at
		FROM links l JOIN accounts a ON a.id = l.account_id JOIN apps p ON p.id = l.app_id`
	linkByAccountAndApp = selectLinks + ` WHERE l.account_id = $1 AND l.app_id = $2`
	upsertLink          = `INSERT INTO links AS l (account_id, app_id, scopes, created_at)
		SELECT a.id, p.id, $3, coalesce($4, clock_timestamp()) FROM accounts a, apps p WHERE a.id = $1 AND a.deleted_at IS NULL AND p.id = $2
		ON CONFLICT (account_id, app_id) DO UPDATE SET scopes = excluded.scopes WHERE l.revoked_at IS NULL`
	revokeLink  = `UPDATE links SET revoked_at = coalesce(revoked_at, $3, clock_timestamp()) WHERE id = $2 AND $1::bigint IN (0, account_id)`
	restoreLink = `UPDATE links SET revoked_at = NULL WHERE id = $2 AND $1::bigint IN (0, account_id)`
)

func linkColumns(l *store.Link) []any {
	return append([]any{&l.ID, &l.Account, &l.Email, &l.Scopes, &l.CreatedAt, &l.LastUsedAt, &l.RevokedAt},
		appColumns(&l.App)...)
}

// Connect implements store.Links.
func (s *Store) Connect(ctx context.Context, account cola.AccountID, app int64,
	scopes []cola.Scope) (store.Link, error) {
	const operation = "connect app"
	scopes, err := store.SortScopes(scopes)
	if err != nil {
		return store.Link{}, s.db.Failed(operation, err)
	}
	found, err := readOne(ctx, s, operation, linkColumns, linkByAccountAndApp, int64(account), app)
	upToDate := err == nil && (!found.RevokedAt.IsZero() || slices.Equal(found.Scopes, scopes))
	if upToDate || err != nil && !errors.Is(err, store.ErrNotFound) {
		return found, err
	}
	change := store.LinkScopesChanged
	if err != nil {
		change = store.LinkCreated
	}
	var link store.Link
	err = s.db.Transact(ctx, operation, func(ctx context.Context, tx Tx) error {
		_, err := tx.Exec(ctx, upsertLink, int64(account), app, &scopes, s.clock())
		if err != nil {
			return err
		}
		link, err = one(ctx, tx, linkColumns, linkByAccountAndApp, int64(account), app)
		if err == nil && change == store.LinkCreated {
			once := "app/" + strconv.FormatInt(link.ID, 10) // a concurrent call may have created it
			err = s.queueAccountEmail(ctx, tx, account, store.EventAppConnected, link.App.Name, once)
		}
		return err
	})
	if err != nil {
		return store.Link{}, err
	}
	if link.RevokedAt.IsZero() {
		link.Change = change
	}
	return link, nil
}

// Links implements store.Links.
func (s *Store) Links(ctx context.Context, account cola.AccountID) ([]store.Link, error) {
	query, args := ofAccount(selectLinks, `l.account_id`, account)
	return readList(ctx, s, "list links", linkColumns, query+` ORDER BY l.id`, args...)
}

// RevokeLink implements store.Links.
func (s *Store) RevokeLink(ctx context.Context, account cola.AccountID, id int64) error {
	return s.affectOne(ctx, "revoke link", revokeLink, int64(account), id, s.clock)
}

// RestoreLink implements store.Links.
func (s *Store) RestoreLink(ctx context.Context, account cola.AccountID, id int64) error {
	return s.affectOne(ctx, "restore link", restoreLink, int64(account), id)
}
