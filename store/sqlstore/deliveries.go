package sqlstore

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
	"github.com/colaregistry/colaregistry/store/records"
)

// Lock order for deliveries:
//
//   - A transaction that changes deliveries and may wait for another transaction locks the
//     deliveries' destination first.
//   - Deleting a search locks the search, and then all of its account's destinations in ascending
//     order of ID.
//   - Recording runs locks the searches, and then the destinations that receive a message, in
//     ascending order of ID.
//   - Claiming, releasing and deleting deliveries skip locked rows.
//
// Schema triggers lock the destinations when searches are deleted and runs are recorded.

const (
	selectDeliveries = `SELECT v.id, v.message_id, v.event, d.uuid, v.kind, s.uuid, v.run_id, v.state, v.error, v.attempts, v.created_at,
			v.next_attempt_at, v.settled_at
		FROM deliveries v INNER JOIN destinations d ON d.id = v.destination_id LEFT JOIN saved_searches s ON s.id = v.search_id`
	deliveryByID    = selectDeliveries + ` WHERE v.account_id = $1 AND v.id = $2`
	countDeliveries = `SELECT count(*) FROM deliveries v`
	selectAttempts  = `SELECT at, took, status, error FROM delivery_attempts WHERE delivery_id = $1 ORDER BY n`
	selectExchanges = `SELECT subject, sent, headers, response FROM delivery_attempts WHERE delivery_id = $1 ORDER BY n`
	deliveriesAfter = selectDeliveries + ` WHERE v.account_id = $1 AND v.id > $2 ORDER BY v.id LIMIT $3`
	attemptsOf      = `SELECT delivery_id, at, took, status, error, subject, headers, response FROM delivery_attempts WHERE delivery_id IN (SELECT id FROM deliveries
		WHERE account_id = $1 AND id BETWEEN $2 AND $3) ORDER BY delivery_id, n`
	insertMessage = `INSERT INTO deliveries (account_id, destination_id, event, kind, created_at, next_attempt_at)
		SELECT account_id, id, $3, kind, $4, $4 FROM destinations WHERE account_id = $1 AND uuid = $2 RETURNING id`

	lockTargetOf = `SELECT d.id, d.state FROM deliveries v JOIN destinations d ON d.id = v.destination_id WHERE v.account_id = $1 AND v.id = $2
		FOR NO KEY UPDATE OF d`
	lockTarget = `SELECT id, state FROM destinations WHERE account_id = $1 AND uuid = $2 FOR NO KEY UPDATE`
	// replay restarts the retry schedule and ends any claim.
	replay = `UPDATE deliveries SET state = '` + cola.DeliveryPending + `', error = CASE state WHEN '` + cola.DeliverySkipped + `' THEN NULL ELSE error END,
		first_attempt_at = NULL, next_attempt_at = $2, settled_at = NULL, hold = hold + 1, held_until = NULL`
	replayOne         = replay + ` WHERE id = $1`
	replayUndelivered = replay + ` WHERE id IN (SELECT id FROM deliveries WHERE destination_id = $1 AND event = '` + cola.EventRan + `'
		AND state IN ('` + cola.DeliveryFailed + `', '` + cola.DeliverySkipped + `') ORDER BY id LIMIT $3)`
)

var deleteDeliveries = deleteOldest("deliveries", "id", "created_at < $1")

func deliveryColumns(d *cola.Delivery) []any {
	return []any{
		&d.ID, &d.MessageID, &d.Event, &d.Destination, &d.Kind, &d.SavedSearch, &d.RunID, &d.State, &d.Error,
		&d.AttemptCount, &d.CreatedAt,
		&d.NextAttemptAt, &d.SettledAt,
	}
}

