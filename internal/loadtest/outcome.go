package loadtest

import (
	"net/http"
	"time"
)

// Ending is the end of a process, from the signal until the process is gone.
type Ending struct {
	Process  int
	At, Gone time.Time
	// Killed means that the process was killed with SIGKILL or exited unexpectedly while serving.
	// Otherwise it finished its in-flight requests: it was asked to stop, or exited before it
	// accepted any.
	Killed bool
	// Clear is the latest time at which a killed process is known to have had no in-doubt commits.
	// Its 503s up to then were not charged. Zero means unknown.
	Clear time.Time
}

// Outcome is the effect of an exchange on its account.
type Outcome uint8

// Outcomes.
const (
	Granted  Outcome = iota // granted by the ledger and answered: counts toward the rate limit and costs its units
	Rejected                // 429 from the rate limit, or 503: does not count
	// not started: the connection was refused, or closed unread by a process that exited cleanly
	NotStarted
	Unknown    // the process was killed during the request: may have been charged
	Unresolved // 503 from a process that was killed with in-doubt commits: may have been charged
	Failed     // no response for an unknown reason: may have been charged
)

// outcome classifies an exchange. The endings of each process are in chronological order.
func (e *Exchange) outcome(endings []Ending) Outcome {
	switch {
	case e.Failure == Refused:
		return NotStarted
	case e.Failure != None:
		return e.lost(endings)
	case e.Status == http.StatusServiceUnavailable:
		if e.mayBeInDoubt(endings) {
			return Unresolved
		}
		return Rejected
	case e.Burst:
		return Rejected
	}
	return Granted
}

// immediateRefusal is the time within which the ledger rejects a request while its circuit breaker
// is open, without adding it to a batch. A batch is retried for at least a second before it is
// rejected.
const immediateRefusal = time.Second / 2

// mayBeInDoubt reports whether a 503 may belong to a batch that was in doubt when its process was
// killed.
func (e *Exchange) mayBeInDoubt(endings []Ending) bool {
	next := e.ending(endings)
	return next != nil && next.Killed && e.Answered.After(next.Clear) && e.Answered.Sub(e.Sent) > immediateRefusal
}

// lost classifies an exchange without a complete response.
func (e *Exchange) lost(endings []Ending) Outcome {
	next := e.ending(endings)
	switch {
	case next == nil || next.At.After(e.Answered):
		return Failed
	case next.Killed:
		return Unknown
	case e.Failure == Reset: // the process never accepted the connection
		return NotStarted
	}
	return Failed
}

// ending returns the first ending of the exchange's process that could have affected the exchange,
// or nil.
func (e *Exchange) ending(endings []Ending) *Ending {
	for i := range endings {
		if n := &endings[i]; n.Process == e.Process && !n.Gone.Before(e.Sent) {
			return n
		}
	}
	return nil
}
