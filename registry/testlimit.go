package registry

import (
	"fmt"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/ratelimit"
)

const (
	testsAMinute = 10     // test messages to one destination, in each process
	limitedTests = 20_000 // destinations remembered
)

// ReasonTests is details.reason of the error for too many test messages.
const ReasonTests = "tests"

// testLimit limits the test messages to each destination, by its UUID. Users can send them at any moment, so without a limit a burst
// would use up the rate of a host that other accounts share.
type testLimit struct{ *ratelimit.Limiter[string] }

func newTestLimit(now cola.Clock) testLimit {
	return testLimit{ratelimit.New[string](testsAMinute, time.Minute/testsAMinute, limitedTests, now)}
}

// take counts a test message, or returns a CodeQuotaExceeded error.
func (l testLimit) take(destination string) error {
	wait := l.Take(destination, 1)
	if wait == 0 {
		return nil
	}
	return cola.TooMany(ReasonTests, testsAMinute, wait, fmt.Sprintf("A destination can be sent at most %d test messages a minute.", testsAMinute))
}
