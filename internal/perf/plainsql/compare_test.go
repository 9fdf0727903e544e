package main

import (
	"context"
	"log/slog"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/colaregistry/colaregistry/auth"
	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/httpapi"
	"github.com/colaregistry/colaregistry/internal/demo"
	"github.com/colaregistry/colaregistry/internal/perf/measure"
	"github.com/colaregistry/colaregistry/internal/pgtest"
	"github.com/colaregistry/colaregistry/quota"
	"github.com/colaregistry/colaregistry/registry"
	"github.com/colaregistry/colaregistry/search"
	"github.com/colaregistry/colaregistry/store"
	"github.com/colaregistry/colaregistry/store/sqlite"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }

const (
	testLabels    = 4_000
	testQuestions = 15 // of each class
)

// TestAnswersAgree asks every class of plain SQL, in every way there is to ask it, of the service over HTTP and of the index
// in this process. All say the same: a comparison of times compares like with like.
func TestAnswersAgree(t *testing.T) {
	st := demoStore(t)
	keys, err := measure.Accounts(t.Context(), st, 20)
	if err != nil {
		t.Fatal(err)
	}
	served := &service{serve(t, st), keys}
	x := search.New(search.Options{ManualFold: true})
	t.Cleanup(x.Close)
	if err := build(t.Context(), x, st); err != nil {
		t.Fatal(err)
	}
	v := newVocabulary(testLabels)
	m := filled(t, st, v)
	index := memory{x.View()}
	mustAgree(t, "the service", index, served, v, classes())
	all, err := readWays(queriesSQL)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range classes() {
		for name, w := range everyWay(m, all[c.sql]) {
			mustAgree(t, name, index, plain{c: w}, v, []*class{c})
		}
		chosen, err := trial{c, v, testNow}.choose(t.Context(), m, all[c.sql])
		if err != nil {
			t.Fatal(err)
		}
		mustAgree(t, "what was chosen", index, plain{c: chosen.with.way}.among(8), v, []*class{c})
		mustAgree(t, "what was chosen without totals", index, plain{c: chosen.without.way}, v, []*class{c})
		if chosen.without.page == nil || chosen.without.count != nil || chosen.without.whole {
			t.Errorf("%s: what was chosen to go without a total does not", c.name)
		}
	}
}

// mustAgree fails the test unless both answer questions of all classes alike.
func mustAgree(t *testing.T, name string, a, b target, v *vocabulary, of []*class) {
	t.Helper()
	all, err := agree(t.Context(), a, b, of, v, testNow, testQuestions)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	for _, g := range all {
		if g.asked != testQuestions || g.totals != g.asked || g.pages != g.asked {
			t.Errorf("%s: %s: of %d answers %d totals and %d pages agree; %q", g.class.name, name, g.asked, g.totals, g.pages, g.differing)
		}
	}
}

// everyWay returns every way to ask, with a total and without.
func everyWay(m modes, w *ways) map[string]way {
	all := map[string]way{}
	for _, mode := range m {
		for i := range w.page {
			all[numbered("page", i, mode)] = way{mode: mode, clients: 1, page: &w.page[i]}
			for j := range w.count {
				all[numbered("page", i, mode)+numbered("count", j, mode)] = way{mode: mode, clients: 1, page: &w.page[i], count: &w.count[j]}
			}
		}
		for i := range w.whole {
			all[numbered("whole", i, mode)] = way{mode: mode, clients: 1, page: &w.whole[i], whole: true}
		}
	}
	return all
}

// demoStore returns a store of demonstration labels.
func demoStore(t *testing.T) *sqlite.Store {
	st, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "registry.db"), sqlite.Options{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := st.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := demo.Load(t.Context(), st, demo.Options{Colas: testLabels, Seed: 1, AsOf: cola.DateOf(testNow)}, nil); err != nil {
		t.Fatal(err)
	}
	return st
}

// filled returns connections to the tables of plain SQL.
func filled(t *testing.T, st store.Changes, v *vocabulary) modes {
	m, err := connect(t.Context(), pgtest.NewDatabase(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.close)
	steps, err := fill(t.Context(), m[0].pool(1), st, v, testNow, func(string) {})
	if err != nil {
		t.Fatal(err)
	}
	if len(steps) < 20 || len(v.labels) == 0 {
		t.Fatalf("%d steps made the tables, %d labels the vocabulary", len(steps), len(v.labels))
	}
	return m
}

// serve returns the service on a store, in this process.
func serve(t *testing.T, st store.Store) *measure.Server {
	log := slog.New(slog.DiscardHandler)
	x := search.New(search.Options{Logger: log})
	ledger := quota.New(st, quota.Options{Logger: log})
	svc := registry.New(registry.Options{Store: st, Index: x, Ledger: ledger, Now: func() time.Time { return testNow }, Logger: log})
	ready := make(chan struct{})
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() {
		ended <- registry.NewFollower(svc, registry.FollowerOptions{Built: func(registry.Build) { close(ready) }}).Run(ctx)
	}()
	server := httptest.NewServer(httpapi.New(svc, auth.New(st, nil, nil), httpapi.Options{Logger: log}))
	t.Cleanup(func() {
		server.Close()
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		ledger.Close()
		x.Close()
	})
	select {
	case <-ready:
	case err := <-ended:
		t.Fatal("the follower ended:", err)
	case <-time.After(time.Minute):
		t.Fatal("no index after a minute")
	}
	return &measure.Server{Address: server.Listener.Addr().String()}
}
