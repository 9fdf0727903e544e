package store

import (
	"context"
	"time"

	"github.com/colaregistry/colaregistry/cola"
)

// Enrichments records a model's answers about labels, so that no label is asked about twice. It
// also counts usage against the daily limits. Claims and days follow the database's clock.
type Enrichments interface {
	// LabelsToEnrich calls yield with the ID of every label that has detail and either no result
	// from the model or one that may not cover the label's latest change. Labels are ordered by
	// receipt date, latest first. LabelsToEnrich reads in pages, like Colas.ColasMissing.
	LabelsToEnrich(ctx context.Context, model string, yield func(cola.TTBID) error) error
	// ClaimEnrichment claims a label and returns its latest result, with Revision set to the
	// label's current revision. If there is no result, only TTBID, Revision and Hold are set.
	// ClaimEnrichment fails with ErrNotFound if there is no such label, or if another process has
	// claimed it.
	ClaimEnrichment(ctx context.Context, id cola.TTBID, hold time.Duration) (Enrichment, error)
	// SaveEnrichment records a result without releasing the claim. It fails with ErrNotFound if the
	// claim has ended.
	SaveEnrichment(ctx context.Context, e Enrichment) error
	// ReleaseEnrichment ends a claim. It ignores claims that have ended.
	ReleaseEnrichment(ctx context.Context, e Enrichment) error

	// ReserveEnrichment counts a request against the limits of the current UTC day. It fails with
	// ErrLimit if a limit is used up.
	ReserveEnrichment(ctx context.Context, limit EnrichmentLimit) error
	// CountEnrichmentTokens adds tokens to the count of the current UTC day.
	CountEnrichmentTokens(ctx context.Context, tokens int) error
}

// Enrichment is the result of asking a model about a label.
type Enrichment struct {
	TTBID     cola.TTBID
	Model     string    // empty if no model was asked
	InputHash []byte    // SHA-256 of the model's input
	Fields    string    // JSON object of the fields filled by results
	Answer    string    // JSON object of the fields that the answer will fill; empty once applied
	Failure   cola.Text // why there is no usable answer
	Attempts  int       // number of requests
	TokensIn  int       // tokens in the requests
	TokensOut int       // tokens in the responses
	At        time.Time // of the last request

	// Revision is the revision of the label that the result covers. If it is zero when saved,
	// LabelsToEnrich lists the label again.
	Revision cola.Revision
	Hold     int64 // identifies the claim
}

// EnrichmentLimit is the daily limit across all processes.
type EnrichmentLimit struct {
	Requests int
	Tokens   int // checked before each request, so the last one may exceed it; zero means no limit
}
