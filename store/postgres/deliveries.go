package postgres

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
	"github.com/colaregistry/colaregistry/store/records"
)

// Whoever changes deliveries, and would wait for others, holds their destination first: alone, or with others who only add to it. Claims, the
// letting go of them and the forgetting skip what is locked. Whoever deletes a search holds it, and then all destinations of its account,
// ascending by their ids, as whoever records runs does with those that are told: the schema sees to both. So nobody waits in a circle.

// deliveriesForgottenAtOnce is how many deliveries one statement forgets.
const deliveriesForgottenAtOnce = 1000

const (
	selectDeliveries = `SELECT v.id, v.message_id, v.event, d.uuid, v.kind, s.uuid, v.run_id, v.state, v.error, v.attempts, v.created_at,
			v.next_attempt_at, v.settled_at
		FROM deliveries v JOIN destinations d ON d.id = v.destination_id LEFT JOIN saved_searches s ON s.id = v.search_id`
	deliveryByID    = selectDeliveries + ` WHERE v.account_id = $1 AND v.id = $2`
	countDeliveries = `SELECT count(*) FROM deliveries v`
	selectAttempts  = `SELECT at, took, status, error FROM delivery_attempts WHERE delivery_id = $1 ORDER BY n`
	insertMessage   = `INSERT INTO deliveries (account_id, destination_id, event, kind, created_at, next_attempt_at)
		SELECT account_id, id, $3, kind, $4, $4 FROM destinations WHERE account_id = $1 AND uuid = $2 RETURNING id`

	keepDestination = destinationByUUID + ` FOR SHARE OF d`
	destinationOf   = `SELECT d.id, d.state FROM deliveries v JOIN destinations d ON d.id = v.destination_id WHERE v.account_id = $1 AND v.id = $2
		FOR NO KEY UPDATE OF d`
	targetOf = `SELECT id, state FROM destinations WHERE account_id = $1 AND uuid = $2 FOR NO KEY UPDATE`
	// replay has retries begin anew, and whatever is under way end in nothing.
	replay = `UPDATE deliveries SET state = '` + cola.DeliveryPending + `', error = CASE state WHEN '` + cola.DeliverySkipped + `' THEN NULL ELSE error END,
		first_attempt_at = NULL, next_attempt_at = $2, settled_at = NULL, hold = hold + 1, held_until = NULL`
	replayOne         = replay + ` WHERE id = $1`
	replayUndelivered = replay + ` WHERE id IN (SELECT id FROM deliveries WHERE destination_id = $1 AND event = '` + cola.EventRan + `'
		AND state IN ('` + cola.DeliveryFailed + `', '` + cola.DeliverySkipped + `') ORDER BY id LIMIT $3)`
	forgetDeliveries = `DELETE FROM deliveries WHERE id IN (
		SELECT id FROM deliveries WHERE created_at < $1 ORDER BY created_at LIMIT $2 FOR UPDATE SKIP LOCKED)`
)

func deliveryColumns(d *cola.Delivery) fields {
	return fields{&d.ID, &d.MessageID, &d.Event, &d.Destination, &d.Kind, &d.SavedSearch, &d.RunID, &d.State, &d.Error, &d.AttemptCount, &d.CreatedAt,
		&d.NextAttemptAt, &d.SettledAt}
}

func readDelivery(ctx context.Context, q querier, account cola.AccountID, id int64) (cola.Delivery, error) {
	rows, err := q.Query(ctx, deliveryByID, int64(account), id)
	return one(rows, err, deliveryColumns)
}

