package cola

import (
	"encoding/csv"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// sharedData returns the path of a file of the optional data folder, or skips the test where there is none. The folder is
// the one named by COLAREGISTRY_SHARED_DATA, else shared/data beside the module.
func sharedData(t *testing.T, file string) string {
	t.Helper()
	folder := os.Getenv("COLAREGISTRY_SHARED_DATA")
	if folder == "" {
		folder = filepath.Join(moduleRoot(t), "..", "shared", "data")
	}
	path := filepath.Join(folder, filepath.FromSlash(file))
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		t.Skipf("%s is not here; set COLAREGISTRY_SHARED_DATA to the folder of real data to run this test", file)
	}
	return path
}

func moduleRoot(t *testing.T) string {
	t.Helper()
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
			t.Fatal("no go.mod above the test")
		}
		dir = parent
	}
}

// sharedCSV returns the rows of a CSV file of the data folder after its header.
func sharedCSV(t *testing.T, file string) [][]string {
	t.Helper()
	f, err := os.Open(sharedData(t, file))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	return rows[1:]
}
