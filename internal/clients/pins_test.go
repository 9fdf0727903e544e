package clients

import (
	"fmt"
	"io/fs"
	"regexp"
	"strings"
	"testing"

	"github.com/colaregistry/colaregistry/internal/kit"
)

// versionOf returns the pinned version of an npm package or Go module; empty for other programs.
func versionOf(name string) string {
	for file, pattern := range map[string]string{"kit/package.json": `"%s": "([0-9.]+)"`, "gokit/go.mod.txt": `\s%s (v[0-9.]+)`} {
		content, err := fs.ReadFile(map[bool]fs.FS{true: npmFiles, false: goFiles}[strings.HasPrefix(file, "kit/")], file)
		if err != nil {
			continue
		}
		if found := regexp.MustCompile(fmt.Sprintf(pattern, regexp.QuoteMeta(name))).FindSubmatch(content); found != nil {
			return string(found[1])
		}
	}
	return ""
}

// TestPins: packages are pinned to exact versions with checksums, and no registry is named.
func TestPins(t *testing.T) {
	files, err := fs.Sub(npmFiles, "kit")
	if err != nil {
		t.Fatal(err)
	}
	if err := kit.CheckPins(files); err != nil {
		t.Error(err)
	}
	sums, err := goFiles.ReadFile("gokit/go.sum.txt")
	if err != nil {
		t.Fatal(err)
	}
	for _, module := range []string{"github.com/ogen-go/ogen", "github.com/oapi-codegen/oapi-codegen/v2", "github.com/modelcontextprotocol/go-sdk"} {
		if !regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(module) + ` v[0-9.]+ h1:`).Match(sums) {
			t.Errorf("%s has no checksum in go.sum.txt", module)
		}
	}
}
