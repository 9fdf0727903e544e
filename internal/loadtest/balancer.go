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
	checkInterval = 100 * time.Millisecond // between readiness checks
	checkTimeout  = 2 * time.Second
)

// Balancer simulates a load balancer. It sends each request to a random process among those that
// report ready. It tries another process only if the connection was refused, never after sending
// the request. Processes that are not ready are tried last, so that a test in which none is ready
// also covers their responses.
type Balancer struct {
	addresses []string // scheme and host of each process
	ready     []atomic.Bool
	client    *http.Client
	log       *Log
}

// NewBalancer returns a balancer over processes at the given addresses, each a scheme and host. The
// index of an address is the number of its process. The balancer adds exchanges to the log.
func NewBalancer(log *Log, addresses ...string) *Balancer {
	return &Balancer{
		addresses: addresses, ready: make([]atomic.Bool, len(addresses)), log: log,
		client: &http.Client{Transport: newTransport()},
	}
}

// Watch polls the readiness of the processes until the context ends.
func (b *Balancer) Watch(ctx context.Context) {
	for i := range b.addresses {
		go func() {
			for ctx.Err() == nil {
				b.ready[i].Store(b.check(ctx, i))
				pause(ctx, checkInterval)
			}
		}()
	}
}

// check reports whether a process is ready.
func (b *Balancer) check(ctx context.Context, process int) bool {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
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

// Send sends an account's request and returns its final outcome.
func (b *Balancer) Send(account *Account, q Request) (e Exchange) {
	for _, process := range b.order() {
		e = exchange(b.client, b.addresses[process], Exchange{Account: account, Request: q, Process: process})
		b.log.Add(e)
		if e.Failure != Refused {
			break
		}
	}
	return e
}

// order returns the processes in random order, ready ones first.
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

// pause waits for a duration or until the context ends.
func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// QuietAddress returns a loopback host and port without a listener. The port is below the ephemeral
// range, so that no outgoing connection takes it while a process restarts.
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
