package alerts

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

// Receivers may be as slow as an attempt may take, and an account may have many of them, each with
// many messages waiting. They must not hold up what is due to others. So an account has few
// messages in flight, and fewer while its receivers are slow; and when a receiver was slow, other
// messages to it are postponed for a while. The same goes for a whole kind when the delay was ours,
// as when our mail server does not answer.
//
// Hosts are protected, too: over all accounts, a dispatcher limits requests to one host, in flight
// and per minute. Many accounts share the host of a platform, so both limits are divided among
// those that use it, with one share left for the next: a few accounts can't exhaust a host. A slow
// endpoint there delays only its own account.
//
// A postponed message keeps its hold and is tried once that expires. This is not a failed attempt.
const (
	// maxPerAccount limits the messages in flight per account; maxPerSlowAccount applies while the
	// account is slow.
	maxPerAccount     = maxInFlight / 2
	maxPerSlowAccount = 2
	// maxPerHost limits the requests to one host in flight, and DefaultHostRate those per minute.
	maxPerHost      = 4
	DefaultHostRate = 120
	// slowFor is how long an account, guest, kind or target counts as slow. It is shorter than a
	// hold, so a message that was postponed can be tried at full speed afterwards.
	slowFor = time.Minute
	// acquireInterval is how often a waiting message checks for a free slot.
	acquireInterval = 20 * time.Millisecond
)

// fairness limits messages in flight per account and host, and tracks slow receivers.
type fairness struct {
	now      func() time.Time
	hostRate int // requests to a host per minute

	mu       sync.Mutex
	inFlight map[cola.AccountID]int
	hosts    map[host]*hostUsage
	slow     map[any]time.Time // account, guest, kind or target: until when it counts as slow
}

func newFairness(now func() time.Time, hostRate int) *fairness {
	return &fairness{now: now, hostRate: hostRate, inFlight: map[cola.AccountID]int{}, hosts: map[host]*hostUsage{}, slow: map[any]time.Time{}}
}

// host is the key by which webhooks are counted; empty for an email.
type host string

func hostOf(d store.DueDelivery) host {
	if d.Kind != cola.KindWebhook || !d.Destination.Address.OK {
		return ""
	}
	return host(store.Recipient(d.Kind, d.Destination.Address.V))
}

// accountHost is one account's use of a host.
type accountHost struct {
	account cola.AccountID
	host    host
}

func accountHostOf(d store.DueDelivery) accountHost {
	return accountHost{d.Destination.Account, hostOf(d)}
}

// hostUsage counts requests to a host, in total and by account.
type hostUsage struct {
	since     time.Time // start of the current minute
	all       requestCount
	byAccount map[cola.AccountID]requestCount
	previous  int // accounts in the previous minute
}

// share returns one account's part of a limit of the host.
func (u *hostUsage) share(limit int) int {
	return max(1, limit/(max(len(u.byAccount), u.previous, 1)+1))
}

// requestCount counts requests.
type requestCount struct {
	inFlight int // in flight
	started  int // started in the current minute
}

// add adds to an account's counts of requests in flight and started.
func (u *hostUsage) add(account cola.AccountID, onWay, begun int) {
	one := u.byAccount[account]
	one.inFlight, one.started = one.inFlight+onWay, one.started+begun
	if u.byAccount[account] = one; one == (requestCount{}) {
		delete(u.byAccount, account)
	}
	u.all.inFlight, u.all.started = u.all.inFlight+onWay, u.all.started+begun
}

// restart begins a new minute.
func (u *hostUsage) restart(now time.Time) {
	u.since, u.all.started, u.previous = now, 0, len(u.byAccount)
	for account, one := range u.byAccount {
		if one.started = 0; one.inFlight == 0 {
			delete(u.byAccount, account)
			continue
		}
		u.byAccount[account] = one
	}
}

// target is what a delivery goes to.
type target struct{ kind, destination string }

