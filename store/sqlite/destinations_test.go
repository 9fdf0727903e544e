package sqlite

import (
	"database/sql"
	"path/filepath"
	"testing"

	"github.com/colaregistry/colaregistry/store/storetest"
)

// TestSchemaBeforeDeliveries: accounts and searches that are there can be told what is found.
func TestSchemaBeforeDeliveries(t *testing.T) {
	path := filepath.Join(t.TempDir(), "registry.db")
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	p, err := newProvider(db)
	if err == nil {
		_, err = p.UpTo(t.Context(), 9)
	}
	if err == nil {
		_, err = db.Exec(storetest.RowsBeforeDeliveries("1763640000000000", "1763650000000000"))
	}
	if err != nil {
		t.Fatal(err)
	}
	storetest.CheckRowsBeforeDeliveries(t, mustOpen(t, path, Options{Logger: quiet()}))
}
