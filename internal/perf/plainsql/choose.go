package main

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
)

// The ways to ask a class are measured before they are compared with anything: with up to trials questions each, for as long as
// trialTime, but a few at least.
const (
	trials     = 40
	trialTime  = 1500 * time.Millisecond
	leastTried = 5
)

// modes are how statements are planned: anew for each question, or once for all.
type modes []*mode

type mode struct {
	name  string
	pools [2]*pgxpool.Pool // for one client, whom workers help, and for many, who keep the processors busy by themselves
}

// pool returns the connections for a number of clients.
func (m *mode) pool(clients int) *pgxpool.Pool { return m.pools[min(clients, len(m.pools))-1] }

// choice is the quickest way found for a class, with totals and without, and what was tried.
type choice struct {
	with, without      way
	withTook, pageTook time.Duration // a question, on average
	withName, pageName string
}

// choose measures every way to ask a class and returns the quickest, by the average.
func (m modes) choose(ctx context.Context, c *class, w *ways, v *vocabulary, now time.Time) (choice, error) {
	var best choice
	keep := func(to *way, took *time.Duration, name *string, tried way, label string) error {
		average, err := tried.average(ctx, c, v, now)
		if err == nil && (*took == 0 || average < *took) {
			*to, *took, *name = tried, average, label
		}
		return err
	}
	for _, mode := range m {
		var page way
		var pageTook time.Duration
		var pageName string
		for i := range w.page {
			tried := way{mode: mode, clients: 1, page: &w.page[i]}
			if err := keep(&page, &pageTook, &pageName, tried, numbered("page", i, mode)); err != nil {
				return best, err
			}
		}
		if best.pageTook == 0 || pageTook < best.pageTook {
			best.without, best.pageTook, best.pageName = page, pageTook, pageName
		}
		for i := range w.count {
			tried := way{mode: mode, clients: 1, page: page.page, count: &w.count[i]}
			if err := keep(&best.with, &best.withTook, &best.withName, tried, pageName+" + "+numbered("count", i, mode)); err != nil {
				return best, err
			}
		}
		for i := range w.whole {
			tried := way{mode: mode, clients: 1, page: &w.whole[i], whole: true}
			if err := keep(&best.with, &best.withTook, &best.withName, tried, numbered("whole", i, mode)); err != nil {
				return best, err
			}
		}
	}
	return best, nil
}

func numbered(kind string, i int, m *mode) string {
	return kind + " " + string(rune('1'+i)) + " (" + m.name + ")"
}

// average asks the first questions of a class in one way and returns how long one takes. The very first, which prepares the
// statement, does not count.
func (w way) average(ctx context.Context, c *class, v *vocabulary, now time.Time) (time.Duration, error) {
	d := newDraws(v, now, 1)
	var spent time.Duration
	for i := 0; ; i++ {
		q := c.draw(d, c)
		begun := time.Now()
		r, err := w.ask(ctx, &q)
		if err != nil {
			return 0, err
		}
		if err := d.follow(&q, r); err != nil {
			return 0, err
		}
		if i > 0 {
			spent += time.Since(begun)
		}
		if i == trials || i >= leastTried && spent > trialTime {
			return spent / time.Duration(i), nil
		}
	}
}
