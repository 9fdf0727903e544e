package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/colaregistry/colaregistry/internal/loadtest"
	"github.com/colaregistry/colaregistry/internal/nodetest"
	"github.com/colaregistry/colaregistry/internal/perf/measure"
	"github.com/colaregistry/colaregistry/mcp"
)

const (
	endpoint = mcp.Path
	// keyCount is how many accounts the requests of others' programs are spread over: each may make 120 a minute, and all of
	// them together make some hundreds in a few seconds.
	keyCount = 8

	// readScope is what apps ask for when they connect, since the issuer lets nobody in without a scope; it means nothing here.
	readScope = "registry.read"

	stopWithin = 45 * time.Second // it drains for 30 seconds at most
)

// server is the real program, with a folder and demonstration data of its own.
type server struct {
	dir     string
	program string
	address string // host and port
	log     *os.File
	process *nodetest.Daemon
	stopped error // how it ended
}

// buildServer compiles the program into a folder.
func buildServer(ctx context.Context, dir string) (s *server, err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	s = &server{dir: dir}
	s.program, err = measure.Build(ctx, dir)
	return s, err
}

// start starts the program behind a public URL, for pages of an origin and tokens of an issuer, and waits until it is ready.
func (s *server) start(ctx context.Context, publicURL, origin, issuer string) (err error) {
	if s.address, err = loadtest.QuietAddress(); err != nil {
		return err
	}
	if s.log, err = os.Create(filepath.Join(s.dir, "log")); err != nil {
		return err
	}
	cmd := nodetest.Command(ctx, s.program, "serve", "--listen", s.address, "--data-dir", s.data(), "--public-url", publicURL, "--allowed-origin", origin,
		"--oidc-issuer", issuer, "--oidc-apps", "any", "--oidc-scope", readScope)
	if s.process, err = nodetest.Launch(cmd, s.log); err != nil {
		return errors.Join(err, s.log.Close())
	}
	return s.waitReady(ctx)
}

func (s *server) data() string { return filepath.Join(s.dir, "data") }

// waitReady waits until the server answers that it is ready.
func (s *server) waitReady(ctx context.Context) error {
	if err := s.process.Await(ctx, "http://"+s.address+"/readyz"); err != nil {
		return fmt.Errorf("the server: %w%s", err, s.logged())
	}
	return nil
}

// cli runs a command of the program on the server's data and returns what it printed.
func (s *server) cli(ctx context.Context, args ...string) (string, error) {
	printed, err := nodetest.Succeed(nodetest.Command(ctx, s.program, append(args, "--data-dir", s.data())...))
	return strings.TrimSpace(printed), err
}

// makeKeys makes accounts of the largest tier with a key each, as an operator does, and returns the keys.
func (s *server) makeKeys(ctx context.Context) (keys []string, err error) {
	for i := range keyCount {
		email := fmt.Sprintf("account%d@example.com", i+1)
		if _, err := s.cli(ctx, "account", "create", "--email", email, "--tier", "pro"); err != nil {
			return nil, err
		}
		key, err := s.cli(ctx, "key", "create", "--account", email, "--name", "conformance")
		if err != nil {
			return nil, err
		}
		keys = append(keys, key)
	}
	return keys, nil
}

// stop asks the server to end, if it was started, and waits for it. How it ended is in its report.
func (s *server) stop() error {
	if s.process == nil {
		return nil
	}
	s.stopped = s.process.Stop(stopWithin)
	return errors.Join(s.stopped, s.log.Close())
}

// report tells what the server itself says of the run, once it has ended: no request may have met a fault of ours.
func (s *server) report() *report {
	r := newReport("server", "the server through all of it")
	r.check("it ended in good order", s.stopped)
	log, err := os.ReadFile(s.log.Name())
	r.check("its log can be read", err)
	for line := range bytes.Lines(log) {
		for _, sign := range []string{"code=internal_error", "panic", "DATA RACE"} {
			if bytes.Contains(line, []byte(sign)) {
				r.fail("no fault in its log", "%s", bytes.TrimSpace(line))
			}
		}
	}
	r.check("no fault in its log", nil)
	return r
}

// logged returns the end of the log, to go with an error.
func (s *server) logged() string {
	log, err := os.ReadFile(s.log.Name())
	if err != nil {
		return "\n" + err.Error()
	}
	return nodetest.LastOf(log)
}
