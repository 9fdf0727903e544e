package sqlite

import (
	"context"
	"crypto/sha256"
	"time"

	"github.com/colaregistry/colaregistry/store"
	"github.com/colaregistry/colaregistry/store/records"
)

const (
	keepKeyCheck    = `UPDATE meta SET key_check = ? WHERE key_check IS NULL`
	selectKeyCheck  = `SELECT coalesce(key_check, '') FROM meta`
	replaceKeyCheck = `UPDATE meta SET key_check = ?`
	// sealedKey is the ID of the key that sealed a secret; empty for clear text, link tokens included.
	sealedKey  = `CASE WHEN u.text LIKE 'sealed:%' THEN substr(u.text, 8, 8) ELSE '' END`
	secretKeys = `SELECT ` + sealedKey + `, count(*) FROM (SELECT secret AS text FROM destinations UNION ALL SELECT old_secret FROM destinations
		UNION ALL SELECT challenge FROM destinations UNION ALL SELECT token FROM destinations WHERE ` + clearLink + `) u WHERE u.text IS NOT NULL GROUP BY 1`
	secretsToRewrite = `SELECT id, uuid, coalesce(secret, ''), coalesce(old_secret, ''), coalesce(challenge, '') FROM destinations
		WHERE id > ?1 AND (substr(secret, 1, length(?2)) <> ?2 OR substr(old_secret, 1, length(?2)) <> ?2 OR substr(challenge, 1, length(?2)) <> ?2)
		ORDER BY id LIMIT ?3`
	rewriteSecrets = `UPDATE destinations SET secret = nullif(?2, ''), old_secret = nullif(?3, ''), challenge = nullif(?4, '') WHERE id = ?1`
	// clearLink selects destinations whose token an earlier version wrote.
	clearLink      = `token NOT LIKE 'unused:%'`
	selectToVacuum = `SELECT to_vacuum FROM meta`
	noteVacuum     = `UPDATE meta SET to_vacuum = 0`
	linksToHash    = `SELECT id, token FROM destinations WHERE ` + clearLink + ` LIMIT ?`
	hashLink       = `UPDATE destinations SET link_hash = ?2, token = 'unused:' || lower(hex(randomblob(20))) WHERE id = ?1`
)

// KeyCheck implements store.SealedSecrets.
func (s *Store) KeyCheck(ctx context.Context, first string) (check string, err error) {
	err = s.transact(ctx, "read key check", func(ctx context.Context) error {
		if first != "" {
			if err := s.ledger.exec(ctx, keepKeyCheck, first); err != nil {
				return err
			}
		}
		return s.ledger.row(ctx, selectKeyCheck).Scan(&check)
	})
	return check, err
}

// ReplaceKeyCheck implements store.SealedSecrets.
func (s *Store) ReplaceKeyCheck(ctx context.Context, check string) error {
	return s.affectOne(ctx, "replace key check", replaceKeyCheck, check)
}

// SecretKeys implements store.SealedSecrets.
func (s *Store) SecretKeys(ctx context.Context) (map[string]int, error) {
	const operation = "count secrets by key"
	type count struct {
		key string
		n   int
	}
	if err := s.start(); err != nil {
		return nil, failed(operation, err)
	}
	defer s.done()
	rows, err := s.read.query(ctx, secretKeys)
	list, err := collect(rows, err, func(row scanner) (c count, err error) { return c, row.Scan(&c.key, &c.n) })
	keys := make(map[string]int, len(list))
	for _, c := range list {
		keys[c.key] = c.n
	}
	return keys, failed(operation, err)
}

// RewriteSecrets implements store.SealedSecrets.
func (s *Store) RewriteSecrets(ctx context.Context, but string, rewrite func(store.SealedSecret) (string, error)) (changed int, err error) {
	var after int64
	for more := true; more && err == nil; {
		var n int
		err = s.transactErasing(ctx, "rewrite secrets", func(ctx context.Context) error {
			rows, err := s.ledger.query(ctx, secretsToRewrite, after, but, records.SecretsAtOnce)
			list, err := collect(rows, err, func(row scanner) (d records.DestinationSecrets, err error) {
				return d, row.Scan(&d.ID, &d.UUID, &d.Current, &d.Old, &d.LastChallenge)
			})
			for i := 0; i < len(list) && err == nil; i++ {
				var some int
				if some, err = list[i].Rewrite(but, rewrite); some > 0 && err == nil {
					err = s.ledger.exec(ctx, rewriteSecrets, list[i].ID, list[i].Current, list[i].Old, list[i].LastChallenge)
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
	type link struct {
		id    int64
		token string
	}
	for more := true; more && err == nil; {
		var list []link
		err = s.transactErasing(ctx, "hash links", func(ctx context.Context) error {
			rows, err := s.ledger.query(ctx, linksToHash, records.SecretsAtOnce)
			list, err = collect(rows, err, func(row scanner) (l link, err error) { return l, row.Scan(&l.id, &l.token) })
			for i := 0; i < len(list) && err == nil; i++ {
				hash := sha256.Sum256([]byte(list[i].token))
				err = s.ledger.exec(ctx, hashLink, list[i].id, hash[:])
			}
			return err
		})
		if more = len(list) == records.SecretsAtOnce; err == nil {
			hashed += len(list)
		}
	}
	if err == nil {
		err = s.eraseFree(ctx)
	}
	return hashed, err
}

// eraseFree rewrites the file once after an upgrade from a version that stored secrets in clear text, since free space in the file may
// hold copies. A failure, such as a full disk, is logged; the next start tries again.
func (s *Store) eraseFree(ctx context.Context) error {
	var due bool
	if err := s.start(); err != nil {
		return failed("erase free pages", err)
	}
	defer s.done()
	if err := s.read.row(ctx, selectToVacuum).Scan(&due); err != nil || !due {
		return failed("erase free pages", err)
	}
	begun := time.Now()
	s.logger.Info("rewriting the database file: its free pages may contain clear-text secrets")
	if err := s.upkeep.vacuum(ctx); err != nil {
		s.logger.Warn("cannot rewrite the database file, whose free pages may contain clear-text secrets; the next start tries again", "error", err)
		return ctx.Err()
	}
	s.logger.Info("database file rewritten", "took", time.Since(begun).Round(time.Millisecond))
	return s.transact(ctx, "note rewriting", func(ctx context.Context) error { return s.ledger.exec(ctx, noteVacuum) })
}

// transactErasing is transact for replacing clear-text secrets: SQLite overwrites the freed pages.
func (s *Store) transactErasing(ctx context.Context, operation string, work func(ctx context.Context) error) error {
	return s.transact(ctx, operation, func(ctx context.Context) error {
		if err := s.ledger.setPragma(ctx, "secure_delete = ON"); err != nil {
			return err
		}
		defer func() { _ = s.ledger.setPragma(ctx, "secure_delete = OFF") }() // if it fails, writes are only slower
		return work(ctx)
	})
}
