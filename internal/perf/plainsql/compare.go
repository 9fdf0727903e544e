package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/search"
	"github.com/colaregistry/colaregistry/store"
	"github.com/colaregistry/colaregistry/store/postgres"
)

// How long each target is asked before it is measured: the mix, and a class alone.
const (
	warmFor    = 3 * time.Second
	warmOneFor = 300 * time.Millisecond
)

// choose finds the quickest way to ask each class of plain SQL.
func (c *comparison) choose(ctx context.Context) error {
	all, err := readWays(queriesSQL)
	if err != nil {
		return err
	}
	c.classes = classes()
	c.choices = map[*class]choice{}
	c.with, c.without = plain{}, plain{}
	for _, class := range c.classes {
		best, err := trial{class, c.vocabulary, c.now}.choose(ctx, c.modes, all[class.sql])
		if err != nil {
			return err
		}
		c.say("%s: %s, %v; without totals %s, %v", class.name, best.with.name, best.with.average(), best.without.name, best.without.average())
		c.choices[class] = best
		c.with[class], c.without[class] = best.with.way, best.without.way
	}
	return nil
}

// plans writes what PostgreSQL does for the first questions of each class.
func (c *comparison) plans(ctx context.Context) error {
	if c.explain == "" {
		return nil
	}
	var b strings.Builder
	for _, class := range c.classes {
		d := newDraws(c.vocabulary, c.now, 1)
		for range 2 {
			q := class.draw(d, class)
			for _, w := range []way{c.with[class], c.without[class]} {
				for _, s := range []*statement{w.page, w.count} {
					if err := explain(ctx, &b, w, s, &q); err != nil {
						return err
					}
				}
			}
		}
	}
	return os.WriteFile(c.explain, []byte(b.String()), 0o600)
}

// explain adds the plan of a statement, if there is one, for a question.
func explain(ctx context.Context, b *strings.Builder, w way, s *statement, q *question) error {
	if s == nil {
		return nil
	}
	fmt.Fprintf(b, "== %s: %s\n%s\n", q.class.name, q.path, s.sql)
	rows, err := w.mode.pool(w.clients).Query(ctx, "EXPLAIN (ANALYZE, BUFFERS) "+s.sql, s.values(q)...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var line string
		if err := rows.Scan(&line); err != nil {
			return err
		}
		b.WriteString(line + "\n")
	}
	b.WriteString("\n")
	return rows.Err()
}

// index builds the index in this process, from what the service built its own from.
func (c *comparison) index(ctx context.Context) error {
	c.say("the index in this process")
	st, err := postgres.Open(ctx, c.registry, postgres.Options{})
	if err != nil {
		return err
	}
	defer st.Close()
	c.memory = search.New(search.Options{ManualFold: true})
	return build(ctx, c.memory, st)
}

// build fills an index with the labels and permittees of a store.
func build(ctx context.Context, x *search.Index, st store.Changes) error {
	u := x.Begin()
	labels, err := st.ColasSince(ctx, 0, func(r *cola.IndexRecord) error {
		u.Label(r)
		return nil
	})
	if err == nil {
		_, err = st.PermitteesSince(ctx, 0, func(p *cola.Permittee) error {
			u.Permittee(p)
			return nil
		})
	}
	if err != nil {
		u.Abort()
		return err
	}
	return u.Commit(search.Marks{Labels: labels})
}

// agree compares what plain SQL, with totals and without, and the service answer.
func (c *comparison) agree(ctx context.Context) error {
	c.say("comparing answers")
	served := &service{c.server, c.keys}
	for i, sql := range [...]plain{c.with, c.without} {
		all, err := agree(ctx, served, sql, c.classes, c.vocabulary, c.now, c.check)
		if err != nil {
			return err
		}
		for _, g := range all {
			for _, differing := range g.differing {
				c.say("differs: %s: %s", g.class.name, differing)
			}
		}
		c.agreements[i] = all
	}
	return nil
}

// targets are what is measured, in the order of the tables.
func (c *comparison) targets(clients int) []target {
	return []target{c.with.among(clients), c.without.among(clients), &service{c.server, c.keys}, memory{c.memory.View()}}
}

// measure asks the mix and each class of every target and prints the tables.
func (c *comparison) measure(ctx context.Context) error {
	if err := c.printSetting(ctx); err != nil {
		return err
	}
	c.printAgreement()
	mixed := map[int][]*outcome{}
	for _, clients := range clientCounts {
		outcomes, err := c.ask(ctx, c.classes, clients, c.mix, warmFor)
		if err != nil {
			return err
		}
		mixed[clients] = outcomes
	}
	c.printMix(mixed)
	for _, clients := range clientCounts {
		alone := map[*class][]*outcome{}
		for _, one := range c.classes {
			outcomes, err := c.ask(ctx, []*class{one}, clients, c.each, warmOneFor)
			if err != nil {
				return err
			}
			alone[one] = outcomes
		}
		c.printClasses(clients, alone)
		if clients == 1 {
			c.printIndex(alone)
		}
	}
	c.printChoices()
	return nil
}

// ask asks every target the same classes, one after the other.
func (c *comparison) ask(ctx context.Context, mix []*class, clients int, lasting, warm time.Duration) ([]*outcome, error) {
	var outcomes []*outcome
	for i, target := range c.targets(clients) {
		l := load{target: target, vocabulary: c.vocabulary, classes: mix, clients: clients, lasting: warm, now: c.now}
		if _, err := l.run(ctx); err != nil {
			return nil, err
		}
		l.lasting = lasting
		o, err := l.run(ctx)
		if err != nil {
			return nil, err
		}
		c.say("%d clients, target %d, %d classes: %.0f a second, 99th %v", clients, i+1, len(l.classes), o.perSecond(), o.all.At(0.99))
		outcomes = append(outcomes, o)
	}
	return outcomes, nil
}
