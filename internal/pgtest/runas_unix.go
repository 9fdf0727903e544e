//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package pgtest

import (
	"errors"
	"fmt"
	"os"
	osuser "os/user"
	"path/filepath"
	"strconv"
	"syscall"
)

// identity is an unprivileged user that runs servers. A nil identity is the current user.
type identity struct {
	name     string
	uid, gid uint32
}

// ordinaryUser returns the user that runs servers for an effective user ID. For root, that is
// postgres or nobody.
func ordinaryUser(euid int) (*identity, error) {
	if euid != 0 {
		return nil, nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		u, err := osuser.Lookup(name)
		if err != nil {
			continue
		}
		uid, uidErr := strconv.ParseUint(u.Uid, 10, 32)
		gid, gidErr := strconv.ParseUint(u.Gid, 10, 32)
		if err := errors.Join(uidErr, gidErr); err != nil {
			return nil, fmt.Errorf("look up user %s: %w", name, err)
		}
		return &identity{name: name, uid: uint32(uid), gid: uint32(gid)}, nil
	}
	return nil, errors.New("PostgreSQL can't run as root, and there is no postgres or nobody user to run it as")
}

// attributes returns the attributes that start a program as the user.
func attributes(i *identity) *syscall.SysProcAttr {
	attr := &syscall.SysProcAttr{}
	killWithParent(attr)
	if i != nil {
		attr.Credential = &syscall.Credential{Uid: i.uid, Gid: i.gid}
	}
	return attr
}

// own makes the user the owner of a file.
func (i *identity) own(path string) error {
	if i == nil {
		return nil
	}
	return os.Chown(path, int(i.uid), int(i.gid))
}

// canReach checks that the user has access to a folder and all its parents.
func (i *identity) canReach(folder string) error {
	if i == nil {
		return nil
	}
	for {
		info, err := os.Stat(folder)
		if err != nil {
			return err
		}
		if stat, ok := info.Sys().(*syscall.Stat_t); ok && !i.mayPass(info.Mode(), stat.Uid, stat.Gid) {
			return unreachable(i.name, folder)
		}
		parent := filepath.Dir(folder)
		if parent == folder {
			return nil
		}
		folder = parent
	}
}

// mayPass reports whether a folder's mode lets the user enter it.
func (i *identity) mayPass(mode os.FileMode, uid, gid uint32) bool {
	switch {
	case uid == i.uid:
		return mode&0o100 != 0
	case gid == i.gid:
		return mode&0o010 != 0
	}
	return mode&0o001 != 0
}

// tryLock locks a file for this process and reports whether it succeeded. The lock ends when the
// file is closed or the process ends.
func tryLock(f *os.File) (bool, error) {
	err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return false, nil
	}
	return err == nil, err
}
