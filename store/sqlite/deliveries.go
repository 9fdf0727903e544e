package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
	"github.com/colaregistry/colaregistry/store/records"
)

// deliveriesForgottenAtOnce is how many deliveries are forgotten in one turn.
const deliveriesForgottenAtOnce = 100

const (
	selectDeliveries = `SELECT v.id, v.message_id, v.event, d.uuid, v.kind, s.uuid, v.run_id, v.state, v.error, v.attempts, v.created_at,
			v.next_attempt_at, v.settled_at
		FROM deliveries v CROSS JOIN destinations d ON d.id = v.destination_id LEFT JOIN saved_searches s ON s.id = v.search_id`
	deliveryByID    = selectDeliveries + ` WHERE v.account_id = ? AND v.id = ?`
	countDeliveries = `SELECT count(*) FROM deliveries v`
	selectAttempts  = `SELECT at, took, status, error FROM delivery_attempts WHERE delivery_id = ? ORDER BY n`
	insertMessage   = `INSERT INTO deliveries (account_id, destination_id, event, kind, created_at, next_attempt_at)
		SELECT account_id, id, ?3, kind, ?4, ?4 FROM destinations WHERE account_id = ?1 AND uuid = ?2 RETURNING id`

	destinationOf = `SELECT d.id, d.state FROM deliveries v JOIN destinations d ON d.id = v.destination_id WHERE v.account_id = ? AND v.id = ?`
	targetOf      = `SELECT id, state FROM destinations WHERE account_id = ? AND uuid = ?`
	// replay has retries begin anew, and whatever is under way end in nothing.
	replay = `UPDATE deliveries SET state = '` + cola.DeliveryPending + `', error = CASE state WHEN '` + cola.DeliverySkipped + `' THEN NULL ELSE error END,
		first_attempt_at = NULL, next_attempt_at = ?2, settled_at = NULL, hold = hold + 1, held_until = NULL`
	replayOne         = replay + ` WHERE id = ?1`
	replayUndelivered = replay + ` WHERE id IN (SELECT id FROM deliveries WHERE destination_id = ?1 AND event = '` + cola.EventRan + `'
		AND state IN ('` + cola.DeliveryFailed + `', '` + cola.DeliverySkipped + `') ORDER BY id LIMIT ?3)`
	forgetDeliveries = `DELETE FROM deliveries WHERE id IN (SELECT id FROM deliveries WHERE created_at < ? ORDER BY created_at LIMIT ?)`
)

func scanDelivery(row scanner) (d cola.Delivery, err error) {
	err = row.Scan(&d.ID, &d.MessageID, &d.Event, &d.Destination, &d.Kind, target{&d.SavedSearch}, target{&d.RunID}, &d.State, target{&d.Error},
		&d.AttemptCount, &d.CreatedAt, target{&d.NextAttemptAt}, target{&d.SettledAt})
	if errors.Is(err, sql.ErrNoRows) {
		err = store.ErrNotFound
	}
	return d, err
}

func scanAttempt(row scanner) (a cola.DeliveryAttempt, err error) {
	var took int64
	err = row.Scan(&a.At, &took, target{&a.Status}, target{&a.Error})
	a.DurationMS = took / 1000
	return a, err
}

// those returns the condition that a filter puts on an account's deliveries, and its arguments.
func those(account cola.AccountID, f store.DeliveryFilter) (where string, args []any) {
	conditions, args := []string{`v.account_id = ?`}, []any{int64(account)}
	if f.Destination != "" {
		conditions = append(conditions, `v.destination_id = (SELECT id FROM destinations WHERE account_id = ? AND uuid = ?)`)
		args = append(args, int64(account), f.Destination)
	}
	if f.SavedSearch != "" {
		conditions = append(conditions, `v.search_id = (SELECT id FROM saved_searches WHERE account_id = ? AND uuid = ?)`)
		args = append(args, int64(account), f.SavedSearch)
	}
	if f.State != "" {
		conditions, args = append(conditions, `v.state = ?`), append(args, f.State)
	}
	return ` WHERE ` + strings.Join(conditions, ` AND `), args
}