func targetOf(d store.DueDelivery) target { return target{d.Kind, d.Destination.UUID} }

// acquire reports whether a delivery may be tried now; the caller must then call release. It waits
// up to slowAfter for a slot.
func (c *fairness) acquire(ctx context.Context, d store.DueDelivery) bool {
	for until := c.now().Add(slowAfter); ; {
		turn := c.tryAcquire(d)
		if turn.admitted || turn.postpone {
			return turn.admitted
		}
		if c.now().After(until) {
			if _, shared := turn.full.(host); !shared { // other accounts fill it
				c.markSlow(turn.full)
			}
			return false
		}
		if !sleep(ctx, acquireInterval) {
			return false
		}
	}
}

// admission is the result of tryAcquire.
type admission struct {
	admitted bool
	postpone bool // not before its hold expires
	full     any  // otherwise, the account, host or guest without a free slot
}

// tryAcquire takes a slot for a delivery if one is free.
func (c *fairness) tryAcquire(d store.DueDelivery) admission {
	c.mu.Lock()
	defer c.mu.Unlock()
	account, to := d.Destination.Account, hostOf(d)
	if c.isSlow(d.Kind) || c.isSlow(targetOf(d)) || c.isSlow(accountHostOf(d)) {
		return admission{postpone: true}
	}
	places, slow := maxPerAccount, c.isSlow(account)
	if slow {
		places = maxPerSlowAccount
	}
	if c.inFlight[account] >= places {
		return admission{postpone: slow, full: account}
	}
	if to != "" {
		at := c.usage(to)
		own := at.byAccount[account]
		switch {
		case at.all.started >= c.hostRate, own.started >= at.share(c.hostRate):
			return admission{postpone: true}
		case own.inFlight >= at.share(maxPerHost):
			return admission{full: accountHostOf(d)}
		case at.all.inFlight >= maxPerHost:
			return admission{full: to}
		}
		at.add(account, 1, 1)
	}
	c.inFlight[account]++
	return admission{admitted: true}
}

// usage returns the use of a host in the current minute, and drops unused hosts.
func (c *fairness) usage(to host) *hostUsage {
	now := c.now()
	if use := c.hosts[to]; use != nil {
		if now.Sub(use.since) >= time.Minute {
			use.restart(now)
		}
		return use
	}
	for other, use := range c.hosts {
		if use.all.inFlight == 0 && now.Sub(use.since) >= time.Minute {
			delete(c.hosts, other)
		}
	}
	c.hosts[to] = &hostUsage{since: now, byAccount: map[cola.AccountID]requestCount{}}
	return c.hosts[to]
}

// release frees the slot of a delivery.
func (c *fairness) release(d store.DueDelivery) {
	c.mu.Lock()
	defer c.mu.Unlock()
	account := d.Destination.Account
	if c.inFlight[account]--; c.inFlight[account] == 0 {
		delete(c.inFlight, account)
	}
	if to := hostOf(d); to != "" {
		c.hosts[to].add(account, -1, 0)
	}
}

// markSlow marks an account, accountHost, kind or target as slow, and deletes expired marks.
func (c *fairness) markSlow(who any) {
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

func (c *fairness) isSlow(who any) bool { return c.now().Before(c.slow[who]) }

// observe marks those that a slow attempt concerns.
func (c *fairness) observe(a store.Attempt, sent Result) {
	switch {
	case a.Took < slowAfter:
	case sent.OurFault:
		c.markSlow(a.Due.Kind)
	default:
		c.markSlow(targetOf(a.Due))
		c.markSlow(a.Due.Destination.Account)
		if at := accountHostOf(a.Due); at.host != "" {
			c.markSlow(at)
		}
	}
}

// responsive returns the kinds that are not slow as a whole.
func (c *fairness) responsive(kinds []string) []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(kinds), func(kind string) bool { return c.isSlow(kind) })
}
