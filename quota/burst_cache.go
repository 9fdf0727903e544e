package quota

import (
	"errors"
	"sync"
	"time"

	"github.com/colaregistry/colaregistry/cola"
)

// knownFor bounds how long a full window is refused without asking the store: a revocation or an upgrade must show.
const knownFor = time.Second

// fullWindows remembers accounts whose window the store has just found full, so that a client in a tight loop costs no
// transaction a request. The zero value is ready.
type fullWindows struct {
	mu sync.Mutex
	by map[cola.AccountID]fullWindow
}

type fullWindow struct {
	until time.Time // forget it then
	retry time.Time // when a place is free
	state cola.QuotaState
}

// note remembers a burst refusal, and forgets the account on any other answer.
func (f *fullWindows) note(id cola.AccountID, o outcome, now time.Time) {
	var refusal *cola.Error
	burst := errors.As(o.err, &refusal) && refusal.Code == cola.CodeQuotaExceeded && refusal.RetryAfter > 0
	f.mu.Lock()
	defer f.mu.Unlock()
	if !burst {
		delete(f.by, id)
		return
	}
	if f.by == nil {
		f.by = map[cola.AccountID]fullWindow{}
	}
	f.by[id] = fullWindow{
		until: now.Add(min(knownFor, refusal.RetryAfter)), retry: now.Add(refusal.RetryAfter),
		state: o.grant.State,
	}
}

// check returns the refusal for an account whose window is known to be full, and nil for any other.
func (f *fullWindows) check(id cola.AccountID, now time.Time) (cola.QuotaState, error) {
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
