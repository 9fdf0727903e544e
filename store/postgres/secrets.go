package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/colaregistry/colaregistry/store"
	"github.com/colaregistry/colaregistry/store/records"
)

const (
	keepKeyCheck    = `UPDATE meta SET key_check = $1 WHERE key_check IS NULL`
	selectKeyCheck  = `SELECT coalesce(key_check, '') FROM meta`
	replaceKeyCheck = `UPDATE meta SET key_check = $1`
	// sealedKey is the ID of the key that sealed a secret; empty for clear text, link tokens included.
	sealedKey  = `CASE WHEN u.text LIKE 'sealed:%' THEN substr(u.text, 8, 8) ELSE '' END`
	secretKeys = `SELECT ` + sealedKey + `, count(*) FROM (SELECT secret AS text FROM destinations UNION ALL SELECT old_secret FROM destinations
		UNION ALL SELECT challenge FROM destinations UNION ALL SELECT token FROM destinations WHERE ` + clearLink + `) u WHERE u.text IS NOT NULL GROUP BY 1`
	secretsToRewrite = `SELECT id, uuid, coalesce(secret, ''), coalesce(old_secret, ''), coalesce(challenge, '') FROM destinations
		WHERE id > $1 AND (NOT starts_with(secret, $2) OR NOT starts_with(old_secret, $2) OR NOT starts_with(challenge, $2))
		ORDER BY id LIMIT $3 FOR NO KEY UPDATE`
	rewriteSecrets = `UPDATE destinations SET secret = nullif($2, ''), old_secret = nullif($3, ''), challenge = nullif($4, '') WHERE id = $1`
	// clearLink selects destinations whose token an earlier version wrote.
	clearLink = `NOT starts_with(token, 'unused:')`
	hashLinks = `UPDATE destinations SET link_hash = sha256(convert_to(token, 'UTF8')), token = 'unused:' || gen_random_uuid() WHERE ` + clearLink
)

// KeyCheck implements store.SealedSecrets.
func (s *Store) KeyCheck(ctx context.Context, first string) (check string, err error) {
	err = s.transact(ctx, "read key check", func(tx pgx.Tx) error {
		if first != "" {
			if _, err := tx.Exec(ctx, keepKeyCheck, first); err != nil {
				return err
			}
		}
		return tx.QueryRow(ctx, selectKeyCheck).Scan(fields{&check})
	})
	return check, err
}

// ReplaceKeyCheck implements store.SealedSecrets.
func (s *Store) ReplaceKeyCheck(ctx context.Context, check string) error {
	return s.affectOne(ctx, "replace key check", replaceKeyCheck, check)
}

// SecretKeys implements store.SealedSecrets.
func (s *Store) SecretKeys(ctx context.Context) (keys map[string]int, err error) {
	type count struct {
		key string
		n   int
	}
	err = s.read(ctx, "count secrets by key", func() error {
		rows, err := s.general.Query(ctx, secretKeys)
		list, err := collect(rows, err, func(c *count) fields { return fields{&c.key, &c.n} })
		keys = make(map[string]int, len(list))
		for _, c := range list {
			keys[c.key] = c.n
		}
		return err
	})
	return keys, err
}

// RewriteSecrets implements store.SealedSecrets.
func (s *Store) RewriteSecrets(ctx context.Context, but string, rewrite func(store.SealedSecret) (string, error)) (changed int, err error) {
	var after int64
	for more := true; more && err == nil; {
		var n int
		err = s.transact(ctx, "rewrite secrets", func(tx pgx.Tx) error {
			rows, err := tx.Query(ctx, secretsToRewrite, after, but, records.SecretsAtOnce)
			list, err := collect(rows, err, func(d *records.DestinationSecrets) fields {
				return fields{&d.ID, &d.UUID, &d.Current, &d.Old, &d.LastChallenge}
			})
			n = 0
			for i := 0; i < len(list) && err == nil; i++ {
				var some int
				if some, err = list[i].Rewrite(but, rewrite); some > 0 && err == nil {
					_, err = tx.Exec(ctx, rewriteSecrets, list[i].ID, list[i].Current, list[i].Old, list[i].LastChallenge)
				}
				n += some
			}
			if more = len(list) == records.SecretsAtOnce; more {
				after = list[len(list)-1].ID
			}
			return err
		})
		if err == nil {
			changed += n
		}
	}
	return changed, err
}

// HashLinks implements store.SealedSecrets.
func (s *Store) HashLinks(ctx context.Context) (hashed int, err error) {
	err = s.transact(ctx, "hash links", func(tx pgx.Tx) error {
		done, err := tx.Exec(ctx, hashLinks)
		hashed = int(done.RowsAffected())
		return err
	})
	return hashed, err
}
