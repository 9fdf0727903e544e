package sqlstore

import (
	"context"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
	"github.com/colaregistry/colaregistry/store/records"
)

const (
	selectDays = `SELECT day, channel, credential_kind, credential_id, meter, units, requests FROM usage_days
		WHERE account_id = $1 AND day BETWEEN $2 AND $3 ORDER BY day, channel, credential_kind, credential_id, meter`
	usedMonths = `SELECT account_id, period, detail_views, list_records FROM usage_months
		WHERE account_id = $1 AND period BETWEEN $2 AND $3 AND (detail_views > 0 OR list_records > 0) ORDER BY period`
)

func dayColumns(d *store.DayUsage) []any {
	return []any{&d.Day, &d.Channel, &d.Credential.Kind, &d.Credential.ID, &d.Meter, &d.Units, &d.Requests}
}

// DailyUsage implements store.Ledger.
func (s *Store) DailyUsage(ctx context.Context, id cola.AccountID, first, last cola.Date) ([]store.DayUsage, error) {
	return readList(ctx, s, "read daily usage", dayColumns, selectDays, int64(id), first, last)
}

// MonthlyUsage implements store.Ledger.
func (s *Store) MonthlyUsage(ctx context.Context, id cola.AccountID, first,
	last cola.Period) ([]store.MonthUsage, error) {
	rows, err := readList(ctx, s, "read monthly usage", monthColumns,
		usedMonths, int64(id), first.String(), last.String())
	var months []store.MonthUsage
	for i := 0; i < len(rows) && err == nil; i++ {
		err = rows[i].parsePeriod()
		months = append(months, rows[i].MonthUsage)
	}
	return months, err
}

// storedMonth is a row of monthly usage.
type storedMonth struct {
	store.MonthUsage
	period string
}

func monthColumns(m *storedMonth) []any {
	return []any{&m.Account, &m.period, &m.Used.DetailViews, &m.Used.ListRecords}
}

func (m *storedMonth) parsePeriod() error {
	first, err := cola.ParseDate(m.period + "-01")
	m.Period = cola.PeriodOf(first.Time())
	return err
}

const (
	countAllowance = `INSERT INTO daily_allowances (account_id, day, allowance, used) VALUES ($1, $2, $3, $4)
		ON CONFLICT (account_id, day, allowance) DO UPDATE SET used = daily_allowances.used + excluded.used RETURNING used`
	// lockAllowance locks an allowance's count by adding zero to it, and creates the count if it is
	// missing.
	lockAllowance   = countAllowance
	usedAllowance   = `SELECT coalesce((SELECT used FROM daily_allowances WHERE account_id = $1 AND day = $2 AND allowance = $3), 0)`
	knownPreviewed  = `SELECT ttb_id FROM previewed_labels WHERE account_id = $1 AND day = $2 AND ttb_id = ANY($3)`
	insertPreviewed = `INSERT INTO previewed_labels (account_id, day, ttb_id) VALUES ($1, $2, $3)`
)

// UseAllowance adds units to an account's use of an allowance on the given day and returns the new
// total.
func UseAllowance(ctx context.Context, s *Store, tx Tx, account cola.AccountID, day cola.Date, a store.Allowance,
	units int) (int, error) {
	if err := s.deleteSomeExpired(ctx, tx, expiredAllowances); err != nil {
		return 0, err
	}
	return value[int](ctx, tx, countAllowance, int64(account), day, string(a), units)
}

// NamePreviewLabels implements store.Allowances. It locks the count before it records new labels.
func (s *Store) NamePreviewLabels(ctx context.Context, account cola.AccountID, day cola.Date, labels []cola.TTBID,
	limit int) ([]cola.TTBID, error) {
	const operation = "name preview labels"
	var n records.PreviewLabels
	err := s.db.View(ctx, operation, func(q Querier) (err error) {
		n, err = choosePreviewLabels(ctx, q, account, day, labels, limit)
		return err
	})
	if err != nil || len(n.New) == 0 {
		return n.Labels, err
	}
	err = s.db.Transact(ctx, operation, func(ctx context.Context, tx Tx) error {
		if err := tx.LockRows(ctx, lockAllowance, int64(account), day, string(store.AllowPreviewLabels),
			0); err != nil {
			return err
		}
		if n, err = choosePreviewLabels(ctx, tx, account, day, labels, limit); err != nil || len(n.New) == 0 {
			return err
		}
		if _, err := UseAllowance(ctx, s, tx, account, day, store.AllowPreviewLabels, len(n.New)); err != nil {
			return err
		}
		if err := s.deleteSomeExpired(ctx, tx, expiredPreviews); err != nil {
			return err
		}
		statements := make([]Statement, len(n.New))
		for i, id := range n.New {
			statements[i] = Statement{insertPreviewed, []any{int64(account), day, int64(id)}}
		}
		_, err = tx.ExecAll(ctx, statements...)
		return err
	})
	if err != nil {
		return nil, err
	}
	return n.Labels, nil
}

