package registry

import (
	"fmt"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/ratelimit"
)

const (
	testsPerMinute  = 10     // test messages to one destination, in each process
	maxTestLimiters = 20_000 // destinations remembered
)

// ReasonTests is details.reason of the error for too many test messages.
const ReasonTests = "tests"

// testLimit limits the test messages to each destination, by its UUID. Replays of test
// messages count, too. Users can send them at any moment, so they need a limit of their own.
type testLimit struct{ *ratelimit.Limiter[string] }

func newTestLimit(now cola.Clock) testLimit {
	return testLimit{ratelimit.New[string](testsPerMinute, time.Minute/testsPerMinute, maxTestLimiters, now)}
}

// take counts a test message, or returns a CodeQuotaExceeded error.
func (l testLimit) take(destination string) error {
	wait := l.Take(destination, 1)
	if wait == 0 {
		return nil
	}
	return cola.TooMany(ReasonTests, testsPerMinute, wait, fmt.Sprintf("Each destination is limited to %d test messages a minute.", testsPerMinute))
}
