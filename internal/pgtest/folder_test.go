//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package pgtest

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// serverProcesses returns the processes whose working directory is a server's data folder.
func serverProcesses(t *testing.T, s *Server) []int {
	t.Helper()
	return processesIn(t, s.folder.data())
}

func processesIn(t *testing.T, folder string) []int {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("requires Linux")
	}
	all, err := processes()
	mustDo(t, err)
	var found []int
	for pid, info := range all {
		cwd, err := os.Readlink(fmt.Sprintf("/proc/%d/cwd", pid))
		if err == nil && info.state != 'Z' && strings.HasPrefix(cwd, folder) {
			found = append(found, pid)
		}
	}
	return found
}

// useTempDir uses a temporary folder that other users may enter and fails the test if files are
// left in it. Servers that the test starts later are closed before this check.
func useTempDir(t *testing.T) {
	t.Helper()
	dir, err := os.MkdirTemp("", "pgtest-") // other users cannot enter t.TempDir
	mustDo(t, err)
	t.Cleanup(func() {
		entries, err := os.ReadDir(dir)
		if err != nil || len(entries) > 0 {
			t.Errorf("remaining files: %v, %v", entries, err)
		}
		mustDo(t, os.RemoveAll(dir))
	})
	mustDo(t, os.Chmod(dir, 0o755))
	t.Setenv("TMPDIR", dir)
}

// runVictim starts a server, prints its location, and waits to be killed.
func runVictim() {
	s, err := Start(context.Background(), Options{})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(s.folder.path)
	select {}
}

// TestKilledOwner kills a process that owns a server. The server must end too, and the
// next start must remove its folder.
func TestKilledOwner(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("requires Linux")
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), victimVariable+"=1")
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	mustDo(t, err)
	mustDo(t, cmd.Start())
	line, err := bufio.NewReader(out).ReadString('\n')
	mustDo(t, err)
	folder := strings.TrimSpace(line)

	removeAbandoned(os.TempDir())
	if len(processesIn(t, folder)) == 0 {
		t.Fatal("server is not running")
	}
	mustDo(t, cmd.Process.Kill())
	if err := cmd.Wait(); err == nil {
		t.Fatal("process was not killed")
	}
	mustDo(t, poll(t.Context(), func() error {
		if pids := processesIn(t, folder); len(pids) > 0 {
			return fmt.Errorf("processes %v are still running", pids)
		}
		return nil
	}))
	mustDo(t, poll(t.Context(), func() error { // another test binary may be removing it concurrently
		removeAbandoned(os.TempDir())
		if _, err := os.Stat(folder); !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("folder still exists: %v", err)
		}
		return nil
	}))
}

func TestRemoveAbandoned(t *testing.T) {
	parent := t.TempDir()
	used, err := temporaryFolder(parent)
	mustDo(t, err)
	abandoned, err := temporaryFolder(parent)
	mustDo(t, err)
	mustDo(t, os.MkdirAll(filepath.Join(abandoned.data(), "base"), 0o700))
	mustDo(t, abandoned.lock.Close())
	unlocked := filepath.Join(parent, folderPrefix+"unlocked")
	mustDo(t, os.Mkdir(unlocked, 0o700))
	other := filepath.Join(parent, "other")
	mustDo(t, os.Mkdir(other, 0o700))
	mustDo(t, os.WriteFile(lockPath(other), nil, 0o600))
	mustDo(t, os.Symlink(other, filepath.Join(parent, folderPrefix+"link")))

	removeAbandoned(parent)
	for path, want := range map[string]bool{used.path: true, abandoned.path: false, unlocked: true, other: true} {
		if _, err := os.Stat(path); (err == nil) != want {
			t.Errorf("%s exists: %t, want %t", filepath.Base(path), err == nil, want)
		}
	}
	mustDo(t, used.remove())
}
