package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"golang.org/x/sync/errgroup"

	"github.com/colaregistry/colaregistry/internal/keyring"
	"github.com/colaregistry/colaregistry/internal/loadtest"
	"github.com/colaregistry/colaregistry/internal/perf/measure"
	"github.com/colaregistry/colaregistry/internal/pgtest"
	"github.com/colaregistry/colaregistry/store"
	"github.com/colaregistry/colaregistry/store/postgres"
	"github.com/colaregistry/colaregistry/store/sqlite"
)

// target is a running server to measure.
type target struct {
	name     string
	database string          // sqlite or postgres
	program  string          // colaregistry
	server   *measure.Server // nil until it runs
	admin    string          // address of the admin listener, or empty
	keys     []string
	postgres *pgtest.Server // nil without PostgreSQL
	conn     *pgx.Conn      // to the PostgreSQL database, or nil
	flags    []string       // for every command, to select the database
	dir      string         // data directory
	log      string         // path of the log file
	material loadtest.Material
	result   result
}

// result contains a step's measurements so far.
type result struct {
	measure.Searches
	took, cpu, databaseCPU time.Duration // databaseCPU: of PostgreSQL's processes
	counters               counters
}

// counters are metric values from the server and its database.
type counters struct {
	allocated float64 // bytes on the heap
	charges   float64
	batches   float64 // batches of charges
	wal       float64 // bytes written to PostgreSQL's write-ahead log
}

func (c counters) minus(o counters) counters {
	return counters{c.allocated - o.allocated, c.charges - o.charges, c.batches - o.batches, c.wal - o.wal}
}

func (c counters) plus(o counters) counters {
	return counters{c.allocated + o.allocated, c.charges + o.charges, c.batches + o.batches, c.wal + o.wal}
}

func (t *target) stop() {
	if t.server != nil {
		_ = t.server.Stop() // fails for the bare handler, which the signal kills
	}
	if t.conn != nil {
		_ = t.conn.Close(context.Background())
	}
	if t.postgres != nil {
		_ = t.postgres.Close()
	}
}

func (t *target) measure(ctx context.Context, d time.Duration, clients int, profiles string) error {
	var profiling errgroup.Group
	if profiles != "" {
		for _, kind := range []string{"profile", "allocs"} {
			profiling.Go(func() error { return saveProfile(ctx, t.admin, kind, d, profiles+"."+kind) })
		}
	}
	counted, err := t.counters(ctx)
	if err != nil {
		return err
	}
	before, databaseBefore, started := t.server.CPU(), t.databaseCPU(), time.Now()
	found, err := measure.Search(measure.Timeout(ctx, d), t.server.Address, t.keys, clients, 0)
	t.result.took += time.Since(started)
	t.result.cpu += t.server.CPU() - before
	t.result.databaseCPU += t.databaseCPU() - databaseBefore
	t.result.Add(found)
	after, failed := t.counters(ctx)
	t.result.counters = t.result.counters.plus(after.minus(counted))
	return errors.Join(err, failed, profiling.Wait(), t.result.Check())
}

// databaseCPU returns the CPU time that PostgreSQL's processes have used, or zero without
// PostgreSQL.
func (t *target) databaseCPU() time.Duration {
	if t.postgres == nil {
		return 0
	}
	return measure.TreeCPUTime(t.postgres.PID())
}

// counters returns the server's current counters, or zeros without an admin listener.
func (t *target) counters(ctx context.Context) (c counters, err error) {
	if t.admin == "" {
		return c, nil
	}
	metrics, err := get(ctx, "http://"+t.admin+"/metrics")
	if err != nil {
		return c, err
	}
	for name, value := range map[string]*float64{
		"go_memstats_alloc_bytes_total":           &c.allocated,
		"colaregistry_ledger_batch_charges_sum":   &c.charges,
		"colaregistry_ledger_batch_charges_count": &c.batches,
	} {
		_, rest, _ := strings.Cut(string(metrics), "\n"+name+" ")
		text, _, _ := strings.Cut(rest, "\n")
		if *value, err = strconv.ParseFloat(text, 64); err != nil {
			return c, fmt.Errorf("metric %s: %w", name, err)
		}
	}
	if t.conn != nil {
		err = t.conn.QueryRow(ctx, `SELECT pg_current_wal_lsn() - '0/0'::pg_lsn`).Scan(&c.wal)
	}
	return c, err
}

// get requests a URL and returns the response body.
func get(ctx context.Context, url string) ([]byte, error) {
	var body bytes.Buffer
	status, _, err := measure.Get(ctx, http.DefaultClient, url, "", &body)
	if err == nil && status != http.StatusOK {
		err = fmt.Errorf("%s returned status %d", url, status)
	}
	return body.Bytes(), err
}

