package store

import (
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/colaregistry/colaregistry/cola"
)

// AsksKept is for how long a store remembers that people were asked to confirm an address.
const AsksKept = 25 * time.Hour

// Ask is a request to confirm a destination, subject to limits. The owner of an email address gets an
// email, an endpoint a challenge.
type Ask struct {
	Due    time.Time // when the message is due
	Limits AskLimits
}

// AskLimits bound how often recipients are asked, since they may not know us. They apply over all
// processes, by the store's clock. Requests count even if their destination was deleted. Endpoints are
// counted by host.
//
// OfAddress does not apply to an account's first challenge to a host within the window, nor to hosts at
// which it has a confirmed endpoint: accounts share the hosts of platforms, and must not be able to lock
// each other out.
type AskLimits struct {
	Again     time.Duration // window of ByBoth
	ByBoth    int           // times an account may ask the same address or host; 0: once
	Within    time.Duration // window of the other two, AsksKept at most
	ByAccount int           // times an account may ask any recipient, at least one
	OfAddress int           // times an address or host may be asked by all accounts, at least one
}

// Recipient returns the key by which requests to confirm a destination are counted: its folded email
// address, or the host of its URL.
func Recipient(kind, address string) string {
	if kind != cola.KindWebhook {
		return cola.FoldAddress(kind, address)
	}
	host := address // not a URL
	if u, err := url.Parse(address); err == nil && u.Host != "" {
		host = u.Hostname()
	}
	return "host " + strings.TrimSuffix(strings.ToLower(host), ".") // email addresses have no space
}

// AskLimit says which of the AskLimits is meant.
type AskLimit string

// The limits.
const (
	LimitAgain     AskLimit = "of the account and the address"
	LimitByAccount AskLimit = "of the account"
	LimitOfAddress AskLimit = "of the address"
)

// AskedError is an ErrAsked that tells the limit that is in the way for longest, and for how long it is.
type AskedError struct {
	Limit AskLimit
	Wait  time.Duration
}

// Error tells the limit and how long to wait.
func (e AskedError) Error() string {
	return fmt.Sprintf("%v, by the limit %s; wait for %v", ErrAsked, e.Limit, e.Wait)
}

// Unwrap returns ErrAsked.
func (AskedError) Unwrap() error { return ErrAsked }
