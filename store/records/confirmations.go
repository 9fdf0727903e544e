package records

import (
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

// Asked are the requests to confirm an address that may be in the way of another one; zero for none.
type Asked struct {
	Again     time.Time // the latest of the account to the address
	ByAccount time.Time // of the latest of the account, the one that fills its number
	OfAddress time.Time // of the latest to the address, the one that fills its number
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

// CheckAskable refuses, with store.ErrNotActive, to ask anybody about a destination that has no e-mail address.
func CheckAskable(d *store.Destination) error {
	if d.Kind != cola.KindEmail || !d.Address.OK {
		return store.ErrNotActive
	}
	return nil
}

// CheckTestable refuses, with store.ErrNotActive, a message for trials that nobody would be sent.
func CheckTestable(d *store.Destination) error {
	if d.State != cola.DestinationActive || !d.Address.OK {
		return store.ErrNotActive
	}
	return nil
}
