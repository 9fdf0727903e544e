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
		t.Skip("only root can change the owner of a file")
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
		t.Errorf("owner = %d:%d, mode = %s, want the previous ones", owner.Uid, owner.Gid, info.Mode())
	}
}

// TestAddFirstForAnotherOwner checks that the file is unchanged if its owner can't be kept.
func TestAddFirstForAnotherOwner(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can become another user")
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "secret.key")
	if err := errors.Join(Create(path), os.Chmod(path, 0o644), os.Chmod(dir, 0o777), os.Chmod(filepath.Dir(dir), 0o755)); err != nil {
		t.Fatal(err)
	}
	failed := make(chan error)
	go func() {
		runtime.LockOSThread() // never unlocked, so that the thread exits with the goroutine
		syscall.Setfsuid(otherID)
		_, err := AddFirst(path)
		failed <- err
	}()
	if err := <-failed; !errors.Is(err, os.ErrPermission) || !strings.Contains(err.Error(), "user 0") {
		t.Errorf("AddFirst = %v, want a permission error that names the owner", err)
	}
	if k, err := Load(path); err != nil || len(k.IDs()) != 1 {
		t.Errorf("keys = %v, %v, want 1", k.IDs(), err)
	}
	if files, err := os.ReadDir(dir); err != nil || len(files) != 1 {
		t.Errorf("files = %v, %v, want only the key file", files, err)
	}
}

// TestAddFirstToMount checks the error for a mounted file.
func TestAddFirstToMount(t *testing.T) {
	dir := t.TempDir()
	path, mount := filepath.Join(dir, "secret.key"), filepath.Join(dir, "mounted.key")
	if err := errors.Join(Create(path), os.WriteFile(mount, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount(path, mount, "", syscall.MS_BIND, ""); err != nil {
		t.Skip("cannot mount: ", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(mount, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	if _, err := AddFirst(mount); !errors.Is(err, syscall.EBUSY) ||
		!strings.Contains(err.Error(), "rotate it on the host") {
		t.Errorf("AddFirst = %v, want EBUSY with the remedy", err)
	}
}
