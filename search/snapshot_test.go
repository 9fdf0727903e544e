package search

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/cola/vocabulary"
)

// someIndex returns an index with a few labels in two segments, with tombstones, aliases and
// permittees.
func someIndex(t testing.TB) *Index {
	t.Helper()
	d, x := newDraws(3, 30, 30), New(Options{ManualCompaction: true})
	t.Cleanup(x.Close)
	for range 2 {
		u := x.Begin()
		for range 25 {
			l := d.label()
			u.Label(&l)
		}
		p := d.permittee()
		u.Permittee(&p)
		u.Aliases([]vocabulary.CategoryAlias{{Alias: "Wine > Red", Path: "Wine > Red Wine"}})
		u.Appellations(cola.NewAppellations(someAreas))
		mustCommit(t, u, Marks{1, 2, 3})
	}
	return x
}

func mustCommit(t testing.TB, u *Update, m Marks) {
	t.Helper()
	if err := u.Commit(m); err != nil {
		t.Fatal(err)
	}
}

func mustSave(t testing.TB, x *Index) []byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), "index")
	if err := x.Save(path, "store"); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestSnapshotRoundTrip(t *testing.T) {
	x := someIndex(t)
	dir := t.TempDir()
	path := filepath.Join(dir, "index")
	for range 2 { // including over an existing snapshot
		if err := x.Save(path, "store"); err != nil {
			t.Fatal(err)
		}
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
		t.Errorf("files after Save = %v, %v; want only the snapshot", left, err)
	}
	y := New(Options{ManualCompaction: true})
	defer y.Close()
	marks, err := y.Restore(path, "store")
	if err != nil || marks != (Marks{1, 2, 3}) {
		t.Fatalf("Restore = %+v, %v; want %+v, nil", marks, err, Marks{1, 2, 3})
	}
	if diff := cmp.Diff(x.View().Stats(), y.View().Stats()); diff != "" {
		t.Errorf("stats (-saved +restored):\n%s", diff)
	}
	all := cola.ColaSearch{Page: 1, PerPage: 100}
	if diff := cmp.Diff(x.View().Search(all), y.View().Search(all)); diff != "" {
		t.Errorf("labels (-saved +restored):\n%s", diff)
	}
	u := y.Begin() // the index accepts changes
	l := newDraws(4, 5, 20).label()
	u.Label(&l)
	mustCommit(t, u, marks)
	if _, _, ok := y.View().find(l.Summary.TTBID); !ok {
		t.Error("find(label added after Restore): ok = false, want true")
	}
}

func TestRestoreErrors(t *testing.T) {
	good := mustSave(t, someIndex(t))
	flipped := func(at int) []byte {
		b := bytes.Clone(good)
		b[at] ^= 0x10
		return b
	}
	for name, data := range map[string][]byte{
		"empty file":              {},
		"other file format":       []byte("SQLite format 3\x00 and more of that"),
		"other version":           flipped(15),
		"other category table":    flipped(20),
		"other byte order":        flipped(25),
		"first half":              good[:len(good)/2],
		"all but the last byte":   good[:len(good)-1],
		"trailing byte":           append(bytes.Clone(good), 0),
		"flipped bit":             flipped(len(good) / 2),
		"flipped bit at start":    flipped(60),
		"flipped bit at end":      flipped(len(good) - 5),
		"flipped bit in checksum": flipped(len(good) - 1),
	} {
		path := filepath.Join(t.TempDir(), "index")
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		checkRejected(t, name, path, "store", ErrSnapshot)
	}
	path := filepath.Join(t.TempDir(), "index")
	if err := os.WriteFile(path, good, 0o600); err != nil {
		t.Fatal(err)
	}
	checkRejected(t, "another store's snapshot", path, "other", ErrSnapshot)
	checkRejected(t, "missing file", path+"x", "store", fs.ErrNotExist)
}

// checkRejected checks that a restore fails and leaves the index empty and usable.
func checkRejected(t *testing.T, name, path, store string, want error) {
	t.Helper()
	x := New(Options{ManualCompaction: true})
	defer x.Close()
	marks, err := x.Restore(path, store)
	if !errors.Is(err, want) || marks != (Marks{}) {
		t.Errorf("%s: Restore = %+v, %v; want %v", name, marks, err, want)
	}
	if s := x.View().Stats(); s != (Stats{}) {
		t.Errorf("%s: stats after the failed Restore = %+v, want an empty index", name, s)
	}
	u := x.Begin()
	l := newDraws(4, 5, 20).label()
	u.Label(&l)
	mustCommit(t, u, Marks{})
}

func TestSaveError(t *testing.T) {
	x := someIndex(t)
	dir := t.TempDir()
	if err := x.Save(filepath.Join(dir, "missing", "index"), "store"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Save(missing folder) error = %v, want fs.ErrNotExist", err)
	}
	nonEmpty := filepath.Join(dir, "folder")
	if err := os.MkdirAll(filepath.Join(nonEmpty, "full"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := x.Save(nonEmpty, "store"); err == nil {
		t.Error("Save(non-empty folder) error = nil, want non-nil")
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
		t.Errorf("files after a failed Save = %v, %v; want only the folder", left, err)
	}
}

// FuzzReadView checks that the reader returns an error for any malformed file and does not panic or
// exhaust memory.
func FuzzReadView(f *testing.F) {
	good := mustSave(f, someIndex(f))
	f.Add([]byte{}, 0, byte(0))
	f.Add(good, 100, byte(1))
	f.Add(good[:200], 50, byte(0xff))
	huge := binary.NativeEndian.AppendUint64(nil, 1<<60)
	f.Add(append(huge, good...), 0, byte(0))
	f.Fuzz(func(t *testing.T, data []byte, at int, flip byte) {
		data = bytes.Clone(data)
		if at >= 0 && at < len(data) {
			data[at] ^= flip
		}
		if v, err := readView(bytes.NewReader(data), int64(len(data)), "store"); err == nil &&
			!bytes.Equal(data, good) {
			t.Errorf("readView(%d arbitrary bytes) = %+v, want an error", len(data), v.Stats())
		}
	})
}
