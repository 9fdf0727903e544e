package images

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/colaregistry/colaregistry/internal/s3test"
)

// TestNames checks that Names lists fetched files, but neither renditions nor files that Read has
// renamed.
func TestNames(t *testing.T) {
	for where, s := range stores(t) {
		kept, damaged, lost := mustPNG(t, stripes(400, 300)), mustPNG(t, stripes(500, 300)), mustPNG(t, stripes(600, 300))
		keptFile, damagedFile, lostFile := mustPut(t, s, kept), mustPut(t, s, damaged), mustPut(t, s, lost)
		if _, err := s.Read(t.Context(), keptFile, VariantOf(keptFile, 160)); err != nil {
			t.Fatal(err)
		}
		overwrite(t, s, key(damagedFile), damaged[:100])
		overwrite(t, s, key(lostFile), nil)
		if err := s.CheckWritable(t.Context()); err != nil {
			t.Errorf("%s: CheckWritable: %v", where, err)
		}
		check := func(desc string, want int, hasDamaged bool) {
			t.Helper()
			names, err := s.Names(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if names.Len() != want || !names.Has(keptFile.Hash) || names.Has(lostFile.Hash) ||
				names.Has(damagedFile.Hash) != hasDamaged {
				t.Errorf("%s, %s: Names has %d files, kept: %t, lost: %t, damaged: %t; want %d, true, false, %t",
					where, desc, names.Len(), names.Has(keptFile.Hash), names.Has(lostFile.Hash),
					names.Has(damagedFile.Hash), want, hasDamaged)
			}
		}
		check("before the damaged file is read", 2, true)
		var e *DamagedError
		for _, missing := range []bool{false, true} {
			if _, err := s.Read(t.Context(), damagedFile, asFetched); !errors.As(err, &e) || e.Missing != missing {
				t.Errorf("%s: Read of a damaged file: %v, want a DamagedError with Missing = %t", where, err, missing)
			}
		}
		check("afterward", 1, false)
		renamed, err := s.bucket.ReadAll(t.Context(), key(damagedFile)+".damaged")
		if err != nil || !bytes.Equal(renamed, damaged[:100]) {
			t.Errorf("%s: renamed file has %d bytes, %v; want the damaged content", where, len(renamed), err)
		}
		mustPut(t, s, damaged)
		check("after the file is stored again", 2, true)
	}
}

// TestUnreadableFile checks that a file that can't be read isn't renamed: it may be intact.
func TestUnreadableFile(t *testing.T) {
	s := mustOpen(t, t.TempDir())
	c := mustPut(t, s, mustPNG(t, stripes(40, 30)))
	path := filepath.Join(s.folder, filepath.FromSlash(key(c)))
	if err := errors.Join(os.Remove(path), os.Symlink(path, path)); err != nil { // a loop
		t.Fatal(err)
	}
	if _, err := s.Read(t.Context(), c, asFetched); err == nil || errors.As(err, new(*DamagedError)) {
		t.Errorf("Read = %v, want a read error", err)
	}
	if _, err := os.Lstat(path); err != nil {
		t.Error(err)
	}
}

// TestIncompleteList checks that a failure to list files is an error: otherwise, files would appear
// missing.
func TestIncompleteList(t *testing.T) {
	s := mustOpen(t, t.TempDir())
	mustPut(t, s, mustPNG(t, stripes(40, 30)))
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	if n, err := s.Names(canceled); err == nil {
		t.Errorf("Names with a canceled context = %v, want an error", n)
	}
	if err := os.RemoveAll(s.folder); err != nil {
		t.Fatal(err)
	}
	if n, err := s.Names(t.Context()); err == nil {
		t.Errorf("Names of a missing folder = %v, want an error", n)
	}
}

func TestUnwritable(t *testing.T) {
	folder := mustOpen(t, t.TempDir())
	if err := os.Mkdir(filepath.Join(folder.folder, checkName), 0o700); err != nil { // in place of the file
		t.Fatal(err)
	}
	location := s3test.Location(t, "")
	for where, s := range map[string]*Store{
		"folder": folder, "missing bucket": mustOpen(t, strings.Replace(location, "s3://labels", "s3://other", 1)),
	} {
		if err := s.CheckWritable(t.Context()); err == nil {
			t.Errorf("CheckWritable of a %s succeeded, want an error", where)
		}
	}
}

// TestOtherFiles checks which names count as fetched files.
func TestOtherFiles(t *testing.T) {
	hash := strings.Repeat("0123456789abcdef", 4)
	n := &Names{}
	for _, name := range []string{hash, hash + "-1-320", hash + ".damaged", "fileblob1.tmp", checkName, hash[1:], "g" + hash[1:]} {
		n.add(name)
	}
	if !slices.Equal(n.sorted, []uint64{0x0123456789abcdef}) {
		t.Errorf("names = %x, want only the first", n.sorted)
	}
}
