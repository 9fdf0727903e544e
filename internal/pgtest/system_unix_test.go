//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package pgtest

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// mustSharedMemory returns the ID of a running server's shared memory.
func mustSharedMemory(t *testing.T, s *Server) string {
	t.Helper()
	id := sharedMemoryID(s.folder.data())
	if id == "" || len(sharedMemory(t)) > 0 && !slices.Contains(sharedMemory(t), id) {
		t.Fatalf("shared memory %q is not in %v", id, sharedMemory(t))
	}
	return id
}

// sharedMemory returns the IDs of all shared memory segments, or nil if the system does not list
// them in a file.
func sharedMemory(t *testing.T) (ids []string) {
	t.Helper()
	const idField = 1 // after the key
	table, err := os.ReadFile("/proc/sysvipc/shm")
	if os.IsNotExist(err) {
		return nil
	}
	mustDo(t, err)
	for line := range strings.Lines(string(table)) {
		ids = append(ids, strings.Fields(line)[idField])
	}
	return ids
}

func TestOrdinaryUser(t *testing.T) {
	if i, err := ordinaryUser(1000); i != nil || err != nil {
		t.Errorf("ordinaryUser(1000) = %v, %v; want nil, nil", i, err)
	}
	if i, err := ordinaryUser(0); err != nil || i.uid == 0 {
		t.Errorf("ordinaryUser(0) = %v, %v; want another user", i, err)
	}
}

func TestMayPass(t *testing.T) {
	i := &identity{uid: 5, gid: 6}
	for _, tt := range []struct {
		mode     os.FileMode
		uid, gid uint32
		want     bool
	}{
		{0o700, 5, 6, true},
		{0o077, 5, 6, false}, // for the owner, only the owner bits count
		{0o010, 0, 6, true},
		{0o701, 0, 6, false},
		{0o001, 0, 0, true},
		{0o776, 0, 0, false},
	} {
		if got := i.mayPass(tt.mode, tt.uid, tt.gid); got != tt.want {
			t.Errorf("mayPass(folder of %d:%d with mode %o) = %t, want %t", tt.uid, tt.gid, tt.mode, got, tt.want)
		}
	}
}

func TestUnreachableFolder(t *testing.T) {
	closed := t.TempDir()
	if err := os.Chmod(closed, 0o700); err != nil {
		t.Fatal(err)
	}
	inside := filepath.Join(closed, "inside")
	if err := os.Mkdir(inside, 0o777); err != nil {
		t.Fatal(err)
	}
	stranger := &identity{name: "stranger", uid: 1<<31 - 7, gid: 1<<31 - 7}
	if err := stranger.canReach(inside); err == nil || !strings.Contains(err.Error(), closed) ||
		!strings.Contains(err.Error(), "stranger") {
		t.Errorf("canReach = %v, want an error about %s", err, closed)
	}
	if err := stranger.canReach(string(filepath.Separator)); err != nil {
		t.Error(err)
	}
}
