package main

import (
	"context"
	"errors"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"
)

// TestMain makes the test binary, if started with the serve command, act as a server that is ready
// immediately.
func TestMain(m *testing.M) {
	if len(os.Args) > 3 && os.Args[1] == "serve" {
		ready := http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})
		if http.ListenAndServe(os.Args[3], ready) != nil { // after --listen
			os.Exit(1)
		}
	}
	os.Exit(m.Run())
}

// TestFailedStep checks that a step that fails after it started the server does not leave it
// running.
func TestFailedStep(t *testing.T) {
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{program: program, data: filepath.Join(t.TempDir(), "data")}
	failed := errors.New("the step failed")
	err = b.run(t.Context(), func(ctx context.Context) error {
		if _, err := b.serve(ctx); err != nil {
			return err
		}
		return failed
	})
	if !errors.Is(err, failed) {
		t.Fatalf("run: error = %v, want %v", err, failed)
	}
	if conn, err := net.Dial("tcp", b.server.Address); err == nil {
		conn.Close()
		t.Error("the server is still running")
	}
}
