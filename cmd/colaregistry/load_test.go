package main

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/demo"
	"github.com/colaregistry/colaregistry/internal/loadtest"
	"github.com/colaregistry/colaregistry/internal/pgtest"
	"github.com/colaregistry/colaregistry/store"
)

const loadTestLabels = 800

// loadTestData returns the options for generating the labels in a load-tested registry.
func loadTestData() demo.Options {
	return demo.Options{Colas: loadTestLabels, Seed: demoSeed, AsOf: cola.NewDate(2025, time.June, 1)}
}

// startPostgres starts a durable PostgreSQL server that the test may break.
func startPostgres(t *testing.T) *pgtest.Server {
	t.Helper()
	s, err := pgtest.Start(t.Context(), pgtest.Options{Durable: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// seededOn returns a registry whose labels are in a new database on the given PostgreSQL server.
func seededOn(t *testing.T, s *pgtest.Server) testRegistry {
	t.Helper()
	url, err := s.CreateDatabase(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	h := registryOnPostgres(t, url)
	if err := demo.Load(t.Context(), mustOpen(t, h), loadTestData(), nil); err != nil {
		t.Fatal(err)
	}
	return h
}

// onOtherMachine returns the registry as a process on another machine sees it: same database,
// different data directory.
func (h testRegistry) onOtherMachine(t *testing.T) testRegistry {
	h.DataDir = t.TempDir()
	return h
}

// loadRun is a load test of one or more servers with many accounts.
type loadRun struct {
	registry testRegistry
	servers  []*serverProcess
	accounts []*loadtest.Account
	log      *loadtest.Log
	started  time.Time
	end      func() // ends the load and waits for the last response
}

// startLoad sends requests from accounts of every tier to the servers.
func startLoad(t *testing.T, h testRegistry, servers ...*serverProcess) *loadRun {
	t.Helper()
	const accounts, pace = 20, 2.5
	st := mustOpen(t, h)
	s := &loadRun{registry: h, servers: servers, log: &loadtest.Log{}, started: time.Now()}
	var err error
	if s.accounts, err = loadtest.NewAccounts(t.Context(), st, accounts); err != nil {
		t.Fatal(err)
	}
	material, err := loadtest.ReadMaterial(t.Context(), st)
	if err != nil {
		t.Fatal(err)
	}
	var addresses []string
	for _, server := range servers {
		addresses = append(addresses, server.root())
	}
	ctx, cancel := context.WithCancel(context.Background())
	balancer := loadtest.NewBalancer(s.log, addresses...)
	balancer.Watch(ctx)
	var load sync.WaitGroup
	load.Go(func() {
		loadtest.Load{Accounts: s.accounts, Material: material, Balancer: balancer, Rate: pace}.Run(ctx)
	})
	s.end = func() { cancel(); load.Wait() }
	t.Cleanup(s.end)
	return s
}

// root returns the scheme and host of a server.
func (s *serverProcess) root() string { return strings.TrimSuffix(s.base, "/api/v1") }

// count returns the number of responses with the given status so far.
func (s *loadRun) count(status int) (n int) {
	for _, e := range s.log.Exchanges() {
		if e.Status == status {
			n++
		}
	}
	return n
}

// awaitMore waits for the given number of further responses with the given status.
func (s *loadRun) awaitMore(t *testing.T, status, more int) {
	t.Helper()
	before := s.count(status)
	await(t, "callers receive "+http.StatusText(status),
		func() bool { return s.count(status) >= before+more })
}

// requireExact ends the load, waits until no commit is in doubt, and compares the ledger with the
// responses. Every account's ledger must match its responses, and every response must be within the
// account's limits. It returns the tally of all callers.
func (s *loadRun) requireExact(t *testing.T, quiet bool, endings ...loadtest.Ending) loadtest.Tally {
	t.Helper()
	s.end()
	for _, server := range s.servers {
		await(t, "no commit is in doubt", func() bool {
			return scrape(t, server.admin(t))["colaregistry_ledger_doubtful_batches"] == 0
		})
	}
	tally := loadtest.Tallies([]loadtest.Phase{{From: s.started, Quiet: quiet}},
		time.Now(), s.log.Exchanges(), endings)[0]
	for _, fault := range tally.Faults {
		t.Error(fault)
	}
	statements, err := loadtest.Audit(t.Context(), mustOpen(t, s.registry),
		s.accounts, s.log.Exchanges(), endings, s.started)
	if err != nil {
		t.Fatal(err)
	}
	for _, statement := range statements {
		if statement.Verdict != loadtest.Exact {
			t.Errorf("%s: %v: %v", statement.Account.Email, statement.Verdict, statement.Problems)
		}
	}
	if tally.OK == 0 {
		t.Error("no request was answered")
	}
	t.Logf("%d requests: %d answered with 200, %d with 429, %d with 503; longest without a 200: %v",
		tally.Requests, tally.OK, tally.TooMany, tally.Unavailable, tally.Longest.Round(time.Millisecond))
	return tally
}

// await waits for a condition that must eventually become true. The limit only keeps a failing test
// from hanging.
func await(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for started := time.Now(); !ok(); time.Sleep(50 * time.Millisecond) {
		if time.Since(started) > time.Minute {
			t.Fatalf("timed out after a minute waiting until %s", what)
		}
	}
}

// readyz returns the status of the public readiness probe.
func (s *serverProcess) readyz(t *testing.T) int {
	t.Helper()
	status, _ := fetch(t, s.root()+"/readyz")
	return status
}

// awaitReady waits until the server reports ready and accepts a request with the key.
func (s *serverProcess) awaitReady(t *testing.T, key string) {
	t.Helper()
	await(t, "the server is ready", func() bool { return s.readyz(t) == http.StatusOK })
	await(t, "the server charges", func() bool { return s.get(t, "/usage", key).StatusCode == http.StatusOK })
}

// awaitDown waits until the server rejects a request with a well-formed 503 and is not ready.
func (s *serverProcess) awaitDown(t *testing.T, key string) {
	t.Helper()
	await(t, "the server returns 503", func() bool {
		a := s.get(t, "/colas?per_page=1", key)
		if a.StatusCode != http.StatusServiceUnavailable {
			return false
		}
		if a.Header.Get("Retry-After") == "" || a.at("error", "code") != "unavailable" {
			t.Errorf("503 with Retry-After %q: %s", a.Header.Get("Retry-After"), a.body)
		}
		return true
	})
	await(t, "the server is not ready", func() bool { return s.readyz(t) == http.StatusServiceUnavailable })
}

// newOtherAccount creates an account that is not part of the load and returns its key.
func newOtherAccount(t *testing.T, st store.Store) string {
	t.Helper()
	_, secret, _ := mustAccount(t, st, "bystander@example.com", cola.TierPro)
	return secret.Reveal()
}
