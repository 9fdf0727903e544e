package sqlite

import (
	"bytes"
	"database/sql"
	"errors"
	"os"
	"testing"

	"github.com/colaregistry/colaregistry/store"
	"github.com/colaregistry/colaregistry/store/storetest"
)

// TestSchemaBeforeDeliveries: accounts and searches that are there can be told what is found.
func TestSchemaBeforeDeliveries(t *testing.T) {
	path := oldDatabase(t, 9, storetest.RowsBeforeDeliveries("1763640000000000", "1763650000000000"))
	storetest.CheckRowsBeforeDeliveries(t, mustOpen(t, path, Options{Logger: quiet()}))
}

// TestSchemaBeforeSecrets: endpoints that took a message stay active, and nothing stays in clear.
func TestSchemaBeforeSecrets(t *testing.T) {
	const created = "1763640000000000"
	path := oldDatabase(t, 14, storetest.RowsBeforeSecrets(created))
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	s := mustOpen(t, path, Options{Logger: quiet()})
	storetest.CheckRowsBeforeSecrets(t, s, created, func(statement string) error {
		_, err := db.Exec(statement)
		return err
	}, func(uuid string) (token string) {
		if err := db.QueryRow(`SELECT token FROM destinations WHERE uuid = ?`, uuid).Scan(&token); err != nil {
			t.Fatal(err)
		}
		return token
	})
	if _, err := s.RewriteSecrets(t.Context(), "sealed:", func(store.SealedSecret) (string, error) { return "sealed:00000000:x", nil }); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(db.Close(), s.Close()); err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, clear := range []string{"whsec_", "3f6c1f1f0a9b4c52"} {
		if bytes.Contains(content, []byte(clear)) {
			t.Errorf("the file still holds %s…", clear)
		}
	}
}
