package store

import (
	"context"
	"time"

	"github.com/colaregistry/colaregistry/cola"
)

// RequestBatch is the maximum number of requests, and of gaps, in one call to RecordRequests.
const RequestBatch = 100

// RecordedRequest is a request with its account and the time at which it expires.
type RecordedRequest struct {
	Account   cola.AccountID
	ExpiresAt time.Time
	cola.LoggedRequest
}

// RequestGap counts an account's requests that were not recorded.
type RequestGap struct {
	Account   cola.AccountID
	Hour      time.Time // start, UTC
	ExpiresAt time.Time
	Successes int
	Errors    int
}

// RequestCursor is a position in a request log.
type RequestCursor struct {
	At time.Time
	ID int64
}

// RequestFilter selects requests. A zero field matches all requests.
type RequestFilter struct {
	From, To             time.Time // From <= time of arrival < To
	MinStatus, MaxStatus int
	Channel              cola.Channel
	Credential           cola.Credential // ID 0 stands for all credentials of the kind
	// Text matches part of the target or the input, either verbatim or escaped as in a query
	// string, ignoring ASCII case. It also matches a whole request ID.
	Text string
	// Before and After select requests on one side of a position. At most one is set.
	Before, After RequestCursor
}

// RequestLog records requests for account holders to see. It is not part of the ledger, and the
// latest requests may be lost in a crash.
type RequestLog interface {
	// RecordRequests adds requests under new IDs, and adds to the counts of gaps. It ignores
	// unknown accounts. It fails with ErrMalformed for text that can't be stored, and does not wait
	// for the disk.
	RecordRequests(ctx context.Context, requests []RecordedRequest, gaps []RequestGap) error
	// Requests returns up to limit of an account's requests, latest first. With After, it returns
	// the requests closest to that position. It fails with ErrMalformed for a filter with text that
	// can't be stored.
	Requests(ctx context.Context, account cola.AccountID, which RequestFilter, limit int) ([]cola.LoggedRequest, error)
	// Request returns one of an account's requests, or ErrNotFound.
	Request(ctx context.Context, account cola.AccountID, id int64) (cola.LoggedRequest, error)
	// RequestGaps returns the sum of an account's gaps in all hours that overlap the given time
	// span.
	RequestGaps(ctx context.Context, account cola.AccountID, from, to time.Time) (RequestGap, error)
	// LimitRequestLog makes recorded requests expire at the given age, and gaps that long after the
	// end of their hour, unless they already expire earlier. It then deletes expired requests and
	// gaps.
	LimitRequestLog(ctx context.Context, retention time.Duration) error
}
