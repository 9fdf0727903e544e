package sqlstore

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
	"github.com/colaregistry/colaregistry/store/records"
)

var (
	savedSearchNames   = strings.Join(records.Names((&records.SavedSearch{}).Columns()), ", ")
	insertSavedSearch  = `INSERT INTO saved_searches (account_id, ` + savedSearchNames + `) VALUES ($1, ` + parameters(2, len((&records.SavedSearch{}).Columns())) + `)`
	selectSearches     = `SELECT ` + savedSearchNames + ` FROM saved_searches WHERE account_id = $1`
	selectSearch       = selectSearches + ` AND uuid = $2`
	selectSearchesPage = selectSearches + ` ORDER BY id LIMIT $2 OFFSET $3`
	updateSearch       = `UPDATE saved_searches SET ` + assignments((&records.SavedSearch{}).Changeable(),
		3) + ` WHERE account_id = $1 AND uuid = $2`
)

const (
	countSearches  = `SELECT count(*) FROM saved_searches WHERE account_id = $1`
	deleteSearch   = `DELETE FROM saved_searches WHERE account_id = $1 AND uuid = $2`
	selectCreation = `SELECT uuid, fingerprint = $4 FROM saved_search_creations WHERE account_id = $1 AND once_key = $2 AND kept_until > $3`
	countActive    = `SELECT a.active_limit, (SELECT count(*) FROM saved_searches s WHERE s.account_id = a.id AND s.active) FROM accounts a WHERE a.id = $1`
	upsertCreation = `INSERT INTO saved_search_creations (account_id, once_key, fingerprint, uuid, kept_until) VALUES ($1, $2, $3, $4, $5)
		ON CONFLICT (account_id, once_key) DO UPDATE
		SET fingerprint = excluded.fingerprint, uuid = excluded.uuid, kept_until = excluded.kept_until`
)

func savedSearchColumns(r *records.SavedSearch) []any { return targets(r.Columns()) }

// readSearch returns the row of an account's search. It returns ErrNotFound if there is none or if
// the UUID is text that the database can't store.
func (s *Store) readSearch(ctx context.Context, q Querier, account cola.AccountID,
	uuid string) (records.SavedSearch, error) {
	row, err := one(ctx, q, savedSearchColumns, selectSearch, int64(account), uuid)
	return row, s.notFoundIfInvalid(err)
}

// CreateSavedSearch implements store.SavedSearches.
func (s *Store) CreateSavedSearch(ctx context.Context,
	n store.NewSavedSearch) (created cola.SavedSearch, repeated bool, err error) {
	const operation = "create saved search"
	if err := n.Check(); err != nil {
		return cola.SavedSearch{}, false, s.db.Failed(operation, err)
	}
	row, err := records.NewSavedSearch(&n.Search)
	if err != nil {
		return cola.SavedSearch{}, false, s.db.Failed(operation, err)
	}
	err = s.db.Transact(ctx, operation, func(ctx context.Context, tx Tx) (err error) {
		created, repeated, err = s.createOnce(ctx, tx, n, &row)
		return err
	})
	if err != nil {
		return cola.SavedSearch{}, false, err
	}
	return created, repeated, nil
}

// createOnce creates a search unless an earlier request with the same key created one. It locks the
// account before it reads the clock or anything else.
func (s *Store) createOnce(ctx context.Context, tx Tx, n store.NewSavedSearch,
	row *records.SavedSearch) (created cola.SavedSearch, repeated bool, err error) {
	if err := lockAccountRow(ctx, tx, n.Account); err != nil {
		return created, false, err
	}
	if row.CreatedAt, err = s.currentTime(ctx, tx); err != nil {
		return created, false, err
	}
	if n.Once.Key != "" {
		created, err = s.createdBefore(ctx, tx, n, row.CreatedAt)
		if !errors.Is(err, store.ErrNotFound) {
			return created, err == nil, err
		}
	}
	if err := checkSearchLimits(ctx, tx, n, row.Active); err != nil {
		return created, false, err
	}
	if err := s.insertSearchRow(ctx, tx, n, row); err != nil {
		return created, false, err
	}
	for i := range n.Destinations {
		if _, err := s.addDestination(ctx, tx, n.Destinations[i]); err != nil {
			return created, false, store.DestinationError{Destination: n.Destinations[i], Err: err}
		}
	}
	created, err = s.updatePausesReturning(ctx, tx, n.Account, row.UUID)
	return created, false, err
}

