package sqlstore

import (
	"context"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
	"github.com/colaregistry/colaregistry/store/records"
)

// refusalLocks is the class of the advisory lock for writing refusals: one transaction at a time,
// because two that delete old refusals of the same accounts could deadlock.
const refusalLocks int32 = 0x72656675 // "refu"

const (
	refusalNames   = `minute, channel, credential_kind, credential_id, reason, count, last_at`
	latestRefusals = ` ORDER BY last_at DESC, minute DESC, channel DESC, credential_kind DESC, credential_id DESC, reason DESC`
	selectRefusals = `SELECT ` + refusalNames + ` FROM refusals WHERE account_id = $1` + latestRefusals + ` LIMIT $2`
	upsertRefusal  = `INSERT INTO refusals AS r (account_id, ` + refusalNames + `) SELECT id, $2, $3, $4, $5, $6, $7, $8 FROM accounts WHERE id = $1
		ON CONFLICT (account_id, minute, channel, credential_kind, credential_id, reason) DO UPDATE
		SET count = r.count + excluded.count, last_at = greatest(r.last_at, excluded.last_at)`
	// forgetRefusals reads only the index of the account's refusals, of which there are few more
	// than are kept.
	forgetRefusals = `DELETE FROM refusals WHERE (account_id, minute, channel, credential_kind, credential_id, reason) IN (
		SELECT account_id, minute, channel, credential_kind, credential_id, reason FROM refusals WHERE account_id = $1` + latestRefusals + `
		LIMIT 1000000 OFFSET $2)`
)

func refusalColumns(r *store.Refusal) []any {
	return []any{&r.Minute, &r.Channel, &r.Credential.Kind, &r.Credential.ID, &r.Reason, &r.Count, &r.LastAt}
}

// NoteRefusals implements store.Refusals. Like sessions, refusals aren't synced.
func (s *Store) NoteRefusals(ctx context.Context, refusals []store.AccountRefusal) error {
	const operation = "note refusals"
	summed, err := records.SumRefusals(refusals)
	if err != nil || len(summed) == 0 {
		return s.db.Failed(operation, err)
	}
	var statements []Statement
	for i := range summed {
		statements = append(statements, Statement{upsertRefusal, append([]any{int64(summed[i].Account)}, refusalColumns(&summed[i].Refusal)...)})
	}
	for _, account := range records.RefusedAccounts(summed) {
		statements = append(statements, Statement{forgetRefusals, []any{int64(account), store.MaxRefusals}})
	}
	return s.db.TransactUnsynced(ctx, operation, func(ctx context.Context, tx Tx) error {
		if err := tx.Lock(ctx, refusalLocks, 0); err != nil {
			return err
		}
		return tx.ExecAll(ctx, statements...)
	})
}

// Refusals implements store.Refusals.
func (s *Store) Refusals(ctx context.Context, account cola.AccountID, most int) ([]store.Refusal, error) {
	return readList(ctx, s, "list refusals", refusalColumns, selectRefusals, int64(account), max(most, 0))
}
