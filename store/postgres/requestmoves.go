package postgres

import "github.com/colaregistry/colaregistry/store"

func (d dumper) creations() error {
	const query = `SELECT account_id, once_key, fingerprint, uuid, kept_until FROM saved_search_creations ORDER BY account_id, once_key`
	return d.rows(store.ItemCreation, query, func(i *store.Item) fields {
		c := &i.Creation
		return fields{&c.Account, &c.Key, (*store.KeyHash)(&c.Fingerprint), &c.UUID, &c.Until}
	}, nil)
}

func (d dumper) asked() error {
	return d.rows(store.ItemAsked, `SELECT account_id, address_folded, asked_at FROM confirmations_asked ORDER BY id`, func(i *store.Item) fields {
		return fields{&i.Asked.Account, &i.Asked.Address, &i.Asked.At}
	}, nil)
}

// addRequest adds one item about what is remembered of requests.
func (f *filler) addRequest(i *store.Item) {
	if i.Kind == store.ItemAsked {
		f.add(f.asked, int64(i.Asked.Account), i.Asked.Address, i.Asked.At)
		return
	}
	c := &i.Creation
	f.add(f.creations, int64(c.Account), c.Key, c.Fingerprint[:], c.UUID, c.Until)
}
