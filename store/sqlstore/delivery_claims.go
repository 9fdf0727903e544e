package sqlstore

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
	"github.com/colaregistry/colaregistry/store/records"
)

// Claims on deliveries work like claims on searches: a claim carries the delivery's hold number,
// which every event that ends a claim increments. See the package comment for the states of a
// delivery.

const (
	// sendable selects deliveries of one kind, except those of suspended accounts, those without a
	// recipient address, and run and test messages to inactive destinations.
	sendable = ` FROM deliveries v INNER JOIN destinations d ON d.id = v.destination_id INNER JOIN accounts a ON a.id = d.account_id
		WHERE v.kind = $1 AND a.suspended_at IS NULL AND (d.state = '` + cola.DestinationActive + `' OR v.event NOT IN ('` + cola.EventRan + `', '` + cola.EventTest + `'))
			AND (a.email NOT LIKE '%://%#%' OR d.address IS NOT NULL AND v.event <> '` + cola.EventPaused + `')`
	dueDeliveries = `SELECT v.id, v.next_attempt_at` + sendable + ` AND v.next_attempt_at <= $2 AND (v.held_until IS NULL OR v.held_until <= coalesce($3::timestamptz, clock_timestamp()))
		ORDER BY v.next_attempt_at, v.id LIMIT $4 FOR NO KEY UPDATE OF v SKIP LOCKED`
	oldestPending       = `SELECT v.next_attempt_at` + sendable + ` AND v.next_attempt_at IS NOT NULL ORDER BY v.next_attempt_at LIMIT 1`
	claimDeliveriesByID = `UPDATE deliveries SET hold = hold + 1, held_until = coalesce($2::timestamptz, clock_timestamp()) + make_interval(secs => $3)
		WHERE id = ANY($1) RETURNING id`
	claimedDeliveries = `SELECT v.id, v.hold, v.message_id, v.event, v.kind, coalesce(v.run_id, 0), v.attempts, v.created_at, v.next_attempt_at, v.first_attempt_at,
			a.email, ` + destinationNames + ` FROM deliveries v INNER JOIN destinations d ON d.id = v.destination_id` + destinationOwner + ` WHERE v.id = ANY($1)`
	releaseDelivery = `UPDATE deliveries SET hold = hold + 1, held_until = NULL WHERE id IN (
		SELECT id FROM deliveries WHERE id = $1 AND hold = $2 FOR NO KEY UPDATE SKIP LOCKED)`
	lockDestinationOf = `SELECT id FROM destinations WHERE id = (SELECT destination_id FROM deliveries WHERE id = $1) FOR NO KEY UPDATE`
	insertAttempt     = `INSERT INTO delivery_attempts (delivery_id, n, at, took, status, error, subject, sent, headers, response)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`
	insertPausedMessage = `INSERT INTO deliveries (account_id, destination_id, event, kind, created_at, next_attempt_at)
		SELECT account_id, id, '` + cola.EventPaused + `', '` + cola.KindEmail + `', $2, $2 FROM destinations WHERE id = $1`
)

var (
	lockClaimedDelivery = `SELECT v.event, v.created_at, d.kind, coalesce(d.address_folded, a.email_folded), a.email_folded,
			v.` + strings.Join(records.Names((&records.DeliveryState{}).Columns()), ", v.") + `,
			d.` + strings.Join(records.Names((&records.DestinationState{}).Columns()), ", d.") + `
		FROM deliveries v INNER JOIN destinations d ON d.id = v.destination_id INNER JOIN accounts a ON a.id = d.account_id WHERE v.id = $1 AND v.hold = $2
		FOR NO KEY UPDATE OF v`
	updateDeliveryState = `UPDATE deliveries SET ` +
		assignments((&records.DeliveryState{}).Columns(), 2) + `, hold = hold + 1, held_until = NULL WHERE id = $1`
	updateDestinationState = `UPDATE destinations SET ` +
		assignments((&records.DestinationState{}).Columns(), 2) + ` WHERE id = $1`
)

// ClaimDeliveries implements store.Deliveries.
func (s *Store) ClaimDeliveries(ctx context.Context, due time.Time, kinds []string, limit int,
	hold time.Duration) ([]store.DueDelivery, error) {
	return claimInChunks(s, limit, func(maxRows int) (claimed []store.DueDelivery, err error) {
		err = s.db.Transact(ctx, "claim deliveries", func(ctx context.Context, tx Tx) error {
			claimed, err = s.claimDeliveries(ctx, tx, due, kinds, maxRows, hold)
			return err
		})
		return claimed, err
	})
}

// claimInChunks claims up to limit rows, in transactions of at most Options.MaxRows. If a
// transaction fails, the claims of earlier transactions are left to expire.
func claimInChunks[T any](s *Store, limit int, claim func(maxRows int) ([]T, error)) ([]T, error) {
	var all []T
	for len(all) < limit {
		maxRows := s.opts.maxRows(limit - len(all))
		claimed, err := claim(maxRows)
		if err != nil {
			return nil, err
		}
		if all = append(all, claimed...); len(claimed) < maxRows {
			break
		}
	}
	return all, nil
}

// dueDelivery is a delivery that may be claimed.
type dueDelivery struct {
	id  int64
	due time.Time
}

