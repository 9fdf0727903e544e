package dashboard

import (
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"golang.org/x/time/rate"

	"github.com/colaregistry/colaregistry/cola"
)

const (
	// pagesASecond and pagesAtOnce are how many pages a sign-in, and an account, may ask this process for: more than people do, previews while typing
	// included. Pages count in no quota, so nothing else would keep a script that has a session from having the registry search without an end.
	pagesASecond = 5
	pagesAtOnce  = 60
	pacedMost    = 20_000 // sign-ins and accounts that are remembered; beyond, whoever came least lately begins anew
)

// pace holds sign-ins and accounts to pagesASecond. What asks is held up as the sign-in that its session names, before it is known whether that
// holds, and only then as its account: who was signed out must not hold up whom the account is of.
type pace struct {
	now cola.Clock
	by  *lru.Cache[paced, *rate.Limiter]
}

// paced is an account or a sign-in.
type paced struct {
	account cola.AccountID
	signIn  int64
}

func newPace(now cola.Clock) *pace {
	by, err := lru.New[paced, *rate.Limiter](pacedMost)
	if err != nil {
		panic(err) // only a size below one fails
	}
	return &pace{now, by}
}

// take lets a page of a sign-in or an account through, or refuses it.
func (p *pace) take(of paced) error {
	fresh := rate.NewLimiter(pagesASecond, pagesAtOnce)
	limiter, known, _ := p.by.PeekOrAdd(of, fresh)
	if !known {
		limiter = fresh
	} else {
		p.by.Get(of) // it came lately
	}
	now := p.now()
	if limiter.AllowN(now, 1) {
		return nil
	}
	return &cola.Error{
		Code:       cola.CodeQuotaExceeded,
		Message:    "Pages are asked for faster than people read. Nothing was done, and nothing was charged. For programs there is the API.",
		RetryAfter: time.Second,
	}
}
