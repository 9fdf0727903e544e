package main

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/colaregistry/colaregistry/internal/perf/measure"
)

// load is some clients that ask questions of a target at once, each as soon as the last one is answered.
type load struct {
	target     target
	vocabulary *vocabulary
	classes    []*class
	clients    int
	lasting    time.Duration
	now        time.Time
}

// outcome is how long the answers took, for each class and for all.
type outcome struct {
	by   map[*class]measure.Latencies
	all  measure.Latencies
	took time.Duration
}

// perSecond returns how many answers there were a second.
func (o *outcome) perSecond() float64 { return float64(len(o.all)) / o.took.Seconds() }

// run asks until the time is up; what has begun then is answered, and counts. The questions of a client are the same whatever
// the target, as far as it gets with them.
func (l load) run(ctx context.Context) (*outcome, error) {
	o := &outcome{by: map[*class]measure.Latencies{}}
	var mu sync.Mutex
	var failed error
	var wg sync.WaitGroup
	begun := time.Now()
	for number := range l.clients {
		wg.Go(func() {
			by, err := l.ask(ctx, number, begun.Add(l.lasting))
			mu.Lock()
			defer mu.Unlock()
			failed = errors.Join(failed, err)
			for c, took := range by {
				o.by[c] = append(o.by[c], took...)
				o.all = append(o.all, took...)
			}
		})
	}
	wg.Wait()
	o.took = time.Since(begun)
	for _, took := range o.by {
		took.Sort()
	}
	o.all.Sort()
	return o, failed
}

// ask is one client.
func (l load) ask(ctx context.Context, number int, end time.Time) (map[*class]measure.Latencies, error) {
	by := map[*class]measure.Latencies{}
	d := newDraws(l.vocabulary, l.now, uint64(number))
	c := l.target.client(number)
	for time.Now().Before(end) {
		chosen := pick(d, l.classes)
		q := chosen.draw(d, chosen)
		r, took, err := c.ask(ctx, &q)
		if err != nil {
			return by, err
		}
		by[chosen] = append(by[chosen], took)
		if err := d.follow(&q, r); err != nil {
			return by, err
		}
	}
	return by, nil
}

// follow notes where the next page of a walk begins. That is not part of the answer's time.
func (d *draws) follow(q *question, r reply) error {
	if q.class.sql != "walk" {
		return nil
	}
	a, err := r.rows()
	if err != nil {
		return err
	}
	d.walk.went(a.last, a.more)
	return nil
}
