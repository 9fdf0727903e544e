package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// mustResults writes scenario results as the suite does and reads them back.
func mustResults(t *testing.T, required []string, scenarios map[string]string) []result {
	t.Helper()
	dir := t.TempDir()
	for name, checks := range scenarios {
		folder := filepath.Join(dir, "server-"+name+"-2026-11-21T03-30-58-891Z")
		if err := os.Mkdir(folder, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, "checks.json"), []byte(checks), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	results, err := readResults(dir, required)
	if err != nil {
		t.Fatal(err)
	}
	return results
}

var tried = map[string]string{
	"server-initialize": `[{"id":"one","status":"SUCCESS"},{"id":"two","status":"INFO"},{"id":"three","status":"SKIPPED"}]`,
	"tools-call-x":      `[{"id":"x","status":"FAILURE","errorMessage":"There is no tool \"test_x\""},{"id":"wire","status":"SUCCESS"}]`,
	"streams":           `[{"id":"session","status":"WARNING"}]`,
	"tasks":             `[{"id":"t","status":"FAILURE"}]`,
	"more":              `[{"id":"m","status":"SUCCESS"}]`,
}

var triedRequired = []string{"server-initialize", "tools-call-x", "streams"}

func TestTally(t *testing.T) {
	got := tallyOf(mustResults(t, triedRequired, tried))
	if diff := cmp.Diff(tally{scenarios: 3, passed: 2, failed: 2, extra: 2, extraFailed: 1}, got, cmp.AllowUnexported(tally{})); diff != "" {
		t.Error(diff)
	}
}

func TestReadResultsFails(t *testing.T) {
	for name, content := range map[string]string{"server-x": "[]", "server-x-2026-11-21T03-30-58-891Z": "{"} {
		dir := t.TempDir()
		if err := os.Mkdir(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name, "checks.json"), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := readResults(dir, nil); err == nil {
			t.Errorf("%s with %s: readResults = %v, want an error", name, content, got)
		}
	}
	if got, err := readResults(filepath.Join(t.TempDir(), "none"), nil); err == nil {
		t.Errorf("missing folder: readResults = %v, want an error", got)
	}
}

// TestBaselineCheck checks that entries without a justification fail the run.
func TestBaselineCheck(t *testing.T) {
	results := mustResults(t, triedRequired, tried)
	session := entry{"streams", "session", "no sessions"}
	fixture := entry{"tools-call-x", "x", "test_x"}
	requests := []exchange{{rpcMethod: "tools/call", target: "test_y"}}
	for _, tt := range []struct {
		name string
		list baseline
		want string // text in the report, or empty if the list passes
	}{
		{"justified", baseline{failures: []entry{fixture}, warnings: []entry{session}}, ""},
		{"requested fixture", baseline{failures: []entry{{"tools-call-x", "x", "test_y"}}}, ""},
		{"another reason", baseline{failures: []entry{{"tools-call-x", "x", "test_z"}}}, "missing test_z"},
		{
			"passing failure", baseline{failures: []entry{{"tools-call-x", "wire", "test_x"}}},
			"failure no longer occurs",
		},
		{"unknown scenario", baseline{failures: []entry{{"gone", "x", "test_x"}}}, "failure no longer occurs"},
		{
			"passing warning", baseline{warnings: []entry{{"server-initialize", "one", "why"}}},
			"warning no longer occurs",
		},
		{"failing warning", baseline{warnings: []entry{{"tools-call-x", "x", "why"}}}, "status FAILURE"},
	} {
		r := newReport("suite", "")
		tt.list.check(r, results, requests)
		var out bytes.Buffer
		r.print(&out, true)
		if r.ok() != (tt.want == "") || !strings.Contains(out.String(), tt.want) {
			t.Errorf("%s: want %q in the report:\n%s", tt.name, tt.want, out.String())
		}
	}
}

func TestListed(t *testing.T) {
	const content = "# server:\nserver:\n  - a\n  # not b\n  - c/d \n\nclient:\n  - e\nserver_like:\n  - f\nnot_scored:\n  - scenario: g\n"
	if diff := cmp.Diff([]string{"a", "c/d"}, listed(content, "server")); diff != "" {
		t.Error(diff)
	}
	if got := listed(content, "nothing"); got != nil {
		t.Errorf("missing key: listed = %v", got)
	}
}

func TestVerdict(t *testing.T) {
	for printed, want := range map[string]string{
		"a\nUnexpected failures (not in baseline):\n  x\n":            "\nUnexpected failures (not in baseline):\n  x",
		"a\n\x1b[31mStale baseline entries (now passing)\x1b[0m\n  y": "\nStale baseline entries (now passing)\n  y",
		"something else": "\nsomething else",
	} {
		if got := verdict(printed); got != want {
			t.Errorf("verdict(%q) = %q, want %q", printed, got, want)
		}
	}
}
