package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
	"github.com/colaregistry/colaregistry/store/records"
)

// Claims of deliveries are as those of searches: they go through the ledger's connection, in turns, and a claim names the delivery's
// hold, which everything that ends the claim counts on.

const (
	// sendable are deliveries, of which the kind is asked for first, that somebody gets: nobody is sent what a suspended account is told, what
	// is for an account without an email address, or what goes to a destination that is not active.
	sendable = ` FROM deliveries v CROSS JOIN destinations d ON d.id = v.destination_id CROSS JOIN accounts a ON a.id = d.account_id
		WHERE v.kind = ?1 AND a.suspended_at IS NULL AND (d.state = '` + cola.DestinationActive + `' OR v.event NOT IN ('` + cola.EventRan + `', '` + cola.EventTest + `'))
		AND (a.email NOT LIKE '%://%#%' OR d.address IS NOT NULL AND v.event <> '` + cola.EventPaused + `')`
	dueDeliveries = `SELECT v.id, v.next_attempt_at` + sendable + ` AND v.next_attempt_at <= ?2 AND (v.held_until IS NULL OR v.held_until <= ?3)
		ORDER BY v.next_attempt_at, v.id LIMIT ?4`
	oldestPending   = `SELECT v.next_attempt_at` + sendable + ` AND v.next_attempt_at IS NOT NULL ORDER BY v.next_attempt_at LIMIT 1`
	holdDeliveries  = `UPDATE deliveries SET hold = hold + 1, held_until = ?2 WHERE id IN (SELECT value FROM json_each(?1))`
	claimedDelivery = `SELECT v.id, v.hold, v.message_id, v.event, v.kind, coalesce(v.run_id, 0), v.attempts, v.created_at, v.next_attempt_at, v.first_attempt_at,
			a.email, ` + destinationNames + ` FROM deliveries v CROSS JOIN ` + destinationTables + ` WHERE d.id = v.destination_id AND v.id IN (SELECT value FROM json_each(?))`
	letDeliveryGo = `UPDATE deliveries SET hold = hold + 1, held_until = NULL WHERE id = ? AND hold = ?`
	insertAttempt = `INSERT INTO delivery_attempts (delivery_id, n, at, took, status, error) VALUES (?, ?, ?, ?, ?, ?)`
	tellPaused    = `INSERT INTO deliveries (account_id, destination_id, event, kind, created_at, next_attempt_at)
		SELECT account_id, id, '` + cola.EventPaused + `', '` + cola.KindEmail + `', ?2, ?2 FROM destinations WHERE id = ?1`
)

var (
	heldDelivery = `SELECT d.id, v.event, v.created_at, d.kind, coalesce(d.address_folded, a.email_folded), a.email_folded,
			v.` + strings.Join(records.Names((&records.DeliveryState{}).Columns()), ", v.") + `, d.` + strings.Join(records.Names((&records.DestinationState{}).Columns()), ", d.") + `
		FROM deliveries v CROSS JOIN destinations d ON d.id = v.destination_id CROSS JOIN accounts a ON a.id = d.account_id WHERE v.id = ? AND v.hold = ?`
	noteDelivery = `UPDATE deliveries SET ` + strings.Join(records.Names((&records.DeliveryState{}).Columns()), " = ?, ") + ` = ?,
		hold = hold + 1, held_until = NULL WHERE id = ?`
	noteDestination = `UPDATE destinations SET ` + strings.Join(records.Names((&records.DestinationState{}).Columns()), " = ?, ") + ` = ? WHERE id = ?`
)

// ClaimDeliveries implements store.Deliveries.
func (s *Store) ClaimDeliveries(ctx context.Context, due time.Time, kinds []string, limit int, hold time.Duration) ([]store.DueDelivery, error) {
	var list []store.DueDelivery
	for len(list) < limit {
		most := min(claimsAtOnce, limit-len(list))
		var some []store.DueDelivery
		err := s.transact(ctx, "claim deliveries", func(ctx context.Context) (err error) {
			some, err = s.claimDeliveries(ctx, due, kinds, most, hold)
			return err
		})
		if err != nil {
			return nil, err // what is held is free again when its hold has passed
		}
		if list = append(list, some...); len(some) < most {
			break
		}
	}
	return list, nil
}