// deliveryConditions returns the WHERE clause for a filter, and its arguments.
func deliveryConditions(account cola.AccountID, f store.DeliveryFilter) (where string, args []any) {
	conditions, args := []string{`v.account_id = $1`}, []any{int64(account)}
	for _, c := range []struct{ format, value string }{
		{`v.destination_id = (SELECT id FROM destinations WHERE account_id = $1 AND uuid = $%d)`, f.Destination},
		{`v.search_id = (SELECT id FROM saved_searches WHERE account_id = $1 AND uuid = $%d)`, f.SavedSearch},
		{`v.state = $%d`, f.State},
	} {
		if c.value != "" {
			args = append(args, c.value)
			conditions = append(conditions, fmt.Sprintf(c.format, len(args)))
		}
	}
	return ` WHERE ` + strings.Join(conditions, ` AND `), args
}

// DeliveriesOf implements store.Deliveries.
func (s *Store) DeliveriesOf(ctx context.Context, account cola.AccountID, which store.DeliveryFilter,
	page store.Slice) (all []cola.Delivery, total int, err error) {
	where, args := deliveryConditions(account, which)
	query := fmt.Sprintf(`%s%s ORDER BY v.id DESC LIMIT $%d OFFSET $%d`,
		selectDeliveries, where, len(args)+1, len(args)+2)
	err = s.db.View(ctx, "list deliveries", func(q Querier) (err error) {
		all, total, err = listPage(ctx, q, deliveryColumns, countDeliveries+where, query, args, page)
		if s.db.IsInvalidText(err) { // no row has such a UUID or state
			all, total, err = nil, 0, nil
		}
		return err
	})
	return all, total, err
}

// DeliveryOf implements store.Deliveries.
func (s *Store) DeliveryOf(ctx context.Context, account cola.AccountID,
	id int64) (detail cola.DeliveryDetail, err error) {
	err = s.db.View(ctx, "read delivery", func(q Querier) (err error) {
		detail = cola.DeliveryDetail{Attempts: []cola.DeliveryAttempt{}}
		if detail.Delivery, err = one(ctx, q, deliveryColumns, deliveryByID, int64(account), id); err != nil {
			return err
		}
		attempts, err := list(ctx, q, attemptColumns, selectAttempts, id)
		for _, a := range attempts {
			detail.Attempts = append(detail.Attempts, inMilliseconds(a))
		}
		return err
	})
	return detail, err
}

// DeliveriesAfter implements store.Deliveries.
func (s *Store) DeliveriesAfter(ctx context.Context, account cola.AccountID, after int64, limit int) (all []store.DeliveryRecord, err error) {
	type attempt struct {
		delivery int64
		store.AttemptRecord
	}
	err = s.db.View(ctx, "read deliveries", func(q Querier) error {
		deliveries, err := list(ctx, q, deliveryColumns, deliveriesAfter, int64(account), after, limit)
		if err != nil || len(deliveries) == 0 {
			return err
		}
		columns := func(a *attempt) []any {
			columns := append([]any{&a.delivery}, attemptColumns(&a.DeliveryAttempt)...)
			return append(columns, &a.Exchange.Subject, &a.Exchange.Headers, &a.Exchange.Response)
		}
		attempts, err := list(ctx, q, columns, attemptsOf, int64(account), deliveries[0].ID, deliveries[len(deliveries)-1].ID)
		all = make([]store.DeliveryRecord, len(deliveries))
		for i, d := range deliveries {
			all[i].Delivery = d
			for ; len(attempts) > 0 && attempts[0].delivery == d.ID; attempts = attempts[1:] {
				a := attempts[0].AttemptRecord
				a.DeliveryAttempt = inMilliseconds(a.DeliveryAttempt)
				all[i].Attempts = append(all[i].Attempts, a)
			}
		}
		return err
	})
	return all, err
}

func attemptColumns(a *cola.DeliveryAttempt) []any {
	return []any{&a.At, &a.DurationMS, &a.Status, &a.Error}
}

