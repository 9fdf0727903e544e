// Package shareddata finds the optional folder of real TTB data for tests.
package shareddata

import (
	"os"
	"path/filepath"
	"testing"
)

// File returns the path of a file in the data folder. It skips the test if the file is missing. The
// folder is COLAREGISTRY_SHARED_DATA, by default shared/data next to the module.
func File(t testing.TB, name string) string {
	t.Helper()
	paths := Files(t, name)
	return paths[0]
}

// Files returns the paths in the data folder that match a [filepath.Glob] pattern. It skips the
// test if there are none.
func Files(t testing.TB, pattern string) []string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(location(t), filepath.FromSlash(pattern)))
	if err != nil {
		t.Fatal(err)
	}
	if len(paths) == 0 {
		t.Skipf("no data file %s; set COLAREGISTRY_SHARED_DATA to the data folder", pattern)
	}
	return paths
}

// Folder returns the path of the data folder, or "" if it is missing.
func Folder(t testing.TB) string {
	t.Helper()
	if folder := location(t); exists(folder) {
		return folder
	}
	return ""
}

func location(t testing.TB) string {
	if folder := os.Getenv("COLAREGISTRY_SHARED_DATA"); folder != "" {
		return folder
	}
	return filepath.Join(moduleRoot(t), "..", "shared", "data")
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func moduleRoot(t testing.TB) string {
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			t.Fatal("no go.mod in a parent folder")
		}
		dir = parent
	}
}
