package registry

import (
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/colaregistry/colaregistry/cola"
)

const (
	// maxAsked is how many times in a day an account may have somebody asked to agree to its messages. People who have nothing to do with us
	// get these, so they must not become many.
	maxAsked    = 10
	askedWithin = 24 * time.Hour
	// askAgainAfter is how long the same address is not asked again.
	askAgainAfter = time.Hour
	// askedSweep is from how many accounts on those that asked long ago are forgotten.
	askedSweep = 1_000
)

// confirmations remembers when accounts had somebody asked. Each process counts for itself. The zero value is ready to use.
type confirmations struct {
	mu sync.Mutex
	at map[cola.AccountID][]time.Time // oldest first
}

// take has an account ask once more, or fails with CodeQuotaExceeded.
func (c *confirmations) take(account cola.AccountID, now time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.at == nil || len(c.at) >= askedSweep {
		c.sweep(now)
	}
	recent := recently(c.at[account], now)
	c.at[account] = recent
	if len(recent) >= maxAsked {
		return tooSoon(fmt.Sprintf("An account may have people asked to confirm their address %d times in 24 hours.", maxAsked), recent[0].Add(askedWithin).Sub(now))
	}
	c.at[account] = append(recent, now)
	return nil
}

// giveBack takes back the latest take of an account, which came to nothing.
func (c *confirmations) giveBack(account cola.AccountID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if n := len(c.at[account]); n > 0 {
		c.at[account] = c.at[account][:n-1]
	}
}

// sweep forgets accounts that have not asked lately.
func (c *confirmations) sweep(now time.Time) {
	kept := map[cola.AccountID][]time.Time{}
	for account, times := range c.at {
		if recent := recently(times, now); len(recent) > 0 {
			kept[account] = recent
		}
	}
	c.at = kept
}

// recently returns the times that still count.
func recently(times []time.Time, now time.Time) []time.Time {
	for len(times) > 0 && now.Sub(times[0]) >= askedWithin {
		times = times[1:]
	}
	return times
}

// tooSoon refuses to ask before some time has passed.
func tooSoon(why string, wait time.Duration) error {
	minutes := int(math.Ceil(wait.Minutes()))
	return &cola.Error{
		Code:       cola.CodeQuotaExceeded,
		Message:    fmt.Sprintf("%s Try again in %d minutes.", why, minutes),
		Details:    map[string]any{"reason": "confirmations", "retry_after": int(math.Ceil(wait.Seconds()))},
		RetryAfter: wait,
	}
}
