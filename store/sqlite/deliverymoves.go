package sqlite

import (
	"context"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

const (
	attemptNames      = `delivery_id, n, at, took, status, error`
	filledDestination = `id, search_id, uuid, account_id, kind, address, address_folded, send_empty, state, reason, link_hash, verified_at, secret,
		old_secret, old_secret_until, challenge, challenge_tries, created_at, last_delivered_at, failing_since`
	filledDelivery = `id, message_id, account_id, destination_id, search_id, run_id, event, kind, state, error, attempts, created_at, first_attempt_at,
		next_attempt_at, settled_at`
)

func dumpDestinations(ctx context.Context, q querier, yield func(*store.Item) error) error {
	query := `SELECT d.id, coalesce(d.search_id, 0), d.link_hash, ` + destinationNames + ` FROM ` + destinationTables + ` ORDER BY d.id`
	return dumpRows(ctx, q, yield, store.ItemDestination, query, func(row scanner, i *store.Item) error {
		d := &i.Destination
		return row.Scan(append([]any{&d.ID, &d.Search, &d.LinkHash}, destinationTargets(&d.Destination)...)...)
	})
}

func dumpDeliveries(ctx context.Context, q querier, yield func(*store.Item) error) error {
	const query = `SELECT id, message_id, account_id, destination_id, coalesce(search_id, 0), coalesce(run_id, 0), event, kind, state, error, attempts,
		created_at, first_attempt_at, next_attempt_at, settled_at FROM deliveries ORDER BY id`
	return dumpRows(ctx, q, yield, store.ItemDelivery, query, func(row scanner, i *store.Item) error {
		d := &i.Delivery
		return row.Scan(&d.ID, &d.MessageID, &d.Account, &d.Destination, &d.Search, &d.Run, &d.Event, &d.Kind, &d.State, target{&d.Error},
			&d.AttemptCount, &d.CreatedAt, target{&d.FirstAttemptAt}, target{&d.NextAttemptAt}, target{&d.SettledAt})
	})
}

func dumpAttempts(ctx context.Context, q querier, yield func(*store.Item) error) error {
	const query = `SELECT delivery_id, n, at, took, coalesce(status, 0), error FROM delivery_attempts ORDER BY delivery_id, n`
	return dumpRows(ctx, q, yield, store.ItemAttempt, query, func(row scanner, i *store.Item) error {
		var took int64
		a := &i.Attempt
		err := row.Scan(&a.Delivery, &a.N, target{&a.At}, &took, &a.Status, target{&a.Error})
		a.Took = time.Duration(took) * time.Microsecond
		return err
	})
}

// fillDeliveries writes one item about what is sent.
func (s *Store) fillDeliveries(ctx context.Context, i *store.Item) error {
	switch i.Kind {
	case store.ItemDestination:
		return s.fillDestination(ctx, &i.Destination)
	case store.ItemDelivery:
		d := &i.Delivery
		return s.records.exec(ctx, `INSERT INTO deliveries (`+filledDelivery+`) VALUES (`+placeholders(15)+`)`,
			d.ID, d.MessageID, int64(d.Account), d.Destination, orNull(d.Search, d.Search != 0), orNull(d.Run, d.Run != 0), d.Event, d.Kind, d.State,
			encode(&d.Error), d.AttemptCount, int64(d.CreatedAt), encode(&d.FirstAttemptAt), encode(&d.NextAttemptAt), encode(&d.SettledAt))
	}
	a := &i.Attempt
	return s.records.exec(ctx, `INSERT INTO delivery_attempts (`+attemptNames+`) VALUES (`+placeholders(6)+`)`,
		a.Delivery, a.N, encode(&a.At), a.Took.Microseconds(), orNull(a.Status, a.Status != 0), orNull(a.Error, a.Error != ""))
}

func (s *Store) fillDestination(ctx context.Context, d *store.StoredDestination) error {
	var address, folded any // none for the account's own
	if !d.Own {
		address, folded = d.Address.V, cola.FoldAddress(d.Kind, d.Address.V)
	}
	secrets := &d.Secrets
	return s.records.exec(ctx, `INSERT INTO destinations (`+filledDestination+`) VALUES (`+placeholders(20)+`)`,
		d.ID, orNull(d.Search, d.Search != 0), d.UUID, int64(d.Account), d.Kind, address, folded, bit(d.SendEmpty), d.State, encode(&d.Reason),
		d.LinkHash, encode(&d.VerifiedAt), orNull(secrets.Current, secrets.Current != ""), orNull(secrets.Old, secrets.Old != ""), encode(&secrets.OldUntil),
		orNull(d.Challenge.Sealed, d.Challenge.Sealed != ""), d.Challenge.Tries, int64(d.CreatedAt), encode(&d.LastDeliveredAt), encode(&d.FailingSince))
}
