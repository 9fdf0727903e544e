package dashboard

import (
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"golang.org/x/time/rate"

	"github.com/colaregistry/colaregistry/cola"
)

const (
	// pagesASecond and pagesAtOnce are how many pages an account may ask this process for: more than people do, previews while typing included.
	// Pages count in no quota, so nothing else would keep a script that has a session from having the registry search without an end.
	pagesASecond = 5
	pagesAtOnce  = 60
	// beginsASecond and beginsAtOnce are how many attempts to sign in with an issuer this process lets anybody begin: each is kept in the database for
	// minutes, of people who are not known yet.
	beginsASecond = 20
	beginsAtOnce  = 200
	pacedMost     = 10_000 // accounts that are remembered; beyond, whoever came least lately begins anew
)

// pace holds accounts to pagesASecond.
type pace struct {
	now cola.Clock
	by  *lru.Cache[cola.AccountID, *rate.Limiter]
}

func newPace(now cola.Clock) *pace {
	by, err := lru.New[cola.AccountID, *rate.Limiter](pacedMost)
	if err != nil {
		panic(err) // only a size below one fails
	}
	return &pace{now, by}
}

// take lets a page of an account through, or refuses it.
func (p *pace) take(account cola.AccountID) error {
	fresh := rate.NewLimiter(pagesASecond, pagesAtOnce)
	limiter, known, _ := p.by.PeekOrAdd(account, fresh)
	if !known {
		limiter = fresh
	} else {
		p.by.Get(account) // it came lately
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
