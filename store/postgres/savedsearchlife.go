package postgres

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
	"github.com/colaregistry/colaregistry/store/records"
)

var (
	selectSearches     = `SELECT ` + savedSearchNames + ` FROM saved_searches WHERE account_id = $1`
	selectSearch       = selectSearches + ` AND uuid = $2`
	selectSearchesPage = selectSearches + ` ORDER BY id LIMIT $2 OFFSET $3`
	updateSearch       = `UPDATE saved_searches SET ` + assignments((&records.SavedSearch{}).Changeable(), 3) + ` WHERE account_id = $1 AND uuid = $2`
)

const (
	countSearches = `SELECT count(*) FROM saved_searches WHERE account_id = $1`
	deleteSearch  = `DELETE FROM saved_searches WHERE account_id = $1 AND uuid = $2`
)

// assignments lists columns with their parameters, which are numbered from first on.
func assignments(columns []records.Column, first int) string {
	list := records.Names(columns)
	for i := range list {
		list[i] += fmt.Sprintf(" = $%d", first+i)
	}
	return strings.Join(list, ", ")
}

// readSavedSearch returns the row of an account's search, or ErrNotFound: also for a UUID that is no text.
func readSavedSearch(ctx context.Context, q querier, account cola.AccountID, uuid string) (records.SavedSearch, error) {
	return searchRow(q.Query(ctx, selectSearch, int64(account), uuid))
}

func searchRow(rows pgx.Rows, err error) (records.SavedSearch, error) {
	row, err := one(rows, err, savedSearchColumns)
	return row, noSuchText(err)
}

// noSuchText makes ErrNotFound of the error for a text that the database could not hold: nothing has it.
func noSuchText(err error) error {
	if sqlState(err) == notInEncoding {
		return store.ErrNotFound
	}
	return err
}

// SavedSearch implements store.SavedSearches.
func (s *Store) SavedSearch(ctx context.Context, account cola.AccountID, uuid string) (found cola.SavedSearch, err error) {
	err = s.read(ctx, "read saved search", func() error {
		row, err := readSavedSearch(ctx, s.general, account, uuid)
		if err == nil {
			found, err = row.Search()
		}
		return err
	})
	return found, err
}

// SavedSearches implements store.SavedSearches.
func (s *Store) SavedSearches(ctx context.Context, account cola.AccountID, offset, limit int) (page []cola.SavedSearch, total int, err error) {
	err = s.read(ctx, "list saved searches", func() error {
		return s.view(ctx, func(q querier) (err error) {
			page, total, err = pageOfSearches(ctx, q, account, offset, limit)
			return err
		})
	})
	if err != nil {
		return nil, 0, err
	}
	return page, total, nil
}

func pageOfSearches(ctx context.Context, q querier, account cola.AccountID, offset, limit int) (page []cola.SavedSearch, total int, err error) {
	if err := q.QueryRow(ctx, countSearches, int64(account)).Scan(fields{&total}); err != nil {
		return nil, 0, err
	}
	rows, err := q.Query(ctx, selectSearchesPage, int64(account), limit, offset)
	found, err := collect(rows, err, savedSearchColumns)
	page = make([]cola.SavedSearch, len(found))
	for i := 0; i < len(found) && err == nil; i++ {
		page[i], err = found[i].Search()
	}
	return page, total, err
}

// UpdateSavedSearch implements store.SavedSearches.
func (s *Store) UpdateSavedSearch(ctx context.Context, account cola.AccountID, uuid string, maxActive int,
	change func(cola.SavedSearch) (cola.SavedSearch, error),
) (changed cola.SavedSearch, err error) {
	err = s.transact(ctx, "update saved search", func(tx pgx.Tx) (err error) {
		changed, err = updateSavedSearch(ctx, tx, account, uuid, maxActive, change)
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

// updateSavedSearch changes a search. The account is held, so nobody else changes it, nor makes another one active; and the row,
// so that a run is recorded before it is read or after it is written.
func updateSavedSearch(ctx context.Context, tx pgx.Tx, account cola.AccountID, uuid string, maxActive int,
	change func(cola.SavedSearch) (cola.SavedSearch, error),
) (cola.SavedSearch, error) {
	row, err := holdSavedSearch(ctx, tx, account, uuid)
	if err != nil {
		return cola.SavedSearch{}, err
	}
	activated, err := row.Change(change)
	if err == nil && activated {
		err = roomForActive(ctx, tx, account, maxActive)
	}
	if err != nil {
		return cola.SavedSearch{}, err
	}
	done, err := tx.Exec(ctx, updateSearch, append([]any{int64(account), uuid}, values(row.Changeable())...)...)
	if err == nil && done.RowsAffected() == 0 { // deleted meanwhile, by hand
		err = store.ErrNotFound
	}
	if err != nil {
		return cola.SavedSearch{}, err
	}
	return settledSearch(ctx, tx, account, uuid)
}

// holdSavedSearch holds an account, its active searches and one search, and returns that, or ErrNotFound.
func holdSavedSearch(ctx context.Context, tx pgx.Tx, account cola.AccountID, uuid string) (row records.SavedSearch, err error) {
	if err := holdAccount(ctx, tx, account); err != nil {
		return row, err
	}
	if err := holdSearches(ctx, tx, holdActiveSearches, int64(account), uuid); err != nil {
		return row, noSuchText(err)
	}
	return readSavedSearch(ctx, tx, account, uuid)
}

// DeleteSavedSearch implements store.SavedSearches.
func (s *Store) DeleteSavedSearch(ctx context.Context, account cola.AccountID, uuid string) error {
	return s.transact(ctx, "delete saved search", func(tx pgx.Tx) error {
		if _, err := holdSavedSearch(ctx, tx, account, uuid); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, deleteSearch, int64(account), uuid); err != nil {
			return err
		}
		return settleSearches(ctx, tx, account)
	})
}
