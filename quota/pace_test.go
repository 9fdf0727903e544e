package quota

import (
	"testing"
	"time"
)

// paceOf returns the pace after batches of many sizes that each took a fixed time plus a time per
// account.
func paceOf(fixed, each time.Duration) (p pace) {
	for i := range 200 {
		accounts := 1 + i*37%500
		p.observe(accounts, fixed+each*time.Duration(accounts))
	}
	return p
}

func TestPace(t *testing.T) {
	repeated := func(accounts int, took ...time.Duration) (p pace) {
		for i := range 100 {
			p.observe(accounts, took[i%len(took)])
		}
		return p
	}
	const ms = time.Millisecond
	tests := []struct {
		name     string
		pace     pace
		min, max int // accepted values of maxAccounts
	}{
		{"unknown", pace{}, maxQueued, maxQueued},
		{"fast", paceOf(ms, 10*time.Microsecond), maxQueued, maxQueued},
		{"half a millisecond per account", paceOf(0, ms/2), 950, 1050},
		{"slow commits", paceOf(150*ms, ms/10), 1500, 2100},
		{"very slow commits", paceOf(2*time.Second, 0), minAccounts, minAccounts},
		{"lone charges on a slow disk", repeated(1, 20*ms, 60*ms), 5000, maxQueued},
		{"batches of one size", repeated(500, 250*ms), 800, 1200},
	}
	for _, tt := range tests {
		if got := tt.pace.maxAccounts(); got < tt.min || got > tt.max {
			t.Errorf("%s: maxAccounts = %d, want %d to %d", tt.name, got, tt.min, tt.max)
		}
	}
	p := paceOf(30*ms, ms)
	if got := p.estimate(100); (got - 160*ms).Abs() > 30*ms {
		t.Errorf("estimate = %v, want 160 ms: two batches with 100 accounts", got)
	}
}

// TestPaceAfterStall checks that the estimate recovers after one stalled batch.
func TestPaceAfterStall(t *testing.T) {
	p := paceOf(time.Millisecond, 50*time.Microsecond)
	p.observe(500, 4*time.Second)
	for range 80 {
		p.observe(50, 4*time.Millisecond)
	}
	if got := p.maxAccounts(); got < 3000 {
		t.Errorf("maxAccounts = %d, want at least 3000", got)
	}
}
