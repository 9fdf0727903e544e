package sqlite

import (
	"context"
	"fmt"

	"github.com/colaregistry/colaregistry/store"
)

func dumpCreations(ctx context.Context, q querier, yield func(*store.Item) error) error {
	const query = `SELECT account_id, once_key, fingerprint, uuid, kept_until FROM saved_search_creations ORDER BY account_id, once_key`
	return dumpRows(ctx, q, yield, store.ItemCreation, query, func(row scanner, i *store.Item) error {
		c, fingerprint := &i.Creation, []byte(nil)
		err := row.Scan(&c.Account, &c.Key, &fingerprint, &c.UUID, target{&c.Until})
		if err == nil && copy(c.Fingerprint[:], fingerprint) != len(fingerprint) {
			err = fmt.Errorf("request %q of account %d: its fingerprint has %d bytes", c.Key, c.Account, len(fingerprint))
		}
		return err
	})
}

func dumpAsked(ctx context.Context, q querier, yield func(*store.Item) error) error {
	const query = `SELECT account_id, address_folded, asked_at FROM confirmations_asked ORDER BY id`
	return dumpRows(ctx, q, yield, store.ItemAsked, query, func(row scanner, i *store.Item) error {
		return row.Scan(&i.Asked.Account, &i.Asked.Address, target{&i.Asked.At})
	})
}

// fillRequest writes one item about what is remembered of requests.
func (s *Store) fillRequest(ctx context.Context, i *store.Item) error {
	if i.Kind == store.ItemAsked {
		return s.records.exec(ctx, insertAsked, int64(i.Asked.Account), i.Asked.Address, encode(&i.Asked.At))
	}
	c := &i.Creation
	return s.records.exec(ctx, upsertCreation, int64(c.Account), c.Key, c.Fingerprint[:], c.UUID, encode(&c.Until))
}
