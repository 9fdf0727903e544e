package main

import (
	"context"
	"fmt"
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

// tried is a way that was measured.
type tried struct {
	way
	name string
	took time.Duration // a question, on average
}

// choice is the quickest ways found for a class: to a page and its total, and to a page alone.
type choice struct{ with, without tried }

// trial measures the ways to ask a class.
type trial struct {
	class      *class
	vocabulary *vocabulary
	now        time.Time
}

// choose measures every way that the statements and the modes make and returns the quickest. The page that is asked beside a
// count is the quickest of its mode.
func (t trial) choose(ctx context.Context, all modes, w *ways) (best choice, err error) {
	for _, m := range all {
		var page tried
		for i := range w.page {
			if err := t.keep(ctx, &page, way{mode: m, clients: 1, page: &w.page[i]}, numbered("page", i, m)); err != nil {
				return best, err
			}
		}
		if best.without.took == 0 || page.took < best.without.took {
			best.without = page
		}
		for i := range w.count {
			beside := way{mode: m, clients: 1, page: page.page, count: &w.count[i]}
			if err := t.keep(ctx, &best.with, beside, page.name+" + "+numbered("count", i, m)); err != nil {
				return best, err
			}
		}
		for i := range w.whole {
			if err := t.keep(ctx, &best.with, way{mode: m, clients: 1, page: &w.whole[i], whole: true}, numbered("whole", i, m)); err != nil {
				return best, err
			}
		}
	}
	return best, nil
}

// keep measures a way and keeps it when it is the first or the quickest.
func (t trial) keep(ctx context.Context, best *tried, w way, name string) error {
	took, err := t.average(ctx, w)
	if err != nil {
		return fmt.Errorf("%s: %s: %w", t.class.name, name, err)
	}
	if best.took == 0 || took < best.took {
		*best = tried{w, name, took}
	}
	return nil
}

func numbered(kind string, i int, m *mode) string {
	return fmt.Sprintf("%s %d (%s)", kind, i+1, m.name)
}

// average asks the first questions of the class in one way and returns how long one takes. The very first, which prepares the
// statement, does not count.
func (t trial) average(ctx context.Context, w way) (time.Duration, error) {
	d := newDraws(t.vocabulary, t.now, 1)
	var spent time.Duration
	for i := 0; ; i++ {
		q := t.class.draw(d, t.class)
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
