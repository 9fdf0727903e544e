// Package pgtest starts throw-away PostgreSQL servers for tests and measurements: real ones, each with its data in a folder
// of its own, that can be stopped, crashed, started again, followed by a standby and promoted.
//
// The servers listen on the loopback interface only and let everyone in. A server does not outlive its process: Close
// removes everything, on Linux the kernel ends the server of a process that was killed, and the next Start removes the
// folder.
//
// PostgreSQL refuses to run as root. There the servers run as the user postgres, or else nobody.
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
	user = "colaregistry" // the superuser of every server
	// patience bounds every wait, so that a server that never comes up fails the test rather than hanging it.
	patience = 2 * time.Minute
	// portAttempts is how many ports are tried when others take them first.
	portAttempts = 5
)

var errPatience = fmt.Errorf("nothing came of it within %s", patience)

// Options of a server. The zero Options are for tests.
type Options struct {
	// Durable turns on fsync, synchronous_commit and full_page_writes. Without it a server is faster, and what it committed
	// may be lost when it is stopped as by a crash.
	Durable bool
	// Settings are further settings of postgresql.conf, which win over those of this package. A cluster_name is the name
	// of the server (see Name). The port cannot be set.
	Settings map[string]string
	// Dir is the folder for the data and the log. It is made when it is missing, must have no data in it, and stays. When
	// empty the folder is a temporary one, which Close removes.
	Dir string
}

// Server is a PostgreSQL server. Its methods are safe for concurrent use; it must be closed.
type Server struct {
	options  Options
	name     string
	programs programs
	runAs    *identity // nil for the present user
	folder   *folder
	log      *serverLog
	standbys atomic.Int64 // started so far, to name them

	mu      sync.Mutex   // held by whatever starts or stops the server
	port    *reservation // kept while the server is stopped
	address atomic.Value // string, host:port
	process *process     // nil when stopped
	closed  bool
}

// Start makes a new server and waits until it accepts connections. When PostgreSQL is not installed the error says what to
// install; when the server cannot start it has the end of the server's log.
func Start(ctx context.Context, o Options) (*Server, error) {
	return start(ctx, o, "primary", reservePort, initialize)
}

// start makes a server whose data folder is filled by fill, on the first port of reserve that is free.
func start(ctx context.Context, o Options, name string, reserve func() (*reservation, error), fill func(context.Context, *Server) error) (*Server, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, errPatience)
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

// newServer finds what a server needs and makes its folder.
func newServer(o Options, name string) (*Server, error) {
	if _, ok := o.Settings["port"]; ok {
		return nil, errors.New("the port is chosen, it cannot be set")
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
	return &Server{options: o, name: name, programs: found, runAs: runAs, folder: f, log: &serverLog{path: f.log()}}, nil
}

// startSomewhere starts the server on a port that reserve chose, and on another when somebody else took it meanwhile.
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

// Name returns the server's cluster_name: "primary", "standby1" and so on, unless set by Options. It is what a standby
// calls itself to its primary, so it is the name to give to SetSynchronous. A standby's slot has the same name, so
// lower-case letters, digits and underscores make it.
func (s *Server) Name() string { return s.name }

// Addr returns the host and port the server listens on, also while it is stopped.
func (s *Server) Addr() string {
	address, _ := s.address.Load().(string)
	return address
}

// URL returns the address of a database of the server, whether it exists or not.
func (s *Server) URL(database string) string {
	u := url.URL{Scheme: "postgres", User: url.User(user), Host: s.Addr(), Path: "/" + database, RawQuery: "sslmode=disable"}
	return u.String()
}

// Log returns the end of what the server logged, also after Close.
func (s *Server) Log() string { return s.log.tail(logShown) }

// Close stops the server as a crash would, and removes what it made, all but an Options.Dir. Closing twice is no error.
func (s *Server) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil
	}
	s.closed = true
	ctx, cancel := context.WithTimeoutCause(context.Background(), patience/4, errPatience)
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
