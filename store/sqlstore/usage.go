package sqlstore

import (
	"context"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
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
	rows, err := readList(ctx, s, "read monthly usage", monthColumns, usedMonths, int64(id), first.String(), last.String())
	var months []store.MonthUsage
	for i := 0; i < len(rows) && err == nil; i++ {
		err = rows[i].settle()
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

func (m *storedMonth) settle() error {
	first, err := cola.ParseDate(m.period + "-01")
	m.Period = cola.PeriodOf(first.Time())
	return err
}
