package sqlstore

import (
	"context"
	"hash/fnv"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
	"github.com/colaregistry/colaregistry/store/records"
)

// Lock order for destinations:
//
//   - Creating a destination locks the account first.
//   - Changing or deleting a destination, and recording a delivery attempt, lock the destination
//     before its deliveries.
//   - Recording runs and deleting a search lock searches first, and then destinations in ascending
//     order of ID. Schema triggers take these locks.
const (
	// destinationNames are the columns that destinationColumns scans from destinationTables.
	destinationNames = `d.uuid, d.account_id, o.uuid, d.kind, coalesce(d.address, CASE WHEN a.email NOT LIKE '%://%#%' THEN a.email END), d.address IS NULL,
		d.send_empty, d.state, d.reason, d.verified_at, d.secret, d.old_secret, d.old_secret_until, d.challenge, d.challenge_tries,
		d.created_at, d.last_delivered_at, d.failing_since`
	destinationOwner  = ` JOIN accounts a ON a.id = d.account_id LEFT JOIN saved_searches o ON o.id = d.search_id`
	destinationTables = `destinations d` + destinationOwner

	selectDestinations     = `SELECT ` + destinationNames + ` FROM ` + destinationTables
	destinationByUUID      = selectDestinations + ` WHERE d.account_id = $1 AND d.uuid = $2`
	lockDestination        = destinationByUUID + ` FOR NO KEY UPDATE OF d`
	shareDestination       = destinationByUUID + ` FOR SHARE OF d`
	destinationByLink      = selectDestinations + ` WHERE d.link_hash = $1`
	selectDestinationsPage = selectDestinations + ` WHERE d.account_id = $1 ORDER BY d.id LIMIT $2 OFFSET $3`
	countDestinations      = `SELECT count(*) FROM destinations WHERE account_id = $1`
	sameDestination        = `SELECT EXISTS (SELECT 1 FROM destinations d JOIN accounts a ON a.id = d.account_id
		WHERE d.account_id = $1 AND d.kind = $2 AND coalesce(d.address_folded, a.email_folded) = $3 AND coalesce(d.search_id, 0) = $4)`
	insertDestination = `INSERT INTO destinations (uuid, account_id, search_id, kind, address, address_folded, send_empty, state, secret, challenge,
			verified_at, created_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)`
	updateDestination = `UPDATE destinations SET state = $3, reason = $4, send_empty = $5, failing_since = $6, secret = $7, old_secret = $8,
		old_secret_until = $9, challenge = $10, challenge_tries = $11, verified_at = $12 WHERE account_id = $1 AND uuid = $2 RETURNING id`
	deleteDestination = `DELETE FROM destinations WHERE account_id = $1 AND uuid = $2`
	// skipPending marks pending messages to a destination as skipped at the given time, with the
	// given reason. It doesn't touch notices about the destination, which go to a different
	// recipient. Attempts in progress continue, and their outcomes are recorded.
	skipPending = `UPDATE deliveries SET state = '` + cola.DeliverySkipped + `', error = $3, next_attempt_at = NULL, settled_at = coalesce($2, clock_timestamp())
		WHERE destination_id = $1 AND state = '` + cola.DeliveryPending + `' AND event <> '` + cola.EventPaused + `'`
	setFeed = `UPDATE saved_searches SET feed_hash = $3 WHERE account_id = $1 AND uuid = $2`
)

// destinationColumns returns the scan targets for destinationNames.
func destinationColumns(d *store.Destination) []any {
	return []any{
		&d.UUID, &d.Account, &d.SavedSearch, &d.Kind, &d.Address, &d.Own, &d.SendEmpty, &d.State, &d.Reason,
		&d.VerifiedAt, &d.Secrets.Current, &d.Secrets.Old, &d.Secrets.OldUntil, &d.Challenge.Sealed, &d.Challenge.Tries,
		&d.CreatedAt, &d.LastDeliveredAt, &d.FailingSince,
	}
}

// findDestination returns the destination that a query selects. It returns ErrNotFound if there is
// none or if an argument is text that the database can't store.
func (s *Store) findDestination(ctx context.Context, q Querier, query string, args ...any) (store.Destination, error) {
	d, err := one(ctx, q, destinationColumns, query, args...)
	return d, s.notFoundIfInvalid(err)
}

// CreateDestination implements store.Destinations.
func (s *Store) CreateDestination(ctx context.Context, n store.NewDestination) (store.Destination, error) {
	const operation = "create destination"
	if err := n.Check(); err != nil {
		return store.Destination{}, s.db.Failed(operation, err)
	}
	var created store.Destination
	err := s.db.Transact(ctx, operation, func(ctx context.Context, tx Tx) (err error) {
		created, err = s.addDestination(ctx, tx, n)
		return err
	})
	if err != nil {
		return store.Destination{}, err
	}
	return created, nil
}

