// Package program builds the real server and runs it as a child process, for tests that use or
// attack it from outside.
package program

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/colaregistry/colaregistry/internal/keyring"
	"github.com/colaregistry/colaregistry/internal/loadtest"
	"github.com/colaregistry/colaregistry/internal/nodetest"
)

// stopTimeout is the time limit for a server's shutdown.
const stopTimeout = time.Minute

// build is the compiled program, shared by all tests in a binary.
var build struct {
	once sync.Once
	dir  string
	err  error
}

// Main runs the tests and deletes the compiled program afterward. Packages that use Start or Run
// call it from TestMain: os.Exit(program.Main(m.Run)).
func Main(run func() int) int {
	defer func() { os.RemoveAll(build.dir) }()
	return run()
}

// Path returns the path of the compiled program, which it builds on first use.
func Path(t testing.TB) string {
	t.Helper()
	build.once.Do(func() {
		if build.dir, build.err = os.MkdirTemp("", "colaregistry-program"); build.err != nil {
			return
		}
		_, build.err = nodetest.Succeed(nodetest.Command(context.Background(),
			"go", "build", "-o", build.dir, "github.com/colaregistry/colaregistry/cmd/colaregistry"))
	})
	if build.err != nil {
		t.Fatal(build.err)
	}
	return filepath.Join(build.dir, "colaregistry")
}

// Options configures a server. The zero value starts one with an empty data directory on a free
// port.
type Options struct {
	Address     string   // host and port; default: a free port on the loopback interface
	Dir         string   // data directory; default: a temporary one, deleted after the test
	DatabaseURL string   // empty uses the embedded database in Dir
	NoKeyFile   bool     // with DatabaseURL, start without the key file that is otherwise created in Dir
	Flags       []string // additional flags for serve
	Env         []string // NAME=value, added to the environment inherited from this process
}

// Server is a running server. It is stopped when the test ends.
type Server struct {
	URL         string // scheme, host and port
	Dir         string // data directory
	DatabaseURL string // empty for the embedded database in Dir

	t        testing.TB
	options  Options
	daemon   *nodetest.Daemon
	out, log output
}

// Address returns a free loopback address.
func Address(t testing.TB) string {
	t.Helper()
	address, err := loadtest.QuietAddress()
	if err != nil {
		t.Fatal(err)
	}
	return address
}

// Start starts a server and waits until /readyz returns 200.
func Start(t testing.TB, o Options) *Server {
	t.Helper()
	s := Launch(t, o)
	if err := s.daemon.Await(t.Context(), s.URL+"/readyz"); err != nil {
		t.Fatalf("start server: %v\n%s", err, s.Log())
	}
	return s
}

// Launch starts a server without waiting until it is ready, for tests where startup fails or takes
// a long time.
func Launch(t testing.TB, o Options) *Server {
	t.Helper()
	if o.Address == "" {
		o.Address = Address(t)
	}
	if o.Dir == "" {
		o.Dir = t.TempDir()
	}
	s := &Server{URL: "http://" + o.Address, Dir: o.Dir, DatabaseURL: o.DatabaseURL, t: t, options: o}
	flags := append([]string{"serve", "--listen", o.Address}, s.storeFlags()...)
	if file := s.keyFile(); file != "" {
		if _, err := keyring.LoadOrCreate(file); err != nil {
			t.Fatal(err)
		}
		flags = append(flags, "--secret-key-file", file)
	}
	cmd := nodetest.Command(context.Background(), Path(t), append(flags, o.Flags...)...)
	cmd.Env = append(os.Environ(), o.Env...)
	cmd.Stdout = &s.out
	var err error
	if s.daemon, err = nodetest.Launch(cmd, &s.log); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Stop)
	return s
}

// storeFlags returns the flags that locate the server's data.
func (s *Server) storeFlags() []string {
	flags := []string{"--data-dir", s.Dir}
	if s.options.DatabaseURL != "" {
		flags = append(flags, "--database-url", s.options.DatabaseURL)
	}
	return flags
}

// keyFile returns the path of the key file of a server with a database URL, or "" if the server
// creates its own or has none.
func (s *Server) keyFile() string {
	if s.options.DatabaseURL == "" || s.options.NoKeyFile {
		return ""
	}
	return filepath.Join(s.options.Dir, "secret.key")
}

// Stop shuts the server down. The test fails if the server exits with an error. Stopping twice is
// harmless.
func (s *Server) Stop() {
	if s.daemon == nil {
		return
	}
	if err := s.daemon.Stop(stopTimeout); err != nil {
		s.t.Errorf("server: %v\n%s", err, s.Log())
	}
	s.daemon = nil
}

// ExitError waits until a launched server exits on its own, and returns its error. The test fails
// if the server keeps running.
func (s *Server) ExitError() error {
	s.t.Helper()
	select {
	case <-s.daemon.Exited:
	case <-time.After(stopTimeout):
		s.t.Fatalf("server is still running\n%s", s.Log())
	}
	err := s.daemon.Stop(0)
	s.daemon = nil
	if err == nil {
		return nil
	}
	return errors.New(err.Error() + "\n" + s.Log())
}

// Output returns the server's standard output so far.
func (s *Server) Output() string { return s.out.String() }

// Log returns the server's standard error so far.
func (s *Server) Log() string { return s.log.String() }

// AwaitOutput waits until the server has written text to standard output.
func (s *Server) AwaitOutput(text string) {
	s.t.Helper()
	for range 600 {
		if strings.Contains(s.Output(), text) {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	s.t.Fatalf("server did not print %q:\n%s%s", text, s.Output(), s.Log())
}

// Run runs another command on the server's data and returns its standard output without surrounding
// white space.
func (s *Server) Run(args ...string) string {
	s.t.Helper()
	out, err := s.Try(args...)
	if err != nil {
		s.t.Fatal(err)
	}
	return out
}

// Try is Run for commands that may fail.
func (s *Server) Try(args ...string) (string, error) {
	s.t.Helper()
	cmd := nodetest.Command(s.t.Context(), Path(s.t), append(args, s.storeFlags()...)...)
	cmd.Env = append(os.Environ(), s.options.Env...)
	if file := s.keyFile(); file != "" {
		cmd.Env = append(cmd.Env, "COLAREGISTRY_SECRET_KEY_FILE="+file)
	}
	out, err := nodetest.Succeed(cmd)
	if err != nil {
		return "", fmt.Errorf("colaregistry %s: %w", strings.Join(args, " "), err)
	}
	return strings.TrimSpace(out), nil
}

// output collects the output of a child process.
type output struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.String()
}
