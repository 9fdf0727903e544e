package alerts

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

// An account may have many slow receivers and many waiting messages. The following limits keep it
// from delaying other accounts' messages:
//
//   - The number of an account's messages in flight is limited, more strictly while its receivers
//     are slow.
//   - After a slow attempt, other messages to the same receiver are postponed for a while. If the
//     delay was ours, for example because our mail server was slow, all messages to that kind of
//     destination are postponed.
//   - Requests to one host are limited across all accounts, both in flight and per minute. Many
//     accounts may share a platform's host, so both limits are divided among the accounts that use
//     it, with one share left for the next account. A slow endpoint on a shared host delays only
//     its own account.
//
// A postponed message stays claimed and is tried once the claim expires. That doesn't count as a
// failed attempt.
const (
	// maxPerAccount is the maximum number of messages in flight per account; maxPerSlowAccount
	// applies while the account is slow.
	maxPerAccount     = maxInFlight / 2
	maxPerSlowAccount = 2
	// maxPerHost limits the requests in flight to one host, and DefaultHostRate the requests per
	// minute.
	maxPerHost      = 4
	DefaultHostRate = 120
	// slowFor is how long an account, accountHost, kind or target counts as slow. It is shorter than
	// a hold, so that one slow attempt doesn't postpone a message twice.
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
	slow     map[any]time.Time // end of the slow state, by account, accountHost, kind or target
}

func newFairness(now func() time.Time, hostRate int) *fairness {
	return &fairness{
		now: now, hostRate: hostRate,
		inFlight: map[cola.AccountID]int{}, hosts: map[host]*hostUsage{}, slow: map[any]time.Time{},
	}
}

// host identifies the host of a webhook; empty for email.
type host string

func hostOf(d store.DueDelivery) host {
	if d.Kind != cola.KindWebhook || !d.Destination.Address.OK {
		return ""
	}
	return host(store.Recipient(d.Kind, d.Destination.Address.V))
}

// accountHost is an account and a host that it uses.
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
	previous  int // number of accounts in the previous minute
}

// share returns one account's share of a limit on the host.
func (u *hostUsage) share(limit int) int {
	return max(1, limit/(max(len(u.byAccount), u.previous, 1)+1))
}

// requestCount counts the requests for one account or for all accounts.
type requestCount struct {
	inFlight int
	started  int // requests started in the current minute
}

// add adds to the counts of an account and of the host.
func (u *hostUsage) add(account cola.AccountID, inFlight, started int) {
	n := u.byAccount[account]
	n.inFlight, n.started = n.inFlight+inFlight, n.started+started
	u.byAccount[account] = n
	if n == (requestCount{}) {
		delete(u.byAccount, account)
	}
	u.all.inFlight, u.all.started = u.all.inFlight+inFlight, u.all.started+started
}

// startMinute resets the per-minute counts and drops accounts without requests in flight.
func (u *hostUsage) startMinute(now time.Time) {
	u.since, u.all.started, u.previous = now, 0, len(u.byAccount)
	for account, n := range u.byAccount {
		n.started = 0
		if n.inFlight == 0 {
			delete(u.byAccount, account)
			continue
		}
		u.byAccount[account] = n
	}
}

// target is the receiver of a delivery.
type target struct{ kind, destination string }

func targetOf(d store.DueDelivery) target { return target{d.Kind, d.Destination.UUID} }

// acquire waits up to slowAfter for a free slot for a delivery. If it returns true, the caller must
// call release.
func (f *fairness) acquire(ctx context.Context, d store.DueDelivery) bool {
	for deadline := f.now().Add(slowAfter); ; {
		a := f.tryAcquire(d)
		if a.admitted || a.postpone {
			return a.admitted
		}
		if f.now().After(deadline) {
			if _, shared := a.full.(host); !shared { // a host may be full because of other accounts
				f.markSlow(a.full)
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
	postpone bool // don't wait for a slot; postpone until the claim expires
	full     any  // otherwise, the account, host or accountHost without a free slot
}

// tryAcquire takes a slot for a delivery if one is free.
func (f *fairness) tryAcquire(d store.DueDelivery) admission {
	f.mu.Lock()
	defer f.mu.Unlock()
	account, to := d.Destination.Account, hostOf(d)
	if f.isSlow(d.Kind) || f.isSlow(targetOf(d)) || f.isSlow(accountHostOf(d)) {
		return admission{postpone: true}
	}
	limit, slow := maxPerAccount, f.isSlow(account)
	if slow {
		limit = maxPerSlowAccount
	}
	if f.inFlight[account] >= limit {
		return admission{postpone: slow, full: account}
	}
	if to != "" {
		use := f.usage(to)
		own := use.byAccount[account]
		switch {
		case use.all.started >= f.hostRate, own.started >= use.share(f.hostRate):
			return admission{postpone: true}
		case own.inFlight >= use.share(maxPerHost):
			return admission{full: accountHostOf(d)}
		case use.all.inFlight >= maxPerHost:
			return admission{full: to}
		}
		use.add(account, 1, 1)
	}
	f.inFlight[account]++
	return admission{admitted: true}
}

// usage returns the usage of a host in the current minute. When it adds a host, it drops unused
// ones.
func (f *fairness) usage(to host) *hostUsage {
	now := f.now()
	if use := f.hosts[to]; use != nil {
		if now.Sub(use.since) >= time.Minute {
			use.startMinute(now)
		}
		return use
	}
	for other, use := range f.hosts {
		if use.all.inFlight == 0 && now.Sub(use.since) >= time.Minute {
			delete(f.hosts, other)
		}
	}
	f.hosts[to] = &hostUsage{since: now, byAccount: map[cola.AccountID]requestCount{}}
	return f.hosts[to]
}

// release frees the slot of a delivery.
func (f *fairness) release(d store.DueDelivery) {
	f.mu.Lock()
	defer f.mu.Unlock()
	account := d.Destination.Account
	f.inFlight[account]--
	if f.inFlight[account] == 0 {
		delete(f.inFlight, account)
	}
	if to := hostOf(d); to != "" {
		f.hosts[to].add(account, -1, 0)
	}
}

// markSlow marks an account, accountHost, kind or target as slow, and deletes expired marks.
func (f *fairness) markSlow(key any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := f.now()
	for other, until := range f.slow {
		if now.After(until) {
			delete(f.slow, other)
		}
	}
	f.slow[key] = now.Add(slowFor)
}

func (f *fairness) isSlow(key any) bool { return f.now().Before(f.slow[key]) }

// observe marks the receiver, the account, and the account's use of the host as slow after a slow
// attempt. If the delay was ours, it marks the kind of destination instead.
func (f *fairness) observe(a store.Attempt, res Result) {
	switch {
	case a.Took < slowAfter:
	case res.OurFault:
		f.markSlow(a.Due.Kind)
	default:
		f.markSlow(targetOf(a.Due))
		f.markSlow(a.Due.Destination.Account)
		if at := accountHostOf(a.Due); at.host != "" {
			f.markSlow(at)
		}
	}
}

// responsive returns the kinds that are not slow as a whole.
func (f *fairness) responsive(kinds []string) []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(kinds), func(kind string) bool { return f.isSlow(kind) })
}
