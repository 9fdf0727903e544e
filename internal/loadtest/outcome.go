package loadtest

import (
	"net/http"
	"time"
)

// Ending is the end of a process: from when it was told until it was gone.
type Ending struct {
	Process  int
	At, Gone time.Time
	// Killed: as with kill -9. Otherwise it answered what it had begun: it was asked to end, or ended by itself before it had
	// begun anything.
	Killed bool
	// Clear is, of a process that was killed, the latest instant at which it is known to have had no batch in doubt: what it
	// had refused with 503 by then costs nothing. Zero when there is none.
	Clear time.Time
}

// Outcome is what an exchange means for its account.
type Outcome uint8

// The outcomes.
const (
	Granted    Outcome = iota // answered, and let through by the ledger: it counts in the window and costs its units
	Held                      // 429 for a full window, or 503: it counts for nothing
	NotBegun                  // the process did not begin it: its connection was refused, or ended unread by one that ended in good order
	Unknown                   // the process was killed over it: it may have been charged
	Unresolved                // 503 by a process that was killed before it had resolved its doubts: it may have been charged
	Failed                    // it came to no answer, and nobody had brought that about; it may have been charged
)

// outcome tells what an exchange means, given how processes ended, each in the order of time.
func (e *Exchange) outcome(endings []Ending) Outcome {
	switch {
	case e.Failure == Refused:
		return NotBegun
	case e.Failure != None:
		return e.lost(endings)
	case e.Status == http.StatusServiceUnavailable:
		if e.mayBeInDoubt(endings) {
			return Unresolved
		}
		return Held
	case e.Burst:
		return Held
	}
	return Granted
}

// refusedAtOnce is within which time a ledger that is down refuses. What it refuses so was never in a batch: those it tries for
// a second at least before it gives them up.
const refusedAtOnce = time.Second / 2

// mayBeInDoubt reports whether a 503 may stand for a batch that was in doubt when its process was killed.
func (e *Exchange) mayBeInDoubt(endings []Ending) bool {
	next := e.ending(endings)
	return next != nil && next.Killed && e.Answered.After(next.Clear) && e.Answered.Sub(e.Sent) > refusedAtOnce
}

// lost tells what became of an exchange whose connection ended.
func (e *Exchange) lost(endings []Ending) Outcome {
	next := e.ending(endings)
	switch {
	case next == nil || next.At.After(e.Answered):
		return Failed
	case next.Killed:
		return Unknown
	case e.Failure == Reset: // it was never taken from the listener
		return NotBegun
	}
	return Failed
}

// ending returns the first end of its process that an exchange can have met; nil when there is none.
func (e *Exchange) ending(endings []Ending) *Ending {
	for i := range endings {
		if n := &endings[i]; n.Process == e.Process && !n.Gone.Before(e.Sent) {
			return n
		}
	}
	return nil
}
