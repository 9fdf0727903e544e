package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"strings"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
	"github.com/colaregistry/colaregistry/store/records"
)

var (
	selectSearches     = `SELECT ` + savedSearchNames + ` FROM saved_searches WHERE account_id = ?`
	selectSearch       = selectSearches + ` AND uuid = ?`
	selectSearchesPage = selectSearches + ` ORDER BY id LIMIT ? OFFSET ?`
	updateSearch       = `UPDATE saved_searches SET ` + strings.Join(records.Names((&records.SavedSearch{}).Changeable()), " = ?, ") + ` = ? WHERE account_id = ? AND uuid = ?`
)

const (
	countSearches = `SELECT count(*) FROM saved_searches WHERE account_id = ?`
	deleteSearch  = `DELETE FROM saved_searches WHERE account_id = ? AND uuid = ?`
)

// scanSearchRow reads the row of a search, or fails with ErrNotFound.
func scanSearchRow(row scanner) (r records.SavedSearch, err error) {
	if err = row.Scan(targets(r.Columns())...); errors.Is(err, sql.ErrNoRows) {
		err = store.ErrNotFound
	}
	return r, err
}

func scanSavedSearch(row scanner) (cola.SavedSearch, error) {
	r, err := scanSearchRow(row)
	if err != nil {
		return cola.SavedSearch{}, err
	}
	return r.Search()
}

// SavedSearch implements store.SavedSearches.
func (s *Store) SavedSearch(ctx context.Context, account cola.AccountID, uuid string) (cola.SavedSearch, error) {
	const operation = "read saved search"
	if err := s.start(); err != nil {
		return cola.SavedSearch{}, failed(operation, err)
	}
	defer s.done()
	found, err := scanSavedSearch(s.read.row(ctx, selectSearch, int64(account), uuid))
	return found, failed(operation, err)
}

// SavedSearches implements store.SavedSearches.
func (s *Store) SavedSearches(ctx context.Context, account cola.AccountID, offset, limit int) (page []cola.SavedSearch, total int, err error) {
	const operation = "list saved searches"
	if err := s.start(); err != nil {
		return nil, 0, failed(operation, err)
	}
	defer s.done()
	err = s.read.view(ctx, func(q querier) error {
		if err := q.row(ctx, countSearches, int64(account)).Scan(&total); err != nil {
			return err
		}
		rows, err := q.query(ctx, selectSearchesPage, int64(account), limit, offset)
		page, err = collect(rows, err, scanSavedSearch)
		return err
	})
	if err != nil {
		return nil, 0, failed(operation, err)
	}
	return page, total, nil
}

// UpdateSavedSearch implements store.SavedSearches.
func (s *Store) UpdateSavedSearch(ctx context.Context, account cola.AccountID, uuid string, maxActive int,
	change func(cola.SavedSearch) (cola.SavedSearch, error),
) (changed cola.SavedSearch, err error) {
	err = s.transact(ctx, "update saved search", func(ctx context.Context) (err error) {
		changed, err = s.updateSavedSearch(ctx, account, uuid, maxActive, change)
		return err
	})
	if refusal, ok := errors.AsType[records.Refusal](err); ok {
		err = refusal.Reason
	}
	if err != nil {
		return cola.SavedSearch{}, err
	}
	return changed, nil
}

// updateSavedSearch changes a search, within a transaction that writes: there is one at a time.
func (s *Store) updateSavedSearch(ctx context.Context, account cola.AccountID, uuid string, maxActive int,
	change func(cola.SavedSearch) (cola.SavedSearch, error),
) (cola.SavedSearch, error) {
	row, err := scanSearchRow(s.ledger.row(ctx, selectSearch, int64(account), uuid))
	if err != nil {
		return cola.SavedSearch{}, err
	}
	activated, err := row.Change(change)
	if err == nil && activated {
		err = s.roomForActive(ctx, account, maxActive)
	}
	if err != nil {
		return cola.SavedSearch{}, err
	}
	if err := s.ledger.exec(ctx, updateSearch, append(values(row.Changeable()), int64(account), uuid)...); err != nil {
		return cola.SavedSearch{}, err
	}
	return s.settledSearch(ctx, account, uuid)
}

// DeleteSavedSearch implements store.SavedSearches.
func (s *Store) DeleteSavedSearch(ctx context.Context, account cola.AccountID, uuid string) error {
	return s.transact(ctx, "delete saved search", func(ctx context.Context) error {
		deleted, err := s.ledger.affect(ctx, deleteSearch, int64(account), uuid)
		switch {
		case err != nil:
			return err
		case deleted == 0:
			return store.ErrNotFound
		}
		return s.settleSearches(ctx, account)
	})
}