// updatePausesReturning calls updatePauses for a locked account and returns the search with the
// given UUID.
func (s *Store) updatePausesReturning(ctx context.Context, tx Tx, account cola.AccountID,
	uuid string) (cola.SavedSearch, error) {
	if err := updatePauses(ctx, tx, account); err != nil {
		return cola.SavedSearch{}, err
	}
	row, err := s.readSearch(ctx, tx, account, uuid)
	if err != nil {
		return cola.SavedSearch{}, err
	}
	return row.Search()
}

// checkSearchLimits fails with a LimitError if a locked account has reached its maximum number of
// searches, or of active schedules if the new search is active.
func checkSearchLimits(ctx context.Context, tx Tx, n store.NewSavedSearch, active bool) error {
	count, err := value[int](ctx, tx, countSearches, int64(n.Account))
	switch {
	case err != nil:
		return err
	case n.MaxSearches > 0 && count >= n.MaxSearches:
		return store.LimitError{Limit: n.MaxSearches, All: true}
	case active:
		return checkActiveLimit(ctx, tx, n.Account, n.MaxActive)
	}
	return nil
}

// checkActiveLimit fails with a LimitError if a locked account has reached its maximum number of
// active schedules.
func checkActiveLimit(ctx context.Context, tx Tx, account cola.AccountID, maxActive int) error {
	type count struct{ limit, active int }
	c, err := one(ctx, tx, func(c *count) []any { return []any{&c.limit, &c.active} }, countActive, int64(account))
	if limit := min(maxActive, c.limit); err == nil && c.active >= limit {
		return store.LimitError{Limit: limit}
	}
	return err
}

// createdBefore returns the search that an earlier request with the same key created. It fails with
// ErrNotFound if there is none, and with ErrReused if the requests differ.
func (s *Store) createdBefore(ctx context.Context, tx Tx, n store.NewSavedSearch,
	now time.Time) (cola.SavedSearch, error) {
	type creation struct {
		uuid string
		same bool // has the same fingerprint as this request
	}
	before, err := one(ctx, tx, func(c *creation) []any { return []any{&c.uuid, &c.same} },
		selectCreation, int64(n.Account), n.Once.Key, now, n.Once.Fingerprint[:])
	if err != nil {
		return cola.SavedSearch{}, err
	}
	found, err := s.readSearch(ctx, tx, n.Account, before.uuid)
	switch {
	case err != nil:
		return cola.SavedSearch{}, err
	case !before.same:
		return cola.SavedSearch{}, store.ErrReused
	}
	return found.Search()
}

// insertSearchRow inserts a search and records the request that created it.
func (s *Store) insertSearchRow(ctx context.Context, tx Tx, n store.NewSavedSearch, row *records.SavedSearch) error {
	_, err := tx.Exec(ctx, insertSavedSearch, append([]any{int64(n.Account)}, targets(row.Columns())...)...)
	if s.db.IsDuplicate(err) {
		return store.ErrExists
	}
	if err != nil || n.Once.Key == "" {
		return err
	}
	if err := s.deleteSomeExpired(ctx, tx, expiredCreations); err != nil {
		return err
	}
	_, err = tx.Exec(ctx, upsertCreation, int64(n.Account), n.Once.Key,
		n.Once.Fingerprint[:], row.UUID, row.CreatedAt.Add(n.Once.Within))
	return err
}

// SavedSearch implements store.SavedSearches.
func (s *Store) SavedSearch(ctx context.Context, account cola.AccountID,
	uuid string) (found cola.SavedSearch, err error) {
	err = s.db.Read(ctx, "read saved search", func(q Querier) error {
		row, err := s.readSearch(ctx, q, account, uuid)
		if err == nil {
			found, err = row.Search()
		}
		return err
	})
	return found, err
}

// SavedSearches implements store.SavedSearches.
func (s *Store) SavedSearches(ctx context.Context, account cola.AccountID, offset,
	limit int) (page []cola.SavedSearch, total int, err error) {
	err = s.db.View(ctx, "list saved searches", func(q Querier) error {
		found, count, err := listPage(ctx, q, savedSearchColumns, countSearches,
			selectSearchesPage, []any{int64(account)}, store.Slice{Offset: offset, Limit: limit})
		page, total = make([]cola.SavedSearch, len(found)), count
		for i := 0; i < len(found) && err == nil; i++ {
			page[i], err = found[i].Search()
		}
		return err
	})
	if err != nil {
		return nil, 0, err
	}
	return page, total, nil
}

