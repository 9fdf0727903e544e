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
	// keyCount is the number of accounts that the third-party clients' requests are spread over. Each
	// account may make 120 requests per minute, and the clients together make several hundred in a few
	// seconds.
	keyCount = 8

	// readScope is the scope that apps request when they connect. The issuer requires one; the server
	// ignores it.
	readScope = "registry.read"

	stopTimeout = 45 * time.Second // draining takes up to 30 seconds
)

// server is the real program with its own folder and demo data.
type server struct {
	dir     string
	program string
	address string // host and port
	log     *os.File
	process *nodetest.Daemon
	stopped error // exit error
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

// start starts the program with a public URL, one allowed origin and one token issuer, and waits
// until it is ready.
func (s *server) start(ctx context.Context, publicURL, origin, issuer string) (err error) {
	if s.address, err = loadtest.QuietAddress(); err != nil {
		return err
	}
	if s.log, err = os.Create(filepath.Join(s.dir, "log")); err != nil {
		return err
	}
	cmd := nodetest.Command(ctx, s.program, "serve", "--listen", s.address, "--data-dir", s.data(),
		"--public-url", publicURL, "--allowed-origin", origin, "--oidc-issuer", issuer, "--oidc-apps", "any", "--oidc-scope", readScope)
	if s.process, err = nodetest.Launch(cmd, s.log); err != nil {
		return errors.Join(err, s.log.Close())
	}
	return s.waitReady(ctx)
}

func (s *server) data() string { return filepath.Join(s.dir, "data") }

// waitReady waits until the server reports ready.
func (s *server) waitReady(ctx context.Context) error {
	if err := s.process.Await(ctx, "http://"+s.address+"/readyz"); err != nil {
		return fmt.Errorf("start server: %w%s", err, s.logged())
	}
	return nil
}

// cli runs one of the program's commands on the server's data and returns its output.
func (s *server) cli(ctx context.Context, args ...string) (string, error) {
	printed, err := nodetest.Succeed(nodetest.Command(ctx, s.program, append(args, "--data-dir", s.data())...))
	return strings.TrimSpace(printed), err
}

// makeKeys creates accounts on the largest tier with one key each, using operator commands, and
// returns the keys.
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

// stop stops the server if it is running and waits for it to exit. report includes the exit error.
func (s *server) stop() error {
	if s.process == nil {
		return nil
	}
	s.stopped = s.process.Stop(stopTimeout)
	return errors.Join(s.stopped, s.log.Close())
}

// report checks the stopped server: it must have exited cleanly and logged no internal error.
func (s *server) report() *report {
	r := newReport("server", "the server during the run")
	r.check("exits cleanly", s.stopped)
	log, err := os.ReadFile(s.log.Name())
	if r.check("log is readable", err) {
		r.check("no errors in the log", logErrors(log))
	}
	return r
}

// logErrors returns an error with the lines of a log that report an internal error, a panic or a
// data race.
func logErrors(log []byte) error {
	var errs []error
	for line := range bytes.Lines(log) {
		for _, sign := range []string{"code=internal_error", "panic", "DATA RACE"} {
			if bytes.Contains(line, []byte(sign)) {
				errs = append(errs, errors.New(string(bytes.TrimSpace(line))))
				break
			}
		}
	}
	return errors.Join(errs...)
}

// logged returns the end of the log, for error messages.
func (s *server) logged() string {
	log, err := os.ReadFile(s.log.Name())
	if err != nil {
		return "\n" + err.Error()
	}
	return nodetest.LastOf(log)
}
