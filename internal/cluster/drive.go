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

// pace is each account's request rate relative to its tier's rate limit. It is slightly above 1, so
// that all accounts reach their limits.
const pace = 1.2

// commitsWait is how long it takes, under load, for every process to have a commit waiting for a
// stopped standby.
const commitsWait = 500 * time.Millisecond

// act is one part of a run. It may disrupt the cluster, which must recover afterward.
type act struct {
	name  string
	quiet bool // not noticeable to callers
	do    func(*drive, context.Context) error
}

func acts() []act {
	return []act{
		{"undisturbed", true, func(*drive, context.Context) error { return nil }},
		{"processes killed", false, (*drive).killEach},
		{"rolling restart", true, (*drive).restartEach},
		{"connections cut", false, (*drive).cutConnections},
		{"standby down", false, (*drive).loseStandby},
		{"primary crashes", false, (*drive).crashPrimary},
		{"primary and process crash", false, (*drive).crashBoth},
		{"primary lost", false, (*drive).losePrimary},
		{"undisturbed", true, func(*drive, context.Context) error { return nil }},
	}
}

// drive is a cluster under load.
type drive struct {
	*cluster
	phases []loadtest.Phase
}

// drive performs the acts under load and compares the ledger with the responses.
func (c *cluster) drive(ctx context.Context) (*report, error) {
	d := &drive{cluster: c}
	log := &loadtest.Log{}
	loadCtx, stopLoad := context.WithCancel(ctx)
	defer stopLoad()
	watchCtx, stopWatch := context.WithCancel(ctx)
	defer stopWatch()
	addresses := make([]string, len(c.processes))
	for i, p := range c.processes {
		addresses[i] = p.address()
	}
	balancer := loadtest.NewBalancer(log, addresses...)
	balancer.Watch(loadCtx)
	var load sync.WaitGroup
	load.Go(func() {
		loadtest.Load{Accounts: c.accounts, Material: c.material, Balancer: balancer, Rate: pace}.Run(loadCtx)
	})
	r := &report{started: time.Now(), log: log}
	var watch sync.WaitGroup
	watch.Go(func() { r.mostInDoubt = c.watch(watchCtx) })
	err := d.perform(ctx)
	stopLoad()
	load.Wait() // wait for the last responses while the processes still run
	r.ended = time.Now()
	stopWatch()
	watch.Wait()
	if err != nil {
		return nil, err
	}
	return r, errors.Join(c.awaitSettled(ctx), d.audit(ctx, r))
}

// perform performs the acts, each for at least its share of the duration.
func (d *drive) perform(ctx context.Context) error {
	all := acts()
	for _, a := range all {
		started := time.Now()
		d.log.Info(a.name)
		d.phases = append(d.phases, loadtest.Phase{Name: a.name, From: started, Quiet: a.quiet})
		if err := a.do(d, ctx); err != nil {
			return fmt.Errorf("%s: %w", a.name, err)
		}
		if err := d.awaitSettled(ctx); err != nil {
			return fmt.Errorf("%s: %w", a.name, err)
		}
		sleep(ctx, d.duration/time.Duration(len(all))-time.Since(started))
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	return nil
}

// killEach kills and restarts one process after another.
func (d *drive) killEach(ctx context.Context) error { return d.replaceEach(ctx, os.Kill) }

// restartEach gracefully restarts one process after another.
func (d *drive) restartEach(ctx context.Context) error { return d.replaceEach(ctx, syscall.SIGTERM) }

func (d *drive) replaceEach(ctx context.Context, signal os.Signal) error {
	for _, p := range d.processes {
		if err := p.end(ctx, signal); err != nil {
			return err
		}
		p.start()
		if err := d.awaitSettled(ctx); err != nil {
			return err
		}
	}
	return nil
}

// cutConnections cuts all database connections, twice.
func (d *drive) cutConnections(ctx context.Context) error {
	for range 2 {
		if err := d.primary.CutConnections(ctx); err != nil {
			return err
		}
		sleep(ctx, time.Second)
	}
	return nil
}

// loseStandby stops the standby for a while and cuts the connections during that time. Commits
// that are waiting for the standby have already reached the primary, but the processes don't know
// their outcome.
func (d *drive) loseStandby(ctx context.Context) error {
	if err := d.standby.Stop(ctx, pgtest.Immediate); err != nil {
		return err
	}
	sleep(ctx, commitsWait)
	if err := d.primary.CutConnections(ctx); err != nil {
		return err
	}
	sleep(ctx, d.outage)
	return d.standby.Restart(ctx)
}

// crashPrimary crashes and restarts the primary.
func (d *drive) crashPrimary(ctx context.Context) error {
	if err := d.primary.Stop(ctx, pgtest.Immediate); err != nil {
		return err
	}
	sleep(ctx, d.outage)
	return d.primary.Restart(ctx)
}

// crashBoth kills a process while the primary is down. The process loses its record of in-doubt
// batches.
func (d *drive) crashBoth(ctx context.Context) error {
	if err := d.primary.Stop(ctx, pgtest.Immediate); err != nil {
		return err
	}
	sleep(ctx, d.outage)
	if err := d.processes[0].end(ctx, os.Kill); err != nil {
		return err
	}
	d.processes[0].start() // keeps exiting and being restarted until the database is back
	sleep(ctx, time.Second)
	return d.primary.Restart(ctx)
}

// losePrimary kills the primary permanently and promotes the standby.
func (d *drive) losePrimary(ctx context.Context) error {
	if err := d.primary.Stop(ctx, pgtest.Kill); err != nil {
		return err
	}
	sleep(ctx, d.outage)
	return d.standby.Promote(ctx)
}

// audit compares the responses with the ledger, which it reads directly from the remaining server.
func (d *drive) audit(ctx context.Context, r *report) (err error) {
	var endings []loadtest.Ending
	for _, p := range d.processes {
		exits, err := p.history()
		if err != nil {
			return errors.Join(err, d.logs())
		}
		endings = append(endings, exits...)
	}
	st, err := postgres.Open(ctx, d.standby.URL(d.database), postgres.Options{Logger: d.log})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, st.Close()) }()
	exchanges := r.log.Exchanges()
	r.tallies = loadtest.Tallies(d.phases, r.ended, exchanges, endings)
	r.statements, err = loadtest.Audit(ctx, st, d.accounts, exchanges, endings, r.started)
	return err
}
