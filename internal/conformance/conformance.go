package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"time"

	"github.com/colaregistry/colaregistry/internal/nodetest"
)

// options configures a run.
type options struct {
	only    []string // names of parts
	cache   string   // empty for the user's default
	dir     string   // empty for a temporary folder
	timeout time.Duration
	verbose bool
}

// part is one group of tests.
type part struct {
	name string
	run  func(context.Context, *bench) (*report, error)
}

func parts() []part {
	return []part{{"suite", runSuite}, {"inspector", runInspector}, {"oauth", runOAuth}}
}

func partNames() (names []string) {
	for _, p := range parts() {
		names = append(names, p.name)
	}
	return names
}

// bench is the environment of a run.
type bench struct {
	dir    string
	kit    *nodetest.Kit
	issuer *issuer
	server *server
	keyed  *recorder    // proxy to the server for clients that cannot send credentials
	public *recorder    // proxy to the server at its public URL
	count  atomic.Int64 // exchanges across all recorders
}

// run runs the parts and reports whether all passed. Every process it starts has ended when it
// returns.
func run(ctx context.Context, o options, out io.Writer) (ok bool, err error) {
	chosen, err := o.parts()
	if err != nil {
		return false, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, o.timeout, fmt.Errorf("timed out after %s", o.timeout))
	defer cancel()
	if o.dir == "" {
		if o.dir, err = os.MkdirTemp("", "colaregistry-conformance"); err != nil {
			return false, err
		}
		defer os.RemoveAll(o.dir)
	}
	b := &bench{dir: o.dir}
	reports, err := b.runAll(ctx, o, chosen)
	err = errors.Join(err, b.close())
	if cause := context.Cause(ctx); err != nil && cause != nil {
		err = fmt.Errorf("%w: %w", cause, err)
	}
	if b.server != nil && b.server.process != nil {
		reports = append(reports, b.server.report())
	}
	return printAll(out, reports, o.verbose) && err == nil, err
}

// parts returns the selected parts in their fixed order.
func (o options) parts() (chosen []part, err error) {
	for _, name := range o.only {
		if !slices.Contains(partNames(), name) {
			return nil, fmt.Errorf("unknown part %q; parts: %v", name, partNames())
		}
	}
	for _, p := range parts() {
		if slices.Contains(o.only, p.name) {
			chosen = append(chosen, p)
		}
	}
	return chosen, nil
}

// runAll prepares the bench and runs the parts in sequence. It returns the finished reports even on
// error.
func (b *bench) runAll(ctx context.Context, o options, chosen []part) (reports []*report, err error) {
	if err := os.MkdirAll(b.dir, 0o700); err != nil {
		return nil, err
	}
	if b.kit, err = installKit(ctx, o.cache, filepath.Join(b.dir, "kit")); err != nil {
		return nil, err
	}
	if err := b.start(ctx); err != nil {
		return nil, err
	}
	for _, p := range chosen {
		started := time.Now()
		r, err := p.run(ctx, b)
		if err != nil {
			return reports, fmt.Errorf("%s: %w", p.name, err)
		}
		r.took = time.Since(started)
		reports = append(reports, r)
	}
	return reports, nil
}

// start starts the recorders first, because the server needs their addresses, then the issuer, and
// then the server.
func (b *bench) start(ctx context.Context) (err error) {
	if b.keyed, err = newRecorder(ctx, &b.count); err != nil {
		return err
	}
	if b.public, err = newRecorder(ctx, &b.count); err != nil {
		return err
	}
	if b.server, err = buildServer(ctx, filepath.Join(b.dir, "server")); err != nil {
		return err
	}
	if b.issuer, err = startIssuer(ctx, b.kit, b.resource(), &b.count); err != nil {
		return err
	}
	if err := b.server.start(ctx, b.public.origin(), b.keyed.origin(), b.issuer.url()); err != nil {
		return err
	}
	keys, err := b.server.makeKeys(ctx)
	if err != nil {
		return err
	}
	b.public.forward(b.server.address, nil)
	b.keyed.forward(b.server.address, keys)
	return nil
}

// resource returns the resource identifier for tokens.
func (b *bench) resource() string { return b.public.origin() + endpoint }

// close stops all running processes.
func (b *bench) close() error {
	var errs []error
	for _, r := range []*recorder{b.keyed, b.public} {
		if r != nil {
			errs = append(errs, r.close())
		}
	}
	if b.server != nil {
		errs = append(errs, b.server.stop())
	}
	if b.issuer != nil {
		errs = append(errs, b.issuer.close())
	}
	return errors.Join(errs...)
}
