package loadtest

import (
	"net/http"
	"testing"
	"time"
)

// at returns the time the given number of seconds after the start of the test clock.
func at(seconds float64) time.Time {
	return time.Date(2026, time.November, 21, 12, 0, 0, 0, time.UTC).Add(time.Duration(seconds * float64(time.Second)))
}

func TestOutcome(t *testing.T) {
	killed := Ending{Process: 1, At: at(10), Gone: at(11), Killed: true, Clear: at(8)}
	graceful := Ending{Process: 1, At: at(20), Gone: at(21)}
	endings := []Ending{{Process: 0, At: at(1), Gone: at(99), Killed: true}, killed, graceful}
	const unavailable = http.StatusServiceUnavailable
	for _, tt := range []struct {
		name           string
		sent, answered float64
		status         int
		burst          bool
		failure        Failure
		want           Outcome
	}{
		{"200", 5, 6, 200, false, None, Granted},
		{"429 for the quota", 5, 6, 429, false, None, Granted},
		{"404", 5, 6, 404, false, None, Granted},
		{"429 for the rate limit", 5, 6, 429, true, None, Rejected},
		{"refused connection", 10.2, 10.3, 0, false, Refused, NotStarted},
		{"closed by a kill", 9, 10.5, 0, false, Reset, Unknown},
		{"closed by a kill during the response", 9, 10.5, 0, false, Broken, Unknown},
		{"closed before the kill", 8, 9.5, 0, false, Reset, Failed},
		{"closed long after the kill", 11.5, 12, 0, false, Reset, Failed},
		{"closed unread during shutdown", 19, 20.5, 0, false, Reset, NotStarted},
		{"closed mid-response during shutdown", 19, 20.5, 0, false, Broken, Failed},
		{"closed while the process kept running", 30, 31, 0, false, Reset, Failed},
		{"503 before the clear time", 1, 7.9, unavailable, false, None, Rejected},
		{"503 after the clear time", 1, 8.1, unavailable, false, None, Unresolved},
		{"immediate 503", 8.5, 8.9, unavailable, false, None, Rejected},
		{"503 during shutdown", 12, 17, unavailable, false, None, Rejected},
		{"503 from a running process", 30, 35, unavailable, false, None, Rejected},
	} {
		e := Exchange{
			Process: 1, Sent: at(tt.sent), Answered: at(tt.answered),
			Status: tt.status, Burst: tt.burst, Failure: tt.failure,
		}
		if got := e.outcome(endings); got != tt.want {
			t.Errorf("%s: outcome %d, want %d", tt.name, got, tt.want)
		}
	}
}

func TestTallies(t *testing.T) {
	phases := []Phase{{Name: "calm", From: at(0), Quiet: true}, {Name: "kill", From: at(10)}}
	endings := []Ending{{Process: 0, At: at(11), Gone: at(12), Killed: true}}
	answer := func(answered float64, status int) Exchange {
		return Exchange{Sent: at(answered - 1), Answered: at(answered), Status: status}
	}
	exchanges := []Exchange{
		answer(2, 200), answer(3, 404), answer(4, 429), answer(5, 503),
		answer(10.5, 503), // sent in the previous phase
		{Sent: at(10), Answered: at(11.5), Failure: Reset, Problem: "reset"},
		{Sent: at(11.5), Answered: at(11.5), Failure: Refused},
		{Sent: at(13), Answered: at(13.5), Failure: Reset, Problem: "out of the blue"},
		answer(20, 200),
		{Sent: at(20), Answered: at(21), Status: 200, Problem: "too many rows"},
	}
	tallies := Tallies(phases, at(22), exchanges, endings)
	calm, kill := tallies[0], tallies[1]
	if calm.Requests != 4 || calm.OK != 1 || calm.ClientErrors != 1 || calm.TooMany != 1 || calm.Unavailable != 1 ||
		len(calm.Faults) != 1 {
		t.Errorf("calm phase: wrong tally %+v", calm)
	}
	if kill.Requests != 5 || kill.OK != 2 || kill.Unavailable != 1 || kill.Unresolved != 1 || kill.Unknown != 1 ||
		kill.NotStarted != 1 || len(kill.Faults) != 2 {
		t.Errorf("kill phase: wrong tally %+v", kill)
	}
	if calm.Longest != 2*time.Second || kill.Longest != 18*time.Second {
		t.Errorf("longest without 200: %v and %v, want 2s and 18s", calm.Longest, kill.Longest)
	}
	if none := Tallies(nil, at(1), exchanges, endings); len(none) != 0 {
		t.Errorf("no phases: %+v", none)
	}
}
