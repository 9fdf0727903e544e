package loadtest

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"
)

const (
	// checkEvery is the pause between two looks whether a process is ready.
	checkEvery  = 100 * time.Millisecond
	checkWithin = 2 * time.Second
)

// Balancer stands where a proxy would: it sends each request to one of several processes, at random among those that say
// that they are ready. It sends a request to another only when the connection was refused, never after it was sent. When no
// process is ready it asks whoever there is, so that what callers meet then is seen too.
type Balancer struct {
	addresses []string // scheme and host of each process
	ready     []atomic.Bool
	client    *http.Client
	log       *Log
}

// NewBalancer returns a balancer over processes at the given addresses, each a scheme and a host. Their places in the list
// are the processes' numbers. Exchanges go into the log.
func NewBalancer(log *Log, addresses ...string) *Balancer {
	return &Balancer{
		addresses: addresses, ready: make([]atomic.Bool, len(addresses)), log: log,
		client: &http.Client{Transport: newTransport()},
	}
}

// Watch asks the processes whether they are ready until the context ends.
func (b *Balancer) Watch(ctx context.Context) {
	for i := range b.addresses {
		go func() {
			for ctx.Err() == nil {
				b.ready[i].Store(b.check(ctx, i))
				pause(ctx, checkEvery)
			}
		}()
	}
}

// check reports whether a process says that it is ready.
func (b *Balancer) check(ctx context.Context, process int) bool {
	ctx, cancel := context.WithTimeout(ctx, checkWithin)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, b.addresses[process]+"/readyz", nil)
	if err != nil {
		return false
	}
	resp, err := b.client.Do(req)
	if err != nil {
		return false
	}
	defer resp.Body.Close()
	_, err = io.Copy(io.Discard, resp.Body)
	return err == nil && resp.StatusCode == http.StatusOK
}

// Send sends a question of an account and returns what came of it in the end.
func (b *Balancer) Send(account *Account, q Question) (e Exchange) {
	for _, process := range b.order() {
		e = exchange(b.client, b.addresses[process], Exchange{Account: account, Question: q, Process: process})
		b.log.Add(e)
		if e.Failure != Refused {
			break
		}
	}
	return e
}

// order returns the processes in the order in which to try them: those that are ready first, else at random.
func (b *Balancer) order() []int {
	order := make([]int, 0, len(b.addresses))
	var others []int
	for _, i := range rand.Perm(len(b.addresses)) {
		if b.ready[i].Load() {
			order = append(order, i)
		} else {
			others = append(others, i)
		}
	}
	return append(order, others...)
}

// pause waits, less when the context ends.
func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// QuietAddress returns a host and port of the loopback interface that nobody listens on, and that will not be taken by an
// outgoing connection while a process is being started again: the port is below those that systems give out.
func QuietAddress() (string, error) {
	const lowest, count, attempts = 15_000, 15_000, 100
	var err error
	for range attempts {
		address := net.JoinHostPort("127.0.0.1", strconv.Itoa(lowest+rand.N(count)))
		var l net.Listener
		if l, err = net.Listen("tcp", address); err == nil {
			return address, l.Close()
		}
	}
	return "", fmt.Errorf("find a free port: %w", err)
}
