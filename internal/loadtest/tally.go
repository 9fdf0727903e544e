package loadtest

import (
	"net/http"
	"slices"
	"time"
)

// Phase is a section of a run. It ends when the next phase begins.
type Phase struct {
	Name string
	From time.Time
	// Quiet marks a phase without disruptions: only limits may reject requests.
	Quiet bool
}

// Tally summarizes the outcomes in a phase.
type Tally struct {
	Phase
	Requests     int // all sent requests, with or without a response
	OK           int // status 200
	ClientErrors int // 400 and 404 responses
	TooMany      int // status 429
	Unavailable  int // status 503
	Unresolved   int // 503s from processes that were killed with in-doubt commits
	NotStarted   int // refused connections, and connections that an exiting process did not read from
	Unknown      int // no response because the process was killed
	Faults       []string
	Took         []time.Duration // duration of each request with status 200
	// Longest is the length of the longest period without a 200 response. A period belongs to the
	// phase that contains its midpoint.
	Longest time.Duration
}

// Tallies counts exchanges by the phase in which they ended, and lists faults. Phases are in
// chronological order; the last one ends at end.
func Tallies(phases []Phase, end time.Time, exchanges []Exchange, endings []Ending) []Tally {
	if len(phases) == 0 {
		return nil
	}
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

// count adds an exchange.
func (t *Tally) count(e *Exchange, o Outcome) {
	if o == NotStarted {
		t.NotStarted++
		return
	}
	t.Requests++
	switch e.Status {
	case http.StatusOK:
		t.OK++
		t.Took = append(t.Took, e.Answered.Sub(e.Sent))
	case http.StatusBadRequest, http.StatusNotFound:
		t.ClientErrors++
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
		t.Faults = append(t.Faults, e.Request.Path+": 503 or no response in a quiet phase")
	}
}
