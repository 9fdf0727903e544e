package main

import (
	"slices"
	"testing"
	"time"
)

// spending returns a way whose questions took so long, one after the other.
func spending(took ...time.Duration) *tried {
	t := &tried{}
	spent := time.Duration(0)
	for _, d := range took {
		spent += d
		t.spent = append(t.spent, spent)
	}
	return t
}

func TestTriedAreComparedOverTheSameQuestions(t *testing.T) {
	none, long, short := spending(), spending(1, 1, 10, 10), spending(2, 2)
	for _, tt := range []struct {
		name    string
		a, b    *tried
		quicker bool
	}{
		{"there is no other", short, none, true},
		{"the first two", long, short, true},
		{"the first two, the other way round", short, long, false},
		{"as quick", short, short, false},
	} {
		if got := tt.a.quicker(tt.b); got != tt.quicker {
			t.Errorf("%s: quicker: %t", tt.name, got)
		}
	}
	if long.average() != 5 || none.average() != 0 {
		t.Errorf("%v and %v on average", long.average(), none.average())
	}
}

func TestHopelessWaysAreGivenUp(t *testing.T) {
	best := spending(slices.Repeat([]time.Duration{10}, leastTried+1)...)
	for _, tt := range []struct {
		name     string
		one      *tried
		hopeless bool
	}{
		{"three times as slow, over few", spending(slices.Repeat([]time.Duration{30}, leastTried-1)...), false},
		{"three times as slow", spending(slices.Repeat([]time.Duration{30}, leastTried)...), true},
		{"a little slower", spending(slices.Repeat([]time.Duration{19}, leastTried)...), false},
		{"beyond what the other was asked", spending(slices.Repeat([]time.Duration{30}, leastTried+2)...), false},
	} {
		if got := tt.one.hopeless(best); got != tt.hopeless {
			t.Errorf("%s: hopeless: %t", tt.name, got)
		}
	}
}
