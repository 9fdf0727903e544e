package sqlite

import (
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
	"github.com/colaregistry/colaregistry/store/storetest"
)

// TestOpenCreatesDatabase checks that Open creates missing folders, accepts file names with URL
// special characters, and makes the file private.
func TestOpenCreatesDatabase(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new folder", "100% #1?")
	path := filepath.Join(dir, "registry&x=y.db")
	s := mustOpen(t, path, Options{Logger: quiet()})
	if !s.Created() {
		t.Error("Created = false, want true")
	}
	reopened := mustOpen(t, path, Options{Logger: quiet(), NoMigrate: true})
	if reopened.Created() || reopened.ID() != s.ID() {
		t.Errorf("second Open: Created = %v, ID = %s; want false, %s", reopened.Created(), reopened.ID(), s.ID())
	}
	if _, err := s.CreateAccount(t.Context(), "a@example.com", cola.TierFree); err != nil {
		t.Fatal(err)
	}
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if !strings.HasPrefix(f.Name(), filepath.Base(path)) {
			t.Errorf("unexpected file %q", f.Name())
		}
		checkMode(t, filepath.Join(dir, f.Name()), 0o600)
	}
	checkMode(t, dir, 0o700)
}

// checkMode checks the permissions of a file or folder. Windows has none.
func checkMode(t *testing.T, path string, want os.FileMode) {
	t.Helper()
	if runtime.GOOS == "windows" {
		return
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Error(err)
	} else if got := info.Mode().Perm(); got != want {
		t.Errorf("mode of %s = %v, want %v", path, got, want)
	}
}

func TestSchemaVersions(t *testing.T) {
	path := filepath.Join(t.TempDir(), "registry.db")
	if _, err := Open(t.Context(), path, Options{NoMigrate: true}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("Open(missing file, NoMigrate) error = %v, want fs.ErrNotExist", err)
	}
	current, latest, err := Versions(t.Context(), path)
	if err != nil || current != 0 || latest == 0 {
		t.Errorf("Versions(missing file) = %d, %d, %v; want 0, the latest, nil", current, latest, err)
	}
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("Stat after Versions: error = %v, want fs.ErrNotExist", err)
	}
	for _, want := range []int64{0, latest} {
		if from, to, err := Migrate(t.Context(), path, Options{Logger: quiet()}); err != nil || from != want ||
			to != latest {
			t.Errorf("Migrate = %d, %d, %v; want %d, %d, nil", from, to, err, want, latest)
		}
	}

	setVersion(t, path, `DELETE FROM goose_db_version WHERE version_id = ?`, latest)
	older, _, err := Versions(t.Context(), path)
	if err != nil || older >= latest {
		t.Errorf("Versions(older schema) = %d, %v; want one below %d", older, err, latest)
	}
	if _, err := Open(t.Context(), path, Options{NoMigrate: true}); !errors.Is(err, store.ErrOlderSchema) ||
		!strings.Contains(err.Error(), fmt.Sprintf("version %d, this program needs %d", older, latest)) {
		t.Errorf("Open(older schema, NoMigrate) error = %v, want ErrOlderSchema with both versions", err)
	}
	setVersion(t, path,
		`INSERT INTO goose_db_version (version_id, is_applied) VALUES (?, TRUE), (?1 + 1, TRUE)`, latest)
	for name, err := range map[string]error{"Open": openError(t, path), "Migrate": migrateError(t, path)} {
		if !errors.Is(err, store.ErrNewerSchema) {
			t.Errorf("%s(newer schema) error = %v, want ErrNewerSchema", name, err)
		}
	}
	if current, _, err := Versions(t.Context(), path); err != nil || current != latest+1 {
		t.Errorf("Versions(newer schema) = %d, %v; want %d", current, err, latest+1)
	}
}

func openError(t *testing.T, path string) error {
	t.Helper()
	_, err := Open(t.Context(), path, Options{Logger: quiet()})
	return err
}

func migrateError(t *testing.T, path string) error {
	t.Helper()
	_, _, err := Migrate(t.Context(), path, Options{Logger: quiet()})
	return err
}

func setVersion(t *testing.T, path, query string, args ...any) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec(query, args...); err != nil {
		t.Fatal(err)
	}
}

