package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"github.com/colaregistry/colaregistry/internal/keyring"
	"github.com/colaregistry/colaregistry/internal/loadtest"
	"github.com/colaregistry/colaregistry/internal/perf/measure"
	"github.com/colaregistry/colaregistry/internal/pgtest"
	"github.com/colaregistry/colaregistry/store/postgres"
)

// options configures a run.
type options struct {
	duration time.Duration // minimum duration of the load
	outage   time.Duration // length of each database outage; workers give up on a batch after five seconds
	accounts int
	labels   int
	dir      string // empty for a temporary folder
	verbose  bool
}

// processCount is the number of processes that share the database.
const processCount = 3

// cluster is the environment of a run.
type cluster struct {
	options
	program   string
	primary   *pgtest.Server
	standby   *pgtest.Server
	database  string // database name
	processes []*process
	accounts  []*loadtest.Account
	material  loadtest.Material
	out       io.Writer
	log       *slog.Logger
}

// run starts a cluster, drives it, and reports whether it met every guarantee.
func run(ctx context.Context, o options, out io.Writer) (ok bool, err error) {
	if o.dir == "" {
		if o.dir, err = os.MkdirTemp("", "colaregistry-cluster"); err != nil {
			return false, err
		}
		defer os.RemoveAll(o.dir)
	}
	c := &cluster{options: o, out: out, log: slog.New(slog.DiscardHandler)}
	if o.verbose {
		c.log = slog.New(slog.NewTextHandler(out, nil))
	}
	defer func() { err = errors.Join(err, c.close()) }()
	for _, step := range []func(context.Context) error{c.startServers, c.fill, c.startProcesses} {
		if err := step(ctx); err != nil {
			return false, err
		}
	}
	r, err := c.drive(ctx)
	if err != nil {
		return false, errors.Join(err, c.logs())
	}
	fmt.Fprintf(out, "%d processes on PostgreSQL with a synchronous standby, %d accounts, %d labels; %s\n\n",
		processCount, o.accounts, o.labels, measure.Machine())
	r.print(out, o.verbose)
	return r.ok(), nil
}

// startServers starts the primary and its standby and creates the database.
func (c *cluster) startServers(ctx context.Context) (err error) {
	c.log.Info("starting PostgreSQL with a standby")
	if c.primary, err = pgtest.Start(ctx, pgtest.Options{Durable: true}); err != nil {
		return err
	}
	if c.standby, err = c.primary.StartStandby(ctx, pgtest.Options{Durable: true}); err != nil {
		return err
	}
	databaseURL, err := c.primary.CreateDatabase(ctx)
	if err != nil {
		return err
	}
	u, err := url.Parse(databaseURL)
	if err != nil {
		return err
	}
	c.database = u.Path[1:]
	return nil
}

// url returns a database URL that works with either server as the primary.
func (c *cluster) url() string {
	u, err := url.Parse(c.primary.URL(c.database))
	if err != nil {
		panic(err) // assembled from valid parts
	}
	u.Host += "," + c.standby.Addr()
	query := u.Query()
	query.Set("target_session_attrs", "read-write")
	u.RawQuery = query.Encode()
	return u.String()
}

// fill builds the program, imports labels, creates the accounts, and then makes commits synchronous
// with the standby.
func (c *cluster) fill(ctx context.Context) (err error) {
	if c.program, err = measure.Build(ctx, c.dir); err != nil {
		return err
	}
	c.log.Info("importing", "labels", c.labels)
	if err := measure.Import(ctx, c.program, c.labels, 1, "--database-url", c.url(), "--data-dir", c.dir); err != nil {
		return err
	}
	st, err := postgres.Open(ctx, c.url(), postgres.Options{Logger: c.log})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, st.Close()) }()
	if c.material, err = loadtest.ReadMaterial(ctx, st); err != nil {
		return err
	}
	if c.accounts, err = loadtest.NewAccounts(ctx, st, c.options.accounts); err != nil {
		return err
	}
	return c.primary.SetSynchronous(ctx, "ANY 1 ("+c.standby.Name()+")")
}

// startProcesses starts the processes and waits until they are ready.
func (c *cluster) startProcesses(ctx context.Context) error {
	keyFile := filepath.Join(c.dir, "secret.key")
	if _, err := keyring.LoadOrCreate(keyFile); err != nil {
		return err
	}
	for i := range processCount {
		p, err := newProcess(i, c.program, filepath.Join(c.dir, fmt.Sprintf("process%d", i+1)), c.url(), keyFile, c.log)
		if err != nil {
			return err
		}
		c.processes = append(c.processes, p)
		p.start()
	}
	return c.awaitSettled(ctx)
}

// close stops all processes and servers.
func (c *cluster) close() error {
	for _, p := range c.processes {
		p.close()
	}
	var errs []error
	for _, s := range []*pgtest.Server{c.standby, c.primary} {
		if s != nil {
			errs = append(errs, s.Close())
		}
	}
	return errors.Join(errs...)
}

// logs returns the end of each log, for error messages.
func (c *cluster) logs() error {
	var errs error
	for _, p := range c.processes {
		errs = errors.Join(errs, fmt.Errorf("log of process %d:\n%s", p.number+1, p.logged()))
	}
	return errs
}
