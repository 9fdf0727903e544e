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
	batchInterval = 10 * time.Millisecond // between the starts of two batches
	maxBatch      = 256
	findTimeout   = 3 * time.Second // for one batch
	maxFound      = 100_000         // secrets in memory; an entry is under 200 bytes
	// voidFor is how long an existing but invalid secret counts as unknown, such as an expired
	// session or the feed of a suspended account. It bounds the queries for such a secret.
	voidFor   = time.Second
	maxVoided = 10_000
)

// gate admits existing secrets of one kind.
type gate struct {
	find             func(ctx context.Context, names []string) ([]string, error)
	found            *lru.Cache[string, struct{}]
	voided           *lru.Cache[string, time.Time] // until when
	lookups, queries prometheus.Counter

	mu      sync.Mutex
	waiting []*question // in order of arrival
	open    map[string]*question
	running bool // a goroutine processes the queue
}

// question is a secret to look up in a batch. Several requests may wait for its answer.
type question struct {
	name     string
	askers   int // waiting requests; guarded by the gate's mutex
	answered chan struct{}
	err      error // nil: it exists. Set before answered is closed
}

func newGate(find func(context.Context, []string) ([]string, error), lookups, queries prometheus.Counter) *gate {
	return &gate{
		find: find, found: cache[struct{}](maxFound),
		voided: cache[time.Time](maxVoided), lookups: lookups, queries: queries,
		open: map[string]*question{},
	}
}

func cache[V any](size int) *lru.Cache[string, V] {
	c, err := lru.New[string, V](size)
	if err != nil {
		panic(err) // only a size below one fails
	}
	return c
}

// admit returns nil if a secret exists, ErrNotFound if it does not, and another error if the lookup
// failed.
func (g *gate) admit(ctx context.Context, name string) error {
	if until, ok := g.voided.Get(name); ok && time.Now().Before(until) {
		return store.ErrNotFound
	}
	if _, ok := g.found.Get(name); ok {
		return nil
	}
	q := g.ask(name)
	select {
	case <-q.answered:
		return q.err
	case <-ctx.Done():
		g.mu.Lock()
		q.askers--
		g.mu.Unlock()
		return fmt.Errorf("look up a secret: %w", ctx.Err())
	}
}

// void makes an existing but invalid secret count as unknown for voidFor.
func (g *gate) void(name string) {
	g.found.Remove(name)
	g.voided.Add(name, time.Now().Add(voidFor))
}

// ask adds a question to the queue, or joins a queued one. It does not join a question that was
// already sent to the database, because the secret may have been created since.
func (g *gate) ask(name string) *question {
	g.mu.Lock()
	defer g.mu.Unlock()
	q := g.open[name]
	if q == nil {
		q = &question{name: name, answered: make(chan struct{})}
		g.open[name] = q
		g.waiting = append(g.waiting, q)
	}
	q.askers++
	if !g.running {
		g.running = true
		go g.run()
	}
	return q
}

// run processes batches until the queue is empty.
func (g *gate) run() {
	for {
		started := time.Now()
		batch := g.take()
		if batch == nil {
			return
		}
		g.answer(batch)
		time.Sleep(time.Until(started.Add(batchInterval)))
	}
}

// take removes the oldest questions from the queue and drops those without askers. It returns nil
// if the queue is empty.
func (g *gate) take() (batch []*question) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for len(g.waiting) > 0 && len(batch) < maxBatch {
		q := g.waiting[0]
		g.waiting[0], g.waiting = nil, g.waiting[1:]
		delete(g.open, q.name)
		if q.askers > 0 {
			batch = append(batch, q)
		}
	}
	g.running = len(batch) > 0
	return batch
}

// answer looks up a batch in the database.
func (g *gate) answer(batch []*question) {
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
		if q.err = err; err == nil && !exists[q.name] {
			q.err = store.ErrNotFound
		}
		close(q.answered)
	}
}
