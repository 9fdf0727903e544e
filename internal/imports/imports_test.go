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

// everything lets a package import any other of ours: what wires the program together.
const everything = "..."

// table says what each package may import of ours, as docs/ARCHITECTURE.md does. A package that is not here may not exist.
var table = map[string][]string{
	"cola":            {"cola"},
	"cola/vocabulary": {},
	"store":           {"cola"},
	"store/storetest": {"cola", "store"},
	"store/records":   {"cola", "store"},
	"store/lookup":    {"cola", "store"},
	"store/sqlstore":  {"cola", "store", "store/records"},
	"store/sqlite":    {"cola", "store", "store/records", "store/sqlstore", "internal/filelock"},
	"store/postgres":  {"cola", "store", "store/records", "store/sqlstore"},
	"search":          {"cola", "search/internal/codec", "search/internal/column", "search/internal/postings", "search/internal/text"},
	"quota":           {"cola", "store"},
	"auth":            {"cola", "store", "internal/keyring", "internal/ratelimit", "internal/security", "internal/strictjson"},
	"ingest":          {"cola", "store", "ingest/ttbpage"},
	"ingest/ttbpage":  {},
	"registry":        {"cola", "store", "search", "quota", "auth", "internal/ratelimit", "internal/security", "internal/vault"},
	"alerts":          {"cola", "store", "search"},
	"alerts/mail":     {"cola", "store", "alerts"},
	"alerts/webhook":  {"cola", "store", "alerts", "internal/vault"},
	"httpapi":         {"cola", "registry", "auth", "internal/labelart", "internal/params", "internal/schemas", "internal/strictjson", "internal/web"},
	"mcp":             {"cola", "registry", "auth", "internal/params", "internal/ratelimit", "internal/schemas", "internal/strictjson", "internal/web"},
	"dashboard":       {"cola", "registry", "auth", "internal/params", "internal/ratelimit", "internal/web"},

	"search/internal/codec":    {},
	"search/internal/column":   {"search/internal/codec"},
	"search/internal/postings": {"search/internal/codec"},
	"search/internal/text":     {"search/internal/codec", "search/internal/column", "search/internal/postings"},

	"internal/security":     {"cola", "internal/ratelimit"},
	"internal/vault":        {"cola", "internal/keyring"},
	"internal/web":          {"cola", "auth"},
	"internal/params":       {"cola", "internal/strictjson"},
	"internal/demo":         {"cola", "store", "ingest"},
	"internal/perf":         {everything}, // measures the whole program
	"internal/perf/measure": {"auth", "cola", "store"},
	"internal/loadtest":     {"auth", "cola", "store", "quota"},
	"internal/browser":      {everything}, // tries the dashboard in a real browser
	"internal/registrytest": {everything}, // runs a small registry for tests
	"internal/program":      {"internal/keyring", "internal/nodetest", "internal/loadtest"},
	"internal/attack":       {everything}, // attacks the whole program
	"internal/cluster":      {everything}, // drives many processes through failures
	"internal/conformance":  {everything}, // has the program tried by others
}

// edges render answers; what they render comes from the registry alone.
var edges = []string{"httpapi", "mcp", "dashboard"}

