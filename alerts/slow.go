package alerts

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

// Receivers may be as slow as an attempt may be long, and an account may have many of them, each with many messages waiting. They must not
// hold up what is due to others. So an account has few messages on their way at once, and fewer while its receivers are slow; and when a
// receiver was slow, what else is due to it is not tried for a while. What is put off so keeps its hold, and is tried when that has passed.
// The same goes for a kind as a whole when it was we who were slow, as when our mail server does not answer.
const (
	// accountAtOnce is how many messages of one account a courier has on their way at once, and slowAtOnce while it is slow.
	accountAtOnce = sendersAtOnce / 2
	slowAtOnce    = 2
	// slowFor is for how long what was slow counts as slow: less than a hold, so that what is put off is tried again in full.
	slowFor = time.Minute
	// turnEvery is how often a message looks whether it is its account's turn.
	turnEvery = 20 * time.Millisecond
)

// crowd knows what a courier has on its way, and who was slow lately.
type crowd struct {
	now func() time.Time

	mu    sync.Mutex
	onWay map[cola.AccountID]int
	slow  map[any]time.Time // account, kind or target: until when it counts as slow
}

func newCrowd(now func() time.Time) *crowd {
	return &crowd{now: now, onWay: map[cola.AccountID]int{}, slow: map[any]time.Time{}}
}

// target is what a delivery goes to.
type target struct{ kind, destination string }

func targetOf(d store.DueDelivery) target { return target{d.Kind, d.Destination.UUID} }

// enter reports whether a delivery may be tried now; whoever may leaves when it was. It waits for its account's turn, for as long as
// an attempt may take that is not slow.
func (c *crowd) enter(ctx context.Context, d store.DueDelivery) bool {
	account := d.Destination.Account
	for until := c.now().Add(slowAfter); ; {
		may, slow := c.step(d)
		if may || slow {
			return may
		}
		if c.now().After(until) {
			c.noteSlow(account)
			return false
		}
		if !rest(ctx, turnEvery) {
			return false
		}
	}
}

// step takes a place for a delivery if there is one, and reports whether there is none because of slowness.
func (c *crowd) step(d store.DueDelivery) (may, slow bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	account := d.Destination.Account
	if c.isSlow(d.Kind) || c.isSlow(targetOf(d)) {
		return false, true
	}
	places := accountAtOnce
	if slow = c.isSlow(account); slow {
		places = slowAtOnce
	}
	if c.onWay[account] >= places {
		return false, slow
	}
	c.onWay[account]++
	return true, slow
}

// leave frees the place of a delivery.
func (c *crowd) leave(d store.DueDelivery) {
	c.mu.Lock()
	defer c.mu.Unlock()
	account := d.Destination.Account
	if c.onWay[account]--; c.onWay[account] == 0 {
		delete(c.onWay, account)
	}
}

// noteSlow notes that somebody is slow, and forgets those who were.
func (c *crowd) noteSlow(who any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.now()
	for other, until := range c.slow {
		if now.After(until) {
			delete(c.slow, other)
		}
	}
	c.slow[who] = now.Add(slowFor)
}

func (c *crowd) isSlow(who any) bool { return c.now().Before(c.slow[who]) }

// noteAttempt notes of an attempt whether it took long, and for whom.
func (c *crowd) noteAttempt(a store.Attempt, sent Sent) {
	switch {
	case a.Took < slowAfter:
	case sent.Ours:
		c.noteSlow(a.Due.Kind)
	default:
		c.noteSlow(targetOf(a.Due))
		c.noteSlow(a.Due.Destination.Account)
	}
}

// quick returns those of the kinds that are not slow as a whole.
func (c *crowd) quick(kinds []string) []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(kinds), func(kind string) bool { return c.isSlow(kind) })
}
