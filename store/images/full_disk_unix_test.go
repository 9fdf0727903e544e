//go:build unix

package images

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"
)

// limitedFolder is an environment variable. If it names a folder, the test binary writes an image
// there with a limit on file sizes, so that the write fails in the middle, as on a full disk.
const limitedFolder = "COLAREGISTRY_TEST_IMAGE_LIMIT"

func init() {
	if dir := os.Getenv(limitedFolder); dir != "" {
		writeLimited(dir)
	}
}

func writeLimited(dir string) {
	const limit = 64 << 10
	signal.Ignore(syscall.SIGXFSZ) // so that the write fails instead
	err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: limit, Max: limit})
	if err != nil {
		panic(err)
	}
	s, err := Open(context.Background(), dir, Options{})
	if err != nil {
		panic(err)
	}
	_, err = s.Put(context.Background(), noise())
	fmt.Println(err)
	os.Exit(map[bool]int{true: 0, false: 1}[err == nil])
}

// TestFullDisk checks that a write that fails in the middle leaves no file.
func TestFullDisk(t *testing.T) {
	dir := t.TempDir()
	writer := exec.Command(os.Args[0])
	writer.Env = append(os.Environ(), limitedFolder+"="+dir)
	if out, err := writer.CombinedOutput(); err == nil || writer.ProcessState.ExitCode() != 1 {
		t.Errorf("writer: %v, want exit code 1:\n%s", err, out)
	}
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			t.Errorf("the failed write left %s", path)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}