// choosePreviewLabels decides from the current counts which labels a preview may name.
func choosePreviewLabels(ctx context.Context, q Querier, account cola.AccountID, day cola.Date, labels []cola.TTBID,
	limit int) (n records.PreviewLabels, err error) {
	used, err := value[int](ctx, q, usedAllowance, int64(account), day, string(store.AllowPreviewLabels))
	if err != nil {
		return n, err
	}
	known, err := list(ctx, q, column[cola.TTBID], knownPreviewed, int64(account), day, bigints(labels))
	return records.NewPreviewLabels(labels, known, used, limit), err
}

// refusalLocks is the class of the advisory lock for writing refusals. Only one transaction writes
// at a time, because two that delete old refusals for the same accounts could deadlock.
const refusalLocks int32 = 0x72656675 // "refu"

const (
	refusalNames   = `minute, channel, credential_kind, credential_id, reason, count, last_at`
	latestRefusals = ` ORDER BY last_at DESC, minute DESC, channel DESC, credential_kind DESC, credential_id DESC, reason DESC`
	selectRefusals = `SELECT ` + refusalNames + ` FROM refusals WHERE account_id = $1` + latestRefusals + ` LIMIT $2`
	updateRefusal  = `UPDATE refusals SET count = count + $7, last_at = greatest(last_at, $8)
		WHERE account_id = $1 AND minute = $2 AND channel = $3 AND credential_kind = $4 AND credential_id = $5 AND reason = $6`
	insertRefusal = `INSERT INTO refusals (account_id, ` + refusalNames + `) SELECT id, $2, $3, $4, $5, $6, $7, $8 FROM accounts WHERE id = $1 AND deleted_at IS NULL`
	// pruneRefusals reads only the account's part of the index, where few refusals exceed the
	// maximum.
	pruneRefusals = `DELETE FROM refusals WHERE (account_id, minute, channel, credential_kind, credential_id, reason) IN (
		SELECT account_id, minute, channel, credential_kind, credential_id, reason FROM refusals WHERE account_id = $1` + latestRefusals + `
		LIMIT 1000000 OFFSET $2)`
)

func refusalColumns(r *store.Refusal) []any {
	return []any{&r.Minute, &r.Channel, &r.Credential.Kind, &r.Credential.ID, &r.Reason, &r.Count, &r.LastAt}
}

// RecordRefusals implements store.Refusals. Like sessions, refusals aren't synced. Most refusals
// add to an existing row; old rows are pruned only for accounts that get a new one.
func (s *Store) RecordRefusals(ctx context.Context, refusals []store.AccountRefusal) error {
	const operation = "record refusals"
	summed, err := records.SumRefusals(refusals)
	if err != nil || len(summed) == 0 {
		return s.db.Failed(operation, err)
	}
	return s.db.TransactUnsynced(ctx, operation, func(ctx context.Context, tx Tx) error {
		if err := tx.AdvisoryLock(ctx, refusalLocks, 0); err != nil {
			return err
		}
		updated, err := tx.ExecAll(ctx, refusalStatements(updateRefusal, summed)...)
		if err != nil {
			return err
		}
		var added []store.AccountRefusal
		for i, n := range updated {
			if n == 0 {
				added = append(added, summed[i])
			}
		}
		statements := refusalStatements(insertRefusal, added)
		for _, account := range records.RefusedAccounts(added) {
			statements = append(statements, Statement{pruneRefusals, []any{int64(account), store.MaxRefusals}})
		}
		_, err = tx.ExecAll(ctx, statements...)
		return err
	})
}

// refusalStatements returns a statement for each refusal.
func refusalStatements(query string, refusals []store.AccountRefusal) []Statement {
	statements := make([]Statement, len(refusals))
	for i := range refusals {
		statements[i] = Statement{
			query,
			append([]any{int64(refusals[i].Account)}, refusalColumns(&refusals[i].Refusal)...),
		}
	}
	return statements
}

// Refusals implements store.Refusals.
func (s *Store) Refusals(ctx context.Context, account cola.AccountID, limit int) ([]store.Refusal, error) {
	return readList(ctx, s, "list refusals", refusalColumns, selectRefusals, int64(account), max(limit, 0))
}
