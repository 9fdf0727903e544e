package sqlite

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
	"github.com/colaregistry/colaregistry/store/sqlstore"
)

// Each statement writes the rows of all accounts in a batch. Lists of rows are JSON arrays of
// arrays.
const (
	upsertMonths = `INSERT INTO usage_months (account_id, period, detail_views, list_records)
		SELECT value ->> 0, ?2, value ->> 1, value ->> 2 FROM json_each(?1) WHERE TRUE
		ON CONFLICT (account_id, period) DO UPDATE
		SET detail_views = detail_views + excluded.detail_views, list_records = list_records + excluded.list_records`
	upsertDays = `INSERT INTO usage_days (account_id, day, channel, credential_kind, credential_id, meter, units, requests)
		SELECT value ->> 0, ?2, value ->> 1, value ->> 2, value ->> 3, value ->> 4, value ->> 5, value ->> 6
		FROM json_each(?1) WHERE TRUE
		ON CONFLICT (account_id, day, channel, credential_kind, credential_id, meter) DO UPDATE
		SET units = units + excluded.units, requests = requests + excluded.requests`
	setLastUses = ` AS c SET last_used_at = ?2 FROM json_each(?1)
		WHERE c.id = json_each.value ->> 0 AND c.account_id = json_each.value ->> 1
		AND (c.last_used_at IS NULL OR c.last_used_at <= ?3 OR c.last_used_at > ?2)`
)

// lastUses lists the statements that record the uses of each kind of credential.
var lastUses = []struct {
	kind   cola.CredentialKind
	update string
}{
	{cola.CredentialKey, `UPDATE api_keys` + setLastUses},
	{cola.CredentialLink, `UPDATE links` + setLastUses},
	{cola.CredentialSignIn, `UPDATE sign_ins` + setLastUses},
}

// Settle implements store.Ledger.
func (s *Store) Settle(
	ctx context.Context, batch store.Batch, decide func(time.Time, []store.AccountState) []store.Entry,
) error {
	return s.transact(ctx, "settle batch", func(ctx context.Context) error {
		now := s.currentTime()
		if err := s.recordBatch(ctx, batch.ID, now); err != nil {
			return err
		}
		l, err := s.readSettlement(ctx, batch, now)
		if err != nil {
			return err
		}
		if err := l.Add(decide(now, l.States)); err != nil {
			return err
		}
		var windows []sqlstore.AccountRow
		for i, grants := range l.Windows() {
			windows = append(windows, sqlstore.AccountRow{Account: store.Account{ID: l.States[i].Account}, Grants: grants})
		}
		if err := s.writeWindows(ctx, windows); err != nil {
			return err
		}
		if err := s.writeUsage(ctx, l); err != nil {
			return err
		}
		return s.writeUses(ctx, l)
	})
}

// AccountUsage implements store.Ledger.
func (s *Store) AccountUsage(ctx context.Context, id cola.AccountID) (store.AccountState, error) {
	const operation = "read usage"
	if err := s.start(); err != nil {
		return store.AccountState{}, failed(operation, err)
	}
	defer s.done()
	var state store.AccountState
	err := s.read.view(ctx, func(q querier) error {
		now := s.currentTime()
		accounts, err := readAccounts(ctx, q, []cola.AccountID{id}, now)
		switch {
		case err != nil:
			return err
		case len(accounts) == 0:
			return store.ErrNotFound
		}
		state, _ = accounts[0].State(now)
		return nil
	})
	return state, failed(operation, err)
}

// rowList returns rows as a JSON array of arrays, for json_each.
func rowList(rows [][]any) (string, error) {
	b, err := json.Marshal(rows)
	if err != nil {
		return "", fmt.Errorf("encode rows: %w", err)
	}
	return string(b), nil
}

// execRows runs a statement with rows as its first argument, unless there are none.
func (s *Store) execRows(ctx context.Context, query string, rows [][]any, args ...any) error {
	if len(rows) == 0 {
		return nil
	}
	list, err := rowList(rows)
	if err != nil {
		return err
	}
	return s.ledger.exec(ctx, query, append([]any{list}, args...)...)
}

// writeUsage adds the usage to the month's counters and the day's rows.
func (s *Store) writeUsage(ctx context.Context, l *sqlstore.Settlement) error {
	months := make([][]any, len(l.Months.Keys))
	for i, id := range l.Months.Keys {
		used := l.Months.Values[id]
		months[i] = []any{id, used.DetailViews, used.ListRecords}
	}
	if err := s.execRows(ctx, upsertMonths, months, cola.PeriodOf(l.Now).String()); err != nil {
		return err
	}
	days := make([][]any, len(l.Days.Keys))
	for i, k := range l.Days.Keys {
		count := l.Days.Values[k]
		days[i] = []any{
			k.Account, k.Channel, k.Credential.Kind, k.Credential.ID, k.Meter, count.Units, count.Requests,
		}
	}
	return s.execRows(ctx, upsertDays, days, cola.DateOf(l.Now).String())
}

// writeUses records the last use of credentials.
func (s *Store) writeUses(ctx context.Context, l *sqlstore.Settlement) error {
	for _, of := range lastUses {
		ids, accounts := l.DueUses(of.kind)
		rows := make([][]any, len(ids))
		for i := range ids {
			rows[i] = []any{ids[i], accounts[i]}
		}
		at, due := l.Now.UnixMicro(), l.Now.Add(-sqlstore.UseInterval).UnixMicro()
		if err := s.execRows(ctx, of.update, rows, at, due); err != nil {
			return err
		}
	}
	return nil
}
