package dashboard

import (
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/ratelimit"
)

const (
	// pagesASecond and pagesAtOnce are how many pages a sign-in, and an account, may ask this process for: more than people do, previews while typing
	// included. Pages count in no quota, so nothing else would keep a script that has a session from having the registry search without an end.
	pagesASecond = 5
	pagesAtOnce  = 60
	pacedMost    = 20_000 // sign-ins and accounts in memory; beyond that, the least recently used start over
)

// pace limits sign-ins and accounts to pagesASecond. A request counts against the sign-in of its
// session before that is verified, and only afterwards against the account, so a signed-out browser
// cannot slow down the account's others.
type pace struct{ by *ratelimit.Limiter[paced] }

// paced is an account or a sign-in.
type paced struct {
	account cola.AccountID
	signIn  int64
}

func newPace(now cola.Clock) *pace {
	return &pace{ratelimit.New[paced](pagesAtOnce, time.Second/pagesASecond, pacedMost, now)}
}

// take lets a page of a sign-in or an account through, or refuses it.
func (p *pace) take(of paced) error {
	if p.by.Take(of, 1) == 0 {
		return nil
	}
	return &cola.Error{
		Code:       cola.CodeQuotaExceeded,
		Message:    "Pages are asked for faster than people read. Nothing was done, and nothing was charged. For programs there is the API.",
		RetryAfter: time.Second,
	}
}
