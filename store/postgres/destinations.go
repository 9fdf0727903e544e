package postgres

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
	"github.com/colaregistry/colaregistry/store/records"
)

// Whoever makes a destination holds the account first, and whoever changes or deletes one holds it before any delivery of it; so does
// whoever notes what came of a delivery. Whoever records runs, or deletes a search, holds searches first, and then destinations by their ids: the
// schema sees to that. So nobody waits in a circle.
const (
	// destinationNames are what destinationColumns takes, of destinationTables.
	destinationNames = `d.uuid, d.account_id, o.uuid, d.kind, coalesce(d.address, CASE WHEN a.email NOT LIKE '%://%#%' THEN a.email END), d.address IS NULL,
		d.send_empty, d.state, d.reason, d.verified_at, d.secret, d.old_secret, d.old_secret_until, d.challenge, d.challenge_tries,
		d.created_at, d.last_delivered_at, d.failing_since`
	destinationTables = `destinations d JOIN accounts a ON a.id = d.account_id LEFT JOIN saved_searches o ON o.id = d.search_id`

	selectDestinations     = `SELECT ` + destinationNames + ` FROM ` + destinationTables
	destinationByUUID      = selectDestinations + ` WHERE d.account_id = $1 AND d.uuid = $2`
	holdDestination        = destinationByUUID + ` FOR NO KEY UPDATE OF d`
	destinationByLink      = selectDestinations + ` WHERE d.link_hash = $1`
	selectDestinationsPage = selectDestinations + ` WHERE d.account_id = $1 ORDER BY d.id LIMIT $2 OFFSET $3`
	countDestinations      = `SELECT count(*) FROM destinations WHERE account_id = $1`
	sameDestination        = `SELECT EXISTS (SELECT 1 FROM destinations d JOIN accounts a ON a.id = d.account_id
		WHERE d.account_id = $1 AND d.kind = $2 AND coalesce(d.address_folded, a.email_folded) = $3 AND coalesce(d.search_id, 0) = $4)`
	insertDestination = `INSERT INTO destinations (uuid, account_id, search_id, kind, address, address_folded, send_empty, state, secret, challenge,
			verified_at, created_at)
		SELECT $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, CASE WHEN $11::boolean THEN t.now END, t.now
		FROM (SELECT coalesce($12::timestamptz, clock_timestamp()) AS now) t`
	updateDestination = `UPDATE destinations SET state = $3, reason = $4, send_empty = $5, failing_since = $6, secret = $7, old_secret = $8,
		old_secret_until = $9, challenge = $10, challenge_tries = $11, verified_at = $12 WHERE account_id = $1 AND uuid = $2 RETURNING id`
	deleteDestination = `DELETE FROM destinations WHERE account_id = $1 AND uuid = $2`
	// skipPending settles what was to be sent to a destination, at an instant, with a text. What is about the destination goes elsewhere.
	// Attempts under way go on, and what comes of them is noted.
	skipPending = `UPDATE deliveries SET state = '` + cola.DeliverySkipped + `', error = $3, next_attempt_at = NULL, settled_at = coalesce($2, clock_timestamp())
		WHERE destination_id = $1 AND state = '` + cola.DeliveryPending + `' AND event <> '` + cola.EventPaused + `'`
	setFeed = `UPDATE saved_searches SET feed_hash = $3 WHERE account_id = $1 AND uuid = $2`
)

// destinationColumns says where destinationNames are scanned to.
func destinationColumns(d *store.Destination) fields {
	return fields{&d.UUID, &d.Account, &d.SavedSearch, &d.Kind, &d.Address, &d.Own, &d.SendEmpty, &d.State, &d.Reason,
		&d.VerifiedAt, &d.Secrets.Current, &d.Secrets.Old, &d.Secrets.OldUntil, &d.Challenge.Sealed, &d.Challenge.Tries, &d.CreatedAt, &d.LastDeliveredAt, &d.FailingSince}
}

// readDestination returns the destination of a query, or ErrNotFound: also where a text was asked for that is none.
func readDestination(ctx context.Context, q querier, query string, args ...any) (store.Destination, error) {
	rows, err := q.Query(ctx, query, args...)
	d, err := one(rows, err, destinationColumns)
	return d, noSuchText(err)
}

// CreateDestination implements store.Destinations.
func (s *Store) CreateDestination(ctx context.Context, n store.NewDestination) (store.Destination, error) {
	const operation = "create destination"
	if err := n.Check(); err != nil {
		return store.Destination{}, failed(operation, err)
	}
	var made store.Destination
	err := s.transact(ctx, operation, func(tx pgx.Tx) (err error) {
		if made, err = s.createDestination(ctx, tx, n); err == nil && n.Ask != nil {
			_, err = s.ask(ctx, tx, &made, n.Ask)
		}
		return err
	})
	if err != nil {
		return store.Destination{}, err
	}
	return made, nil
}

