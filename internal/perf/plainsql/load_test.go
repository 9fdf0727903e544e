package main

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/colaregistry/colaregistry/cola"
)

// echo is a target that answers everything with a page of one label, and fails after a number of questions.
type echo struct {
	asked atomic.Int64
	most  int64
}

var errEcho = errors.New("no more")

func (e *echo) client(int) client { return e }

func (e *echo) ask(context.Context, *question) (reply, time.Duration, error) {
	if e.asked.Add(1) > e.most {
		return nil, 0, errEcho
	}
	return e, time.Millisecond, nil
}

func (e *echo) rows() (answer, error) {
	return answer{total: 9, keys: []string{"one"}, last: cola.Position{Date: 700_000, TTBID: 1}, more: true}, nil
}

func TestLoad(t *testing.T) {
	e := &echo{most: 1 << 60}
	all := classes()
	l := load{target: e, vocabulary: testVocabulary(), classes: all, clients: 3, lasting: 50 * time.Millisecond, now: testNow}
	o, err := l.run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, took := range o.by {
		n += len(took)
	}
	if int64(n) != e.asked.Load() || n != len(o.all) || n == 0 {
		t.Errorf("of %d questions %d are counted by class, %d in all", e.asked.Load(), n, len(o.all))
	}
	if o.all.At(0.5) != time.Millisecond || o.perSecond() <= 0 {
		t.Errorf("%v in the middle, %v a second", o.all.At(0.5), o.perSecond())
	}
	e = &echo{most: 10}
	l.target = e
	if _, err := l.run(t.Context()); !errors.Is(err, errEcho) {
		t.Errorf("a target that fails gives %v", err)
	}
}

func TestAgreementTellsWhatDiffers(t *testing.T) {
	var g agreement
	q := question{path: "/colas?q=oak"}
	g.compare(&q, answer{total: 2, keys: []string{"a", "b"}}, answer{total: 2, keys: []string{"a", "b"}})
	g.compare(&q, answer{total: 2, keys: []string{"a", "b"}}, answer{total: 2, keys: []string{"b", "a"}})
	g.compare(&q, answer{total: 3, keys: []string{"a"}}, answer{total: 2, keys: []string{"a"}})
	g.compare(&q, answer{total: 3, keys: []string{"a"}}, answer{total: -1, keys: []string{"a"}})
	if g.asked != 4 || g.totals != 3 || g.pages != 3 || len(g.differing) != 2 {
		t.Errorf("%d asked, %d totals and %d pages alike, differing %q", g.asked, g.totals, g.pages, g.differing)
	}
}
