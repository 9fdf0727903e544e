package pgtest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"testing"
)

// shared is the one server of a test binary. It belongs to the binary as TestMain does, which is why it is a variable.
var shared struct {
	mu      sync.Mutex
	running bool // within Main
	server  *Server
	err     error // of the first attempt, which is not repeated
}

// Main runs the tests and closes the server that they shared, if any of them asked for it. TestMain of a package that uses
// Shared or NewDatabase passes its result to os.Exit.
func Main(m *testing.M) int {
	shared.mu.Lock()
	shared.running = true
	shared.mu.Unlock()
	code := m.Run()
	shared.mu.Lock()
	defer shared.mu.Unlock()
	shared.running = false
	if shared.server == nil {
		return code
	}
	if err := shared.server.Close(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return max(code, 1)
	}
	return code
}

// Shared returns the server that all tests of a test binary share; the first call starts it. Tests must leave it running.
// Where there is no PostgreSQL the test fails, with what to install.
func Shared(t testing.TB) *Server {
	t.Helper()
	s, err := sharedServer()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func sharedServer() (*Server, error) {
	shared.mu.Lock()
	defer shared.mu.Unlock()
	switch {
	case !shared.running:
		return nil, errors.New("a shared server needs a TestMain that runs the tests with pgtest.Main")
	case shared.server == nil && shared.err == nil:
		// Not under the context of the test that happens to come first.
		shared.server, shared.err = Start(context.Background(), Options{})
	}
	return shared.server, shared.err
}

// NewDatabase returns the address of an empty database on the shared server, which is dropped at the end of the test.
func NewDatabase(t testing.TB) string {
	t.Helper()
	return temporary(t, func(s *Server) (string, error) { return s.CreateDatabase(t.Context()) })
}

// CloneDatabase returns the address of a copy of a database of the shared server, to which nobody may be connected; the copy
// is dropped at the end of the test.
func CloneDatabase(t testing.TB, url string) string {
	t.Helper()
	return temporary(t, func(s *Server) (string, error) { return s.CloneDatabase(t.Context(), url) })
}

func temporary(t testing.TB, create func(*Server) (string, error)) string {
	t.Helper()
	s := Shared(t)
	url, err := create(s)
	if err != nil {
		t.Fatalf("%v\n%s", err, s.Log())
	}
	t.Cleanup(func() {
		if err := s.DropDatabase(context.Background(), url); err != nil {
			t.Errorf("%v\n%s", err, s.Log())
		}
	})
	return url
}
