package measure

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// mustScript creates a shell script and returns its path.
func mustScript(t *testing.T, lines string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "program")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+lines+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestImport(t *testing.T) {
	dir := t.TempDir()
	program := mustScript(t,
		`if [ "$1" = demo ]; then echo "made $3"; else echo "$@" >`+dir+`/args; cat >`+dir+`/read; fi`)
	if err := Import(t.Context(), program, 7, 1, "--data-dir", "here"); err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string]string{"args": "import --data-dir here colas -\n", "read": "made 7\n"} {
		if got, err := os.ReadFile(filepath.Join(dir, file)); err != nil || string(got) != want {
			t.Errorf("%s = %q, %v; want %q", file, got, err, want)
		}
	}
}

// TestImportFailure checks that a failed import also ends the program that generates labels.
func TestImportFailure(t *testing.T) {
	program := mustScript(t, `if [ "$1" = demo ]; then yes; else exit 3; fi`)
	if err := Import(t.Context(), program, 7, 1); err == nil || !strings.Contains(err.Error(), "exit status 3") {
		t.Errorf("failed import: err = %v, want exit status 3", err)
	}
}

func TestServeFailure(t *testing.T) {
	log := filepath.Join(t.TempDir(), "log")
	_, err := Serve(t.Context(), mustScript(t, `echo "no $1" >&2; exit 4`), log)
	if err == nil || !strings.Contains(err.Error(), "exit status 4") || !strings.Contains(err.Error(), log) {
		t.Errorf("server that exits: err = %v, want exit status 4 and the log file", err)
	}
	if got, err := os.ReadFile(log); err != nil || string(got) != "no serve\n" {
		t.Errorf("log = %q, %v; want its output", got, err)
	}
}

// TestServeCanceled checks that Serve stops waiting for a server when its context ends.
func TestServeCanceled(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if _, err := Serve(ctx, mustScript(t, "exec sleep 600"), filepath.Join(t.TempDir(), "log")); err == nil {
		t.Error("Serve reports an unresponsive server as ready")
	}
}
