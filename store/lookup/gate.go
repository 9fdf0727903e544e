package lookup

import (
	"context"
	"fmt"
	"sync"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/colaregistry/colaregistry/store"
)

const (
	// batchInterval is the minimum time between the start of a batch with unknown secrets and the
	// start of the next batch. It limits the rate of queries for wrong credentials. A batch in
	// which all secrets exist does not delay the next one; each existing secret is looked up only
	// once.
	batchInterval = 10 * time.Millisecond
	maxBatch      = 256
	findTimeout   = 3 * time.Second // timeout of one batch query
	maxFound      = 100_000         // secrets in memory; an entry is under 200 bytes
	// voidDuration is how long an existing but invalid secret, such as that of an expired session
	// or of a suspended account's feed, counts as unknown. It limits how often the database is
	// queried for such a secret.
	voidDuration = time.Second
	maxVoided    = 10_000
)

// gate admits existing secrets of one kind.
type gate struct {
	find             func(ctx context.Context, names []string) ([]string, error)
	found            *lru.Cache[string, struct{}]
	voided           *lru.Cache[string, time.Time] // when each secret stops counting as unknown
	lookups, queries prometheus.Counter

	mu      sync.Mutex
	queue   []*request // in order of arrival
	queued  map[string]*request
	running bool // whether a goroutine is processing the queue
}

// request is a secret to look up in a batch. Several callers may wait for its result.
type request struct {
	name    string
	waiters int // waiting callers; guarded by the gate's mutex
	done    chan struct{}
	err     error // set before done is closed; nil if the secret exists
}

func newGate(find func(context.Context, []string) ([]string, error), lookups, queries prometheus.Counter) *gate {
	return &gate{
		find:    find,
		found:   cache[struct{}](maxFound),
		voided:  cache[time.Time](maxVoided),
		lookups: lookups,
		queries: queries,
		queued:  map[string]*request{},
	}
}

func cache[V any](size int) *lru.Cache[string, V] {
	c, err := lru.New[string, V](size)
	if err != nil {
		panic(err) // only a size below one fails
	}
	return c
}

// admit returns nil if a secret exists, ErrNotFound if it does not, and a different error if the
// lookup failed.
func (g *gate) admit(ctx context.Context, name string) error {
	if until, ok := g.voided.Get(name); ok && time.Now().Before(until) {
		return store.ErrNotFound
	}
	if _, ok := g.found.Get(name); ok {
		return nil
	}
	q := g.enqueue(name)
	select {
	case <-q.done:
		return q.err
	case <-ctx.Done():
		g.mu.Lock()
		q.waiters--
		g.mu.Unlock()
		return fmt.Errorf("look up a secret: %w", ctx.Err())
	}
}

// void makes an existing but invalid secret count as unknown for voidDuration.
func (g *gate) void(name string) {
	g.found.Remove(name)
	g.voided.Add(name, time.Now().Add(voidDuration))
}

// enqueue adds a request to the queue, or joins a queued one. It does not join a request that was
// already sent to the database, because the secret may have been created since.
func (g *gate) enqueue(name string) *request {
	g.mu.Lock()
	defer g.mu.Unlock()
	q := g.queued[name]
	if q == nil {
		q = &request{name: name, done: make(chan struct{})}
		g.queued[name] = q
		g.queue = append(g.queue, q)
	}
	q.waiters++
	if !g.running {
		g.running = true
		go g.run()
	}
	return q
}

// run processes batches until the queue is empty.
func (g *gate) run() {
	for {
		start := time.Now()
		batch := g.take()
		if batch == nil {
			return
		}
		if !g.resolve(batch) {
			time.Sleep(time.Until(start.Add(batchInterval)))
		}
	}
}

// take removes the oldest requests from the queue and drops those without waiters. It returns nil
// if the queue is empty.
func (g *gate) take() (batch []*request) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for len(g.queue) > 0 && len(batch) < maxBatch {
		q := g.queue[0]
		g.queue[0], g.queue = nil, g.queue[1:]
		delete(g.queued, q.name)
		if q.waiters > 0 {
			batch = append(batch, q)
		}
	}
	g.running = len(batch) > 0
	return batch
}

// resolve looks up a batch in the database and reports whether all its secrets exist.
func (g *gate) resolve(batch []*request) bool {
	names := make([]string, len(batch))
	for i, q := range batch {
		names[i] = q.name
	}
	ctx, cancel := context.WithTimeout(context.Background(), findTimeout)
	defer cancel()
	g.lookups.Add(float64(len(names)))
	g.queries.Inc()
	known, err := g.find(ctx, names)
	if err != nil {
		known = nil
	}
	exists := make(map[string]bool, len(known))
	for _, name := range known {
		exists[name] = true
		g.found.Add(name, struct{}{})
	}
	for _, q := range batch {
		q.err = err
		if err == nil && !exists[q.name] {
			q.err = store.ErrNotFound
		}
		close(q.done)
	}
	return len(exists) == len(batch)
}
