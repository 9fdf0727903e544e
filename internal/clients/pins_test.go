package clients

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"regexp"
	"testing"

	"github.com/colaregistry/colaregistry/internal/nodetest"
)

// versionOf returns the pinned version of an npm package or Go module, or "" for other programs.
func versionOf(name string) string {
	for file, pin := range map[string]string{
		"kit/package.json": `"%s": "([0-9.]+)"`, "gokit/go.mod.txt": `\s%s v([0-9.]+)`,
	} {
		content, err := committed.ReadFile(file)
		if err != nil {
			panic(err) // the file is embedded
		}
		if found := regexp.MustCompile(fmt.Sprintf(pin, regexp.QuoteMeta(name))).FindSubmatch(content); found != nil {
			return string(found[1])
		}
	}
	return ""
}

// TestPins checks that every dependency has an exact version and a checksum, and that no registry
// is named.
func TestPins(t *testing.T) {
	files, err := fs.Sub(committed, "kit")
	if err != nil {
		t.Fatal(err)
	}
	if err := nodetest.CheckPins(files); err != nil {
		t.Error(err)
	}
	sums, err := committed.ReadFile("gokit/go.sum.txt")
	if err != nil {
		t.Fatal(err)
	}
	for _, module := range []string{
		"github.com/ogen-go/ogen", "github.com/oapi-codegen/oapi-codegen/v2", "github.com/modelcontextprotocol/go-sdk",
	} {
		if !regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(module+" v"+versionOf(module)) + ` h1:`).Match(sums) {
			t.Errorf("%s has no checksum in go.sum.txt", module)
		}
	}
}

// TestDocumentedVersions checks that the client table in the documentation has the pinned versions.
func TestDocumentedVersions(t *testing.T) {
	content, err := os.ReadFile("../../docs/CONFORMANCE.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := bytes.Cut(content, []byte("\n## Clients\n"))
	rows := regexp.MustCompile("(?m)^\\| `(.+)` \\| ([0-9.]+) \\|").FindAllSubmatch(section, -1)
	if len(rows) != 10 {
		t.Errorf("%d documented clients, want 10", len(rows))
	}
	for _, row := range rows {
		if pinned := versionOf(string(row[1])); pinned != string(row[2]) {
			t.Errorf("%s: documented version %s, pinned %q", row[1], row[2], pinned)
		}
	}
}
