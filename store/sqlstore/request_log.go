package sqlstore

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/cola/vocabulary"
	"github.com/colaregistry/colaregistry/store"
)

const (
	requestNames = `at, request_id, channel, credential_kind, credential_id, method, target, input, status, code, duration,
		meter, units, answer`
	selectRequests = `SELECT id, ` + requestNames + ` FROM request_log WHERE account_id = $1`
	requestByID    = selectRequests + ` AND id = $2`
	insertRequest  = `INSERT INTO request_log (account_id, expires_at, ` + requestNames + `)
		SELECT id, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16 FROM accounts WHERE id = $1 AND deleted_at IS NULL`
	addRequestGap = `INSERT INTO request_log_gaps (account_id, hour, expires_at, successes, errors)
		SELECT id, $2, $3, $4, $5 FROM accounts WHERE id = $1 AND deleted_at IS NULL
		ON CONFLICT (account_id, hour) DO UPDATE SET successes = request_log_gaps.successes + excluded.successes,
			errors = request_log_gaps.errors + excluded.errors`
	sumRequestGaps = `SELECT coalesce(sum(successes), 0)::bigint, coalesce(sum(errors), 0)::bigint FROM request_log_gaps
		WHERE account_id = $1 AND hour > $2 AND hour < $3`
)

func requestColumns(r *cola.LoggedRequest) []any {
	return []any{
		&r.ID, &r.At, &r.RequestID, &r.Channel, &r.Credential.Kind, &r.Credential.ID, &r.Method, &r.Target, &r.Input,
		&r.Status, (*string)(&r.Code), (*int64)(&r.Duration), &r.Meter, &r.Units, &r.Answer,
	}
}

// RecordRequests implements store.RequestLog. Like sessions, requests aren't synced.
func (s *Store) RecordRequests(ctx context.Context, requests []store.RecordedRequest, gaps []store.RequestGap) error {
	const operation = "record requests"
	statements := make([]Statement, 0, len(requests)+len(gaps))
	for i := range requests {
		r := &requests[i]
		if err := r.Check(); err != nil {
			return s.db.Failed(operation, err)
		}
		statements = append(statements, Statement{insertRequest, []any{
			int64(r.Account), r.ExpiresAt, r.At, r.RequestID, string(r.Channel), string(r.Credential.Kind), r.Credential.ID,
			r.Method, r.Target, r.Input, r.Status, string(r.Code), int64(r.Duration), string(r.Meter), r.Units, r.Answer,
		}})
	}
	// In a fixed order, so that two transactions can't deadlock.
	gaps = slices.SortedFunc(slices.Values(gaps), func(a, b store.RequestGap) int {
		return cmp.Or(cmp.Compare(a.Account, b.Account), a.Hour.Compare(b.Hour))
	})
	for _, g := range gaps {
		statements = append(statements,
			Statement{addRequestGap, []any{int64(g.Account), g.Hour, g.ExpiresAt, g.Successes, g.Errors}})
	}
	if len(statements) == 0 {
		return nil
	}
	return s.db.TransactUnsynced(ctx, operation, func(ctx context.Context, tx Tx) error {
		for _, o := range []expiring{expiredRequests, expiredRequestGaps} {
			if err := s.deleteSomeExpired(ctx, tx, o); err != nil {
				return err
			}
		}
		_, err := tx.ExecAll(ctx, statements...)
		return err
	})
}

// requestQuery returns the query for a filter, and its arguments.
func requestQuery(account cola.AccountID, f store.RequestFilter, limit int) (query string, args []any) {
	query, args = selectRequests, []any{int64(account)}
	add := func(condition string, values ...any) {
		places := make([]any, len(values))
		for i, v := range values {
			args = append(args, v)
			places[i] = len(args)
		}
		query += " AND " + fmt.Sprintf(condition, places...)
	}
	if !f.From.IsZero() {
		add(`at >= $%d`, f.From)
	}
	if !f.To.IsZero() {
		add(`at < $%d`, f.To)
	}
	if f.MinStatus > 0 {
		add(`status >= $%d`, f.MinStatus)
	}
	if f.MaxStatus > 0 {
		add(`status <= $%d`, f.MaxStatus)
	}
	if f.Channel != "" {
		add(`channel = $%d`, string(f.Channel))
	}
	if f.Credential.Kind != "" {
		add(`credential_kind = $%d`, string(f.Credential.Kind))
	}
	if f.Credential.ID != 0 {
		add(`credential_id = $%d`, f.Credential.ID)
	}
	if f.Text != "" {
		// The input is JSON or a query string, which contains the text in escaped form.
		add(`(lower(target) LIKE $%[1]d ESCAPE '~' OR lower(input) LIKE $%[1]d ESCAPE '~' OR
			lower(input) LIKE $%[2]d ESCAPE '~' OR request_id = $%[3]d)`,
			containing(f.Text), containing(url.QueryEscape(f.Text)), f.Text)
	}
	order := "DESC"
	if f.After.ID != 0 {
		order = "ASC"
		add(`(at, id) > ($%d, $%d)`, f.After.At, f.After.ID)
	} else if f.Before.ID != 0 {
		add(`(at, id) < ($%d, $%d)`, f.Before.At, f.Before.ID)
	}
	args = append(args, max(limit, 0))
	return query + fmt.Sprintf(` ORDER BY at %[1]s, id %[1]s LIMIT $%[2]d`, order, len(args)), args
}

// containing returns the LIKE pattern, with the escape character ~, for lower-case text that
// contains the given text, ignoring its case.
func containing(text string) string {
	return `%` + likeEscaper.Replace(vocabulary.FoldASCII(text)) + `%`
}

// likeEscaper escapes the wildcards of LIKE.
var likeEscaper = strings.NewReplacer(`~`, `~~`, `%`, `~%`, `_`, `~_`)

// Requests implements store.RequestLog.
func (s *Store) Requests(ctx context.Context, account cola.AccountID, which store.RequestFilter,
	limit int) ([]cola.LoggedRequest, error) {
	const operation = "list requests"
	if err := which.Check(); err != nil {
		return nil, s.db.Failed(operation, err)
	}
	query, args := requestQuery(account, which, limit)
	all, err := readList(ctx, s, operation, requestColumns, query, args...)
	if which.After.ID != 0 {
		slices.Reverse(all)
	}
	return all, err
}

// Request implements store.RequestLog.
func (s *Store) Request(ctx context.Context, account cola.AccountID, id int64) (cola.LoggedRequest, error) {
	return readOne(ctx, s, "read request", requestColumns, requestByID, int64(account), id)
}

// RequestGaps implements store.RequestLog.
func (s *Store) RequestGaps(ctx context.Context, account cola.AccountID, from, to time.Time) (store.RequestGap, error) {
	return readOne(ctx, s, "sum request gaps", func(g *store.RequestGap) []any { return []any{&g.Successes, &g.Errors} },
		sumRequestGaps, int64(account), from.Add(-time.Hour), to)
}

// LimitRequestLog implements store.RequestLog.
func (s *Store) LimitRequestLog(ctx context.Context, retention time.Duration) error {
	for _, k := range []struct {
		expiring
		table, start string
		age          time.Duration
	}{
		{expiredRequests, "request_log", "at", retention},
		{expiredRequestGaps, "request_log_gaps", "hour", retention + time.Hour},
	} {
		if err := s.shortenRetention(ctx, k.table, k.start, k.age); err != nil {
			return err
		}
		if err := s.deleteAllExpired(ctx, k.expiring); err != nil {
			return err
		}
	}
	return nil
}
