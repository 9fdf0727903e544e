package registry

import (
	"crypto/sha256"
	"fmt"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/ratelimit"
)

const (
	// requestsByToken is how often the address of a feed or a link in an email may be requested at once, and in a minute.
	// Feed readers come every few minutes.
	requestsByToken = 60
	limitedTokens   = 20_000 // that are remembered
	reasonToken     = "requests"
)

// tokenLimit bounds what anyone who has the token of a feed or of an email can make the database do.
type tokenLimit struct {
	*ratelimit.Limiter[[sha256.Size]byte]
}

func newTokenLimit(now cola.Clock) tokenLimit {
	return tokenLimit{ratelimit.New[[sha256.Size]byte](requestsByToken, time.Minute/requestsByToken, limitedTokens, now)}
}

// take counts a request with a token, or refuses it.
func (l tokenLimit) take(token string) error {
	wait := l.Take(sha256.Sum256([]byte(token)), 1)
	if wait == 0 {
		return nil
	}
	seconds := int((wait + time.Second - 1) / time.Second)
	return &cola.Error{
		Code:       cola.CodeQuotaExceeded,
		Message:    fmt.Sprintf("This address may be requested %d times a minute. Try again in %d seconds.", requestsByToken, seconds),
		Details:    map[string]any{"reason": reasonToken, "limit": requestsByToken, "retry_after": seconds},
		RetryAfter: wait,
	}
}
