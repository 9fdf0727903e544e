package postgres

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

const (
	// window is how long a grant counts against an account's rate limit.
	window = time.Minute
	// usedEvery is the minimum interval between records of a credential's last use.
	usedEvery = time.Minute
)

// A batch is settled in two round trips. The first begins the transaction, takes the locks and
// reads; each statement sees everything committed before it began. The second writes and commits.
//
// All transactions take locks in the same order, so they cannot deadlock:
//
//  1. The batch. A second attempt with its ID waits for the first.
//  2. Accounts, ascending.
//  3. Rows that belong to these accounts: counters, days, windows, keys, links, sign-ins.
//
// Rows of an account are only changed under the lock of the account, with these exceptions:
//
//   - RevokeKey, RevokeLink, RestoreLink, EndSignIn and Connect change one row and hold no other
//     lock that a settlement waits for.
//   - AccountOf locks at most one account, and then an address and an identity, which the ledger
//     does not use.
//   - DisableApp and RegisterApp lock an app, which the ledger reads without a lock.
//   - Recording runs and deleting searches lock searches and then deliveries (see ClaimDue and
//     ClaimDeliveries), and no account after those.
//   - Deletions of old rows skip locked rows.
//
// SetTier, CreateKey, ReplaceKey, EndOtherSignIns and CreateSavedSearch lock one account and then
// only its rows.

const (
	upsertMonths = `INSERT INTO usage_months AS m (account_id, period, detail_views, list_records)
		SELECT account, $2, views, records FROM unnest($1::bigint[], $3::bigint[], $4::bigint[]) AS u (account, views, records)
		ON CONFLICT (account_id, period) DO UPDATE
		SET detail_views = m.detail_views + excluded.detail_views, list_records = m.list_records + excluded.list_records`
	upsertDays = `INSERT INTO usage_days AS d (account_id, day, channel, credential_kind, credential_id, meter, units, requests)
		SELECT account, $2, channel, kind, credential, meter, units, requests
		FROM unnest($1::bigint[], $3::text[], $4::text[], $5::bigint[], $6::text[], $7::bigint[], $8::bigint[])
			AS u (account, channel, kind, credential, meter, units, requests)
		ON CONFLICT (account_id, day, channel, credential_kind, credential_id, meter) DO UPDATE
		SET units = d.units + excluded.units, requests = d.requests + excluded.requests`
	upsertWindows = `INSERT INTO burst_windows (account_id, granted_at, requests)
		SELECT account, array_agg(at ORDER BY at), array_agg(requests ORDER BY at)
		FROM unnest($1::bigint[], $2::timestamptz[], $3::integer[]) AS u (account, at, requests) GROUP BY account
		ON CONFLICT (account_id) DO UPDATE SET granted_at = excluded.granted_at, requests = excluded.requests`
	noteKeyUses    = `UPDATE api_keys c` + setLastUses
	noteLinkUses   = `UPDATE links c` + setLastUses
	noteSignInUses = `UPDATE sign_ins c` + setLastUses
	setLastUses    = ` SET last_used_at = $1 FROM unnest($3::bigint[], $4::bigint[]) AS u (id, account)
		WHERE c.id = u.id AND c.account_id = u.account AND (c.last_used_at IS NULL OR c.last_used_at <= $2 OR c.last_used_at > $1)`
)

// Settle implements store.Ledger.
func (s *Store) Settle(
	ctx context.Context, batch store.Batch, decide func(time.Time, []store.AccountState) []store.Entry,
) error {
	const operation = "settle batch"
	if err := s.start(); err != nil {
		return failed(operation, err)
	}
	defer s.done()
	conn, err := s.ledger.Acquire(ctx)
	if err != nil {
		return s.failed(ctx, operation, err)
	}
	defer abandon(ctx, conn)
	l, err := s.lockStates(ctx, conn, batch)
	if err != nil {
		return s.failed(ctx, operation, s.outcomeUnknown(err))
	}
	entries := decide(l.now, slices.Clone(l.states))
	t := tally{ledgerState: l}
	for _, e := range entries {
		if err := t.add(e, 1); err != nil {
			return failed(operation, fmt.Errorf("charge account %d: %w", e.Account, err))
		}
	}
	return s.failed(ctx, operation, s.outcomeUnknown(t.commit(ctx, conn, batch.ID)))
}

// abandon returns a connection to the pool. It rolls back an open transaction, or closes the
// connection if that fails.
func abandon(ctx context.Context, conn *pgxpool.Conn) {
	defer conn.Release() // closes it if it is still in a transaction
	if conn.Conn().PgConn().TxStatus() == 'I' {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), rollbackTimeout)
	defer cancel()
	_, _ = conn.Exec(ctx, `ROLLBACK`)
}

// outcomeUnknown wraps errors of a transaction that has begun: the end of a context becomes
// store.ErrUnavailable, because the outcome is unknown. It reconnects if the connection may be
// lost.
func (s *Store) outcomeUnknown(err error) error {
	if isConnectionLost(err) || isEnded(err) {
		s.reconnect()
	}
	return inDoubt(err)
}

// tally totals the changes from a batch's entries, so that each table needs only one statement.
type tally struct {
	ledgerState
	months   sums[cola.AccountID, cola.Used]
	days     sums[dayKey, dayCount]
	requests sums[cola.AccountID, int]
}

type dayKey struct {
	account    cola.AccountID
	channel    cola.Channel
	credential cola.Credential
	meter      cola.Meter
}

type dayCount struct{ units, requests int }

