package postgres

import (
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

// The columns that are filled of what is sent.
var (
	filledDestination = []string{"id", "search_id", "uuid", "account_id", "kind", "address", "address_folded", "send_empty", "state", "reason",
		"link_hash", "verified_at", "secret", "old_secret", "old_secret_until", "challenge", "challenge_tries", "created_at", "last_delivered_at", "failing_since"}
	filledDelivery = []string{"id", "message_id", "account_id", "destination_id", "search_id", "run_id", "event", "kind", "state", "error", "attempts",
		"created_at", "first_attempt_at", "next_attempt_at", "settled_at"}
	filledAttempt = []string{"delivery_id", "n", "at", "took", "status", "error"}
)

func (d dumper) destinations() error {
	query := `SELECT d.id, coalesce(d.search_id, 0), d.link_hash, ` + destinationNames + ` FROM ` + destinationTables + ` ORDER BY d.id`
	return d.rows(store.ItemDestination, query, func(i *store.Item) fields {
		return append(fields{&i.Destination.ID, &i.Destination.Search, &i.Destination.LinkHash}, destinationColumns(&i.Destination.Destination)...)
	}, nil)
}

func (d dumper) deliveries() error {
	const query = `SELECT id, message_id, account_id, destination_id, coalesce(search_id, 0), coalesce(run_id, 0), event, kind, state, error, attempts,
		created_at, first_attempt_at, next_attempt_at, settled_at FROM deliveries ORDER BY id`
	return d.rows(store.ItemDelivery, query, func(i *store.Item) fields {
		v := &i.Delivery
		return fields{&v.ID, &v.MessageID, &v.Account, &v.Destination, &v.Search, &v.Run, &v.Event, &v.Kind, &v.State, &v.Error, &v.AttemptCount,
			&v.CreatedAt, &v.FirstAttemptAt, &v.NextAttemptAt, &v.SettledAt}
	}, nil)
}

func (d dumper) attempts() error {
	const query = `SELECT delivery_id, n, at, took, coalesce(status, 0), error FROM delivery_attempts ORDER BY delivery_id, n`
	var took int64
	return d.rows(store.ItemAttempt, query, func(i *store.Item) fields {
		a := &i.Attempt
		return fields{&a.Delivery, &a.N, &a.At, &took, &a.Status, &a.Error}
	}, func(i *store.Item) error {
		i.Attempt.Took = time.Duration(took) * time.Microsecond
		return nil
	})
}

// addDelivery adds one item about what is sent.
func (f *filler) addDelivery(i *store.Item) {
	switch i.Kind {
	case store.ItemDestination:
		f.addDestination(&i.Destination)
	case store.ItemDelivery:
		d := &i.Delivery
		f.add(f.deliveries, d.ID, d.MessageID, int64(d.Account), d.Destination, orNull(d.Search, d.Search != 0), orNull(d.Run, d.Run != 0), d.Event, d.Kind,
			d.State, encode(&d.Error), int64(d.AttemptCount), d.CreatedAt.Time(), encode(&d.FirstAttemptAt), encode(&d.NextAttemptAt), encode(&d.SettledAt))
	case store.ItemAttempt:
		a := &i.Attempt
		f.add(f.attempts, a.Delivery, int64(a.N), a.At, a.Took.Microseconds(), orNull(int64(a.Status), a.Status != 0), orNull(a.Error, a.Error != ""))
	}
}

func (f *filler) addDestination(d *store.StoredDestination) {
	var address, folded any // none for the account's own
	if !d.Own {
		address, folded = d.Address.V, cola.FoldAddress(d.Kind, d.Address.V)
	}
	secrets := &d.Secrets
	f.add(f.destinations, d.ID, orNull(d.Search, d.Search != 0), d.UUID, int64(d.Account), d.Kind, address, folded, d.SendEmpty, d.State,
		encode(&d.Reason), orNull(d.LinkHash, d.LinkHash != nil), encode(&d.VerifiedAt), orNull(secrets.Current, secrets.Current != ""), orNull(secrets.Old, secrets.Old != ""), encode(&secrets.OldUntil),
		orNull(d.Challenge.Sealed, d.Challenge.Sealed != ""), int64(d.Challenge.Tries), d.CreatedAt.Time(), encode(&d.LastDeliveredAt), encode(&d.FailingSince))
}