// saveProfile records a profile for d and writes it to a file.
func saveProfile(ctx context.Context, admin, kind string, d time.Duration, path string) error {
	url := fmt.Sprintf("http://%s/debug/pprof/%s?seconds=%d", admin, kind, max(1, int(d.Seconds())))
	b, err := get(ctx, url)
	if err != nil {
		return err
	}
	return os.WriteFile(path, b, 0o600)
}

// rate returns the number of successful requests per second.
func (t *target) rate() float64 {
	return float64(t.result.Statuses[http.StatusOK]) / t.result.took.Seconds()
}

func (t *target) print(clients int, bare float64) {
	r := t.result
	requests := float64(len(r.Latencies))
	memory, _ := t.server.Memory()
	batch := r.counters.charges / max(1, r.counters.batches)
	fmt.Printf("| %d | %s | %.0f | %.3f | %s | %s | %.0f µs | %.0f µs | %.1f KiB | %.1f | %.1f KiB | %.1f%% | %d MiB |\n", clients, t.name,
		t.rate(), t.rate()/bare, measure.Milliseconds(r.Latencies.At(0.5)), measure.Milliseconds(r.Latencies.At(0.99)),
		r.cpu.Seconds()*1e6/requests, r.databaseCPU.Seconds()*1e6/requests, r.counters.wal/1024/requests, batch,
		r.counters.allocated/1024/requests, 100*float64(r.Refused())/requests, memory)
}

// start starts the bare handler and a server on each database. If it fails, the caller must stop
// those that it returns.
func start(ctx context.Context, o options, dir string) (targets []*target, err error) {
	program, err := measure.Build(ctx, dir)
	if err != nil {
		return nil, err
	}
	bare := &target{name: "bare handler", keys: []string{"none"}}
	targets = []*target{bare}
	for _, database := range o.databases {
		if o.baseline != "" {
			targets = append(targets, &target{database: database, name: database + " baseline", program: o.baseline})
		}
		targets = append(targets, &target{database: database, name: database, program: program})
	}
	for _, t := range targets[1:] {
		if err := t.start(ctx, o, filepath.Join(dir, strings.ReplaceAll(t.name, " ", "-"))); err != nil {
			return targets, fmt.Errorf("%s: %w", t.name, err)
		}
	}
	var page bytes.Buffer
	sample := targets[len(targets)-1]
	if _, _, err := measure.Get(ctx, http.DefaultClient, sample.server.URL("/colas?per_page=20"), sample.keys[0], &page); err != nil {
		return targets, err
	}
	file := filepath.Join(dir, "page")
	if err := os.WriteFile(file, page.Bytes(), 0o600); err != nil {
		return targets, err
	}
	self, err := os.Executable()
	if err != nil {
		return targets, err
	}
	bare.server, err = measure.Serve(ctx, self, filepath.Join(dir, "bare.log"), file)
	return targets, err
}

// start creates a database, fills it, and starts a server on it.
func (t *target) start(ctx context.Context, o options, dir string) (err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	flags := []string{"--data-dir", dir}
	var serveFlags []string
	var st store.Store
	if t.database == "postgres" {
		if t.postgres, err = pgtest.Start(ctx, pgtest.Options{Durable: true}); err != nil {
			return err
		}
		url, err := t.postgres.CreateDatabase(ctx)
		if err != nil {
			return err
		}
		if t.conn, err = pgx.Connect(ctx, url); err != nil {
			return err
		}
		keyFile := filepath.Join(dir, "secret.key")
		if _, err := keyring.LoadOrCreate(keyFile); err != nil {
			return err
		}
		flags = append(flags, "--database-url", url)
		serveFlags = []string{"--secret-key-file", keyFile}
		if st, err = postgres.Open(ctx, url, postgres.Options{}); err != nil {
			return err
		}
	} else if st, err = sqlite.Open(ctx, filepath.Join(dir, "registry.db"), sqlite.Options{}); err != nil {
		return err
	}
	t.flags, t.dir, t.log = flags, dir, dir+".log"
	t.keys, err = measure.Accounts(ctx, st, o.accounts)
	if err == nil {
		err = measure.Import(ctx, t.program, o.labels, 1, flags...)
	}
	if err == nil && o.stalls > 0 {
		serveFlags = append(serveFlags, "--log-level", "debug")
		t.material, err = loadtest.ReadMaterial(ctx, st)
	}
	if err = errors.Join(err, st.Close()); err != nil {
		return err
	}
	if t.admin, err = measure.FreeAddress(); err != nil {
		return err
	}
	serveFlags = append(append(serveFlags, "--admin-listen", t.admin), flags...)
	t.server, err = measure.Serve(ctx, t.program, t.log, serveFlags...)
	return err
}
