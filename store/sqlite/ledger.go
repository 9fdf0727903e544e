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

// Each statement writes the rows of all accounts in a batch.
var (
	addMonths = newRowWrite(`usage_months (account_id, period, detail_views, list_records)`, 3,
		`new.column1, ?, new.column2, new.column3`, `(account_id, period) DO UPDATE
		SET detail_views = detail_views + excluded.detail_views, list_records = list_records + excluded.list_records`)
	addDays = newRowWrite(`usage_days (account_id, day, channel, credential_kind, credential_id, meter, units, requests)`, 7,
		`new.column1, ?, new.column2, new.column3, new.column4, new.column5, new.column6, new.column7`,
		`(account_id, day, channel, credential_kind, credential_id, meter) DO UPDATE
		SET units = units + excluded.units, requests = requests + excluded.requests`)
)

const setLastUses = ` AS c SET last_used_at = ?2 FROM json_each(?1)
	WHERE c.id = json_each.value ->> 0 AND c.account_id = json_each.value ->> 1
	AND (c.last_used_at IS NULL OR c.last_used_at <= ?3 OR c.last_used_at > ?2)`

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
		windows := make([]sqlstore.AccountRow, 0, len(l.States))
		for i, grants := range l.Windows() {
			windows = append(windows, sqlstore.AccountRow{Account: store.Account{ID: l.States[i].Account}, Grants: grants})
		}
		if err := s.writeWindows(ctx, windows); err != nil {
			return err
		}
		if err := s.writeUsage(ctx, l); err != nil {
			return err
		}
		if err := s.writePages(ctx, batch.ID, l); err != nil {
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

// writeUsage adds the usage to the month's counters and the day's rows.
func (s *Store) writeUsage(ctx context.Context, l *sqlstore.Settlement) error {
	months := make([]any, 0, len(l.Months.Keys)*addMonths.columns)
	for _, id := range l.Months.Keys {
		used := l.Months.Values[id]
		months = append(months, int64(id), used.DetailViews, used.ListRecords)
	}
	if err := addMonths.exec(ctx, s.ledger, []any{cola.PeriodOf(l.Now).String()}, months); err != nil {
		return err
	}
	days := make([]any, 0, len(l.Days.Keys)*addDays.columns)
	for _, k := range l.Days.Keys {
		count := l.Days.Values[k]
		days = append(days, int64(k.Account), string(k.Channel), string(k.Credential.Kind), k.Credential.ID,
			string(k.Meter), count.Units, count.Requests)
	}
	return addDays.exec(ctx, s.ledger, []any{cola.DateOf(l.Now).String()}, days)
}

// writePages records the payments for pages, and deletes a few old ones: more than it adds, so that
// they don't pile up.
func (s *Store) writePages(ctx context.Context, batch store.BatchID, l *sqlstore.Settlement) error {
	for _, p := range l.Pages {
		if p.Reloaded {
			err := s.ledger.exec(ctx, sqlstore.MarkReloaded, p.SignIn, p.Page, l.Now.Add(-store.PageRetention).UnixMicro())
			if err != nil {
				return err
			}
		}
		if p.Units == 0 {
			continue
		}
		err := s.ledger.exec(ctx, sqlstore.InsertPaidPage, p.SignIn, p.Page, batch[:], p.Account, p.Units, l.Now.UnixMicro())
		if err != nil {
			return err
		}
	}
	if len(l.Pages) == 0 {
		return nil
	}
	return s.ledger.exec(ctx, sqlstore.DeleteOldPaidPages, l.Now.Add(-sqlstore.BatchRetention).UnixMicro(),
		deletedWithWrites*len(l.Pages))
}

// voidPages deletes a batch's payments for pages, and returns the entries without the charges for
// pages that were reloaded.
func (s *Store) voidPages(ctx context.Context, batch store.BatchID, entries []store.Entry) ([]store.Entry, error) {
	var kept []store.Entry
	for _, e := range entries {
		reloaded := map[store.PageKey]bool{}
		for _, p := range e.Pages {
			n, err := s.ledger.affect(ctx, sqlstore.DeletePaidPage, p.SignIn, p.Page, batch[:])
			if err != nil {
				return nil, err
			}
			reloaded[p.PageKey] = n == 0
		}
		kept = append(kept, e.KeepPages(func(p store.PagePayment) bool { return reloaded[p.PageKey] }))
	}
	return kept, nil
}

// writeUses records the last use of credentials.
func (s *Store) writeUses(ctx context.Context, l *sqlstore.Settlement) error {
	for _, use := range lastUses {
		ids, accounts := l.DueUses(use.kind)
		if len(ids) == 0 {
			continue
		}
		rows := make([][2]int64, len(ids))
		for i := range ids {
			rows[i] = [2]int64{ids[i], int64(accounts[i])}
		}
		list, err := json.Marshal(rows)
		if err != nil {
			return fmt.Errorf("encode uses: %w", err)
		}
		at, due := l.Now.UnixMicro(), l.Now.Add(-sqlstore.UseInterval).UnixMicro()
		if err := s.ledger.exec(ctx, use.update, string(list), at, due); err != nil {
			return err
		}
	}
	return nil
}
