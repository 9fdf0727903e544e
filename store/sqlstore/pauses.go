package sqlstore

import (
	"context"

	"github.com/colaregistry/colaregistry/cola"
)

// Whoever settles which searches of an account are paused locks the account, and then, by ascending ID, the searches that may change:
// the active ones and the one at hand, or all of them if the account changes.
const (
	holdAllSearches    = `SELECT id FROM saved_searches WHERE account_id = $1 ORDER BY id FOR NO KEY UPDATE`
	holdActiveSearches = `SELECT id FROM saved_searches WHERE account_id = $1 AND (active OR uuid = $2) ORDER BY id FOR NO KEY UPDATE`
	settlePauses       = `UPDATE saved_searches AS s SET paused_because = r.because, hold = s.hold + 1, held_until = NULL
		FROM (SELECT o.id, CASE WHEN a.suspended_at IS NOT NULL THEN '` + cola.PausedSuspended + `'
				WHEN o.active AND row_number() OVER (PARTITION BY o.active ORDER BY o.id) > a.active_limit THEN '` + cola.PausedDowngraded + `' END AS because
			FROM saved_searches o JOIN accounts a ON a.id = o.account_id WHERE o.account_id = $1) r
		WHERE s.id = r.id AND s.paused_because IS DISTINCT FROM r.because`
)

// settleSearches notes which of an account's searches are paused for a reason of the account's, and ends claims of those that change.
func settleSearches(ctx context.Context, tx Tx, account cola.AccountID) error {
	_, err := tx.Exec(ctx, settlePauses, int64(account))
	return err
}
