package sqlstore

import (
	"context"
	"hash/fnv"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
	"github.com/colaregistry/colaregistry/store/records"
)

// addressLocks is the class of the advisory locks on addresses that people are asked at; the key is
// made of an address. Whoever has one asked holds the account and the destination, and waits for
// nobody once it has the lock.
const addressLocks int32 = 0x61736b // "ask"

const (
	selectAsked = `SELECT coalesce($5::timestamptz, clock_timestamp()),
		(SELECT asked_at FROM confirmations_asked WHERE account_id = $1 AND address_folded = $2 ORDER BY asked_at DESC LIMIT 1 OFFSET $6::bigint - 1),
		(SELECT asked_at FROM confirmations_asked WHERE account_id = $1 ORDER BY asked_at DESC LIMIT 1 OFFSET $3::bigint - 1),
		(SELECT asked_at FROM confirmations_asked WHERE address_folded = $2 ORDER BY asked_at DESC LIMIT 1 OFFSET $4::bigint - 1),
		(SELECT max(asked_at) FROM confirmations_asked WHERE account_id = $1 AND address_folded = $2)`
	selectConfirmed = `SELECT address FROM destinations WHERE account_id = $1 AND kind = 'webhook' AND verified_at IS NOT NULL`
	insertAsked     = `INSERT INTO confirmations_asked (account_id, address_folded, asked_at) VALUES ($1, $2, $3)`
	forgetAsked     = `DELETE FROM confirmations_asked WHERE id IN (
		SELECT id FROM confirmations_asked WHERE asked_at <= $1 ORDER BY asked_at LIMIT $2 FOR UPDATE SKIP LOCKED)`
)

// AskToConfirm implements store.Destinations. It locks the account first, as CreateDestination
// does.
func (s *Store) AskToConfirm(ctx context.Context, account cola.AccountID, uuid string, ask store.Ask,
	change func(*store.Destination) error) (d cola.Delivery, err error) {
	err = s.db.Transact(ctx, "ask to confirm", func(ctx context.Context, tx Tx) error {
		if err := holdAccount(ctx, tx, account); err != nil {
			return err
		}
		to, err := s.updateDestination(ctx, tx, account, uuid, change)
		if err == nil {
			d, err = s.ask(ctx, tx, &to, &ask)
		}
		return err
	})
	if err != nil {
		return cola.Delivery{}, refused(err)
	}
	return d, nil
}

// ask adds a request to confirm a destination, unless a limit is reached. The caller has locked the
// account. ask locks the recipient and reads the clock afterwards.
func (s *Store) ask(ctx context.Context, tx Tx, d *store.Destination, ask *store.Ask) (cola.Delivery, error) {
	if err := records.CheckAskable(d); err != nil {
		return cola.Delivery{}, err
	}
	recipient := store.Recipient(d.Kind, d.Address.V)
	if err := tx.Lock(ctx, addressLocks, addressLock(recipient)); err != nil {
		return cola.Delivery{}, err
	}
	type row struct {
		records.Asked
		now time.Time
	}
	asked, err := one(ctx, tx, func(r *row) []any { return []any{&r.now, &r.Again, &r.ByAccount, &r.OfAddress, &r.Latest} },
		selectAsked, int64(d.Account), recipient, ask.Limits.ByAccount, ask.Limits.OfAddress, s.clock(), max(1, ask.Limits.ByBoth))
	if err == nil {
		asked.Confirmed, err = list(ctx, tx, column[string], selectConfirmed, int64(d.Account))
	}
	if err == nil {
		err = asked.Check(d.Kind, recipient, ask.Limits, asked.now)
	}
	if err == nil {
		err = s.forgetSome(ctx, tx, asksOver)
	}
	if err == nil {
		_, err = tx.Exec(ctx, insertAsked, int64(d.Account), recipient, asked.now)
	}
	if err != nil {
		return cola.Delivery{}, err
	}
	return addMessage(ctx, tx, d, cola.EventConfirm, ask.Due)
}

// addressLock returns the key of a recipient's advisory lock. Recipients with the same key wait
// for each other.
func addressLock(recipient string) int32 {
	h := fnv.New32a()
	h.Write([]byte(recipient))
	return int32(h.Sum32())
}

// addMessage adds a message of an event to a destination that is locked, due at an instant.
func addMessage(ctx context.Context, tx Tx, d *store.Destination, event string, due time.Time) (cola.Delivery, error) {
	id, err := value[int64](ctx, tx, insertMessage, int64(d.Account), d.UUID, event, due)
	if err != nil {
		return cola.Delivery{}, err
	}
	return one(ctx, tx, deliveryColumns, deliveryByID, int64(d.Account), id)
}
