package sqlite

import (
	"context"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
	"github.com/colaregistry/colaregistry/store/records"
)

const (
	refusalNames    = `minute, channel, credential_kind, credential_id, reason, count, last_at`
	latestRefusals  = ` ORDER BY last_at DESC, minute DESC, channel DESC, credential_kind DESC, credential_id DESC, reason DESC`
	selectRefusals  = `SELECT ` + refusalNames + ` FROM refusals WHERE account_id = ?` + latestRefusals + ` LIMIT ?`
	refusedAccounts = `SELECT id FROM accounts WHERE id IN (SELECT value FROM json_each(?))`
	insertRefusal   = `INSERT INTO refusals (account_id, ` + refusalNames + `) VALUES (?, ?, ?, ?, ?, ?, ?, ?)`
	addRefusals     = `UPDATE refusals SET count = count + ?7, last_at = max(last_at, ?8)
		WHERE account_id = ?1 AND minute = ?2 AND channel = ?3 AND credential_kind = ?4 AND credential_id = ?5 AND reason = ?6`
	// forgetRefusals reads no more than the index of the account's, of which there are few more than are kept.
	forgetRefusals = `DELETE FROM refusals WHERE (account_id, minute, channel, credential_kind, credential_id, reason) IN (
		SELECT account_id, minute, channel, credential_kind, credential_id, reason FROM refusals WHERE account_id = ?` + latestRefusals + ` LIMIT -1 OFFSET ?)`
)

func refusalTargets(r *store.Refusal) []any {
	return []any{target{&r.Minute}, &r.Channel, &r.Credential.Kind, &r.Credential.ID, &r.Reason, &r.Count, target{&r.LastAt}}
}

// NoteRefusals implements store.Refusals. It is not synced to the disk: see Sessions.
func (s *Store) NoteRefusals(ctx context.Context, refusals []store.AccountRefusal) error {
	const operation = "note refusals"
	summed, err := records.SumRefusals(refusals)
	if err != nil || len(summed) == 0 {
		return failed(operation, err)
	}
	return s.transactUnsynced(ctx, operation, func(ctx context.Context) error {
		there, err := s.thereOf(ctx, records.RefusedAccounts(summed))
		if err != nil {
			return err
		}
		grown := map[cola.AccountID]bool{}
		for i := range summed {
			if r := &summed[i]; there[r.Account] {
				made, err := s.noteRefusal(ctx, r)
				if err != nil {
					return err
				}
				grown[r.Account] = grown[r.Account] || made
			}
		}
		return s.forgetRefusals(ctx, grown)
	})
}

// thereOf returns which accounts there are, within a transaction of the records.
func (s *Store) thereOf(ctx context.Context, accounts []cola.AccountID) (map[cola.AccountID]bool, error) {
	rows, err := s.records.query(ctx, refusedAccounts, idList(accounts))
	known, err := collect(rows, err, func(row scanner) (id cola.AccountID, err error) { return id, row.Scan(&id) })
	there := make(map[cola.AccountID]bool, len(known))
	for _, id := range known {
		there[id] = true
	}
	return there, err
}

// noteRefusal adds a refusal to its row, and reports whether that was made.
func (s *Store) noteRefusal(ctx context.Context, r *store.AccountRefusal) (made bool, err error) {
	n, err := s.writeRefusal(ctx, addRefusals, r)
	if err != nil || n > 0 {
		return false, err
	}
	_, err = s.writeRefusal(ctx, insertRefusal, r)
	return true, err
}

// writeRefusal runs a statement that writes one refusal, and returns how many rows it touched.
func (s *Store) writeRefusal(ctx context.Context, query string, r *store.AccountRefusal) (int64, error) {
	return s.records.affect(ctx, query, int64(r.Account), r.Minute.UnixMicro(), string(r.Channel), string(r.Credential.Kind), r.Credential.ID,
		r.Reason, r.Count, r.LastAt.UnixMicro())
}

// forgetRefusals leaves of those accounts that have more of them now the latest refusals.
func (s *Store) forgetRefusals(ctx context.Context, grown map[cola.AccountID]bool) error {
	for id, more := range grown {
		if !more {
			continue
		}
		if err := s.records.exec(ctx, forgetRefusals, int64(id), store.MaxRefusals); err != nil {
			return err
		}
	}
	return nil
}

// Refusals implements store.Refusals.
func (s *Store) Refusals(ctx context.Context, account cola.AccountID, most int) ([]store.Refusal, error) {
	const operation = "list refusals"
	if err := s.start(); err != nil {
		return nil, failed(operation, err)
	}
	defer s.done()
	rows, err := s.read.query(ctx, selectRefusals, int64(account), max(most, 0))
	list, err := collect(rows, err, func(row scanner) (r store.Refusal, err error) { return r, row.Scan(refusalTargets(&r)...) })
	return list, failed(operation, err)
}

func dumpRefusals(ctx context.Context, q querier, yield func(*store.Item) error) error {
	const query = `SELECT account_id, ` + refusalNames + ` FROM refusals
		ORDER BY account_id, minute, channel, credential_kind, credential_id, reason`
	return dumpRows(ctx, q, yield, store.ItemRefusal, query, func(row scanner, i *store.Item) error {
		return row.Scan(append([]any{&i.Refusal.Account}, refusalTargets(&i.Refusal.Refusal)...)...)
	})
}

// fillRefusal writes a refusal as it was.
func (s *Store) fillRefusal(ctx context.Context, r *store.AccountRefusal) error {
	_, err := s.writeRefusal(ctx, insertRefusal, r)
	return err
}
