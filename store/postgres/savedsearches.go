package postgres

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
	"github.com/colaregistry/colaregistry/store/records"
)

// creationsForgottenAtOnce is how many requests one statement forgets.
const creationsForgottenAtOnce = 5000

var (
	savedSearchNames  = strings.Join(records.Names((&records.SavedSearch{}).Columns()), ", ")
	insertSavedSearch = `INSERT INTO saved_searches (account_id, ` + savedSearchNames + `) VALUES ($1, ` + parameters(2, len((&records.SavedSearch{}).Columns())) + `)`
)

const (
	selectClock    = `SELECT coalesce($1::timestamptz, clock_timestamp())`
	selectCreation = `SELECT uuid, fingerprint = $4 FROM saved_search_creations WHERE account_id = $1 AND once_key = $2 AND kept_until > $3`
	countActive    = `SELECT a.active_limit, (SELECT count(*) FROM saved_searches s WHERE s.account_id = a.id AND s.active) FROM accounts a WHERE a.id = $1`
	upsertCreation = `INSERT INTO saved_search_creations (account_id, once_key, fingerprint, uuid, kept_until) VALUES ($1, $2, $3, $4, $5)
		ON CONFLICT (account_id, once_key) DO UPDATE
		SET fingerprint = excluded.fingerprint, uuid = excluded.uuid, kept_until = excluded.kept_until`
	forgetCreations = `DELETE FROM saved_search_creations WHERE (account_id, once_key) IN (
		SELECT account_id, once_key FROM saved_search_creations WHERE kept_until <= coalesce($1, clock_timestamp())
		ORDER BY kept_until LIMIT $2 FOR UPDATE SKIP LOCKED)`
)

// parameters lists so many parameters, numbered from first on.
func parameters(first, n int) string {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprintf("$%d", first+i)
	}
	return strings.Join(list, ", ")
}

func savedSearchColumns(r *records.SavedSearch) fields { return targets(r.Columns()) }

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
	err = s.transact(ctx, operation, func(tx pgx.Tx) (err error) {
		made, repeated, err = s.createOnce(ctx, tx, n, &row)
		return err
	})
	if err != nil {
		return cola.SavedSearch{}, false, err
	}
	return made, repeated, nil
}

// createOnce creates a search unless its request has created one before. The account is locked first; the clock is read, and
// everything else, when it is.
func (s *Store) createOnce(ctx context.Context, tx pgx.Tx, n store.NewSavedSearch, row *records.SavedSearch) (made cola.SavedSearch, repeated bool, err error) {
	if err := holdAccount(ctx, tx, n.Account); err != nil {
		return made, false, err
	}
	if row.CreatedAt, err = s.instant(ctx, tx); err != nil {
		return made, false, err
	}
	if n.Once.Key != "" {
		made, err = createdBefore(ctx, tx, n, row.CreatedAt)
		if !errors.Is(err, store.ErrNotFound) {
			return made, err == nil, err
		}
	}
	if err := roomForSearch(ctx, tx, n, row.Active); err != nil {
		return made, false, err
	}
	if err := keepSavedSearch(ctx, tx, n, row); err != nil {
		return made, false, err
	}
	made, err = settledSearch(ctx, tx, n.Account, row.UUID)
	return made, false, err
}

// settledSearch settles which searches of an account that is held are paused, and returns one of them.
func settledSearch(ctx context.Context, tx pgx.Tx, account cola.AccountID, uuid string) (cola.SavedSearch, error) {
	if err := settleSearches(ctx, tx, account); err != nil {
		return cola.SavedSearch{}, err
	}
	row, err := readSavedSearch(ctx, tx, account, uuid)
	if err != nil {
		return cola.SavedSearch{}, err
	}
	return row.Search()
}

// holdAccount has others wait who would change what the account has, until the transaction ends.
func holdAccount(ctx context.Context, tx pgx.Tx, account cola.AccountID) error {
	rows, err := tx.Query(ctx, lockAccounts, []int64{int64(account)})
	_, err = one(rows, err, func(id *cola.AccountID) fields { return fields{id} })
	return err
}

// roomForSearch fails with a LimitError when an account that is held has as many searches as it may, or as many active ones and is to have
// another one.
func roomForSearch(ctx context.Context, tx pgx.Tx, n store.NewSavedSearch, active bool) error {
	var count int
	err := tx.QueryRow(ctx, countSearches, int64(n.Account)).Scan(fields{&count})
	switch {
	case err != nil:
		return err
	case n.MaxSearches > 0 && count >= n.MaxSearches:
		return store.LimitError{Limit: n.MaxSearches, All: true}
	case active:
		return roomForActive(ctx, tx, n.Account, n.MaxActive)
	}
	return nil
}

// roomForActive fails with a LimitError when an account that is held has as many active schedules as it may.
func roomForActive(ctx context.Context, tx pgx.Tx, account cola.AccountID, most int) error {
	var limit, active int
	err := tx.QueryRow(ctx, countActive, int64(account)).Scan(fields{&limit, &active})
	if limit = min(most, limit); err == nil && active >= limit {
		return store.LimitError{Limit: limit}
	}
	return err
}

// creation is what is remembered of a request that created a search.
type creation struct {
	uuid string
	same bool // it asked for the same as the one at hand
}

// createdBefore returns the search that the same request has created before, or ErrNotFound.
func createdBefore(ctx context.Context, tx pgx.Tx, n store.NewSavedSearch, now time.Time) (cola.SavedSearch, error) {
	rows, err := tx.Query(ctx, selectCreation, int64(n.Account), n.Once.Key, now, n.Once.Fingerprint[:])
	before, err := one(rows, err, func(c *creation) fields { return fields{&c.uuid, &c.same} })
	if err != nil {
		return cola.SavedSearch{}, err
	}
	found, err := readSavedSearch(ctx, tx, n.Account, before.uuid)
	switch {
	case err != nil:
		return cola.SavedSearch{}, err
	case !before.same:
		return cola.SavedSearch{}, store.ErrReused
	}
	return found.Search()
}

// keepSavedSearch writes a search down, and the request that creates it.
func keepSavedSearch(ctx context.Context, tx pgx.Tx, n store.NewSavedSearch, row *records.SavedSearch) error {
	_, err := tx.Exec(ctx, insertSavedSearch, append([]any{int64(n.Account)}, values(row.Columns())...)...)
	if isDuplicate(err) {
		return store.ErrExists
	}
	if err != nil || n.Once.Key == "" {
		return err
	}
	until := row.CreatedAt.Add(n.Once.Within)
	_, err = tx.Exec(ctx, upsertCreation, int64(n.Account), n.Once.Key, n.Once.Fingerprint[:], row.UUID, until)
	return err
}

// forgetCreations forgets requests that are old enough, a few at a time.
func (s *Store) forgetCreations(ctx context.Context) error {
	for {
		done, err := s.general.Exec(ctx, forgetCreations, s.clock(), creationsForgottenAtOnce)
		if err != nil || done.RowsAffected() < creationsForgottenAtOnce {
			return err
		}
	}
}
