package ttb

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"github.com/colaregistry/colaregistry/ingest/ttbpage"
)

// Errors from single requests. Any other error is a permanent problem with the request, or comes
// from the context or Options.Wait.
var (
	// ErrSessionExpired reports that the session no longer has the state that the request needs:
	// search or open the form again.
	ErrSessionExpired = errors.New("the session has expired")
	// ErrNoLabel reports that the site has no such page for the label. The site answers with a
	// generic error page, so if all of a label's pages are missing, the site itself may be failing.
	ErrNoLabel = errors.New("the site has no such page for the label")
	// ErrNoImage reports that the site does not have an image that the form lists.
	ErrNoImage = errors.New("the site does not have the image")
)

// BlockedError reports that the site refuses to serve this client. Send no more requests until an
// operator has found out why.
type BlockedError struct {
	Page      ttbpage.Kind // ttbpage.Blocked or ttbpage.Captcha
	SupportID string       // from a block page, or empty
}

// Error names the page.
func (e *BlockedError) Error() string {
	if e.SupportID != "" {
		return fmt.Sprintf("the site returned a %s (support ID %s)", e.Page, e.SupportID)
	}
	return fmt.Sprintf("the site returned a %s", e.Page)
}

// TemporaryError reports a failure of the site or the network. The request may be retried.
type TemporaryError struct {
	Status int           // the HTTP status, or 0 if there was no response
	After  time.Duration // how long the site asks to wait (Retry-After), or 0
	Err    error         // the reason, or nil if the status is the reason
}

// Error returns the reason.
func (e *TemporaryError) Error() string {
	return cmp.Or(e.Err, fmt.Errorf("the site returned status %d", e.Status)).Error()
}

// Unwrap returns the reason.
func (e *TemporaryError) Unwrap() error { return e.Err }

// errNotFound reports status 404 or 410, wrapped in a TemporaryError. Only a page or image of a
// label can be missing; for other requests, the status means that the site is failing.
var errNotFound = errors.New("the site returned status 404 or 410: page not found")