// mayImport reports whether a package may import another, both named relative to the module. Tests may use more: any
// internal package and, where the package may know the store, its backends and their suite.
func mayImport(from, to string, test bool) bool {
	allowed, listed := table[from]
	switch {
	case strings.HasPrefix(from, "cmd/"):
		return true
	case !listed && strings.HasPrefix(from, "internal/"):
		allowed = []string{"cola"}
	}
	if to == "cola/vocabulary" && from != to {
		to = "cola" // who may use records may use their words
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

// known reports whether the table has a place for a package.
func known(name string) bool {
	_, listed := table[name]
	return listed || strings.HasPrefix(name, "cmd/") || strings.HasPrefix(name, "internal/")
}

// importing is one import of one file.
type importing struct {
	file, from, path string
	test             bool
}

// ours returns the imported package relative to the module; ok is false for other modules.
func (i importing) ours() (name string, ok bool) { return strings.CutPrefix(i.path, module+"/") }

func TestImportsPointDown(t *testing.T) {
	seen := map[string]bool{}
	for _, i := range readImports(t, moduleRoot(t)) {
		if !known(i.from) {
			t.Errorf("%s: package %s has no place in the table of imports", i.file, i.from)
		}
		seen[i.from] = true
		if to, ok := i.ours(); ok && !mayImport(i.from, to, i.test) {
			t.Errorf("%s: %s must not import %s", i.file, i.from, to)
		}
	}
	for _, must := range []string{"cola", "store"} {
		if !seen[must] {
			t.Errorf("package %s was not looked at", must)
		}
	}
}

func TestColaIsStandardLibraryOnly(t *testing.T) {
	for _, i := range readImports(t, moduleRoot(t)) {
		first, _, _ := strings.Cut(i.path, "/")
		if _, own := i.ours(); !own && !i.test && strings.HasPrefix(i.from, "cola") && strings.Contains(first, ".") {
			t.Errorf("%s imports %s, which is not of the standard library", i.file, i.path)
		}
	}
}

// TestTwinsHaveTheSameFiles keeps the two backends side by side: the same resource is in the same file of both.
func TestTwinsHaveTheSameFiles(t *testing.T) {
	root := moduleRoot(t)
	sqlite, postgres := filepath.Join(root, "store", "sqlite"), filepath.Join(root, "store", "postgres")
	for _, dir := range []string{sqlite, postgres} {
		if _, err := os.Stat(dir); err != nil {
			t.Skipf("there are no twins yet: %v", err)
		}
	}
	for _, pattern := range []string{"*.go", "migrations/*.sql"} {
		if diff := cmp.Diff(fileNames(t, sqlite, pattern), fileNames(t, postgres, pattern)); diff != "" {
			t.Errorf("files %s (-sqlite +postgres):\n%s", pattern, diff)
		}
	}
}

// fileNames returns the files of a folder that match, without tests.
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

// TestTable tries the rules themselves, so that a slip in them cannot let everything through.
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
	} {
		if got := mayImport(tt.from, tt.to, false); got != tt.code {
			t.Errorf("%s may import %s: %t", tt.from, tt.to, got)
		}
		if got := mayImport(tt.from, tt.to, true); got != tt.test {
			t.Errorf("a test of %s may import %s: %t", tt.from, tt.to, got)
		}
	}
	for _, edge := range edges {
		for _, to := range append([]string{"store", "store/sqlite", "search", "quota", "ingest", "cmd/colaregistry"}, edges...) {
			if to != edge && (mayImport(edge, to, false) || mayImport(edge, to, true)) {
				t.Errorf("%s may import %s", edge, to)
			}
		}
	}
	if known("util") || !known("cola") || !known("cmd/colaregistry") || !known("internal/imports") {
		t.Error("the table knows the wrong packages")
	}
}

// readImports reads every Go file below root, whatever its build constraints.
func readImports(t *testing.T, root string) []importing {
	t.Helper()
	var found []importing
	err := filepath.WalkDir(root, func(file string, entry fs.DirEntry, err error) error {
		switch name := entry.Name(); {
		case err != nil:
			return err
		case entry.IsDir() && file != root && (strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_") || name == "testdata" || name == "node_modules"):
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

func fileImports(file, rel string) ([]importing, error) {
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly)
	if err != nil {
		return nil, err
	}
	here := importing{file: rel, from: path.Dir(rel), test: strings.HasSuffix(rel, "_test.go")}
	if len(parsed.Imports) == 0 {
		return []importing{here}, nil // its package still needs a place in the table
	}
	var found []importing
	for _, spec := range parsed.Imports {
		i := here
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
			t.Fatal("no go.mod above the test")
		}
		dir = filepath.Dir(dir)
	}
}