// createDestination makes a destination of an account that is held from then on.
func (s *Store) createDestination(ctx context.Context, tx pgx.Tx, n store.NewDestination) (made store.Destination, err error) {
	if err := holdAccount(ctx, tx, n.Account); err != nil {
		return made, err
	}
	var search int64
	if n.SavedSearch != "" {
		rows, err := tx.Query(ctx, searchID, int64(n.Account), n.SavedSearch)
		if search, err = one(rows, err, func(id *int64) fields { return fields{id} }); err != nil {
			return made, noSuchText(err)
		}
	}
	if err := roomForDestination(ctx, tx, n, search); err != nil {
		return made, err
	}
	id := records.UUIDOf(n)
	_, err = tx.Exec(ctx, insertDestination, id, int64(n.Account), orNull(search, search != 0), n.Kind, n.Address, cola.FoldAddress(n.Kind, n.Address),
		n.SendEmpty, n.State, orNull(n.Secret, n.Secret != ""), orNull(n.Challenge, n.Challenge != ""), n.Verified(), s.clock())
	if err != nil {
		return made, err
	}
	return readDestination(ctx, tx, destinationByUUID, int64(n.Account), id)
}

// roomForDestination fails with ErrExists when an account has the destination, for the search with the id or with zero for all, and
// with ErrLimit when it has as many as it may.
func roomForDestination(ctx context.Context, tx pgx.Tx, n store.NewDestination, search int64) error {
	var exists bool
	err := tx.QueryRow(ctx, sameDestination, int64(n.Account), n.Kind, cola.FoldAddress(n.Kind, n.Address), search).Scan(fields{&exists})
	if err != nil {
		return err
	}
	if exists {
		return store.ErrExists
	}
	var count int
	err = tx.QueryRow(ctx, countDestinations, int64(n.Account)).Scan(fields{&count})
	if err == nil && count >= n.MaxDestinations {
		err = store.ErrLimit
	}
	return err
}

// Destination implements store.Destinations.
func (s *Store) Destination(ctx context.Context, account cola.AccountID, uuid string) (d store.Destination, err error) {
	err = s.read(ctx, "read destination", func() (err error) {
		d, err = readDestination(ctx, s.general, destinationByUUID, int64(account), uuid)
		return err
	})
	return d, err
}

// DestinationByLink implements store.Destinations.
func (s *Store) DestinationByLink(ctx context.Context, hash []byte) (d store.Destination, err error) {
	err = s.read(ctx, "find destination", func() (err error) {
		d, err = readDestination(ctx, s.general, destinationByLink, hash)
		return err
	})
	return d, err
}

// Destinations implements store.Destinations.
func (s *Store) Destinations(ctx context.Context, account cola.AccountID, page store.Slice) (list []store.Destination, total int, err error) {
	err = s.read(ctx, "list destinations", func() error {
		return s.view(ctx, func(q querier) (err error) {
			list, total, err = listPage(ctx, q, countDestinations, selectDestinationsPage, []any{int64(account)}, page, destinationColumns)
			return err
		})
	})
	return list, total, err
}

// UpdateDestination implements store.Destinations.
func (s *Store) UpdateDestination(ctx context.Context, account cola.AccountID, uuid string, change func(*store.Destination) error) (store.Destination, error) {
	var changed store.Destination
	err := s.transact(ctx, "update destination", func(tx pgx.Tx) (err error) {
		changed, err = s.updateDestination(ctx, tx, account, uuid, change)
		return err
	})
	if refusal, ok := errors.AsType[records.Refusal](err); ok {
		err = refusal.Reason
	}
	if err != nil {
		return store.Destination{}, err
	}
	return changed, nil
}

// updateDestination changes a destination that is held from before it is read.
func (s *Store) updateDestination(ctx context.Context, tx pgx.Tx, account cola.AccountID, uuid string, change func(*store.Destination) error) (store.Destination, error) {
	d, err := readDestination(ctx, tx, holdDestination, int64(account), uuid)
	if err != nil {
		return d, err
	}
	if err := change(&d); err != nil {
		return d, records.Refusal{Reason: err}
	}
	if err := d.Check(); err != nil {
		return d, err
	}
	var id int64
	secrets := &d.Secrets
	err = tx.QueryRow(ctx, updateDestination, int64(account), uuid, d.State, encode(&d.Reason), d.SendEmpty, encode(&d.FailingSince),
		orNull(secrets.Current, secrets.Current != ""), orNull(secrets.Old, secrets.Old != ""), encode(&secrets.OldUntil),
		orNull(d.Challenge.Sealed, d.Challenge.Sealed != ""), d.Challenge.Tries, encode(&d.VerifiedAt)).Scan(fields{&id})
	if text := d.Skipping(); err == nil && text != "" {
		_, err = tx.Exec(ctx, skipPending, id, s.clock(), text)
	}
	if err != nil {
		return d, err
	}
	return readDestination(ctx, tx, destinationByUUID, int64(account), uuid)
}

// DeleteDestination implements store.Destinations.
func (s *Store) DeleteDestination(ctx context.Context, account cola.AccountID, uuid string) error {
	return s.affectOne(ctx, "delete destination", deleteDestination, int64(account), uuid)
}

// SetFeed implements store.Destinations.
func (s *Store) SetFeed(ctx context.Context, account cola.AccountID, uuid string, hash *store.FeedHash) error {
	return s.affectOne(ctx, "set feed", setFeed, int64(account), uuid, encodeHash(hash))
}

// encodeHash returns what a column holds for the hash of a feed.
func encodeHash(hash *store.FeedHash) any {
	if hash == nil {
		return nil
	}
	return hash[:]
}