// DeliveriesOf implements store.Deliveries.
func (s *Store) DeliveriesOf(ctx context.Context, account cola.AccountID, which store.DeliveryFilter, page store.Slice) (list []cola.Delivery, total int, err error) {
	const operation = "list deliveries"
	if err := s.start(); err != nil {
		return nil, 0, failed(operation, err)
	}
	defer s.done()
	where, args := those(account, which)
	err = s.read.view(ctx, func(q querier) (err error) {
		list, total, err = listPage(ctx, q, countDeliveries+where, selectDeliveries+where+` ORDER BY v.id DESC LIMIT ? OFFSET ?`, args, page, scanDelivery)
		return err
	})
	return list, total, failed(operation, err)
}

// DeliveryOf implements store.Deliveries.
func (s *Store) DeliveryOf(ctx context.Context, account cola.AccountID, id int64) (cola.DeliveryDetail, error) {
	const operation = "read delivery"
	detail := cola.DeliveryDetail{Attempts: []cola.DeliveryAttempt{}}
	if err := s.start(); err != nil {
		return detail, failed(operation, err)
	}
	defer s.done()
	err := s.read.view(ctx, func(q querier) (err error) {
		if detail.Delivery, err = scanDelivery(q.row(ctx, deliveryByID, int64(account), id)); err != nil {
			return err
		}
		rows, err := q.query(ctx, selectAttempts, id)
		attempts, err := collect(rows, err, scanAttempt)
		detail.Attempts = append(detail.Attempts, attempts...)
		return err
	})
	return detail, failed(operation, err)
}

// Replay implements store.Deliveries.
func (s *Store) Replay(ctx context.Context, account cola.AccountID, id int64, due time.Time) (d cola.Delivery, err error) {
	err = s.transact(ctx, "replay delivery", func(ctx context.Context) error {
		if _, err := s.activeDestination(ctx, destinationOf, int64(account), id); err != nil {
			return err
		}
		if err := s.ledger.exec(ctx, replayOne, id, due.UnixMicro()); err != nil {
			return err
		}
		d, err = scanDelivery(s.ledger.row(ctx, deliveryByID, int64(account), id))
		return err
	})
	if err != nil {
		return cola.Delivery{}, err
	}
	return d, nil
}

// activeDestination returns the id of the destination of a query, and fails with ErrNotFound when there is none, with ErrNotActive when it is
// not active.
func (s *Store) activeDestination(ctx context.Context, query string, args ...any) (id int64, err error) {
	var state string
	err = s.ledger.row(ctx, query, args...).Scan(&id, &state)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		err = store.ErrNotFound
	case err == nil && state != cola.DestinationActive:
		err = store.ErrNotActive
	}
	return id, err
}

// ReplayUndelivered implements store.Deliveries.
func (s *Store) ReplayUndelivered(ctx context.Context, account cola.AccountID, destination string, due time.Time, limit int) (replayed int, err error) {
	err = s.transact(ctx, "replay deliveries", func(ctx context.Context) error {
		id, err := s.activeDestination(ctx, targetOf, int64(account), destination)
		if err != nil {
			return err
		}
		n, err := s.ledger.affect(ctx, replayUndelivered, id, due.UnixMicro(), limit)
		replayed = int(n)
		return err
	})
	if err != nil {
		return 0, err
	}
	return replayed, nil
}

// AddTest implements store.Deliveries.
func (s *Store) AddTest(ctx context.Context, account cola.AccountID, destination string, due time.Time) (d cola.Delivery, err error) {
	err = s.transact(ctx, "add test", func(ctx context.Context) error {
		to, err := scanDestination(s.ledger.row(ctx, destinationByUUID, int64(account), destination))
		if err == nil {
			err = records.CheckTestable(&to)
		}
		if err == nil {
			d, err = s.addMessage(ctx, &to, cola.EventTest, due)
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
		var n int64
		err := s.transact(ctx, "forget deliveries", func(ctx context.Context) (err error) {
			n, err = s.ledger.affect(ctx, forgetDeliveries, before.UnixMicro(), deliveriesForgottenAtOnce)
			return err
		})
		if err != nil {
			return forgotten, err
		}
		if forgotten += int(n); n < deliveriesForgottenAtOnce {
			return forgotten, nil
		}
	}
}
