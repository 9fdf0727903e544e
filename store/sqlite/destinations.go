package sqlite

import (
	"context"
	"database/sql"
	"errors"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
	"github.com/colaregistry/colaregistry/store/records"
)

const (
	// destinationNames are what destinationTargets takes, of destinationTables.
	destinationNames = `d.uuid, d.account_id, o.uuid, d.kind, coalesce(d.address, CASE WHEN a.email NOT LIKE '%://%#%' THEN a.email END), d.address IS NULL,
		d.send_empty, d.state, d.reason, d.verified_at, d.secret, d.old_secret, d.old_secret_until, d.challenge, d.challenge_tries,
		d.created_at, d.last_delivered_at, d.failing_since`
	destinationTables = `destinations d JOIN accounts a ON a.id = d.account_id LEFT JOIN saved_searches o ON o.id = d.search_id`

	selectDestinations     = `SELECT ` + destinationNames + ` FROM ` + destinationTables
	destinationByUUID      = selectDestinations + ` WHERE d.account_id = ? AND d.uuid = ?`
	destinationByLink      = selectDestinations + ` WHERE d.link_hash = ?`
	selectDestinationsPage = selectDestinations + ` WHERE d.account_id = ? ORDER BY d.id LIMIT ? OFFSET ?`
	countDestinations      = `SELECT count(*) FROM destinations WHERE account_id = ?`
	sameDestination        = `SELECT EXISTS (SELECT 1 FROM destinations d JOIN accounts a ON a.id = d.account_id
		WHERE d.account_id = ? AND d.kind = ? AND coalesce(d.address_folded, a.email_folded) = ? AND coalesce(d.search_id, 0) = ?)`
	insertDestination = `INSERT INTO destinations (uuid, account_id, search_id, kind, address, address_folded, send_empty, state, secret, challenge, verified_at, created_at)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`
	updateDestination = `UPDATE destinations SET state = ?, reason = ?, send_empty = ?, failing_since = ?, secret = ?, old_secret = ?, old_secret_until = ?,
		challenge = ?, challenge_tries = ?, verified_at = ? WHERE account_id = ? AND uuid = ? RETURNING id`
	deleteDestination = `DELETE FROM destinations WHERE account_id = ? AND uuid = ?`
	// skipPending settles what was to be sent to a destination, at an instant, with a text. What is about the destination goes elsewhere.
	// Attempts under way go on, and what comes of them is noted.
	skipPending = `UPDATE deliveries SET state = '` + cola.DeliverySkipped + `', error = ?3, next_attempt_at = NULL, settled_at = ?2
		WHERE destination_id = ?1 AND state = '` + cola.DeliveryPending + `' AND event <> '` + cola.EventPaused + `'`
	setFeed = `UPDATE saved_searches SET feed_hash = ? WHERE account_id = ? AND uuid = ?`
)

// destinationTargets returns what to scan destinationNames into.
func destinationTargets(d *store.Destination) []any {
	return []any{&d.UUID, &d.Account, target{&d.SavedSearch}, &d.Kind, target{&d.Address}, target{&d.Own},
		target{&d.SendEmpty}, &d.State, target{&d.Reason}, target{&d.VerifiedAt}, target{&d.Secrets.Current}, target{&d.Secrets.Old},
		target{&d.Secrets.OldUntil}, target{&d.Challenge.Sealed}, &d.Challenge.Tries, &d.CreatedAt, target{&d.LastDeliveredAt}, target{&d.FailingSince}}
}

// scanDestination reads a destination, or fails with ErrNotFound.
func scanDestination(row scanner) (d store.Destination, err error) {
	if err = row.Scan(destinationTargets(&d)...); errors.Is(err, sql.ErrNoRows) {
		err = store.ErrNotFound
	}
	return d, err
}

// CreateDestination implements store.Destinations.
func (s *Store) CreateDestination(ctx context.Context, n store.NewDestination) (store.Destination, error) {
	const operation = "create destination"
	if err := n.Check(); err != nil {
		return store.Destination{}, failed(operation, err)
	}
	var made store.Destination
	err := s.transact(ctx, operation, func(ctx context.Context) (err error) {
		if made, err = s.createDestination(ctx, n); err == nil && n.Ask != nil {
			_, err = s.ask(ctx, &made, n.Ask)
		}
		return err
	})
	if err != nil {
		return store.Destination{}, err
	}
	return made, nil
}

