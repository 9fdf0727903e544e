package imports

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const module = "github.com/colaregistry/colaregistry"

// everything allows importing any of our packages.
const everything = "..."

// table lists which of our packages each package may import, as in docs/ARCHITECTURE.md. Every
// package outside cmd and internal must be listed.
var table = map[string][]string{
	"cola":            {"cola"},
	"cola/vocabulary": {},
	"store":           {"cola"},
	"store/storetest": {"cola", "store"},
	"store/records":   {"cola", "store"},
	"store/lookup":    {"cola", "store"},
	"store/images":    {"store"},
	"store/sqlstore":  {"cola", "store", "store/records"},
	"store/sqlite":    {"cola", "store", "store/records", "store/sqlstore", "internal/filelock"},
	"store/postgres":  {"cola", "store", "store/records", "store/sqlstore"},
	"search": {
		"cola", "search/internal/codec", "search/internal/column",
		"search/internal/postings", "search/internal/similar", "search/internal/text",
	},
	"quota": {"cola", "store"},
	"auth": {
		"cola", "store", "internal/keyring",
		"internal/ratelimit", "internal/security", "internal/strictjson",
	},
	"collect":           {"cola", "store", "store/images", "ingest", "collect/ttb", "collect/barcode"},
	"collect/barcode":   {"cola"},
	"collect/enrich":    {"cola", "store", "store/images", "internal/retryafter"},
	"collect/reference": {"cola", "store", "ingest", "ingest/ttbpage", "internal/retryafter"},
	"collect/ttb":       {"cola", "ingest/ttbpage", "internal/retryafter"},
	"ingest":            {"cola", "store", "ingest/ttbpage"},
	"ingest/ttbpage":    {},
	"registry": {
		"cola", "store", "store/images", "search", "quota", "auth", "registry/billing",
		"internal/ratelimit", "internal/security", "internal/vault",
	},
	"registry/billing": {"cola", "store", "internal/web"},
	"alerts":           {"cola", "store", "search"},
	"alerts/mail":      {"cola", "store", "alerts"},
	"alerts/webhook":   {"cola", "store", "alerts", "internal/retryafter", "internal/vault"},
	"httpapi": {
		"cola", "registry", "auth", "internal/labelart",
		"internal/params", "internal/schemas", "internal/strictjson", "internal/web",
	},
	"mcp": {
		"cola", "registry", "auth", "internal/params",
		"internal/ratelimit", "internal/schemas", "internal/strictjson", "internal/web",
	},
	"dashboard": {"cola", "registry", "auth", "internal/params", "internal/ratelimit", "internal/web"},
	"site":      {"cola", "registry", "httpapi", "internal/ratelimit", "internal/security", "internal/web", "mcp", "."},
	".":         {}, // embeds the documentation

	"search/internal/codec":    {},
	"search/internal/column":   {"search/internal/codec"},
	"search/internal/postings": {"search/internal/codec"},
	"search/internal/similar":  {"cola"},
	"search/internal/text":     {"cola", "search/internal/codec", "search/internal/column", "search/internal/postings"},

	"internal/security":        {"cola", "internal/ratelimit"},
	"internal/vault":           {"cola", "internal/keyring"},
	"internal/web":             {"cola", "auth"},
	"internal/params":          {"cola", "internal/strictjson"},
	"internal/ttbsite":         {"cola", "ingest/ttbpage", "internal/labelart"}, // a local copy of TTB's site
	"internal/demo":            {"cola", "store", "ingest"},
	"internal/stripetest/demo": {"internal/stripetest"},
	"internal/perf":            {everything}, // measures the whole program
	"internal/perf/httpbench":  {everything}, // measures the whole program
	"internal/perf/measure":    {"auth", "cola", "store"},
	"internal/loadtest":        {"auth", "cola", "store", "quota"},
	"internal/browser":         {everything},                        // tests the dashboard in a real browser
	"internal/registrytest":    {everything},                        // runs a small registry for tests
	"internal/sqlitetest":      {"store/sqlite", "store/storetest"}, // creates databases for tests
	"internal/program":         {"internal/keyring", "internal/nodetest", "internal/loadtest"},
	"internal/attack":          {everything}, // attacks the whole program
	"internal/cluster":         {everything}, // tests many processes under failures
	"internal/conformance":     {everything}, // runs third-party tests
	"internal/evaltools":       {everything}, // runs a registry and calls its tools
}

// edges render responses. They get their data only from the registry.
var edges = []string{"httpapi", "mcp", "dashboard"}

// mayImport reports whether a package may import another; both names are relative to the module.
// Tests may also import any internal package and, if the package may import the store, the store's
// backends and their test suite.
func mayImport(from, to string, test bool) bool {
	allowed, listed := table[from]
	switch {
	case strings.HasPrefix(from, "cmd/"):
		return true
	case !listed && strings.HasPrefix(from, "internal/"):
		allowed = []string{"cola"}
	}
	if to == "cola/vocabulary" && from != to {
		to = "cola" // packages that may use cola may also use its vocabulary
	}
	switch {
	case slices.Contains(allowed, everything), slices.Contains(allowed, to):
		return true
	case !test:
		return false
	case to == from: // an external test
		return true
	case strings.HasPrefix(to, "internal/"):
		return true
	}
	return strings.HasPrefix(to, "store/") && (from == "store" || slices.Contains(allowed, "store"))
}

// known reports whether a package is listed, or is in a folder that doesn't need to be listed.
func known(name string) bool {
	_, listed := table[name]
	return listed || strings.HasPrefix(name, "cmd/") || strings.HasPrefix(name, "internal/")
}

// importSpec is one import in one file.
type importSpec struct {
	file, from, path string
	test             bool
}

