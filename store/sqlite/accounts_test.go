package sqlite

import (
	"database/sql"
	"path/filepath"
	"testing"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
	"github.com/colaregistry/colaregistry/store/storetest"
)

// oldDatabase returns the path of a database with the schema of an earlier version and the rows
// that the statements insert.
func oldDatabase(t *testing.T, version int64, statements string, args ...any) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "registry.db")
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	p, err := newProvider(db)
	if err == nil {
		_, err = p.UpTo(t.Context(), version)
	}
	if err == nil {
		_, err = db.Exec(statements, args...)
	}
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// TestSchemaBeforeIdentities checks that a database created before identities existed keeps its
// accounts, keys and usage, and that an identity with an account's verified address gets that
// account.
func TestSchemaBeforeIdentities(t *testing.T) {
	path := oldDatabase(t, 6, `INSERT INTO accounts (email, email_folded, tier, created_at) VALUES ('Ann@example.com', 'ann@example.com', 'pro', 1000000);
			INSERT INTO api_keys (account_id, hash, name, prefix, last_four, created_at) VALUES (1, ?, 'k', 'lar_', 'wxyz', 1000000);
			INSERT INTO usage_months VALUES (1, '2026-11', 5, 6)`, make([]byte, 32))
	now := time.Date(2026, time.November, 20, 12, 0, 0, 0, time.UTC)
	s := mustOpen(t, path, Options{Logger: quiet(), Now: func() time.Time { return now }})
	storetest.CheckUpgraded(t, s, store.Account{
		ID:        1,
		Email:     "Ann@example.com",
		Tier:      cola.TierPro,
		CreatedAt: time.Unix(1, 0).UTC(),
	},
		cola.Credential{Kind: cola.CredentialKey, ID: 1}, cola.Used{DetailViews: 5, ListRecords: 6})
}

// TestSchemaBeforeEmailFolding checks that addresses folded with Unicode rules by an earlier
// version are refolded with ASCII rules.
func TestSchemaBeforeEmailFolding(t *testing.T) {
	path := oldDatabase(t, 12, storetest.RowsBeforeEmailFolding("1763640000000000"))
	storetest.CheckRowsBeforeEmailFolding(t, mustOpen(t, path, Options{Logger: quiet()}))
}

// TestUnicodeFoldedEmails checks the folding of addresses that a process with Unicode folding
// writes after the migration.
func TestUnicodeFoldedEmails(t *testing.T) {
	path := filepath.Join(t.TempDir(), "registry.db")
	s := mustOpen(t, path, Options{Logger: quiet()})
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	storetest.CheckFolding(t, s, "1763640000000000", func(statement string) error {
		_, err := db.Exec(statement)
		return err
	})
}
