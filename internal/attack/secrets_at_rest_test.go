package attack

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/keyring"
	"github.com/colaregistry/colaregistry/internal/mailtest"
	"github.com/colaregistry/colaregistry/internal/program"
)

// linkToken matches the token in an email confirmation link.
var linkToken = regexp.MustCompile(`/confirm/([\w-]+)`)

// TestSecretsAtRest reads the whole database as a thief would. The database must not contain
// current or replaced webhook secrets, challenges or their codes, or tokens from emailed links.
func TestSecretsAtRest(t *testing.T) {
	mailServer := mailtest.Start(t)
	o := program.Options{Flags: []string{
		"--smtp", mailServer.URL(), "--mail-from", "alerts@example.com", "--webhook-allow-private",
	}}
	onBoth(t, o, func(t *testing.T, s *site) {
		endpoint := newEndpoint(t, http.StatusNoContent)
		key := s.account("holder@example.com", cola.TierPro).Key.Reveal()
		before := len(mailServer.Messages())
		hook := s.destination(key, "webhook", endpoint.URL+"/hook")
		rotated := s.rest(key, http.MethodPost, "/destinations/"+hook["uuid"].(string)+"/secret",
			nil).JSON(t)["data"].(map[string]any)
		s.destination(key, "email", fmt.Sprintf("stranger%d@example.com", before))
		awaitTrue(t, "the email", func() bool { return len(mailServer.Messages()) > before })
		link := linkToken.FindStringSubmatch(mailServer.Messages()[before].Text)
		if link == nil {
			t.Fatalf("no link in %s", mailServer.Messages()[before].Text)
		}
		if page := s.send(http.DefaultClient, http.MethodGet, "/confirm/"+link[1], nil, nil); page.Status != http.StatusOK {
			t.Errorf("link: status %d, want 200", page.Status)
		}
		s.requireNoneOf(map[string]string{
			"replaced secret": hook["secret"].(string), "secret": rotated["secret"].(string), "link": link[1],
		})
		challenge := endpoint.await(t, "destination.confirm")["data"].(map[string]any)
		code := challenge["code"].(string)
		s.requireNoneOf(map[string]string{
			"challenge": challenge["challenge"].(string),
			"code":      code, "code without a hyphen": strings.ReplaceAll(code, "-", ""),
		})
		if status := s.Run("secret", "status"); !regexp.MustCompile(`(?m)^[0-9a-f]{8} +3 +current$`).MatchString(status) {
			t.Errorf("secret status printed %q, want one key with 3 secrets", status)
		}
	})
}

// requireNoneOf checks that the database contains none of the secrets in plaintext.
func (s *site) requireNoneOf(secrets map[string]string) {
	s.t.Helper()
	content := s.stolen()
	for what, secret := range secrets {
		if bytes.Contains(content, []byte(strings.TrimPrefix(secret, "whsec_"))) {
			s.t.Errorf("database contains the %s in plaintext", what)
		}
	}
}

// stolen returns the database's entire contents: the bytes of its files, or every text, binary,
// JSON and array column.
func (s *site) stolen() (content []byte) {
	s.t.Helper()
	if s.DatabaseURL == "" {
		for _, name := range []string{"registry.db", "registry.db-wal"} {
			b, err := os.ReadFile(filepath.Join(s.Dir, name))
			if err != nil && !os.IsNotExist(err) {
				s.t.Fatal(err)
			}
			content = append(content, b...)
		}
		return content
	}
	db, err := pgx.Connect(s.t.Context(), s.DatabaseURL)
	if err != nil {
		s.t.Fatal(err)
	}
	defer db.Close(s.t.Context())
	rows, err := db.Query(s.t.Context(), `SELECT format('SELECT coalesce(string_agg(%I::text, '' ''), '''') FROM %I.%I', column_name, table_schema, table_name)
		FROM information_schema.columns WHERE table_schema = current_schema() AND data_type IN ('text', 'bytea', 'jsonb', 'ARRAY', 'character varying')`)
	if err != nil {
		s.t.Fatal(err)
	}
	queries, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil || len(queries) < 50 {
		s.t.Fatalf("%d text columns, %v; want at least 50", len(queries), err)
	}
	for _, query := range queries {
		var text string
		if err := db.QueryRow(s.t.Context(), query).Scan(&text); err != nil {
			s.t.Fatal(err)
		}
		content = append(content, text...)
	}
	return content
}

// TestWrongKeyFile checks that a server refuses to start with another database's keys, or on
// PostgreSQL without keys.
func TestWrongKeyFile(t *testing.T) {
	onBoth(t, program.Options{}, func(t *testing.T, s *site) {
		s.Stop()
		other := filepath.Join(t.TempDir(), "other.key")
		if err := keyring.Create(other); err != nil {
			t.Fatal(err)
		}
		o := program.Options{
			Dir: s.Dir, DatabaseURL: s.DatabaseURL, NoKeyFile: true, Flags: []string{"--secret-key-file", other},
		}
		err := program.Launch(t, o).ExitError()
		if err == nil || !strings.Contains(err.Error(), "to which this database is bound") {
			t.Errorf("start with another key file: %v, want a rejection", err)
		}
		if s.DatabaseURL != "" {
			o.Flags = nil
			err := program.Launch(t, o).ExitError()
			if err == nil || !strings.Contains(err.Error(), "secret create") {
				t.Errorf("start without a key file: %v, want a rejection that mentions secret create", err)
			}
		}
		program.Start(t, program.Options{Dir: s.Dir, DatabaseURL: s.DatabaseURL}) // with its own keys
	})
}

// awaitTrue waits up to 30 seconds for a condition.
func awaitTrue(t *testing.T, what string, condition func() bool) {
	t.Helper()
	for range 600 {
		if condition() {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Fatalf("timed out after 30 seconds waiting for: %s", what)
}

// destination creates a destination and returns it.
func (s *site) destination(key, kind, address string) map[string]any {
	s.t.Helper()
	got := s.rest(key, http.MethodPost, "/destinations", map[string]any{"kind": kind, "address": address})
	if got.Status != http.StatusCreated {
		s.t.Fatalf("%s: status %d, want 201: %s", address, got.Status, got.Body)
	}
	return got.JSON(s.t)["data"].(map[string]any)
}