// listPage reads a page of a list and the total number of rows.
func listPage[T any](ctx context.Context, q Querier, columns func(*T) []any, count, query string, args []any,
	page store.Slice) ([]T, int, error) {
	total, err := value[int](ctx, q, count, args...)
	if err != nil {
		return nil, 0, err
	}
	all, err := list(ctx, q, columns, query, append(args, page.Limit, page.Offset)...)
	return all, total, err
}

// UpdateSavedSearch implements store.SavedSearches.
func (s *Store) UpdateSavedSearch(ctx context.Context, account cola.AccountID, uuid string, maxActive int,
	change func(cola.SavedSearch) (cola.SavedSearch, error),
) (changed cola.SavedSearch, err error) {
	err = s.db.Transact(ctx, "update saved search", func(ctx context.Context, tx Tx) (err error) {
		changed, err = s.updateSavedSearch(ctx, tx, account, uuid, maxActive, change)
		return err
	})
	if err != nil {
		return cola.SavedSearch{}, unwrapRefusal(err)
	}
	return changed, nil
}

// updateSavedSearch changes a search. It locks the account, to exclude other changes to its
// searches, and the row, so that a concurrent run is recorded before the read or after the write.
func (s *Store) updateSavedSearch(ctx context.Context, tx Tx, account cola.AccountID, uuid string, maxActive int,
	change func(cola.SavedSearch) (cola.SavedSearch, error),
) (cola.SavedSearch, error) {
	row, err := s.lockSavedSearch(ctx, tx, account, uuid)
	if err != nil {
		return cola.SavedSearch{}, err
	}
	activated, err := row.Change(change)
	if err == nil && activated {
		err = checkActiveLimit(ctx, tx, account, maxActive)
	}
	if err != nil {
		return cola.SavedSearch{}, err
	}
	if err := execOne(ctx, tx, updateSearch,
		append([]any{int64(account), uuid}, targets(row.Changeable())...)...); err != nil {
		return cola.SavedSearch{}, err
	}
	return s.updatePausesReturning(ctx, tx, account, uuid)
}

// lockSavedSearch locks an account, its active searches and one search, and returns that search, or
// ErrNotFound.
func (s *Store) lockSavedSearch(ctx context.Context, tx Tx, account cola.AccountID,
	uuid string) (row records.SavedSearch, err error) {
	if err := lockAccountRow(ctx, tx, account); err != nil {
		return row, err
	}
	if err := tx.LockRows(ctx, lockActiveSearches, int64(account), uuid); err != nil {
		return row, s.notFoundIfInvalid(err)
	}
	return s.readSearch(ctx, tx, account, uuid)
}

// DeleteSavedSearch implements store.SavedSearches.
func (s *Store) DeleteSavedSearch(ctx context.Context, account cola.AccountID, uuid string) error {
	return s.db.Transact(ctx, "delete saved search", func(ctx context.Context, tx Tx) error {
		if _, err := s.lockSavedSearch(ctx, tx, account, uuid); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, deleteSearch, int64(account), uuid); err != nil {
			return err
		}
		return updatePauses(ctx, tx, account)
	})
}

// Before it calls updatePauses, a transaction locks the account and then, in ascending order of ID,
// the searches that may change: all searches if the account changes, otherwise the active ones and
// the one being changed.
const (
	lockAllSearches     = `SELECT id FROM saved_searches WHERE account_id = $1 ORDER BY id FOR NO KEY UPDATE`
	lockActiveSearches  = `SELECT id FROM saved_searches WHERE account_id = $1 AND (active OR uuid = $2) ORDER BY id FOR NO KEY UPDATE`
	updatePausedBecause = `UPDATE saved_searches AS s SET paused_because = r.because, hold = s.hold + 1, held_until = NULL
		FROM (SELECT o.id, CASE WHEN a.suspended_at IS NOT NULL THEN '` + cola.PausedSuspended + `'
				WHEN o.active AND row_number() OVER (PARTITION BY o.active ORDER BY o.id) > a.active_limit THEN '` + cola.PausedDowngraded + `' END AS because
			FROM saved_searches o JOIN accounts a ON a.id = o.account_id WHERE o.account_id = $1) r
		WHERE s.id = r.id AND s.paused_because IS DISTINCT FROM r.because`
)

// updatePauses pauses and resumes an account's searches according to its suspension and limit, and
// ends the claims on those that change.
func updatePauses(ctx context.Context, tx Tx, account cola.AccountID) error {
	_, err := tx.Exec(ctx, updatePausedBecause, int64(account))
	return err
}
