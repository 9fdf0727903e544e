package alerts

import (
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

// retryGaps are the pauses between attempts. They add up to just under three days.
var retryGaps = [...]time.Duration{
	10 * time.Second, time.Minute, 5 * time.Minute, 30 * time.Minute,
	2 * time.Hour, 5 * time.Hour, 10 * time.Hour, 14 * time.Hour, 20 * time.Hour, 20 * time.Hour,
}

// challengeRetries is the number of times a challenge is retried. It is lower than for messages,
// because the receiver may not expect a challenge and the account holder can request another one.
const challengeRetries = 4

const (
	// maxAge is how long after its due time a message may still be sent. Messages get that old if no
	// process sends to their kind of destination, or if their account is suspended.
	maxAge = 3 * 24 * time.Hour
	// maxRetryAfter is the maximum pause that a receiver may request.
	maxRetryAfter = 24 * time.Hour
)

// retryDelay returns the pause between a failed attempt and the next one, or false if there is no
// next one. elapsed is the time from the first attempt to this one. The gaps are
// retryGaps[:retries].
//
// Each retry is scheduled a fixed time after the first attempt, plus or minus a fifth of its gap;
// random, in [0, 1), selects the time within that range. Times don't drift, and missed retries are
// skipped.
//
// For example, after a first attempt at 06:00:00:
//
//	retry 1    06:00:08 to 06:00:12
//	retry 2    06:00:58 to 06:01:22
//	retry 3    06:05:10 to 06:07:10
//	retry 10   67 to 76 hours later
func retryDelay(elapsed time.Duration, random float64, retries int) (time.Duration, bool) {
	elapsed = max(0, elapsed) // the clock of the first process may be ahead
	var at time.Duration
	for _, gap := range retryGaps[:retries] {
		at += gap
		if early := at - gap/5; early > elapsed {
			return early + time.Duration(random*float64(2*gap/5)) - elapsed, true
		}
	}
	return 0, false
}

// attemptFor returns the attempt to record for a result. at is the start of the attempt.
func attemptFor(due store.DueDelivery, at time.Time, took time.Duration, res Result, random float64) store.Attempt {
	a := store.Attempt{Due: due, At: at, Took: took, Status: res.Status, Error: res.Fault, Verified: res.Verified, Exchange: res.Exchange}
	if res.Fault == "" {
		a.State = cola.DeliveryDelivered
		return a
	}
	first := due.FirstAttemptAt
	if first.IsZero() {
		first = at
	}
	retries := len(retryGaps)
	if due.Event == cola.EventConfirm && due.Kind == cola.KindWebhook {
		retries = challengeRetries
	}
	wait, retry := retryDelay(at.Sub(first), random, retries)
	if retry && !res.Final && !res.Gone {
		a.State, a.Next = cola.DeliveryPending, at.Add(took+max(wait, min(res.RetryAfter, maxRetryAfter)))
		return a
	}
	a.State, a.Pause = cola.DeliveryFailed, pauseReason(due, res)
	return a
}

// pauseReason returns the reason to pause the destination of a failed message, or "" to leave it
// unchanged. Unconfirmed destinations stay unconfirmed. Notices about a paused destination go to
// the account's email address, so their failures don't count against the destination.
func pauseReason(due store.DueDelivery, res Result) string {
	counts := due.Event == cola.EventRan || due.Event == cola.EventTest
	switch {
	case !counts || due.Destination.State != cola.DestinationActive:
		return ""
	case res.Gone:
		return cola.ReasonGone
	case res.OurFault:
		return ""
	}
	return cola.ReasonFailing
}

// isExpired reports whether a message is too old to send.
func isExpired(due store.DueDelivery, now time.Time) bool {
	return !due.DueAt.IsZero() && now.Sub(due.DueAt) > maxAge
}
