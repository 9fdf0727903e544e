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

// TestAddFirstKeepsOwner checks that root can add a key to another user's file, which keeps its
// owner.
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
	if owner := info.Sys().(*syscall.Stat_t); owner.Uid != otherID || owner.Gid != otherID+1 ||
		info.Mode().Perm() != 0o640 {
		t.Errorf("user %d, group %d, %s", owner.Uid, owner.Gid, info.Mode())
	}
}

// TestAddFirstForAnotherOwner checks that the file is unchanged if its owner can't be kept.
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
		t.Errorf("keys %v, %v", k.IDs(), err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
		t.Errorf("remaining files: %v, %v", left, err)
	}
}

// TestAddFirstToMount checks the error for a mounted file.
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
	if _, err := AddFirst(on); !errors.Is(err, syscall.EBUSY) ||
		!strings.Contains(err.Error(), "rotate it on the host") {
		t.Errorf("error %v, want the remedy", err)
	}
}
