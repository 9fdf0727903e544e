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
		(SELECT asked_at FROM confirmations_asked WHERE account_id = $1 AND coalesce(recipient, address_folded) = $7 ORDER BY asked_at DESC
			LIMIT 1 OFFSET $6::bigint - 1),
		(SELECT asked_at FROM confirmations_asked WHERE account_id = $1 ORDER BY asked_at DESC LIMIT 1 OFFSET $3::bigint - 1),
		(SELECT asked_at FROM confirmations_asked WHERE address_folded = $2 ORDER BY asked_at DESC LIMIT 1 OFFSET $4::bigint - 1)`
	insertAsked = `INSERT INTO confirmations_asked (account_id, address_folded, recipient, asked_at) VALUES ($1, $2, $3, $4)`
	forgetAsked = `DELETE FROM confirmations_asked WHERE id IN (
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
// account. ask locks the address and reads the clock afterwards.
func (s *Store) ask(ctx context.Context, tx Tx, d *store.Destination, ask *store.Ask) (cola.Delivery, error) {
	if err := records.CheckAskable(d); err != nil {
		return cola.Delivery{}, err
	}
	address, recipient := store.AskedAddress(d.Kind, d.Address.V), store.Recipient(d.Kind, d.Address.V)
	if err := tx.Lock(ctx, addressLocks, addressLock(address)); err != nil {
		return cola.Delivery{}, err
	}
	type row struct {
		records.Asked
		now time.Time
	}
	asked, err := one(ctx, tx, func(r *row) []any { return []any{&r.now, &r.Again, &r.ByAccount, &r.OfAddress} },
		selectAsked, int64(d.Account), address, ask.Limits.ByAccount, ask.Limits.OfAddress, s.clock(), max(1, ask.Limits.ByBoth), recipient)
	if err == nil {
		err = asked.Check(ask.Limits, asked.now)
	}
	if err == nil {
		err = s.forgetSome(ctx, tx, asksOver)
	}
	if err == nil {
		_, err = tx.Exec(ctx, insertAsked, int64(d.Account), address, recipient, asked.now)
	}
	if err != nil {
		return cola.Delivery{}, err
	}
	return addMessage(ctx, tx, d, cola.EventConfirm, ask.Due)
}

// addressLock returns the key of an address's advisory lock. Addresses with the same key wait
// for each other.
func addressLock(address string) int32 {
	h := fnv.New32a()
	h.Write([]byte(address))
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
