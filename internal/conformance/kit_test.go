package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
)

// TestPins: the packages are named by exact versions, and nobody's registry is named.
func TestPins(t *testing.T) {
	var list struct{ Dependencies, OptionalDependencies map[string]string }
	var lock struct {
		Packages map[string]struct{ Version, Resolved, Integrity string }
	}
	for name, v := range map[string]any{"package.json": &list, "package-lock.json": &lock} {
		content, err := committed.ReadFile("kit/" + name)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(content, v); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
	exact := regexp.MustCompile(`^\d+\.\d+\.\d+(-[a-z]+\.\d+)?$`)
	for _, pins := range []map[string]string{list.Dependencies, list.OptionalDependencies} {
		if len(pins) == 0 {
			t.Error("nothing is pinned")
		}
		for name, version := range pins {
			if locked := lock.Packages["node_modules/"+name].Version; !exact.MatchString(version) || locked != version {
				t.Errorf("%s is pinned to %q, and locked to %q", name, version, locked)
			}
		}
	}
	for path, p := range lock.Packages {
		if path != "" && (p.Resolved != "" || !strings.HasPrefix(p.Integrity, "sha512-")) {
			t.Errorf("%s is to come from %q with the checksum %q", path, p.Resolved, p.Integrity)
		}
	}
	for _, name := range nodePackages {
		if list.OptionalDependencies[name] == "" {
			t.Errorf("%s is looked for and not installed", name)
		}
	}
}

// mustFakeNPM puts a program in place of npm, which notes that it was run.
func mustFakeNPM(t *testing.T, lines string) (ran string) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("needs a shell")
	}
	dir := t.TempDir()
	ran = filepath.Join(dir, "ran")
	if err := os.WriteFile(filepath.Join(dir, "npm"), []byte("#!/bin/sh\necho \"$@\" >>"+ran+"\n"+lines+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
	return ran
}

// TestInstallOnce: the second run finds what the first has installed, by the name of what is locked.
func TestInstallOnce(t *testing.T) {
	ran := mustFakeNPM(t, "test -f package-lock.json && mkdir node_modules")
	cache := filepath.Join(t.TempDir(), "cache")
	first, err := installPackages(t.Context(), cache)
	if err != nil {
		t.Fatal(err)
	}
	second, err := installPackages(t.Context(), cache)
	if err != nil || second != first {
		t.Errorf("%s, %v, not %s", second, err, first)
	}
	if got, err := os.ReadFile(ran); err != nil || strings.Count(string(got), "\n") != 1 || !strings.HasPrefix(string(got), "ci --ignore-scripts") {
		t.Errorf("npm was run as %q, %v", got, err)
	}
	if _, err := os.Stat(filepath.Join(first, "node_modules")); err != nil {
		t.Error(err)
	}
}

// TestInstallFails leaves nothing that would be taken for an installation.
func TestInstallFails(t *testing.T) {
	mustFakeNPM(t, "mkdir node_modules; echo no network >&2; exit 7")
	cache := filepath.Join(t.TempDir(), "cache")
	if dir, err := installPackages(t.Context(), cache); err == nil || !strings.Contains(err.Error(), "exit status 7") || !strings.Contains(err.Error(), "no network") {
		t.Errorf("%s, %v", dir, err)
	}
	if left, err := os.ReadDir(cache); err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	t.Setenv("PATH", t.TempDir())
	if _, err := installPackages(t.Context(), cache); err == nil || !strings.Contains(err.Error(), "make tools installs it") {
		t.Errorf("without npm: %v", err)
	}
}

func TestMajorOf(t *testing.T) {
	for printed, want := range map[string]int{"v22.23.3\n": 22, "v9.0.0": 9, "24": 24} {
		if got, err := majorOf(printed); err != nil || got != want {
			t.Errorf("%q is %d, %v, not %d", printed, got, err, want)
		}
	}
	if got, err := majorOf("node\n"); err == nil {
		t.Errorf("no version is %d", got)
	}
}

// TestKit: the scripts and the packages lie together, so that the ones find the others.
func TestKit(t *testing.T) {
	mustFakeNPM(t, `mkdir -p node_modules/a/dist && echo '{"bin":{"run":"dist/index.js"}}' >node_modules/a/package.json &&
		mkdir -p node_modules/`+nodePackages[0]+`/bin && cd node_modules/`+nodePackages[0]+`/bin && echo '#!/bin/sh' >node && chmod +x node`)
	dir := filepath.Join(t.TempDir(), "kit")
	k, err := installKit(t.Context(), t.TempDir(), dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"issuer.mjs", "node_modules/a/package.json", "home"} {
		if _, err := os.Stat(k.script(name)); err != nil {
			t.Error(err)
		}
	}
	if got, err := k.program("a", "run"); err != nil || got != filepath.Join(dir, "node_modules", "a", "dist", "index.js") {
		t.Errorf("it runs %s, %v", got, err)
	}
	for name, runs := range map[string]string{"a": "walk", "b": "run"} {
		if got, err := k.program(name, runs); err == nil {
			t.Errorf("%s of %s is %s", runs, name, got)
		}
	}
	if _, err := succeed(k.command(t.Context(), "anything")); err != nil {
		t.Error(err)
	}
}
