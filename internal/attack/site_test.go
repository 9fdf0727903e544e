package attack

import (
	"bytes"
	"database/sql"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // registers the pgx driver

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/demo"
	"github.com/colaregistry/colaregistry/internal/loadtest"
	"github.com/colaregistry/colaregistry/internal/pgtest"
	"github.com/colaregistry/colaregistry/internal/program"
	"github.com/colaregistry/colaregistry/store"
	"github.com/colaregistry/colaregistry/store/postgres"
	"github.com/colaregistry/colaregistry/store/sqlite"
)

func TestMain(m *testing.M) {
	os.Exit(program.Main(func() int {
		defer func() {
			if onSQLite.dsn != "" {
				os.RemoveAll(filepath.Dir(onSQLite.dsn))
			}
		}()
		return pgtest.Main(m)
	}))
}

// labels is the number of demo labels in every site.
const labels = 2_000

// site is a server under attack, with direct access to its database.
type site struct {
	*program.Server
	Store store.Store
	db    *sql.DB // for direct queries
	t     *testing.T
}

// onBoth runs an attack against a server on SQLite and one on PostgreSQL, each with its own copy of
// the demo labels.
func onBoth(t *testing.T, o program.Options, attack func(t *testing.T, s *site)) {
	t.Helper()
	t.Run("sqlite", func(t *testing.T) { attack(t, startOnSQLite(t, o)) })
	t.Run("postgres", func(t *testing.T) { attack(t, startOnPostgres(t, o)) })
}

