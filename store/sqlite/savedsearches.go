package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
	"github.com/colaregistry/colaregistry/store/records"
)

var (
	savedSearchNames  = strings.Join(records.Names((&records.SavedSearch{}).Columns()), ", ")
	insertSavedSearch = `INSERT INTO saved_searches (account_id, ` + savedSearchNames + `) VALUES (?, ` + placeholders(len((&records.SavedSearch{}).Columns())) + `)`
)

const (
	selectCreation = `SELECT uuid, fingerprint = ?4 FROM saved_search_creations WHERE account_id = ?1 AND once_key = ?2 AND kept_until > ?3`
	countActive    = `SELECT a.active_limit, (SELECT count(*) FROM saved_searches s WHERE s.account_id = a.id AND s.active) FROM accounts a WHERE a.id = ?`
	upsertCreation = `INSERT INTO saved_search_creations (account_id, once_key, fingerprint, uuid, kept_until) VALUES (?, ?, ?, ?, ?)
		ON CONFLICT (account_id, once_key) DO UPDATE
		SET fingerprint = excluded.fingerprint, uuid = excluded.uuid, kept_until = excluded.kept_until`
	// forgetCreations looks at the oldest few only: more than one for each new one, so that they do not pile up.
	forgetCreations = `DELETE FROM saved_search_creations WHERE (account_id, once_key) IN (
		SELECT account_id, once_key FROM saved_search_creations WHERE kept_until <= ? ORDER BY kept_until LIMIT 8)`
)

// CreateSavedSearch implements store.SavedSearches.
func (s *Store) CreateSavedSearch(ctx context.Context, n store.NewSavedSearch) (made cola.SavedSearch, repeated bool, err error) {
	const operation = "create saved search"
	if err := n.Check(); err != nil {
		return cola.SavedSearch{}, false, failed(operation, err)
	}
	row, err := records.NewSavedSearch(&n.Search)
	if err != nil {
		return cola.SavedSearch{}, false, failed(operation, err)
	}
	err = s.transact(ctx, operation, func(ctx context.Context) (err error) {
		row.CreatedAt = s.instant()
		made, repeated, err = s.createOnce(ctx, n, &row)
		return err
	})
	if err != nil {
		return cola.SavedSearch{}, false, err
	}
	return made, repeated, nil
}

// createOnce creates a search unless its request has created one before.
func (s *Store) createOnce(ctx context.Context, n store.NewSavedSearch, row *records.SavedSearch) (made cola.SavedSearch, repeated bool, err error) {
	var exists bool
	if err := s.ledger.row(ctx, `SELECT EXISTS (SELECT 1 FROM accounts WHERE id = ?)`, int64(n.Account)).Scan(&exists); err != nil {
		return made, false, err
	}
	if !exists {
		return made, false, store.ErrNotFound
	}
	if n.Once.Key != "" {
		made, err = s.createdBefore(ctx, n, row.CreatedAt)
		if !errors.Is(err, store.ErrNotFound) {
			return made, err == nil, err
		}
	}
	if err := s.roomForSearch(ctx, n, row.Active); err != nil {
		return made, false, err
	}
	if err := s.keepSavedSearch(ctx, n, row); err != nil {
		return made, false, err
	}
	made, err = s.settledSearch(ctx, n.Account, row.UUID)
	return made, false, err
}

// settledSearch settles which of an account's searches are paused, and returns one of them.
func (s *Store) settledSearch(ctx context.Context, account cola.AccountID, uuid string) (cola.SavedSearch, error) {
	if err := s.settleSearches(ctx, account); err != nil {
		return cola.SavedSearch{}, err
	}
	return scanSavedSearch(s.ledger.row(ctx, selectSearch, int64(account), uuid))
}

// roomForSearch fails with a LimitError when an account has as many searches as it may, or as many active ones and is to have another one.
func (s *Store) roomForSearch(ctx context.Context, n store.NewSavedSearch, active bool) error {
	var count int
	err := s.ledger.row(ctx, countSearches, int64(n.Account)).Scan(&count)
	switch {
	case err != nil:
		return err
	case n.MaxSearches > 0 && count >= n.MaxSearches:
		return store.LimitError{Limit: n.MaxSearches, All: true}
	case active:
		return s.roomForActive(ctx, n.Account, n.MaxActive)
	}
	return nil
}

// roomForActive fails with a LimitError when an account has as many active schedules as it may; only within a transaction that writes.
func (s *Store) roomForActive(ctx context.Context, account cola.AccountID, most int) error {
	var limit, active int
	err := s.ledger.row(ctx, countActive, int64(account)).Scan(&limit, &active)
	if limit = min(most, limit); err == nil && active >= limit {
		return store.LimitError{Limit: limit}
	}
	return err
}

// createdBefore returns the search that the same request has created before, or ErrNotFound.
func (s *Store) createdBefore(ctx context.Context, n store.NewSavedSearch, now time.Time) (cola.SavedSearch, error) {
	var uuid string
	var same bool // it asked for the same
	err := s.ledger.row(ctx, selectCreation, int64(n.Account), n.Once.Key, now.UnixMicro(), n.Once.Fingerprint[:]).Scan(&uuid, target{&same})
	if errors.Is(err, sql.ErrNoRows) {
		err = store.ErrNotFound
	}
	if err != nil {
		return cola.SavedSearch{}, err
	}
	found, err := scanSearchRow(s.ledger.row(ctx, selectSearch, int64(n.Account), uuid))
	switch {
	case err != nil:
		return cola.SavedSearch{}, err
	case !same:
		return cola.SavedSearch{}, store.ErrReused
	}
	return found.Search()
}

// keepSavedSearch writes a search down, and the request that creates it.
func (s *Store) keepSavedSearch(ctx context.Context, n store.NewSavedSearch, row *records.SavedSearch) error {
	err := s.ledger.exec(ctx, insertSavedSearch, append([]any{int64(n.Account)}, values(row.Columns())...)...)
	if isDuplicate(err) {
		return store.ErrExists
	}
	if err != nil || n.Once.Key == "" {
		return err
	}
	until := row.CreatedAt.Add(n.Once.Within)
	if err := s.ledger.exec(ctx, forgetCreations, row.CreatedAt.UnixMicro()); err != nil {
		return err
	}
	return s.ledger.exec(ctx, upsertCreation, int64(n.Account), n.Once.Key, n.Once.Fingerprint[:], row.UUID, until.UnixMicro())
}
