package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/demo"
	"github.com/colaregistry/colaregistry/search"
	"github.com/colaregistry/colaregistry/store"
)

// TestFirstStart checks that one command creates a working registry and prints calls that work. The
// next start keeps the registry and prints no key.
func TestFirstStart(t *testing.T) {
	t.Parallel()
	h := embedded(t)
	s := startServer(t, h)
	if s.key == "" {
		t.Fatalf("no key printed:\n%s", s.out.String())
	}
	calls := regexp.MustCompile(`(?m)^\s*curl .*$`).FindAllString(s.out.String(), -1)
	if len(calls) != 3 {
		t.Fatalf("%d curl lines printed, want 3:\n%s", len(calls), s.out.String())
	}
	for _, call := range calls {
		out, err := exec.Command("sh", "-c", strings.TrimSpace(call)+" --silent --show-error --fail").CombinedOutput()
		if err != nil || !strings.HasPrefix(string(out), `{"data":`) || strings.HasPrefix(string(out), `{"data":[]`) {
			t.Errorf("%s: %v\n%.300s", call, err, out)
		}
	}
	before := s.get(t, "/colas?approval_date_from=2005-01-01", s.key)
	if total := before.at("pagination", "total").(float64); total < 15_000 || total > demoColas+demo.FreshPerDay {
		t.Errorf("%v dated labels, want most of 20,000", total)
	}
	s.stop(t)
	if strings.Contains(s.err.String(), s.key) {
		t.Error("log contains the key")
	}

	restarted := startServer(t, h)
	if restarted.key != "" || strings.Contains(restarted.out.String(), "lar_") {
		t.Errorf("second start prints a key:\n%s", restarted.out.String())
	}
	after := restarted.get(t, "/colas?approval_date_from=2005-01-01", s.key)
	if after.at("pagination", "total") != before.at("pagination", "total") {
		t.Errorf("total %v after a restart, %v before",
			after.at("pagination", "total"), before.at("pagination", "total"))
	}
	if !strings.Contains(restarted.err.String(), "from_snapshot=true") {
		t.Errorf("index snapshot was not used:\n%s", restarted.err.String())
	}
	used := restarted.get(t, "/usage", s.key).at("data", "list_records", "used")
	if used.(float64) != 43 { // 3 from the first curl line, 40 here
		t.Errorf("list records used = %v after a restart, want 43", used)
	}
}

// TestNoAccounts checks that a server without accounts prints commands that create an account and a
// key in its database. The commands don't contain the URL of a PostgreSQL database, which may
// include a password.
func TestNoAccounts(t *testing.T) {
	t.Parallel()
	inFile, onServer, inURLFile := embedded(t), onPostgres(t), onPostgres(t)
	inFile.DatabaseURL = "sqlite:" + filepath.Join(t.TempDir(), "labels.db")
	inFile.keyFile = filepath.Join(t.TempDir(), "secret.key")
	urlFile := writeSecret(t, inURLFile.DatabaseURL, 0o600)
	for name, tt := range map[string]struct {
		registry testRegistry
		flags    []string
		secret   string // replaced by URL in the commands
	}{
		"data directory": {embedded(t), nil, ""},
		"SQLite file":    {inFile, nil, ""},
		"PostgreSQL":     {onServer, nil, onServer.DatabaseURL},
		"URL in a file":  {embedded(t), append(inURLFile.keyFlags(t), "--database-url-file", urlFile), ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			printed := func() []string {
				t.Helper()
				s := startServer(t, tt.registry, append(tt.flags, "--demo", "never")...)
				await(t, "the server prints its addresses", func() bool { return strings.Contains(s.out.String(), "Dashboard") })
				s.stop(t)
				if tt.secret != "" && strings.Contains(s.out.String(), tt.secret) {
					t.Errorf("output contains the database URL:\n%s", s.out.String())
				}
				return regexp.MustCompile(`(?m)^  colaregistry (.*)$`).FindAllString(s.out.String(), -1)
			}
			commands := printed()
			if len(commands) != 2 {
				t.Fatalf("printed commands = %q, want 2", commands)
			}
			for _, line := range commands {
				args := strings.Fields(strings.ReplaceAll(line, "'", ""))[1:]
				if tt.secret != "" {
					if out, err := command(args...).CombinedOutput(); err == nil {
						t.Errorf("%s: no error for a placeholder:\n%s", line, out)
					}
					args = strings.Fields(strings.Replace(line, " URL", " "+tt.secret, 1))[1:]
				}
				mustRun(t, args...)
			}
			if commands := printed(); len(commands) != 0 {
				t.Errorf("printed commands with an account = %q, want none", commands)
			}
		})
	}
}