func startOnSQLite(t *testing.T, o program.Options) *site {
	t.Helper()
	o.Dir = t.TempDir()
	file := filepath.Join(o.Dir, "registry.db")
	content, err := os.ReadFile(onSQLite.load(t))
	if err == nil {
		err = os.WriteFile(file, content, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	return start(t, o, "sqlite", file,
		func() (store.Store, error) { return sqlite.Open(t.Context(), file, sqlite.Options{Logger: quiet}) })
}

func startOnPostgres(t *testing.T, o program.Options) *site {
	t.Helper()
	o.DatabaseURL = pgtest.CloneDatabase(t, onPostgres.load(t))
	return start(t, o, "pgx", o.DatabaseURL, func() (store.Store, error) {
		return postgres.Open(t.Context(), o.DatabaseURL, postgres.Options{Logger: quiet})
	})
}

func start(t *testing.T, o program.Options, driver, dsn string, open func() (store.Store, error)) *site {
	t.Helper()
	st, err := open()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { st.Close() })
	db, err := sql.Open(driver, dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return &site{program.Start(t, o), st, db, t}
}

// count returns the number of rows in a table.
func (s *site) count(table string) (n int) {
	s.t.Helper()
	if err := s.db.QueryRowContext(s.t.Context(), `SELECT count(*) FROM `+table).Scan(&n); err != nil {
		s.t.Fatal(err)
	}
	return n
}

var quiet = slog.New(slog.DiscardHandler)

// template is a database with the demo labels, loaded once and copied for each site.
type template struct {
	once sync.Once
	open func(t *testing.T) (dsn string, st store.Store, err error)
	dsn  string // file name or URL
	err  error
}

func (d *template) load(t *testing.T) string {
	t.Helper()
	d.once.Do(func() {
		var st store.Store
		if d.dsn, st, d.err = d.open(t); d.err != nil {
			return
		}
		options := demo.Options{Colas: labels, Seed: 1, AsOf: cola.DateOf(time.Now())}
		d.err = errors.Join(demo.Load(t.Context(), st, options, nil), st.Close())
	})
	if d.err != nil {
		t.Fatal(d.err)
	}
	return d.dsn
}

var onSQLite = template{open: func(t *testing.T) (string, store.Store, error) {
	dir, err := os.MkdirTemp("", "colaregistry-attack")
	if err != nil {
		return "", nil, err
	}
	file := filepath.Join(dir, "registry.db")
	st, err := sqlite.Open(t.Context(), file, sqlite.Options{Logger: quiet})
	return file, st, err
}}

var onPostgres = template{open: func(t *testing.T) (string, store.Store, error) {
	url, err := pgtest.Shared(t).CreateDatabase(t.Context())
	if err != nil {
		return "", nil, err
	}
	st, err := postgres.Open(t.Context(), url, postgres.Options{Logger: quiet})
	return url, st, err
}}

// account creates an account with an API key.
func (s *site) account(email string, tier cola.Tier) *loadtest.Account {
	s.t.Helper()
	a, err := loadtest.NewAccount(s.t.Context(), s.Store, email, tier, cola.Used{})
	if err != nil {
		s.t.Fatal(err)
	}
	return a
}

// importLabels imports labels in JSON, one per line.
func (s *site) importLabels(lines []byte) {
	s.t.Helper()
	file := filepath.Join(s.t.TempDir(), "labels.jsonl")
	if err := os.WriteFile(file, lines, 0o600); err != nil {
		s.t.Fatal(err)
	}
	s.Run("import", "colas", file)
}

// response is a response with its body read.
type response struct {
	Status int
	Header http.Header
	Body   []byte
}

// JSON decodes the body.
func (a response) JSON(t *testing.T) (body map[string]any) {
	t.Helper()
	if err := json.Unmarshal(a.Body, &body); err != nil {
		t.Fatalf("%v in %d %s", err, a.Status, a.Body)
	}
	return body
}

// rest calls the REST API with an API key. A non-nil body is sent as application/json.
func (s *site) rest(key, method, path string, body any) response {
	s.t.Helper()
	header := http.Header{"X-Api-Key": {key}}
	if body != nil {
		header.Set("Content-Type", "application/json")
	}
	return s.send(http.DefaultClient, method, "/api/v1"+path, header, body)
}

// send makes a request to any path on the server. It sends a string or []byte body unchanged and
// any other body as JSON.
func (s *site) send(client *http.Client, method, path string, header http.Header, body any) response {
	s.t.Helper()
	var reader io.Reader
	switch b := body.(type) {
	case nil:
	case string:
		reader = strings.NewReader(b)
	case []byte:
		reader = bytes.NewReader(b)
	default:
		content, err := json.Marshal(b)
		if err != nil {
			s.t.Fatal(err)
		}
		reader = bytes.NewReader(content)
	}
	req, err := http.NewRequestWithContext(s.t.Context(), method, s.URL+path, reader)
	if err != nil {
		s.t.Fatal(err)
	}
	req.Header = header.Clone()
	if req.Header == nil {
		req.Header = http.Header{}
	}
	resp, err := client.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	return read(s.t, resp)
}

// read reads a response body.
func read(t *testing.T, resp *http.Response) response {
	t.Helper()
	defer resp.Body.Close()
	content, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response{resp.StatusCode, resp.Header, content}
}

// signIn returns a browser in which the account holder is signed in to the dashboard.
func (s *site) signIn(email string) *http.Client {
	s.t.Helper()
	browser := newBrowser(s.t)
	link := s.Run("account", "link", "--account", email, "--public-url", s.URL)
	path := strings.TrimPrefix(link, s.URL)
	if page := s.send(browser, http.MethodPost, path, http.Header{"Origin": {s.URL}}, nil); page.Status != http.StatusOK {
		s.t.Fatalf("sign in with %s: status %d, want 200: %s", path, page.Status, page.Body)
	}
	return browser
}

// used returns the account's usage this month.
func (s *site) used(a *loadtest.Account) cola.Used {
	s.t.Helper()
	stats := s.rest(a.Key.Reveal(), http.MethodGet, "/usage", nil).JSON(s.t)["data"].(map[string]any)
	of := func(meter string) int { return int(stats[meter].(map[string]any)["used"].(float64)) }
	return cola.Used{DetailViews: of("detail_views"), ListRecords: of("list_records")}
}
