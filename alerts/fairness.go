package alerts

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

// Receivers may be as slow as an attempt may take, and an account may have many of them, each with many messages waiting. They must
// not hold up what is due to others. So an account has few messages in flight, and fewer while its receivers are slow; and when a
// receiver was slow, other messages to it are put off for a while. The same goes for a whole kind when the delay was ours, as when
// our mail server does not answer.
//
// Hosts are protected, too: over all accounts, a courier limits requests to one host, in flight and per minute. Many accounts share the
// host of a platform, so both limits are divided among those that use it, with one share left for the next: a few accounts can't
// exhaust a host. A slow endpoint there delays only its own account.
//
// A message that is put off keeps its hold and is tried once that expires. This is not a failed attempt.
const (
	// accountAtOnce limits the messages of one account in flight, and slowAtOnce does while the account is slow.
	accountAtOnce = sendersAtOnce / 2
	slowAtOnce    = 2
	// hostAtOnce limits the requests to one host in flight, and DefaultHostRate those per minute.
	hostAtOnce      = 4
	DefaultHostRate = 120
	// slowFor is how long an account, guest, kind or target counts as slow. It is shorter than a hold, so a message that
	// was put off can be tried at full speed afterwards.
	slowFor = time.Minute
	// turnEvery is how often a waiting message checks for a free place.
	turnEvery = 20 * time.Millisecond
)

// crowd tracks the messages that a courier has in flight, and slow receivers.
type crowd struct {
	now      func() time.Time
	hostRate int // requests to a host per minute

	mu    sync.Mutex
	onWay map[cola.AccountID]int
	hosts map[host]*hostUse
	slow  map[any]time.Time // account, guest, kind or target: until when it counts as slow
}

func newCrowd(now func() time.Time, hostRate int) *crowd {
	return &crowd{now: now, hostRate: hostRate, onWay: map[cola.AccountID]int{}, hosts: map[host]*hostUse{}, slow: map[any]time.Time{}}
}

// host is the key by which webhooks are counted; empty for an email.
type host string

func hostOf(d store.DueDelivery) host {
	if d.Kind != cola.KindWebhook || !d.Destination.Address.OK {
		return ""
	}
	return host(store.Recipient(d.Kind, d.Destination.Address.V))
}

// guest is one account's use of a host.
type guest struct {
	account cola.AccountID
	host    host
}

func guestOf(d store.DueDelivery) guest { return guest{d.Destination.Account, hostOf(d)} }

// hostUse counts requests to a host, in total and by account.
type hostUse struct {
	since   time.Time // start of the current minute
	all     use
	by      map[cola.AccountID]use
	earlier int // accounts in the previous minute
}

// share returns one account's part of a limit of the host.
func (u *hostUse) share(limit int) int { return max(1, limit/(max(len(u.by), u.earlier, 1)+1)) }

// use counts requests.
type use struct {
	onWay int // in flight
	begun int // started in the current minute
}

// add adds to an account's counts of requests in flight and started.
func (u *hostUse) add(account cola.AccountID, onWay, begun int) {
	one := u.by[account]
	one.onWay, one.begun = one.onWay+onWay, one.begun+begun
	if u.by[account] = one; one == (use{}) {
		delete(u.by, account)
	}
	u.all.onWay, u.all.begun = u.all.onWay+onWay, u.all.begun+begun
}

// restart begins a new minute.
func (u *hostUse) restart(now time.Time) {
	u.since, u.all.begun, u.earlier = now, 0, len(u.by)
	for account, one := range u.by {
		if one.begun = 0; one.onWay == 0 {
			delete(u.by, account)
			continue
		}
		u.by[account] = one
	}
}

// target is what a delivery goes to.
type target struct{ kind, destination string }

func targetOf(d store.DueDelivery) target { return target{d.Kind, d.Destination.UUID} }

// enter reports whether a delivery may be tried now; the caller must then call leave. It waits for a
// place for as long as an attempt that is not slow may take.
func (c *crowd) enter(ctx context.Context, d store.DueDelivery) bool {
	for until := c.now().Add(slowAfter); ; {
		turn := c.step(d)
		if turn.comes || turn.putOff {
			return turn.comes
		}
		if c.now().After(until) {
			if _, shared := turn.full.(host); !shared { // other accounts fill it
				c.noteSlow(turn.full)
			}
			return false
		}
		if !rest(ctx, turnEvery) {
			return false
		}
	}
}

// turn is the result of asking for a place.
type turn struct {
	comes  bool
	putOff bool // not before its hold expires
	full   any  // otherwise, the account, host or guest without a free place
}

// step takes a place for a delivery if one is free.
func (c *crowd) step(d store.DueDelivery) turn {
	c.mu.Lock()
	defer c.mu.Unlock()
	account, to := d.Destination.Account, hostOf(d)
	if c.isSlow(d.Kind) || c.isSlow(targetOf(d)) || c.isSlow(guestOf(d)) {
		return turn{putOff: true}
	}
	places, slow := accountAtOnce, c.isSlow(account)
	if slow {
		places = slowAtOnce
	}
	if c.onWay[account] >= places {
		return turn{putOff: slow, full: account}
	}
	if to != "" {
		at := c.use(to)
		own := at.by[account]
		switch {
		case at.all.begun >= c.hostRate, own.begun >= at.share(c.hostRate):
			return turn{putOff: true}
		case own.onWay >= at.share(hostAtOnce):
			return turn{full: guestOf(d)}
		case at.all.onWay >= hostAtOnce:
			return turn{full: to}
		}
		at.add(account, 1, 1)
	}
	c.onWay[account]++
	return turn{comes: true}
}

// use returns the use of a host in the current minute, and drops unused hosts.
func (c *crowd) use(to host) *hostUse {
	now := c.now()
	if use := c.hosts[to]; use != nil {
		if now.Sub(use.since) >= time.Minute {
			use.restart(now)
		}
		return use
	}
	for other, use := range c.hosts {
		if use.all.onWay == 0 && now.Sub(use.since) >= time.Minute {
			delete(c.hosts, other)
		}
	}
	c.hosts[to] = &hostUse{since: now, by: map[cola.AccountID]use{}}
	return c.hosts[to]
}

// leave frees the place of a delivery.
func (c *crowd) leave(d store.DueDelivery) {
	c.mu.Lock()
	defer c.mu.Unlock()
	account := d.Destination.Account
	if c.onWay[account]--; c.onWay[account] == 0 {
		delete(c.onWay, account)
	}
	if to := hostOf(d); to != "" {
		c.hosts[to].add(account, -1, 0)
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
		if at := guestOf(a.Due); at.host != "" {
			c.noteSlow(at)
		}
	}
}

// quick returns those of the kinds that are not slow as a whole.
func (c *crowd) quick(kinds []string) []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(kinds), func(kind string) bool { return c.isSlow(kind) })
}