// TestStoppedWhenReady checks that stopping a server while it prints its addresses isn't a failure.
func TestStoppedWhenReady(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, h testRegistry) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		env := &environment{
			Context: ctx,
			program: program{stdout: io.Discard},
			log:     slog.New(slog.DiscardHandler),
		}
		c := serveCommand{storeFlags: h.storeFlags}
		if err := c.welcome(env, mustOpen(t, h), "http://localhost", nil, true, search.New(search.Options{})); err != nil {
			t.Error(err)
		}
	})
}

// TestInterruptedFirstStart checks that the next start completes an interrupted first start.
func TestInterruptedFirstStart(t *testing.T) {
	t.Parallel()
	h := embedded(t)
	c := command("serve", "--listen", "127.0.0.1:0", "--data-dir", h.DataDir)
	var errs output
	c.Stderr = &errs
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	for !strings.Contains(errs.String(), "demo data") {
		time.Sleep(5 * time.Millisecond)
	}
	time.Sleep(200 * time.Millisecond)
	c.Process.Kill()
	c.Wait()
	s := startServer(t, h)
	if s.key == "" {
		t.Fatalf("second start did not finish the first:\n%s", s.out.String())
	}
	st := mustOpen(t, h)
	n := 0
	if _, err := st.ColasSince(t.Context(), 0, func(*cola.IndexRecord) error { n++; return nil }); err != nil ||
		n != demoColas+demo.FreshPerDay {
		t.Errorf("%d labels after an interrupted first start (%v), want %d", n, err, demoColas+demo.FreshPerDay)
	}
	st.Close()
	s.stop(t)
	if third := startServer(t, h); third.key != "" {
		t.Error("third start prints a key again")
	}
}

// TestFreeAccount takes a free account through its rate limit, its quota and the revocation of its
// key.
func TestFreeAccount(t *testing.T) {
	t.Parallel()
	onBoth(t, testFreeAccount)
}

func testFreeAccount(t *testing.T, h testRegistry) {
	s := startServer(t, h)
	st := mustOpen(t, h)
	left := func(a answer) [2]int {
		lists, _ := strconv.Atoi(a.Header.Get("X-List-Records-Remaining"))
		details, _ := strconv.Atoi(a.Header.Get("X-Detail-Views-Remaining"))
		return [2]int{lists, details}
	}

	_, secret, _ := mustAccount(t, st, "burst@example.com", cola.TierFree)
	key := secret.Reveal()
	var first string
	steps := []struct {
		path string
		want [2]int
	}{
		{"/colas?per_page=7", [2]int{9_993, 200}},
		{"/colas/{id}", [2]int{9_993, 199}},
		{"/colas/99999999999999", [2]int{9_993, 199}},
		{"/colas?per_page=1000", [2]int{9_993, 199}},
		{"/nothing", [2]int{9_993, 199}},
		{"/permittees?per_page=3", [2]int{9_990, 199}},
		{"/avas", [2]int{9_990, 199}},
		{"/usage", [2]int{9_990, 199}},
		{"/processing-times", [2]int{9_990, 199}},
		{"/production-reports", [2]int{9_990, 199}},
	}
	for i, step := range steps {
		a := s.get(t, strings.Replace(step.path, "{id}", first, 1), key)
		if i == 0 {
			first = a.ids()[0]
		}
		if left(a) != step.want {
			t.Errorf("%d. %s: %d: %v left, want %v", i+1, step.path, a.StatusCode, left(a), step.want)
		}
	}
	eleventh := s.get(t, "/usage", key)
	wait, _ := strconv.Atoi(eleventh.Header.Get("Retry-After"))
	if eleventh.StatusCode != http.StatusTooManyRequests || wait < 30 || wait > 60 ||
		eleventh.at("upgrade_url") != nil {
		t.Errorf("eleventh request: %d, Retry-After %d: %s", eleventh.StatusCode, wait, eleventh.body)
	}

	poor, secret, keyID := mustAccount(t, st, "poor@example.com", cola.TierFree)
	key = secret.Reveal()
	spend(t, st, poor, keyID, 9_985)
	cut := s.get(t, "/colas?per_page=20", key)
	if len(cut.ids()) != 15 || cut.at("pagination", "has_more") != true || cut.at("pagination", "next_cursor") == nil {
		t.Errorf("with 15 records left: %d rows, %v", len(cut.ids()), cut.at("pagination"))
	}
	rejected := s.get(t, "/colas?per_page=20", key)
	if rejected.StatusCode != http.StatusTooManyRequests || rejected.at("upgrade_url") == nil ||
		rejected.at("error", "details",
			"upgrade_url") != rejected.at("upgrade_url") || rejected.Header.Get("Retry-After") != "" {
		t.Errorf("without quota: %d %s", rejected.StatusCode, rejected.body)
	}
	h.run(t, "account", "set-tier", "--account", "poor@example.com", "--tier", "starter")
	upgraded := s.get(t, "/colas?per_page=20&cursor="+cut.at("pagination", "next_cursor").(string), key)
	if len(upgraded.ids()) != 20 || upgraded.ids()[0] == cut.ids()[14] {
		t.Errorf("after an upgrade: %d %.200s", upgraded.StatusCode, upgraded.body)
	}
	h.run(t, "key", "revoke", strconv.FormatInt(keyID.ID, 10))
	if a := s.get(t, "/usage", key); a.StatusCode != http.StatusUnauthorized {
		t.Errorf("right after revoking the key: status %d, want 401", a.StatusCode)
	}
}

