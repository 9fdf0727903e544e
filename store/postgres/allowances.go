package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
	"github.com/colaregistry/colaregistry/store/records"
)

const (
	// countAllowances adds uses of an allowance by accounts, each on a day. It locks the rows in the order of the arrays.
	countAllowances = `INSERT INTO daily_allowances (account_id, day, allowance, used) SELECT u.account, u.day, $3, u.units
			FROM unnest($1::bigint[], $2::date[], $4::integer[]) WITH ORDINALITY AS u (account, day, units, n) ORDER BY n
		ON CONFLICT (account_id, day, allowance) DO UPDATE SET used = daily_allowances.used + excluded.used RETURNING account_id, day, used`
	usedAllowance   = `SELECT coalesce((SELECT used FROM daily_allowances WHERE account_id = $1 AND day = $2 AND allowance = $3), 0)`
	knownPreviewed  = `SELECT ttb_id FROM previewed_labels WHERE account_id = $1 AND day = $2 AND ttb_id = ANY($3)`
	insertPreviewed = `INSERT INTO previewed_labels (account_id, day, ttb_id) SELECT $1, $2, * FROM unnest($3::bigint[])`

	yesterday        = `(coalesce($1::timestamptz, clock_timestamp()) AT TIME ZONE 'UTC')::date - 1`
	forgetAllowances = `DELETE FROM daily_allowances WHERE ctid = ANY (ARRAY(
		SELECT ctid FROM daily_allowances WHERE day < ` + yesterday + ` LIMIT $2 FOR UPDATE SKIP LOCKED))`
	forgetPreviewed = `DELETE FROM previewed_labels WHERE ctid = ANY (ARRAY(
		SELECT ctid FROM previewed_labels WHERE day < ` + yesterday + ` LIMIT $2 FOR UPDATE SKIP LOCKED))`
	// daysForgottenAtOnce is how many rows one statement deletes.
	daysForgottenAtOnce = 1_000
)

// accountDate is a UTC day of an account.
type accountDate struct {
	account cola.AccountID
	day     cola.Date
}

// useAllowances adds units to the use of an allowance, for distinct accounts and days, and returns the
// sums. Pass concurrent updates in ascending order to avoid deadlocks.
func useAllowances(ctx context.Context, tx pgx.Tx, a store.Allowance, of []accountDate, units []int) (map[accountDate]int, error) {
	type used struct {
		accountDate
		used int
	}
	accounts, days, counts := make([]int64, len(of)), make([]time.Time, len(of)), make([]int32, len(of))
	for i := range of {
		accounts[i], days[i], counts[i] = int64(of[i].account), of[i].day.Time(), int32(units[i])
	}
	rows, err := tx.Query(ctx, countAllowances, accounts, days, string(a), counts)
	list, err := collect(rows, err, func(u *used) fields { return fields{&u.account, &u.day, &u.used} })
	sums := make(map[accountDate]int, len(list))
	for _, u := range list {
		sums[u.accountDate] = u.used
	}
	return sums, err
}

// useAllowance is useAllowances for one account.
func useAllowance(ctx context.Context, tx pgx.Tx, a store.Allowance, of accountDate, units int) (int, error) {
	sums, err := useAllowances(ctx, tx, a, []accountDate{of}, []int{units})
	return sums[of], err
}

// NamePreviewLabels implements store.Allowances. It locks the count to record new labels.
func (s *Store) NamePreviewLabels(ctx context.Context, account cola.AccountID, day cola.Date, labels []cola.TTBID, limit int) ([]cola.TTBID, error) {
	var n records.Naming
	err := s.read(ctx, "read labels of previews", func() error {
		return s.view(ctx, func(q querier) (err error) {
			n, err = naming(ctx, q, account, day, labels, limit)
			return err
		})
	})
	if err != nil || len(n.New) == 0 {
		return n.Labels, err
	}
	err = s.transact(ctx, "name labels of a preview", func(tx pgx.Tx) error {
		of := accountDate{account, day}
		if _, err := useAllowance(ctx, tx, store.AllowPreviewLabels, of, 0); err != nil { // locks the row
			return err
		}
		if n, err = naming(ctx, tx, account, day, labels, limit); err != nil || len(n.New) == 0 {
			return err
		}
		if _, err := useAllowance(ctx, tx, store.AllowPreviewLabels, of, len(n.New)); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, insertPreviewed, int64(account), day.Time(), bigints(n.New))
		return err
	})
	if err != nil {
		return nil, err
	}
	return n.Labels, nil
}

// naming decides which labels a preview may name, from the current counts.
func naming(ctx context.Context, q querier, account cola.AccountID, day cola.Date, labels []cola.TTBID, limit int) (n records.Naming, err error) {
	var used int
	err = q.QueryRow(ctx, usedAllowance, int64(account), day.Time(), string(store.AllowPreviewLabels)).Scan(fields{&used})
	if err != nil {
		return n, err
	}
	rows, err := q.Query(ctx, knownPreviewed, int64(account), day.Time(), bigints(labels))
	known, err := collect(rows, err, func(id *cola.TTBID) fields { return fields{id} })
	return records.NewNaming(labels, known, used, limit), err
}

// forgetDays deletes allowances and previewed labels of days before yesterday.
func (s *Store) forgetDays(ctx context.Context) error {
	for _, forget := range []string{forgetAllowances, forgetPreviewed} {
		for {
			done, err := s.general.Exec(ctx, forget, s.clock(), daysForgottenAtOnce)
			if err != nil {
				return err
			}
			if done.RowsAffected() < daysForgottenAtOnce {
				break
			}
		}
	}
	return nil
}
