package sqlite

import (
	"context"

	"github.com/colaregistry/colaregistry/cola"
)

const settlePauses = `UPDATE saved_searches AS s SET paused_because = r.because, hold = s.hold + 1, held_until = NULL
	FROM (SELECT o.id, CASE WHEN a.suspended_at IS NOT NULL THEN '` + cola.PausedSuspended + `'
			WHEN o.active AND row_number() OVER (PARTITION BY o.active ORDER BY o.id) > a.active_limit THEN '` + cola.PausedDowngraded + `' END AS because
		FROM saved_searches o JOIN accounts a ON a.id = o.account_id WHERE o.account_id = ?) r
	WHERE s.id = r.id AND s.paused_because IS NOT r.because`

// settleSearches notes which of an account's searches are paused for a reason of the account's, and has those let go that come to be;
// only within a transaction that writes.
func (s *Store) settleSearches(ctx context.Context, account cola.AccountID) error {
	return s.ledger.exec(ctx, settlePauses, int64(account))
}