// claimDeliveries claims deliveries within a transaction that writes: there is one at a time.
func (s *Store) claimDeliveries(ctx context.Context, due time.Time, kinds []string, limit int, hold time.Duration) ([]store.DueDelivery, error) {
	type found struct{ id, due int64 }
	now := s.instant()
	var all []found
	for _, kind := range kinds {
		rows, err := s.ledger.query(ctx, dueDeliveries, kind, due.UnixMicro(), now.UnixMicro(), limit)
		some, err := collect(rows, err, func(row scanner) (f found, err error) { return f, row.Scan(&f.id, &f.due) })
		if err != nil {
			return nil, err
		}
		all = append(all, some...)
	}
	slices.SortFunc(all, func(a, b found) int { return cmp.Or(cmp.Compare(a.due, b.due), cmp.Compare(a.id, b.id)) })
	all = slices.Compact(all)
	all = all[:min(limit, len(all))]
	if len(all) == 0 {
		return nil, nil
	}
	ids := make([]int64, len(all))
	for i := range all {
		ids[i] = all[i].id
	}
	if err := s.ledger.exec(ctx, holdDeliveries, idList(ids), now.Add(hold).UnixMicro()); err != nil {
		return nil, err
	}
	rows, err := s.ledger.query(ctx, claimedDelivery, idList(ids))
	list, err := collect(rows, err, scanClaimedDelivery)
	slices.SortFunc(list, func(a, b store.DueDelivery) int { return cmp.Or(a.DueAt.Compare(b.DueAt), cmp.Compare(a.ID, b.ID)) })
	return list, err
}

func scanClaimedDelivery(row scanner) (d store.DueDelivery, err error) {
	var email string
	err = row.Scan(append([]any{&d.ID, &d.Hold, &d.MessageID, &d.Event, &d.Kind, &d.Run, &d.Attempts, target{&d.CreatedAt}, target{&d.DueAt}, target{&d.FirstAttemptAt},
		&email}, destinationTargets(&d.Destination)...)...)
	if !store.IsIdentityName(email) {
		d.AccountEmail = email
	}
	return d, err
}

// RecordAttempt implements store.Deliveries.
func (s *Store) RecordAttempt(ctx context.Context, a store.Attempt) (recorded bool, err error) {
	err = s.transact(ctx, "record attempt to deliver", func(ctx context.Context) error {
		recorded, err = s.recordAttempt(ctx, &a)
		return err
	})
	return recorded && err == nil, err
}

// recordAttempt notes an attempt within a transaction that writes: there is one at a time.
func (s *Store) recordAttempt(ctx context.Context, a *store.Attempt) (recorded bool, err error) {
	var r records.Attempted
	var destination int64
	into := []any{&destination, &r.Event, target{&r.CreatedAt}, &r.Kind, &r.Address, &r.Email}
	into = append(append(into, targets(r.Delivery.Columns())...), targets(r.Destination.Columns())...)
	err = s.ledger.row(ctx, heldDelivery, a.Due.ID, a.Due.Hold).Scan(into...)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	paused, tell := r.Note(a)
	if err := s.keepAttempt(ctx, a, &r, destination); err != nil {
		return false, err
	}
	ended := records.Ended(a).UnixMicro()
	if paused {
		err = s.ledger.exec(ctx, skipPending, destination, ended, r.Destination.Skipping())
	}
	if err == nil && tell {
		err = s.ledger.exec(ctx, tellPaused, destination, ended)
	}
	return err == nil, err
}

// keepAttempt writes down an attempt, and what has become of the delivery and of its destination.
func (s *Store) keepAttempt(ctx context.Context, a *store.Attempt, r *records.Attempted, destination int64) error {
	if err := s.ledger.exec(ctx, noteDelivery, append(values(r.Delivery.Columns()), a.Due.ID)...); err != nil {
		return err
	}
	failure := records.Sayable(a.Error)
	err := s.ledger.exec(ctx, insertAttempt, a.Due.ID, r.Delivery.Attempts, a.At.UnixMicro(), a.Took.Microseconds(),
		orNull(a.Status, a.Status != 0), orNull(failure, failure != ""))
	if err != nil {
		return err
	}
	return s.ledger.exec(ctx, noteDestination, append(values(r.Destination.Columns()), destination)...)
}

// ReleaseDeliveries implements store.Deliveries.
func (s *Store) ReleaseDeliveries(ctx context.Context, claimed []store.DueDelivery) error {
	for some := range slices.Chunk(claimed, claimsAtOnce) {
		err := s.transact(ctx, "let go of deliveries", func(ctx context.Context) error {
			for i := range some {
				if err := s.ledger.exec(ctx, letDeliveryGo, some[i].ID, some[i].Hold); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// OldestPending implements store.Deliveries.
func (s *Store) OldestPending(ctx context.Context, kinds []string) (oldest time.Time, err error) {
	const operation = "read what is to be sent"
	if err := s.start(); err != nil {
		return oldest, failed(operation, err)
	}
	defer s.done()
	for _, kind := range kinds {
		var due time.Time
		err := s.read.row(ctx, oldestPending, kind).Scan(target{&due})
		switch {
		case errors.Is(err, sql.ErrNoRows):
		case err != nil:
			return time.Time{}, failed(operation, err)
		case oldest.IsZero() || due.Before(oldest):
			oldest = due
		}
	}
	return oldest, nil
}
