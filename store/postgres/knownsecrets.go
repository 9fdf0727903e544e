package postgres

import (
	"context"
	"fmt"

	"github.com/colaregistry/colaregistry/store"
)

const (
	knownKeys         = `SELECT hash FROM api_keys WHERE hash = ANY($1)`
	knownSessions     = `SELECT name FROM sessions WHERE name = ANY($1)`
	knownSignInLinks  = `SELECT hash FROM sign_in_links WHERE hash = ANY($1)`
	knownFeeds        = `SELECT feed_hash FROM saved_searches WHERE feed_hash = ANY($1)`
	knownDestinations = `SELECT link_hash FROM destinations WHERE link_hash = ANY($1)`
)

// KnownSecrets implements store.SecretFinder.
func (s *Store) KnownSecrets(ctx context.Context, kind store.SecretKind, names []string) ([]string, error) {
	switch kind {
	case store.SecretKey:
		return s.knownHashes(ctx, knownKeys, names)
	case store.SecretSession:
		return s.knownTexts(ctx, knownSessions, names)
	case store.SecretSignInLink:
		return s.knownHashes(ctx, knownSignInLinks, names)
	case store.SecretFeed:
		return s.knownHashes(ctx, knownFeeds, names)
	case store.SecretDestination:
		return s.knownHashes(ctx, knownDestinations, names)
	}
	return nil, failed(findSecrets, fmt.Errorf("unknown kind of secret %q", kind))
}

const findSecrets = "find secrets"

func (s *Store) knownHashes(ctx context.Context, query string, names []string) (known []string, err error) {
	asked := make([][]byte, len(names))
	for i, name := range names {
		asked[i] = []byte(name)
	}
	err = s.read(ctx, findSecrets, func() error {
		rows, err := s.general.Query(ctx, query, asked)
		found, err := collect(rows, err, func(hash *[]byte) fields { return fields{hash} })
		known = make([]string, len(found))
		for i, hash := range found {
			known[i] = string(hash)
		}
		return err
	})
	return known, err
}

func (s *Store) knownTexts(ctx context.Context, query string, names []string) (known []string, err error) {
	err = s.read(ctx, findSecrets, func() error {
		rows, err := s.general.Query(ctx, query, store.KeepableTexts(names))
		known, err = collect(rows, err, func(name *string) fields { return fields{name} })
		return err
	})
	return known, err
}
