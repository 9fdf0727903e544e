package registry

import (
	"crypto/sha256"
	"fmt"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/ratelimit"
)

const (
	// requestsByToken is how often a feed or an emailed link may be requested at once, and per minute.
	// Feed readers poll every few minutes.
	requestsByToken = 60
	limitedTokens   = 20_000 // in memory
	reasonToken     = "requests"
)

// tokenLimit bounds the database work that a holder of a feed or email token can cause.
type tokenLimit struct {
	*ratelimit.Limiter[[sha256.Size]byte]
}

func newTokenLimit(now cola.Clock) tokenLimit {
	return tokenLimit{ratelimit.New[[sha256.Size]byte](requestsByToken, time.Minute/requestsByToken, limitedTokens, now)}
}

// take counts a request with a token, or returns its refusal.
func (l tokenLimit) take(token string) error {
	wait := l.Take(sha256.Sum256([]byte(token)), 1)
	if wait == 0 {
		return nil
	}
	return cola.TooMany(reasonToken, requestsByToken, wait, fmt.Sprintf("This address can be requested %d times a minute.", requestsByToken))
}
