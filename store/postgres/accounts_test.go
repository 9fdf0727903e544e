package postgres

import (
	"database/sql"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/pgtest"
	"github.com/colaregistry/colaregistry/store"
	"github.com/colaregistry/colaregistry/store/storetest"
)

// oldDatabase returns the URL of a database with an earlier version's schema and the rows that
// statements insert.
func oldDatabase(t *testing.T, version int64, statements ...string) (url string) {
	t.Helper()
	url = pgtest.NewDatabase(t)
	config, err := pgx.ParseConfig(url)
	if err != nil {
		t.Fatal(err)
	}
	db := stdlib.OpenDB(*config)
	defer db.Close()
	mustMigrate(t, db, version)
	for _, statement := range statements {
		if _, err := db.Exec(statement); err != nil {
			t.Fatal(err)
		}
	}
	return url
}

// TestSchemaBeforeIdentities checks that a database created before identities existed keeps its
// accounts, keys and usage, and that an identity with an account's verified address gets that
// account.
func TestSchemaBeforeIdentities(t *testing.T) {
	url := oldDatabase(t, 6,
		`INSERT INTO accounts (email, email_folded, tier, created_at) VALUES ('Ann@example.com', 'ann@example.com', 'pro', '1970-01-01 00:00:01Z')`,
		`INSERT INTO api_keys (account_id, hash, name, prefix, last_four, created_at)
			VALUES (1, decode(repeat('00', 32), 'hex'), 'k', 'lar_', 'wxyz', '1970-01-01 00:00:01Z')`,
		`INSERT INTO usage_months VALUES (1, '2026-11', 5, 6)`)
	now := time.Date(2026, time.November, 20, 12, 0, 0, 0, time.UTC)
	s := mustOpen(t, url, Options{Logger: quiet(), Now: func() time.Time { return now }})
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
	url := oldDatabase(t, 12, storetest.RowsBeforeEmailFolding("to_timestamp(1763640000)"),
		`SELECT setval(pg_get_serial_sequence('accounts', 'id'), 3)`)
	storetest.CheckRowsBeforeEmailFolding(t, mustOpen(t, url, Options{Logger: quiet()}))
}

// TestUnicodeFoldedEmails checks the folding of addresses that a process with Unicode folding
// writes after the migration.
func TestUnicodeFoldedEmails(t *testing.T) {
	url := migratedDatabase(t)
	s := mustOpen(t, url, Options{Logger: quiet()})
	db, err := sql.Open("pgx", url)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	if _, err := db.Exec(`SET client_encoding TO 'UTF8'`); err != nil {
		t.Fatal(err)
	}
	storetest.CheckFolding(t, s, "to_timestamp(1763640000)", func(statement string) error {
		_, err := db.Exec(statement)
		return err
	})
}

// TestDatabaseClockForLinks checks that all times of identities, apps and links come from the
// database's clock by default.
func TestDatabaseClockForLinks(t *testing.T) {
	url := migratedDatabase(t)
	s := mustOpen(t, url, Options{Logger: quiet()})
	var start, ended time.Time
	query(t, url, `SELECT clock_timestamp()`, &start)
	a, err := s.AccountOf(t.Context(), knownIdentity, "")
	if err != nil {
		t.Fatal(err)
	}
	app, err := s.RegisterApp(t.Context(), store.App{Issuer: knownIdentity.Issuer, ClientID: "app"})
	if err != nil {
		t.Fatal(err)
	}
	link, err := s.Connect(t.Context(), a.ID, app.ID, nil)
	if err != nil {
		t.Fatal(err)
	}
	used := store.Units{
		Channel:    cola.ChannelMCP,
		Credential: cola.Credential{Kind: cola.CredentialLink, ID: link.ID},
		Requests:   1,
	}
	err = s.Settle(t.Context(), store.Batch{ID: storetest.NewBatchID(), Accounts: []cola.AccountID{a.ID}},
		func(time.Time, []store.AccountState) []store.Entry {
			return []store.Entry{{Account: a.ID, Requests: 1, Units: []store.Units{used}}}
		})
	if err == nil {
		err = s.RevokeLink(t.Context(), 0, link.ID)
	}
	if err == nil {
		err = s.DisableApp(t.Context(), app.ID)
	}
	if err != nil {
		t.Fatal(err)
	}
	query(t, url, `SELECT clock_timestamp()`, &ended)
	list, err := s.Links(t.Context(), a.ID)
	if err != nil || len(list) != 1 {
		t.Fatalf("Links = %v, %v; want one link", list, err)
	}
	link = list[0]
	order := []time.Time{
		start, a.CreatedAt, app.CreatedAt, link.CreatedAt,
		link.LastUsedAt, link.RevokedAt, link.App.DisabledAt, ended,
	}
	if !slices.IsSortedFunc(order, time.Time.Compare) {
		t.Errorf("times %v are not in order", order)
	}
}
