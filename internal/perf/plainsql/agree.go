package main

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// agreement tells how far two targets answer a class alike.
type agreement struct {
	class         *class
	asked         int
	totals, pages int // of those asked, with the same total and with the same rows in the same order
	differing     []string
}

// agree asks two targets the same questions and compares what they say; the second may tell no totals. The first leads a walk.
func agree(ctx context.Context, a, b target, classes []*class, v *vocabulary, now time.Time, questions int) ([]agreement, error) {
	var all []agreement
	one, other := a.client(0), b.client(0)
	for _, c := range classes {
		d := newDraws(v, now, 7)
		g := agreement{class: c}
		for range questions {
			q := c.draw(d, c)
			x, y, err := both(ctx, one, other, &q)
			if err != nil {
				return nil, err
			}
			d.walk.went(x.last, x.more)
			g.compare(&q, x, y)
		}
		all = append(all, g)
	}
	return all, nil
}

func both(ctx context.Context, a, b client, q *question) (x, y answer, err error) {
	first, _, err := a.ask(ctx, q)
	if err != nil {
		return x, y, err
	}
	if x, err = first.rows(); err != nil {
		return x, y, err
	}
	second, _, err := b.ask(ctx, q)
	if err != nil {
		return x, y, err
	}
	y, err = second.rows()
	return x, y, err
}

func (g *agreement) compare(q *question, x, y answer) {
	g.asked++
	total, page := x.total == y.total || y.total < 0, slices.Equal(x.keys, y.keys)
	if total {
		g.totals++
	}
	if page {
		g.pages++
	}
	if !total || !page {
		g.differing = append(g.differing, fmt.Sprintf("%s: %d against %d", q.path, x.total, y.total))
	}
}
