package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
	"github.com/colaregistry/colaregistry/store/records"
)

// refusalsLock is the advisory lock of whoever notes refusals: one at a time, or two that forget old ones of the same accounts could wait
// in a circle. Nothing else is waited for with it.
const refusalsLock int64 = 0x72656675 // "refu"

const (
	lockRefusals   = `SELECT pg_advisory_xact_lock($1::bigint)`
	refusalNames   = `minute, channel, credential_kind, credential_id, reason, count, last_at`
	latestRefusals = ` ORDER BY last_at DESC, minute DESC, channel DESC, credential_kind DESC, credential_id DESC, reason DESC`
	selectRefusals = `SELECT ` + refusalNames + ` FROM refusals WHERE account_id = $1` + latestRefusals + ` LIMIT $2`
	// upsertRefusals tells of each row whose it is, and whether it is a new one: that has not been changed yet.
	upsertRefusals = `INSERT INTO refusals AS r (account_id, ` + refusalNames + `)
		SELECT a.id, minute, channel, kind, credential, reason, count, last
		FROM unnest($1::bigint[], $2::timestamptz[], $3::text[], $4::text[], $5::bigint[], $6::text[], $7::bigint[], $8::timestamptz[])
			AS u (account, minute, channel, kind, credential, reason, count, last) JOIN accounts a ON a.id = u.account
		ON CONFLICT (account_id, minute, channel, credential_kind, credential_id, reason) DO UPDATE
		SET count = r.count + excluded.count, last_at = greatest(r.last_at, excluded.last_at)
		RETURNING account_id, xmax = 0`
	forgetRefusals = `DELETE FROM refusals WHERE (account_id, minute, channel, credential_kind, credential_id, reason) IN (
		SELECT o.* FROM unnest($1::bigint[]) AS u (account) CROSS JOIN LATERAL (
			SELECT account_id, minute, channel, credential_kind, credential_id, reason FROM refusals
			WHERE account_id = u.account` + latestRefusals + ` OFFSET $2) o)`
)

func refusalColumns(r *store.Refusal) fields {
	return fields{&r.Minute, &r.Channel, &r.Credential.Kind, &r.Credential.ID, &r.Reason, &r.Count, &r.LastAt}
}

// NoteRefusals implements store.Refusals. What is forgotten are refusals of accounts that got new ones.
func (s *Store) NoteRefusals(ctx context.Context, refusals []store.AccountRefusal) error {
	const operation = "note refusals"
	summed, err := records.SumRefusals(refusals)
	if err != nil || len(summed) == 0 {
		return failed(operation, err)
	}
	args := refusalArgs(summed)
	return s.transactUnsynced(ctx, operation, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, lockRefusals, refusalsLock); err != nil {
			return err
		}
		type noted struct {
			account cola.AccountID
			made    bool
		}
		rows, err := tx.Query(ctx, upsertRefusals, args...)
		list, err := collect(rows, err, func(n *noted) fields { return fields{&n.account, &n.made} })
		if err != nil {
			return err
		}
		grown := map[cola.AccountID]bool{}
		var accounts []int64
		for _, n := range list {
			if n.made && !grown[n.account] {
				grown[n.account], accounts = true, append(accounts, int64(n.account))
			}
		}
		if len(accounts) == 0 {
			return nil
		}
		_, err = tx.Exec(ctx, forgetRefusals, accounts, store.MaxRefusals)
		return err
	})
}

// refusalArgs returns the columns of upsertRefusals.
func refusalArgs(refusals []store.AccountRefusal) []any {
	n := len(refusals)
	accounts, credentials, counts := make([]int64, n), make([]int64, n), make([]int64, n)
	minutes, last := make([]time.Time, n), make([]time.Time, n)
	channels, kinds, reasons := make([]string, n), make([]string, n), make([]string, n)
	for i, r := range refusals {
		accounts[i], minutes[i], channels[i], kinds[i] = int64(r.Account), r.Minute, string(r.Channel), string(r.Credential.Kind)
		credentials[i], reasons[i], counts[i], last[i] = r.Credential.ID, r.Reason, int64(r.Count), r.LastAt
	}
	return []any{accounts, minutes, channels, kinds, credentials, reasons, counts, last}
}

// Refusals implements store.Refusals.
func (s *Store) Refusals(ctx context.Context, account cola.AccountID, most int) ([]store.Refusal, error) {
	var list []store.Refusal
	err := s.read(ctx, "list refusals", func() error {
		rows, err := s.general.Query(ctx, selectRefusals, int64(account), max(most, 0))
		list, err = collect(rows, err, refusalColumns)
		return err
	})
	return list, err
}

func (d dumper) refusals() error {
	const query = `SELECT account_id, ` + refusalNames + ` FROM refusals
		ORDER BY account_id, minute, channel, credential_kind, credential_id, reason`
	return d.rows(store.ItemRefusal, query, func(i *store.Item) fields {
		return append(fields{&i.Refusal.Account}, refusalColumns(&i.Refusal.Refusal)...)
	}, nil)
}

// addRefusal adds a refusal as it was.
func (f *filler) addRefusal(r *store.AccountRefusal) {
	f.add(f.refusals, int64(r.Account), r.Minute, string(r.Channel), string(r.Credential.Kind), r.Credential.ID, r.Reason, int64(r.Count), r.LastAt)
}
