package pgtest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"testing"
)

// shared is the server of this test binary. It is a package variable because, like TestMain, it
// exists once per binary.
var shared struct {
	mu      sync.Mutex
	running bool // Main is running
	server  *Server
	err     error // result of the first attempt, which is not retried
}

// Main runs the tests and then closes the shared server if a test started it. In a package that
// uses Shared or NewDatabase, TestMain passes its result to os.Exit.
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

// Shared returns the server that all tests in a binary share. The first call starts it. Tests must
// leave it running. If PostgreSQL is missing, the test fails with install instructions.
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
		return nil, errors.New("a shared server requires a TestMain that calls pgtest.Main")
	case shared.server == nil && shared.err == nil:
		// Do not use the context of the test that happens to come first.
		shared.server, shared.err = Start(context.Background(), Options{})
	}
	return shared.server, shared.err
}

// NewDatabase returns the URL of an empty database on the shared server. The database is dropped
// when the test ends.
func NewDatabase(t testing.TB) string {
	t.Helper()
	return newTempDatabase(t, func(s *Server) (string, error) { return s.CreateDatabase(t.Context()) })
}

// CloneDatabase returns the URL of a copy of a database on the shared server. The original must
// have no connections. The copy is dropped when the test ends.
func CloneDatabase(t testing.TB, url string) string {
	t.Helper()
	return newTempDatabase(t, func(s *Server) (string, error) { return s.CloneDatabase(t.Context(), url) })
}

func newTempDatabase(t testing.TB, create func(*Server) (string, error)) string {
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
