package nodetest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const root = "../.."

// TestVulnerabilityScan runs scripts/vulnerabilities on one package with several databases: an
// empty one, one with an entry for a module that the package uses, and a missing one.
func TestVulnerabilityScan(t *testing.T) {
	tool := scanner(t)
	for name, tt := range map[string]struct {
		database                string
		strict                  bool
		exit                    int
		wantOutput, wantSummary string
	}{
		"clean":               {vulnerabilities(t, ""), true, 0, "no known vulnerabilities", "clean"},
		"vulnerable":          {vulnerabilities(t, "golang.org/x/text"), false, 1, "GO-2026-9999", "vulnerable"},
		"unreachable":         {filepath.Join(t.TempDir(), "none"), false, 0, "WARNING", "unknown"},
		"unreachable, strict": {filepath.Join(t.TempDir(), "none"), true, 2, "WARNING", "unknown"},
	} {
		t.Run(name, func(t *testing.T) {
			args := []string{tool, "./search"}
			if tt.strict {
				args = append([]string{"--strict"}, args...)
			}
			out, summary, exit := scan(t, tt.database, args...)
			if exit != tt.exit || !strings.Contains(out, tt.wantOutput) || !strings.Contains(summary, tt.wantSummary) {
				t.Errorf("exit %d, want %d; summary %q\n%s", exit, tt.exit, summary, out)
			}
		})
	}
}

// TestVulnerabilityScannerUnreachable checks that the outcome is unknown if the tool can't be
// installed.
func TestVulnerabilityScannerUnreachable(t *testing.T) {
	t.Setenv("GOPROXY", "off")
	if out, summary, exit := scan(t, t.TempDir(), "--strict",
		"golang.org/x/vuln/cmd/govulncheck@v0.0.1"); exit != 2 || !strings.Contains(summary, "unknown") {
		t.Errorf("exit %d; summary %q\n%s", exit, summary, out)
	}
}

// scan runs the script and returns its output, its summary for CI and its exit code.
func scan(t *testing.T, database string, args ...string) (out, summary string, exit int) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "summary")
	cmd := Command(t.Context(), "scripts/vulnerabilities", args...)
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "COLAREGISTRY_VULNDB=file://"+database, "GITHUB_STEP_SUMMARY="+file)
	printed, err := cmd.CombinedOutput()
	failed, exited := errors.AsType[*exec.ExitError](err)
	if exited {
		exit = failed.ExitCode()
	} else if err != nil {
		t.Fatal(err)
	}
	written, err := os.ReadFile(file)
	if err != nil {
		t.Errorf("no summary: %v", err)
	}
	return string(printed), string(written), exit
}

// scanner returns the version of govulncheck that the Makefile pins, or an older one if the pinned
// version can't be installed.
func scanner(t *testing.T) string {
	t.Helper()
	makefile, err := os.ReadFile(filepath.Join(root, "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	pinned := regexp.MustCompile(`GOVULNCHECK := (\S+)`).FindSubmatch(makefile)
	if pinned == nil {
		t.Fatal("the Makefile does not pin govulncheck")
	}
	for _, tool := range []string{string(pinned[1]), "golang.org/x/vuln/cmd/govulncheck@v1.1.4"} {
		cmd := Command(context.Background(), "go", "install", tool)
		cmd.Env = append(os.Environ(), "GOBIN="+t.TempDir())
		if _, err = Succeed(cmd); err == nil {
			return tool
		}
	}
	t.Skipf("govulncheck cannot be installed: %v", err)
	return ""
}

// vulnerabilities returns the folder of a new vulnerability database. It has one entry for the
// module, or none if module is empty.
func vulnerabilities(t *testing.T, module string) string {
	t.Helper()
	const id, date = "GO-2026-9999", "2026-01-01T00:00:00Z"
	dir, modules, entries := t.TempDir(), "[]", "[]"
	if module != "" {
		modules = fmt.Sprintf(`[{"path":%q,"vulns":[{"id":%q,"modified":%q}]}]`, module, id, date)
		entries = fmt.Sprintf(`[{"id":%q,"modified":%q}]`, id, date)
	}
	for name, content := range map[string]string{
		"index/db.json": fmt.Sprintf(`{"modified":%q}`, date), "index/modules.json": modules,
		"index/vulns.json": entries,
		"ID/" + id + ".json": fmt.Sprintf(`{"schema_version":"1.3.1","id":%q,"modified":%[2]q,"published":%[2]q,"summary":"Made up.","details":"Made up.",
			"affected":[{"package":{"name":%[3]q,"ecosystem":"Go"},"ranges":[{"type":"SEMVER","events":[{"introduced":"0"}]}],
			"ecosystem_specific":{"imports":[{"path":"golang.org/x/text/unicode/norm"}]}}],
			"database_specific":{"url":"https://vulnerabilities.example/"}}`, id, date, module),
	} {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}
