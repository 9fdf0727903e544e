package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

// lockStates reads the states of a batch's accounts within its transaction. SQLite's write lock
// covers the accounts, too.
func (s *Store) lockStates(ctx context.Context, batch store.Batch, now time.Time) ([]store.AccountState, error) {
	owners, err := s.owners(ctx, batch.Credentials, now)
	if err != nil {
		return nil, err
	}
	states := make([]store.AccountState, len(batch.Accounts))
	place := make(map[cola.AccountID]int, len(batch.Accounts))
	for i, id := range batch.Accounts {
		state, ahead, err := readState(ctx, s.ledger, id, now)
		if err != nil {
			return nil, fmt.Errorf("read account %d: %w", id, err)
		}
		if ahead > 0 {
			if err := s.pullBack(ctx, int64(id), now, ahead); err != nil {
				return nil, fmt.Errorf("reset the window of account %d: %w", id, err)
			}
		}
		state.Valid = map[cola.Credential]bool{}
		states[i], place[id] = state, i
	}
	for credential, owner := range owners {
		if i, requested := place[owner]; requested {
			states[i].Valid[credential] = true
		}
	}
	return states, nil
}

// owners returns the account of each valid credential.
func (s *Store) owners(
	ctx context.Context, credentials []cola.Credential, now time.Time,
) (map[cola.Credential]cola.AccountID, error) {
	owners := make(map[cola.Credential]cola.AccountID, len(credentials))
	for _, c := range credentials {
		id, err := s.owner(ctx, c, now)
		switch {
		case errors.Is(err, sql.ErrNoRows):
		case err != nil:
			return nil, fmt.Errorf("read %s %d: %w", c.Kind, c.ID, err)
		default:
			owners[c] = id
		}
	}
	return owners, nil
}

// owner returns the account of a credential, or sql.ErrNoRows if it is not valid at now.
func (s *Store) owner(ctx context.Context, c cola.Credential, now time.Time) (id cola.AccountID, err error) {
	switch c.Kind {
	case cola.CredentialKey:
		err = s.ledger.row(ctx, ownerOfKey, c.ID, now.UnixMicro()).Scan(&id)
	case cola.CredentialLink:
		err = s.ledger.row(ctx, ownerOfLink, c.ID).Scan(&id)
	case cola.CredentialSignIn:
		err = s.ledger.row(ctx, ownerOfSignIn, c.ID, now.UnixMicro()).Scan(&id)
	default:
		err = sql.ErrNoRows
	}
	return id, err
}

const (
	ownerOfKey  = `SELECT account_id FROM api_keys WHERE id = ? AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > ?)`
	ownerOfLink = `SELECT l.account_id FROM links l JOIN apps p ON p.id = l.app_id
		WHERE l.id = ? AND l.revoked_at IS NULL AND p.disabled_at IS NULL`
	ownerOfSignIn = `SELECT account_id FROM sign_ins WHERE id = ? AND ended_at IS NULL AND expires_at > ?`
	selectState   = `SELECT a.tier, a.suspended_at, a.suspended_because, coalesce(m.detail_views, 0), coalesce(m.list_records, 0) FROM accounts a
		LEFT JOIN usage_months m ON m.account_id = a.id AND m.period = ? WHERE a.id = ?`
	selectGrants = `SELECT granted_at, requests FROM burst_grants WHERE account_id = ? AND granted_at > ? ORDER BY granted_at`
)

// readState reads the ledger's state of an account. If the clock was set back, grants may lie in
// the future; they count as of now, and ahead is the number of requests in them.
func readState(
	ctx context.Context, q querier, id cola.AccountID, now time.Time,
) (state store.AccountState, ahead int, err error) {
	state.Account = id
	var a store.Account
	err = q.row(ctx, selectState, cola.PeriodOf(now).String(),
		int64(id)).Scan(&a.Tier, target{&a.SuspendedAt}, target{&a.SuspendedReason},
		&state.Used.DetailViews, &state.Used.ListRecords)
	if errors.Is(err, sql.ErrNoRows) {
		return state, 0, nil
	}
	if err != nil {
		return state, 0, err
	}
	state.Exists, state.Tier, state.Suspended = true, a.Tier, a.Suspended()
	state.Grants, ahead, err = readGrants(ctx, q, id, now)
	return state, ahead, err
}

func readGrants(
	ctx context.Context, q querier, id cola.AccountID, now time.Time,
) (grants []store.Grant, ahead int, err error) {
	rows, err := q.query(ctx, selectGrants, int64(id), now.Add(-window).UnixMicro())
	if err != nil {
		return nil, 0, err
	}
	defer rows.Close()
	for rows.Next() {
		var g store.Grant
		if err := rows.Scan(target{&g.At}, &g.Requests); err != nil {
			return nil, 0, err
		}
		if g.At.After(now) {
			ahead += g.Requests
			continue
		}
		grants = append(grants, g)
	}
	if ahead > 0 {
		grants = store.AddGrant(grants, store.Grant{At: now, Requests: ahead})
	}
	return grants, ahead, rows.Err()
}

// pullBack moves grants that are ahead of the clock to now. Left alone, they would fill the window
// until the clock catches up, which may take hours; dropped, they would let the account exceed its
// limit.
func (s *Store) pullBack(ctx context.Context, account int64, now time.Time, requests int) error {
	err := s.ledger.exec(ctx, `DELETE FROM burst_grants WHERE account_id = ? AND granted_at > ?`,
		account, now.UnixMicro())
	if err != nil {
		return err
	}
	return s.grant(ctx, account, now, requests)
}