func (s *Store) claimDeliveries(ctx context.Context, tx Tx, due time.Time, kinds []string, limit int,
	hold time.Duration) ([]store.DueDelivery, error) {
	var all []dueDelivery
	for _, kind := range kinds {
		some, err := list(ctx, tx, func(d *dueDelivery) []any { return []any{&d.id, &d.due} },
			dueDeliveries, kind, due, s.clock(), limit)
		if err != nil {
			return nil, err
		}
		all = append(all, some...)
	}
	slices.SortFunc(all, func(a, b dueDelivery) int { return cmp.Or(a.due.Compare(b.due), cmp.Compare(a.id, b.id)) })
	all = slices.Compact(all) // callers may pass a kind twice
	all = all[:min(limit, len(all))]
	if len(all) == 0 {
		return nil, nil
	}
	ids := make([]int64, len(all))
	for i := range all {
		ids[i] = all[i].id
	}
	held, err := list(ctx, tx, column[int64], claimDeliveriesByID, ids, s.clock(), hold.Seconds())
	if err != nil || len(held) == 0 { // a trigger rejects claims by program versions that can't send these deliveries
		return nil, err
	}
	return readClaimed(ctx, tx, held)
}

// readClaimed reads deliveries that were just claimed, ordered by due time.
func readClaimed(ctx context.Context, tx Tx, ids []int64) ([]store.DueDelivery, error) {
	type row struct {
		store.DueDelivery
		email string
	}
	all, err := list(ctx, tx, func(c *row) []any {
		return append([]any{
			&c.ID, &c.Hold, &c.MessageID, &c.Event, &c.Kind, &c.Run,
			&c.Attempts, &c.CreatedAt, &c.DueAt, &c.FirstAttemptAt, &c.email,
		},
			destinationColumns(&c.Destination)...)
	}, claimedDeliveries, ids)
	claimed := make([]store.DueDelivery, len(all))
	for i := range all {
		claimed[i] = all[i].DueDelivery
		if !store.IsIdentityName(all[i].email) {
			claimed[i].AccountEmail = all[i].email
		}
	}
	slices.SortFunc(claimed,
		func(a, b store.DueDelivery) int { return cmp.Or(a.DueAt.Compare(b.DueAt), cmp.Compare(a.ID, b.ID)) })
	return claimed, err
}

// RecordAttempt implements store.Deliveries.
func (s *Store) RecordAttempt(ctx context.Context, a store.Attempt) (recorded bool, err error) {
	err = s.db.Transact(ctx, "record delivery attempt", func(ctx context.Context, tx Tx) error {
		recorded, err = recordAttempt(ctx, tx, &a)
		return err
	})
	return recorded && err == nil, err
}

// recordAttempt records an attempt. It locks the destination before reading it.
func recordAttempt(ctx context.Context, tx Tx, a *store.Attempt) (recorded bool, err error) {
	destination, err := value[int64](ctx, tx, lockDestinationOf, a.Due.ID)
	var r records.AttemptedDelivery
	if err == nil {
		r, err = one(ctx, tx, func(r *records.AttemptedDelivery) []any {
			into := []any{&r.Event, &r.CreatedAt, &r.Kind, &r.Address, &r.Email}
			return append(append(into, targets(r.Delivery.Columns())...), targets(r.Destination.Columns())...)
		}, lockClaimedDelivery, a.Due.ID, a.Due.Hold)
	}
	if errors.Is(err, store.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	paused, notify := r.Apply(a)
	exchange := records.StorableExchange(a.Exchange)
	packed := records.Pack(exchange.Sent)
	ended, failure := records.EndOfAttempt(a), records.StorableText(a.Error)
	statements := []Statement{{updateDeliveryState, append([]any{a.Due.ID}, targets(r.Delivery.Columns())...)}}
	if a.State == cola.DeliverySkipped {
		_, err = tx.ExecAll(ctx, statements...)
		return err == nil, err
	}
	statements = append(statements,
		Statement{insertAttempt, arguments([]any{
			a.Due.ID, r.Delivery.Attempts, a.At,
			a.Took.Microseconds(), orNull(&a.Status), orNull(&failure),
			orNull(&exchange.Subject), &packed, orNull(&exchange.Headers), orNull(&exchange.Response),
		})},
		Statement{updateDestinationState, append([]any{destination}, targets(r.Destination.Columns())...)})
	if paused {
		statements = append(statements, Statement{skipPending, []any{destination, ended, r.Destination.Skipping()}})
	}
	if notify {
		statements = append(statements, Statement{insertPausedMessage, []any{destination, ended}})
	}
	_, err = tx.ExecAll(ctx, statements...)
	return err == nil, err
}

// ReleaseDeliveries implements store.Deliveries. It skips locked rows, because another transaction
// is recording, replaying or deleting them.
func (s *Store) ReleaseDeliveries(ctx context.Context, claimed []store.DueDelivery) error {
	for chunk := range slices.Chunk(claimed, s.opts.maxRows(max(1, len(claimed)))) {
		statements := make([]Statement, len(chunk))
		for i := range chunk {
			statements[i] = Statement{releaseDelivery, []any{chunk[i].ID, chunk[i].Hold}}
		}
		err := s.db.Transact(ctx, "release deliveries", func(ctx context.Context, tx Tx) error {
			_, err := tx.ExecAll(ctx, statements...)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// OldestPending implements store.Deliveries.
func (s *Store) OldestPending(ctx context.Context, kinds []string) (oldest time.Time, err error) {
	err = s.db.Read(ctx, "find oldest pending delivery", func(q Querier) error {
		oldest = time.Time{}
		for _, kind := range kinds {
			due, err := value[time.Time](ctx, q, oldestPending, kind)
			switch {
			case errors.Is(err, store.ErrNotFound):
			case err != nil:
				return err
			case oldest.IsZero() || due.Before(oldest):
				oldest = due
			}
		}
		return nil
	})
	return oldest, err
}
