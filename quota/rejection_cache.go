package quota

import (
	"errors"
	"sync"
	"time"

	"github.com/colaregistry/colaregistry/cola"
)

// rejectionCacheTTL limits how long a cached rejection is used, so that an upgrade, a restored
// account or app, or a change to a key's networks takes effect within a second.
const rejectionCacheTTL = time.Second

// maxCachedSenders is the maximum number of cached senders. Entries expire so soon that dropping
// all of them at the limit costs only a few transactions.
const maxCachedSenders = 10_000

// rejectionCache caches rejections that don't count toward the rate limit, so that a client in a
// tight loop doesn't cost a transaction per request: those of accounts with a full rate-limit
// window, and those of API keys and apps that are invalid, are used outside their networks or
// belong to a suspended account. It caches senders, not accounts, so that a key reveals nothing
// about its account outside its networks. The zero value is ready to use.
type rejectionCache struct {
	mu      sync.Mutex
	entries map[cola.Sender]cachedRejection
}

type cachedRejection struct {
	until time.Time // when the entry expires
	state cola.QuotaState
	err   error     // nil for a full rate-limit window
	retry time.Time // when the window has room again; unused if err is set
}

// update caches a rejection. Any other outcome removes the sender, unless the request is exempt from
// the rate limit: its success does not mean that the window has room.
func (r *rejectionCache) update(q Request, o outcome, now time.Time) {
	entry, ok := newCachedRejection(q, o, now)
	if !ok && q.exempt() {
		return
	}
	sender := q.Caller.Sender()
	r.mu.Lock()
	defer r.mu.Unlock()
	if !ok {
		delete(r.entries, sender)
		return
	}
	if r.entries == nil || len(r.entries) >= maxCachedSenders {
		r.entries = map[cola.Sender]cachedRejection{}
	}
	r.entries[sender] = entry
}

// newCachedRejection returns the entry for an outcome, if the outcome can be cached. A session's
// rejections are cached only for a full window, which affects only its API calls. Its other
// rejections are not cached, so that an account holder who cancels the account's deletion can use the dashboard
// immediately.
func newCachedRejection(q Request, o outcome, now time.Time) (entry cachedRejection, ok bool) {
	rejection, ok := errors.AsType[*cola.Error](o.err)
	if !ok {
		return entry, false
	}
	entry = cachedRejection{until: now.Add(rejectionCacheTTL), state: o.grant.State}
	switch rejection.Code {
	case cola.CodeQuotaExceeded: // an exhausted quota has no RetryAfter and isn't cached
		entry.until = now.Add(min(rejectionCacheTTL, rejection.RetryAfter))
		entry.retry = now.Add(rejection.RetryAfter)
		return entry, rejection.RetryAfter > 0
	case cola.CodeUnauthorized, cola.CodeForbidden, cola.CodeAccountSuspended: // step 1 of decide
		entry.err = rejection
		return entry, q.Caller.Credential.Kind != cola.CredentialSignIn
	}
	return entry, false
}

// check returns the cached rejection for a request, or nil. A full window doesn't reject an
// exempt request.
func (r *rejectionCache) check(q Request, now time.Time) (cola.QuotaState, error) {
	sender := q.Caller.Sender()
	r.mu.Lock()
	defer r.mu.Unlock()
	entry, ok := r.entries[sender]
	if !ok {
		return cola.QuotaState{}, nil
	}
	if !now.Before(entry.until) {
		delete(r.entries, sender)
		return cola.QuotaState{}, nil
	}
	switch {
	case entry.err != nil:
		return entry.state, entry.err
	case q.exempt():
		return cola.QuotaState{}, nil
	}
	return entry.state, burstError(entry.state, entry.retry.Sub(now))
}
