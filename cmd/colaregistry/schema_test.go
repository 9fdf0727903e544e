package main

import (
	"bytes"
	"database/sql"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
	"github.com/google/go-cmp/cmp"
	"github.com/pressly/goose/v3"

	"github.com/colaregistry/colaregistry/collect/reference"
	"github.com/colaregistry/colaregistry/internal/ttbsite"
)

// withPreviousSchema migrates the registry's database to the previous schema version and returns
// that version.
func (h testRegistry) withPreviousSchema(t *testing.T) int64 {
	t.Helper()
	return h.upTo(t, 0)
}

// upTo migrates the registry's database to a schema version and returns it. Zero stands for the
// previous version.
func (h testRegistry) upTo(t *testing.T, version int64) int64 {
	t.Helper()
	p, err := h.place()
	if err != nil {
		t.Fatal(err)
	}
	dialect, migrations := goose.DialectPostgres, "postgres"
	if p.path != "" {
		dialect, migrations = goose.DialectSQLite3, "sqlite"
	}
	db := h.sql(t)
	defer db.Close()
	g, err := goose.NewProvider(dialect, db, os.DirFS(filepath.Join("..", "..", "store", migrations, "migrations")),
		goose.WithDisableGlobalRegistry(true))
	if err != nil {
		t.Fatal(err)
	}
	all := g.ListSources()
	if version == 0 {
		version = all[len(all)-2].Version
	}
	if _, err := g.UpTo(t.Context(), version); err != nil {
		t.Fatal(err)
	}
	return version
}

// sql opens the registry's database without migrating it.
func (h testRegistry) sql(t *testing.T) *sql.DB {
	t.Helper()
	p, err := h.place()
	if err != nil {
		t.Fatal(err)
	}
	driver, name := "pgx", p.url
	if p.path != "" {
		driver, name = "sqlite", p.path
	}
	db, err := sql.Open(driver, name)
	if err != nil {
		t.Fatal(err)
	}
	return db
}

// requireVersion checks the registry's schema version.
func (h testRegistry) requireVersion(t *testing.T, when string, want int64) {
	t.Helper()
	p, err := h.place()
	if err != nil {
		t.Fatal(err)
	}
	if current, _, err := p.versions(t.Context()); err != nil || current != want {
		t.Errorf("%s: schema version %d (%v), want %d", when, current, err, want)
	}
}

