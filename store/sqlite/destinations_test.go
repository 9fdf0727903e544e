package sqlite

import (
	"bytes"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
	"github.com/colaregistry/colaregistry/store/storetest"
)

// TestSchemaBeforeDeliveries checks that existing accounts and searches get notifications after the
// migration.
func TestSchemaBeforeDeliveries(t *testing.T) {
	path := oldDatabase(t, 9, storetest.RowsBeforeDeliveries("1763640000000000", "1763650000000000"))
	storetest.CheckRowsBeforeDeliveries(t, mustOpen(t, path, Options{Logger: quiet()}))
}

// TestSchemaBeforeSecrets checks that endpoints that accepted a message stay active, and that no
// secret remains in plaintext.
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
	if _, err := s.RewriteSecrets(t.Context(), "sealed:",
		func(store.SealedSecret) (string, error) { return "sealed:00000000:x", nil }); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(db.Close(), s.Close()); err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, plaintext := range []string{"whsec_", "3f6c1f1f0a9b4c52"} {
		if bytes.Contains(content, []byte(plaintext)) {
			t.Errorf("file contains %q, want no plaintext secrets", plaintext)
		}
	}
}

// TestPlaintextErasure checks that after the upgrade no page of the file, used or free, contains a
// plaintext secret or token from an earlier version, even if rows were deleted or moved before the
// upgrade.
func TestPlaintextErasure(t *testing.T) {
	const destinations = 800
	secrets := make([]string, destinations)
	rows := make([]string, destinations)
	for n := range secrets {
		secrets[n] = strings.ToLower(rand.Text())
		rows[n] = fmt.Sprintf("('d%[1]d', 1, 'webhook', 'https://example.com/%[1]d', 'https://example.com/%[1]d', 'active', 'T%[2]s', 'whsec_%[2]s', 1, 1)", n, secrets[n])
	}
	path := oldDatabase(t, 14, `INSERT INTO accounts (id, email, email_folded, tier, created_at) VALUES (1, 'ann@example.com', 'ann@example.com', 'pro', 1);
		INSERT INTO destinations (uuid, account_id, kind, address, address_folded, state, token, secret, created_at, last_delivered_at) VALUES `+strings.Join(rows, ", ")+`;
		DELETE FROM destinations WHERE id % 7 = 0; UPDATE destinations SET uuid = uuid || '-and-a-longer-one-that-moves-the-row' WHERE id % 3 = 0`)
	s := mustOpen(t, path, Options{Logger: quiet()})
	for range 2 { // runs at every start
		if _, err := s.RewriteSecrets(t.Context(), "sealed:",
			func(store.SealedSecret) (string, error) { return "sealed:00000000:x", nil }); err != nil {
			t.Fatal(err)
		}
		if _, err := s.HashLinks(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	check := func(when string) {
		t.Helper()
		var content []byte
		for _, file := range []string{path, path + walFile} {
			b, err := os.ReadFile(file)
			if err != nil && !errors.Is(err, os.ErrNotExist) {
				t.Fatal(err)
			}
			content = append(content, b...)
		}
		left := 0
		for _, text := range secrets {
			if bytes.Contains(content, []byte(text)) {
				left++
			}
		}
		if left > 0 {
			t.Errorf("%s: file contains %d of %d secrets, want 0", when, left, destinations)
		}
	}
	check("while open")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	check("after Close")
}

// TestConfirmationRetention checks that a new request deletes some of the requests that no longer
// count toward any limit.
func TestConfirmationRetention(t *testing.T) {
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	s := mustOpen(t, filepath.Join(t.TempDir(), "registry.db"),
		Options{Logger: quiet(), Now: func() time.Time { return now }})
	account, err := s.CreateAccount(t.Context(), "a@example.com", cola.TierFree)
	if err != nil {
		t.Fatal(err)
	}
	request := func(n int) {
		t.Helper()
		_, err := s.CreateDestination(t.Context(), store.NewDestination{
			Account:         account.ID,
			Kind:            cola.KindEmail,
			Address:         fmt.Sprintf("x%d@example.com", n),
			State:           cola.DestinationUnconfirmed,
			MaxDestinations: 100,
			Confirm: &store.ConfirmationRequest{
				Due:    now,
				Limits: store.ConfirmationLimits{Window: time.Hour, MaxPerAccount: 100, MaxPerAddress: 100},
			},
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for n := range 10 {
		request(n)
	}
	for i, want := range []int{11, 4, 2, 3} { // each request deletes up to eight expired ones and adds one
		var left int
		request(20 + i)
		if err := s.read.db.QueryRow(`SELECT count(*) FROM confirmations_asked`).Scan(&left); err != nil {
			t.Fatal(err)
		}
		if left != want {
			t.Errorf("%d confirmation requests left after %d new ones, want %d", left, i+1, want)
		}
		if i == 0 {
			now = now.Add(store.ConfirmationRetention)
		}
	}
}

func TestDeadlocks(t *testing.T) {
	storetest.CheckDeadlocks(t, mustOpen(t, filepath.Join(t.TempDir(), "registry.db"), Options{Logger: quiet()}))
}
