package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/colaregistry/colaregistry/internal/loadtest"
	"github.com/colaregistry/colaregistry/internal/pgtest"
	"github.com/colaregistry/colaregistry/store/postgres"
)

// pace is how often accounts ask, in terms of what their tiers allow: a little more than that, so that all run into it.
const pace = 1.2

// commitsWait is how long it takes, under load, until commits of every process wait for a standby that has gone.
const commitsWait = 500 * time.Millisecond

// act is one part of a run: something is done to the cluster, and afterwards everything is in order again.
type act struct {
	name  string
	quiet bool // callers must not notice
	do    func(*drive, context.Context) error
}

func acts() []act {
	return []act{
		{"nothing happens", true, func(*drive, context.Context) error { return nil }},
		{"processes are killed", false, (*drive).killEach},
		{"rolling restart", true, (*drive).restartEach},
		{"connections are cut", false, (*drive).cutConnections},
		{"standby is away", false, (*drive).loseStandby},
		{"primary crashes", false, (*drive).crashPrimary},
		{"and a process with it", false, (*drive).crashBoth},
		{"primary is lost", false, (*drive).losePrimary},
		{"nothing happens", true, func(*drive, context.Context) error { return nil }},
	}
}

// drive is a cluster under load.
type drive struct {
	*cluster
	phases []loadtest.Phase
}

// drive runs the acts under load, and holds the ledger against the books.
func (c *cluster) drive(ctx context.Context) (*report, error) {
	d := &drive{cluster: c}
	log := &loadtest.Log{}
	loading, unload := context.WithCancel(ctx)
	defer unload()
	watching, unwatch := context.WithCancel(ctx)
	defer unwatch()
	addresses := make([]string, len(c.processes))
	for i, p := range c.processes {
		addresses[i] = p.address()
	}
	balancer := loadtest.NewBalancer(log, addresses...)
	balancer.Watch(loading)
	var load sync.WaitGroup
	load.Go(func() {
		loadtest.Load{Accounts: c.accounts, Material: c.material, Balancer: balancer, Rate: pace}.Run(loading)
	})
	r := &report{begun: time.Now(), log: log}
	var watch sync.WaitGroup
	watch.Go(func() { r.mostInDoubt = c.watch(watching) })
	err := d.perform(ctx)
	unload()
	load.Wait() // the last answers come from processes that still run
	r.ended = time.Now()
	unwatch()
	watch.Wait()
	if err != nil {
		return nil, err
	}
	return r, errors.Join(c.settled(ctx), d.audit(ctx, r))
}

// perform performs the acts, each for its part of the time at least.
func (d *drive) perform(ctx context.Context) error {
	all := acts()
	for _, a := range all {
		begun := time.Now()
		d.log.Info(a.name)
		d.phases = append(d.phases, loadtest.Phase{Name: a.name, From: begun, Quiet: a.quiet})
		if err := a.do(d, ctx); err != nil {
			return fmt.Errorf("%s: %w", a.name, err)
		}
		if err := d.settled(ctx); err != nil {
			return fmt.Errorf("%s: %w", a.name, err)
		}
		rest(ctx, d.duration/time.Duration(len(all))-time.Since(begun))
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	return nil
}

// killEach kills one process after another and starts it again.
func (d *drive) killEach(ctx context.Context) error { return d.replaceEach(ctx, os.Kill) }

// restartEach asks one process after another to end, and starts it again.
func (d *drive) restartEach(ctx context.Context) error { return d.replaceEach(ctx, syscall.SIGTERM) }

func (d *drive) replaceEach(ctx context.Context, signal os.Signal) error {
	for _, p := range d.processes {
		if err := p.end(ctx, signal); err != nil {
			return err
		}
		p.start()
		if err := d.settled(ctx); err != nil {
			return err
		}
	}
	return nil
}

// cutConnections cuts every connection to the database, twice.
func (d *drive) cutConnections(ctx context.Context) error {
	for range 2 {
		if err := d.primary.CutConnections(ctx); err != nil {
			return err
		}
		rest(ctx, time.Second)
	}
	return nil
}

// loseStandby has the standby go away for a while, and cuts the connections meanwhile: commits that wait for it are in the
// primary's books already, and nobody can tell.
func (d *drive) loseStandby(ctx context.Context) error {
	if err := d.standby.Stop(ctx, pgtest.Immediate); err != nil {
		return err
	}
	rest(ctx, commitsWait)
	if err := d.primary.CutConnections(ctx); err != nil {
		return err
	}
	rest(ctx, d.outage)
	return d.standby.Restart(ctx)
}

// crashPrimary has the primary stop as in a crash, and starts it again.
func (d *drive) crashPrimary(ctx context.Context) error {
	if err := d.primary.Stop(ctx, pgtest.Immediate); err != nil {
		return err
	}
	rest(ctx, d.outage)
	return d.primary.Restart(ctx)
}

// crashBoth kills a process while the primary is away. What it holds in doubt dies with it.
func (d *drive) crashBoth(ctx context.Context) error {
	if err := d.primary.Stop(ctx, pgtest.Immediate); err != nil {
		return err
	}
	rest(ctx, d.outage)
	if err := d.processes[0].end(ctx, os.Kill); err != nil {
		return err
	}
	d.processes[0].start() // it finds no database, and is started again until it does
	rest(ctx, time.Second)
	return d.primary.Restart(ctx)
}

// losePrimary kills the primary for good, and has the standby take over.
func (d *drive) losePrimary(ctx context.Context) error {
	if err := d.primary.Stop(ctx, pgtest.Kill); err != nil {
		return err
	}
	rest(ctx, d.outage)
	return d.standby.Promote(ctx)
}

// audit reads the ledger from the server that is left, without the help of any process.
func (d *drive) audit(ctx context.Context, r *report) (err error) {
	var endings []loadtest.Ending
	for _, p := range d.processes {
		ended, err := p.history()
		if err != nil {
			return errors.Join(err, d.logs())
		}
		endings = append(endings, ended...)
	}
	st, err := postgres.Open(ctx, d.standby.URL(d.database), postgres.Options{Logger: d.log})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, st.Close()) }()
	exchanges := r.log.Exchanges()
	r.tallies = loadtest.Tallies(d.phases, r.ended, exchanges, endings)
	r.statements, err = loadtest.Audit(ctx, st, d.accounts, exchanges, endings, r.begun)
	return err
}