func TestOpenErrors(t *testing.T) {
	dir := t.TempDir()
	text := filepath.Join(dir, "text.db")
	if err := os.WriteFile(text, []byte(strings.Repeat("not a database ", 500)), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, path := range map[string]string{
		"folder":            dir,
		"other file format": text,
		"file as a folder":  filepath.Join(text, "x.db"),
	} {
		err := openError(t, path)
		if err == nil || !strings.Contains(err.Error(), "open database") {
			t.Errorf("Open(%s) error = %v, want one that contains \"open database\"", name, err)
		}
	}
}

// TestFullDatabase checks that writes to a full database fail as unavailable without side effects,
// and succeed once there is room.
func TestFullDatabase(t *testing.T) {
	s := mustOpen(t, filepath.Join(t.TempDir(), "registry.db"), Options{Logger: quiet()})
	var pages, ignored int
	if err := s.records.conn.QueryRowContext(t.Context(), `PRAGMA page_count`).Scan(&pages); err != nil {
		t.Fatal(err)
	}
	limit := func(w *writer, n int) {
		if err := w.conn.QueryRowContext(t.Context(), fmt.Sprintf(`PRAGMA max_page_count = %d`, n)).Scan(&ignored); err != nil {
			t.Fatal(err)
		}
	}
	limit(s.records, pages+20)
	limit(s.ledger, pages)
	outcomes, err := s.UpsertColas(t.Context(), storetest.Samples(0, 1_000), store.Commit)
	if !errors.Is(err, store.ErrUnavailable) || !errors.Is(err, store.ErrDiskFull) {
		t.Errorf("UpsertColas(full database) error = %v, want ErrUnavailable and ErrDiskFull", err)
	}
	if stored := storetest.CheckSamples(t, s); stored != len(outcomes) || stored == 1_000 {
		t.Errorf("%d labels stored, want %d, as reported, and fewer than 1000", stored, len(outcomes))
	}
	var accountErr error
	for i := 0; i < 1_000 && accountErr == nil; i++ {
		_, accountErr = s.CreateAccount(t.Context(), fmt.Sprintf("%060d@example.com", i), cola.TierFree)
	}
	if !errors.Is(accountErr, store.ErrUnavailable) || !errors.Is(accountErr, store.ErrDiskFull) {
		t.Errorf("CreateAccount(full database) error = %v, want ErrUnavailable and ErrDiskFull", accountErr)
	}
	limit(s.records, 1<<30)
	limit(s.ledger, 1<<30)
	if _, err := s.UpsertColas(t.Context(), storetest.Samples(0, 1_000), store.Commit); err != nil {
		t.Errorf("UpsertColas after freeing space: %v", err)
	}
	if stored := storetest.CheckSamples(t, s); stored != 1_000 {
		t.Errorf("%d labels stored, want 1000", stored)
	}
	if _, err := s.CreateAccount(t.Context(), "last@example.com", cola.TierFree); err != nil {
		t.Errorf("CreateAccount after freeing space: %v", err)
	}
	checkFile(t, s)
}

// TestJournalSize checks that an import runs checkpoints as it goes, so that the journal file stays
// much smaller than the imported data.
func TestJournalSize(t *testing.T) {
	journal := func(backlog int) int64 {
		path := filepath.Join(t.TempDir(), "registry.db")
		s := mustOpen(t, path, Options{Logger: quiet()})
		s.upkeep.importBacklog = backlog
		for n := 0; n < 6_000; n += 500 {
			if _, err := s.UpsertColas(t.Context(), storetest.Samples(n, 500), store.Commit); err != nil {
				t.Fatal(err)
			}
		}
		info, err := os.Stat(path + "-wal")
		if err != nil {
			t.Fatal(err)
		}
		return info.Size()
	}
	unlimited, limited := journal(1<<30), journal(1<<20/pageSize)
	if limited > unlimited/2 {
		t.Errorf("journal has %d bytes, want at most %d", limited, unlimited/2)
	}
}

// TestFilesAfterClose checks that closing the last store leaves all data in the database file, and
// that Remove deletes all files.
func TestFilesAfterClose(t *testing.T) {
	path := filepath.Join(t.TempDir(), "registry.db")
	s, other := mustOpen(t, path, Options{Logger: quiet()}), mustOpen(t, path, Options{Logger: quiet()})
	if _, err := s.CreateAccount(t.Context(), "a@example.com", cola.TierFree); err != nil {
		t.Fatal(err)
	}
	for _, st := range []*Store{s, other} {
		if _, err := st.AccountByEmail(t.Context(), "a@example.com"); err != nil {
			t.Fatal(err)
		}
		if err := st.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := os.Stat(path + walFile); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Stat(journal) after Close: error = %v, want fs.ErrNotExist", err)
	}
	if err := Remove(path); err != nil {
		t.Fatal(err)
	}
	if left, err := filepath.Glob(path + "*"); err != nil || len(left) > 0 {
		t.Errorf("files after Remove = %v, %v; want none", left, err)
	}
}
