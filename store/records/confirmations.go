package records

import (
	"time"

	"github.com/google/uuid"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

// Asked are the requests to confirm a destination that may be in the way of another one: of the latest, those that fill a limit.
// Zero: none.
type Asked struct {
	Again     time.Time // of the account to the recipient
	ByAccount time.Time // of the account
	OfAddress time.Time // to the recipient
}

// Check fails with a store.AskedError while any of them is in the way.
func (a Asked) Check(l store.AskLimits, now time.Time) error {
	var longest store.AskedError
	for _, one := range []struct {
		limit store.AskLimit
		at    time.Time
		lasts time.Duration
	}{{store.LimitAgain, a.Again, l.Again}, {store.LimitByAccount, a.ByAccount, l.Within}, {store.LimitOfAddress, a.OfAddress, l.Within}} {
		if wait := one.at.Add(one.lasts).Sub(now); !one.at.IsZero() && wait > longest.Wait {
			longest = store.AskedError{Limit: one.limit, Wait: wait}
		}
	}
	if longest.Wait > 0 {
		return longest
	}
	return nil
}

// CheckAskable refuses, with store.ErrNotActive, to ask the recipient of a destination that has no address.
func CheckAskable(d *store.Destination) error {
	if !d.Address.OK {
		return store.ErrNotActive
	}
	return nil
}

// UUIDOf returns the UUID of a destination to be created.
func UUIDOf(n store.NewDestination) string {
	if n.UUID != "" {
		return n.UUID
	}
	return uuid.NewString()
}

// CheckTestable refuses, with store.ErrNotActive, a message for trials that nobody would be sent.
func CheckTestable(d *store.Destination) error {
	if d.State != cola.DestinationActive || !d.Address.OK {
		return store.ErrNotActive
	}
	return nil
}
