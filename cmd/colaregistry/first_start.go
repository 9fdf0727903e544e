package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/colaregistry/colaregistry/auth"
	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/ingest"
	"github.com/colaregistry/colaregistry/internal/demo"
	"github.com/colaregistry/colaregistry/internal/filelock"
	"github.com/colaregistry/colaregistry/store"
)

const (
	demoColas   = 20_000
	demoSeed    = 1
	demoEmail   = "demo@example.com"
	demoKeyName = "first start"
	// demoMarker is a file that exists next to the database while the demo data is incomplete, so
	// that the next start completes it.
	demoMarker = "demo.loading"
	// demoRecord is a file that records the options for the demo data. It is next to the database
	// and is written once the data is complete.
	demoRecord = "demo.json"
	// demoLock is the file that a process locks while it loads the data.
	demoLock = "registry.db-demo.lock"
)

// firstStart loads the demo data and creates the demo account if the embedded database is new or an
// earlier first start was interrupted. Otherwise it returns nil. If several servers start at once,
// the others wait until the first has printed its key. If the output is not private, firstStart
// creates no key.
func (c *serveCommand) firstStart(env *environment, st database, private bool) (loaded *demoLoad, err error) {
	if !c.embedded() {
		return nil, nil
	}
	lock, err := c.lockFirstStart(env)
	if err != nil {
		return nil, err
	}
	d := &demoLoad{marker: filepath.Join(c.DataDir, demoMarker), lock: lock}
	defer func() {
		if loaded == nil {
			d.unlock()
		}
	}()
	options, due, err := c.demoOptions(env, st, d.marker)
	if err != nil || !due {
		return nil, err
	}
	bar := newProgress(env.stderr, "Loading demo data", "labels")
	err = demo.Load(env, st, options, func(done, total int) { bar.set(int64(done), int64(total)) })
	bar.end()
	if err == nil {
		err = writeMarker(filepath.Join(c.DataDir, demoRecord), options)
	}
	if err == nil {
		_, err = c.addFreshLabels(env, st, utcToday(), 0)
	}
	if err != nil {
		return nil, fmt.Errorf("load demo data (will resume on the next start): %w", err)
	}
	account, err := demoAccount(env, st)
	if err == nil && private {
		d.key, _, err = makeKey(env, st, account,
			store.Key{Name: demoKeyName, KeyAccess: store.KeyAccess{Scopes: cola.Scopes()}})
	}
	if err != nil {
		return nil, fmt.Errorf("create the demo account: %w", err)
	}
	return d, nil
}

// demoOptions returns the options for the demo data to load; due is false if there is none to load.
func (c *serveCommand) demoOptions(
	env *environment, st database, marker string,
) (options demo.Options, due bool, err error) {
	options, interrupted, err := readMarker(marker)
	switch {
	case err != nil:
		return options, false, err
	case interrupted && c.Demo == "never":
		env.log.Warn("demo data is incomplete because an earlier start was interrupted; " +
			"to complete it, start with --demo auto")
		return options, false, nil
	case interrupted:
		return options, true, nil
	case c.Demo == "never" || !st.Created():
		return options, false, nil
	}
	options = demo.Options{Colas: demoColas, Seed: demoSeed, AsOf: cola.DateOf(time.Now())}
	return options, true, writeMarker(marker, options)
}

// lockFirstStart waits until no other process is performing a first start, and returns the lock.
func (c *serveCommand) lockFirstStart(env *environment) (*filelock.Lock, error) {
	lock, err := filelock.OpenLock(filepath.Join(c.DataDir, demoLock))
	if err != nil {
		return nil, err
	}
	free, err := lock.TryLock()
	if err == nil && !free {
		env.log.Info("waiting for another process to load demo data")
		err = lock.Lock(env)
	}
	if err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	return lock, nil
}

func readMarker(path string) (o demo.Options, found bool, err error) {
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return o, false, nil
	}
	if err == nil {
		err = json.Unmarshal(b, &o)
	}
	if err != nil {
		return o, false, fmt.Errorf("read %s: %w", path, err)
	}
	return o, true, nil
}

func writeMarker(path string, o demo.Options) error {
	b, err := json.Marshal(o)
	if err != nil {
		return err
	}
	return os.WriteFile(path, b, 0o600)
}

// freshInterval is the pause between checks for a new day.
const freshInterval = 10 * time.Minute

func utcToday() cola.Date { return cola.DateOf(time.Now().UTC()) }

// addFreshLabels adds today's fresh labels to a registry with demo data, unless last, the previous
// day with fresh labels, is today. It returns the latest such day. Without demo data, or if labels
// were ever imported or fetched into the registry, it adds none.
func (c *serveCommand) addFreshLabels(ctx context.Context, st database, today, last cola.Date) (cola.Date, error) {
	if !c.embedded() || c.Demo == "never" || last == today {
		return last, nil
	}
	options, found, err := readMarker(filepath.Join(c.DataDir, demoRecord))
	if err != nil || !found {
		return last, err
	}
	imports, err := st.LastImports(ctx)
	if err != nil {
		return last, err
	}
	if slices.ContainsFunc(imports, func(i cola.LastImport) bool { return i.Kind == string(ingest.Colas) }) {
		return last, nil
	}
	return today, demo.LoadFresh(ctx, st, options, today)
}

// keepFresh adds fresh labels to a registry with demo data every day, so that alerts find some.
func (c *serveCommand) keepFresh(ctx context.Context, env *environment, st database) {
	var last cola.Date
	for {
		day, err := c.addFreshLabels(ctx, st, utcToday(), last)
		switch {
		case err == nil:
			last = day
		case ctx.Err() == nil:
			env.log.Warn("adding fresh demo labels failed; retrying", "after", freshInterval, "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(freshInterval):
		}
	}
}

// demoAccount creates the demo account, or returns the existing one.
func demoAccount(env *environment, st store.Store) (store.Account, error) {
	account, err := st.CreateAccount(env, demoEmail, cola.TierPro)
	if errors.Is(err, store.ErrExists) {
		account, err = st.AccountByEmail(env, demoEmail)
	}
	return account, err
}

// demoLoad is the result of a first start.
type demoLoad struct {
	key    auth.Secret // empty if the output is not private
	marker string
	lock   *filelock.Lock // held until the key is printed
}

func (d *demoLoad) unlock() {
	d.lock.Unlock()
	_ = d.lock.Close()
}

type demoCommand struct {
	Colas int    `default:"20000" placeholder:"N" help:"Number of labels (default: ${default})."`
	Seed  uint64 `default:"1" placeholder:"N" help:"Random seed (default: ${default})."`
	AsOf  string `name:"as-of" placeholder:"DATE" help:"Date of the newest labels, YYYY-MM-DD (default: today)."`
}

// Run writes the labels.
func (c *demoCommand) Run(env *environment) error {
	asOf := cola.DateOf(time.Now())
	if c.AsOf != "" {
		var err error
		if asOf, err = cola.ParseDate(c.AsOf); err != nil {
			return usageErrorf("--as-of: %w", err)
		}
	}
	options := demo.Options{Colas: c.Colas, Seed: c.Seed, AsOf: asOf}
	if err := options.Check(); err != nil {
		return err
	}
	w := bufio.NewWriterSize(env.stdout, 1<<20)
	if err := demo.WriteColas(w, options); err != nil {
		return err
	}
	return w.Flush()
}
