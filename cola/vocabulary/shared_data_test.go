package vocabulary

import (
	"encoding/csv"
	"os"
	"testing"

	"github.com/colaregistry/colaregistry/internal/shareddata"
)

// sharedCSV returns the rows of a CSV file in the data folder, without its header.
func sharedCSV(t *testing.T, file string) [][]string {
	t.Helper()
	f, err := os.Open(shareddata.File(t, file))
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
