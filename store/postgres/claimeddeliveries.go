package postgres

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
	"github.com/colaregistry/colaregistry/store/records"
)

// Claims of deliveries are as those of searches: a claim names the delivery's hold, which everything that ends the claim counts on.

const (
	// sendable are deliveries of each kind that is asked for that somebody gets: nobody is sent what a suspended account is told, what is for an
	// account without an email address, or what goes to a destination that is not active.
	sendable = ` FROM deliveries v JOIN destinations d ON d.id = v.destination_id JOIN accounts a ON a.id = d.account_id
		WHERE v.kind = k.kind AND a.suspended_at IS NULL AND (d.state = '` + cola.DestinationActive + `' OR v.event NOT IN ('` + cola.EventRan + `', '` + cola.EventTest + `'))
			AND (a.email NOT LIKE '%://%#%' OR d.address IS NOT NULL AND v.event <> '` + cola.EventPaused + `')`
	dueDeliveries = `SELECT u.id FROM (SELECT DISTINCT kind FROM unnest($2::text[]) AS u (kind)) k CROSS JOIN LATERAL (
			SELECT v.id, v.next_attempt_at` + sendable + ` AND v.next_attempt_at <= $1 AND (v.held_until IS NULL OR v.held_until <= coalesce($4::timestamptz, clock_timestamp()))
			ORDER BY v.next_attempt_at, v.id LIMIT $3 FOR NO KEY UPDATE OF v SKIP LOCKED) u
		ORDER BY u.next_attempt_at, u.id LIMIT $3`
	holdDeliveries = `UPDATE deliveries v SET hold = v.hold + 1, held_until = coalesce($2::timestamptz, clock_timestamp()) + make_interval(secs => $3)
		FROM ` + destinationTables + ` WHERE v.id = ANY($1) AND d.id = v.destination_id
		RETURNING v.id, v.hold, v.message_id, v.event, v.kind, coalesce(v.run_id, 0), v.attempts, v.created_at, v.next_attempt_at, v.first_attempt_at,
			a.email, ` + destinationNames
	oldestPending = `SELECT min(u.next_attempt_at) FROM unnest($1::text[]) AS k (kind) CROSS JOIN LATERAL (
		SELECT v.next_attempt_at` + sendable + ` AND v.next_attempt_at IS NOT NULL ORDER BY v.next_attempt_at, v.id LIMIT 1) u`
	letDeliveriesGo = `UPDATE deliveries SET hold = hold + 1, held_until = NULL WHERE id IN (
		SELECT v.id FROM unnest($1::bigint[], $2::bigint[]) AS u (id, hold) JOIN deliveries v ON v.id = u.id AND v.hold = u.hold
		FOR NO KEY UPDATE OF v SKIP LOCKED)`
	holdDestinationOf = `SELECT id FROM destinations WHERE id = (SELECT destination_id FROM deliveries WHERE id = $1) FOR NO KEY UPDATE`
	insertAttempt     = `INSERT INTO delivery_attempts (delivery_id, n, at, took, status, error) VALUES ($1, $2, $3, $4, $5, $6)`
	tellPaused        = `INSERT INTO deliveries (account_id, destination_id, event, kind, created_at, next_attempt_at)
		SELECT account_id, id, '` + cola.EventPaused + `', '` + cola.KindEmail + `', $2, $2 FROM destinations WHERE id = $1`
)

var (
	heldDelivery = `SELECT v.event, v.created_at, d.kind, coalesce(d.address_folded, a.email_folded), a.email_folded,
			v.` + strings.Join(records.Names((&records.DeliveryState{}).Columns()), ", v.") + `, d.` + strings.Join(records.Names((&records.DestinationState{}).Columns()), ", d.") + `
		FROM deliveries v JOIN destinations d ON d.id = v.destination_id JOIN accounts a ON a.id = d.account_id WHERE v.id = $1 AND v.hold = $2
		FOR NO KEY UPDATE OF v`
	noteDelivery    = `UPDATE deliveries SET ` + assignments((&records.DeliveryState{}).Columns(), 2) + `, hold = hold + 1, held_until = NULL WHERE id = $1`
	noteDestination = `UPDATE destinations SET ` + assignments((&records.DestinationState{}).Columns(), 2) + ` WHERE id = $1`
)

