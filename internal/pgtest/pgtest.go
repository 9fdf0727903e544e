// Package pgtest starts disposable PostgreSQL servers for tests and measurements. They are real
// servers with separate data folders. Callers can stop, crash and restart them, add a standby, and
// promote it.
//
// The servers listen only on the loopback interface and accept every user. Close stops the server
// and removes its files, except Options.Dir. If the process that started the server is killed, the
// kernel ends the server (on Linux only), and the next Start removes its temporary folder.
//
// PostgreSQL refuses to run as root. If the tests run as root, the servers run as the user
// postgres, or as nobody if there is no such user.
package pgtest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

const (
	user = "colaregistry" // superuser of every server
	// timeout is the time limit for every wait, so that a server that never starts doesn't hang the
	// test.
	timeout = 2 * time.Minute
	// portAttempts is how many ports to try if other processes take them first.
	portAttempts = 5
)

var errTimeout = fmt.Errorf("timed out after %s", timeout)

// Options configures a server. The zero value suits most tests.
type Options struct {
	// Durable turns on fsync, synchronous_commit and full_page_writes. Without it, a server is
	// faster, but a crash may lose committed data.
	Durable bool
	// Settings are additional postgresql.conf settings. They override this package's own.
	// cluster_name sets the server's name (see Name). The port cannot be set.
	Settings map[string]string
	// Dir is the folder for the data and the log. Start creates it if necessary; it must not
	// contain data. Close leaves it in place. If Dir is empty, Start uses a temporary folder, which
	// Close removes.
	Dir string
}

// Server is a PostgreSQL server. Its methods are safe for concurrent use. The caller must close it.
type Server struct {
	options  Options
	name     string
	programs programs
	runAs    *identity // nil for the current user
	folder   *folder
	log      *serverLog
	standbys atomic.Int64 // number of standbys started, used for names

	mu      sync.Mutex   // locked while the server starts or stops
	port    *reservation // reserved while the server is stopped
	address atomic.Value // string, host:port
	process *process     // nil when stopped
	closed  bool
}

// Start starts a new server and waits until it accepts connections. If PostgreSQL is not installed,
// the error says what to install. If the server fails to start, the error includes the end of its
// log.
func Start(ctx context.Context, o Options) (*Server, error) {
	return start(ctx, o, "primary", reservePort, initialize)
}

// start creates a server, calls fill to create its data, and starts it on the first free port from
// reserve.
func start(
	ctx context.Context, o Options, name string,
	reserve func() (*reservation, error), fill func(context.Context, *Server) error,
) (*Server, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, errTimeout)
	defer cancel()
	s, err := newServer(o, name)
	if err != nil {
		return nil, fmt.Errorf("start PostgreSQL: %w", err)
	}
	if err = fill(ctx, s); err == nil {
		err = s.configure()
	}
	if err == nil {
		err = s.startSomewhere(ctx, reserve)
	}
	if err != nil {
		return nil, fmt.Errorf("start PostgreSQL: %w", errors.Join(err, s.Close()))
	}
	return s, nil
}

// newServer finds the PostgreSQL programs and the user to run them as, and creates the server's
// folder.
func newServer(o Options, name string) (*Server, error) {
	if _, ok := o.Settings["port"]; ok {
		return nil, errors.New("the port can't be set")
	}
	if named := o.Settings["cluster_name"]; named != "" {
		name = named
	}
	found, err := findPrograms(searchFolders(os.Getenv("PATH"), debianFolder, sourceFolder))
	if err != nil {
		return nil, err
	}
	runAs, err := ordinaryUser(os.Geteuid())
	if err != nil {
		return nil, err
	}
	f, err := openFolder(o.Dir, runAs)
	if err != nil {
		return nil, err
	}
	return &Server{
		options: o, name: name, programs: found, runAs: runAs, folder: f, log: &serverLog{path: f.log()},
	}, nil
}

// startSomewhere starts the server on a port from reserve. If another process takes the port first,
// it tries another.
func (s *Server) startSomewhere(ctx context.Context, reserve func() (*reservation, error)) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for attempt := 1; ; attempt++ {
		port, err := reserve()
		if err != nil {
			return fmt.Errorf("choose a port: %w", err)
		}
		s.port = port
		s.address.Store(net.JoinHostPort("127.0.0.1", strconv.Itoa(port.number)))
		if err = s.run(ctx); err == nil || attempt == portAttempts || !errors.Is(err, errPortTaken) {
			return err
		}
		s.port = nil
		if err = port.release(); err != nil {
			return err
		}
	}
}

// Name returns the server's cluster_name: "primary", "standby1" and so on, unless set by Options. A
// standby identifies itself to its primary by this name, so use it in SetSynchronous. The standby's
// replication slot has the same name, so the name may contain only lower-case letters, digits
// and underscores.
func (s *Server) Name() string { return s.name }

// Addr returns the server's host and port, even while it is stopped.
func (s *Server) Addr() string {
	address, _ := s.address.Load().(string)
	return address
}

// URL returns the URL of a database on the server. The database need not exist.
func (s *Server) URL(database string) string {
	u := url.URL{
		Scheme: "postgres", User: url.User(user), Host: s.Addr(), Path: "/" + database, RawQuery: "sslmode=disable",
	}
	return u.String()
}

// PID returns the process ID of the postmaster, or zero if the server is stopped.
func (s *Server) PID() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.process == nil {
		return 0
	}
	return s.process.cmd.Process.Pid
}

// Log returns the end of the server's log, even after Close.
func (s *Server) Log() string { return s.log.tail(maxLog) }

// Close stops the server as in a crash and removes its files, except Options.Dir. Closing twice is
// not an error.
func (s *Server) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil
	}
	s.closed = true
	ctx, cancel := context.WithTimeoutCause(context.Background(), timeout/4, errTimeout)
	defer cancel()
	err := s.stop(ctx, Immediate)
	if err != nil {
		err = errors.Join(err, s.stop(context.Background(), Kill))
	}
	s.log.keep()
	if s.port != nil {
		err = errors.Join(err, s.port.release())
	}
	if err = errors.Join(err, s.folder.remove()); err != nil {
		return fmt.Errorf("close PostgreSQL: %w", err)
	}
	return nil
}
