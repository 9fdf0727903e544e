package main

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
)

// The ways to ask a class are measured before they are compared with anything: with up to trials questions each, the same ones in the
// same order, for as long as trialTime. One that is twice as slow as another over the first leastTried is given up.
const (
	trials     = 150
	trialTime  = 2 * time.Second
	leastTried = 12
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
	name  string
	spent []time.Duration // on the first questions, up to each
}

// average returns how long a question took.
func (t *tried) average() time.Duration {
	if len(t.spent) == 0 {
		return 0
	}
	return t.spent[len(t.spent)-1] / time.Duration(len(t.spent))
}

// quicker reports whether t took less time than another over the questions that both were asked, or there is no other.
func (t *tried) quicker(than *tried) bool {
	n := min(len(t.spent), len(than.spent))
	return n == 0 || t.spent[n-1] < than.spent[n-1]
}

// hopeless reports whether t takes twice the time of another for the same questions.
func (t *tried) hopeless(beside *tried) bool {
	n := len(t.spent)
	return n >= leastTried && n <= len(beside.spent) && t.spent[n-1] > 2*beside.spent[n-1]
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
		if page.quicker(&best.without) {
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
	one := tried{way: w, name: name}
	if err := t.try(ctx, &one, best); err != nil {
		return fmt.Errorf("%s: %s: %w", t.class.name, name, err)
	}
	if one.quicker(best) {
		*best = one
	}
	return nil
}

func numbered(kind string, i int, m *mode) string {
	return fmt.Sprintf("%s %d (%s)", kind, i+1, m.name)
}

// try asks the first questions of the class in one way, beside the best one so far. The very first, which prepares the
// statement, does not count.
func (t trial) try(ctx context.Context, one, best *tried) error {
	d := newDraws(t.vocabulary, t.now, 1)
	var spent time.Duration
	for i := range trials + 1 {
		q := t.class.draw(d, t.class)
		begun := time.Now()
		r, err := one.ask(ctx, &q)
		took := time.Since(begun)
		if err == nil {
			err = d.follow(&q, r)
		}
		if err != nil {
			return err
		}
		if i == 0 {
			continue
		}
		spent += took
		one.spent = append(one.spent, spent)
		if i >= leastTried && spent > trialTime || one.hopeless(best) {
			break
		}
	}
	return nil
}
