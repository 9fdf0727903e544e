package quota

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

// plan is a workload and the store faults injected during it.
type plan struct {
	settle, void []fault
	charges      []plannedCharge
	tier         cola.Tier
}

// plannedCharge is a charge in a plan.
type plannedCharge struct {
	process int           // the charging process, 0 or 1
	after   time.Duration // pause after the previous charge
	timeout time.Duration // the caller's timeout
	request Request
}

func drawPlan(t *rapid.T) plan {
	faults := rapid.SliceOfN(rapid.Custom(drawFault), 0, 40)
	return plan{
		settle:  faults.Draw(t, "settle"),
		void:    faults.Draw(t, "void"),
		charges: rapid.SliceOfN(rapid.Custom(drawCharge), 1, 80).Draw(t, "charges"),
		tier:    rapid.SampledFrom(cola.Tiers()).Draw(t, "tier"),
	}
}

// drawFault draws a fault. Half of the time, it draws works, which means no fault.
func drawFault(t *rapid.T) fault {
	return max(works, fault(rapid.IntRange(-int(numFaults), int(numFaults)-1).Draw(t, "fault")))
}

func drawCharge(t *rapid.T) plannedCharge {
	pauses := []time.Duration{0, 0, 0, time.Millisecond, 100 * time.Millisecond, time.Second, 4 * time.Second}
	timeouts := []time.Duration{time.Hour, time.Hour, time.Hour, 10 * time.Millisecond, 3 * time.Second}
	p := plannedCharge{
		process: rapid.IntRange(0, 1).Draw(t, "process"),
		after:   rapid.SampledFrom(pauses).Draw(t, "after"),
		timeout: rapid.SampledFrom(timeouts).Draw(t, "timeout"),
	}
	switch rapid.IntRange(0, 2).Draw(t, "kind") {
	case 0:
		p.request = request(key1, cola.MeterNone, 0)
	case 1:
		p.request = request(key1, cola.MeterDetailViews, 1)
	case 2:
		p.request = request(key1, cola.MeterListRecords, rapid.IntRange(0, 100).Draw(t, "records"))
	}
	if rapid.Bool().Draw(t, "dashboard") {
		p.request = fromDashboard(p.request)
	}
	p.request.Caller.Account = cola.AccountID(rapid.IntRange(7, 9).Draw(t, "account"))
	return p
}

// tally adds up the responses to callers.
type tally struct {
	mu         sync.Mutex
	used       map[cola.AccountID]cola.Used
	requests   map[cola.AccountID]int // admitted requests
	windowed   map[cola.AccountID]int // admitted requests that count toward the rate limit
	violations []string               // invalid responses
}

func (y *tally) add(q Request, g Grant, err error, took time.Duration) {
	y.mu.Lock()
	defer y.mu.Unlock()
	if took > chargeTimeout {
		y.violations = append(y.violations, fmt.Sprintf("charge took %v, want at most %v", took, chargeTimeout))
	}
	switch {
	case err == nil, reason(err) == string(cola.MeterDetailViews), reason(err) == string(cola.MeterListRecords):
		y.requests[q.Caller.Account]++
		if q.Caller.Channel != cola.ChannelDashboard {
			y.windowed[q.Caller.Account]++
		}
	case reason(err) == reasonBurst && q.Caller.Channel == cola.ChannelDashboard:
		y.violations = append(y.violations, fmt.Sprintf("dashboard request rejected: %v", err))
	case reason(err) == reasonBurst, cola.CodeOf(err) == cola.CodeUnavailable, errors.Is(err, context.DeadlineExceeded):
	default:
		y.violations = append(y.violations, fmt.Sprintf("unexpected error %v", err))
	}
	if err != nil && g.Units != 0 {
		y.violations = append(y.violations, fmt.Sprintf("%d units granted with error %v", g.Units, err))
	}
	used := y.used[q.Caller.Account]
	used.Add(q.Meter, g.Units)
	y.used[q.Caller.Account] = used
}

// run makes the planned charges in two processes. It then waits until the store has recovered and
// no batch should be in doubt, and returns all violations.
func (p plan) run() []string {
	b := newFakeLedger(p.tier)
	limits := p.tier.Limits()
	y := &tally{
		used: map[cola.AccountID]cola.Used{}, requests: map[cola.AccountID]int{}, windowed: map[cola.AccountID]int{},
	}
	for id := cola.AccountID(7); id <= 9; id++ {
		b.start[id] = cola.Used{DetailViews: limits.DetailViews - 10, ListRecords: limits.ListRecords - 200}
		y.used[id] = b.start[id]
	}
	b.settle = sequence(p.settle...)
	void := sequence(p.void...)
	b.void = func(try int) fault { return void(try, store.Batch{}) }
	processes := []*Ledger{New(b, Options{}), New(b, Options{})}
	var wg sync.WaitGroup
	for _, c := range p.charges {
		time.Sleep(c.after)
		wg.Go(func() {
			ctx, cancel := context.WithTimeout(context.Background(), c.timeout)
			defer cancel()
			start := time.Now()
			g, err := processes[c.process].Charge(ctx, c.request)
			y.add(c.request, g, err, time.Since(start))
		})
	}
	wg.Wait()
	time.Sleep(10 * time.Minute)
	for _, l := range processes {
		if n := l.inDoubt.len(); n != 0 {
			y.violations = append(y.violations, fmt.Sprintf("%d in-doubt batches remain after ten minutes", n))
		}
		if l.breaker.isOpen() {
			y.violations = append(y.violations, "circuit breaker open although the store works")
		}
		l.Close()
	}
	return append(append(y.violations, b.violations...), y.differences(b)...)
}

// differences compares the responses with the fakeLedger, and the fakeLedger with the limits.
func (y *tally) differences(b *fakeLedger) (violations []string) {
	limits := b.tier.Limits()
	for id := cola.AccountID(7); id <= 9; id++ {
		used, requests, windowed := b.used(id), 0, 0
		for _, e := range b.activeEntries(id) {
			for _, u := range e.Units {
				requests += u.Requests
			}
		}
		grants := b.grants(id)
		for i, g := range grants {
			windowed += g.Requests
			inWindow := 0
			for _, earlier := range grants[:i+1] {
				if earlier.At.After(g.At.Add(-Window)) {
					inWindow += earlier.Requests
				}
			}
			if inWindow > limits.PerMinute {
				violations = append(violations, fmt.Sprintf("account %d: %d requests in the window, limit %d",
					id, inWindow, limits.PerMinute))
			}
		}
		if used != y.used[id] || requests != y.requests[id] || windowed != y.windowed[id] {
			violations = append(violations, fmt.Sprintf(
				"account %d: granted %+v in %d requests, %d of them rate-limited; charged %+v in %d, %d of them rate-limited",
				id, y.used[id], y.requests[id], y.windowed[id], used, requests, windowed))
		}
		if used.DetailViews > limits.DetailViews || used.ListRecords > limits.ListRecords {
			violations = append(violations, fmt.Sprintf("account %d: charged %+v, over the limit %+v", id, used, limits))
		}
	}
	return violations
}

// TestLedgerConsistency checks that, under any faults, every charge gets an outcome in time, no
// account exceeds its limits, and the ledger ends up matching the responses.
func TestLedgerConsistency(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		p := drawPlan(rt)
		var violations []string
		synctest.Test(t, func(*testing.T) { violations = p.run() })
		for _, v := range violations {
			rt.Error(v)
		}
	})
}
