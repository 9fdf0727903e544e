package store

import (
	"fmt"
	"time"
)

// AsksKept is for how long a store remembers that people were asked to confirm an address.
const AsksKept = 25 * time.Hour

// Ask has whoever has an e-mail address asked to confirm it, unless that was done often enough.
type Ask struct {
	Due    time.Time // when the message is
	Limits AskLimits
}

// AskLimits bound how often people are asked to confirm an e-mail address: they may have nothing to do with us. They count over all processes,
// by the store's clock; what was asked counts also when its destination is gone.
type AskLimits struct {
	Again     time.Duration // for which an account does not have the same address asked again
	Within    time.Duration // over which the numbers count, AsksKept at most
	ByAccount int           // of times that an account may have any address asked, one at least
	OfAddress int           // of times that an address may be asked for any account, one at least
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
