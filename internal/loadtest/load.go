package loadtest

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/colaregistry/colaregistry/quota"
)

// Log contains every exchange of a run, ordered by end time. It is safe for concurrent use.
type Log struct {
	mu        sync.Mutex
	exchanges []Exchange
}

// Add appends an exchange.
func (l *Log) Add(e Exchange) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.exchanges = append(l.exchanges, e)
}

// Exchanges returns the exchanges so far. The caller must not modify them.
func (l *Log) Exchanges() []Exchange {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.exchanges[:len(l.exchanges):len(l.exchanges)]
}

const (
	// concurrency is the number of concurrent requests per account.
	concurrency = 3
	// Every heavyEvery-th account sends heavyFactor times as many requests as the others.
	heavyEvery  = 7
	heavyFactor = 6
)

// Load is a set of accounts that send requests until stopped.
type Load struct {
	Accounts []*Account
	Material Material
	Balancer *Balancer
	// Rate is each account's request rate, as a multiple of its tier's rate limit. Every
	// heavyEvery-th account sends more.
	Rate float64
}

// Run sends requests until the context ends and returns after the last response.
func (l Load) Run(ctx context.Context) {
	var callers sync.WaitGroup
	for i, account := range l.Accounts {
		pace := l.Rate * float64(account.Tier.Limits().PerMinute)
		if i%heavyEvery == 0 {
			pace *= heavyFactor
		}
		every := time.Duration(concurrency * float64(quota.Window) / pace)
		for n := range concurrency {
			random := rand.New(rand.NewPCG(uint64(i), uint64(n)))
			callers.Go(func() { l.call(ctx, account, random, every) })
		}
	}
	callers.Wait()
}

// call sends requests in sequence. Pauses are random, so that callers that hit the same failure do
// not retry in sync.
func (l Load) call(ctx context.Context, account *Account, random *rand.Rand, every time.Duration) {
	for {
		if pause(ctx, time.Duration(2*random.Float64()*float64(every))); ctx.Err() != nil {
			return
		}
		l.Balancer.Send(account, l.Material.Draw(random))
	}
}
