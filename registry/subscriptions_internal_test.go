package registry

import (
	"errors"
	"testing"
	"time"

	"github.com/colaregistry/colaregistry/cola"
)

// TestTokenLimit checks the rate limit on URLs that contain a token. Each token has its own limit.
func TestTokenLimit(t *testing.T) {
	now := time.Unix(1_700_000_000, 0)
	l := newTokenRateLimit(func() time.Time { return now })
	for range tokenRequestsPerMinute {
		if err := l.take("a"); err != nil {
			t.Fatal(err)
		}
	}
	var refusal *cola.Error
	if err := l.take("a"); !errors.As(err, &refusal) || refusal.Code != cola.CodeQuotaExceeded || refusal.Details["reason"] != "requests" || refusal.RetryAfter != time.Second {
		t.Errorf("beyond the limit: error = %+v", refusal)
	}
	if err := l.take("b"); err != nil {
		t.Errorf("another token: error = %v", err)
	}
	now = now.Add(time.Second)
	if err := l.take("a"); err != nil {
		t.Errorf("after a second: error = %v", err)
	}
}
