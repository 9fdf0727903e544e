package sqlstore

import (
	"context"
	"errors"
	"slices"

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

func linkColumns(l *store.Link) []any {
	return append([]any{&l.ID, &l.Account, &l.Email, &l.Scopes, &l.CreatedAt, &l.LastUsedAt, &l.RevokedAt}, appColumns(&l.App)...)
}

// Connect implements store.Links.
func (s *Store) Connect(ctx context.Context, account cola.AccountID, app int64,
	scopes []cola.Scope) (store.Link, error) {
	const operation = "connect app"
	scopes, err := store.SortScopes(scopes)
	if err != nil {
		return store.Link{}, s.db.Failed(operation, err)
	}
	found, err := readOne(ctx, s, operation, linkColumns, linkByEnds, int64(account), app)
	upToDate := err == nil && (!found.RevokedAt.IsZero() || slices.Equal(found.Scopes, scopes))
	if upToDate || err != nil && !errors.Is(err, store.ErrNotFound) {
		return found, err
	}
	change := store.LinkRescoped
	if err != nil {
		change = store.LinkMade
	}
	var made store.Link
	err = s.db.Transact(ctx, operation, func(ctx context.Context, tx Tx) error {
		_, err := tx.Exec(ctx, upsertLink, int64(account), app, &scopes, s.clock())
		if err != nil {
			return err
		}
		made, err = one(ctx, tx, linkColumns, linkByEnds, int64(account), app)
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
