package main

import (
	"container/heap"
	"time"
)

// clock runs events in the order of their simulated times.
type clock struct {
	now    time.Duration
	events eventHeap
	added  int
}

// event is a function to call at a given time. Events at the same time run in the order in which
// they were added.
type event struct {
	at    time.Duration
	order int
	do    func()
}

// after calls a function once d has passed.
func (c *clock) after(d time.Duration, do func()) {
	c.added++
	heap.Push(&c.events, event{at: c.now + d, order: c.added, do: do})
}

// runUntil runs the events up to the given time.
func (c *clock) runUntil(end time.Duration) {
	for len(c.events) > 0 && c.events[0].at <= end {
		e := heap.Pop(&c.events).(event)
		c.now = e.at
		e.do()
	}
	c.now = end
}

// eventHeap implements heap.Interface.
type eventHeap []event

func (h eventHeap) Len() int { return len(h) }

func (h eventHeap) Less(i, j int) bool {
	return h[i].at < h[j].at || h[i].at == h[j].at && h[i].order < h[j].order
}
func (h eventHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *eventHeap) Push(e any)   { *h = append(*h, e.(event)) }

func (h *eventHeap) Pop() any {
	last := len(*h) - 1
	e := (*h)[last]
	(*h)[last] = event{}
	*h = (*h)[:last]
	return e
}

// cores are the CPU cores of a machine. Work runs in the order in which it arrives.
type cores struct {
	clock       *clock
	total, free int
	queue       []work
	used        time.Duration
}

// work is a task that occupies one core.
type work struct {
	takes time.Duration
	done  func()
}

// use occupies a core for a duration, as soon as one is free, and then calls done.
func (c *cores) use(takes time.Duration, done func()) {
	if c.free == 0 {
		c.queue = append(c.queue, work{takes, done})
		return
	}
	c.free--
	c.start(work{takes, done})
}

func (c *cores) start(w work) {
	c.clock.after(w.takes, func() {
		c.used += w.takes
		w.done()
		if len(c.queue) == 0 {
			c.free++
			return
		}
		next := c.queue[0]
		c.queue = c.queue[1:]
		c.start(next)
	})
}

// utilization returns the share of the cores' time that was used.
func utilization(machines []*cores, duration time.Duration) float64 {
	var used time.Duration
	total := 0
	for _, c := range machines {
		used, total = used+c.used, total+c.total
	}
	return used.Seconds() / duration.Seconds() / float64(total)
}
