package sqlite

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/colaregistry/colaregistry/store/storetest"
)

// accountReferences lists the columns of the schema that refer to other tables.
const accountReferences = `SELECT t.name, f."from", f."table", coalesce(f."to", 'id') FROM sqlite_schema t
		JOIN pragma_foreign_key_list(t.name) f WHERE t.type = 'table'
	UNION SELECT t.name, c.name, 'accounts', 'id' FROM sqlite_schema t JOIN pragma_table_info(t.name) c
		WHERE t.type = 'table' AND c.name = 'account_id'`

func TestAccountRemoval(t *testing.T) {
	now := storetest.Epoch
	path := filepath.Join(t.TempDir(), "registry.db")
	s := mustOpen(t, path, Options{Logger: quiet(), Now: func() time.Time { return now }})
	rows, err := s.read.db.Query(accountReferences)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var references []storetest.AccountReference
	for rows.Next() {
		var r storetest.AccountReference
		if err := rows.Scan(&r.Table, &r.Column, &r.Parent, &r.ParentColumn); err != nil {
			t.Fatal(err)
		}
		references = append(references, r)
	}
	storetest.AccountRemoval(t, s, func(d time.Duration) { now = now.Add(d) }, references, func(table, where string) (n int) {
		if err := s.read.db.QueryRow(`SELECT count(*) FROM ` + table + ` WHERE ` + where).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	})
	if _, err := s.upkeep.checkpoint(t.Context(), "TRUNCATE"); err != nil { // moves the journal into the file
		t.Fatal(err)
	}
	file, err := os.ReadFile(path)
	if err != nil || bytes.Contains(file, []byte("gone@")) || !bytes.Contains(file, []byte("other@")) {
		t.Errorf("the file contains the address of the deleted account, or lacks that of the other account (error %v)", err)
	}
}
