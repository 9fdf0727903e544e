package loadtest

import (
	"net/http"
	"slices"
	"time"
)

// Phase is a stretch of a run, up to the next.
type Phase struct {
	Name string
	From time.Time
	// Quiet is a phase in which nothing may be refused but for the quota: what is done in it is none of a caller's business.
	Quiet bool
}

// Tally is what the callers met in a phase.
type Tally struct {
	Phase
	Requests    int // answered, or sent and not answered
	OK          int // 200
	Wrong       int // 400 and 404, as they should be
	TooMany     int // 429
	Unavailable int // 503
	Unresolved  int // of these, by a process that was killed before it had resolved its doubts
	NotBegun    int // refused connections, and those that a process that ended did not read from
	Unknown     int // without an answer, from processes that were killed
	Faults      []string
	// Longest is the longest time without a 200 whose middle was in the phase.
	Longest time.Duration
}

// Tallies counts exchanges by the phase in which they ended, and finds what should not have been. Phases are in the order
// of time and end with the run, at end.
func Tallies(phases []Phase, end time.Time, exchanges []Exchange, endings []Ending) []Tally {
	tallies := make([]Tally, len(phases))
	for i, p := range phases {
		tallies[i].Phase = p
	}
	at := func(t time.Time) *Tally {
		i, found := slices.BinarySearchFunc(phases, t, func(p Phase, t time.Time) int { return p.From.Compare(t) })
		if !found {
			i--
		}
		return &tallies[max(0, i)]
	}
	var successes []time.Time
	for i := range exchanges {
		e := &exchanges[i]
		at(e.Answered).count(e, e.outcome(endings))
		if e.Status == http.StatusOK {
			successes = append(successes, e.Answered)
		}
	}
	if len(phases) == 0 {
		return nil
	}
	slices.SortFunc(successes, time.Time.Compare)
	last := phases[0].From
	for _, t := range append(successes, end) {
		gap := t.Sub(last)
		tally := at(last.Add(gap / 2))
		tally.Longest = max(tally.Longest, gap)
		last = t
	}
	return tallies
}

// count enters an exchange.
func (t *Tally) count(e *Exchange, o Outcome) {
	if o == NotBegun {
		t.NotBegun++
		return
	}
	t.Requests++
	switch e.Status {
	case http.StatusOK:
		t.OK++
	case http.StatusBadRequest, http.StatusNotFound:
		t.Wrong++
	case http.StatusTooManyRequests:
		t.TooMany++
	case http.StatusServiceUnavailable:
		t.Unavailable++
	}
	switch o {
	case Unknown:
		t.Unknown++
	case Unresolved:
		t.Unresolved++
	}
	switch {
	case o == Failed || e.Failure == None && e.Problem != "":
		t.Faults = append(t.Faults, e.Problem)
	case t.Quiet && (o == Unknown || e.Status == http.StatusServiceUnavailable):
		t.Faults = append(t.Faults, e.Question.Path+": no answer but 503, or none at all, with nothing out of order")
	}
}
