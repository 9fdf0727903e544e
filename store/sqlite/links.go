package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"slices"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

const (
	selectLinks = `SELECT l.id, l.account_id, a.email, l.scopes, l.created_at, l.last_used_at, l.revoked_at,
		p.id, p.issuer, p.client_id, p.name, p.scopes, p.created_at, p.disabled_at
		FROM links l JOIN accounts a ON a.id = l.account_id JOIN apps p ON p.id = l.app_id`
	linkByEnds = selectLinks + ` WHERE l.account_id = ? AND l.app_id = ?`
	upsertLink = `INSERT INTO links (account_id, app_id, scopes, created_at)
		SELECT a.id, p.id, ?3, ?4 FROM accounts a, apps p WHERE a.id = ?1 AND p.id = ?2
		ON CONFLICT (account_id, app_id) DO UPDATE SET scopes = excluded.scopes WHERE revoked_at IS NULL`
	revokeLink  = `UPDATE links SET revoked_at = coalesce(revoked_at, ?1) WHERE id = ?2 AND ?3 IN (0, account_id)`
	restoreLink = `UPDATE links SET revoked_at = NULL WHERE id = ?1 AND ?2 IN (0, account_id)`
)

func scanLink(row scanner) (l store.Link, err error) {
	err = row.Scan(append([]any{&l.ID, &l.Account, &l.Email, target{&l.Scopes}, target{&l.CreatedAt}, target{&l.LastUsedAt}, target{&l.RevokedAt}},
		appTargets(&l.App)...)...)
	if errors.Is(err, sql.ErrNoRows) {
		err = store.ErrNotFound
	}
	return l, err
}

// Connect implements store.Links.
func (s *Store) Connect(ctx context.Context, account cola.AccountID, app int64, scopes []cola.Scope) (store.Link, error) {
	const operation = "connect app"
	scopes, err := store.SortScopes(scopes)
	if err != nil {
		return store.Link{}, failed(operation, err)
	}
	found, err := s.linkOf(ctx, account, app)
	upToDate := err == nil && (!found.RevokedAt.IsZero() || slices.Equal(found.Scopes, scopes))
	if upToDate || err != nil && !errors.Is(err, store.ErrNotFound) {
		return found, failed(operation, err)
	}
	change := store.LinkRescoped
	if err != nil {
		change = store.LinkMade
	}
	var made store.Link
	err = s.transact(ctx, operation, func(ctx context.Context) error {
		now := s.instant()
		err := s.ledger.exec(ctx, upsertLink, int64(account), app, encode(&scopes), encode(&now))
		if err != nil {
			return err
		}
		made, err = scanLink(s.ledger.row(ctx, linkByEnds, int64(account), app))
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

// linkOf reads the link of an account to an app.
func (s *Store) linkOf(ctx context.Context, account cola.AccountID, app int64) (store.Link, error) {
	if err := s.start(); err != nil {
		return store.Link{}, err
	}
	defer s.done()
	return scanLink(s.read.row(ctx, linkByEnds, int64(account), app))
}

// Links implements store.Links.
func (s *Store) Links(ctx context.Context, account cola.AccountID) ([]store.Link, error) {
	const operation = "list links"
	if err := s.start(); err != nil {
		return nil, failed(operation, err)
	}
	defer s.done()
	query, args := ofAccount(selectLinks, `l.account_id`, account)
	rows, err := s.read.query(ctx, query+` ORDER BY l.id`, args...)
	list, err := collect(rows, err, scanLink)
	return list, failed(operation, err)
}

// RevokeLink implements store.Links.
func (s *Store) RevokeLink(ctx context.Context, account cola.AccountID, id int64) error {
	return s.transact(ctx, "revoke link", func(ctx context.Context) error {
		now := s.instant()
		n, err := s.ledger.affect(ctx, revokeLink, encode(&now), id, int64(account))
		if err == nil && n == 0 {
			err = store.ErrNotFound
		}
		return err
	})
}

// RestoreLink implements store.Links.
func (s *Store) RestoreLink(ctx context.Context, account cola.AccountID, id int64) error {
	return s.transact(ctx, "restore link", func(ctx context.Context) error {
		n, err := s.ledger.affect(ctx, restoreLink, id, int64(account))
		if err == nil && n == 0 {
			err = store.ErrNotFound
		}
		return err
	})
}