// spend charges list records to an account without sending requests.
func spend(t *testing.T, st store.Ledger, a store.Account, k store.Key, units int) {
	t.Helper()
	credential := cola.Credential{Kind: cola.CredentialKey, ID: k.ID}
	batch := store.Batch{
		ID: store.BatchID{1, byte(a.ID)}, Accounts: []cola.AccountID{a.ID}, Credentials: []cola.Credential{credential},
	}
	err := st.Settle(t.Context(), batch, func(time.Time, []store.AccountState) []store.Entry {
		return []store.Entry{{Account: a.ID, Units: []store.Units{{
			Channel: cola.ChannelREST, Credential: credential, Meter: cola.MeterListRecords, Units: units,
		}}}}
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestInvalidServeFlags checks that invalid flags are reported before any data is created.
func TestInvalidServeFlags(t *testing.T) {
	t.Parallel()
	for flag, value := range map[string]string{
		"--listen": "nowhere:99999", "--public-url": "https://registry.example/base",
		"--database-url": "mysql://x", "--demo": "perhaps", "--image-store": "gs://labels",
	} {
		out, err := command("serve", "--data-dir", t.TempDir(), flag, value).CombinedOutput()
		if err == nil ||
			!strings.Contains(string(out), strings.TrimPrefix(flag, "--")) && !strings.Contains(string(out), value) {
			t.Errorf("%s %s: %v\n%s", flag, value, err, out)
		}
	}
	busy := startServer(t, embedded(t), "--demo", "never")
	address := strings.TrimSuffix(strings.TrimPrefix(busy.base, "http://"), "/api/v1")
	out, err := command("serve", "--data-dir", t.TempDir(), "--listen", address).CombinedOutput()
	if err == nil || !strings.Contains(string(out), fmt.Sprintf("listen on %s", address)) {
		t.Errorf("address in use: %v\n%s", err, out)
	}
}

// TestConcurrentFirstStarts starts two servers on an empty folder and checks that exactly one of
// them loads the demo data and prints the key.
func TestConcurrentFirstStarts(t *testing.T) {
	t.Parallel()
	h := embedded(t)
	servers := []*serverProcess{launch(t, h), launch(t, h)}
	for _, s := range servers {
		s.await(t)
	}
	key := servers[0].key + servers[1].key
	if servers[0].key != "" && servers[1].key != "" || key == "" {
		t.Fatalf("printed keys %q and %q, want one", servers[0].key, servers[1].key)
	}
	keys, err := mustOpen(t, h).Keys(t.Context(), 0)
	if err != nil || len(keys) != 1 {
		t.Errorf("%d keys, %v, want 1", len(keys), err)
	}
	for _, s := range servers {
		eventually(t, func() bool {
			total, _ := s.get(t, "/colas?approval_date_from=2005-01-01&per_page=1", key).at("pagination",
				"total").(float64)
			return total > 15_000
		})
	}
}

// TestDataFolder checks that a server on PostgreSQL creates its snapshot folder, and runs without
// one if it cannot.
func TestDataFolder(t *testing.T) {
	t.Parallel()
	h := withDemoData(t)
	h.DataDir = filepath.Join(h.DataDir, "new", "folder")
	startServer(t, h).stop(t)
	restarted := startServer(t, h) // it may respond before it has logged the source of its index
	await(t, "the server uses the index snapshot", func() bool {
		return strings.Contains(restarted.err.String(), "from_snapshot=true")
	})
	h.DataDir = filepath.Join(h.DataDir, "registry.index", "below a file")
	s := startServer(t, h)
	s.stop(t)
	warnings := 0 // creating the folder, saving the snapshot
	for line := range strings.Lines(s.err.String()) {
		if strings.Contains(line, "level=WARN") && strings.Contains(line, "index snapshot failed") {
			warnings++
		}
	}
	if warnings != 2 {
		t.Errorf("%d warnings about the snapshot, want 2:\n%s", warnings, s.err.String())
	}
}

// TestRestoredBackup makes and restores a backup as the operations guide describes. The server must
// work as before and accept new labels. It must not show labels lost in the restore, although the
// index snapshot contains them and later imports have passed their revision.
func TestRestoredBackup(t *testing.T) {
	t.Parallel()
	h := embedded(t)
	s := startServer(t, h)
	backup := filepath.Join(t.TempDir(), "backup.db")
	if err := vacuumInto(filepath.Join(h.DataDir, "registry.db"), backup); err != nil {
		t.Fatal(err)
	}
	ids := func(s *serverProcess, brand, key string) []string {
		t.Helper()
		return s.get(t, "/colas?approval_date_from=2005-01-01&brand_name="+brand, key).ids()
	}
	h.run(t, "import", "colas", mustWriteLabel(t))
	await(t, "an imported label is shown", func() bool { return len(ids(s, "afterward", s.key)) == 1 })
	s.stop(t)
	if _, err := os.Stat(filepath.Join(h.DataDir, "registry.index")); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"registry.db-wal", "registry.db-shm"} {
		if err := os.Remove(filepath.Join(h.DataDir, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
	}
	if err := os.Rename(backup, filepath.Join(h.DataDir, "registry.db")); err != nil {
		t.Fatal(err)
	}
	laterFile := filepath.Join(t.TempDir(), "later.jsonl")
	var lines strings.Builder
	for i := range 1_000 {
		fmt.Fprintf(&lines, `{"ttb_id":"990010010%05d","brand_name":"LATER","product_type":"wine","permit_number":"CA-W-99002","approval_date":"2024-05-07"}`+"\n", 100+i)
	}
	if err := os.WriteFile(laterFile, []byte(lines.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	h.run(t, "import", "colas", laterFile)
	restored := startServer(t, h)
	if lost := ids(restored, "afterward", s.key); len(lost) > 0 {
		t.Errorf("restored registry shows lost label %v", lost)
	}
	if total := restored.get(t, "/colas?per_page=1&approval_date_from=2005-01-01&brand_name=later", s.key).at("pagination", "total"); total != 1_000.0 {
		t.Errorf("restored registry shows %v of the 1000 labels imported into it", total)
	}
	if a := restored.get(t, "/colas?per_page=1", s.key); a.StatusCode != http.StatusOK || len(a.ids()) != 1 {
		t.Errorf("response of the restored registry: %d %s", a.StatusCode, a.body)
	}
	if restored.key != "" {
		t.Error("first start in a restored registry")
	}
}

// vacuumInto copies a database in use, as the sqlite3 shell does.
func vacuumInto(from, to string) error {
	db, err := sql.Open("sqlite", from)
	if err != nil {
		return err
	}
	defer db.Close()
	_, err = db.Exec(`VACUUM INTO ?`, to)
	return err
}
