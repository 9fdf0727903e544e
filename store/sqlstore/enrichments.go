package sqlstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
	"github.com/colaregistry/colaregistry/store/records"
)

const (
	enrichmentNames = `model, input_hash, fields, answer, failure, attempts, tokens_in, tokens_out, enriched_at`
	enrichmentClaim = ` WHERE ttb_id = $2 AND hold = $3 AND held_until > ` + fetchClock

	selectUnenriched = `SELECT ttb_id FROM colas WHERE ttb_id >= $1 AND ttb_id < $2 AND application_status IS NOT NULL
		AND NOT EXISTS (SELECT 1 FROM enrichments e
			WHERE e.ttb_id = colas.ttb_id AND e.model = $4 AND e.label_revision = colas.revision)
		ORDER BY ttb_id DESC LIMIT $3`
	claimEnrichment = `INSERT INTO enrichments (ttb_id, hold, held_until)
		SELECT ttb_id, $3::bigint, ` + fetchClock + ` + make_interval(secs => $4) FROM colas WHERE ttb_id = $2
		ON CONFLICT (ttb_id) DO UPDATE SET hold = excluded.hold, held_until = excluded.held_until
			WHERE enrichments.held_until IS NULL OR enrichments.held_until <= ` + fetchClock + `
		RETURNING ` + enrichmentNames + `, hold, (SELECT c.revision FROM colas c WHERE c.ttb_id = $2)`
	saveEnrichment = `UPDATE enrichments SET model = $4, input_hash = $5, fields = $6, answer = $7, failure = $8,
		attempts = $9, tokens_in = $10, tokens_out = $11, enriched_at = $12, label_revision = $13` + enrichmentClaim
	releaseEnrichment = `UPDATE enrichments SET ` + endClaim + enrichmentClaim

	reserveEnrichment = `INSERT INTO enrichment_days (day, requests, tokens) VALUES ($1, 1, 0)
		ON CONFLICT (day) DO UPDATE SET requests = enrichment_days.requests + 1
			WHERE enrichment_days.requests < $2 AND enrichment_days.tokens < $3`
	countTokens = `INSERT INTO enrichment_days (day, requests, tokens) VALUES ($1, 0, $2)
		ON CONFLICT (day) DO UPDATE SET tokens = enrichment_days.tokens + excluded.tokens`
)

// enrichmentColumns returns the scan targets for enrichmentNames.
func enrichmentColumns(e *store.Enrichment) []any {
	return []any{
		&e.Model, &e.InputHash, &e.Fields, &e.Answer, &e.Failure, &e.Attempts, &e.TokensIn, &e.TokensOut, &e.At,
	}
}

// LabelsToEnrich implements store.Enrichments.
func (s *Store) LabelsToEnrich(ctx context.Context, model string, yield func(cola.TTBID) error) error {
	return s.eachID(ctx, "list labels to enrich", selectUnenriched, yield, model)
}

// ClaimEnrichment implements store.Enrichments.
func (s *Store) ClaimEnrichment(
	ctx context.Context, id cola.TTBID, hold time.Duration,
) (e store.Enrichment, err error) {
	err = s.db.Transact(ctx, "claim enrichment", func(ctx context.Context, tx Tx) error {
		e, err = one(ctx, tx, func(e *store.Enrichment) []any {
			return append(enrichmentColumns(e), &e.Hold, &e.Revision)
		}, claimEnrichment, s.clock(), int64(id), newHold(), hold.Seconds())
		return err
	})
	e.TTBID = id
	return e, err
}

// SaveEnrichment implements store.Enrichments.
func (s *Store) SaveEnrichment(ctx context.Context, e store.Enrichment) error {
	e.Failure = cola.Text(records.StorableText(string(e.Failure)))
	args := append([]any{s.clock, int64(e.TTBID), e.Hold}, enrichmentColumns(&e)...)
	return s.affectOne(ctx, "save enrichment", saveEnrichment, append(args, &e.Revision)...)
}

// ReleaseEnrichment implements store.Enrichments.
func (s *Store) ReleaseEnrichment(ctx context.Context, e store.Enrichment) error {
	return ignoreNotFound(s.affectOne(ctx, "release enrichment", releaseEnrichment, s.clock, int64(e.TTBID), e.Hold))
}

// ReserveEnrichment implements store.Enrichments.
func (s *Store) ReserveEnrichment(ctx context.Context, limit store.EnrichmentLimit) error {
	const operation = "reserve enrichment"
	if limit.Requests < 1 || limit.Tokens < 0 {
		return s.db.Failed(operation, fmt.Errorf("%w: invalid limit of %d requests and %d tokens", store.ErrMalformed,
			limit.Requests, limit.Tokens))
	}
	err := s.changeDay(ctx, operation, reserveEnrichment, limit.Requests, cmp.Or(limit.Tokens, math.MaxInt))
	if errors.Is(err, store.ErrNotFound) {
		err = s.db.Failed(operation, store.ErrLimit)
	}
	return err
}

// CountEnrichmentTokens implements store.Enrichments.
func (s *Store) CountEnrichmentTokens(ctx context.Context, tokens int) error {
	return s.changeDay(ctx, "count tokens", countTokens, max(tokens, 0))
}

// changeDay runs a statement whose first argument is the current day. It fails with ErrNotFound if
// the statement writes no row.
func (s *Store) changeDay(ctx context.Context, operation, query string, args ...any) error {
	return s.db.Transact(ctx, operation, func(ctx context.Context, tx Tx) error {
		now, err := s.currentTime(ctx, tx)
		if err != nil {
			return err
		}
		return execOne(ctx, tx, query, append([]any{cola.DateOf(now)}, args...)...)
	})
}