// those returns the condition that a filter puts on an account's deliveries, and its arguments.
func those(account cola.AccountID, f store.DeliveryFilter) (where string, args []any) {
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

// deliveriesPage returns the query for a page of the deliveries that a condition with so many arguments leaves.
func deliveriesPage(where string, args int) string {
	return fmt.Sprintf(`%s%s ORDER BY v.id DESC LIMIT $%d OFFSET $%d`, selectDeliveries, where, args+1, args+2)
}

// DeliveriesOf implements store.Deliveries.
func (s *Store) DeliveriesOf(ctx context.Context, account cola.AccountID, which store.DeliveryFilter, page store.Slice) (list []cola.Delivery, total int, err error) {
	where, args := those(account, which)
	err = s.read(ctx, "list deliveries", func() error {
		err := s.view(ctx, func(q querier) (err error) {
			list, total, err = listPage(ctx, q, countDeliveries+where, deliveriesPage(where, len(args)), args, page, deliveryColumns)
			return err
		})
		if sqlState(err) == notInEncoding { // nothing has a UUID or a state that is no text
			list, total, err = nil, 0, nil
		}
		return err
	})
	return list, total, err
}

// DeliveryOf implements store.Deliveries.
func (s *Store) DeliveryOf(ctx context.Context, account cola.AccountID, id int64) (detail cola.DeliveryDetail, err error) {
	err = s.read(ctx, "read delivery", func() error {
		return s.view(ctx, func(q querier) (err error) {
			detail = cola.DeliveryDetail{Attempts: []cola.DeliveryAttempt{}}
			if detail.Delivery, err = readDelivery(ctx, q, account, id); err != nil {
				return err
			}
			rows, err := q.Query(ctx, selectAttempts, id)
			list, err := collect(rows, err, func(a *cola.DeliveryAttempt) fields { return fields{&a.At, &a.DurationMS, &a.Status, &a.Error} })
			for i := range list {
				list[i].DurationMS /= 1000 // they are kept in microseconds
			}
			detail.Attempts = append(detail.Attempts, list...)
			return err
		})
	})
	return detail, err
}

// Replay implements store.Deliveries.
func (s *Store) Replay(ctx context.Context, account cola.AccountID, id int64, due time.Time) (d cola.Delivery, err error) {
	err = s.transact(ctx, "replay delivery", func(tx pgx.Tx) error {
		if _, err := activeDestination(ctx, tx, destinationOf, int64(account), id); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, replayOne, id, due); err != nil {
			return err
		}
		d, err = readDelivery(ctx, tx, account, id) // which may have been forgotten meanwhile
		return err
	})
	if err != nil {
		return cola.Delivery{}, err
	}
	return d, nil
}

// activeDestination returns the id of the destination of a query, which holds it, and fails with ErrNotFound when there is none, with
// ErrNotActive when it is not active.
func activeDestination(ctx context.Context, tx pgx.Tx, query string, args ...any) (int64, error) {
	type target struct {
		id    int64
		state string
	}
	rows, err := tx.Query(ctx, query, args...)
	d, err := one(rows, err, func(d *target) fields { return fields{&d.id, &d.state} })
	if err == nil && d.state != cola.DestinationActive {
		err = store.ErrNotActive
	}
	return d.id, noSuchText(err)
}

// ReplayUndelivered implements store.Deliveries.
func (s *Store) ReplayUndelivered(ctx context.Context, account cola.AccountID, destination string, due time.Time, limit int) (replayed int, err error) {
	err = s.transact(ctx, "replay deliveries", func(tx pgx.Tx) error {
		id, err := activeDestination(ctx, tx, targetOf, int64(account), destination)
		if err != nil {
			return err
		}
		done, err := tx.Exec(ctx, replayUndelivered, id, due, limit)
		replayed = int(done.RowsAffected())
		return err
	})
	if err != nil {
		return 0, err
	}
	return replayed, nil
}

// AddTest implements store.Deliveries.
func (s *Store) AddTest(ctx context.Context, account cola.AccountID, destination string, due time.Time) (d cola.Delivery, err error) {
	err = s.transact(ctx, "add test", func(tx pgx.Tx) error {
		to, err := readDestination(ctx, tx, keepDestination, int64(account), destination)
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

// ForgetDeliveries implements store.Deliveries.
func (s *Store) ForgetDeliveries(ctx context.Context, before time.Time) (forgotten int, err error) {
	for {
		var n int
		err := s.transact(ctx, "forget deliveries", func(tx pgx.Tx) error {
			done, err := tx.Exec(ctx, forgetDeliveries, before, deliveriesForgottenAtOnce)
			n = int(done.RowsAffected())
			return err
		})
		if err != nil {
			return forgotten, err
		}
		if forgotten += n; n < deliveriesForgottenAtOnce {
			return forgotten, nil
		}
	}
}
