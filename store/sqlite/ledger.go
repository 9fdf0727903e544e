package sqlite

import (
	"context"
	"fmt"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

const (
	// window is how long a grant counts against an account's rate limit.
	window = time.Minute
	// usedEvery is the minimum interval between records of a credential's last use.
	usedEvery = time.Minute
)

const (
	dropGrants = `DELETE FROM burst_grants WHERE account_id = ? AND granted_at <= ?`
	setLastUse = ` SET last_used_at = ?1
		WHERE id = ?2 AND account_id = ?3 AND (last_used_at IS NULL OR last_used_at <= ?4 OR last_used_at > ?1)`
)

// Settle implements store.Ledger.
func (s *Store) Settle(
	ctx context.Context, batch store.Batch, decide func(time.Time, []store.AccountState) []store.Entry,
) error {
	return s.transact(ctx, "settle batch", func(ctx context.Context) error {
		now := s.currentTime()
		if err := s.recordBatch(ctx, batch.ID, now); err != nil {
			return err
		}
		states, err := s.lockStates(ctx, batch, now)
		if err != nil {
			return err
		}
		entries := decide(now, states)
		for _, e := range entries {
			if err := s.charge(ctx, e, states, now); err != nil {
				return fmt.Errorf("charge account %d: %w", e.Account, err)
			}
		}
		return s.recordUses(ctx, states, entries, now)
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
	err := s.read.view(ctx, func(q querier) (err error) {
		state, _, err = readState(ctx, q, id, s.currentTime())
		return err
	})
	if err == nil && !state.Exists {
		err = store.ErrNotFound
	}
	return state, failed(operation, err)
}

// charge writes one entry.
func (s *Store) charge(ctx context.Context, e store.Entry, states []store.AccountState, now time.Time) error {
	if err := e.Check(states); err != nil {
		return err
	}
	account := int64(e.Account)
	if e.Requests > 0 {
		if err := s.grant(ctx, account, now, e.Requests); err != nil {
			return err
		}
	}
	var used cola.Used
	for _, u := range e.Units {
		used.Add(u.Meter, u.Units)
		if err := s.chargeDay(ctx, account, u, now); err != nil {
			return err
		}
	}
	if used == (cola.Used{}) {
		return nil
	}
	return s.ledger.exec(ctx, `INSERT INTO usage_months (account_id, period, detail_views, list_records) VALUES (?, ?, ?, ?)
		ON CONFLICT (account_id, period) DO UPDATE
		SET detail_views = detail_views + excluded.detail_views, list_records = list_records + excluded.list_records`,
		account, cola.PeriodOf(now).String(), used.DetailViews, used.ListRecords)
}

// grant adds requests to the window and removes expired grants.
func (s *Store) grant(ctx context.Context, account int64, now time.Time, requests int) error {
	if err := s.ledger.exec(ctx, dropGrants, account, now.Add(-window).UnixMicro()); err != nil {
		return err
	}
	return s.ledger.exec(ctx, `INSERT INTO burst_grants (account_id, granted_at, requests) VALUES (?, ?, ?)
		ON CONFLICT (account_id, granted_at) DO UPDATE SET requests = requests + excluded.requests`,
		account, now.UnixMicro(), requests)
}

// updateUse maps kinds of credentials to the statement that records their use.
var updateUse = map[cola.CredentialKind]string{
	cola.CredentialKey:    `UPDATE api_keys` + setLastUse,
	cola.CredentialLink:   `UPDATE links` + setLastUse,
	cola.CredentialSignIn: `UPDATE sign_ins` + setLastUse,
}

// chargeDay adds usage to the row of its day.
func (s *Store) chargeDay(ctx context.Context, account int64, u store.Units, now time.Time) error {
	if u.Units == 0 && u.Requests == 0 {
		return nil
	}
	return s.ledger.exec(ctx, `INSERT INTO usage_days
			(account_id, day, channel, credential_kind, credential_id, meter, units, requests) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (account_id, day, channel, credential_kind, credential_id, meter) DO UPDATE
		SET units = units + excluded.units, requests = requests + excluded.requests`,
		account, cola.DateOf(now).String(), string(u.Channel),
		string(u.Credential.Kind), u.Credential.ID, string(u.Meter),
		u.Units, u.Requests)
}

// recordUses records the use of the valid and the charged credentials, unless one was recorded less
// than usedEvery ago.
func (s *Store) recordUses(
	ctx context.Context, states []store.AccountState, entries []store.Entry, now time.Time,
) error {
	used := map[cola.Credential]cola.AccountID{}
	for _, e := range entries {
		for _, u := range e.Units {
			if u.Units != 0 || u.Requests != 0 {
				used[u.Credential] = e.Account
			}
		}
	}
	for _, state := range states {
		for c := range state.Valid {
			used[c] = state.Account
		}
	}
	for c, account := range used {
		update, known := updateUse[c.Kind]
		if !known {
			continue
		}
		if err := s.ledger.exec(ctx, update, now.UnixMicro(), c.ID, int64(account),
			now.Add(-usedEvery).UnixMicro()); err != nil {
			return err
		}
	}
	return nil
}
