package alerts

import (
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

// retryGaps are the times from one attempt to the next. All together they are three days less twenty-four minutes.
var retryGaps = [...]time.Duration{
	10 * time.Second, time.Minute, 5 * time.Minute, 30 * time.Minute, 2 * time.Hour, 5 * time.Hour, 10 * time.Hour, 14 * time.Hour, 20 * time.Hour, 20 * time.Hour,
}

// challengeRetries is how many times a challenge is sent again: whoever gets it may have nothing to do with us. The account holder can
// ask for another one.
const challengeRetries = 4

const (
	// deliverWithin is for how long a message is worth sending. One that nobody got to for longer than that is given up: no process sent
	// its kind, or its account was suspended.
	deliverWithin = 3 * 24 * time.Hour
	// longestAfter is how long a receiver may ask not to be tried again for.
	longestAfter = 24 * time.Hour
)

// retryIn returns how long after an attempt that failed the next one comes, or false when there is none any more. Each retry has its
// time after the first attempt, less or more a fifth of the gap before it as random, which is from 0 to below 1, says; tried is how long after
// the first attempt this one began. So the times do not drift, and a retry whose time nobody was there for is left out.
//
// retries returns how many of the gaps apply.
//
// A message that was tried at 06:00:00 is tried again from 06:00:08 to 06:00:12, from 06:00:58 to 06:01:22, from 06:05:10 to 06:07:10, and so on, ten
// times; the last one comes between 67 and 76 hours after the first attempt.
func retryIn(tried time.Duration, random float64, retries int) (time.Duration, bool) {
	tried = max(0, tried) // another process may have begun, whose clock is ahead
	var at time.Duration
	for _, gap := range retryGaps[:retries] {
		at += gap
		if early := at - gap/5; early > tried {
			return early + time.Duration(random*float64(2*gap/5)) - tried, true
		}
	}
	return 0, false
}

// judge says what an attempt that began at an instant means for its delivery.
func judge(due store.DueDelivery, at time.Time, took time.Duration, sent Sent, random float64) store.Attempt {
	a := store.Attempt{Due: due, At: at, Took: took, Status: sent.Status, Error: sent.Fault, Verified: sent.Verified}
	if sent.Fault == "" {
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
	wait, again := retryIn(at.Sub(first), random, retries)
	if again && !sent.Final && !sent.Gone {
		a.State, a.Next = cola.DeliveryPending, at.Add(took+max(wait, min(sent.After, longestAfter)))
		return a
	}
	a.State, a.Pause = cola.DeliveryFailed, pauseFor(due, sent)
	return a
}

// pauseFor returns the reason for which a destination is not sent to any more when a message to it is given up; empty when it goes on.
// Whoever has not agreed yet stays unconfirmed, and what tells that a destination was paused says nothing about that one.
func pauseFor(due store.DueDelivery, sent Sent) string {
	toIt := due.Event == cola.EventRan || due.Event == cola.EventTest
	switch {
	case !toIt || due.Destination.State != cola.DestinationActive:
		return ""
	case sent.Gone:
		return cola.ReasonGone
	case sent.Ours:
		return ""
	}
	return cola.ReasonFailing
}

// tooOld reports whether a message was due so long ago that it is not sent any more.
func tooOld(due store.DueDelivery, now time.Time) bool {
	return !due.DueAt.IsZero() && now.Sub(due.DueAt) > deliverWithin
}
