package postgres

import (
	"context"
	"errors"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

const (
	selectLinks = `SELECT l.id, l.account_id, a.email, l.scopes, l.created_at, l.last_used_at, l.revoked_at,
		p.id, p.issuer, p.client_id, p.name, p.scopes, p.created_at, p.disabled_at
		FROM links l JOIN accounts a ON a.id = l.account_id JOIN apps p ON p.id = l.app_id`
	linkByEnds = selectLinks + ` WHERE l.account_id = $1 AND l.app_id = $2`
	upsertLink = `INSERT INTO links AS l (account_id, app_id, scopes, created_at)
		SELECT a.id, p.id, $3, coalesce($4, clock_timestamp()) FROM accounts a, apps p WHERE a.id = $1 AND p.id = $2
		ON CONFLICT (account_id, app_id) DO UPDATE SET scopes = excluded.scopes WHERE l.revoked_at IS NULL`
	revokeLink  = `UPDATE links SET revoked_at = coalesce(revoked_at, $3, clock_timestamp()) WHERE id = $2 AND $1::bigint IN (0, account_id)`
	restoreLink = `UPDATE links SET revoked_at = NULL WHERE id = $2 AND $1::bigint IN (0, account_id)`
)

func linkColumns(l *store.Link) fields {
	return append(fields{&l.ID, &l.Account, &l.Email, &l.Scopes, &l.CreatedAt, &l.LastUsedAt, &l.RevokedAt}, appColumns(&l.App)...)
}

// Connect implements store.Links.
func (s *Store) Connect(ctx context.Context, account cola.AccountID, app int64, scopes []cola.Scope) (store.Link, error) {
	const operation = "connect app"
	scopes, err := store.SortScopes(scopes)
	if err != nil {
		return store.Link{}, failed(operation, err)
	}
	var found store.Link
	err = s.read(ctx, operation, func() (err error) {
		found, err = readLink(ctx, s.general, account, app)
		return err
	})
	upToDate := err == nil && (!found.RevokedAt.IsZero() || slices.Equal(found.Scopes, scopes))
	if upToDate || err != nil && !errors.Is(err, store.ErrNotFound) {
		return found, err
	}
	change := store.LinkRescoped
	if err != nil {
		change = store.LinkMade
	}
	var made store.Link
	err = s.transact(ctx, operation, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, upsertLink, int64(account), app, encode(&scopes), s.clock())
		if err != nil {
			return err
		}
		made, err = readLink(ctx, tx, account, app)
		return err
	})
	if err != nil {
		return store.Link{}, err
	}
	if made.RevokedAt.IsZero() {
		made.Change = change
	}
	return made, nil
}

// readLink reads the link of an account to an app.
func readLink(ctx context.Context, q querier, account cola.AccountID, app int64) (store.Link, error) {
	rows, err := q.Query(ctx, linkByEnds, int64(account), app)
	return one(rows, err, linkColumns)
}

// Links implements store.Links.
func (s *Store) Links(ctx context.Context, account cola.AccountID) ([]store.Link, error) {
	var list []store.Link
	err := s.read(ctx, "list links", func() error {
		query, args := ofAccount(selectLinks, `l.account_id`, account)
		rows, err := s.general.Query(ctx, query+` ORDER BY l.id`, args...)
		list, err = collect(rows, err, linkColumns)
		return err
	})
	return list, err
}

// RevokeLink implements store.Links.
func (s *Store) RevokeLink(ctx context.Context, account cola.AccountID, id int64) error {
	return s.transact(ctx, "revoke link", func(tx pgx.Tx) error {
		done, err := tx.Exec(ctx, revokeLink, int64(account), id, s.clock())
		if err == nil && done.RowsAffected() == 0 {
			err = store.ErrNotFound
		}
		return err
	})
}

// RestoreLink implements store.Links.
func (s *Store) RestoreLink(ctx context.Context, account cola.AccountID, id int64) error {
	return s.transact(ctx, "restore link", func(tx pgx.Tx) error {
		done, err := tx.Exec(ctx, restoreLink, int64(account), id)
		if err == nil && done.RowsAffected() == 0 {
			err = store.ErrNotFound
		}
		return err
	})
}
