package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/colaregistry/colaregistry/cola"
)

// Whoever settles which searches of an account are paused holds the account, and then, in the order of their ids, the searches that may
// come to be paused or not: those that are active and the one at hand, or all where that of the account changes.
const (
	holdAllSearches    = `SELECT id FROM saved_searches WHERE account_id = $1 ORDER BY id FOR NO KEY UPDATE`
	holdActiveSearches = `SELECT id FROM saved_searches WHERE account_id = $1 AND (active OR uuid = $2) ORDER BY id FOR NO KEY UPDATE`
	settlePauses       = `UPDATE saved_searches s SET paused_because = r.because, hold = s.hold + 1, held_until = NULL
		FROM (SELECT o.id, CASE WHEN a.suspended_at IS NOT NULL THEN '` + cola.PausedSuspended + `'
				WHEN o.active AND row_number() OVER (PARTITION BY o.active ORDER BY o.id) > a.active_limit THEN '` + cola.PausedDowngraded + `' END AS because
			FROM saved_searches o JOIN accounts a ON a.id = o.account_id WHERE o.account_id = $1) r
		WHERE s.id = r.id AND s.paused_because IS DISTINCT FROM r.because`
)

// holdSearches has others wait who would run or change those of an account's searches that a statement selects.
func holdSearches(ctx context.Context, tx pgx.Tx, query string, args ...any) error {
	_, err := tx.Exec(ctx, query, args...)
	return err
}

// settleSearches notes which of an account's searches are paused for a reason of the account's, and has those let go that come to be.
func settleSearches(ctx context.Context, tx pgx.Tx, account cola.AccountID) error {
	_, err := tx.Exec(ctx, settlePauses, int64(account))
	return err
}
