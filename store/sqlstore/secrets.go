package sqlstore

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"fmt"

	"github.com/colaregistry/colaregistry/store"
	"github.com/colaregistry/colaregistry/store/records"
)

const (
	initKeyCheck    = `UPDATE meta SET key_check = $1 WHERE key_check IS NULL`
	selectKeyCheck  = `SELECT coalesce(key_check, '') FROM meta`
	replaceKeyCheck = `UPDATE meta SET key_check = $1`
	// sealedKey is an expression for the ID of the key that sealed a secret. It is empty for
	// plaintext, including link tokens.
	sealedKey  = `CASE WHEN u.text LIKE 'sealed:%' THEN substr(u.text, 8, 8) ELSE '' END`
	secretKeys = `SELECT ` + sealedKey + `, count(*) FROM (SELECT secret AS text FROM destinations UNION ALL SELECT old_secret FROM destinations
		UNION ALL SELECT challenge FROM destinations UNION ALL SELECT token FROM destinations WHERE ` + plaintextLink + `) u WHERE u.text IS NOT NULL GROUP BY 1`
	secretsToRewrite = `SELECT id, uuid, coalesce(secret, ''), coalesce(old_secret, ''), coalesce(challenge, '') FROM destinations
		WHERE id > $1 AND (substr(secret, 1, length($2::text)) <> $2 OR substr(old_secret, 1, length($2)) <> $2 OR substr(challenge, 1, length($2)) <> $2)
		ORDER BY id LIMIT $3 FOR NO KEY UPDATE`
	rewriteSecrets = `UPDATE destinations SET secret = nullif($2, ''), old_secret = nullif($3, ''), challenge = nullif($4, '') WHERE id = $1`
	// plaintextLink selects destinations with a plaintext token from an earlier version.
	plaintextLink = `token NOT LIKE '` + unused + `%'`
	unused        = `unused:`
	linksToHash   = `SELECT id, token FROM destinations WHERE ` + plaintextLink + ` ORDER BY id LIMIT $1 FOR NO KEY UPDATE`
	hashLink      = `UPDATE destinations SET link_hash = $2, token = $3 WHERE id = $1`
)

// KeyCheck implements store.SealedSecrets.
func (s *Store) KeyCheck(ctx context.Context, initial string) (check string, err error) {
	err = s.db.Transact(ctx, "read key check", func(ctx context.Context, tx Tx) error {
		if initial != "" {
			if _, err := tx.Exec(ctx, initKeyCheck, initial); err != nil {
				return err
			}
		}
		check, err = value[string](ctx, tx, selectKeyCheck)
		return err
	})
	return check, err
}

// ReplaceKeyCheck implements store.SealedSecrets.
func (s *Store) ReplaceKeyCheck(ctx context.Context, check string) error {
	return s.affectOne(ctx, "replace key check", replaceKeyCheck, check)
}

// SecretKeys implements store.SealedSecrets.
func (s *Store) SecretKeys(ctx context.Context) (map[string]int, error) {
	type count struct {
		key string
		n   int
	}
	all, err := readList(ctx, s, "count secrets by key",
		func(c *count) []any { return []any{&c.key, &c.n} }, secretKeys)
	keys := make(map[string]int, len(all))
	for _, c := range all {
		keys[c.key] = c.n
	}
	return keys, err
}

// RewriteSecrets implements store.SealedSecrets.
func (s *Store) RewriteSecrets(ctx context.Context, skipPrefix string,
	rewrite func(store.SealedSecret) (string, error)) (changed int, err error) {
	var after int64
	for more := true; more && err == nil; {
		var n int
		var all []records.DestinationSecrets // set by the last run; the transaction may run more than once
		err = s.db.TransactErasing(ctx, "rewrite secrets", func(ctx context.Context, tx Tx) (err error) {
			all, err = list(ctx, tx, func(d *records.DestinationSecrets) []any {
				return []any{&d.ID, &d.UUID, &d.Current, &d.Old, &d.LastChallenge}
			}, secretsToRewrite, after, skipPrefix, records.DestinationsPerBatch)
			n = 0
			for i := 0; i < len(all) && err == nil; i++ {
				var rewritten int
				if rewritten, err = all[i].Rewrite(skipPrefix, rewrite); rewritten > 0 && err == nil {
					_, err = tx.Exec(ctx, rewriteSecrets, all[i].ID, all[i].Current, all[i].Old, all[i].LastChallenge)
				}
				n += rewritten
			}
			return err
		})
		if err == nil {
			changed += n
			if more = len(all) == records.DestinationsPerBatch; more {
				after = all[len(all)-1].ID
			}
		}
	}
	return changed, err
}

// HashLinks implements store.SealedSecrets.
func (s *Store) HashLinks(ctx context.Context) (hashed int, err error) {
	type link struct {
		id    int64
		token string
	}
	for more := true; more && err == nil; {
		var all []link
		err = s.db.TransactErasing(ctx, "hash links", func(ctx context.Context, tx Tx) error {
			all, err = list(ctx, tx, func(l *link) []any { return []any{&l.id, &l.token} },
				linksToHash, records.DestinationsPerBatch)
			for i := 0; i < len(all) && err == nil; i++ {
				hash := sha256.Sum256([]byte(all[i].token))
				_, err = tx.Exec(ctx, hashLink, all[i].id, hash[:], unused+rand.Text()+rand.Text())
			}
			return err
		})
		if more = len(all) == records.DestinationsPerBatch; err == nil {
			hashed += len(all)
		}
	}
	return hashed, err
}

const (
	knownKeys        = `SELECT hash FROM api_keys WHERE hash = ANY($1::bytea[])`
	knownSessions    = `SELECT name FROM sessions WHERE name = ANY($1)`
	knownSignInLinks = `SELECT hash FROM sign_in_links WHERE hash = ANY($1::bytea[])
		UNION ALL SELECT hash FROM emailed_links WHERE hash = ANY($1::bytea[])`
	knownFeeds        = `SELECT feed_hash FROM saved_searches WHERE feed_hash = ANY($1::bytea[])`
	knownDestinations = `SELECT link_hash FROM destinations WHERE link_hash = ANY($1::bytea[])`
)

// KnownSecrets implements store.SecretFinder.
func (s *Store) KnownSecrets(ctx context.Context, kind store.SecretKind, names []string) ([]string, error) {
	const operation = "find secrets"
	switch kind {
	case store.SecretKey:
		return s.knownHashes(ctx, operation, knownKeys, names)
	case store.SecretSession:
		return readList(ctx, s, operation, column[string], knownSessions, store.StorableTexts(names))
	case store.SecretSignInLink:
		return s.knownHashes(ctx, operation, knownSignInLinks, names)
	case store.SecretFeed:
		return s.knownHashes(ctx, operation, knownFeeds, names)
	case store.SecretDestination:
		return s.knownHashes(ctx, operation, knownDestinations, names)
	}
	return nil, s.db.Failed(operation, fmt.Errorf("unknown secret kind %q", kind))
}

func (s *Store) knownHashes(ctx context.Context, operation, query string, names []string) ([]string, error) {
	list := make([][]byte, len(names))
	for i, name := range names {
		list[i] = []byte(name)
	}
	found, err := readList(ctx, s, operation, column[[]byte], query, list)
	known := make([]string, len(found))
	for i, hash := range found {
		known[i] = string(hash)
	}
	return known, err
}