// createDestination makes a destination, within a transaction that writes: there is one at a time.
func (s *Store) createDestination(ctx context.Context, n store.NewDestination) (made store.Destination, err error) {
	var search int64
	if n.SavedSearch != "" {
		err = s.ledger.row(ctx, searchID, int64(n.Account), n.SavedSearch).Scan(&search)
	} else {
		err = s.ledger.row(ctx, `SELECT 0 FROM accounts WHERE id = ?`, int64(n.Account)).Scan(&search)
	}
	if errors.Is(err, sql.ErrNoRows) {
		err = store.ErrNotFound
	}
	if err == nil {
		err = s.roomForDestination(ctx, n, search)
	}
	if err != nil {
		return made, err
	}
	id, now := records.UUIDOf(n), s.instant()
	err = s.ledger.exec(ctx, insertDestination, id, int64(n.Account), orNull(search, search != 0), n.Kind, n.Address,
		cola.FoldAddress(n.Kind, n.Address), bit(n.SendEmpty), n.State, orNull(n.Secret, n.Secret != ""), orNull(n.Challenge, n.Challenge != ""),
		orNull(now.UnixMicro(), n.Verified()), now.UnixMicro())
	if err != nil {
		return made, err
	}
	return scanDestination(s.ledger.row(ctx, destinationByUUID, int64(n.Account), id))
}

// roomForDestination fails with ErrExists when an account has the destination, for the search with the id or with zero for all, and
// with ErrLimit when it has as many as it may.
func (s *Store) roomForDestination(ctx context.Context, n store.NewDestination, search int64) error {
	var exists bool
	err := s.ledger.row(ctx, sameDestination, int64(n.Account), n.Kind, cola.FoldAddress(n.Kind, n.Address), search).Scan(&exists)
	if err != nil {
		return err
	}
	if exists {
		return store.ErrExists
	}
	var count int
	err = s.ledger.row(ctx, countDestinations, int64(n.Account)).Scan(&count)
	if err == nil && count >= n.MaxDestinations {
		err = store.ErrLimit
	}
	return err
}

// Destination implements store.Destinations.
func (s *Store) Destination(ctx context.Context, account cola.AccountID, uuid string) (store.Destination, error) {
	return s.readDestination(ctx, "read destination", destinationByUUID, int64(account), uuid)
}

// DestinationByLink implements store.Destinations.
func (s *Store) DestinationByLink(ctx context.Context, hash []byte) (store.Destination, error) {
	return s.readDestination(ctx, "find destination", destinationByLink, hash)
}

func (s *Store) readDestination(ctx context.Context, operation, query string, args ...any) (store.Destination, error) {
	if err := s.start(); err != nil {
		return store.Destination{}, failed(operation, err)
	}
	defer s.done()
	d, err := scanDestination(s.read.row(ctx, query, args...))
	return d, failed(operation, err)
}

// Destinations implements store.Destinations.
func (s *Store) Destinations(ctx context.Context, account cola.AccountID, page store.Slice) (list []store.Destination, total int, err error) {
	const operation = "list destinations"
	if err := s.start(); err != nil {
		return nil, 0, failed(operation, err)
	}
	defer s.done()
	err = s.read.view(ctx, func(q querier) (err error) {
		list, total, err = listPage(ctx, q, countDestinations, selectDestinationsPage, []any{int64(account)}, page, scanDestination)
		return err
	})
	return list, total, failed(operation, err)
}

// UpdateDestination implements store.Destinations.
func (s *Store) UpdateDestination(ctx context.Context, account cola.AccountID, uuid string, change func(*store.Destination) error) (store.Destination, error) {
	var changed store.Destination
	err := s.transact(ctx, "update destination", func(ctx context.Context) (err error) {
		changed, err = s.updateDestination(ctx, account, uuid, change)
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

// updateDestination changes a destination, within a transaction that writes: there is one at a time.
func (s *Store) updateDestination(ctx context.Context, account cola.AccountID, uuid string, change func(*store.Destination) error) (store.Destination, error) {
	d, err := scanDestination(s.ledger.row(ctx, destinationByUUID, int64(account), uuid))
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
	err = s.ledger.row(ctx, updateDestination, d.State, encode(&d.Reason), bit(d.SendEmpty), encode(&d.FailingSince),
		orNull(secrets.Current, secrets.Current != ""), orNull(secrets.Old, secrets.Old != ""), encode(&secrets.OldUntil),
		orNull(d.Challenge.Sealed, d.Challenge.Sealed != ""), d.Challenge.Tries, encode(&d.VerifiedAt), int64(account), uuid).Scan(&id)
	if text := d.Skipping(); err == nil && text != "" {
		err = s.ledger.exec(ctx, skipPending, id, s.instant().UnixMicro(), text)
	}
	if err != nil {
		return d, err
	}
	return scanDestination(s.ledger.row(ctx, destinationByUUID, int64(account), uuid))
}

// DeleteDestination implements store.Destinations.
func (s *Store) DeleteDestination(ctx context.Context, account cola.AccountID, uuid string) error {
	return s.affectOne(ctx, "delete destination", deleteDestination, int64(account), uuid)
}

// SetFeed implements store.Destinations.
func (s *Store) SetFeed(ctx context.Context, account cola.AccountID, uuid string, hash *store.FeedHash) error {
	return s.affectOne(ctx, "set feed", setFeed, encodeHash(hash), int64(account), uuid)
}

// encodeHash returns what a column holds for the hash of a feed.
func encodeHash(hash *store.FeedHash) any {
	if hash == nil {
		return nil
	}
	return hash[:]
}