// addDestination creates a destination and, if n.Confirm is set, requests its confirmation.
func (s *Store) addDestination(ctx context.Context, tx Tx, n store.NewDestination) (store.Destination, error) {
	created, err := s.createDestination(ctx, tx, n)
	if err == nil && n.Confirm != nil {
		_, err = s.requestConfirmation(ctx, tx, &created, n.Confirm)
	}
	return created, err
}

// createDestination locks an account and creates a destination for it.
func (s *Store) createDestination(ctx context.Context, tx Tx,
	n store.NewDestination) (created store.Destination, err error) {
	if err := lockAccountRow(ctx, tx, n.Account); err != nil {
		return created, err
	}
	var search int64
	if n.SavedSearch != "" {
		if search, err = value[int64](ctx, tx, searchID, int64(n.Account), n.SavedSearch); err != nil {
			return created, s.notFoundIfInvalid(err)
		}
	}
	if err := checkDestinationLimit(ctx, tx, n, search); err != nil {
		return created, err
	}
	now, err := s.currentTime(ctx, tx)
	if err != nil {
		return created, err
	}
	var verified time.Time
	if n.Verified() {
		verified = now
	}
	id := records.DestinationUUID(n)
	_, err = tx.Exec(ctx, insertDestination,
		arguments([]any{
			id, int64(n.Account), orNull(&search), n.Kind, n.Address, cola.FoldAddress(n.Kind, n.Address),
			n.SendEmpty, n.State, orNull(&n.Secret), orNull(&n.Challenge), &verified, now,
		})...)
	if err != nil {
		return created, err
	}
	return s.findDestination(ctx, tx, destinationByUUID, int64(n.Account), id)
}

// checkDestinationLimit fails with ErrExists if the account already has the destination, and with
// ErrLimit if it already has the maximum number of destinations. search is the ID of the
// destination's search, or zero for all searches.
func checkDestinationLimit(ctx context.Context, tx Tx, n store.NewDestination, search int64) error {
	exists, err := value[bool](ctx, tx, sameDestination, int64(n.Account),
		n.Kind, cola.FoldAddress(n.Kind, n.Address), search)
	if err != nil {
		return err
	}
	if exists {
		return store.ErrExists
	}
	count, err := value[int](ctx, tx, countDestinations, int64(n.Account))
	if err == nil && count >= n.MaxDestinations {
		err = store.ErrLimit
	}
	return err
}

// Destination implements store.Destinations.
func (s *Store) Destination(ctx context.Context, account cola.AccountID, uuid string) (store.Destination, error) {
	return readOne(ctx, s, "read destination", destinationColumns, destinationByUUID, int64(account), uuid)
}

// DestinationByLink implements store.Destinations.
func (s *Store) DestinationByLink(ctx context.Context, hash []byte) (store.Destination, error) {
	return readOne(ctx, s, "find destination", destinationColumns, destinationByLink, hash)
}

// Destinations implements store.Destinations.
func (s *Store) Destinations(ctx context.Context, account cola.AccountID,
	page store.Slice) (all []store.Destination, total int, err error) {
	err = s.db.View(ctx, "list destinations", func(q Querier) (err error) {
		all, total, err = listPage(ctx, q, destinationColumns, countDestinations,
			selectDestinationsPage, []any{int64(account)}, page)
		return err
	})
	return all, total, err
}

// UpdateDestination implements store.Destinations.
func (s *Store) UpdateDestination(ctx context.Context, account cola.AccountID, uuid string,
	change func(*store.Destination) error) (store.Destination, error) {
	var changed store.Destination
	err := s.db.Transact(ctx, "update destination", func(ctx context.Context, tx Tx) (err error) {
		changed, err = s.updateDestination(ctx, tx, account, uuid, change)
		return err
	})
	if err != nil {
		return store.Destination{}, unwrapRefusal(err)
	}
	return changed, nil
}

// updateDestination locks a destination and then changes it.
func (s *Store) updateDestination(ctx context.Context, tx Tx, account cola.AccountID, uuid string,
	change func(*store.Destination) error) (store.Destination, error) {
	d, err := s.findDestination(ctx, tx, lockDestination, int64(account), uuid)
	if err != nil {
		return d, err
	}
	if err := change(&d); err != nil {
		return d, records.Refusal{Reason: err}
	}
	if err := d.Check(); err != nil {
		return d, err
	}
	id, err := value[int64](ctx, tx, updateDestination,
		arguments([]any{
			int64(account), uuid, d.State, &d.Reason, d.SendEmpty, &d.FailingSince,
			orNull(&d.Secrets.Current), orNull(&d.Secrets.Old), &d.Secrets.OldUntil, orNull(&d.Challenge.Sealed),
			d.Challenge.Tries, &d.VerifiedAt,
		})...)
	if text := d.Skipping(); err == nil && text != "" {
		_, err = tx.Exec(ctx, skipPending, id, s.clock(), text)
	}
	if err != nil {
		return d, err
	}
	return s.findDestination(ctx, tx, destinationByUUID, int64(account), uuid)
}

