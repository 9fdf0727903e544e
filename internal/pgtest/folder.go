package pgtest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// folderPrefix is the name prefix of temporary folders. It identifies the folders of killed
// processes.
const folderPrefix = "colaregistry-postgres-"

// folder contains the files of one server. The server's user owns the data folder, and the current
// user owns the other files.
type folder struct {
	path      string
	temporary bool     // remove it on close
	lock      *os.File // locked while a temporary folder is in use
}

func (f *folder) data() string { return filepath.Join(f.path, "data") }
func (f *folder) log() string  { return filepath.Join(f.path, "log") }

// openFolder creates a server's folder with an empty data folder in it. If dir is empty, openFolder
// first removes abandoned temporary folders and then creates a temporary one.
func openFolder(dir string, runAs *identity) (*folder, error) {
	f := &folder{}
	var err error
	if dir == "" {
		removeAbandoned(os.TempDir())
		f, err = temporaryFolder(os.TempDir())
	} else if f.path, err = filepath.Abs(dir); err == nil {
		err = os.MkdirAll(f.path, 0o711)
	}
	if err == nil {
		err = f.makeData(runAs)
	}
	if err != nil {
		return nil, errors.Join(err, f.remove())
	}
	return f, nil
}

// makeData creates the data folder for the server's user.
func (f *folder) makeData(runAs *identity) error {
	if err := runAs.canReach(f.path); err != nil {
		return err
	}
	if err := os.Mkdir(f.data(), 0o700); err != nil {
		return err
	}
	return runAs.own(f.data())
}

// temporaryFolder creates a locked folder. It locks the lock file before giving it its final name,
// so that no other process finds the file unlocked.
func temporaryFolder(parent string) (*folder, error) {
	path, err := os.MkdirTemp(parent, folderPrefix)
	if err != nil {
		return &folder{}, err
	}
	f := &folder{path: path, temporary: true}
	if f.path, err = filepath.Abs(path); err != nil {
		return f, err
	}
	if err := os.Chmod(path, 0o711); err != nil { // lets the server's user enter it
		return f, err
	}
	unnamed := lockPath(path) + ".new"
	if f.lock, err = os.OpenFile(unnamed, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600); err != nil {
		return f, err
	}
	if _, err := tryLock(f.lock); err != nil {
		return f, err
	}
	return f, os.Rename(unnamed, lockPath(path))
}

func lockPath(folder string) string { return filepath.Join(folder, "lock") }

// remove removes a temporary folder. It leaves other folders in place.
func (f *folder) remove() error {
	if !f.temporary {
		return nil
	}
	err := os.RemoveAll(f.path)
	if f.lock != nil {
		err = errors.Join(err, f.lock.Close())
	}
	return err
}

// removeAbandoned removes the temporary folders of killed processes. It skips folders it cannot
// remove, which may belong to another user.
func removeAbandoned(parent string) {
	entries, err := os.ReadDir(parent)
	if err != nil {
		return
	}
	for _, entry := range entries {
		if entry.IsDir() && strings.HasPrefix(entry.Name(), folderPrefix) {
			removeIfAbandoned(filepath.Join(parent, entry.Name()))
		}
	}
}

func removeIfAbandoned(path string) {
	lock, err := os.OpenFile(lockPath(path), os.O_RDWR, 0)
	if err != nil {
		return // still being created, or owned by another user
	}
	defer lock.Close()
	if free, err := tryLock(lock); err != nil || !free {
		return
	}
	// Remove the data first: without its lock, the folder would no longer be recognized as
	// abandoned.
	if os.RemoveAll(filepath.Join(path, "data")) == nil {
		_ = os.RemoveAll(path)
	}
}

// unreachable returns an error naming the folder that the server's user can't enter.
func unreachable(name, folder string) error {
	return fmt.Errorf("the servers run as user %s, which can't access folder %s; "+
		"choose another with TMPDIR or Options.Dir", name, folder)
}
