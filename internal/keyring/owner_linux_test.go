package keyring

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
)

const otherID = 54321

// TestAddFirstKeepsOwner: root adds a key to the file of the user that the server runs as.
func TestAddFirstKeepsOwner(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root gives files away")
	}
	path := filepath.Join(t.TempDir(), "secret.key")
	if err := errors.Join(Create(path), os.Chown(path, otherID, otherID+1), os.Chmod(path, 0o640)); err != nil {
		t.Fatal(err)
	}
	if _, err := AddFirst(path); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if owner := info.Sys().(*syscall.Stat_t); owner.Uid != otherID || owner.Gid != otherID+1 || info.Mode().Perm() != 0o640 {
		t.Errorf("user %d, group %d, %s", owner.Uid, owner.Gid, info.Mode())
	}
}

// TestAddFirstForAnotherOwner: a user who can replace the file of another user, but not keep its owner, leaves it alone.
func TestAddFirstForAnotherOwner(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root becomes another user")
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "secret.key")
	if err := errors.Join(Create(path), os.Chmod(path, 0o644), os.Chmod(dir, 0o777), os.Chmod(filepath.Dir(dir), 0o755)); err != nil {
		t.Fatal(err)
	}
	failed := make(chan error)
	go func() {
		runtime.LockOSThread() // and never unlock: the thread ends with the goroutine
		syscall.Setfsuid(otherID)
		_, err := AddFirst(path)
		failed <- err
	}()
	if err := <-failed; !errors.Is(err, os.ErrPermission) || !strings.Contains(err.Error(), "user 0") {
		t.Errorf("%v, want an error that names the owner", err)
	}
	if k, err := Load(path); err != nil || len(k.IDs()) != 1 {
		t.Errorf("the file has %v, %v", k.IDs(), err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// TestAddFirstToMount: a file that is mounted by itself cannot be replaced.
func TestAddFirstToMount(t *testing.T) {
	dir := t.TempDir()
	path, on := filepath.Join(dir, "secret.key"), filepath.Join(dir, "mounted.key")
	if err := errors.Join(Create(path), os.WriteFile(on, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount(path, on, "", syscall.MS_BIND, ""); err != nil {
		t.Skip("no mounts here: ", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(on, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	if _, err := AddFirst(on); !errors.Is(err, syscall.EBUSY) || !strings.Contains(err.Error(), "Rotate the file on the host") {
		t.Errorf("%v, want advice", err)
	}
}