// DeleteDestination implements store.Destinations.
func (s *Store) DeleteDestination(ctx context.Context, account cola.AccountID, uuid string) error {
	return s.affectOne(ctx, "delete destination", deleteDestination, int64(account), uuid)
}

// SetFeed implements store.Destinations.
func (s *Store) SetFeed(ctx context.Context, account cola.AccountID, uuid string, hash *store.FeedHash) error {
	return s.affectOne(ctx, "set feed", setFeed, int64(account), uuid, &hash)
}

// recipientLocks is the class of the advisory locks on recipients of confirmation requests. A
// transaction takes such a lock after locking the account and the destination, and then waits for
// no other lock.
const recipientLocks int32 = 0x61736b // "ask"

const (
	selectConfirmations = `SELECT coalesce($5::timestamptz, clock_timestamp()),
		(SELECT asked_at FROM confirmations_asked WHERE account_id = $1 AND address_folded = $2 ORDER BY asked_at DESC LIMIT 1 OFFSET $6::bigint - 1),
		(SELECT asked_at FROM confirmations_asked WHERE account_id = $1 ORDER BY asked_at DESC LIMIT 1 OFFSET $3::bigint - 1),
		(SELECT asked_at FROM confirmations_asked WHERE address_folded = $2 ORDER BY asked_at DESC LIMIT 1 OFFSET $4::bigint - 1),
		(SELECT max(asked_at) FROM confirmations_asked WHERE account_id = $1 AND address_folded = $2)`
	selectConfirmed    = `SELECT address FROM destinations WHERE account_id = $1 AND kind = 'webhook' AND verified_at IS NOT NULL`
	insertConfirmation = `INSERT INTO confirmations_asked (account_id, address_folded, asked_at) VALUES ($1, $2, $3)`
)

// RequestConfirmation implements store.Destinations. It locks the account first, as
// CreateDestination does.
func (s *Store) RequestConfirmation(ctx context.Context, account cola.AccountID, uuid string,
	ask store.ConfirmationRequest,
	change func(*store.Destination) error) (d cola.Delivery, err error) {
	err = s.db.Transact(ctx, "request confirmation", func(ctx context.Context, tx Tx) error {
		if err := lockAccountRow(ctx, tx, account); err != nil {
			return err
		}
		to, err := s.updateDestination(ctx, tx, account, uuid, change)
		if err == nil {
			d, err = s.requestConfirmation(ctx, tx, &to, &ask)
		}
		return err
	})
	if err != nil {
		return cola.Delivery{}, unwrapRefusal(err)
	}
	return d, nil
}

// requestConfirmation adds a confirmation request for a destination, unless a limit is reached. The
// caller must hold the account lock. requestConfirmation locks the recipient before it reads the
// clock.
func (s *Store) requestConfirmation(
	ctx context.Context, tx Tx, d *store.Destination, ask *store.ConfirmationRequest,
) (cola.Delivery, error) {
	if err := records.CheckConfirmable(d); err != nil {
		return cola.Delivery{}, err
	}
	recipient := store.Recipient(d.Kind, d.Address.V)
	if err := tx.AdvisoryLock(ctx, recipientLocks, recipientLock(recipient)); err != nil {
		return cola.Delivery{}, err
	}
	type row struct {
		records.ConfirmationHistory
		now time.Time
	}
	history, err := one(ctx, tx, func(r *row) []any {
		return []any{
			&r.now, &r.Repeated, &r.PerAccount, &r.PerAddress,
			&r.Latest,
		}
	},
		selectConfirmations, int64(d.Account), recipient, ask.Limits.MaxPerAccount, ask.Limits.MaxPerAddress, s.clock(),
		max(1, ask.Limits.MaxRepeats))
	if err == nil {
		history.Confirmed, err = list(ctx, tx, column[string], selectConfirmed, int64(d.Account))
	}
	if err == nil {
		err = history.Check(d.Kind, recipient, ask.Limits, history.now)
	}
	if err == nil {
		err = s.deleteSomeExpired(ctx, tx, expiredConfirmations)
	}
	if err == nil {
		_, err = tx.Exec(ctx, insertConfirmation, int64(d.Account), recipient, history.now)
	}
	if err != nil {
		return cola.Delivery{}, err
	}
	return addMessage(ctx, tx, d, cola.EventConfirm, ask.Due)
}

// recipientLock returns the key of a recipient's advisory lock. Recipients whose hashes collide
// share a lock.
func recipientLock(recipient string) int32 {
	h := fnv.New32a()
	h.Write([]byte(recipient))
	return int32(h.Sum32())
}

// addMessage adds a message about an event for a locked destination, due at the given time.
func addMessage(ctx context.Context, tx Tx, d *store.Destination, event string, due time.Time) (cola.Delivery, error) {
	id, err := value[int64](ctx, tx, insertMessage, int64(d.Account), d.UUID, event, due)
	if err != nil {
		return cola.Delivery{}, err
	}
	return one(ctx, tx, deliveryColumns, deliveryByID, int64(d.Account), id)
}