// ClaimDeliveries implements store.Deliveries.
func (s *Store) ClaimDeliveries(ctx context.Context, due time.Time, kinds []string, limit int, hold time.Duration) (claimed []store.DueDelivery, err error) {
	err = s.transact(ctx, "claim deliveries", func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, dueDeliveries, due, kinds, limit, s.clock())
		ids, err := collect(rows, err, func(id *int64) fields { return fields{id} })
		if claimed = nil; err != nil || len(ids) == 0 {
			return err
		}
		rows, err = tx.Query(ctx, holdDeliveries, ids, s.clock(), hold.Seconds())
		claimed, err = collectClaimed(rows, err)
		return err
	})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(claimed, func(a, b store.DueDelivery) int { return cmp.Or(a.DueAt.Compare(b.DueAt), cmp.Compare(a.ID, b.ID)) })
	return claimed, nil
}

func collectClaimed(rows pgx.Rows, err error) ([]store.DueDelivery, error) {
	type row struct {
		store.DueDelivery
		email string
	}
	list, err := collect(rows, err, func(c *row) fields {
		return append(fields{&c.ID, &c.Hold, &c.MessageID, &c.Event, &c.Kind, &c.Run, &c.Attempts, &c.CreatedAt, &c.DueAt, &c.FirstAttemptAt, &c.email},
			destinationColumns(&c.Destination)...)
	})
	claimed := make([]store.DueDelivery, len(list))
	for i := range list {
		claimed[i] = list[i].DueDelivery
		if !store.IsIdentityName(list[i].email) {
			claimed[i].AccountEmail = list[i].email
		}
	}
	return claimed, err
}

// RecordAttempt implements store.Deliveries.
func (s *Store) RecordAttempt(ctx context.Context, a store.Attempt) (recorded bool, err error) {
	err = s.transact(ctx, "record attempt to deliver", func(tx pgx.Tx) error {
		recorded, err = recordAttempt(ctx, tx, &a)
		return err
	})
	return recorded && err == nil, err
}

// recordAttempt notes an attempt within a transaction. The destination is held first: what is known of it is read when it is.
func recordAttempt(ctx context.Context, tx pgx.Tx, a *store.Attempt) (recorded bool, err error) {
	rows, err := tx.Query(ctx, holdDestinationOf, a.Due.ID)
	destination, err := one(rows, err, func(id *int64) fields { return fields{id} })
	var r records.Attempted
	if err == nil {
		rows, err = tx.Query(ctx, heldDelivery, a.Due.ID, a.Due.Hold)
		r, err = one(rows, err, func(r *records.Attempted) fields {
			into := fields{&r.Event, &r.CreatedAt, &r.Kind, &r.Address, &r.Email}
			return append(append(into, targets(r.Delivery.Columns())...), targets(r.Destination.Columns())...)
		})
	}
	if errors.Is(err, store.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	paused, tell := r.Note(a)
	ended, failure := records.Ended(a), records.Sayable(a.Error)
	b := &pgx.Batch{}
	b.Queue(noteDelivery, append([]any{a.Due.ID}, values(r.Delivery.Columns())...)...)
	b.Queue(insertAttempt, a.Due.ID, r.Delivery.Attempts, a.At, a.Took.Microseconds(), orNull(a.Status, a.Status != 0), orNull(failure, failure != ""))
	b.Queue(noteDestination, append([]any{destination}, values(r.Destination.Columns())...)...)
	if paused {
		b.Queue(skipPending, destination, ended, r.Destination.Skipping())
	}
	if tell {
		b.Queue(tellPaused, destination, ended)
	}
	err = sent(tx.SendBatch(ctx, b), nil)
	return err == nil, err
}

// ReleaseDeliveries implements store.Deliveries. What somebody has locked is noted, asked for again or deleted by them.
func (s *Store) ReleaseDeliveries(ctx context.Context, claimed []store.DueDelivery) error {
	ids, holds := make([]int64, len(claimed)), make([]int64, len(claimed))
	for i := range claimed {
		ids[i], holds[i] = claimed[i].ID, claimed[i].Hold
	}
	return s.transact(ctx, "let go of deliveries", func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, letDeliveriesGo, ids, holds)
		return err
	})
}

// OldestPending implements store.Deliveries.
func (s *Store) OldestPending(ctx context.Context, kinds []string) (oldest time.Time, err error) {
	err = s.read(ctx, "read what is to be sent", func() error {
		return s.general.QueryRow(ctx, oldestPending, kinds).Scan(fields{&oldest})
	})
	return oldest, err
}
