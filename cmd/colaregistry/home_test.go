package main

import (
	"path/filepath"
	"testing"

	"github.com/colaregistry/colaregistry/store/sqlite"
)

// home is where a registry under test keeps its data.
type home struct {
	dir string // the data folder
}

// embedded returns a home whose first start is still to come.
func embedded(t *testing.T) home { return home{dir: t.TempDir()} }

// flags returns what tells a command of the home.
func (h home) flags() []string { return []string{"--data-dir", h.dir} }

// run runs a command on the home to its end and returns what it printed on standard output.
func (h home) run(t *testing.T, args ...string) string {
	t.Helper()
	return mustRun(t, append(args, h.flags()...)...)
}

// mustOpen opens the home's database in this process.
func mustOpen(t *testing.T, h home) database {
	t.Helper()
	st, err := sqlite.Open(t.Context(), filepath.Join(h.dir, "registry.db"), sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { st.Close() })
	return st
}
