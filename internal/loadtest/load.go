package loadtest

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/colaregistry/colaregistry/quota"
)

// Log is every exchange of a run, in the order of their ends. It is safe for concurrent use.
type Log struct {
	mu        sync.Mutex
	exchanges []Exchange
}

// Add notes an exchange.
func (l *Log) Add(e Exchange) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.exchanges = append(l.exchanges, e)
}

// Exchanges returns what was noted so far, which must not be changed.
func (l *Log) Exchanges() []Exchange {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.exchanges[:len(l.exchanges):len(l.exchanges)]
}

const (
	// atOnce is how many requests an account may have under way.
	atOnce = 3
	// greedyEach and greed: every so many an account asks so many times as often as the others.
	greedyEach = 7
	greed      = 6
)

// Load is a set of accounts that send requests until stopped.
type Load struct {
	Accounts []*Account
	Material Material
	Balancer *Balancer
	Rate     float64 // requests of an account, as a multiple of its tier's rate limit; every greedyEach-th sends more
}

// Run sends requests until the context ends and returns after the last answer.
func (c Load) Run(ctx context.Context) {
	var callers sync.WaitGroup
	for i, account := range c.Accounts {
		pace := c.Rate * float64(account.Tier.Limits().PerMinute)
		if i%greedyEach == 0 {
			pace *= greed
		}
		every := time.Duration(atOnce * float64(quota.Window) / pace)
		for n := range atOnce {
			random := rand.New(rand.NewPCG(uint64(i), uint64(n)))
			callers.Go(func() { c.call(ctx, account, random, every) })
		}
	}
	callers.Wait()
}

// call asks one question after another. Pauses are drawn, so that callers that met one failure do not come back as one.
func (c Load) call(ctx context.Context, account *Account, random *rand.Rand, every time.Duration) {
	for {
		if pause(ctx, time.Duration(2*random.Float64()*float64(every))); ctx.Err() != nil {
			return
		}
		c.Balancer.Send(account, c.Material.Draw(random))
	}
}
