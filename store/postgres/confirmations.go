package postgres

import (
	"context"
	"errors"
	"hash/fnv"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
	"github.com/colaregistry/colaregistry/store/records"
)

const (
	// addressLocks is the first half of the advisory locks on addresses that people are asked at; the second is made of an address. Whoever has
	// one asked holds the account and the destination, and waits for nobody once it has the lock.
	addressLocks int32 = 0x61736b // "ask"

	// asksForgottenAtOnce is how many requests one statement forgets.
	asksForgottenAtOnce = 1_000
)

const (
	lockAddress = `SELECT pg_advisory_xact_lock($1, $2)`
	selectAsked = `SELECT coalesce($5::timestamptz, clock_timestamp()),
		(SELECT asked_at FROM confirmations_asked WHERE account_id = $1 AND address_folded = $2 ORDER BY asked_at DESC LIMIT 1 OFFSET $6::bigint - 1),
		(SELECT asked_at FROM confirmations_asked WHERE account_id = $1 ORDER BY asked_at DESC LIMIT 1 OFFSET $3::bigint - 1),
		(SELECT asked_at FROM confirmations_asked WHERE address_folded = $2 ORDER BY asked_at DESC LIMIT 1 OFFSET $4::bigint - 1),
		EXISTS (SELECT 1 FROM confirmations_asked WHERE account_id = $1 AND address_folded = $2
			AND asked_at > coalesce($5::timestamptz, clock_timestamp()) - make_interval(secs => $7)),
		ARRAY(SELECT address FROM destinations WHERE account_id = $1 AND kind = 'webhook' AND verified_at IS NOT NULL)`
	insertAsked = `INSERT INTO confirmations_asked (account_id, address_folded, asked_at) VALUES ($1, $2, $3)`
	forgetAsked = `DELETE FROM confirmations_asked WHERE id IN (
		SELECT id FROM confirmations_asked WHERE asked_at <= coalesce($1::timestamptz, clock_timestamp()) - make_interval(secs => $2)
		ORDER BY asked_at LIMIT $3 FOR UPDATE SKIP LOCKED)`
)

// AskToConfirm implements store.Destinations. The account is held first, as by whoever makes a destination.
func (s *Store) AskToConfirm(ctx context.Context, account cola.AccountID, uuid string, ask store.Ask, change func(*store.Destination) error) (d cola.Delivery, err error) {
	err = s.transact(ctx, "ask to confirm", func(tx pgx.Tx) error {
		if err := holdAccount(ctx, tx, account); err != nil {
			return err
		}
		to, err := s.updateDestination(ctx, tx, account, uuid, change)
		if err == nil {
			d, err = s.ask(ctx, tx, &to, &ask)
		}
		return err
	})
	if refusal, ok := errors.AsType[records.Refusal](err); ok {
		err = refusal.Reason
	}
	if err != nil {
		return cola.Delivery{}, err
	}
	return d, nil
}

// ask adds a request to confirm a destination, unless a limit is reached. The caller has locked the
// account. ask locks the recipient and reads the clock afterwards.
func (s *Store) ask(ctx context.Context, tx pgx.Tx, d *store.Destination, ask *store.Ask) (cola.Delivery, error) {
	if err := records.CheckAskable(d); err != nil {
		return cola.Delivery{}, err
	}
	recipient := store.Recipient(d.Kind, d.Address.V)
	if _, err := tx.Exec(ctx, lockAddress, addressLocks, addressLock(recipient)); err != nil {
		return cola.Delivery{}, err
	}
	var now time.Time
	var asked records.Asked
	err := tx.QueryRow(ctx, selectAsked, int64(d.Account), recipient, int64(ask.Limits.ByAccount), int64(ask.Limits.OfAddress), s.clock(),
		int64(max(1, ask.Limits.ByBoth)), ask.Limits.Within.Seconds()).
		Scan(fields{&now, &asked.Again, &asked.ByAccount, &asked.OfAddress, &asked.AskedBefore, &asked.Confirmed})
	if err == nil {
		err = asked.Check(d.Kind, recipient, ask.Limits, now)
	}
	if err == nil {
		_, err = tx.Exec(ctx, insertAsked, int64(d.Account), recipient, now)
	}
	if err != nil {
		return cola.Delivery{}, err
	}
	return addMessage(ctx, tx, d, cola.EventConfirm, ask.Due)
}

// addressLock returns the second key of a recipient's advisory lock. Recipients with the same key wait
// for each other.
func addressLock(recipient string) int32 {
	h := fnv.New32a()
	h.Write([]byte(recipient))
	return int32(h.Sum32())
}

// addMessage adds a message of an event to a destination that is held, due at an instant.
func addMessage(ctx context.Context, tx pgx.Tx, d *store.Destination, event string, due time.Time) (cola.Delivery, error) {
	var id int64
	if err := tx.QueryRow(ctx, insertMessage, int64(d.Account), d.UUID, event, due).Scan(fields{&id}); err != nil {
		return cola.Delivery{}, err
	}
	return readDelivery(ctx, tx, d.Account, id)
}

// forgetAsked forgets requests that are old enough, some at a time.
func (s *Store) forgetAsked(ctx context.Context) error {
	for {
		done, err := s.general.Exec(ctx, forgetAsked, s.clock(), store.AsksKept.Seconds(), asksForgottenAtOnce)
		if err != nil || done.RowsAffected() < asksForgottenAtOnce {
			return err
		}
	}
}
