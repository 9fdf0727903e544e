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

// burstCache caches accounts whose rate-limit window the store just found full, so that a client in
// a tight loop doesn't cost a transaction per request. The zero value is ready to use.
type burstCache struct {
	mu sync.Mutex
	by map[cola.AccountID]burstEntry
}

type burstEntry struct {
	until time.Time // when the entry expires
	retry time.Time // when the window has room again
	state cola.QuotaState
}

// update caches a rate-limit rejection. Any other outcome removes the account.
func (f *burstCache) update(id cola.AccountID, o outcome, now time.Time) {
	var rejection *cola.Error
	burst := errors.As(o.err, &rejection) && rejection.Code == cola.CodeQuotaExceeded && rejection.RetryAfter > 0
	f.mu.Lock()
	defer f.mu.Unlock()
	if !burst {
		delete(f.by, id)
		return
	}
	if f.by == nil {
		f.by = map[cola.AccountID]burstEntry{}
	}
	f.by[id] = burstEntry{
		until: now.Add(min(burstCacheTTL, rejection.RetryAfter)), retry: now.Add(rejection.RetryAfter),
		state: o.grant.State,
	}
}

// check returns the cached rejection of an account, or nil.
func (f *burstCache) check(id cola.AccountID, now time.Time) (cola.QuotaState, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	w, ok := f.by[id]
	if !ok {
		return cola.QuotaState{}, nil
	}
	if !now.Before(w.until) {
		delete(f.by, id)
		return cola.QuotaState{}, nil
	}
	return w.state, burstError(w.state, w.retry.Sub(now))
}