// latest returns the latest schema version for the registry's database.
func (h testRegistry) latest(t *testing.T) int64 {
	t.Helper()
	p, err := h.place()
	if err != nil {
		t.Fatal(err)
	}
	_, latest, err := p.versions(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return latest
}

// withSchema returns the arguments of every command that uses a database: those that migrate an
// older schema, and those that refuse to run on one.
func withSchema(labels, source string) (migrating, refusing map[string][]string) {
	const who = "ada@example.com"
	return map[string][]string{
			"serve":           nil, // TestOlderSchema runs these two separately
			"fetch ttb":       nil,
			"fetch reference": append([]string{"--contact", who}, noReferences()...),
			"import":          {"colas", labels},
			"account create":  {"--email", who, "--tier", "free"},
			"migrate":         {},
		}, map[string][]string{
			"mcp":                       {},
			"import --dry-run":          {"colas", labels},
			"fetch ttb --dry-run":       {"--from", "2026-01-05", "--contact", who},
			"fetch reference --dry-run": {"--contact", who},
			"fetch status":              {},
			"fetch resume":              {},
			"enrich":                    {"--url", "http://127.0.0.1:1", "--model", "m"},
			"account list":              {},
			"account link":              {"--account", who},
			"account set-tier":          {"--account", who, "--tier", "pro"},
			"account set-alerts":        {"--account", who, "--limit", "3"},
			"account suspend":           {"--account", who, "--reason", "It is not paid for."},
			"account restore":           {"--account", who},
			"account delete":            {"--account", who},
			"account undelete":          {"--account", who},
			"account add-identity":      {"--account", who, "--issuer", "https://issuer.example", "--subject", "1"},
			"account export":            {"--account", who},
			"account identities":        {},
			"key list":                  {},
			"key create":                {"--account", who, "--name", "laptop"},
			"key revoke":                {"1"},
			"alerts tick":               {},
			"records list":              {"--missing", "detail"},
			"secret reseal":             {},
			"secret status":             {},
			"app list":                  {},
			"app register":              {"--issuer", "https://issuer.example", "--client-id", "a", "--name", "A"},
			"app disable":               {"1"},
			"app links":                 {},
			"app revoke-link":           {"1"},
			"app restore-link":          {"1"},
			"copy":                      {"--from", source, "--to", "sqlite:" + labels + ".db"},
		}
}

// noReferences returns the flags that disable every source of reference data.
func noReferences() (flags []string) {
	for _, source := range reference.Sources() {
		flags = append(flags, "--source-url", source.Name+"=")
	}
	return flags
}

// TestSchemaPolicy checks that withSchema lists every command that uses a database.
func TestSchemaPolicy(t *testing.T) {
	parser, err := kong.New(&cli{}, kong.Name("colaregistry"))
	if err != nil {
		t.Fatal(err)
	}
	var existing []string
	for _, leaf := range parser.Model.Leaves(false) {
		existing = append(existing, strings.TrimPrefix(leaf.Path(), "colaregistry "))
	}
	migrating, refusing := withSchema("", "")
	// The expected list also includes commands that don't use a database.
	known := append(slices.Collect(maps.Keys(migrating)), "alerts receive",
		"demo", "secret create", "secret rotate", "version")
	for command := range refusing {
		if !strings.HasSuffix(command, " --dry-run") {
			known = append(known, command)
		}
	}
	slices.Sort(existing)
	slices.Sort(known)
	if diff := cmp.Diff(existing, known); diff != "" {
		t.Errorf("commands (-existing +listed):\n%s", diff)
	}
}

// TestOlderSchema checks that only migrating commands change a schema that an older server may
// still be using.
func TestOlderSchema(t *testing.T) {
	t.Setenv(keyVariable, "lar_x") // for mcp
	labels := filepath.Join(t.TempDir(), "labels.jsonl")
	if err := os.WriteFile(labels, []byte(`{"ttb_id":"24001001000001","brand_name":"ONE","product_type":"wine","permit_number":"CA-W-1"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, open := range map[string]func(*testing.T) testRegistry{"sqlite": embedded, "postgres": onPostgres} {
		t.Run(name, func(t *testing.T) {
			h := open(t)
			before := h.withPreviousSchema(t)
			source := h.DatabaseURL
			if source == "" {
				source = "sqlite:" + filepath.Join(h.DataDir, "registry.db")
			}
			migrating, refusing := withSchema(labels, source)
			for command, args := range refusing {
				h.requireRefused(t, before, command, args)
			}
			for command, args := range migrating {
				t.Run(command, func(t *testing.T) {
					h := open(t)
					h.withPreviousSchema(t)
					switch command {
					case "serve":
						startServer(t, h, "--demo", "never").stop(t)
					case "fetch ttb":
						site := mustTTBSite(t, ttbsite.Options{Labels: 1, Last: ttbLast})
						if code, _, errs := mustFetch(t, site, h); code != 0 {
							t.Errorf("fetch ttb exited with code %d\n%s", code, errs)
						}
					default:
						h.run(t, append(strings.Fields(command), args...)...)
					}
					h.requireVersion(t, command, h.latest(t))
				})
			}
		})
	}
}

// requireRefused runs a command and checks that it fails, names the remedy, and leaves the schema
// unchanged.
func (h testRegistry) requireRefused(t *testing.T, version int64, command string, args []string) {
	t.Helper()
	args = append(strings.Fields(command), args...)
	if command != "copy" {
		args = append(args, h.flags()...)
	}
	var out, errs bytes.Buffer
	code := program{args: args, stdin: strings.NewReader(""), stdout: &out, stderr: &errs}.run(t.Context())
	if code != exitFailed || out.Len() > 0 {
		t.Errorf("%s: exit code %d, printed %q", command, code, out.String())
	}
	for _, part := range []string{fmt.Sprint(version), fmt.Sprint(h.latest(t)), "run colaregistry migrate"} {
		if !strings.Contains(errs.String(), part) {
			t.Errorf("%s: error %q, want %q in it", command, errs.String(), part)
		}
	}
	h.requireVersion(t, command, version)
}
