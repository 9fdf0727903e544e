package postgres

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

const (
	lockAccounts = `SELECT id FROM accounts WHERE id = ANY($1) ORDER BY id FOR NO KEY UPDATE`
	// selectStates returns the current time and a row for each existing account, or one row without
	// an account. The statement reads the clock once, after the locks are taken.
	selectStates = `WITH clock AS MATERIALIZED (SELECT coalesce($2::timestamptz, clock_timestamp()) AS now)
		SELECT clock.now, a.id, a.tier, a.suspended_at, a.suspended_because, coalesce(m.detail_views, 0), coalesce(m.list_records, 0), w.granted_at, w.requests
		FROM clock LEFT JOIN accounts a ON a.id = ANY($1)
		LEFT JOIN usage_months m ON m.account_id = a.id AND m.period = to_char(clock.now AT TIME ZONE 'UTC', 'YYYY-MM')
		LEFT JOIN burst_windows w ON w.account_id = a.id`
	// selectCredentials returns keys, links and sign-ins. Links to a disabled app count as revoked.
	selectCredentials = `SELECT '` + string(cola.CredentialKey) + `', id, account_id, last_used_at, revoked_at, expires_at
		FROM api_keys WHERE id = ANY($1)
		UNION ALL SELECT '` + string(cola.CredentialLink) + `', l.id, l.account_id, l.last_used_at, coalesce(l.revoked_at, p.disabled_at), NULL
		FROM links l JOIN apps p ON p.id = l.app_id WHERE l.id = ANY($2)
		UNION ALL SELECT '` + string(cola.CredentialSignIn) + `', id, account_id, last_used_at, ended_at, expires_at FROM sign_ins WHERE id = ANY($3)`
)

// accountRow is an account's row with its window.
type accountRow struct {
	account  store.Account // only ID (0 if there is no account), tier and suspension
	used     cola.Used
	at       []time.Time
	requests []int
}

// credentialRow is the part of a key, link or sign-in that a settlement needs.
type credentialRow struct {
	cola.Credential
	account                      cola.AccountID
	lastUsed, revoked, expiresAt time.Time
}

// valid reports whether the credential is valid at now.
func (c credentialRow) valid(now time.Time) bool {
	return c.revoked.IsZero() && (c.expiresAt.IsZero() || c.expiresAt.After(now))
}

func accountIDs(ids []cola.AccountID) []int64 {
	list := make([]int64, len(ids))
	for i, id := range ids {
		list[i] = int64(id)
	}
	return list
}

// readAccounts reads the rows of selectStates.
func readAccounts(rows pgx.Rows, err error) (now time.Time, list []accountRow, _ error) {
	type row struct {
		now time.Time
		accountRow
	}
	all, err := collect(rows, err, func(r *row) fields {
		return fields{
			&r.now, &r.account.ID, &r.account.Tier, &r.account.SuspendedAt, &r.account.SuspendedReason,
			&r.used.DetailViews, &r.used.ListRecords, &r.at, &r.requests,
		}
	})
	if err != nil {
		return now, nil, err
	}
	if len(all) == 0 {
		return now, nil, errors.New("database did not return the time")
	}
	for _, r := range all {
		if r.account.ID != 0 {
			list = append(list, r.accountRow)
		}
	}
	return all[0].now, list, nil
}

// state returns the ledger's state of an account at the given time, and whether its window contains
// grants ahead of that time. A clock that was set back, or that of another server after a
// failover, leaves such grants. They count as of now: left alone, they would fill the window until
// the clock catches up, which may take hours; dropped, they would let the account exceed its limit.
func (r accountRow) state(now time.Time) (state store.AccountState, ahead bool) {
	state = store.AccountState{
		Account:   r.account.ID,
		Exists:    true,
		Suspended: r.account.Suspended(),
		Tier:      r.account.Tier,
		Used:      r.used,
	}
	future := 0
	for i, at := range r.at {
		switch {
		case at.After(now):
			future += r.requests[i]
		case at.After(now.Add(-window)):
			state.Grants = append(state.Grants, store.Grant{At: at, Requests: r.requests[i]})
		}
	}
	if future > 0 {
		state.Grants = store.AddGrant(state.Grants, store.Grant{At: now, Requests: future})
	}
	return state, future > 0
}

