package sqlite

import (
	"context"
	"errors"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
	"github.com/colaregistry/colaregistry/store/records"
)

const (
	selectAsked = `SELECT
		(SELECT asked_at FROM confirmations_asked WHERE account_id = ?1 AND address_folded = ?2 ORDER BY asked_at DESC LIMIT 1 OFFSET ?5 - 1),
		(SELECT asked_at FROM confirmations_asked WHERE account_id = ?1 ORDER BY asked_at DESC LIMIT 1 OFFSET ?3 - 1),
		(SELECT asked_at FROM confirmations_asked WHERE address_folded = ?2 ORDER BY asked_at DESC LIMIT 1 OFFSET ?4 - 1),
		EXISTS (SELECT 1 FROM confirmations_asked WHERE account_id = ?1 AND address_folded = ?2 AND asked_at > ?6)`
	selectConfirmed = `SELECT address FROM destinations WHERE account_id = ? AND kind = 'webhook' AND verified_at IS NOT NULL`
	insertAsked     = `INSERT INTO confirmations_asked (account_id, address_folded, asked_at) VALUES (?, ?, ?)`
	// forgetAsked looks at the oldest few only: more than one for each new one, so that they do not pile up.
	forgetAsked = `DELETE FROM confirmations_asked WHERE id IN (SELECT id FROM confirmations_asked WHERE asked_at <= ? ORDER BY asked_at LIMIT 8)`
)

// AskToConfirm implements store.Destinations.
func (s *Store) AskToConfirm(ctx context.Context, account cola.AccountID, uuid string, ask store.Ask, change func(*store.Destination) error) (d cola.Delivery, err error) {
	err = s.transact(ctx, "ask to confirm", func(ctx context.Context) error {
		to, err := s.updateDestination(ctx, account, uuid, change)
		if err == nil {
			d, err = s.ask(ctx, &to, &ask)
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

// ask adds a request to confirm a destination, unless a limit is reached. It runs in a write
// transaction, of which there is one at a time.
func (s *Store) ask(ctx context.Context, d *store.Destination, ask *store.Ask) (cola.Delivery, error) {
	if err := records.CheckAskable(d); err != nil {
		return cola.Delivery{}, err
	}
	now, recipient := s.instant(), store.Recipient(d.Kind, d.Address.V)
	var asked records.Asked
	err := s.ledger.row(ctx, selectAsked, int64(d.Account), recipient, ask.Limits.ByAccount, ask.Limits.OfAddress, max(1, ask.Limits.ByBoth),
		now.Add(-ask.Limits.Within).UnixMicro()).
		Scan(target{&asked.Again}, target{&asked.ByAccount}, target{&asked.OfAddress}, &asked.AskedBefore)
	if err == nil {
		rows, err2 := s.ledger.query(ctx, selectConfirmed, int64(d.Account))
		asked.Confirmed, err = collect(rows, err2, func(row scanner) (address string, err error) { return address, row.Scan(&address) })
	}
	if err == nil {
		err = asked.Check(d.Kind, recipient, ask.Limits, now)
	}
	if err == nil {
		err = s.ledger.exec(ctx, forgetAsked, now.Add(-store.AsksKept).UnixMicro())
	}
	if err == nil {
		err = s.ledger.exec(ctx, insertAsked, int64(d.Account), recipient, now.UnixMicro())
	}
	if err != nil {
		return cola.Delivery{}, err
	}
	return s.addMessage(ctx, d, cola.EventConfirm, ask.Due)
}

// addMessage adds a message of an event to a destination, due at an instant.
func (s *Store) addMessage(ctx context.Context, d *store.Destination, event string, due time.Time) (cola.Delivery, error) {
	var id int64
	if err := s.ledger.row(ctx, insertMessage, int64(d.Account), d.UUID, event, due.UnixMicro()).Scan(&id); err != nil {
		return cola.Delivery{}, err
	}
	return scanDelivery(s.ledger.row(ctx, deliveryByID, int64(d.Account), id))
}
