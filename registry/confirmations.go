package registry

import (
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

// How often people are asked to agree to messages. They may have nothing to do with us, so they must not be asked often.
const (
	// askAgainAfter is how long an account does not have the same address asked again.
	askAgainAfter = time.Hour
	// maxAsked is how many times in a day an account may have somebody asked, and maxAskedOne how many times one address is, whoever wants it.
	maxAsked    = 10
	maxAskedOne = 3
	askedWithin = 24 * time.Hour
)

// ask returns a request for somebody to agree to messages, to be sent at once.
func (s *Service) ask() store.Ask {
	return store.Ask{Due: s.now(), Limits: store.AskLimits{Again: askAgainAfter, Within: askedWithin, ByAccount: maxAsked, OfAddress: maxAskedOne}}
}

// askError turns the error of asking too often into what a caller may see, and leaves others as they are.
func askError(err error) error {
	reached, ok := errors.AsType[store.AskedError](err)
	if !ok {
		return err
	}
	why := fmt.Sprintf("An account may have people asked to confirm their address %d times in 24 hours.", maxAsked)
	switch reached.Limit {
	case store.LimitAgain:
		why = "Whoever has this address was asked within the last hour."
	case store.LimitOfAddress:
		why = fmt.Sprintf("One address is asked to confirm at most %d times in 24 hours.", maxAskedOne)
	}
	return &cola.Error{
		Code:       cola.CodeQuotaExceeded,
		Message:    fmt.Sprintf("%s Try again in %d minutes.", why, int(math.Ceil(reached.Wait.Minutes()))),
		Details:    map[string]any{"reason": "confirmations", "retry_after": int(math.Ceil(reached.Wait.Seconds()))},
		RetryAfter: reached.Wait,
	}
}
