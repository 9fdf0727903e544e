package pgtest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// folderPrefix begins the names of temporary folders, so that those which a killed process left can be told.
const folderPrefix = "colaregistry-postgres-"

// folder is where one server has its files. The data folder belongs to the user the server runs as, the rest to us.
type folder struct {
	path      string
	temporary bool     // ours to remove
	lock      *os.File // of a temporary folder: held locked while it is used
}

func (f *folder) data() string { return filepath.Join(f.path, "data") }
func (f *folder) log() string  { return filepath.Join(f.path, "log") }

// openFolder makes the folder of a server with an empty data folder in it: a temporary one unless dir is given. Temporary
// folders that nobody uses any more are removed first.
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

// makeData makes the data folder for the server's user.
func (f *folder) makeData(runAs *identity) error {
	if err := runAs.canReach(f.path); err != nil {
		return err
	}
	if err := os.Mkdir(f.data(), 0o700); err != nil {
		return err
	}
	return runAs.own(f.data())
}

// temporaryFolder makes a locked folder. The lock has its name only once it is held, so nobody finds it free before.
func temporaryFolder(parent string) (*folder, error) {
	path, err := os.MkdirTemp(parent, folderPrefix)
	if err != nil {
		return &folder{}, err
	}
	f := &folder{path: path, temporary: true}
	if f.path, err = filepath.Abs(path); err != nil {
		return f, err
	}
	if err := os.Chmod(path, 0o711); err != nil { // the server's user passes through it
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

// remove removes a temporary folder; a given one stays.
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

// removeAbandoned removes the temporary folders whose process was killed. What cannot be removed is left for the next time:
// it may be another user's.
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
		return // being made, or not ours
	}
	defer lock.Close()
	if free, err := tryLock(lock); err != nil || !free {
		return
	}
	// The data goes first: without its lock the folder could not be told as abandoned any more.
	if os.RemoveAll(filepath.Join(path, "data")) == nil {
		_ = os.RemoveAll(path)
	}
}

// unreachable says which folder keeps the server's user out.
func unreachable(name, folder string) error {
	return fmt.Errorf("the servers run as the user %s, who may not pass through the folder %s; choose another with TMPDIR or Options.Dir", name, folder)
}
