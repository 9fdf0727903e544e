package storetest

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"
)

// FileTemplate is an empty database file with the current schema, which tests copy: migrating takes
// much longer, especially with the race detector.
type FileTemplate struct {
	Open func(ctx context.Context, path string) (Database, error)

	once sync.Once
	file []byte
	id   string // store ID
	err  error
}

// NewFile returns the path of a copy with its own store ID. A store that opens it doesn't report it
// as created. The first call in a process creates the template.
func (f *FileTemplate) NewFile(t testing.TB) string {
	t.Helper()
	f.once.Do(func() { f.err = f.create() })
	if f.err != nil {
		t.Fatal(f.err)
	}
	var id [16]byte
	rand.Read(id[:]) // never fails
	path := filepath.Join(t.TempDir(), "registry.db")
	file := bytes.Replace(f.file, []byte(f.id), hex.AppendEncode(nil, id[:]), 1)
	if err := os.WriteFile(path, file, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func (f *FileTemplate) create() (err error) {
	folder, err := os.MkdirTemp("", "colaregistry-template")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	path := filepath.Join(folder, "template.db")
	st, err := f.Open(context.Background(), path)
	if err != nil {
		return err
	}
	f.id = st.ID()
	if err := st.Close(); err != nil {
		return err
	}
	f.file, err = os.ReadFile(path)
	if err == nil && (len(f.id) != 32 || bytes.Count(f.file, []byte(f.id)) != 1) {
		err = errors.New("the template must contain its store ID (32 hex digits) exactly once")
	}
	return err
}