// AccountUsage implements store.Ledger.
func (s *Store) AccountUsage(ctx context.Context, id cola.AccountID) (store.AccountState, error) {
	var state store.AccountState
	err := s.read(ctx, "read usage", func() error {
		now, list, err := readAccounts(s.general.Query(ctx, selectStates, []int64{int64(id)}, s.clock()))
		switch {
		case err != nil:
			return err
		case len(list) == 0:
			return store.ErrNotFound
		}
		state, _ = list[0].state(now)
		return nil
	})
	return state, err
}

// queueStates queues the reads that a batch's decision needs. at is the current time, or nil for
// the database's clock.
func queueStates(b *pgx.Batch, batch store.Batch, at *time.Time) {
	b.Queue(selectStates, accountIDs(batch.Accounts), at)
	var keys, links, signIns []int64
	for _, c := range batch.Credentials {
		switch c.Kind {
		case cola.CredentialKey:
			keys = append(keys, c.ID)
		case cola.CredentialLink:
			links = append(links, c.ID)
		case cola.CredentialSignIn:
			signIns = append(signIns, c.ID)
		}
	}
	b.Queue(selectCredentials, keys, links, signIns)
}

// lockStates begins the transaction of a batch, takes its locks and reads the states of its
// accounts. It fails with store.ErrExists or store.ErrVoid if the batch was settled or voided
// before.
func (s *Store) lockStates(ctx context.Context, conn *pgxpool.Conn, batch store.Batch) (l ledgerState, err error) {
	b := &pgx.Batch{}
	queueAttempt(b, batch.ID)
	b.Queue(lockAccounts, accountIDs(batch.Accounts))
	if s.now == nil {
		queueStates(b, batch, nil)
	}
	results := conn.SendBatch(ctx, b)
	earlier, err := readAttempt(results)
	if err == nil {
		_, err = results.Exec() // lockAccounts
	}
	if err == nil && s.now == nil {
		l, err = readStates(results, batch)
	}
	if err = closeBatch(results, err); err != nil {
		return l, err
	}
	if earlier.known {
		return l, earlier.confirm(ctx, conn)
	}
	if s.now == nil {
		return l, nil
	}
	b = &pgx.Batch{} // read a test's clock only after taking the locks
	queueStates(b, batch, s.clock())
	results = conn.SendBatch(ctx, b)
	l, err = readStates(results, batch)
	return l, closeBatch(results, err)
}

// ledgerState is the input of a decision, in the order of the batch's accounts.
type ledgerState struct {
	now         time.Time
	states      []store.AccountState
	ahead       []bool // for each state, whether its window contained grants ahead of now
	credentials map[cola.Credential]credentialRow
}

// readStates reads the results of queueStates.
func readStates(results pgx.BatchResults, batch store.Batch) (l ledgerState, err error) {
	var accounts []accountRow
	if l.now, accounts, err = readAccounts(results.Query()); err != nil {
		return l, err
	}
	rows, err := results.Query()
	credentials, err := collect(rows, err, func(c *credentialRow) fields {
		return fields{&c.Kind, &c.ID, &c.account, &c.lastUsed, &c.revoked, &c.expiresAt}
	})
	if err != nil {
		return l, err
	}
	l.states, l.ahead = make([]store.AccountState, len(batch.Accounts)), make([]bool, len(batch.Accounts))
	place := make(map[cola.AccountID]int, len(batch.Accounts))
	for i, id := range batch.Accounts {
		l.states[i].Account, place[id] = id, i
	}
	for _, row := range accounts {
		i := place[row.account.ID]
		l.states[i], l.ahead[i] = row.state(l.now)
	}
	l.credentials = make(map[cola.Credential]credentialRow, len(credentials))
	for i := range l.states {
		l.states[i].Valid = map[cola.Credential]bool{}
	}
	for _, c := range credentials {
		l.credentials[c.Credential] = c
		if i, requested := place[c.account]; requested && c.valid(l.now) {
			l.states[i].Valid[c.Credential] = true
		}
	}
	return l, nil
}
