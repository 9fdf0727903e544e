package sqlite

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"github.com/colaregistry/colaregistry/store"
)

const (
	knownKeys         = `SELECT hash FROM api_keys WHERE hash IN (SELECT unhex(value) FROM json_each(?))`
	knownSessions     = `SELECT name FROM sessions WHERE name IN (SELECT value FROM json_each(?))`
	knownSignInLinks  = `SELECT hash FROM sign_in_links WHERE hash IN (SELECT unhex(value) FROM json_each(?))`
	knownFeeds        = `SELECT feed_hash FROM saved_searches WHERE feed_hash IN (SELECT unhex(value) FROM json_each(?))`
	knownDestinations = `SELECT link_hash FROM destinations WHERE link_hash IN (SELECT unhex(value) FROM json_each(?))`
)

// knownQuery returns the query for a kind of secret, and whether its names are text rather than hashes.
func knownQuery(kind store.SecretKind) (query string, texts bool, err error) {
	switch kind {
	case store.SecretKey:
		return knownKeys, false, nil
	case store.SecretSession:
		return knownSessions, true, nil
	case store.SecretSignInLink:
		return knownSignInLinks, false, nil
	case store.SecretFeed:
		return knownFeeds, false, nil
	case store.SecretDestination:
		return knownDestinations, false, nil
	}
	return "", false, fmt.Errorf("unknown kind of secret %q", kind)
}

// KnownSecrets implements store.SecretFinder.
func (s *Store) KnownSecrets(ctx context.Context, kind store.SecretKind, names []string) ([]string, error) {
	const operation = "find secrets"
	query, texts, err := knownQuery(kind)
	if err != nil {
		return nil, failed(operation, err)
	}
	if err := s.start(); err != nil {
		return nil, failed(operation, err)
	}
	defer s.done()
	asked := store.KeepableTexts(names)
	if !texts {
		asked = make([]string, len(names))
		for i, name := range names {
			asked[i] = hex.EncodeToString([]byte(name))
		}
	}
	list, err := json.Marshal(asked)
	if err != nil {
		return nil, failed(operation, err)
	}
	rows, err := s.read.query(ctx, query, string(list))
	known, err := collect(rows, err, func(row scanner) (name string, err error) {
		var b []byte
		err = row.Scan(&b)
		return string(b), err
	})
	return known, failed(operation, err)
}
