package sqlstore

import (
	"context"
	"time"

	"github.com/colaregistry/colaregistry/store"
	"github.com/colaregistry/colaregistry/store/records"
)

const (
	referenceFetchNames = `source, url, etag, last_modified, hash, claimed_at, checked_at, imported_at, failure, failed_at`
	claimReferenceFetch = `INSERT INTO reference_fetches (source, claimed_at) VALUES ($2, ` + fetchClock + `)
		ON CONFLICT (source) DO UPDATE SET claimed_at = excluded.claimed_at
			WHERE $3::boolean
			OR (reference_fetches.checked_at IS NULL OR reference_fetches.checked_at + make_interval(secs => $4) <= excluded.claimed_at)
				AND (reference_fetches.failed_at IS NULL OR reference_fetches.failed_at + make_interval(secs => $4) <= excluded.claimed_at)
				AND (reference_fetches.claimed_at + make_interval(secs => $5) <= excluded.claimed_at
					OR reference_fetches.claimed_at <= reference_fetches.checked_at
					OR reference_fetches.claimed_at <= reference_fetches.failed_at)
		RETURNING ` + referenceFetchNames
	saveReferenceFetch = `UPDATE reference_fetches SET url = $3, etag = $4, last_modified = $5, hash = $6, checked_at = ` + fetchClock + `,
		imported_at = CASE WHEN $7::boolean THEN ` + fetchClock + ` ELSE imported_at END, failure = '', failed_at = NULL WHERE source = $2`
	failReferenceFetch   = `UPDATE reference_fetches SET failure = $3, failed_at = ` + fetchClock + ` WHERE source = $2`
	listReferenceFetches = `SELECT ` + referenceFetchNames + ` FROM reference_fetches ORDER BY source COLLATE "C"`
)

func referenceFetchColumns(f *store.ReferenceFetch) []any {
	return []any{
		&f.Source, &f.URL, &f.ETag, &f.LastModified, &f.Hash, &f.ClaimedAt, &f.CheckedAt, &f.ImportedAt, &f.Failure, &f.FailedAt,
	}
}

// ClaimReferenceFetch implements store.ReferenceFetches.
func (s *Store) ClaimReferenceFetch(
	ctx context.Context, source string, minAge time.Duration,
) (f store.ReferenceFetch, err error) {
	err = s.db.Transact(ctx, "claim reference fetch", func(ctx context.Context, tx Tx) error {
		f, err = one(ctx, tx, referenceFetchColumns, claimReferenceFetch,
			s.clock(), source, minAge <= 0, minAge.Seconds(), store.ReferenceFetchHold.Seconds())
		return err
	})
	return f, err
}

// SaveReferenceFetch implements store.ReferenceFetches.
func (s *Store) SaveReferenceFetch(ctx context.Context, source string, c store.ReferenceContent, imported bool) error {
	return s.affectOne(ctx, "save reference fetch", saveReferenceFetch,
		s.clock, source, c.URL, c.ETag, c.LastModified, c.Hash, imported)
}

// FailReferenceFetch implements store.ReferenceFetches.
func (s *Store) FailReferenceFetch(ctx context.Context, source, failure string) error {
	return s.affectOne(ctx, "fail reference fetch", failReferenceFetch, s.clock, source, records.StorableText(failure))
}

// ReferenceFetches implements store.ReferenceFetches.
func (s *Store) ReferenceFetches(ctx context.Context) ([]store.ReferenceFetch, error) {
	return readList(ctx, s, "list reference fetches", referenceFetchColumns, listReferenceFetches)
}