// Exchanges implements store.Deliveries.
func (s *Store) Exchanges(ctx context.Context, account cola.AccountID, id int64) (all []store.Exchange, err error) {
	type exchange struct {
		store.Exchange
		packed []byte
	}
	err = s.db.View(ctx, "read exchanges of a delivery", func(q Querier) error {
		if _, err := one(ctx, q, deliveryColumns, deliveryByID, int64(account), id); err != nil {
			return err
		}
		stored, err := list(ctx, q, func(e *exchange) []any {
			return []any{&e.Subject, &e.packed, &e.Headers, &e.Response}
		}, selectExchanges, id)
		all = make([]store.Exchange, len(stored))
		for i := 0; i < len(stored) && err == nil; i++ {
			all[i] = stored[i].Exchange
			all[i].Sent, err = records.Unpack(stored[i].packed)
		}
		return err
	})
	return all, err
}

// inMilliseconds converts a stored attempt's duration from microseconds to milliseconds.
func inMilliseconds(a cola.DeliveryAttempt) cola.DeliveryAttempt {
	a.DurationMS /= 1000
	return a
}

// Replay implements store.Deliveries.
func (s *Store) Replay(ctx context.Context, account cola.AccountID, id int64,
	due time.Time) (d cola.Delivery, err error) {
	err = s.db.Transact(ctx, "replay delivery", func(ctx context.Context, tx Tx) error {
		if _, err := s.activeDestination(ctx, tx, lockTargetOf, int64(account), id); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, replayOne, id, due); err != nil {
			return err
		}
		// The delivery may have been deleted in the meantime.
		d, err = one(ctx, tx, deliveryColumns, deliveryByID, int64(account), id)
		return err
	})
	if err != nil {
		return cola.Delivery{}, err
	}
	return d, nil
}

// activeDestination returns the ID of the destination that a query locks. It fails with ErrNotFound
// if there is none, and with ErrNotActive if it isn't active.
func (s *Store) activeDestination(ctx context.Context, tx Tx, query string, args ...any) (int64, error) {
	type target struct {
		id    int64
		state string
	}
	d, err := one(ctx, tx, func(d *target) []any { return []any{&d.id, &d.state} }, query, args...)
	if err == nil && d.state != cola.DestinationActive {
		err = store.ErrNotActive
	}
	return d.id, s.notFoundIfInvalid(err)
}

// ReplayUndelivered implements store.Deliveries.
func (s *Store) ReplayUndelivered(ctx context.Context, account cola.AccountID, destination string, due time.Time,
	limit int) (replayed int, err error) {
	err = s.db.Transact(ctx, "replay deliveries", func(ctx context.Context, tx Tx) error {
		id, err := s.activeDestination(ctx, tx, lockTarget, int64(account), destination)
		if err != nil {
			return err
		}
		replayed, err = tx.Exec(ctx, replayUndelivered, id, due, limit)
		return err
	})
	if err != nil {
		return 0, err
	}
	return replayed, nil
}

// AddTest implements store.Deliveries.
func (s *Store) AddTest(ctx context.Context, account cola.AccountID, destination string,
	due time.Time) (d cola.Delivery, err error) {
	err = s.db.Transact(ctx, "add test", func(ctx context.Context, tx Tx) error {
		to, err := s.findDestination(ctx, tx, shareDestination, int64(account), destination)
		if err == nil {
			err = records.CheckTestable(&to)
		}
		if err == nil {
			d, err = addMessage(ctx, tx, &to, cola.EventTest, due)
		}
		return err
	})
	if err != nil {
		return cola.Delivery{}, err
	}
	return d, nil
}

// DeleteOldDeliveries implements store.Deliveries.
func (s *Store) DeleteOldDeliveries(ctx context.Context, before time.Time) (deleted int, err error) {
	limit := s.opts.maxRows(deletedPerStatement)
	for {
		var n int
		err := s.db.Transact(ctx, "delete old deliveries", func(ctx context.Context, tx Tx) (err error) {
			n, err = tx.Exec(ctx, deleteDeliveries, before, limit)
			return err
		})
		if err != nil {
			return deleted, err
		}
		if deleted += n; n < limit {
			return deleted, nil
		}
	}
}