// sums are values by key, in insertion order of the keys.
type sums[K comparable, V any] struct {
	keys   []K
	values map[K]V
}

func (s *sums[K, V]) change(key K, by func(*V)) {
	v, known := s.values[key]
	if !known {
		if s.values == nil {
			s.values = map[K]V{}
		}
		s.keys = append(s.keys, key)
	}
	by(&v)
	s.values[key] = v
}

// add counts an entry, or reverts it if sign is -1.
func (t *tally) add(e store.Entry, sign int) error {
	if err := e.Check(t.states); err != nil {
		return err
	}
	if e.Requests > 0 {
		t.requests.change(e.Account, func(n *int) { *n += sign * e.Requests })
	}
	var used cola.Used
	for _, u := range e.Units {
		used.Add(u.Meter, sign*u.Units)
		if u.Units != 0 || u.Requests != 0 {
			t.days.change(dayKey{e.Account, u.Channel, u.Credential, u.Meter}, func(c *dayCount) {
				c.units += sign * u.Units
				c.requests += sign * u.Requests
			})
		}
	}
	if used != (cola.Used{}) {
		t.months.change(e.Account, func(m *cola.Used) {
			m.DetailViews += used.DetailViews
			m.ListRecords += used.ListRecords
		})
	}
	return nil
}

// commit writes all changes and the batch's ID, and commits.
func (t *tally) commit(ctx context.Context, conn *pgxpool.Conn, id store.BatchID) error {
	b := &pgx.Batch{}
	t.queueWindows(b)
	t.queueUsage(b)
	t.queueUses(b, cola.CredentialKey, noteKeyUses)
	t.queueUses(b, cola.CredentialLink, noteLinkUses)
	t.queueUses(b, cola.CredentialSignIn, noteSignInUses)
	b.Queue(insertBatch, [16]byte(id), t.now, false)
	b.Queue(`COMMIT`)
	ending := watchCommit(conn.Conn())
	results := conn.SendBatch(ctx, b)
	var end pgconn.CommandTag
	var err error
	for i := 0; i < b.Len() && err == nil; i++ {
		end, err = results.Exec()
	}
	if err = closeBatch(results, err); err == nil && end.String() != "COMMIT" {
		err = fmt.Errorf("transaction ended with %s", end)
	}
	return ending.result(err)
}

// queueUsage queues the month's counters and the day's rows.
func (t *tally) queueUsage(b *pgx.Batch) {
	if n := len(t.months.keys); n > 0 {
		accounts, views, list := make([]int64, n), make([]int64, n), make([]int64, n)
		for i, id := range t.months.keys {
			used := t.months.values[id]
			accounts[i], views[i], list[i] = int64(id), int64(used.DetailViews), int64(used.ListRecords)
		}
		b.Queue(upsertMonths, accounts, cola.PeriodOf(t.now).String(), views, list)
	}
	n := len(t.days.keys)
	if n == 0 {
		return
	}
	accounts, credentials, units, requests := make([]int64, n), make([]int64, n), make([]int64, n), make([]int64, n)
	channels, kinds, meters := make([]string, n), make([]string, n), make([]string, n)
	for i, k := range t.days.keys {
		count := t.days.values[k]
		accounts[i] = int64(k.account)
		channels[i] = string(k.channel)
		kinds[i] = string(k.credential.Kind)
		credentials[i] = k.credential.ID
		meters[i], units[i], requests[i] = string(k.meter), int64(count.units), int64(count.requests)
	}
	b.Queue(upsertDays, accounts, cola.DateOf(t.now).Time(), channels, kinds, credentials, meters, units, requests)
}

// queueWindows queues the windows of accounts with new grants or with grants in the future. It
// drops expired grants and moves future ones to now.
func (t *tally) queueWindows(b *pgx.Batch) {
	var accounts, requests []int64
	var at []time.Time
	for i, state := range t.states {
		n := t.requests.values[state.Account]
		if n == 0 && !t.ahead[i] {
			continue
		}
		grants := slices.Clone(state.Grants)
		if n > 0 {
			grants = store.AddGrant(grants, store.Grant{At: t.now, Requests: n})
		}
		for _, g := range grants {
			accounts, at = append(accounts, int64(state.Account)), append(at, g.At)
			requests = append(requests, int64(g.Requests))
		}
	}
	if len(accounts) > 0 {
		b.Queue(upsertWindows, accounts, at, requests)
	}
}

// queueUses queues updates of the last use of credentials of one kind: the valid and the charged
// ones, once each, unless a recent use is already recorded.
func (t *tally) queueUses(b *pgx.Batch, kind cola.CredentialKind, update string) {
	var ids, accounts []int64
	noted := map[int64]bool{}
	use := func(account cola.AccountID, c cola.Credential) {
		if c.Kind != kind || noted[c.ID] || !t.useIsDue(c) {
			return
		}
		noted[c.ID] = true
		ids, accounts = append(ids, c.ID), append(accounts, int64(account))
	}
	for _, state := range t.states {
		for c := range state.Valid {
			use(state.Account, c)
		}
	}
	for _, k := range t.days.keys {
		use(k.account, k.credential)
	}
	if len(ids) > 0 {
		b.Queue(update, t.now, t.now.Add(-usedEvery), ids, accounts)
	}
}

func (t *tally) useIsDue(c cola.Credential) bool {
	row, known := t.credentials[c]
	return !known || row.lastUsed.IsZero() || !row.lastUsed.After(t.now.Add(-usedEvery)) || row.lastUsed.After(t.now)
}
