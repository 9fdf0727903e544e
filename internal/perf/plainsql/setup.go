package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/colaregistry/colaregistry/internal/keyring"
	"github.com/colaregistry/colaregistry/internal/perf/measure"
	"github.com/colaregistry/colaregistry/internal/pgtest"
	"github.com/colaregistry/colaregistry/search"
	"github.com/colaregistry/colaregistry/store/postgres"
)

// settings of the server, as for a machine that is PostgreSQL's to use: everything that is searched fits into its memory. It is
// durable; the ledger commits to it.
var settings = map[string]string{
	"shared_buffers":            "6GB",
	"effective_cache_size":      "12GB",
	"work_mem":                  "128MB",
	"maintenance_work_mem":      "1GB",
	"max_wal_size":              "8GB",
	"checkpoint_timeout":        "30min",
	"random_page_cost":          "1.1",
	"effective_io_concurrency":  "200",
	"default_statistics_target": "500",
	"jit":                       "off",
	"track_activities":          "off",
}

// accountCount is how many accounts share the load: each may make 120 requests a minute.
const accountCount = 6_000

// comparison is one run.
type comparison struct {
	options
	now        time.Time // what the default window is reckoned from
	begun      time.Time
	program    string
	postgres   *pgtest.Server
	registry   string // URL of the database of the service
	imported   time.Duration
	server     *measure.Server
	keys       []string
	vocabulary *vocabulary
	modes      modes
	steps      []step
	with       plain
	without    plain
	classes    []*class
	choices    map[*class]choice
	agreements [2][]agreement // with totals, without
	memory     *search.Index
}

// start starts PostgreSQL, fills the service's store and makes the accounts.
func (c *comparison) start(ctx context.Context) (err error) {
	c.say("starting PostgreSQL")
	if c.postgres, err = pgtest.Start(ctx, pgtest.Options{Durable: true, Settings: settings}); err != nil {
		return err
	}
	if c.registry, err = c.postgres.CreateDatabase(ctx); err != nil {
		return err
	}
	begun := time.Now()
	if err = measure.Import(ctx, c.program, c.labels, "--database-url", c.registry); err != nil {
		return err
	}
	c.imported = time.Since(begun)
	st, err := postgres.Open(ctx, c.registry, postgres.Options{})
	if err != nil {
		return err
	}
	defer st.Close()
	c.say("%d accounts", accountCount)
	if c.keys, err = measure.Accounts(ctx, st, accountCount); err != nil {
		return err
	}
	if err = c.vacuum(ctx); err != nil {
		return err
	}
	return c.fill(ctx, st)
}

// vacuum does at once what the server would do by and by after an import, in the middle of what is measured.
func (c *comparison) vacuum(ctx context.Context) error {
	c.say("vacuum of the registry")
	config, err := pgxpool.ParseConfig(c.registry)
	if err != nil {
		return err
	}
	return c.postgres.Execute(ctx, config.ConnConfig.Database, "VACUUM (ANALYZE)")
}

// fill makes the tables of plain SQL in a database of their own.
func (c *comparison) fill(ctx context.Context, st *postgres.Store) error {
	url, err := c.postgres.CreateDatabase(ctx)
	if err != nil {
		return err
	}
	if c.modes, err = connect(ctx, url); err != nil {
		return err
	}
	c.vocabulary = newVocabulary(c.labels)
	c.steps, err = fill(ctx, c.modes[0].pool(1), st, c.vocabulary, c.now, func(what string) { c.say("%s", what) })
	return err
}

// connect opens the connections of every mode.
func connect(ctx context.Context, url string) (modes, error) {
	all := modes{{name: "planned anew"}, {name: "planned once"}}
	for i, planning := range []string{"force_custom_plan", "force_generic_plan"} {
		for j, workers := range []string{"2", "0"} {
			config, err := pgxpool.ParseConfig(url)
			if err != nil {
				return nil, err
			}
			config.MaxConns = int32(slices.Max(clientCounts[:]))
			config.ConnConfig.RuntimeParams["plan_cache_mode"] = planning
			config.ConnConfig.RuntimeParams["max_parallel_workers_per_gather"] = workers
			if all[i].pools[j], err = pgxpool.NewWithConfig(ctx, config); err != nil {
				return nil, err
			}
		}
	}
	return all, nil
}

// serve starts the program on its database.
func (c *comparison) serve(ctx context.Context) (err error) {
	c.say("serve")
	data := filepath.Join(c.dir, "data") // for the snapshot of the index
	if err := os.MkdirAll(data, 0o700); err != nil {
		return err
	}
	keyFile := filepath.Join(data, "secret.key")
	if _, err := keyring.LoadOrCreate(keyFile); err != nil {
		return err
	}
	c.server, err = measure.Serve(ctx, c.program, filepath.Join(c.dir, "serve.log"), "--data-dir", data, "--database-url", c.registry, "--secret-key-file", keyFile)
	return err
}

// close ends what was started.
func (c *comparison) close() error {
	var failed error
	c.modes.close()
	if c.memory != nil {
		c.memory.Close()
	}
	if c.server != nil {
		failed = c.server.Stop()
	}
	if c.postgres != nil {
		if err := c.postgres.Close(); err != nil {
			return fmt.Errorf("%w (%v)", err, failed)
		}
	}
	return failed
}

// close closes the connections.
func (m modes) close() {
	for _, of := range m {
		for _, pool := range of.pools {
			if pool != nil {
				pool.Close()
			}
		}
	}
}
