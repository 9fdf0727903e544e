package store

import (
	"context"
	"time"
)

// ReferenceFetches records the downloads of reference data, one row for each source. Package
// collect/reference defines the sources.
type ReferenceFetches interface {
	// ClaimReferenceFetch records that a source is being fetched and returns its state. If minAge
	// is positive, it fails with ErrNotFound if any process has fetched the source less than minAge
	// ago, even unsuccessfully, or has claimed it less than ReferenceFetchHold ago and isn't done.
	// Ages are measured by the database's clock.
	ClaimReferenceFetch(ctx context.Context, source string, minAge time.Duration) (ReferenceFetch, error)
	// SaveReferenceFetch records a successful fetch at the current time, and the source's content.
	// imported reports whether this fetch, rather than an earlier one, imported the content.
	SaveReferenceFetch(ctx context.Context, source string, c ReferenceContent, imported bool) error
	// FailReferenceFetch records a failed fetch. It keeps the results of earlier ones.
	FailReferenceFetch(ctx context.Context, source, failure string) error
	// ReferenceFetches returns the sources that have been claimed, ordered by name.
	ReferenceFetches(ctx context.Context) ([]ReferenceFetch, error)
}

// ReferenceFetchHold is the time after which another process may take over a source from a killed
// process.
const ReferenceFetchHold = time.Hour

// ReferenceFetch is the state of a source of reference data.
type ReferenceFetch struct {
	Source string
	ReferenceContent
	ClaimedAt  time.Time
	CheckedAt  time.Time // time of the last successful fetch; zero if there is none
	ImportedAt time.Time // when its content was imported; zero if it never was
	Failure    string    // failure of the latest fetch; empty if it succeeded
	FailedAt   time.Time // zero without a failure
}

// ReferenceContent identifies the content last imported from a source. It is zero if there is none.
type ReferenceContent struct {
	URL          string // address that it was fetched from
	ETag         string // validators from the response (RFC 9110 §8.8); empty if there are none
	LastModified string
	Hash         []byte // SHA-256, 32 bytes
}
