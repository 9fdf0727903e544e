package nodetest

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/fstest"
)

// mustOptions returns the options for a kit with one script.
func mustOptions(t *testing.T) Options {
	t.Helper()
	files := fstest.MapFS{}
	for _, name := range []string{"package.json", "package-lock.json", "script.mjs"} {
		files[name] = &fstest.MapFile{Data: []byte("{}")}
	}
	return Options{
		Files: files, Name: "test", Cache: filepath.Join(t.TempDir(), "cache"), Dir: filepath.Join(t.TempDir(), "kit"),
	}
}

// mustFakeNPM replaces npm with a shell script that appends its arguments to the returned file and
// then runs lines.
func mustFakeNPM(t *testing.T, lines string) (argsFile string) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("needs a shell")
	}
	dir := t.TempDir()
	argsFile = filepath.Join(dir, "ran")
	if err := os.WriteFile(filepath.Join(dir, "npm"), []byte("#!/bin/sh\necho \"$@\" >>"+argsFile+"\n"+lines+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
	return argsFile
}

// TestInstallOnce checks that a second run reuses the first run's packages if the lock file is the
// same.
func TestInstallOnce(t *testing.T) {
	argsFile := mustFakeNPM(t, "test -f package-lock.json && mkdir node_modules")
	o := mustOptions(t)
	first, err := o.installPackages(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	second, err := o.installPackages(t.Context())
	if err != nil || second != first {
		t.Errorf("second install: %s, %v, want %s", second, err, first)
	}
	if got, err := os.ReadFile(argsFile); err != nil || strings.Count(string(got), "\n") != 1 ||
		!strings.HasPrefix(string(got), "ci --ignore-scripts") {
		t.Errorf("npm runs = %q, %v", got, err)
	}
	if _, err := os.Stat(filepath.Join(first, "node_modules")); err != nil {
		t.Error(err)
	}
}

// TestInstallFailure checks that a failed installation is not later mistaken for a complete one.
func TestInstallFailure(t *testing.T) {
	mustFakeNPM(t, "mkdir node_modules; echo no network >&2; exit 7")
	o := mustOptions(t)
	if dir, err := o.installPackages(t.Context()); err == nil || !strings.Contains(err.Error(), "exit status 7") ||
		!strings.Contains(err.Error(), "no network") {
		t.Errorf("installPackages = %s, %v; want exit status 7", dir, err)
	}
	if left, err := os.ReadDir(o.Cache); err != nil || len(left) != 0 {
		t.Errorf("remaining files: %v, %v", left, err)
	}
	t.Setenv("PATH", t.TempDir())
	if _, err := o.installPackages(t.Context()); err == nil ||
		!strings.Contains(err.Error(), `run "make tools"`) {
		t.Errorf("without npm: err = %v", err)
	}
}

func TestMajorOf(t *testing.T) {
	for printed, want := range map[string]int{"v22.23.3\n": 22, "v9.0.0": 9, "24": 24} {
		if got, err := majorOf(printed); err != nil || got != want {
			t.Errorf("majorOf(%q) = %d, %v, want %d", printed, got, err, want)
		}
	}
	if got, err := majorOf("node\n"); err == nil {
		t.Errorf("majorOf without a version = %d", got)
	}
}

// TestKit checks that an installed kit has its scripts and packages, and that Program finds package
// commands.
func TestKit(t *testing.T) {
	mustFakeNPM(t, `mkdir -p node_modules/a/dist && echo '{"bin":{"run":"dist/index.js"}}' >node_modules/a/package.json &&
		mkdir -p node_modules/`+nodePackages[0]+`/bin && cd node_modules/`+nodePackages[0]+`/bin && echo '#!/bin/sh' >node && chmod +x node`)
	o := mustOptions(t)
	dir := o.Dir
	k, err := Install(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"script.mjs", "node_modules/a/package.json", "home"} {
		if _, err := os.Stat(k.Script(name)); err != nil {
			t.Error(err)
		}
	}
	if got, err := k.Program("a", "run"); err != nil ||
		got != filepath.Join(dir, "node_modules", "a", "dist", "index.js") {
		t.Errorf("Program(a, run) = %s, %v; want dist/index.js", got, err)
	}
	for pkg, command := range map[string]string{"a": "walk", "b": "run"} {
		if got, err := k.Program(pkg, command); err == nil || strings.Contains(err.Error(), "%!") {
			t.Errorf("Program(%s, %s) = %s, %v; want an error", pkg, command, got, err)
		}
	}
	if _, err := Succeed(k.Command(t.Context(), "anything")); err != nil {
		t.Error(err)
	}
}