// ours returns the imported package relative to the module; ok is false for other modules.
func (i importSpec) ours() (name string, ok bool) {
	if i.path == module {
		return ".", true
	}
	return strings.CutPrefix(i.path, module+"/")
}

func TestImports(t *testing.T) {
	seen := map[string]bool{}
	for _, i := range readImports(t, moduleRoot(t)) {
		if !known(i.from) {
			t.Errorf("%s: package %s is missing from the table of imports", i.file, i.from)
		}
		seen[i.from] = true
		if to, ok := i.ours(); ok && !mayImport(i.from, to, i.test) {
			t.Errorf("%s: %s must not import %s", i.file, i.from, to)
		}
	}
	for _, must := range []string{"cola", "store"} {
		if !seen[must] {
			t.Errorf("package %s was not checked", must)
		}
	}
}

func TestColaImports(t *testing.T) {
	for _, i := range readImports(t, moduleRoot(t)) {
		first, _, _ := strings.Cut(i.path, "/")
		if _, own := i.ours(); !own && !i.test && strings.HasPrefix(i.from, "cola") && strings.Contains(first, ".") {
			t.Errorf("%s imports %s, which is not in the standard library", i.file, i.path)
		}
	}
}

// TestBackendFiles checks that both backends use the same file name for a resource.
func TestBackendFiles(t *testing.T) {
	root := moduleRoot(t)
	sqlite, postgres := filepath.Join(root, "store", "sqlite"), filepath.Join(root, "store", "postgres")
	for _, dir := range []string{sqlite, postgres} {
		if _, err := os.Stat(dir); err != nil {
			t.Skipf("no backends: %v", err)
		}
	}
	for _, pattern := range []string{"*.go", "migrations/*.sql"} {
		if diff := cmp.Diff(fileNames(t, sqlite, pattern), fileNames(t, postgres, pattern)); diff != "" {
			t.Errorf("files %s (-sqlite +postgres):\n%s", pattern, diff)
		}
	}
}

// fileNames returns the names of the non-test files in a folder that match a pattern.
func fileNames(t *testing.T, dir, pattern string) []string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, filepath.FromSlash(pattern)))
	if err != nil {
		t.Fatal(err)
	}
	names := []string{}
	for _, p := range paths {
		if name := filepath.Base(p); !strings.HasSuffix(name, "_test.go") {
			names = append(names, name)
		}
	}
	return names
}

// TestTable tests the rules themselves.
func TestTable(t *testing.T) {
	for _, tt := range []struct {
		from, to   string
		code, test bool
	}{
		{"cola", "store", false, false},
		{"store", "cola", true, true},
		{"store", "store/sqlite", false, true},
		{"store/sqlite", "store/storetest", false, true},
		{"store/sqlite", "search", false, false},
		{"search", "store", false, false},
		{"search", "internal/demo", false, true},
		{"ingest", "store/sqlite", false, true},
		{"registry", "search", true, true},
		{"registry", "httpapi", false, false},
		{"registry", "auth", true, true},
		{"internal/demo", "ingest", true, true},
		{"internal/labelart", "cola", true, true},
		{"internal/labelart", "store", false, false},
		{"cmd/colaregistry", "store/sqlite", true, true},
		{"somewhere", "cola", false, false},
		{"site", ".", true, true},
		{"httpapi", ".", false, false},
		{"site", "search", false, false},
	} {
		if got := mayImport(tt.from, tt.to, false); got != tt.code {
			t.Errorf("mayImport(%s, %s) = %t, want %t", tt.from, tt.to, got, tt.code)
		}
		if got := mayImport(tt.from, tt.to, true); got != tt.test {
			t.Errorf("mayImport(%s, %s) for tests = %t, want %t", tt.from, tt.to, got, tt.test)
		}
	}
	for _, edge := range edges {
		for _, to := range append([]string{"store", "store/sqlite", "search", "quota", "ingest", "cmd/colaregistry"}, edges...) {
			if to != edge && (mayImport(edge, to, false) || mayImport(edge, to, true)) {
				t.Errorf("mayImport(%s, %s) = true, want false", edge, to)
			}
		}
	}
	if known("util") || !known("cola") || !known("cmd/colaregistry") || !known("internal/imports") {
		t.Error("known returned wrong results")
	}
}

// readImports reads every Go file below root, whatever its build constraints.
func readImports(t *testing.T, root string) []importSpec {
	t.Helper()
	var found []importSpec
	err := filepath.WalkDir(root, func(file string, entry fs.DirEntry, err error) error {
		switch name := entry.Name(); {
		case err != nil:
			return err
		case entry.IsDir() && file != root && (strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_") ||
			name == "testdata" || name == "node_modules"):
			return fs.SkipDir
		case entry.IsDir() || !strings.HasSuffix(name, ".go"):
			return nil
		}
		rel, err := filepath.Rel(root, file)
		if err != nil {
			return err
		}
		more, err := fileImports(file, filepath.ToSlash(rel))
		found = append(found, more...)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func fileImports(file, rel string) ([]importSpec, error) {
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly)
	if err != nil {
		return nil, err
	}
	base := importSpec{file: rel, from: path.Dir(rel), test: strings.HasSuffix(rel, "_test.go")}
	if len(parsed.Imports) == 0 {
		return []importSpec{base}, nil // its package must still be listed
	}
	var found []importSpec
	for _, spec := range parsed.Imports {
		i := base
		if i.path, err = strconv.Unquote(spec.Path.Value); err != nil {
			return nil, err
		}
		found = append(found, i)
	}
	return found, nil
}

func moduleRoot(t *testing.T) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		if filepath.Dir(dir) == dir {
			t.Fatal("no go.mod in a parent folder")
		}
		dir = filepath.Dir(dir)
	}
}
