package quota

import (
	"errors"
	"sync"
	"time"

	"github.com/colaregistry/colaregistry/cola"
)

// burstCacheTTL limits how long a cached rejection is used, so that a revocation or an upgrade
// takes effect within a second.
const burstCacheTTL = time.Second

// maxBurstSenders limits the cached senders. Entries expire so soon that dropping all of them, when
// there are more, costs only a few transactions.
const maxBurstSenders = 10_000

// burstCache caches senders of accounts with a full rate-limit window, so that a
// client in a tight loop doesn't cost a transaction per request. It caches senders, not accounts, so
// that a key learns nothing about its account from outside its networks. The zero value is ready to
// use.
type burstCache struct {
	mu sync.Mutex
	by map[cola.Sender]burstEntry
}

type burstEntry struct {
	until time.Time // when the entry expires
	retry time.Time // when the window has room again
	state cola.QuotaState
}

// update caches a rate-limit rejection. Any other outcome removes the sender.
func (f *burstCache) update(c cola.Caller, o outcome, now time.Time) {
	var rejection *cola.Error
	burst := errors.As(o.err, &rejection) && rejection.Code == cola.CodeQuotaExceeded && rejection.RetryAfter > 0
	f.mu.Lock()
	defer f.mu.Unlock()
	if !burst {
		delete(f.by, c.Sender())
		return
	}
	if f.by == nil || len(f.by) >= maxBurstSenders {
		f.by = map[cola.Sender]burstEntry{}
	}
	f.by[c.Sender()] = burstEntry{
		until: now.Add(min(burstCacheTTL, rejection.RetryAfter)), retry: now.Add(rejection.RetryAfter),
		state: o.grant.State,
	}
}

// check returns the cached rejection of a sender, or nil.
func (f *burstCache) check(c cola.Caller, now time.Time) (cola.QuotaState, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	w, ok := f.by[c.Sender()]
	if !ok {
		return cola.QuotaState{}, nil
	}
	if !now.Before(w.until) {
		delete(f.by, c.Sender())
		return cola.QuotaState{}, nil
	}
	return w.state, burstError(w.state, w.retry.Sub(now))
}
