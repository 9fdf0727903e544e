package ttb

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"github.com/colaregistry/colaregistry/ingest/ttbpage"
)

// Errors of single requests. Any other error is a permanent problem with the request, or comes from
// the context or Options.Wait.
var (
	// ErrSessionExpired reports that the session no longer has what the request needs: search or
	// open the form again.
	ErrSessionExpired = errors.New("the session has expired")
	// ErrNoLabel reports that the site has no such page for the label. The site answers with a
	// generic error page, so a label without any page may also be due to a failure of the site.
	ErrNoLabel = errors.New("the site has no such page for the label")
	// ErrNoImage reports that the site does not have an image that the form lists.
	ErrNoImage = errors.New("the site does not have the image")
)

// BlockedError reports that the site refuses to serve this client. Requests must stop until its
// operator has found out why.
type BlockedError struct {
	Page      ttbpage.Kind // ttbpage.Blocked or ttbpage.Captcha
	SupportID string       // of a block page, or empty
}

// Error names the page.
func (e *BlockedError) Error() string {
	if e.SupportID != "" {
		return fmt.Sprintf("the site returned a %s (support ID %s)", e.Page, e.SupportID)
	}
	return fmt.Sprintf("the site returned a %s", e.Page)
}

// TemporaryError reports a failure of the site or of the network: the request may be repeated.
type TemporaryError struct {
	Status int           // the HTTP status, or 0 without an answer
	After  time.Duration // how long the site asks to wait (Retry-After), or 0
	Err    error         // the reason, or nil if it is the status
}

// Error returns the reason.
func (e *TemporaryError) Error() string {
	return cmp.Or(e.Err, fmt.Errorf("the site returned status %d", e.Status)).Error()
}

// Unwrap returns the reason.
func (e *TemporaryError) Unwrap() error { return e.Err }

// errNotFound is the status 404 or 410, in a TemporaryError. Only a page or image of a label can be
// missing; for other requests, it is a failure of the site.
var errNotFound = errors.New("the site returned status 404 or 410: page not found")
